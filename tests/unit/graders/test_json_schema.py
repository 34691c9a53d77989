import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.graders._configs import errors, findings, read, refused, warnings

from waza.errors import GraderError
from waza.graders.argument import Matcher
from waza.graders.base import GraderLocation
from waza.graders.json_schema import JsonSchema
from waza.model.observation import Observation
from waza.model.verdict import Helpers, SharedResources, Verdict


def graded(grader: JsonSchema, output: str) -> Verdict:
    async def alone() -> Verdict:
        shared = SharedResources()
        try:
            return await grader.grade(
                Observation(output=output), Helpers(shared=shared, code_timeout=TIMEOUT)
            )
        finally:
            await shared.aclose()

    return asyncio.run(alone())


TIMEOUT = 30


RECORD = """
extract_json: true
schema:
  type: object
  required: [id, tags]
  properties:
    id: {type: integer}
    tags: {type: array, minItems: 1}
"""
PROSE = [
    ('Here you go: {"id": 7, "tags": ["x"]} thanks', True),
    ('Here you go: {"id": 7, "tags": []} thanks', False),
    ('See [1]. {"id": 7, "tags": ["x"]}', False),  # two values
]


@pytest.mark.parametrize(("output", "passed"), PROSE)
def test_the_documented_example(output, passed):
    grader = read(JsonSchema, RECORD)
    assert findings(grader) == []
    verdict = graded(grader, output)
    assert (verdict.passed, verdict.score) == (passed, 1.0 if passed else 0.0)


@pytest.mark.parametrize("output", [output for output, _ in PROSE])
def test_without_extract_json_prose_is_not_json(output):
    verdict = graded(read(JsonSchema, RECORD.replace("true", "false", 1)), output)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.details["error"]


def test_details_of_a_verdict():
    grader = JsonSchema(schema={"type": "object", "required": ["a", "b"]})
    assert graded(grader, ' {"a": 1, "b": 2} \n').details == {}
    verdict = graded(grader, "{}")
    (failure,) = verdict.details["failures"]
    assert "a" in failure
    assert "b" in failure
    assert verdict.feedback == failure


@pytest.mark.parametrize("output", ['{"x": NaN}', "Infinity", '{"x": 1,}', "", "// c\n1", "1e999"])
@pytest.mark.parametrize("extract_json", [False, True])
def test_what_is_not_strict_json_fails(output, extract_json):
    verdict = graded(JsonSchema(schema={}, extract_json=extract_json), output)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.details["error"]


def test_text_after_the_value_is_for_extract_json():
    assert not graded(JsonSchema(schema={}), '{"x": 1} x').passed
    assert graded(JsonSchema(schema={}, extract_json=True), '{"x": 1} x').passed


def test_the_rules_of_the_engine():
    assert graded(JsonSchema(schema={"type": "integer"}), "1.0").passed
    assert graded(JsonSchema(schema={"format": "date"}), '"no date"').passed
    draft_07 = "http://json-schema.org/draft-07/schema#"
    assert not graded(JsonSchema(schema={"$schema": draft_07, "format": "date"}), '"no date"').passed
    assert graded(JsonSchema(schema={"type": "integer", "minimum": 1}), "9" * 40).passed


def test_a_large_output_with_braces_is_searched_in_linear_time():
    verdict = graded(JsonSchema(schema={}, extract_json=True), "{" * 200_000 + '{"a": 1}')
    assert verdict.passed


def test_a_schema_file_is_sought_beside_the_suite_and_then_in_the_current_directory(tmp_path, monkeypatch):
    suite, here = tmp_path / "suite", tmp_path / "here"
    suite.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    grader = read(JsonSchema, "schema_file: it.json")
    assert errors(grader, suite) == [("schema_file",)]
    (here / "it.json").write_text('{"type": "string"}', encoding="utf-8")
    assert findings(grader, suite) == []
    assert graded(grader.resolve_paths(GraderLocation(base=suite)), '"x"').passed
    (suite / "it.json").write_bytes(b'\xef\xbb\xbf{"type": "number"}')
    assert not graded(grader.resolve_paths(GraderLocation(base=suite)), '"x"').passed
    assert graded(grader, '"x"').passed  # never placed: only the current directory is known


def test_a_run_cannot_change_the_schema(tmp_path):
    file = tmp_path / "it.json"
    file.write_text('{"type": "number"}', encoding="utf-8")
    grader = JsonSchema(schema_file=str(file)).resolve_paths(GraderLocation())
    file.write_text("{}", encoding="utf-8")
    assert not graded(grader, '"x"').passed


def test_references_start_from_the_schema_file_or_the_suite(tmp_path):
    (tmp_path / "part.json").write_text('{"type": "string"}', encoding="utf-8")
    whole = {"properties": {"a": {"$ref": "part.json"}}}
    (tmp_path / "whole.json").write_text(json.dumps(whole), encoding="utf-8")
    around = GraderLocation(base=tmp_path)
    for grader in (JsonSchema(schema=whole), JsonSchema(schema_file="whole.json")):
        assert errors(grader, tmp_path) == []
        assert graded(grader.resolve_paths(around), '{"a": "x"}').passed
        assert not graded(grader.resolve_paths(around), '{"a": 1}').passed


