"""Which evaluators run where, with which options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluators import code_only, write_evaluator
from tests.unit.m365.documents import SAMPLES, VALID, document, needs_corpus, read

from waza.m365.custom.discover import discover
from waza.m365.document.options import CitationsOptions, CustomOptions, JudgedOptions, convert_options
from waza.m365.document.read import read_document
from waza.m365.evaluators.resolve import ResolvedEvaluators, locate_problems, resolve

DEFAULTS = {"Relevance": {"threshold": 2}, "own_check": {"threshold": 1, "options": {"a": 1}}}


RETIRED = (
    "the evaluator ToolCallAccuracy is not available in this program;"
    " in a suite, the graders tool_calls and tool_constraint look at tool calls"
)


def resolved(tmp_path: Path, *items: Any, **keys: Any) -> ResolvedEvaluators:
    return resolve(read(tmp_path, document(*items, **keys)))


def only(tmp_path: Path, item: dict[str, Any], **keys: Any) -> str:
    """The evaluators of the only turn, as JSON, so that their order counts."""
    found = resolved(tmp_path, {"prompt": "p", "expected_response": "e", **item}, **keys)
    assert found.problems == ()
    return json.dumps(found.items[0][0])


def test_without_any_evaluators_the_systems_defaults_run(tmp_path: Path) -> None:
    assert only(tmp_path, {}) == '{"Relevance": {}, "Coherence": {}}'
    assert only(tmp_path, {"evaluators_mode": "replace"}) == '{"Relevance": {}, "Coherence": {}}'
    assert only(tmp_path, {"evaluators": {}}) == '{"Relevance": {}, "Coherence": {}}'


def test_the_documents_defaults_replace_the_systems(tmp_path: Path) -> None:
    assert only(tmp_path, {}, default_evaluators=DEFAULTS) == json.dumps(DEFAULTS)


@pytest.mark.parametrize("mode", [{}, {"evaluators_mode": "extend"}])
def test_extend_unites_and_the_items_options_win_key_by_key(tmp_path: Path, mode: dict[str, Any]) -> None:
    own = {"ExactMatch": {}, "own_check": {"threshold": 5}}
    found = only(tmp_path, {"evaluators": own, **mode}, default_evaluators=DEFAULTS)
    assert found == json.dumps(
        {
            "Relevance": {"threshold": 2},
            "own_check": {"threshold": 5, "options": {"a": 1}},
            "ExactMatch": {},
        }
    )


def test_options_of_custom_evaluators_are_replaced_as_a_whole(tmp_path: Path) -> None:
    own = {"own_check": {"options": {"b": 2}}}
    found = json.loads(only(tmp_path, {"evaluators": own}, default_evaluators=DEFAULTS))
    assert found["own_check"] == {"threshold": 1, "options": {"b": 2}}


def test_a_code_only_evaluator_does_not_switch_the_defaults_off(tmp_path: Path) -> None:
    assert list(json.loads(only(tmp_path, {"evaluators": {"own_check": {}}}))) == [
        "Relevance",
        "Coherence",
        "own_check",
    ]


def test_replace_leaves_the_items_own(tmp_path: Path) -> None:
    item = {"evaluators": {"ExactMatch": {}}, "evaluators_mode": "replace"}
    assert only(tmp_path, item, default_evaluators=DEFAULTS) == '{"ExactMatch": {}}'


def test_each_turn_has_its_own(tmp_path: Path) -> None:
    turns = [
        {"prompt": "a"},
        {"prompt": "b", "evaluators": {"Groundedness": {"threshold": 4}}},
        {"prompt": "c", "evaluators": {"mine": {}}, "evaluators_mode": "replace"},
    ]
    found = resolved(tmp_path, {"prompt": "p"}, {"turns": turns})
    assert [[list(evaluators) for evaluators in item] for item in found.items] == [
        [["Relevance", "Coherence"]],
        [["Relevance", "Coherence"], ["Relevance", "Coherence", "Groundedness"], ["mine"]],
    ]
    assert found.custom == {"mine": ("items", 1, "turns", 2, "evaluators", "mine")}


def test_names_count_wherever_a_map_is(tmp_path: Path) -> None:
    """Also one of the defaults that every item replaces."""
    item = {"prompt": "p", "evaluators": {"Similarity": {}, "b": {}}, "evaluators_mode": "replace"}
    found = resolved(tmp_path, item, default_evaluators={"a": {}, "b": {}})
    assert found.custom == {"a": ("default_evaluators", "a"), "b": ("default_evaluators", "b")}


def test_nothing_to_run(tmp_path: Path) -> None:
    nothing = {"prompt": "p", "evaluators": {}, "evaluators_mode": "replace"}
    found = resolved(tmp_path, nothing, {"turns": [{"prompt": "p"}, nothing]})
    assert [str(problem).partition(": ")[2] for problem in found.problems] == [
        f"items[{place}].evaluators: no evaluator is left to run;"
        " name at least one evaluator, or remove 'evaluators' and 'evaluators_mode'"
        for place in ("0", "1].turns[1")
    ]
    assert {problem.severity for problem in found.problems} == {"error"}
    found = resolved(
        tmp_path, {"prompt": "p"}, {"prompt": "p", "evaluators": {"a": {}}}, default_evaluators={}
    )
    (problem,) = found.problems
    assert (problem.path, problem.severity, problem.message) == (
        "items[0]",
        "warning",
        "no evaluator runs here",
    )
    assert found.items == (({},), ({"a": {}},))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "relevance",
            (
                "there is no evaluator 'relevance'; names are case-sensitive, and this one is reserved; write 'Relevance', or "
                "name your custom evaluator domain_relevance"
            ),
        ),
        (
            "EXACTMATCH",
            (
                "there is no evaluator 'EXACTMATCH'; names are case-sensitive, and this one is reserved; write 'ExactMatch', or "
                "name your custom evaluator domain_EXACTMATCH"
            ),
        ),
        (
            "ToolCallAccuracy",
            RETIRED,
        ),
        (
            "toolcallaccuracy",
            RETIRED,
        ),
    ],
)
def test_names_that_nobody_may_use(tmp_path: Path, name: str, said: str) -> None:
    found = resolved(tmp_path, {"prompt": "p", "evaluators": {name: {}}}, default_evaluators={name: {}})
    assert found.custom == {}
    assert [(problem.path, f"{problem.message}; {problem.hint}") for problem in found.problems] == [
        (f"default_evaluators.{name}", said),
        (f"items[0].evaluators.{name}", said),
    ]
    assert all(problem.line and problem.severity == "error" for problem in found.problems)


@pytest.mark.parametrize("name", ["domain_relevance", "Relevance2", "ToolCallSelection", "x"])
def test_any_other_name_may_be_a_custom_evaluator(tmp_path: Path, name: str) -> None:
    found = resolved(tmp_path, {"prompt": "p", "evaluators": {name: {}}})
    assert list(found.custom) == [name]
    assert found.problems == ()


def test_options_come_with_their_defaults() -> None:
    assert convert_options("Citations", {"threshold": 2.0}) == CitationsOptions(threshold=2)
    assert convert_options("Relevance", {}) == JudgedOptions(threshold=3)
    assert convert_options("mine", {"options": {"a": 1}}) == CustomOptions(options={"a": 1})


@needs_corpus
@pytest.mark.parametrize("path", [*VALID, *SAMPLES], ids=lambda path: path.stem)
def test_every_document_of_the_corpus_resolves(path: Path) -> None:
    found = resolve(read_document(path))
    # Some samples say nothing of what Groundedness compares with.
    assert all("has no context" in problem.message for problem in found.problems)
    assert {problem.severity for problem in found.problems} <= {"warning"}
    assert all(evaluators for item in found.items for evaluators in item)
    assert set(found.custom) <= {
        "professional_tone",
        "consistency_check",
        "answer_accuracy",
        "forbidden_terms",
    }


def test_names_of_no_evaluator_are_reported_where_the_document_first_has_them(tmp_path: Path) -> None:
    write_evaluator(tmp_path, "empty", "x = 1")
    write_evaluator(tmp_path, "exactMatches", code_only("{'score': 1}"))
    own: list[dict[str, Any]] = [{"empty": {}, "exactMatches": {}}, {"mine": {}}, {"mine": {}}]
    turns = [{"prompt": "p", "evaluators": evaluators} for evaluators in own]
    source = read(tmp_path, document({"prompt": "p"}, {"turns": turns}, default_evaluators={"lost": {}}))
    found = resolve(source)
    problems = locate_problems(source, found, discover(tmp_path, found.custom).problems)
    lines = (tmp_path / Path(source.source.file).name).read_text(encoding="utf-8").splitlines()
    told = {problem.message: problem for problem in problems}
    lost, mine = told["Unknown evaluator 'lost'"], told["Unknown evaluator 'mine'"]
    assert (lost.path, mine.path) == ("default_evaluators.lost", "items[1].turns[1].evaluators.mine")
    for name, problem in (("lost", lost), ("mine", mine)):
        assert problem.file == source.source.file
        assert lines[problem.line - 1][problem.column - 1 :].startswith(f'"{name}": {{}}')
    folder = tmp_path / "custom-evaluators" / "empty"
    assert told["Custom evaluator 'empty' has no class"].file == str(folder / "empty.py")
    assert len(problems) == 3


def test_turns_that_lack_what_an_evaluator_needs_are_reported_once_each(tmp_path: Path) -> None:
    defaults: dict[str, Any] = {"ExactMatch": {}, "Groundedness": {}, "Citations": {}}
    bare, whole = {"prompt": "p"}, {"prompt": "p", "expected_response": "e", "context": " "}
    found = resolved(tmp_path, whole, {"turns": [bare, bare]}, bare, default_evaluators=defaults)
    assert [(one.severity, one.path, one.message) for one in found.problems] == [
        (
            "warning",
            "items[0]",
            "has no context (so do 3 others), without which Groundedness gives no result",
        ),
        (
            "warning",
            "items[1].turns[0]",
            "has no expected_response (so do 2 others), without which ExactMatch gives no result",
        ),
    ]
