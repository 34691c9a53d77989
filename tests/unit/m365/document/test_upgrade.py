"""Older forms become the current one, in memory and as text; what is current stays as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.m365.documents import SAMPLES, VALID, document, mistakes, needs_corpus, nodes, oracle, read

from waza.errors import SuiteError
from waza.kit.decode import format_path
from waza.kit.yaml import to_plain
from waza.m365.document.upgrade import rewrite, upgrade
from waza.m365.document.validate import validate


def upgraded(data: Any) -> tuple[Any, list[str]]:
    """The document in its current form, and what was changed for it."""
    result = upgrade(nodes(data))
    assert result.problems == ()
    said = [f"{format_path(change.path)}: {change.message}".removeprefix(": ") for change in result.changes]
    return to_plain(result.document.root), said


def upgraded_text(text: str) -> str:
    return rewrite(text, upgrade(nodes(text)))


PAIR = [{"prompt": "a", "expected_response": "x"}, {"prompt": "b"}]


def test_a_bare_list_of_prompts() -> None:
    data, said = upgraded(PAIR)
    assert data == {"schemaVersion": "1.7.0", "items": PAIR}
    assert said == ["turned a bare list of prompts into items"]
    assert mistakes(data) == []


def test_two_lists() -> None:
    lists = {"prompts": ["a", "b"], "expected_responses": ["x", None], "description": "d"}
    data, said = upgraded(lists)
    assert data == {"schemaVersion": "1.7.0", "description": "d", "items": PAIR}
    assert said == ["turned lists of prompts and of expected responses into items"]
    assert upgraded({"prompts": ["a"]})[0] == {"schemaVersion": "1.7.0", "items": [{"prompt": "a"}]}


def test_a_document_without_a_version_and_one_of_an_older_version() -> None:
    assert upgraded({"items": PAIR}) == ({"schemaVersion": "1.7.0", "items": PAIR}, ["added version 1.7.0"])
    data, said = upgraded({"$schema": "s", "schemaVersion": "1.2.0", "items": PAIR})
    assert list(data.items()) == [("$schema", "s"), ("schemaVersion", "1.7.0"), ("items", PAIR)]
    assert said == ["schemaVersion: 1.2.0 became 1.7.0"]


@pytest.mark.parametrize("version", ["1.7.0", "1.7.1", "1.10.0", "2.0.0", "one", 1.2, None])
def test_versions_that_are_not_older_stay(version: Any) -> None:
    data = {"schemaVersion": version, "items": PAIR}
    assert upgraded(data) == (data, [])


def test_keys_of_other_documentation_move_under_extensions() -> None:
    turn = {"prompt": "p", "notes": "n"}
    data, said = upgraded(
        document(
            {"name": "single", "prompt": "p", "category": "c", "extensions": {"id": 1, "category": "own"}},
            {"name": "thread", "turns": [turn, {"prompt": "q"}], "testId": "T"},
            {"prompt": "p", "extensions": 5, "notes": "n"},
        )
    )
    assert data["items"] == [
        {"prompt": "p", "category": "c", "extensions": {"id": 1, "category": "own", "name": "single"}},
        {
            "name": "thread",
            "turns": [{"prompt": "p", "extensions": {"notes": "n"}}, {"prompt": "q"}],
            "extensions": {"testId": "T"},
        },
        {"prompt": "p", "extensions": 5, "notes": "n"},
    ]
    moved = "is not a key of the format, moved under 'extensions'"
    assert said == [
        f"items[0].name: {moved}",
        f"items[1].testId: {moved}",
        f"items[1].turns[0].notes: {moved}",
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"prompts": "a"}, "prompts: must be a list"),
        ({"prompts": ["a"], "expected_responses": {}}, "expected_responses: must be a list"),
        (
            {"prompts": ["a", "b"], "expected_responses": ["x"]},
            "expected_responses: its length is 1, that of 'prompts' 2; give each prompt one, or null where nothing is expected",
        ),
    ],
)
def test_lists_that_do_not_fit_are_refused(tmp_path: Path, data: Any, said: str) -> None:
    with pytest.raises(SuiteError) as refused:
        read(tmp_path, data)
    (problem,) = refused.value.problems
    assert str(problem).endswith(said)
    assert problem.line


def test_mistakes_in_an_older_form_are_placed_in_its_own_file() -> None:
    text = '[\n {"prompt": "a"},\n {"prompt": "b", "expected_response": 3}\n]'
    (problem,) = validate(upgrade(nodes(text)).document)
    assert (problem.line, problem.column, problem.path) == (3, 39, "items[1].expected_response")


# --- as text ---


def test_the_layout_stays_where_only_the_version_changes() -> None:
    text = '{\r\n\t"a": {"schemaVersion" : "x"},\r\n\t"items": [ {"prompt": "é \\u00e9"} ]\r\n}'
    assert upgraded_text(text) == text.replace("{\r\n\t", '{\r\n\t"schemaVersion": "1.7.0",\r\n\t', 1)
    old = '{ "items" : [ {"prompt":"p"} ],  "schemaVersion" :"1.0.0" }'
    assert upgraded_text(old) == old.replace("1.0.0", "1.7.0")
    assert (
        upgraded_text('{"items": [{"prompt": "p"}]}')
        == '{"schemaVersion": "1.7.0", "items": [{"prompt": "p"}]}'
    )


def test_where_the_layout_cannot_stay_the_document_is_written_again() -> None:
    nested = '{"extensions": {"schemaVersion": "1.2.0"}, "schemaVersion": "1.2.0", "items": []}'
    assert json.loads(upgraded_text(nested)) == {
        "extensions": {"schemaVersion": "1.2.0"},
        "schemaVersion": "1.7.0",
        "items": [],
    }
    assert upgraded_text('[{"prompt": "😀"}]').splitlines()[:4] == [
        "{",
        '  "schemaVersion": "1.7.0",',
        '  "items": [',
        "    {",
    ]


@needs_corpus
@pytest.mark.parametrize("path", [*VALID, *SAMPLES], ids=lambda path: path.stem)
def test_upgraded_documents_are_valid_and_current(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    result = upgrade(nodes(text))
    new = rewrite(text, result)
    assert [said for said in mistakes(new) if "warning: " not in said] == []
    assert oracle().is_valid(json.loads(new))
    assert upgrade(nodes(new)).changes == ()
    if {change.kind for change in result.changes} == {"version"}:
        same = [old == line for old, line in zip(text.splitlines(), new.splitlines(), strict=True)]
        assert same.count(False) == 1
