"""`waza gate`: exit codes, golden tasks, task sets, all forms, and files that cannot be used."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza

KEYS = [
    "baseline_file", "current_file", "baseline_pass_rate", "current_pass_rate", "pass_rate_delta",
    "max_regression_pct", "regression_pct", "regression_exceeds_threshold", "golden_failures", "golden_total",
    "golden_must_pass", "new_tasks", "removed_tasks", "on_new_tasks", "on_removed_tasks", "warnings", "errors",
    "exit_code", "outcome",
]  # fmt: skip


def results(path: Path, statuses: dict[str, str], *, golden: str = "", **more: Any) -> Path:
    """Write a results file as another program does: no trials, only what a gate reads."""
    ran = [status for status in statuses.values() if status != "skipped"]
    rate = ran.count("passed") / len(ran) if ran else 0
    tasks = [
        {
            "test_id": name,
            "display_name": name.upper(),
            "status": status,
            "golden": name in golden,
            "runs": None,
        }
        for name, status in statuses.items()
    ]
    summary = {"total_tests": len(ran), "succeeded": ran.count("passed"), "success_rate": rate}
    path.write_text(
        json.dumps({"eval_id": "x", "summary": summary, "tasks": tasks, **more}), encoding="utf-8"
    )
    return path


def passes(count: int, of: int = 10) -> dict[str, str]:
    return {f"t{i}": "passed" if i < count else "failed" for i in range(of)}


def gate(root: Path, *args: str, **more: Any) -> Ended:
    return waza("gate", "--baseline", "a.json", "--current", "b.json", *args, cwd=root, **more)


def decided(root: Path, *args: str) -> dict[str, Any]:
    ended = gate(root, "-f", "json", *args)
    found: dict[str, Any] = strict_json(ended.out)
    assert found["exit_code"] == ended.code
    assert (ended.err == "") == (ended.code == 0)
    return found


@pytest.mark.parametrize(
    ("before", "after", "limit", "code", "outcome"),
    [
        (8, 8, "0", 0, "pass"),
        (8, 9, "0", 0, "pass"),
        (8, 7, "0", 1, "regression"),
        (8, 7, "10", 0, "pass"),  # exactly at the limit, in spite of 0.8 - 0.7 as doubles
        (8, 7, "9.99", 1, "regression"),
        (10, 7, "29.999999", 1, "regression"),
        (10, 0, "100", 0, "pass"),
    ],
)
def test_the_pass_rate_may_fall_by_the_limit(
    tmp_path: Path, before: int, after: int, limit: str, code: int, outcome: str
):
    results(tmp_path / "a.json", passes(before))
    results(tmp_path / "b.json", passes(after))
    found = decided(tmp_path, "--max-regression-pct", limit)
    assert list(found)[: len(KEYS)] == KEYS
    assert (found["exit_code"], found["outcome"]) == (code, outcome)
    assert found["regression_exceeds_threshold"] is (code == 1)
    assert (found["baseline_pass_rate"], found["current_pass_rate"]) == (before / 10, after / 10)
    assert found["pass_rate_delta"] == pytest.approx((after - before) / 10)
    assert found["regression_pct"] == pytest.approx(max(0, before - after) * 10)


@pytest.mark.parametrize(
    ("after", "golden_in", "args", "code", "failures"),
    [
        ({"a": "failed", "b": "passed"}, "ab", (), 2, [("a", "passed", "failed")]),
        ({"a": "failed", "b": "passed"}, "b", (), 2, [("a", "passed", "failed")]),
        ({"a": "failed", "b": "passed"}, "a", (), 2, [("a", "passed", "failed")]),
        ({"a": "error", "b": "passed"}, "ab", (), 2, [("a", "passed", "error")]),
        ({"a": "skipped", "b": "passed"}, "ab", (), 2, [("a", "passed", "skipped")]),
        ({"b": "passed"}, "a", (), 2, [("a", "passed", "n/a")]),
        ({"a": "failed", "b": "passed"}, "ab", ("--golden-must-pass=false",), 1, [("a", "passed", "failed")]),
        ({"a": "passed", "b": "failed"}, "ab", (), 1, []),
        ({"a": "passed", "b": "passed"}, "ab", (), 0, []),
    ],
)
def test_golden_tasks(
    tmp_path: Path,
    after: dict[str, str],
    golden_in: str,
    args: tuple[str, ...],
    code: int,
    failures: list[Any],
):
    results(tmp_path / "a.json", {"a": "passed", "b": "passed"}, golden="a" if "a" in golden_in else "")
    results(tmp_path / "b.json", after, golden="a" if "b" in golden_in else "")
    found = decided(tmp_path, *args)
    assert found["exit_code"] == code
    listed = [
        (one["test_id"], one["baseline_status"], one["current_status"]) for one in found["golden_failures"]
    ]
    assert listed == failures
    assert found["golden_total"] == 1
    assert found["golden_must_pass"] is (not args)
    assert (found["outcome"] == "golden_failure") is (code == 2)


@pytest.mark.parametrize("option", ["--on-new-tasks", "--on-removed-tasks"])
@pytest.mark.parametrize(
    ("treatment", "code", "place"), [("allow", 0, ""), ("warn", 0, "warnings"), ("fail", 1, "errors")]
)
def test_tasks_that_one_file_has(tmp_path: Path, option: str, treatment: str, code: int, place: str):
    fewer, more = {"a": "passed"}, {"a": "passed", "z": "passed", "m": "passed"}
    new = option == "--on-new-tasks"
    results(tmp_path / "a.json", fewer if new else more)
    results(tmp_path / "b.json", more if new else fewer)
    found = decided(tmp_path, option, treatment)
    assert found["exit_code"] == code
    assert found["new_tasks" if new else "removed_tasks"] == ["m", "z"]
    assert found["removed_tasks" if new else "new_tasks"] == []
    for key in ("warnings", "errors"):
        assert [("m, z" in line) for line in found[key]] == ([True] if key == place else [])


def test_the_defaults_allow_new_tasks_and_warn_of_removed_ones(tmp_path: Path):
    results(tmp_path / "a.json", {"a": "passed", "old": "passed"})
    results(tmp_path / "b.json", {"a": "passed", "new": "passed"})
    found = decided(tmp_path)
    assert (found["exit_code"], found["on_new_tasks"], found["on_removed_tasks"]) == (0, "allow", "warn")
    assert ["old" in line for line in found["warnings"]] == [True]


def test_what_is_worst_decides(tmp_path: Path):
    results(tmp_path / "a.json", {"a": "passed", "b": "passed", "old": "passed"}, golden="a")
    results(tmp_path / "b.json", {"a": "failed", "b": "failed"})
    found = decided(tmp_path, "--on-removed-tasks", "fail")
    assert (found["exit_code"], found["outcome"]) == (2, "golden_failure")
    assert found["regression_exceeds_threshold"] is True
    assert len(found["errors"]) == 1


@pytest.mark.parametrize("status", ["cancelled", "stopped", "limit", "not_started"])
@pytest.mark.parametrize("which", ["a.json", "b.json"])
def test_a_run_that_did_not_come_to_its_end_does_not_pass(tmp_path: Path, status: str, which: str):
    for name in ("a.json", "b.json"):
        results(tmp_path / name, passes(10))
    results(tmp_path / which, passes(10), metadata={"run_status": status})
    found = decided(tmp_path)
    assert (found["exit_code"], found["outcome"]) == (1, "incomplete")
    assert status in found["errors"][0]
    assert found["current_verdict" if which == "b.json" else "baseline_verdict"]["passed"] is False


def test_a_run_without_a_verdict_does_not_pass(tmp_path: Path):
    results(tmp_path / "a.json", passes(0))
    results(tmp_path / "b.json", dict.fromkeys(passes(10), "error"))
    found = decided(tmp_path)
    assert (found["exit_code"], found["outcome"]) == (1, "incomplete")
    assert "no task has a verdict" in found["errors"][0]


def test_errors_count_as_not_passed_and_are_named(tmp_path: Path):
    results(tmp_path / "a.json", passes(9))
    results(tmp_path / "b.json", {**passes(9), "t0": "error"})
    found = decided(tmp_path, "--max-regression-pct", "10")
    assert found["exit_code"] == 0
    assert found["warnings"] == ["current: 1 task with an error, counted as not passed: t0"]
    assert decided(tmp_path)["exit_code"] == 1


def test_tasks_that_fail_fast_left_out_are_no_gain(tmp_path: Path):
    """Of the tasks that ran, more passed than in the baseline; the others are in no pass rate."""
    results(tmp_path / "a.json", passes(5))
    results(
        tmp_path / "b.json", {**passes(2, of=3), **dict.fromkeys([f"t{i}" for i in range(3, 10)], "skipped")}
    )
    found = decided(tmp_path)
    assert found["pass_rate_delta"] > 0
    assert (found["exit_code"], found["outcome"]) == (1, "incomplete")
    assert "7 tasks of the baseline without a verdict" in found["errors"][0]


def test_a_summary_that_its_tasks_deny_is_pointed_out(tmp_path: Path):
    results(tmp_path / "a.json", passes(8))
    summary = {"total_tests": 10, "succeeded": 10, "success_rate": 1}
    results(tmp_path / "b.json", passes(7), summary=summary)
    assert decided(tmp_path)["warnings"] == [
        "current: its summary states a pass rate of 100.0%, its tasks have 70.0%"
    ]


def test_runs_of_our_own(tmp_path: Path):
    grader = "graders: [{type: text, name: says, config: {contains: [hi]}}]"
    tasks = {
        "g": "golden: true\ninputs: {prompt: p}\nmock: {output: hi}",
        "t": "inputs: {prompt: p}\nmock: {output: hi}",
    }
    mock_suite(tmp_path, tasks, grader)
    assert waza("run", "eval.yaml", "-o", "a.json", cwd=tmp_path).code == 0
    mock_suite(tmp_path, {**tasks, "g": tasks["g"].replace("output: hi", "output: no")}, grader)
    assert waza("run", "eval.yaml", "-o", "b.json", cwd=tmp_path).code == 1
    found = decided(tmp_path)
    assert (found["exit_code"], found["golden_failures"][0]["test_id"]) == (2, "g")
    assert found["current_verdict"]["reasons"] == ["1 of 2 tasks did not pass: 1 failed"]
    first, second = sorted(path.name for path in (tmp_path / ".waza" / "runs").iterdir())
    by_id = waza("gate", "--baseline", first, "--current", f".waza/runs/{second}", "-f", "json", cwd=tmp_path)
    assert by_id.code in (0, 2), by_id.err  # by the clock, either may be the first


@pytest.mark.parametrize(
    "args",
    [
        ("--max-regression-pct", "-1"),
        ("--max-regression-pct", "nan"),
        ("--max-regression-pct", "inf"),
        ("--max-regression-pct", "much"),
        ("--on-new-tasks", "ignore"),
        ("--on-removed-tasks", ""),
        ("--format", "xml"),
    ],
)
def test_values_of_options_that_cannot_be_used(tmp_path: Path, args: tuple[str, ...]):
    for name in ("a.json", "b.json"):
        results(tmp_path / name, passes(1))
    ended = gate(tmp_path, *args)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith(f"Error: {args[0]}: ")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("args", [("--no-such-flag",), ("extra",), ("--baseline",)])
def test_an_unknown_flag_is_a_mistake_in_usage(tmp_path: Path, args: tuple[str, ...]):
    assert waza("gate", "--current", "b.json", *args, cwd=tmp_path).code == 2


GOOD = '{"eval_id": "x", "summary": {"success_rate": 1}, "tasks": []}'
HOSTILE = {
    "not there": None,
    "empty": "",
    "no JSON": "results",
    "truncated": GOOD[:-5],
    "duplicate key": GOOD.replace('"tasks"', '"summary": {}, "tasks"'),
    "duplicate key below": GOOD.replace('"success_rate": 1', '"success_rate": 0, "success_rate": 1'),
    "not a results file": '{"name": "x"}',
    "a list": "[]",
    "NaN": GOOD.replace(": 1}", ": NaN}"),
    "Infinity": GOOD.replace(": 1}", ": -Infinity}"),
    "1e999": GOOD.replace(": 1}", ": 1e999}"),
    "huge number": GOOD.replace(": 1}", f": 1{'0' * 5000}}}"),
    "rate above 1": GOOD.replace(": 1}", ": 80}"),
    "a text for a number": GOOD.replace(": 1}", ': "1"}'),
    "deep": GOOD.replace("[]", "[" * 100_000 + "]" * 100_000),
    "schema 2.0": GOOD.replace("{", '{"schemaVersion": "2.0", ', 1),
    "no UTF-8": GOOD.encode("utf-16"),
    "two tasks of one id": GOOD.replace("[]", '[{"test_id": "a", "status": "passed"}, {"test_id": "a", "status": "failed"}]'),
    "an unknown status": GOOD.replace("[]", '[{"test_id": "a", "status": "great"}]'),
    "preflight": '{"kind": "waza.preflight", "tasks": []}',
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("which", ["a.json", "b.json"])
def test_files_that_cannot_be_used(tmp_path: Path, name: str, which: str):
    for file in ("a.json", "b.json"):
        results(tmp_path / file, passes(1))
    content = HOSTILE[name]
    if content is None:
        (tmp_path / which).unlink()
    else:
        (tmp_path / which).write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = gate(tmp_path)
    assert (ended.code, ended.out) == (3, ""), ended.err
    assert ended.err.startswith((f"Error: {which}", f"Error: {which!r} is neither a file nor"))
    assert "Traceback" not in ended.err
    assert len(ended.err) < 400
    if name == "schema 2.0":
        assert "use the version of waza that wrote it" in ended.err


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.5", "1.9"])
def test_other_versions_of_results_are_read(tmp_path: Path, version: str):
    results(tmp_path / "a.json", passes(8), schemaVersion=version, new_field={"of": "another version"})
    results(tmp_path / "b.json", passes(7))
    ended = gate(tmp_path)
    assert ended.code == 1
    assert "new_field: warning: unknown field" in ended.err


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Two files with a finding of each kind, and names that would be commands or markup."""
    evil = "::error::x\n| <b>@me\x1b[31m"
    long = (
        "a task with a name that is far too long for a box of seventy columns, in words and without: "
        + "x" * 90
    )
    results(
        tmp_path / "a.json", {**passes(10), "gold": "passed", evil: "passed", long: "passed"}, golden="gold"
    )
    results(tmp_path / "b.json", {**passes(9), "gold": "failed", "новая": "error"})
    return tmp_path


