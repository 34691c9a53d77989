"""Prompt graders with a scripted judge: verdicts, errors, rubrics, checkpoints, what the judge is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

from waza.errors import SuiteError
from waza.suite.load import load


def judged(name: str = "g", **config: Any) -> dict[str, Any]:
    return {"type": "prompt", "name": name, "config": {"prompt": "Is it polite?", **config}}


def task(mock: dict[str, Any] | None, *graders: dict[str, Any], **keys: Any) -> str:
    """A task file; JSON is YAML."""
    mocked = {} if mock is None else {"mock": mock}
    return json.dumps({"inputs": {"prompt": "Greet me"}, "graders": list(graders), **mocked, **keys})


def run(
    root: Path, tasks: dict[str, str], *flags: str, head: str = "", config: list[str] | None = None
) -> Ended:
    ended = waza("run", mock_suite(root, tasks, head=head, config=config or []), *flags, cwd=root)
    assert ended.code in (0, 1), ended.err
    assert "Traceback" not in ended.err
    return ended


def first_runs(ended: Ended) -> dict[str, Any]:
    """The first run of each task by its id."""
    return {one["test_id"]: one["runs"][0] for one in ended.results()["tasks"]}


P, F, E = {"pass": "good"}, {"fail": "rude"}, {"error": "connection lost"}

# What the judge does: status of the run, score, words of the feedback.
STEPS: dict[str, tuple[list[dict[str, Any]], str, float, str]] = {
    "passes": ([P, {"pass": "warm"}], "passed", 1, "2 of 2"),
    "mixed": ([P, F, {"fail": "long"}, P], "failed", 0.5, "rude; long"),
    "fails": ([F], "failed", 0, "rude"),
    "nothing": ([], "failed", 0, "no verdict"),
    "only-text": ([{"reply": "I like it"}], "failed", 0, "I like it"),
    "text-and-verdict": ([{"reply": "I like it"}, P], "passed", 1, "1 of 1"),
    "winner-of-nothing": ([{"winner": "A"}], "failed", 0, "no verdict"),
    "error-first": ([E, P], "error", 0, "connection lost"),
    "error-after-pass": ([P, E], "passed", 1, "1 of 1"),
    "error-after-fail": ([F, E, P], "failed", 0, "rude"),
    "error-after-text": ([{"reply": "well"}, E], "error", 0, "connection lost"),
}


def test_verdicts_follow_from_what_the_judge_calls(tmp_path: Path) -> None:
    tasks = {
        name: task({"output": "hi", "judge": {"g": steps}}, judged()) for name, (steps, *_) in STEPS.items()
    }
    for name, found in first_runs(run(tmp_path, tasks)).items():
        _, status, score, words = STEPS[name]
        verdict = found["validations"]["g"]
        assert (found["status"], verdict["score"], verdict["passed"]) == (
            status,
            score,
            status == "passed",
        ), name
        assert words in verdict["feedback"], name
        assert ("error" in verdict["details"]) == (status == "error")
        if status == "error":
            assert found["error_msg"].startswith("running graders: g: ")
    details = first_runs(run(tmp_path, {"m": tasks["mixed"]}))["m"]["validations"]["g"]["details"]
    assert (details["passes"], details["failures"]) == ("good; good", "rude; long")


def test_a_judge_without_a_script_is_an_error_that_names_the_grader(tmp_path: Path) -> None:
    tasks = {
        "echo": task(None, judged("tone")),
        "other": task({"output": "hi", "judge": {"tone": [P]}}, judged("tone"), judged("facts")),
        "unnamed": json.dumps(
            {"inputs": {"prompt": "x"}, "graders": [{"type": "prompt", "config": {"prompt": "p"}}]}
        ),
    }
    found = first_runs(run(tmp_path, tasks))
    assert {name: one["status"] for name, one in found.items()} == dict.fromkeys(tasks, "error")
    assert "mock.judge.tone" in found["echo"]["validations"]["tone"]["feedback"]
    assert found["other"]["validations"]["tone"]["passed"] is True
    assert "mock.judge.facts" in found["other"]["error_msg"]
    assert "tone" not in found["other"]["error_msg"]
    assert "mock.judge.prompt" in found["unnamed"]["validations"]["prompt"]["feedback"]


def test_scripts_of_suite_task_and_execution_are_laid_over_each_other(tmp_path: Path) -> None:
    suite = "mock: {output: suite, judge: {g: [{pass: from the suite}], h: [{pass: from the suite}]}}"
    tasks = {
        "inherits": task(None, judged()),
        "keeps-the-judge": task({"output": "task"}, judged()),
        # The key `judge` is replaced as a whole.
        "replaces": task({"judge": {"g": [{"fail": "from the task"}]}}, judged(), judged("h")),
        "by-trial": task({"executions": [{}, {"judge": {"g": [{"fail": "second trial"}]}}]}, judged()),
        "templated": task({"judge": {"g": [{"pass": "{{.Vars.word}}"}]}}, judged()),
    }
    head = f"inputs: {{word: lovely}}\n{suite}"
    ended = run(tmp_path, tasks, "--trials", "2", head=head)
    found = {one["test_id"]: one["runs"] for one in ended.results()["tasks"]}
    said = {name: [one["validations"]["g"]["details"] for one in runs] for name, runs in found.items()}
    assert [one["passes"] for one in said["inherits"]] == ["from the suite"] * 2
    assert [one["final_output"] for one in found["keeps-the-judge"]] == ["task"] * 2
    assert [one["passes"] for one in said["keeps-the-judge"]] == ["from the suite"] * 2
    assert said["replaces"][0]["failures"] == "from the task"
    assert "mock.judge.h" in found["replaces"][0]["error_msg"]
    assert (said["by-trial"][0]["passes"], said["by-trial"][1]["failures"]) == (
        "from the suite",
        "second trial",
    )
    assert said["templated"][0]["passes"] == "lovely"


def test_a_failed_judgement_is_tried_again_and_an_error_is_not(tmp_path: Path) -> None:
    tasks = {
        "late": task({"output": "x", "executions": [{"judge": {"g": [F]}}, {"judge": {"g": [P]}}]}, judged()),
        "error": task(
            {"output": "x", "executions": [{"judge": {"g": [E]}}, {"judge": {"g": [P]}}]}, judged()
        ),
    }
    found = first_runs(run(tmp_path, tasks, config=["max_attempts: 2"]))
    assert [(found[name]["status"], found[name]["attempts"]) for name in ("late", "error")] == [
        ("passed", 2),
        ("error", 1),
    ]


def test_what_the_judge_is_shown(tmp_path: Path) -> None:
    script = {
        "output": "Good day!",
        "judge": {name: [P] for name in ("plain", "hidden", "resumed", "strict")},
    }
    tasks = {
        "a": task(
            script,
            judged("plain"),
            judged("hidden", include_output=False),
            judged("resumed", continue_session=True),
            judged("strict", threshold=1.0),
        )
    }
    found = first_runs(run(tmp_path, tasks))["a"]
    assert found["status"] == "passed"
    asked = {name: one["details"]["prompt"] for name, one in found["validations"].items()}
    assert asked["hidden"] == asked["resumed"] == "Is it polite?"
    for name in ("plain", "strict"):
        assert asked[name].startswith("Is it polite?")
        assert asked[name].index("Greet me") < asked[name].index("Good day!")


RUBRIC = """---
name: manners
version: v1.2
scale: pass-fail
description: Politeness.
---
Look for a greeting.
"""


def test_rubrics_built_in_and_of_ones_own(tmp_path: Path) -> None:
    names = [
        "groundedness",
        "helpfulness",
        "instruction-following",
        "refusal-correctness",
        "tool-use-appropriateness",
    ]
    own = {"type": "prompt", "name": "own", "config": {"rubric": "./rubrics/manners.md"}}
    both = {
        "type": "prompt",
        "name": "both",
        "config": {"rubric": "rubrics/manners.md", "prompt": "Only this."},
    }
    built_in = [{"type": "prompt", "name": name, "config": {"rubric": name}} for name in names]
    script = {"output": "Good day!", "judge": {name: [P] for name in [*names, "own", "both"]}}
    write_tree(tmp_path, {"rubrics/manners.md": RUBRIC})
    tasks = {"a": task(script, own, both, *built_in, expected_outcome="A greeting comes first.")}
    found = first_runs(run(tmp_path, tasks))["a"]["validations"]
    for name in names:
        rubric = found[name]["details"]["rubric"]
        assert (rubric["name"], rubric["scale"], rubric["source"]) == (name, "pass-fail", f"builtin:{name}")
        asked = found[name]["details"]["prompt"]
        assert [word for word in ("set_waza_grade_pass", "Greet me", "Good day!") if word not in asked] == []
    details = found["own"]["details"]
    assert details["rubric"]["version"] == "v1.2"
    assert details["rubric"]["source"].startswith("file:")
    assert details["rubric"]["source"].endswith("manners.md")
    assert details["prompt"].startswith("Look for a greeting.")
    assert "A greeting comes first." in details["prompt"]
    assert "Look for a greeting." not in found["both"]["details"]["prompt"]
    assert found["both"]["details"]["prompt"].startswith("Only this.")
    assert found["both"]["details"]["rubric"]["name"] == "manners"


@pytest.mark.parametrize(
    ("rubric", "words"),
    [
        ("helpfulnes", "helpfulness"),
        ("./none.md", "no such rubric file"),
        ("./headless.md", "no frontmatter"),
        ("./incomplete.md", "version"),
        ("./bodiless.md", "no text"),
        ("./scaled.md", "scale"),
    ],
)
def test_a_rubric_with_mistakes_is_refused_before_anything_runs(
    rubric: str, words: str, tmp_path: Path
) -> None:
    write_tree(
        tmp_path,
        {
            "headless.md": "Look for a greeting.\n",
            "incomplete.md": RUBRIC.replace("version: v1.2\n", ""),
            "bodiless.md": RUBRIC.partition("Look")[0],
            "scaled.md": RUBRIC.replace("pass-fail", "0-100"),
        },
    )
    suite = mock_suite(
        tmp_path, {"a": task(None, {"type": "prompt", "name": "g", "config": {"rubric": rubric}})}
    )
    with pytest.raises(SuiteError) as raised:
        load(suite)
    assert words in str(raised.value)
    assert "a.yaml" in str(raised.value)


def point(turn: int, *graders: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"after_turn": turn, "graders": list(graders), **keys}


TURNS = [
    {"output": "one", "tool_calls": [{"name": "view"}]},
    {"output": "two", "tool_calls": [{"name": "edit"}]},
    {"output": "three"},
]
FOLLOWED = {"inputs": {"prompt": "Greet me", "follow_up_prompts": ["more", "and more"]}}
SAID = {"type": "text", "name": "said", "config": {"contains": ["three"]}}
ONE_CALL = {"type": "behavior", "name": "one_call", "config": {"max_tool_calls": 1}}


def checked(judge: dict[str, Any], *points: dict[str, Any], **keys: Any) -> str:
    return task({"turns": TURNS, "judge": judge}, SAID, checkpoints=list(points), **FOLLOWED, **keys)


def test_checkpoints_judge_between_turns(tmp_path: Path) -> None:
    tasks = {
        "fine": checked({"g": [P], "h": [P]}, point(2, judged("h")), point(1, judged(), ONE_CALL)),
        "fails": checked({"g": [F]}, point(1, judged())),
        "stops": checked({"g": [F]}, point(2, judged(), on_failure="stop")),
        "errs": checked({"g": [E]}, point(1, judged(), ONE_CALL)),
        "errs-and-stops": checked({}, point(1, judged(), on_failure="stop")),
        "cumulative": checked({}, point(2, ONE_CALL)),
        "last": checked({"g": [P]}, point(3, judged())),
    }
    found = first_runs(run(tmp_path, tasks))

    def told(name: str) -> list[tuple[Any, ...]]:
        points = found[name]["checkpoints"]
        return [(one["after_turn"], one["status"], one.get("stopped", False)) for one in points]

    assert {name: (found[name]["status"], told(name), found[name]["final_output"]) for name in tasks} == {
        "fine": ("passed", [(1, "passed", False), (2, "passed", False)], "three"),
        "fails": ("failed", [(1, "failed", False)], "three"),
        "stops": ("error", [(2, "failed", True)], "two"),
        "errs": ("error", [(1, "error", False)], "three"),
        "errs-and-stops": ("error", [(1, "error", True)], "one"),
        "cumulative": ("failed", [(2, "failed", False)], "three"),
        "last": ("passed", [(3, "passed", False)], "three"),
    }
    # At a checkpoint the judge sees the answer of that turn, and not the task's prompt.
    asked = found["fine"]["checkpoints"][1]["validations"]["h"]["details"]["prompt"]
    assert "two" in asked
    assert "Greet me" not in asked
    # The final graders run in any case, and alone make the score.
    for name, one in found.items():
        assert list(one["validations"]) == ["said"]
        assert one["validations"]["said"]["passed"] is (one["final_output"] == "three"), name
    assert "after turn 2" in found["stops"]["error_msg"]
    assert "g" in found["stops"]["error_msg"]
    errs = found["errs"]["checkpoints"][0]["validations"]
    assert (errs["g"]["passed"], errs["g"]["score"], errs["one_call"]["passed"]) == (False, 0, True)
    assert errs["g"]["details"]["error"]
    assert found["errs"]["error_msg"]


def test_a_turn_that_breaks_leaves_later_checkpoints_out(tmp_path: Path) -> None:
    broken = [TURNS[0], {"output": "two", "error": "away"}]
    tasks = {
        "a": task({"turns": broken}, checkpoints=[point(1, ONE_CALL), point(2, ONE_CALL)], **FOLLOWED),
        "b": task({"turns": TURNS}, checkpoints=[point(1, ONE_CALL)], **FOLLOWED),
    }
    found = first_runs(run(tmp_path / "graded", tasks))
    assert [one["after_turn"] for one in found["a"]["checkpoints"]] == [1]
    assert found["a"]["status"] == "error"
    assert "follow-up 1/2: away" in found["a"]["error_msg"]
    skipped = first_runs(run(tmp_path / "skipped", tasks, "--skip-graders"))["b"]
    assert ("checkpoints" in skipped, skipped["status"]) == (False, "skipped")


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([point(1, SAID), point(1, SAID)], "has a checkpoint already"),
        ([point(4, SAID)], "only 3 turns"),
        ([point(0, SAID)], "after_turn"),
        ([point(1)], "graders"),
        ([point(1, SAID, on_failure="halt")], "on_failure"),
        ([point(1, SAID, SAID)], "the name 'said' is taken"),
    ],
)
def test_impossible_checkpoints_are_refused(points: list[dict[str, Any]], words: str, tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": task(None, checkpoints=points, **FOLLOWED)})
    with pytest.raises(SuiteError) as raised:
        load(suite)
    assert words in str(raised.value)
    assert len(raised.value.problems) == 1
