"""Write `dashboard/src/api.ts`, or check (`--check`) the committed one.

It has the types of the HTTP API, and of the data in the file of `waza report`, for the front end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.dashboard.one_file import Embedded
from waza.dashboard.openapi import make_document, make_schemas

FILE = Path(__file__).parent.parent / "dashboard" / "src" / "api.ts"
NOTE = "// Written by scripts/api_types.py from the structs of waza.dashboard; do not edit."
WORDS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def main() -> int:
    """Write or check; return the exit code."""
    schemas = {**make_document()["components"]["schemas"], **make_schemas([Embedded])[1]}
    schemas = dict(sorted(schemas.items()))
    text = "\n\n".join([NOTE, *("\n".join(_interface(name, one)) for name, one in schemas.items())]) + "\n"
    if "--check" not in sys.argv:
        FILE.write_text(text, encoding="utf-8")
    elif not FILE.is_file() or FILE.read_text(encoding="utf-8") != text:
        print("dashboard/src/api.ts differs from the structs of answers; run `make api`", file=sys.stderr)
        return 1
    return 0


def _interface(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from _comment(schema.get("description", ""))
    if schema.get("type") != "object" or "properties" not in schema:
        yield f"export type {name} = {_type(schema)};"
        return
    yield f"export interface {name} {{"
    for key, one in schema["properties"].items():
        yield from _comment(one.get("description", ""), "  ")
        yield f"  {key}{'' if key in schema['required'] else '?'}: {_type(one)};"
    yield "}"


def _comment(text: str, indent: str = "") -> Iterator[str]:
    if text:
        lines = text.replace("*/", "* /").splitlines()
        yield f"{indent}/** {lines[0]}" + (" */" if len(lines) == 1 else "")
        for line in lines[1:]:
            yield f"{indent} * {line}".rstrip()
        if len(lines) > 1:
            yield f"{indent} */"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(msgspec.json.encode(one).decode() for one in schema["enum"])
    match schema.get("type"):
        case "array":
            item = _type(schema.get("items") or {})
            return f"({item})[]" if "|" in item else f"{item}[]"
        case "object":
            return f"Record<string, {_type(schema.get('additionalProperties') or {})}>"
        case str(name):
            return WORDS[name]
    return "unknown"


if __name__ == "__main__":
    sys.exit(main())
