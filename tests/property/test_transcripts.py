"""Whatever is in a transcript, it is read, or refused with a message; its recording can be kept."""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.sessions import FORMS

from waza.errors import WazaError
from waza.foreign.transcripts.read import read_transcript

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e400,
    float("nan"),
    2**80,
    "",
    "\ud800",
    "x",
    [],
    {},
    [None],
    [{}],
    {"type": 3},
    [["x"]],
]


def changed(draw: st.DrawFn, value: Any) -> Any:
    """Return the value with something in it replaced, or left out."""
    if isinstance(value, dict) and value:
        key = draw(st.sampled_from(sorted(value)))
        how = draw(st.sampled_from(["deeper", "deeper", "replace", "drop"]))
        rest = {name: item for name, item in value.items() if name != key}
        if how == "drop":
            return rest
        return {**rest, key: changed(draw, value[key]) if how == "deeper" else draw(st.sampled_from(ODD))}
    if isinstance(value, list) and value:
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], changed(draw, value[place]), *value[place + 1 :]]
    return draw(st.sampled_from(ODD))


@st.composite
def transcripts(draw: st.DrawFn) -> str:
    lines = copy.deepcopy(FORMS[draw(st.sampled_from(sorted(FORMS)))]())
    for _ in range(draw(st.integers(1, 4))):
        lines = changed(draw, lines)
    text = "\n".join(map(json.dumps, lines))
    return text[: len(text) - draw(st.integers(0, 40))]


@settings(max_examples=300, deadline=None)
@given(transcripts())
def test_every_transcript_is_read_or_refused(text: str):
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "t.jsonl")
        path.write_text(text, encoding="utf-8")
        with contextlib.suppress(WazaError):
            found = read_transcript(path)
            assert found.turns
            assert len({call.tool_call_id for call in found.tool_events}) == len(found.tool_events)
            msgspec.json.encode(found, enc_hook=str)
