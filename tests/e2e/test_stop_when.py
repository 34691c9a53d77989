"""`config.stop_when`: the trials of a task end when enough is known of it, the same way by every route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.live import lasting
from tests.support.program import mock_suite, newest_results, strict_json, waza, write_tree

SAYS = "graders: [{type: text, name: says, config: {contains: [good]}}]"
WORDS = {"p": "{output: good}", "f": "{output: bad}", "e": "{error: broke}"}


def suite(root: Path, stop_when: str, tasks: dict[str, str], *config: str, head: str = "") -> Path:
    """Write a suite whose tasks have trials that end as the letters say: passed, failed, error."""
    scripts = {
        name: f"id: {name}\ninputs: {{prompt: p}}\nmock: {{executions: [{', '.join(map(WORDS.__getitem__, trials))}]}}"
        for name, trials in tasks.items()
    }
    return mock_suite(root, scripts, f"{SAYS}\n{head}", [f"stop_when: {stop_when}", *config])


def run(root: Path, *args: str) -> dict[str, Any]:
    ended = waza("run", "eval.yaml", *args, cwd=root)
    assert ended.code in (0, 1), ended.err
    return ended.results()


def outcomes(found: dict[str, Any]) -> dict[str, tuple[int, str, str]]:
    """Return how many trials each task had, why it ended, and its status."""
    return {
        task["test_id"]: (len(task["runs"]), task.get("ended_by", ""), task["status"])
        for task in found["tasks"]
    }


def comparable(found: dict[str, Any]) -> list[Any]:
    """Return the tasks without times and ids, and without whether the cache gave them."""
    return [lasting({**task, "cached": False}) for task in found["tasks"]]


@pytest.mark.parametrize(
    ("stop_when", "rule", "trials", "expected"),
    [
        ("{ci_half_width: 0.2, max_trials: 30}", "any", "p" * 30, (10, "ci_half_width", "passed")),
        ("{ci_half_width: 0.2, max_trials: 30}", "all", "pf" * 15, (30, "max_trials", "failed")),
        (
            "{ci_half_width: 0.2, max_trials: 30, min_trials: 12}",
            "any",
            "p" * 30,
            (12, "ci_half_width", "passed"),
        ),
        ("{min_trials: 3, max_trials: 20}", "majority", "p" * 20, (7, "pass_rule", "passed")),
        ("{min_trials: 3, max_trials: 20}", "majority", "f" * 20, (7, "pass_rule", "failed")),
        ("{min_trials: 3, max_trials: 8}", "majority", "pfp" * 4, (8, "max_trials", "passed")),
        ("{min_trials: 3, max_trials: 8}", "{at_least: 0.4}", "p" * 8, (5, "pass_rule", "passed")),
        ("{min_trials: 3, max_trials: 8}", "all", "ppppf" + "p" * 5, (5, "pass_rule", "failed")),
        ("{min_trials: 3, max_trials: 8}", "all", "fpppp", (3, "pass_rule", "failed")),
        ("{min_trials: 3, max_trials: 8}", "all", "p" * 8, (8, "max_trials", "passed")),
        ("{min_trials: 2, max_trials: 8}", "any", "fffp", (4, "pass_rule", "passed")),
        # A trial that broke is no measurement, but a trial: it brings the task nearer to the most of them.
        ("{min_trials: 3, max_trials: 20}", "majority", "pepppppp" * 3, (8, "pass_rule", "passed")),
        ("{min_trials: 3, max_trials: 5}", "any", "e" * 5, (5, "max_trials", "error")),
    ],
)
def test_a_task_ends_when_enough_is_known(
    tmp_path: Path, stop_when: str, rule: str, trials: str, expected: tuple[int, str, str]
):
    suite(tmp_path, stop_when, {"t": trials}, f"pass_rule: {rule}", "stop_after_errors: 0")
    found = run(tmp_path)
    assert outcomes(found) == {"t": expected}
    (task,) = found["tasks"]
    assert "missing_trials" not in task
    assert found["metadata"]["run_status"] == "complete"
    assert found["metadata"]["verdict"]["passed"] is (expected[2] == "passed")
    if graded := task["stats"]["passed_runs"] + task["stats"]["failed_runs"]:
        interval = task["stats"]["pass_rate_ci"]
        assert interval["method"] == task["stats"]["score_ci"]["method"] == "confidence sequence"
        assert interval["mean"] == task["stats"]["passed_runs"] / graded
        assert "bootstrap_ci" not in task["stats"]
        if expected[1] == "ci_half_width":
            assert interval["upper"] - interval["lower"] <= 0.4


def test_trials_per_task_is_what_stop_when_leaves_out(tmp_path: Path):
    suite(tmp_path, "{}", {"t": "f" * 9}, "trials_per_task: 6", "pass_rule: majority")
    found = run(tmp_path)
    assert outcomes(found) == {"t": (6, "max_trials", "failed")}
    assert found["config"]["runs_per_test"] == 6
    assert found["config"]["stop_when"] == {"min_trials": 1, "max_trials": 6}
    suite(tmp_path, "{max_trials: 9}", {"t": "f" * 9}, "trials_per_task: 4", "pass_rule: all")
    assert outcomes(run(tmp_path)) == {"t": (4, "pass_rule", "failed")}
    # A number on the command line is that of the trials, whatever they show.
    found = run(tmp_path, "--trials", "2")
    assert outcomes(found) == {"t": (2, "", "failed")}
    assert "stop_when" not in found["config"]
    assert "pass_rate_ci" in found["tasks"][0]["stats"]
    assert "method" not in found["tasks"][0]["stats"]["pass_rate_ci"]


@pytest.mark.parametrize(
    ("stop_when", "says"),
    [
        ("{ci_half_width: 0.05}", "config.stop_when: decides nothing: at least 1 and at most 1 trials"),
        ("{min_trials: 5, max_trials: 5}", "decides nothing: at least 5 and at most 5 trials"),
        ("{max_trials: 5, half_width: 0.1}", "half_width"),
        ("{max_trials: 5, ci_half_width: 5}", "write half of the interval's width as a share, such as 0.05"),
        ("{max_trials: 5, ci_half_width: 0}", "config.stop_when.ci_half_width"),
    ],
)
def test_what_decides_nothing_or_is_not_known_is_an_error(tmp_path: Path, stop_when: str, says: str):
    suite(tmp_path, stop_when, {"t": "p"})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert says in ended.err


MIXED = {"good": "p" * 12, "bad": "f" * 12, "flaky": "pf" * 6, "late": "pppf" + "p" * 8}


def test_workers_resuming_and_the_cache_stop_at_the_same_trial(tmp_path: Path):
    stop_when = "{min_trials: 3, max_trials: 10}"
    suite(tmp_path, stop_when, MIXED, "pass_rule: majority")
    alone = run(tmp_path)
    assert outcomes(alone) == {
        "good": (7, "pass_rule", "passed"),
        "bad": (7, "pass_rule", "failed"),
        "flaky": (10, "max_trials", "failed"),
        "late": (10, "max_trials", "passed"),
    }
    suite(tmp_path, stop_when, MIXED, "pass_rule: majority", "parallel: true", "workers: 4")
    assert comparable(run(tmp_path, "--cache")) == comparable(alone)
    cached = run(tmp_path, "--cache")
    assert comparable(cached) == comparable(alone)
    assert all(task["cached"] for task in cached["tasks"])


@pytest.mark.parametrize("kept", [1, 5, 12, 20])
def test_a_run_that_was_killed_goes_on_to_the_same_trials(tmp_path: Path, kept: int):
    suite(tmp_path, "{min_trials: 3, max_trials: 10}", MIXED, "pass_rule: majority")
    whole = run(tmp_path)
    (journal,) = tmp_path.glob(".waza/runs/*/journal.ndjson")
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[: 2 + kept]))
    journal.with_name("results.json").unlink()
    assert waza("run", "eval.yaml", "--resume", cwd=tmp_path).code == 1
    assert comparable(newest_results(tmp_path)) == comparable(whole)


def test_trials_that_nobody_grades_decide_nothing_and_grading_them_later_keeps_them(tmp_path: Path):
    suite(tmp_path, "{min_trials: 3, max_trials: 10}", MIXED, "pass_rule: majority")
    found = run(tmp_path, "--skip-graders", "-o", "ungraded.json")
    assert {outcome[:2] for outcome in outcomes(found).values()} == {(3, "not_graded")}
    ended = waza("grade", "eval.yaml", "--results", "ungraded.json", "-o", "graded.json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    graded = strict_json((tmp_path / "graded.json").read_text(encoding="utf-8"))
    assert [task["status"] for task in graded["tasks"]] == [
        "failed",
        "passed",
        "passed",
        "passed",
    ]  # bad, flaky, good, late
    for task in graded["tasks"]:
        assert (len(task["runs"]), task["ended_by"]) == (3, "not_graded")
        assert task["stats"]["pass_rate_ci"]["method"] == "confidence sequence"


def test_grading_again_agrees(tmp_path: Path):
    suite(tmp_path, "{min_trials: 3, max_trials: 10}", MIXED, "pass_rule: majority")
    before = run(tmp_path, "-o", "r.json")
    assert waza("grade", "eval.yaml", "--results", "r.json", "-o", "again.json", cwd=tmp_path).code == 0
    after = strict_json((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert outcomes(after) == outcomes(before)
    assert [task["stats"]["pass_rate_ci"] for task in after["tasks"]] == [
        task["stats"]["pass_rate_ci"] for task in before["tasks"]
    ]
    assert after["summary"]["statistics"] == before["summary"]["statistics"]
    assert "pass_hat_k" not in before["summary"]["statistics"]


def test_reports_say_how_many_of_up_to_how_many_trials_and_why(tmp_path: Path):
    suite(tmp_path, "{min_trials: 3, max_trials: 10}", MIXED, "pass_rule: majority")
    reports = ("--reporter", "markdown:r.md", "--reporter", "html:r.html")
    ended = waza("run", "eval.yaml", "-v", *reports, cwd=tmp_path)
    shown = [
        ended.out + ended.err,
        *((tmp_path / name).read_text(encoding="utf-8") for name in ("r.md", "r.html")),
    ]
    for text in shown:
        assert "7 (up to 10, decided)" in text
        assert "10 (up to 10, undecided)" in text
        assert "3 to 10 a task, until its verdict is decided" in text
    assert "confidence sequence)" in shown[0]
    shown_again = waza("show", cwd=tmp_path).out
    assert "7/7 (up to 10, decided)" in shown_again


SKILL = "---\nname: s\ndescription: d\n---\nbody\n"


def test_both_arms_end_by_the_same_rule_and_their_own_trials(tmp_path: Path):
    task = "id: t\ninputs: {prompt: p}\nmock: {output: '{{if .SkillsOff}}x{{end}}good'}"
    mock_suite(
        tmp_path,
        {"t": task},
        f"{SAYS}\nbaseline: true",
        ["stop_when: {max_trials: 9}", "pass_rule: majority", "skill_directories: [skills]"],
    )
    write_tree(tmp_path, {"skills/s/SKILL.md": SKILL})
    found = run(tmp_path)
    assert outcomes(found) == outcomes(found["baseline_outcome"]) == {"t": (7, "pass_rule", "passed")}
    assert found["tasks"][0]["skill_impact"]["delta"] == 0


def test_pairwise_graders_and_experiments_need_a_fixed_number(tmp_path: Path):
    judge = "graders: [{type: prompt, name: j, config: {prompt: 'Which?', mode: pairwise}}]"
    mock_suite(
        tmp_path, {"t": "inputs: {prompt: p}"}, f"{judge}\nbaseline: true", ["stop_when: {max_trials: 9}"]
    )
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "leave config.stop_when out, or run with --trials" in ended.err
    suite(tmp_path, "{max_trials: 9}", {"t": "p"})
    plan = (
        "experiment",
        "plan",
        "--candidate-eval",
        "eval.yaml",
        "--baseline-without-skills",
        "-o",
        "plan.json",
    )
    ended = waza(*plan, cwd=tmp_path)
    assert ended.code == 2
    assert "an experiment runs a fixed number of trials" in ended.err


def test_results_of_different_rules_are_compared_with_a_warning(tmp_path: Path):
    suite(tmp_path, "{max_trials: 10}", MIXED, "pass_rule: majority")
    run(tmp_path, "-o", "a.json")
    run(tmp_path, "-o", "b.json", "--trials", "10")
    ended = waza("compare", "a.json", "b.json", cwd=tmp_path)
    assert "config.stop_when is not the same for all of them" in ended.err
    gate = ("gate", "--baseline", "a.json", "--current", "b.json", "--max-regression-pct", "100")
    assert (
        "1 to 10 a task, until its verdict is decided in the baseline, none in current"
        in waza(*gate, "--format", "json", cwd=tmp_path).out
    )
    run(tmp_path, "-o", "c.json")
    assert "stop_when" not in waza("compare", "a.json", "c.json", cwd=tmp_path).err


def test_shards_stop_each_task_at_the_same_trial(tmp_path: Path):
    suite(tmp_path, "{min_trials: 3, max_trials: 10}", MIXED, "pass_rule: majority")
    whole = run(tmp_path)
    before = set((tmp_path / ".waza/runs").iterdir())
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "-o", f"{number}.json")
        assert waza("run", "eval.yaml", *shard, cwd=tmp_path).code in (0, 1)
    runs = sorted(set((tmp_path / ".waza/runs").iterdir()) - before)
    ended = waza("merge", *runs, "-o", "merged.json", cwd=tmp_path)
    assert ended.code in (0, 1), ended.err
    merged = strict_json((tmp_path / "merged.json").read_text(encoding="utf-8"))
    assert comparable(merged) == comparable(whole)


def test_a_task_that_was_cut_off_lacks_a_trial_and_exports_no_more(tmp_path: Path):
    suite(
        tmp_path,
        "{min_trials: 3, max_trials: 9}",
        {"t": "pppee" + "p" * 9},
        "pass_rule: majority",
        "stop_after_errors: 2",
    )
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 1
    found = newest_results(tmp_path)
    (task,) = found["tasks"]
    assert (len(task["runs"]), task["missing_trials"]) == (5, 1)
    assert "ended_by" not in task
    assert found["metadata"]["run_status"] == "stopped"
    rows = waza("export", "--format", "csv", cwd=tmp_path).out
    assert len(rows.strip().splitlines()) == 1 + 6


def test_a_run_that_met_a_limit_goes_on_to_the_same_trials(tmp_path: Path):
    used = "usage: {input_tokens: 80, output_tokens: 20}"
    words = {"p": f"{{output: good, {used}}}", "f": f"{{output: bad, {used}}}"}
    tasks = {
        name: f"id: {name}\ninputs: {{prompt: p}}\nmock: {{executions: [{', '.join(map(words.__getitem__, trials))}]}}"
        for name, trials in MIXED.items()
    }
    config = ["stop_when: {min_trials: 3, max_trials: 10}", "pass_rule: majority"]
    mock_suite(tmp_path, tasks, SAYS, config)
    whole = run(tmp_path)
    mock_suite(tmp_path, tasks, SAYS, [*config, "limits: {max_total_tokens: 1200}"])
    cut = run(tmp_path)
    assert cut["metadata"]["run_status"] == "limit"
    assert {task["test_id"]: task.get("missing_trials", 0) for task in cut["tasks"]}["flaky"] == 1
    mock_suite(tmp_path, tasks, SAYS, config)
    assert comparable(run(tmp_path, "--resume")) == comparable(whole)
