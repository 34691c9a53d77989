"""`config.pass_rule`: how many trials of a task must pass, in every artifact."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza

SAYS = "graders: [{type: text, name: says, config: {contains: [good]}}]"
WORDS = {"p": "{output: good}", "f": "{output: bad}", "e": "{error: broke}"}


def suite(root: Path, rule: str, trials: str, *more: str) -> None:
    """Write a suite with a task whose trials end as the letters say: passed, failed, error."""
    script = ", ".join(WORDS[one] for one in trials)
    task = f"inputs: {{prompt: p}}\nmock: {{executions: [{script}]}}"
    config = [f"trials_per_task: {len(trials)}", *([f"pass_rule: {rule}"] if rule else []), *more]
    mock_suite(root, {"t": task}, SAYS, config)


def run(root: Path, *args: str) -> tuple[Ended, dict[str, Any]]:
    ended = waza("run", "eval.yaml", *args, cwd=root)
    return ended, ended.results()


@pytest.mark.parametrize(
    ("rule", "trials", "status"),
    [
        ("", "ppf", "failed"),
        ("all", "ppp", "passed"),
        ("all", "ppe", "error"),
        ("any", "ffp", "passed"),
        ("any", "eep", "passed"),
        ("any", "fff", "failed"),
        ("any", "ffe", "error"),
        ("majority", "ppf", "passed"),
        ("majority", "pf", "failed"),
        ("majority", "pffe", "failed"),
        ("majority", "ppee", "error"),
        ("{at_least: 0.8}", "ppppf", "passed"),
        ("{at_least: 0.8}", "pppff", "failed"),
        ("{at_least: 0.8}", "pppfe", "error"),
    ],
)
def test_a_task_passes_by_its_rule(tmp_path: Path, rule: str, trials: str, status: str):
    suite(tmp_path, rule, trials)
    ended, found = run(tmp_path, "--reporter", "junit:j.xml", "--reporter", "markdown:m.md")
    assert ended.code == (0 if status == "passed" else 1), ended.err
    (task,) = found["tasks"]
    assert task["status"] == status
    assert task["stats"]["passed_runs"] == trials.count("p")
    assert found["summary"]["succeeded"] == (status == "passed")
    assert found["summary"]["errors"] == (status == "error")
    assert found["metadata"]["verdict"]["passed"] is (status == "passed")
    junit = (tmp_path / "j.xml").read_text(encoding="utf-8")
    assert re.search(r'<testsuites[^>]*failures="(\d)"', junit)[1] == str(int(status == "failed"))  # type: ignore[index]
    assert ("<error" in junit) is (status == "error")
    named = rule not in ("", "all")
    assert ("pass_rule" in found["config"]) is named
    for shown in (ended.out, (tmp_path / "m.md").read_text(encoding="utf-8")):
        assert ("Pass rule" in shown) is named
    assert ('name="pass_rule"' in junit) is named


def test_the_rule_is_in_the_results_and_in_reports(tmp_path: Path):
    suite(tmp_path, "{at_least: 0.5}", "pf")
    ended, found = run(tmp_path)
    assert found["config"]["pass_rule"] == {"at_least": 0.5}
    assert "at least 0.5, 1 of 2 trials must pass" in ended.out


@pytest.mark.parametrize(
    ("rule", "place", "advice"),
    [
        (
            "most",
            "5:14: config.pass_rule:",
            "is not one of: all, any, majority; or write a mapping with at_least:",
        ),
        ("0.8", "5:14: config.pass_rule:", "or write a mapping with at_least:"),
        ("[all]", "5:14: config.pass_rule:", "or write a mapping with at_least:"),
        (
            "{at_least: 80}",
            "5:25: config.pass_rule.at_least:",
            "at most 1; write a share of the trials, such as 0.8",
        ),
        (
            "{at_least: 0}",
            "5:25: config.pass_rule.at_least:",
            "above 0; write a share of the trials, such as 0.8",
        ),
        ("{at_least: .nan}", "5:25: config.pass_rule.at_least:", "finite number"),
        ("{atleast: 0.8}", "5:15: config.pass_rule.atleast:", "did you mean 'at_least'"),
        ("{}", "5:14: config.pass_rule:", "'at_least' is missing"),
    ],
)
def test_a_rule_that_is_none_is_refused_with_its_place(tmp_path: Path, rule: str, place: str, advice: str):
    suite(tmp_path, "", "p", f"pass_rule: {rule}")
    lines = (tmp_path / "eval.yaml").read_text(encoding="utf-8").splitlines()
    number = next(i for i, line in enumerate(lines, 1) if "pass_rule" in line)
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert f"eval.yaml:{place.replace('5:', f'{number}:', 1)}" in ended.err
    assert advice in ended.err


def test_a_cached_run_and_a_regraded_one_have_the_same_status(tmp_path: Path):
    suite(tmp_path, "any", "fp")
    for _ in range(2):
        ended, found = run(tmp_path, "--cache", "-o", "r.json")
        assert (ended.code, found["tasks"][0]["status"]) == (0, "passed")
    assert found["tasks"][0]["cached"] is True
    graded = waza("grade", "eval.yaml", "--results", "r.json", "-o", "g.json", cwd=tmp_path)
    assert graded.code == 0, graded.err
    again = strict_json((tmp_path / "g.json").read_bytes())
    assert again["tasks"][0]["status"] == "passed"
    suite(tmp_path, "all", "fp")
    assert waza("grade", "eval.yaml", "--results", "r.json", "-o", "g.json", cwd=tmp_path).code == 0
    again = strict_json((tmp_path / "g.json").read_bytes())
    assert again["tasks"][0]["status"] == "failed"
    assert "pass_rule" not in again["config"]


def test_fail_fast_goes_by_the_rule(tmp_path: Path):
    task = "inputs: {prompt: p}\nmock: {executions: [{output: bad}, {output: good}]}"
    for rule, statuses in (("any", ["passed", "passed"]), ("all", ["failed", "skipped"])):
        mock_suite(
            tmp_path / rule,
            {"a": task, "b": task},
            SAYS,
            ["trials_per_task: 2", "fail_fast: true", f"pass_rule: {rule}"],
        )
        _, found = run(tmp_path / rule)
        assert [one["status"] for one in found["tasks"]] == statuses


def test_a_baseline_goes_by_the_rule(tmp_path: Path):
    skill = "---\nname: s\ndescription: d\n---\nb\n"
    (tmp_path / "skills" / "s").mkdir(parents=True)
    (tmp_path / "skills" / "s" / "SKILL.md").write_text(skill, encoding="utf-8")
    suite(tmp_path, "majority", "ppf", "skill_directories: [skills]")
    _, found = run(tmp_path, "--baseline")
    assert found["summary"]["success_rate"] == found["baseline_outcome"]["summary"]["success_rate"] == 1
    assert found["baseline_outcome"]["config"]["pass_rule"] == "majority"
