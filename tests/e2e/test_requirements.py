"""Requirements of tasks after a run: what graders recorded of them, in results, in `waza show` and in every report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import mock_suite, strict_json, waza, write_tree

PASS, FAILURE, UNRESOLVED = "grader_recorded_pass", "grader_recorded_failure", "unresolved"
SAW, THOUGHT, RETURNED = (
    "grader_observation",
    "qualitative_observation",
    "operational_status_unavailable",
)
NOTHING, BROKE = "insufficient_evidence", "operational_error"

HEAD = """\
graders:
  - {type: text, name: says, config: {contains: [done]}}
  - {type: prompt, name: tone, config: {prompt: Is it friendly?}}
  - {type: text, name: replaced, config: {contains: [done]}}
mock: {turns: [{output: done}, {output: done}], judge: {tone: [{pass: it is}]}}
"""
TASK = """\
inputs: {prompt: p, follow_up_prompts: [q]}
checkpoints:
  - {after_turn: 1, graders: [{type: text, name: early, config: {contains: [done]}}]}
  - {after_turn: 2, graders: [{type: text, name: middle, config: {contains: [halfway]}}]}
graders:
  - {type: file, name: kept, config: {must_exist: [in.txt]}}
  - {type: code, name: short, config: {assertions: ["len(output) < 9"]}}
  - {type: text, name: replaced, override: true, config: {contains: [done]}}
"""
# Checks of a requirement, the state of the requirement, and what it rests on.
CASES: dict[str, tuple[str, str, str]] = {
    "a grader of the suite": ("{scope: eval, grader: says}", PASS, SAW),
    "a grader of the task": ("{scope: task, grader: replaced}", PASS, SAW),
    "a judge": ("{scope: eval, grader: tone}", PASS, THOUGHT),
    "an assertion": ("{scope: task, grader: short}", PASS, RETURNED),
    "files at the end": ("{scope: task, grader: kept}", FAILURE, NOTHING),
    "a checkpoint": ("{scope: checkpoint, grader: early, after_turn: 1}", PASS, SAW),
    "a failed checkpoint": ("{scope: checkpoint, grader: middle, after_turn: 2}", FAILURE, SAW),
    "no check": ("", UNRESOLVED, NOTHING),
    "a grader that is not there": ("{scope: task, grader: gone}", UNRESOLVED, NOTHING),
    "a grader of another scope": ("{scope: task, grader: says}", UNRESOLVED, NOTHING),
    "a grader that the task replaces": ("{scope: eval, grader: replaced}", UNRESOLVED, NOTHING),
    "another turn": ("{scope: checkpoint, grader: early, after_turn: 2}", UNRESOLVED, NOTHING),
    "a pass and what is not there": (
        "{scope: eval, grader: says}, {scope: task, grader: gone}",
        UNRESOLVED,
        NOTHING,
    ),
    "a failure and what is not there": (
        "{scope: task, grader: gone}, {scope: task, grader: kept}",
        FAILURE,
        NOTHING,
    ),
    "a check twice": ("{scope: eval, grader: says}, {scope: eval, grader: says}", UNRESOLVED, NOTHING),
}


def with_requirements(**checks: str) -> str:
    lines = [
        f"  - {{id: {name}, category: outcome, description: it holds, checks: [{found}]}}\n"
        for name, found in checks.items()
    ]
    return f"requirements:\n{''.join(lines)}"


def shown(root: Path, *args: str) -> list[dict[str, Any]]:
    """The requirements of a run as `waza show` prints them."""
    ended = waza("show", *args, "--requirements", "--json", cwd=root)
    assert (ended.code, ended.err) == (0, "")
    (run,) = strict_json(ended.out)["runs"]
    found: list[dict[str, Any]] = run["requirements"]
    return found


def counts(requirement: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(requirement[key] for key in ("state", "passed", "failed", "unresolved"))


def test_states_follow_from_the_results_file_alone_and_change_no_status(tmp_path: Path) -> None:
    checks = {f"R{i}": written for i, (written, _, _) in enumerate(CASES.values())}
    task = TASK + with_requirements(**checks)
    mock_suite(tmp_path / "with", {"t": task}, HEAD)
    mock_suite(tmp_path / "without", {"t": TASK}, HEAD)
    ends = [waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path / part) for part in ("with", "without")]
    assert [one.code for one in ends] == [1, 1]
    with_them, without = (
        strict_json((tmp_path / part / "r.json").read_bytes()) for part in ("with", "without")
    )
    assert "requirements" not in without["tasks"][0]
    assert [one["status"] for one in with_them["tasks"]] == [one["status"] for one in without["tasks"]]
    assert with_them["summary"] | {"duration_ms": 0} == without["summary"] | {"duration_ms": 0}
    write_tree(tmp_path / "alone", {"r.json": (tmp_path / "with/r.json").read_bytes()})
    shutil.rmtree(tmp_path / "with")
    found = shown(tmp_path / "alone", "r.json")
    states = [(one["state"], one["meaning"]) for one in found]
    assert dict(zip(CASES, states, strict=True)) == {name: case[1:] for name, case in CASES.items()}
    gone = found[list(CASES).index("a grader that is not there")]["checks"]
    assert [one["fault"] for one in gone] == ["there is no grader 'gone' in scope task"]


BROKEN = """\
requirements:
  - {id: R, category: recovery, description: it holds, checks: [{scope: eval, grader: says}]}
  - {id: S, category: outcome, description: and this, checks: [{scope: eval, grader: says}, {scope: task, grader: other}]}