def test_for_people_it_is_a_box_of_70_columns(pair: Path):
    ended = gate(pair)
    assert ended.code == 2
    lines = ended.out.splitlines()
    assert {len(line) for line in lines} == {70}
    assert all(line[0] == line[-1] and line[0] in "+|" for line in lines)
    for part in (
        "FAILED",
        "a.json",
        "b.json",
        "75.0%",
        "gold",
        "Removed tasks: 2 (warn)",
        "New tasks: 1",
        "exit code 2",
    ):
        assert part in ended.out, part
    assert ended.err.startswith("gate failed (golden_failure, exit code 2): golden task gold: failed")
    assert ended.err.count("\n") == 1
    assert "\x1b" not in ended.out


def test_markdown(pair: Path):
    ended = gate(pair, "-f", "markdown", "--on-removed-tasks", "fail")
    assert ended.code == 2
    for part in (
        "## ❌ waza gate: failed", "| Pass rate | 100.0% | 75.0% | -25.0 points |", "| gold | passed | failed |",
        "### Errors", "### Warnings", "Exit code: 2 (golden failure)",
    ):  # fmt: skip
        assert part in ended.out, part
    assert "<b>" not in ended.out
    assert "@me" not in ended.out


def test_github_actions(pair: Path):
    summary = pair / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    ended = gate(pair, "-f", "github-actions", env={"GITHUB_STEP_SUMMARY": str(summary)})
    lines = ended.out.splitlines()
    assert lines[0].startswith("::error title=waza gate%3A pass rate::pass rate 75.0%25, baseline 100.0%25")
    assert lines[1].startswith("::error title=waza gate%3A golden task::gold: failed, in the baseline passed")
    assert all(line.startswith("::warning title=waza gate::") for line in lines[2:])
    assert len(lines) == 4
    assert summary.read_text(encoding="utf-8").startswith("before\n## ❌ waza gate")
    enforced = gate(pair, "-f", "github-actions", "--golden-must-pass=false", "--on-removed-tasks", "fail")
    assert "::warning title=waza gate%3A golden task::" in enforced.out
    assert "::error title=waza gate::2 tasks only in the baseline" in enforced.out


