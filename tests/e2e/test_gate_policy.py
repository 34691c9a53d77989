"""`waza gate --policy FILE`: limits by metric, group and tag, their mistakes, their data, and their noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

GRADER = (
    "graders: [{type: text, name: says, config: {contains: [hi]}}]\nmetrics: [{name: says, threshold: 0.5}]"
)


def runs(root: Path, name: str, tasks: dict[str, tuple[str, str, int]], trials: int = 1) -> None:
    """Run a suite: of each task its tags, what its trials come to (p or f), and the tokens of a trial."""
    files = {}
    for key, (tags, ends, tokens) in tasks.items():
        words = {"p": "hi", "f": "no"}
        usage = f"usage: {{input_tokens: {tokens}, output_tokens: 0}}"
        script = ", ".join(f"{{output: {words[end]}, {usage}}}" for end in ends)
        files[key] = f"tags: [{tags}]\ninputs: {{prompt: p}}\nmock: {{executions: [{script}]}}"
    mock_suite(root / name, files, GRADER, [f"trials_per_task: {trials}"])
    waza("run", "eval.yaml", "-o", f"../{name}.json", "--no-save", cwd=root / name)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with equal pass rates: billing loses a task, search gains one; tokens rise by half."""
    root = tmp_path_factory.mktemp("pair")
    runs(root, "a", {"b1": ("billing", "p", 100), "b2": ("billing", "p", 100), "s1": ("search", "f", 100)})
    runs(root, "b", {"b1": ("billing", "p", 150), "b2": ("billing", "f", 150), "s1": ("search", "p", 150)})
    return root


def gate(root: Path, policy: str, *args: str) -> Ended:
    write_tree(root, {"policy.yaml": policy})
    files = ("--baseline", "a.json", "--current", "b.json", "--policy", "policy.yaml")
    return waza("gate", *files, *args, cwd=root)


def decided(root: Path, limit: str, more: str = "") -> tuple[int, dict[str, Any]]:
    ended = gate(root, f"limits:\n- {limit}\n{more}", "-f", "json")
    assert ended.out, ended.err
    found: dict[str, Any] = strict_json(ended.out)
    assert found["exit_code"] == ended.code
    assert found["outcome"] == ("policy_failure" if ended.code else "pass")
    return ended.code, found["policy"][0]


@pytest.mark.parametrize(
    ("limit", "code", "baseline", "current"),
    [
        ("{metric: pass_rate, max_drop: 0}", 0, 2 / 3, 2 / 3),
        ("{metric: pass_rate, tag: billing, max_drop: 0.4}", 1, 1, 0.5),
        ("{metric: pass_rate, tag: billing, max_drop: 0.5}", 0, 1, 0.5),
        ("{metric: pass_rate, tag: search, max_drop: 0}", 0, 0, 1),
        ("{metric: pass_rate, min: 0.7}", 1, 2 / 3, 2 / 3),
        ("{metric: score, tag: billing, min: 0.6}", 1, 1, 0.5),
        ("{metric: score, min: 0.6}", 0, 2 / 3, 2 / 3),
        ("{metric: tokens, max_rise: 0.4}", 1, 100, 150),
        ("{metric: tokens, max_rise: 0.5}", 0, 100, 150),
        ("{metric: tokens, max: 149}", 1, 100, 150),
        ("{metric: errors, max: 0}", 0, 0, 0),
        ("{metric: says, min: 0.7}", 1, 2 / 3, 2 / 3),
        ("{metric: says, max_drop: 0.1}", 0, 2 / 3, 2 / 3),
    ],
)
def test_limits(pair: Path, limit: str, code: int, baseline: float, current: float):
    ended, found = decided(pair, limit)
    assert ended == code, found
    assert found["passed"] is (code == 0)
    assert found["baseline"] == pytest.approx(baseline)
    assert found["current"] == pytest.approx(current)


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("{metric: score, tag: biling, min: 0}", "current has no task of the tag 'biling'"),
        ("{metric: score, group: nobody, min: 0}", "current has no task of the group 'nobody'"),
        ("{metric: cost, max: 1}", "current has no data of cost"),
        ("{metric: cost, max_rise: 1}", "current has no data of cost"),
        ("{metric: accuracy, min: 0}", "current has no data of accuracy; a policy knows pass_rate"),
    ],
)
def test_a_limit_without_data_does_not_hold(pair: Path, limit: str, why: str):
    code, found = decided(pair, limit)
    assert (code, found["passed"]) == (1, False)
    assert found["why"].startswith(why)


