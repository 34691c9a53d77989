"""The page of the reference about the HTTP API, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from waza.dashboard.openapi import make_document

INTRODUCTION = (
    "What `waza serve` answers, on 127.0.0.1 alone and to `GET`, `HEAD` and `OPTIONS`. `/openapi.json` describes it for "
    "programs. Segments of paths are percent-encoded, since ids may hold any character. A request that cannot be served "
    "is answered with an [`ErrorAnswer`](#erroranswer). Lists with `limit` say in `X-Total-Count` how long they are as a whole."
)


def http_api() -> str:
    """Return the page."""
    document = make_document()
    parts = ["# HTTP API", INTRODUCTION]
    for path, methods in document["paths"].items():
        parts += _operation(path, methods["get"])
    parts.append("## Answers")
    for name, schema in document["components"]["schemas"].items():
        parts += _answer(name, schema)
    return "\n\n".join(parts)


def _operation(path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"## `GET {path}`"
    ok = operation["responses"]["200"]["content"]
    stream = ok.get("text/event-stream")
    found = _type((stream or ok["application/json"])["schema"])
    empty = operation["responses"].get("204", {}).get("description", "")
    yield f"{operation['summary']} {'Server-sent events' if stream else 'Answer'}: {found}." + (
        f" 204: {empty[0].lower()}{empty[1:]}" if empty else ""
    )
    if operation["parameters"]:
        rows = [
            (f"`{one['name']}`", one["in"], _type(one["schema"]), _default(one), one["description"])
            for one in operation["parameters"]
        ]
        yield _table(("Parameter", "In", "Type", "Default", "Meaning"), rows)


def _answer(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f"### `{name}`"
    yield " ".join(schema.get("description", "").split())
    rows = [
        (
            f"`{key}`",
            _type(one),
            "always" if key in schema["required"] else "where it is known",
            one.get("description", ""),
        )
        for key, one in schema.get("properties", {}).items()
    ]
    yield _table(("Key", "Type", "There", "Meaning"), rows)


def _default(parameter: dict[str, Any]) -> str:
    if parameter["required"]:
        return "**needed**"
    return f"`{parameter['schema']['default']}`" if "default" in parameter["schema"] else ""


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items') or {})}"
    if schema.get("type") == "object":
        return f"map of {_type(schema.get('additionalProperties') or {})}"
    return str(schema.get("type", "anything"))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)