def test_github_actions_of_a_run_that_passes(tmp_path: Path):
    for name in ("a.json", "b.json"):
        results(tmp_path / name, passes(8))
    ended = gate(tmp_path, "-f", "github-actions", env={"GITHUB_STEP_SUMMARY": ""})
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("::notice title=waza gate%3A pass rate::")


def test_a_summary_that_cannot_be_written_does_not_change_the_decision(pair: Path):
    ended = gate(pair, "-f", "github-actions", env={"GITHUB_STEP_SUMMARY": str(pair)})
    assert ended.code == 2
    assert "warning: the summary of the job cannot be written" in ended.err


def flaky(root: Path, name: str, trials: str, count: int = 8, head: str = "") -> None:
    """Run a suite of equal tasks, whose trials pass (p) or fail (f) as the letters say."""
    script = ", ".join("{output: hi}" if one == "p" else "{output: no}" for one in trials)
    task = f"{head}inputs: {{prompt: p}}\nmock: {{executions: [{script}]}}"
    grader = "graders: [{type: text, name: says, config: {contains: [hi]}}]"
    tasks = {f"t{i}": task for i in range(count)}
    mock_suite(root / name, tasks, grader, [f"trials_per_task: {len(trials)}"])
    waza("run", "eval.yaml", "-o", f"../{name}.json", "--no-save", cwd=root / name)