@pytest.mark.parametrize(
    ("policy", "place", "said"),
    [
        ("limits: []\n", "1:9: limits", "must"),
        ("{}\n", "1:1", "'limits' is missing"),
        (
            "limits:\n- {metric: score}\n",
            "2:3: limits[0]",
            "limits nothing; write min, max, max_drop or max_rise",
        ),
        ("limits:\n- {metric: score, min: high}\n", "2:24: limits[0].min", "a number"),
        ("limits:\n- {metric: score, max_drop: -1}\n", "2:29: limits[0].max_drop", "at least 0"),
        ("limits:\n- {metric: score, mni: 1}\n", "2:19: limits[0].mni", "'min'"),
        ("limits:\n- {metric: cost, max_drop: 1}\n", "2:18: limits[0].max_drop", "no loss; write max_rise"),
        ("limits:\n- {metric: score, max_rise: 1}\n", "2:19: limits[0].max_rise", "no loss; write max_drop"),
        ("limits:\n- {metric: says, tag: x, min: 1}\n", "2:18: limits[0].tag", "which is over all tasks"),
        ("limits:\n- {metric: score, min: .nan}\n", "2:24: limits[0].min", "finite"),
        ("require: luck\nlimits:\n- {metric: score, min: 1}\n", "1:10: require", "significant"),
        (
            "require: significant\nlimits:\n- {metric: flakiness, max_rise: 0}\n",
            "3:4: limits[0].metric",
            "no test",
        ),
        ("limits: [\n", "2:1", ""),
    ],
)
def test_mistakes_in_a_policy_have_their_place(pair: Path, policy: str, place: str, said: str):
    ended = gate(pair, policy)
    assert (ended.code, ended.out) == (3, "")
    assert f"policy.yaml:{place}" in ended.err
    assert said in ended.err


def test_all_mistakes_are_shown_and_a_missing_file_is_named(pair: Path):
    ended = gate(pair, "limits:\n- {metric: score}\n- {metric: cost, max_drop: 1}\n")
    assert ended.err.count("policy.yaml:") == 2
    files = ("--baseline", "a.json", "--current", "b.json")
    missing = waza("gate", *files, "--policy", "none.yaml", cwd=pair)
    assert (missing.code, "none.yaml" in missing.err) == (3, True)


def test_a_policy_in_every_form(pair: Path):
    policy = "limits:\n- {metric: pass_rate, tag: billing, max_drop: 0.1}\n- {metric: score, min: 0.1}\n"
    human = gate(pair, policy)
    assert {len(line) for line in human.out.splitlines()} == {70}
    assert "✗ pass_rate of the tag billing, max_drop 0.1: 0.5, in the" in human.out
    assert "✓ score, min 0.1" in human.out
    assert "policy_failure" in human.err
    markdown = gate(pair, policy, "-f", "markdown").out
    assert "| score, min 0.1 | yes |" in markdown
    actions = gate(pair, policy, "-f", "github-actions").out
    assert "::error title=waza gate::policy: pass_rate of the tag billing" in actions