graders: [{type: text, name: other, config: {contains: [done]}}]
inputs: {prompt: p}
"""
SAYS = "graders: [{type: text, name: says, config: {contains: [done]}}]"


def test_each_trial_counts_and_one_that_broke_is_no_pass(tmp_path: Path) -> None:
    scripts = {
        "passes": "{output: done}",
        "fails once": "{executions: [{output: done}, {output: no}, {output: done}]}",
        "breaks once": "{executions: [{output: done}, {output: done, error: gone}, {output: done}]}",
        "both": "{executions: [{output: no}, {output: done, error: gone}, {output: done}]}",
    }
    tasks = {name: f"{BROKEN}mock: {script}" for name, script in scripts.items()}
    mock_suite(tmp_path, tasks, SAYS, ["trials_per_task: 3"])
    waza("run", "eval.yaml", cwd=tmp_path)
    found = shown(tmp_path)
    assert {one["task"]: counts(one) for one in found if one["id"] == "R"} == {
        "passes": (PASS, 3, 0, 0),
        "fails once": (FAILURE, 2, 1, 0),
        "breaks once": (UNRESOLVED, 2, 0, 1),
        "both": (FAILURE, 1, 1, 1),
    }
    assert next(one for one in found if one["task"] == "breaks once")["meaning"] == BROKE
    assert [counts(one) for one in found[::2]] == [counts(one) for one in found[1::2]]
    text = waza("show", "both", "--requirements", cwd=tmp_path).out
    assert "✗ both: R (recovery): recorded failure in 1 of 3 trials, 1 unresolved: says: " in " ".join(
        text.split()
    )
    assert "passes" not in text


def test_what_was_not_graded_and_what_did_not_run_is_unresolved(tmp_path: Path) -> None:
    suite = mock_suite(
        tmp_path,
        {"a": f"{BROKEN}mock: {{output: no}}", "b": f"{BROKEN}mock: {{output: done}}"},
        f"{SAYS}\nhooks: {{before_task: [{{command: 'test \"{{{{.TaskName}}}}\" != c', error_on_fail: true}}]}}",
        ["trials_per_task: 2", "fail_fast: true"],
    )
    waza("run", suite, cwd=tmp_path)
    assert [(one["task"], *counts(one)) for one in shown(tmp_path)][::2] == [
        ("a", FAILURE, 0, 2, 0),
        ("b", UNRESOLVED, 0, 0, 2),
    ]
    waza("run", suite, "--skip-graders", cwd=tmp_path)
    assert {counts(one) for one in shown(tmp_path)} == {(UNRESOLVED, 0, 0, 2)}
    write_tree(
        tmp_path, {"tasks/a.yaml": "enabled: false\n", "tasks/c.yaml": f"{BROKEN}mock: {{output: done}}"}
    )
    waza("run", suite, cwd=tmp_path)
    stopped = [one for one in shown(tmp_path, "c") if one["task"] == "c"]
    assert [counts(one) for one in stopped] == [(UNRESOLVED, 0, 0, 0)] * 2
    assert {one["meaning"] for one in stopped} == {NOTHING}


def test_the_arm_without_skills_is_apart(tmp_path: Path) -> None:
    write_tree(tmp_path, {"s/SKILL.md": "---\nname: s\ndescription: d\n---\nHelp."})
    graders = "graders: [{type: text, name: says, only_with_skills: true, config: {contains: [done]}}, {type: text, name: long, config: {contains: [done]}}]"
    task = "inputs: {prompt: p}\nmock: {output: done}\n" + with_requirements(
        R="{scope: eval, grader: says}", S="{scope: eval, grader: long}"
    )
    mock_suite(tmp_path, {"t": task}, f"skill: s\n{graders}", ["skill_directories: [s]"])
    waza("run", "eval.yaml", "--baseline", cwd=tmp_path)
    found = [(one["arm"], one["id"], one["state"]) for one in shown(tmp_path)]
    assert found == [
        ("main", "R", PASS),
        ("main", "S", PASS),
        ("baseline", "R", UNRESOLVED),
        ("baseline", "S", PASS),
    ]
    assert {one["arm"] for one in shown(tmp_path, "--baseline")} == {"baseline"}
    text = waza("show", "--requirements", cwd=tmp_path).out
    assert "2 requirements: 2 recorded pass\n" in text
    assert "⚠ t, without skills: R (outcome): unresolved: says: nothing was recorded" in text


def test_grading_again_joins_the_requirements_again(tmp_path: Path) -> None:
    task = "inputs: {prompt: p}\nmock: {output: done}\n"
    suite = mock_suite(tmp_path, {"t": task + with_requirements(R="{scope: eval, grader: says}")}, SAYS)
    waza("run", suite, "-o", "r.json", cwd=tmp_path)
    changed = task + with_requirements(Q="{scope: eval, grader: says}", R="{scope: eval, grader: gone}")
    write_tree(tmp_path, {"tasks/t.yaml": changed})
    graded = waza("grade", suite, "--results", "r.json", "-o", "again.json", cwd=tmp_path)
    assert graded.code == 0, graded.err
    assert [(one["id"], one["state"]) for one in shown(tmp_path, "r.json")] == [("R", PASS)]
    assert [(one["id"], one["state"]) for one in shown(tmp_path, "again.json")] == [
        ("Q", PASS),
        ("R", UNRESOLVED),
    ]


@pytest.mark.parametrize(
    ("script", "states"),
    [
        ("{turns: [{output: done}, {output: done}]}", (PASS, PASS, PASS)),
        ("{turns: [{output: no}, {output: done}]}", (FAILURE, UNRESOLVED, UNRESOLVED)),
        ("{turns: [{output: done}, {output: done, error: gone}]}", (UNRESOLVED, UNRESOLVED, UNRESOLVED)),
    ],
    ids=["whole", "stopped", "broken"],
)
def test_what_failed_at_a_checkpoint_stays_a_failure_when_the_trial_ends_there(
    tmp_path: Path, script: str, states: tuple[str, ...]
) -> None:
    points = [
        f"  - {{after_turn: {turn}, on_failure: stop, graders: [{{type: text, name: t{turn}, config: {{contains: [done]}}}}]}}\n"
        for turn in (1, 2)
    ]
    task = f"inputs: {{prompt: p, follow_up_prompts: [q]}}\nmock: {script}\ncheckpoints:\n{''.join(points)}"
    required = {f"R{i}": f"{{scope: checkpoint, grader: t{i}, after_turn: {i}}}" for i in (1, 2)}
    mock_suite(tmp_path, {"t": task + with_requirements(**required, R3="{scope: eval, grader: says}")}, SAYS)
    waza("run", "eval.yaml", cwd=tmp_path)
    assert tuple(one["state"] for one in shown(tmp_path)) == states


LINES = {
    "R": ("recorded failure in 1 of 2 trials", "says: what the grader saw"),
    "S": ("unresolved in 2 of 2 trials", "gone: there is no grader 'gone' in scope task"),
    "T": ("recorded pass in 2 of 2 trials", "ever: what the grader saw"),
}
COUNTS = "3 requirements: 1 recorded pass, 1 recorded failure, 1 unresolved"


def test_every_report_says_the_same(tmp_path: Path) -> None:
    checks = {"R": "eval, grader: says", "S": "task, grader: gone", "T": "task, grader: ever"}
    requirements = with_requirements(**{key: f"{{scope: {value}}}" for key, value in checks.items()})
    task = "inputs: {prompt: p}\nmock: {executions: [{output: done}, {output: no}]}\n" + requirements
    task += "graders: [{type: text, name: ever, config: {not_contains: [sorry]}}]\n"
    mock_suite(tmp_path, {"t": task}, SAYS, ["trials_per_task: 2"])
    files = {"markdown": "r.md", "html": "r.html", "junit": "r.xml"}
    reporters = [arg for kind, name in files.items() for arg in ("--reporter", f"{kind}:{name}")]
    ran = waza("run", "eval.yaml", "-v", *reporters, cwd=tmp_path)
    reports = {name: (tmp_path / name).read_text(encoding="utf-8") for name in files.values()}
    comment = waza("run", "eval.yaml", "--format", "github-comment", "--no-save", cwd=tmp_path)
    page = waza("report", "-o", "page.html", cwd=tmp_path)
    assert page.code == 0, page.err
    reports |= {
        "console": ran.out,
        "comment": comment.out,
        "page": (tmp_path / "page.html").read_text(encoding="utf-8"),
        "show": waza("show", "--requirements", cwd=tmp_path).out,
    }
    for name, text in reports.items():
        plain = " ".join(text.replace("&#x27;", "'").replace("\\_", "_").split())
        for recorded, meaning in LINES.values():
            assert recorded in plain, name
            assert meaning in plain, name
        assert COUNTS in plain or name == "r.xml", name
        assert "Requirements change no status." in plain or name == "r.xml", name
    brief = " ".join(waza("run", "eval.yaml", "--no-save", cwd=tmp_path).out.split())
    assert COUNTS in brief
    assert LINES["R"][0] in brief
    assert LINES["T"][0] not in brief, "only what has no recorded pass"
    newest = " ".join(waza("show", cwd=tmp_path).out.split())
    assert COUNTS in newest


HOSTILE = "R|\x1b[31m</script><b>`x` ::error::@all"


def test_names_of_requirements_are_only_text(tmp_path: Path) -> None:
    task = {
        "inputs": {"prompt": "p"},
        "requirements": [{"id": HOSTILE, "category": HOSTILE, "description": HOSTILE, "checks": []}],
        "mock": {"output": "done"},
    }
    mock_suite(tmp_path, {"t": json.dumps(task)}, SAYS)
    files = ("--reporter", "markdown:r.md", "--reporter", "html:r.html", "--reporter", "junit:r.xml")
    ran = waza("run", "eval.yaml", "-v", *files, cwd=tmp_path)
    assert ran.code == 0, ran.err
    shown = waza("show", "--requirements", cwd=tmp_path).out
    page, markdown = (tmp_path / "r.html").read_text(), (tmp_path / "r.md").read_text()
    for text in (ran.out, shown, page, markdown, (tmp_path / "r.xml").read_text()):
        assert "\x1b[31m" not in text
        assert not [line for line in text.splitlines() if line.startswith("::error")]
    assert "</script><b>" not in page
    (row,) = [line for line in markdown.splitlines() if "no check covers it" in line]
    assert "<b>" not in row
    assert row.replace("\\|", "").count("|") == 6
    assert (
        strict_json(waza("show", "--requirements", "--json", cwd=tmp_path).out)["runs"][0]["requirements"][0][
            "id"
        ]
        == HOSTILE
    )


def test_a_run_without_results_has_no_requirements_yet(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"t": f"{BROKEN}mock: {{output: done}}"}, SAYS)
    waza("run", "eval.yaml", cwd=tmp_path)
    next((tmp_path / ".waza/runs").glob("*/results.json")).unlink()
    ended = waza("show", "--requirements", cwd=tmp_path)
    assert ended.code == 0
    assert "which the run does not have yet" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("option", "value"),
    [("--trial", "1"), ("--failed", ""), ("--grader", "says")],
    ids=lambda one: one or "-",
)
def test_options_about_trials_do_not_go_with_requirements(tmp_path: Path, option: str, value: str) -> None:
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}\nmock: {output: done}"}, SAYS)
    waza("run", "eval.yaml", cwd=tmp_path)
    asked = [option, value] if value else [option]
    refused = waza("show", "t", "--requirements", *asked, cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert f"{option} is about trials" in refused.err
    plain = waza("show", "--requirements", cwd=tmp_path)
    assert (plain.code, "its tasks have no requirements" in plain.out) == (0, True)