def test_the_chance_of_a_false_alarm_is_said_always(tmp_path: Path):
    flaky(tmp_path, "a", "ppp")
    flaky(tmp_path, "b", "ppf")
    found = decided(tmp_path)
    assert found["exit_code"] == 1
    # Of 8 tasks with one failed trial of 6 each, which arm gets it is a coin: P(B has more) = (1 - C(8,4)/2^8)/2
    assert found["false_alarm_probability"] == pytest.approx((1 - 70 / 256) / 2, abs=0.03)
    assert "lies within the noise" in found["warnings"][0]
    assert "--max-regression-pct 50 would be outside" in found["warnings"][0]
    assert "a run of the same agent would fail in" in gate(tmp_path).out
    assert decided(tmp_path)["false_alarm_probability"] == found["false_alarm_probability"]
    wide = decided(tmp_path, "--max-regression-pct", "50")
    assert wide["false_alarm_probability"] <= 0.05
    assert wide["warnings"] == []


def test_steady_runs_have_no_false_alarms_and_files_without_trials_say_so(tmp_path: Path):
    flaky(tmp_path, "a", "pp", count=2)
    flaky(tmp_path, "b", "pp", count=2)
    assert decided(tmp_path)["false_alarm_probability"] == 0
    results(tmp_path / "a.json", passes(1))
    found = decided(tmp_path)
    assert (found["false_alarm_probability"], found["quiet_limit_pct"]) == (None, None)


