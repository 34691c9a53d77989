"""`expected`: what a task asks for without declaring graders is checked, and shows among the verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import mock_suite, waza


def text(**keys: Any) -> str:
    """A task file; JSON is YAML."""
    return json.dumps({"inputs": {"prompt": "go"}, **keys})


def ran(
    root: Path, tasks: dict[str, str], *flags: str, head: str = "", config: list[str] | None = None
) -> Any:
    """Run the tasks; return the first run of each by its id."""
    ended = waza("run", mock_suite(root, tasks, head=head, config=config or []), *flags, cwd=root)
    assert ended.code in (0, 1), ended.err
    return {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}


# What is expected of "Die Katze ist GRÜN.", and the score of each check.
TEXTS: dict[str, tuple[dict[str, list[str]], dict[str, float]]] = {
    "all": ({"output_contains": ["katze", "grün"]}, {"_output_contains": 1}),
    "some": ({"output_contains": ["KATZE", "hund", "maus"]}, {"_output_contains": 1 / 3}),
    "absent": ({"output_not_contains": ["hund", "maus"]}, {"_output_not_contains": 1}),
    "present": ({"output_not_contains": ["hund", "KATZE IST"]}, {"_output_not_contains": 0.5}),
    "any": ({"output_contains_any": ["hund", "Katze"]}, {"_output_contains_any": 1}),
    "none-of-any": ({"output_contains_any": ["hund", "maus"]}, {"_output_contains_any": 0}),
    "three": (
        {"output_contains": ["katze"], "output_not_contains": ["ist"], "output_contains_any": ["x", "die"]},
        {"_output_contains": 1, "_output_not_contains": 0, "_output_contains_any": 1},
    ),
    "empty": ({"output_contains": [], "output_not_contains": [], "output_contains_any": []}, {}),
}


def test_texts_are_sought_in_any_case_and_count_in_score_and_status(tmp_path: Path) -> None:
    grader = {"type": "text", "name": "g", "config": {"contains_cs": ["GRÜN"]}, "weight": 2}
    tasks = {
        name: text(expected=expected, mock={"output": "Die Katze ist GRÜN."}, graders=[grader])
        for name, (expected, _) in TEXTS.items()
    }
    ended = waza("run", mock_suite(tmp_path, tasks), cwd=tmp_path)
    assert ended.code == 1
    for task in ended.results()["tasks"]:
        run, wanted = task["runs"][0], TEXTS[task["test_id"]][1]
        checks = {name: one for name, one in run["validations"].items() if name != "g"}
        assert {name: one["score"] for name, one in checks.items()} == pytest.approx(wanted, rel=0, abs=1e-9)
        for name, one in checks.items():
            assert (one["identifier"], one["type"], one["weight"]) == (name, "text", 1)
            assert one["passed"] is (one["score"] == 1)
            assert one["details"]["failures"] == ([] if one["passed"] else one["feedback"].split("; "))
        assert run["status"] == ("passed" if all(score == 1 for score in wanted.values()) else "failed")
        weighted = (2 + sum(wanted.values())) / (2 + len(wanted))
        assert task["stats"]["avg_weighted_score"] == pytest.approx(weighted, rel=0, abs=1e-9)


def test_a_missing_text_is_named(tmp_path: Path) -> None:
    run = ran(tmp_path, {"a": text(expected={"output_contains": ["hund"]}, mock={"output": "Katze"})})["a"]
    assert "'hund'" in run["validations"]["_output_contains"]["feedback"]


def test_descriptions_are_no_checks(tmp_path: Path) -> None:
    expected = {
        "outcomes": [{"type": "file", "value": "a.txt", "condition": "exists"}],
        "tool_calls": {"required": ["bash"]},
    }
    run = ran(tmp_path, {"a": text(expected=expected, mock={"output": "x"})})["a"]
    assert (run["validations"], run["status"]) == ({}, "passed")


CALLS = [{"name": "view"}, {"name": "edit"}]
USAGE = {"input_tokens": 100, "output_tokens": 20}

# Limits on two turns (two calls each, 120 tokens each, one assistant message each): score, words of feedback.
BEHAVIOURS: dict[str, tuple[dict[str, Any], float, list[str]]] = {
    "at-all-limits": (
        {
            "max_tool_calls": 4,
            "max_iterations": 2,
            "max_tokens": 240,
            "required_tools": ["view"],
            "forbidden_tools": ["bash"],
        },
        1,
        [],
    ),
    "calls": ({"max_tool_calls": 3}, 0, ["4 tool calls"]),
    "iterations": ({"max_iterations": 1}, 0, ["2 assistant messages"]),
    "tokens": ({"max_tokens": 239, "max_tool_calls": 9}, 0.5, ["240 tokens"]),
    "time": ({"max_response_time_ms": 9}, 0, ["ms"]),
    "time-enough": ({"max_response_time_ms": 60_000}, 1, []),
    "tools": (
        {"required_tools": ["view", "nope"], "forbidden_tools": ["edit"], "max_iterations": 1},
        0.25,
        ["'nope'", "'edit'", "2 assistant messages"],
    ),
}


def test_behaviour_is_held_to_its_limits_over_all_turns(tmp_path: Path) -> None:
    turn = {"output": "x", "tool_calls": CALLS, "usage": USAGE, "delay_ms": 5}
    tasks = {
        name: json.dumps(
            {
                "inputs": {"prompt": "go", "follow_up_prompts": ["more"]},
                "expected": {"behavior": limits},
                "mock": {"turns": [turn, turn]},
            }
        )
        for name, (limits, _, _) in BEHAVIOURS.items()
    }
    for name, run in ran(tmp_path, tasks).items():
        _, score, words = BEHAVIOURS[name]
        found = run["validations"]["_behavior"]
        assert (found["identifier"], found["type"], found["weight"]) == ("_behavior", "behavior", 1)
        assert found["score"] == pytest.approx(score, rel=0, abs=1e-9), name
        assert found["passed"] is (score == 1)
        assert run["status"] == ("passed" if score == 1 else "failed")
        assert [word for word in words if word not in found["feedback"]] == []
        assert len(found["details"]["failures"]) == len(words)
        assert (found["details"]["tool_call_count"], found["details"]["tokens_total"]) == (4, 240)


NOT_CHECKED = {
    "echo": text(expected={"behavior": {"required_tools": ["bash"]}}),
    "echo-of-no-turns": text(expected={"behavior": {"required_tools": ["bash"]}}, mock={"turns": []}),
    "echo-with-a-judge": text(expected={"behavior": {"required_tools": ["bash"]}}, mock={"judge": {"g": []}}),
    "empty": text(expected={"behavior": {}}, mock={"output": "x"}),
}


def test_behaviour_is_not_asked_of_an_echo_nor_without_a_limit(tmp_path: Path) -> None:
    found = ran(tmp_path, NOT_CHECKED)
    assert {name: run["validations"] for name, run in found.items()} == {name: {} for name in NOT_CHECKED}


def test_the_script_of_the_suite_counts_as_one(tmp_path: Path) -> None:
    tasks = {"a": text(expected={"behavior": {"required_tools": ["bash"]}})}
    found = ran(tmp_path, tasks, head="mock: {output: done}")["a"]
    assert found["validations"]["_behavior"]["passed"] is False


def invoking(should: bool, mock: dict[str, Any] | None) -> str:
    return text(expected={"should_trigger": should}, **({} if mock is None else {"mock": mock}))


# Expectation and script; the verdict, or None where there is no check.
SHOULD: dict[str, tuple[bool, dict[str, Any] | None, bool | None]] = {
    "fired": (True, {"skills": ["greeter"]}, True),
    "fired-among-others": (True, {"skills": ["other", {"name": "greeter", "path": "skills/greeter"}]}, True),
    "another-fired": (True, {"skills": ["Greeter", "greeter-2"]}, False),
    "nothing-fired": (True, {"skills": []}, False),
    "rightly-silent": (False, {"skills": ["other"]}, True),
    "wrongly-fired": (False, {"skills": ["greeter"]}, False),
    "in-a-later-turn": (True, {"turns": [{"output": "x"}, {"skills": ["greeter"]}]}, True),
    "no-key": (True, {"output": "x"}, None),
    "echo": (True, None, None),
    "by-execution": (True, {"executions": [{"skills": ["greeter"]}]}, True),
    "no-key-by-execution": (True, {"skills": [], "executions": [{"output": "x"}]}, None),
}


@pytest.mark.parametrize(
    ("head", "config", "checked"),
    [
        ("skill: greeter", ["inject_skill_body: false"], True),
        ("skill: greeter", ["inject_skill_body: false", "enforce_expected: false"], False),
        ("skill: greeter", ["inject_skill_body: true"], False),
        ("skill: greeter", [], False),  # the body is injected by default
        ("", ["inject_skill_body: false"], False),  # no skill, so none that could fire
    ],
)
def test_should_trigger_is_checked_where_a_skill_can_fire(
    head: str, config: list[str], checked: bool, tmp_path: Path
) -> None:
    tasks = {name: invoking(should, mock) for name, (should, mock, _) in SHOULD.items()}
    tasks["in-a-later-turn"] = json.dumps(
        {**json.loads(tasks["in-a-later-turn"]), "inputs": {"prompt": "go", "follow_up_prompts": ["more"]}}
    )
    for name, run in ran(tmp_path, tasks, head=head, config=config).items():
        verdict = SHOULD[name][2] if checked else None
        found = run["validations"].get("_should_trigger")
        assert (found is None) == (verdict is None), name
        assert run["status"] == ("failed" if verdict is False else "passed")
        if found is not None:
            assert (found["passed"], found["score"]) == (verdict, int(bool(verdict)))
            assert (found["type"], found["weight"]) == ("skill_invocation", 1)
            assert "'greeter'" in found["feedback"] or found["passed"]


def test_enforcement_is_switched_off_for_behaviour_but_not_for_texts(tmp_path: Path) -> None:
    expected = {"behavior": {"required_tools": ["bash"]}, "output_contains": ["y"]}
    tasks = {"a": text(expected=expected, mock={"output": "x"})}
    run = ran(tmp_path, tasks, config=["enforce_expected: false"])["a"]
    assert list(run["validations"]) == ["_output_contains"]
    assert run["status"] == "failed"


def test_a_broken_turn_is_still_held_to_what_is_expected(tmp_path: Path) -> None:
    tasks = {"a": text(expected={"output_contains": ["x"]}, mock={"output": "x", "error": "away"})}
    run = ran(tmp_path / "graded", tasks)["a"]
    assert (run["status"], run["validations"]["_output_contains"]["passed"]) == ("error", True)
    run = ran(tmp_path / "skipped", tasks, "--skip-graders")["a"]
    assert (run["status"], run["validations"]) == ("error", {})


def test_invocations_are_compared_with_the_name_of_the_skill_that_was_found(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "rev"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: Rev\ndescription: d\n---\nx\n", encoding="utf-8")
    tasks = {
        "fired": text(expected={"should_trigger": True}, mock={"skills": ["Rev"]}),
        "unwanted": text(expected={"should_trigger": False}, mock={"skills": ["Rev"]}),
    }
    config = ["inject_skill_body: false", "skill_directories: [skills]"]
    runs = ran(tmp_path, tasks, head="skill: rev", config=config)
    assert [runs[key]["validations"]["_should_trigger"]["passed"] for key in tasks] == [True, False]
