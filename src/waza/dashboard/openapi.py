"""The OpenAPI document, made from the table of routes and the structs of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from waza.dashboard.pages import ErrorAnswer, LiveEvent
from waza.dashboard.routes import ROUTES, ApiRoute, Parameter
from waza.kit.field_docs import field_docs, structs_in
from waza.version import __version__

SCHEMAS = "#/components/schemas/{name}"


def make_document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the HTTP API."""
    answers = [route.answer for route in ROUTES if route.answer is not None]
    found, schemas = make_schemas([*answers, LiveEvent, ErrorAnswer])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "waza serve",
            "version": __version__,
            "description": "Runs, their tasks and trials, live events, experiments and documents. Read-only.",
        },
        "paths": {route.path: {"get": _operation(route, found)} for route in ROUTES},
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def make_schemas(roots: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schemas of types, by how they are written, and those of all structs in them, by name."""
    refs, schemas = msgspec.json.schema_components(roots, ref_template=SCHEMAS)
    for struct in _structs(roots):
        _complete(struct, schemas[struct.__name__])
    return dict(zip(map(str, roots), refs, strict=True)), schemas


def _structs(roots: list[Any]) -> Iterator[type[msgspec.Struct]]:
    seen: set[type] = set()
    for root in roots:
        for kind in (root, *get_args(root)):
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                for struct in structs_in(kind):
                    if struct not in seen:
                        seen.add(struct)
                        yield struct


def _complete(struct: type[msgspec.Struct], schema: dict[str, Any]) -> None:
    """Describe the fields, and say which are always there: defaults are those of Python, answers have all fields."""
    docs, needed = field_docs(struct), list[str]()
    for field in msgspec.structs.fields(struct):
        one = schema["properties"][field.encode_name]
        one.pop("default", None)
        if field.name in docs:
            one["description"] = docs[field.name]
        if field.default is not msgspec.UNSET and not struct.__struct_config__.omit_defaults:
            needed.append(field.encode_name)
    schema["required"] = needed


def _operation(route: ApiRoute, schemas: dict[str, Any]) -> dict[str, Any]:
    if route.answer is None:
        content = {"text/event-stream": {"schema": {"$ref": SCHEMAS.format(name="LiveEvent")}}}
    else:
        content = {"application/json": {"schema": schemas[str(route.answer)]}}
    ok: dict[str, Any] = {"description": route.summary, "content": content}
    if route.total:
        ok["headers"] = {
            "X-Total-Count": {
                "description": "How long the whole list is.",
                "schema": {"type": "integer", "minimum": 0},
            }
        }
    failure = {
        "description": "The request cannot be served.",
        "content": {"application/json": {"schema": {"$ref": SCHEMAS.format(name="ErrorAnswer")}}},
    }
    return {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [_parameter(one, route) for one in route.parameters],
        "responses": {
            "200": ok,
            **({"204": {"description": f"Nothing: {route.empty}."}} if route.empty else {}),
            "default": failure,
        },
    }


def _parameter(one: Parameter, route: ApiRoute) -> dict[str, Any]:
    schema = msgspec.json.schema(one.kind)
    if one.default is not None:
        schema["default"] = one.default
    in_path = bool(re.search(rf"\{{{one.name}\}}", route.path))
    return {
        "name": one.name,
        "in": "path" if in_path else "query",
        "required": one.needed,
        "description": one.meaning,
        "schema": schema,
    }