def test_flaky_golden_tasks_are_warned_of(tmp_path: Path):
    flaky(tmp_path, "a", "pf", count=1, head="golden: true\n")
    flaky(tmp_path, "b", "pp", count=1, head="golden: true\n")
    found = decided(tmp_path, "--max-regression-pct", "100")
    assert found["exit_code"] == 0
    assert found["warnings"][0].startswith("golden tasks are flaky: a run of the same agent would fail")


def test_what_golden_tasks_trip_is_not_said_of_the_limit(tmp_path: Path):
    for name in "ab":
        flaky(tmp_path, name, "pf", count=4, head="golden: true\n")
    found = decided(tmp_path)
    # A task passes with both of its passed trials, 1 in 6, and so all four golden ones almost never do.
    assert found["false_alarm_probability"] > 0.95
    said = re.search(
        r"would fail this gate in (\S+)% of cases, and exceed the limit in (\S+)%;", found["warnings"][0]
    )
    assert said is not None
    assert float(said[2]) < 50 < float(said[1])


def test_a_script_does_not_ship_in_the_place_of_an_agent(tmp_path: Path):
    flaky(tmp_path, "b", "pp", count=2)
    played = json.loads((tmp_path / "b.json").read_text("utf-8"))
    config = {**played["config"], "engine_type": "copilot-sdk"}
    asked = {**played, "eval_id": "another", "config": config}
    (tmp_path / "a.json").write_text(json.dumps(asked), encoding="utf-8")
    found = decided(tmp_path)
    assert (found["exit_code"], found["outcome"]) == (1, "incomplete")
    why = "current: it plays a script (executor mock), and the baseline is of copilot-sdk: no agent was measured"
    assert why in found["errors"]
    (tmp_path / "a.json").write_text(json.dumps(played), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(asked), encoding="utf-8")
    assert decided(tmp_path)["exit_code"] == 0


