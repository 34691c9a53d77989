"""Validation: every example of the format, one clear message a mistake, and agreement with the format's schema."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.m365.documents import (
    INVALID,
    SAMPLES,
    VALID,
    document,
    mistakes,
    needs_corpus,
    nodes,
    oracle,
)
from tests.unit.m365.faults import CASES, SUMMARY, UPGRADE

from waza.m365.document.validate import validate

# --- the format's own examples ---


FAULTS = {
    "custom-evaluator-name-not-identifier": "items[0].evaluators.1bad_name: '1bad_name' cannot be the name of an"
    " evaluator; it starts with a letter; letters, digits and underscores follow",
    "empty-items": "items: is empty, but must have at least one entry",
    "error-result-with-score": "items[0].scores.relevance: has the result 'error' and yet 'score', 'threshold';"
    " keep 'result' and 'error' only, or write a result of pass or fail",
    "invalid-semver": "schemaVersion: 'version-one' is not a version; write one such as \"1.7.0\"",
    "missing-error-on-error": "items[0].scores.relevance: 'error' is missing",
    "missing-schema-version": f"'schemaVersion' is missing; {UPGRADE}",
    "multi-turn-empty-turns": "items[0].turns: is empty, but must have at least one entry",
    "multi-turn-has-both-prompt-and-turns": "items[0]: has both 'prompt' and 'turns';"
    " keep 'prompt' for a single question, 'turns' for a conversation",
    "multi-turn-missing-prompt": "items[0].turns[0]: 'prompt' is missing",
    "multi-turn-typo-in-turn": "items[0].turns[0].expeceted_response: unknown key 'expeceted_response';"
    " did you mean 'expected_response'?",
    "retrieval-query-missing-capability": "items[0].evaluators.RetrievalQuery: 'capability' is missing",
    "retrieval-query-missing-selector": "items[0].evaluators.RetrievalQuery: 'selector' is missing",
    "retrieval-query-threshold-override": "items[0].evaluators.RetrievalQuery.threshold: unknown key 'threshold';"
    " the threshold of RetrievalQuery is always 1.0",
    "retrieval-result-missing-assertions": "items[0].evaluators.RetrievalResult: checks nothing;"
    " set 'expected_items', 'min_expected_count' or both",
    "wrong-type": "items: is an object, but must be a list",
}


@needs_corpus
def test_the_table_has_every_invalid_example() -> None:
    assert {path.stem for path in INVALID} == FAULTS.keys()
    assert len(VALID) == 9


@needs_corpus
@pytest.mark.parametrize("path", INVALID, ids=lambda path: path.stem)
def test_invalid_examples_are_refused_for_their_fault_alone(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8")) == [FAULTS[path.stem]]


@needs_corpus
@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid_examples_are_valid(path: Path) -> None:
    assert mistakes(path.read_text(encoding="utf-8")) == []


# --- single mistakes ---


@pytest.mark.parametrize(("data", "said"), CASES, ids=[said[:70] for _, said in CASES])
def test_one_mistake_has_one_message(data: Any, said: str) -> None:
    assert mistakes(data) == [said]


def test_mistakes_come_in_the_order_of_the_file_with_their_places() -> None:
    text = '{"schemaVersion": "1.7.0",\n "items": [\n  {"prompt": "p", "status": 1,\n   "x": 1},\n  {"turns": [{"prompt": ""}]}]}'
    found = [(problem.line, problem.column, problem.path) for problem in validate(nodes(text))]
    assert found == [(3, 29, "items[0].status"), (4, 4, "items[0].x"), (5, 25, "items[1].turns[0].prompt")]


def test_what_is_right_though_it_looks_odd() -> None:
    assert (
        mistakes(
            document(
                {"prompt": " ", "evaluators": {}, "scores": {}, "diagnostics": {}},
                {"prompt": "p", "evaluators": {"my_eval": {"threshold": -3.5, "options": {"any": [None]}}}},
                {
                    "prompt": "p",
                    "evaluators": {"Citations": {"threshold": 2.0}},
                    "extensions": {"testId": None},
                },
                {"prompt": "p", "scores": {"my_eval": "anything", "toolCallAccuracy": None}},
                {
                    "prompt": "p",
                    "diagnostics": {"retrieval_executions": [{"status": None, "own": 1}], "own": None},
                },
                {"turns": [{"prompt": "p"}], "summary": SUMMARY},
                description="roots are open",
                foo=1,
                version=2,
                metadata={"own": None, "createdAt": "2026-01-20T10:00:00.5+02:00"},
            )
        )
        == []
    )


# --- agreement with the format's schema ---

ODD: list[Any] = [None, True, 0, 1, -1, 2.0, 2.5, 7, "", "x", "pass", "error", [], [1], {}, {"x": 1}, "2026"]
KEYS = [
    "x",
    "prompt",
    "turns",
    "score",
    "threshold",
    "result",
    "error",
    "options",
    "Relevance",
    "my_eval",
    "items",
]


def containers(value: Any) -> Iterator[Any]:
    """Yield every list and dict inside a value, itself included."""
    if isinstance(value, dict | list):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


def spoiled(data: Any, chance: random.Random) -> Any:
    """A copy with one change somewhere: a value replaced, removed, added, or put under another key."""
    copied = copy.deepcopy(data)
    place = chance.choice([found for found in containers(copied) if found])
    if isinstance(place, list):
        index = chance.randrange(len(place))
        chance.choice([lambda: place.pop(index), lambda: place.__setitem__(index, chance.choice(ODD))])()
        return copied
    key = chance.choice(list(place))
    change = chance.randrange(4)
    if change == 0:
        place[key] = chance.choice(ODD)
    elif change == 1:
        del place[key]
    elif change == 2:
        place[chance.choice(KEYS)] = chance.choice(ODD)
    else:
        place[chance.choice(KEYS)] = place.pop(key)
    return copied


@needs_corpus
@pytest.mark.parametrize("path", [*VALID, *SAMPLES], ids=lambda path: path.stem)
def test_the_schema_agrees_on_spoiled_documents(path: Path) -> None:
    chance = random.Random(path.stem)  # the same changes every time, on purpose
    original = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(original, dict) and len(original.get("items", [])) > 8:
        original["items"] = chance.sample(original["items"], 8)
    refused = 0
    for _ in range(120):
        data = spoiled(original, chance)
        found = [said for said in mistakes(data) if "warning: " not in said]
        errors = [said for said in found if "do not add up" not in said]  # a schema cannot count
        assert bool(errors) is not oracle().is_valid(data), (errors, data)
        refused += bool(errors)
    assert refused > 20