def test_no_reference_of_a_module_leaves_it(tmp_path):
    (tmp_path / "private.json").write_text('{"type": "string"}', encoding="utf-8")
    module = tmp_path / "module"
    module.mkdir()
    (module / "inside.json").write_text('{"type": "string"}', encoding="utf-8")
    around = GraderLocation(base=module, module=module)
    for reference, faults in (
        ("inside.json", 0),
        ("../private.json", 1),
        ((tmp_path / "private.json").as_uri(), 1),
    ):
        found = list(JsonSchema(schema={"$ref": reference}).check(around))
        assert len(found) == faults, found
        assert all("leads out of the module" in finding.message for finding in found)


def test_a_reference_to_a_device_is_refused(tmp_path):
    if not Path("/dev/zero").exists():
        pytest.skip("this system has no devices among its files")
    (finding,) = JsonSchema(schema={"$ref": "file:///dev/zero"}).check(GraderLocation(base=tmp_path))
    assert "no regular file" in finding.message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"},
        {"pattern": "(?=x)"},
        {"$ref": "https://example.invalid/schema.json"},
        {"$ref": "missing.json"},
        {"minimum": "1"},
    ],
)
def test_a_schema_that_does_not_compile_is_an_error_at_load(schema, tmp_path):
    assert errors(JsonSchema(schema=schema), tmp_path) == [("schema",)]
    (tmp_path / "it.json").write_text(json.dumps(schema), encoding="utf-8")
    grader = JsonSchema(schema_file="it.json")
    assert errors(grader, tmp_path) == [("schema_file",)]
    # Reached all the same, it is no verdict; what is not JSON fails before the schema is looked at.
    placed = grader.resolve_paths(GraderLocation(base=tmp_path))
    with pytest.raises(GraderError):
        graded(placed, "1")
    assert not graded(placed, "prose").passed


@pytest.mark.parametrize("text", ["{", '{"minimum": NaN}', "[]", ""])
def test_a_schema_file_that_is_no_schema_is_an_error_at_load(text, tmp_path):
    (tmp_path / "it.json").write_text(text, encoding="utf-8")
    assert errors(JsonSchema(schema_file="it.json"), tmp_path) == [("schema_file",)]


def test_a_schema_file_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin").write_bytes(b'{"title": "\xe4"}')
    for name in ("folder", "latin", "x" * 5000):
        assert errors(JsonSchema(schema_file=name), tmp_path) == [("schema_file",)]
    with pytest.raises(GraderError):
        graded(JsonSchema(schema_file=os.fspath(Path("not") / "there.json")), "1")


def test_schema_wins_over_schema_file():
    grader = JsonSchema(schema={"type": "string"}, schema_file="nothing.json")
    assert errors(grader) == []
    assert warnings(grader) == [("schema_file",)]
    assert graded(grader, '"x"').passed


def test_configs_that_are_refused():
    assert errors(JsonSchema()) == [()]
    assert errors(JsonSchema(schema={})) == []  # any JSON at all
    assert refused(JsonSchema, "schema: [1]")
    assert refused(JsonSchema, "{schema: {}, strict: true}")


def multiplying(levels: int, reference: str = "#/$defs/d{}", name: str = "{{}}") -> dict[str, Any]:
    """A schema whose every level has four times the next one as its alternatives."""
    defs: dict[str, Any] = {
        f"d{n}": {**json.loads(name.format(n)), "anyOf": [{"$ref": reference.format(n + 1)}] * 4}
        for n in range(levels)
    }
    last = {**json.loads(name.format(levels)), "type": "string"}
    return {"$defs": {**defs, f"d{levels}": last}, "$ref": reference.format(0)}


@pytest.mark.parametrize(
    ("reference", "name"),
    [("#/$defs/d{}", "{{}}"), ("#a{}", '{{"$anchor": "a{}"}}'), ("urn:x:{}", '{{"$id": "urn:x:{}"}}')],
    ids=["pointer", "anchor", "id"],
)
def test_a_schema_whose_alternatives_multiply_is_refused_when_the_suite_is_loaded(reference: str, name: str):
    grader = JsonSchema(schema=multiplying(12, reference, name))
    (found,) = grader.check(GraderLocation())
    assert "multiply to more than 1,000,000 checks of one value" in found.message
    assert errors(JsonSchema(schema=multiplying(6, reference, name))) == []


def test_in_the_matchers_of_tool_graders_too():
    matcher = Matcher(json_schema=multiplying(12))
    assert "multiply to more than" in next(matcher.check(("args",))).message


RECURSIVE = {"anyOf": [{"properties": {"a": {"$ref": "#"}}, "required": [str(n)]} for n in range(4)]}


def test_a_recursive_schema_that_an_output_makes_endless_is_a_grader_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tests.unit.graders.test_json_schema.TIMEOUT", 1)
    with pytest.raises(GraderError, match="cannot be held against the schema"):
        graded(JsonSchema(schema=RECURSIVE), '{"a": ' * 60 + "1" + "}" * 60)


def test_schemas_with_references_are_checked_by_a_child_as_by_ourselves():
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "name": {"type": "string"}}}
    grader = JsonSchema(schema=tree)
    assert graded(grader, '{"left": {"left": {"name": "x"}}}').passed
    verdict = graded(grader, '{"left": {"left": {"name": "\\ud800", "left": 7}}}')
    assert (
        verdict.feedback == 'the output does not fit the schema: /left/left/left: 7 is not of type "object"'
    )
