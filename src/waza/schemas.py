"""JSON Schemas of the file formats, made from the models: for editors, checks and other programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import msgspec

from waza.evidence.seal import Seal
from waza.evidence.snapshot import SnapshotFileFormat
from waza.graders import TYPES
from waza.kit.decode import fields_of
from waza.kit.field_docs import field_docs, structs_in
from waza.model.loaded import ProjectFile, TriggerTests
from waza.model.policy import GatePolicy
from waza.model.references import References
from waza.model.result import SuiteResult
from waza.model.suite import SuiteFile
from waza.model.task import TaskFile
from waza.model.wgp import Request, Response
from waza.plugins import load_class as load_plugin

KINDS = (
    "suite",
    "task",
    "trigger-tests",
    "config",
    "results",
    "policy",
    "references",
    "snapshot",
    "evidence",
    "wgp-request",
    "wgp-response",
)
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ROOTS: dict[str, type] = {
    "suite": SuiteFile,
    "task": TaskFile,
    "trigger-tests": TriggerTests,
    "config": ProjectFile,
    "results": SuiteResult,
    "snapshot": SnapshotFileFormat,
    "evidence": Seal,
    "policy": GatePolicy,
    "references": References,
    "wgp-request": Request,
    "wgp-response": Response,
}
_TITLES = {
    "suite": "waza suite (eval.yaml)",
    "task": "waza task",
    "trigger-tests": "waza trigger tests (trigger_tests.yaml)",
    "config": "waza project (.waza.yaml)",
    "results": "waza results",
    "snapshot": "waza snapshot of a trial",
    "evidence": "waza seal of a directory of evidence (evidence.json)",
    "policy": "policy of waza gate",
    "references": "reference cases of waza assure",
    "wgp-request": "WGP/1 request, from waza to a grader",
    "wgp-response": "WGP/1 response, from a grader to waza",
}


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a format: one of KINDS.

    The docstrings of fields are descriptions. In suites and tasks every grader type brings the rules of its own
    `config`. Texts may be written as any
    plain scalar in YAML, so they accept numbers and booleans; keys without a value count as left out.
    Results may have fields that we do not know.
    """
    schema = msgspec.json.schema(_ROOTS[kind])
    definitions = schema.setdefault("$defs", {})
    _describe(_ROOTS[kind], definitions)
    if kind in ("suite", "task"):
        _add_graders(definitions)
    if kind in ("suite", "task", "trigger-tests", "config", "policy", "references"):
        for definition in definitions.values():
            _as_yaml_has_it(definition)
    _drop_unused(schema)
    return {"$schema": _DIALECT, "title": _TITLES[kind], **schema}


def grader_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the `config` of a grader type. KeyError: there is no such type."""
    config, definitions = _config_of(name)
    schema = {"$schema": _DIALECT, "title": f"config of the grader {name}", **config}
    return {**schema, "$defs": definitions} if definitions else schema


def _config_of(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a grader's `config`, and the definitions that it refers to."""
    grader = load_plugin("waza.graders", name)
    if grader is None:
        raise KeyError(name)
    _, definitions = msgspec.json.schema_components([grader], schema_hook=_private)
    _describe(grader, definitions)
    config = definitions.pop(grader.__name__)
    public = {field.key for field in fields_of(grader)}
    config["properties"] = {key: value for key, value in config["properties"].items() if key in public}
    return config, definitions


def _describe(root: type, definitions: dict[str, Any]) -> None:
    """Make the docstrings of fields the descriptions of properties."""
    for struct in structs_in(root):
        docs, properties = field_docs(struct), definitions[struct.__name__]["properties"]
        for field in fields_of(struct):
            if field.name in docs:
                properties[field.key]["description"] = docs[field.name]


def _private(kind: type) -> dict[str, Any]:
    """Stand in for the types of private fields, which no file has."""
    del kind
    return {"description": "not part of any file"}


def _drop_unused(schema: dict[str, Any]) -> None:
    """Remove definitions that nothing refers to, such as those of private fields."""
    definitions, used, left = schema["$defs"], set[str](), [schema.get("$ref"), *schema.get("allOf", [])]
    while left:
        part = left.pop()
        if isinstance(part, str) and part.startswith("#/$defs/"):
            name = unquote(part.removeprefix("#/$defs/"))
            if name not in used:
                used.add(name)
                left.append(definitions[name])
        elif isinstance(part, dict):
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
    schema["$defs"] = {name: found for name, found in sorted(definitions.items()) if name in used}


def _add_graders(definitions: dict[str, Any]) -> None:
    """Let each grader type say what belongs under its `config`."""
    rules = []
    for name in TYPES:
        key = f"config of {name}"
        definitions[key], own = _config_of(name)
        definitions.update(own)
        rules.append(
            {
                "if": {"properties": {"type": {"const": name}}, "required": ["type"]},
                "then": {"properties": {"config": {"$ref": f"#/$defs/{quote(key)}"}}},
            }
        )
    entry = definitions["GraderEntry"]
    entry["allOf"] = rules
    kind = entry["properties"]["type"]
    kind["anyOf"] = [{"enum": list(TYPES)}, {"type": kind.pop("type")}]


def _as_yaml_has_it(schema: Any) -> None:
    """Accept what the YAML reader accepts: any plain scalar for a text."""
    _walk(schema, _loosen_text)


def _loosen_text(schema: dict[str, Any]) -> None:
    if schema.get("type") == "string":
        schema["type"] = ["string", "number", "boolean", "null"]


def _walk(schema: Any, change: Callable[[dict[str, Any]], None]) -> None:
    if isinstance(schema, dict):
        change(schema)
        for value in schema.values():
            _walk(value, change)
    elif isinstance(schema, list):
        for value in schema:
            _walk(value, change)
