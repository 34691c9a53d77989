"""Write `schemas/*.schema.json` from the models, or check (`--check`) that the committed ones are up to date."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from waza.schemas import KINDS, schema_of

FOLDER = Path(__file__).parent.parent / "schemas"


def main() -> int:
    """Write or check; return the exit code."""
    stale = []
    for kind in KINDS:
        path = FOLDER / f"{kind}.schema.json"
        text = msgspec.json.format(msgspec.json.encode(schema_of(kind)), indent=2) + b"\n"
        if "--check" not in sys.argv:
            path.write_bytes(text)
        elif not path.is_file() or path.read_bytes() != text:
            stale.append(path.name)
    if stale:
        print(
            f"schemas/{', schemas/'.join(stale)} differ from the models; run `make schemas`", file=sys.stderr
        )
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
