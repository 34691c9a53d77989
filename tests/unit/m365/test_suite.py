"""A document as a suite: items are tasks, turns are prompts, and evaluators are their graders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluators import code_only, write_evaluator
from tests.unit.m365.documents import document, read

from waza.errors import UsageError
from waza.m365.evaluators.resolve import resolve
from waza.m365.suite import RECORDED, Agent, make_suite, parse_agent
from waza.model.loaded import Suite

MATCH: dict[str, Any] = {"evaluators": {"ExactMatch": {}}, "evaluators_mode": "replace"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def suite(tmp_path: Path, *items: dict[str, Any], agent: Agent | None = None) -> Suite:
    found = read(tmp_path, document(*items))
    return make_suite(found, resolve(found).items, agent or Agent(executor=RECORDED))


@pytest.mark.parametrize(
    ("text", "executor", "options"),
    [
        ("mock", "mock", {}),
        ("recorded", "recorded", {}),
        (
            "command:python bot.py",
            "command",
            {"command": "python bot.py", "directory": "current", "answer": "json"},
        ),
        ("a2a:http://127.0.0.1:1", "a2a", {"url": "http://127.0.0.1:1"}),
    ],
)
def test_agents_are_executors_or_recorded(text: str, executor: str, options: dict[str, str]):
    assert parse_agent(text) == (executor, options)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("command", ""),
        ("nobody", ""),
        ("python bot.py", "did you mean command:python bot.py? "),
        ("http://127.0.0.1:1", "did you mean a2a:http://127.0.0.1:1? "),
    ],
)
def test_another_agent_is_refused_with_what_was_probably_meant(text: str, hint: str):
    with pytest.raises(UsageError) as caught:
        parse_agent(text)
    known = "known: mock, recorded, command:CMD, a2a:URL, copilot-sdk, chat"
    assert str(caught.value) == f"there is no agent {text!r}; {hint}{known}"


def test_items_are_tasks_and_the_evaluators_of_the_last_turn_are_their_graders(tmp_path: Path):
    single = {"prompt": "one", **MATCH}
    thread = {"name": "talk", "turns": [{"prompt": "two"}, {"prompt": "three", **MATCH}]}
    first, second = suite(tmp_path, single, thread).tasks
    assert (first.id, first.prompt, first.follow_ups, first.checkpoints) == ("item-1", "one", (), ())
    assert [grader.spec.name for grader in first.graders] == ["ExactMatch"]
    assert (second.id, second.prompt, second.follow_ups) == ("talk", "two", ("three",))
    assert [grader.spec.name for grader in second.graders] == ["ExactMatch"]
    (point,) = second.checkpoints
    assert (point.after_turn, point.stop) == (1, False)
    assert [grader.spec.name for grader in point.graders] == ["Relevance", "Coherence"]
    assert (first.verbatim, first.no_skills) == (True, True)


def test_recorded_responses_are_the_script_of_the_mock(tmp_path: Path):
    failed = {"code": "agentRequestFailed", "message": "Agent request failed: away"}
    busy = {"code": "agentThrottled", "message": "Agent request failed: as recorded: slow down"}
    broken = {"code": "evaluatorsFailed", "message": "1 of 1 evaluators failed to run."}
    tasks = suite(
        tmp_path,
        {"prompt": "p", "response": "A", "diagnostics": {"own": 1, "evaluator_tracebacks": {"x": "t"}}},
        {"prompt": "p", "response": "", "error": failed},
        {"prompt": "p", "response": "", "error": busy},
        {"prompt": "p", "response": "B", "error": broken},
        {"prompt": "p"},
    ).tasks
    (answered, away, throttled, kept, missing) = ((task.mock.turns or ())[0] for task in tasks if task.mock)
    assert (answered.output, answered.diagnostics) == ("A", {"own": 1})
    assert (away.error, away.throttled) == ("as recorded: away", False)
    assert (throttled.error, throttled.throttled) == ("as recorded: slow down", True)
    assert (kept.output, kept.error) == ("B", None)
    assert missing.error == "the document has no 'response' for this prompt"


def test_another_agent_has_no_script(tmp_path: Path):
    (task,) = suite(tmp_path, {"prompt": "p", "response": "A"}, agent=Agent(executor="mock")).tasks
    assert task.mock is None


def test_results_depend_on_whatever_may_change_them(tmp_path: Path):
    item = {"prompt": "p", "evaluators": {"check": {}}, "evaluators_mode": "replace"}
    folder = write_evaluator(tmp_path, "check", code_only("{'score': 1}"))
    seen = [suite(tmp_path, item).digest]
    assert suite(tmp_path, item).digest == seen[0]
    (folder / "helper.py").write_text("x = 1", encoding="utf-8")
    seen.append(suite(tmp_path, item).digest)
    seen.append(suite(tmp_path, item, agent=Agent(executor=RECORDED, judge="another")).digest)
    seen.append(suite(tmp_path, item, agent=Agent(executor=RECORDED, entailment=True)).digest)
    seen.append(suite(tmp_path, {**item, "expected_response": "A"}).digest)
    assert len(set(seen)) == len(seen)