def test_a_loss_counts_only_where_chance_does_not_explain_it(tmp_path: Path):
    few = {f"t{i}": ("x", "p", 1) for i in range(8)}
    runs(tmp_path, "a", few)
    runs(tmp_path, "b", {**few, "t0": ("x", "f", 1), "t1": ("x", "f", 1)})
    args = ("--max-regression-pct", "100", "-f", "json")
    limit = "limits:\n- {metric: score, max_drop: 0.1}\n"
    for policy, code, significant in ((limit, 1, None), (f"{limit}require: significant\n", 0, False)):
        ended = gate(tmp_path, policy, *args)
        found = strict_json(ended.out)["policy"][0]
        assert (ended.code, found["significant"]) == (code, significant)
    assert "which chance may explain" in found["why"]
    runs(tmp_path, "b", {**few, **{f"t{i}": ("x", "f", 1) for i in range(7)}})
    ended = gate(tmp_path, f"{limit}require: significant\n", *args)
    assert (ended.code, strict_json(ended.out)["policy"][0]["significant"]) == (1, True)


def test_the_false_alarms_of_a_policy_count(tmp_path: Path):
    flaky = {f"t{i}": ("x", "pf", 1) for i in range(6)}
    for name in ("a", "b"):
        runs(tmp_path, name, flaky, trials=2)
    args = ("--max-regression-pct", "100", "-f", "json")
    strict = strict_json(gate(tmp_path, "limits:\n- {metric: score, max_drop: 0}\n", *args).out)
    assert strict["false_alarm_probability"] > 0.3
    assert any("lie within the noise" in one for one in strict["warnings"])
    loose = strict_json(gate(tmp_path, "limits:\n- {metric: score, max_drop: 0.6}\n", *args).out)
    assert loose["false_alarm_probability"] < 0.05
    tested = gate(tmp_path, "require: significant\nlimits:\n- {metric: score, max_drop: 0}\n", *args)
    assert strict_json(tested.out)["false_alarm_probability"] < 0.1


@pytest.mark.parametrize("without_trials", [False, True])
def test_a_pass_rate_that_broke_is_a_significant_loss(tmp_path: Path, *, without_trials: bool):
    """Broken trials, and tasks of which a file has no trials, count in the test as they do in the pass rate."""
    runs(tmp_path, "a", {f"t{i}": ("x", "p", 1) for i in range(8)})
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))
    for name, status, bad in (
        ("a", "passed", []),
        ("b", "failed" if without_trials else "error", found["tasks"][1:]),
    ):
        for task in bad:
            task["status"] = status
        for trial in (trial for task in bad for trial in task["runs"]):
            trial["status"] = status
        for task in found["tasks"] if without_trials else ():
            task["runs"] = []
        found["eval_id"] = name
        found["summary"]["success_rate"] = 1 - len(bad) / 8
        (tmp_path / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    args = ("--max-regression-pct", "100", "-f", "json")
    ended = gate(tmp_path, "require: significant\nlimits:\n- {metric: pass_rate, max_drop: 0.1}\n", *args)
    assert (ended.code, strict_json(ended.out)["policy"][0]["significant"]) == (1, True)


def test_one_trial_of_a_task_shows_no_flakiness(pair: Path):
    code, found = decided(pair, "{metric: flakiness, max: 0}")
    assert (code, found["current"]) == (1, None)
    assert found["why"] == "current has no data of flakiness; a task shows it with at least two trials"


@pytest.mark.parametrize(("ends", "code"), [("pp", 0), ("pf", 1)])
def test_two_trials_of_a_task_show_flakiness(tmp_path: Path, ends: str, code: int):
    for name in ("a", "b"):
        runs(tmp_path, name, {"t": ("x", ends, 1)}, trials=2)
    assert decided(tmp_path, "{metric: flakiness, max: 0}") == (code, ANY)


def test_a_loss_that_so_few_tasks_can_never_show_does_not_pass(tmp_path: Path):
    few = {f"t{i}": ("x", "p", 1) for i in range(5)}  # the least p-value of five is 1/16
    runs(tmp_path, "a", few)
    runs(tmp_path, "b", dict.fromkeys(few, ("x", "f", 1)))
    policy = "limits:\n- {metric: score, max_drop: 0.1}\nrequire: significant\n"
    ended = gate(tmp_path, policy, "--max-regression-pct", "100", "-f", "json")
    found = strict_json(ended.out)["policy"][0]
    assert (ended.code, found["passed"]) == (1, False)
    assert "so few tasks can never show that chance does not explain it" in found["why"]
