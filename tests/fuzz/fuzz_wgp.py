"""Coverage-guided search for responses that the decoder of WGP/1 cannot cope with. Run it by `make fuzz`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-untyped]  # of the extra `fuzz`
import msgspec

with atheris.instrument_imports(include=["waza"]):
    from waza.model.wgp import PROTOCOL, decode_response

SEEDS = sorted(Path(__file__).with_name("seeds").joinpath("wgp").iterdir())
GOOD = {"schema": PROTOCOL, "score": 0.5, "passed": True, "rationale": "r", "evidence": [], "metrics": {}}
WORDS = [*GOOD, "kind", "ref", PROTOCOL, "wgp/2", ""]


def one_input(data: bytes) -> None:
    """A response that keeps its promises and survives the way back, or a ValueError; nothing else."""
    try:
        response = decode_response(_document(data))
    except ValueError:
        return
    assert response.schema == PROTOCOL
    assert isinstance(response.passed, bool)
    assert 0 <= response.score <= 1
    assert decode_response(msgspec.json.encode(response)) == response


def _document(data: bytes) -> bytes:
    """Half of the inputs are taken as they are; the others change a good response here and there."""
    source = atheris.FuzzedDataProvider(data)
    if source.ConsumeBool():
        return data
    fields: dict[str, Any] = dict(GOOD)
    for _ in range(source.ConsumeIntInRange(0, 3)):
        fields[source.PickValueInList(WORDS)] = _value(source, 0)
    return json.dumps(fields).encode() + bytes(source.ConsumeBytes(3))


def _value(source: Any, depth: int) -> Any:
    kind = source.ConsumeIntInRange(0, 5 if depth > 3 else 7)
    if kind == 6:
        return [_value(source, depth + 1) for _ in range(source.ConsumeIntInRange(0, 3))]
    if kind == 7:
        return {source.PickValueInList(WORDS): _value(source, depth + 1) for _ in range(2)}
    return (
        None,
        source.ConsumeBool(),
        source.ConsumeInt(9),
        source.ConsumeFloat(),
        source.ConsumeUnicode(5),
        source.PickValueInList(WORDS),
    )[kind]


if __name__ == "__main__":
    atheris.Setup([*sys.argv, f"-seed_inputs={','.join(map(str, SEEDS))}"], one_input)
    atheris.Fuzz()