def test_runs_that_were_not_measured_alike_are_pointed_out(tmp_path: Path):
    """The rate is equal in both, so the gate passes; each warning says why that may mean nothing."""
    flaky(tmp_path, "a", "pp", count=2)
    same = json.loads((tmp_path / "a.json").read_text("utf-8"))

    def warnings(**changes: Any) -> list[str]:
        current = {**same, "eval_id": "another", **changes}
        (tmp_path / "b.json").write_text(json.dumps(current), encoding="utf-8")
        found, strict = decided(tmp_path), decided(tmp_path, "--strict")
        assert found["exit_code"] == 0
        about_others = ("with an error, counted", "lies within the noise", "only in the baseline")
        notes = [line for line in found["warnings"] if any(word in line for word in about_others)]
        assert strict["warnings"] == notes
        assert strict["errors"] == [line for line in found["warnings"] if line not in notes]
        expected = (1, "doubtful") if strict["errors"] else (0, "pass")
        assert (strict["exit_code"], strict["outcome"]) == expected
        return list(found["warnings"])

    def tasks(**changes: Any) -> list[Any]:
        return [{**task, **changes} for task in same["tasks"]]

    trial = same["tasks"][0]["runs"][0]
    assert warnings() == []
    assert warnings(eval_id=same["eval_id"]) == [
        "baseline and current are the same run, which is compared with itself"
    ]
    assert warnings(eval_name="x", config={**same["config"], "engine_type": "y", "judge_model": "z"}) == [
        f"the suites differ: {same['eval_name']} in the baseline, x in current",
        "the executors differ: mock in the baseline, y in current",
        "the judges differ: none in the baseline, z in current",
    ]
    assert warnings(config={**same["config"], "model_id": "m"}) == [
        "the models differ: test-model in the baseline, m in current"
    ]
    assert warnings(tasks=tasks(runs=[{**trial, "validations": {}}])) == [
        "current: 2 tasks without graders that the baseline has: t0 (says), t1 (says)"
    ]
    broken = [{**trial, "status": "error", "validations": {}}]
    assert not any(
        "graders" in line
        for line in warnings(tasks=[*tasks()[:1], {**tasks()[1], "status": "error", "runs": broken}])
    )
    assert warnings(tasks=tasks(cached=True)) == [
        "current: 2 tasks from the cache, so measured before this run: t0, t1"
    ]
    failed = [{**trial, "run_number": number, "status": "failed"} for number in (1, 2)]
    assert "current: 2 tasks passed, but not by the trials: t0, t1" in warnings(tasks=tasks(runs=failed))
    other = [{**task, "test_id": f"new-{task['test_id']}"} for task in same["tasks"]]
    assert "no task has a verdict in both files: nothing was compared" in warnings(tasks=other)


def test_the_same_file_for_both_is_a_mistake(tmp_path: Path):
    results(tmp_path / "a.json", passes(8))
    (tmp_path / "link.json").symlink_to("a.json")
    for other in ("a.json", "./a.json", "link.json"):
        ended = waza("gate", "--baseline", "a.json", "--current", other, cwd=tmp_path)
        assert (ended.code, ended.out) == (3, "")
        assert "are the same file, a.json; name the results of two runs" in ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("form", ["human", "json", "markdown", "github-actions"])
def test_output_that_cannot_be_written_is_no_golden_failure(tmp_path: Path, form: str):
    results(tmp_path / "a.json", passes(8))
    results(tmp_path / "b.json", passes(8))
    argv = command("gate", "--baseline", "a.json", "--current", "b.json", "-f", form)
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            argv, cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 3
    assert b"cannot write the output" in done.stderr


def test_a_part_of_a_suite_is_no_whole_run(tmp_path: Path):
    both = {"selection": {"filters": ["-k x"], "selected": 2, "of": 10}}
    other = {"selection": {"filters": ["-k y"], "selected": 2, "of": 10}}
    part, whole = passes(2, of=2), passes(9)
    why = "only 2 of 10 tasks chosen: -k {}: its pass rate is of other tasks"
    for before, after, told in (
        ((whole, {}), (part, both), [f"current: {why.format('x')}"]),
        ((part, both), (whole, {}), [f"baseline: {why.format('x')}"]),
        ((part, both), (part, other), [f"baseline: {why.format('x')}", f"current: {why.format('y')}"]),
        (
            (part, both),
            (passes(1, of=1), both),
            [f"baseline: {why.format('x')}", f"current: {why.format('x')}"],
        ),
    ):
        results(tmp_path / "a.json", before[0], metadata=before[1])
        results(tmp_path / "b.json", after[0], metadata=after[1])
        found = decided(tmp_path, "--max-regression-pct", "100")
        assert (found["exit_code"], found["outcome"]) == (1, "incomplete")
        assert [line.partition("; run both")[0] for line in found["errors"]] == told
    results(tmp_path / "a.json", part, metadata=both)
    results(tmp_path / "b.json", part, metadata=both)
    ended = gate(tmp_path)
    assert ended.code == 0
    for name in ("baseline", "current"):
        assert f"{name}: only 2 of 10 tasks chosen: -k x" in " ".join((ended.out + ended.err).split())
