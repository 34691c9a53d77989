"""`waza compare`: results files side by side, as a table and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

GRADER = "graders: [{type: text, name: says, config: {contains: [one, two]}}]"
CALLS = "tool_calls: [{name: a}, {name: b, success: false}]"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three results files: `gone` is in the first only, `new` in the last only, `kept` gets better."""
    root = tmp_path_factory.mktemp("results")
    tasks = {
        "kept": "name: kept, with a name too long for a table\ninputs: {prompt: p}\nmock: {executions: [{output: x}]}",
        "gone": f"inputs: {{prompt: p}}\nmock: {{output: one, {CALLS}}}\ngraders: [{{type: tool_calls, name: t, config: {{min_calls: 1}}}}]",
        "new": "inputs: {prompt: p}\nmock: {output: one two}",
    }
    steps = (("a", "x", "gone"), ("b", "one", "kept"), ("c", "one two", "new"))
    for name, output, more in steps:
        own = {key: tasks[key].replace("output: x", f"output: {output}") for key in {"kept", more}}
        mock_suite(root / name, own, GRADER)
        waza(
            "run",
            "eval.yaml",
            "--model",
            f"model-{name}",
            "-o",
            f"../{name}.json",
            "--no-save",
            cwd=root / name,
        )
    return root


def compare(root: Path, *args: str) -> Ended:
    return waza("compare", *args, cwd=root)


def test_two_files_as_json(results: Path):
    ended = compare(results, "a.json", "c.json", "--format", "json")
    assert ended.code == 0
    assert ended.err == (
        "warning: a.json: failed: 2 of 2 tasks did not pass: 2 failed\n"
        "warning: the files do not have results of the same tasks (1 in common): their totals do not compare\n"
    )
    found = strict_json(ended.out)
    assert list(found) == [
        "files", "models", "aggregate_scores", "success_rates", "aggregate_score_delta", "success_rate_delta",
        "task_deltas", "total_tests", "durations_ms", "duration_delta_ms", "tool_metrics", "normalized_gain",
        "comparison",
    ]  # fmt: skip
    assert (found["files"], found["models"]) == (["a.json", "c.json"], ["model-a", "model-c"])
    assert (found["aggregate_scores"], found["aggregate_score_delta"]) == ([0.375, 1], 0.625)
    assert (found["success_rates"], found["success_rate_delta"]) == ([0, 1], 1)
    tasks = {task["task_id"]: task for task in found["task_deltas"]}
    assert list(tasks) == ["gone", "kept, with a name too long for a table", "new"]
    gone, new = tasks["gone"], tasks["new"]
    assert (gone["scores"], gone["pass_rates"], gone["statuses"]) == (
        [0.75, None],
        [0, None],
        ["failed", "n/a"],
    )
    assert (gone["score_delta"], gone["pass_rate_delta"]) == (None, None)
    assert (new["scores"], new["statuses"], new["score_delta"]) == ([None, 1], ["n/a", "passed"], None)
    first, last = found["tool_metrics"]
    assert first == {
        "total_calls": 2, "tasks_with_tools": 1, "avg_calls_per_task": 1, "success_rate": 0.5,
        "selection_accuracy": 1, "call_count_histogram": {"0": 1, "1": 0, "2": 1, "3+": 0},
    }  # fmt: skip
    assert (last["total_calls"], last["success_rate"], last["selection_accuracy"]) == (0, None, None)
    assert compare(results, "a.json", "c.json", "--json").out == ended.out


def test_three_files_go_from_the_first_to_the_last(results: Path):
    found = strict_json(compare(results, "a.json", "b.json", "c.json", "-f", "json").out)
    kept = next(task for task in found["task_deltas"] if task["display_name"].startswith("kept"))
    assert (kept["scores"], kept["score_delta"], kept["pass_rate_delta"]) == ([0, 0.5, 1], 1, 1)
    assert kept["statuses"] == ["failed", "failed", "passed"]
    assert found["aggregate_score_delta"] == found["aggregate_scores"][2] - found["aggregate_scores"][0]


def test_a_table(results: Path):
    ended = compare(results, "a.json", "b.json", "c.json")
    assert ended.code == 0
    assert ended.err == (
        "warning: a.json: failed: 2 of 2 tasks did not pass: 2 failed\n"
        "warning: b.json: failed: 1 of 1 task did not pass: 1 failed\n"
        "warning: the files do not have results of the same tasks (1 in common): their totals do not compare\n"
    )
    assert re.findall(r"={51}\n(.+)\n={51}", ended.out) == [
        "FILES",
        "COMPARISON",
        "AGGREGATE",
        "TOOL USE",
        "PER-TASK DELTAS",
    ]
    assert "[1] a.json (model-a)\n[2] b.json (model-b)\n[3] c.json (model-c)\n" in ended.out
    lines = {line.split("  ")[0].strip(): line.split() for line in ended.out.splitlines()}
    assert lines["Score"] == ["Score", "0.3750", "0.5000", "1.0000", "+0.6250"]
    assert lines["Task success rate"] == ["Task", "success", "rate", "0.0%", "0.0%", "100.0%", "+100.0", "pp"]
    assert lines["Calls"] == ["Calls", "2", "0", "0"]
    assert lines["gone"] == ["gone", "0.75", "failed", "n/a", "n/a", "n/a"]
    (cut,) = [name for name in lines if name.startswith("kept, ")]
    assert "…" in cut
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    assert lines[cut][-7:] == [
        "failed",
        "0.50",
        "failed",
        "1.00",
        "passed",
        "↑",
        "+1.00",
    ]
    without = compare(results, "b.json", "c.json").out
    assert "TOOL USE" not in without
    worse = compare(results, "c.json", "a.json").out
    assert "↓ -1.00" in worse


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of two skills of four tasks on two days; of `clear`, every task gets better."""
    root = tmp_path_factory.mktemp("eight")
    for day, output in (("monday", "one"), ("tuesday", "one two")):
        for skill in ("clear", "other"):
            tasks = {f"t{i}": f"inputs: {{prompt: p}}\nmock: {{output: {output}}}" for i in range(4)}
            home = root / day / "skills" / skill
            mock_suite(home, tasks, f"skill: {skill}\n{GRADER}", name=skill)
            write_tree(home, {"SKILL.md": f"---\nname: {skill}\ndescription: d\n---\nb\n"})
        ended = waza("run", "--discover", ".", "--no-save", "-o", "all.json", cwd=root / day)
        assert (root / day / "all_summary.json").is_file(), ended.err
    return root


def test_what_can_be_said_is_in_every_format(eight: Path):
    days = ("monday", "tuesday")
    found = strict_json(compare(eight, *days, "--json").out)
    one = found["comparison"]
    assert list(one) == [
        "a", "b", "metric", "unit", "n", "clusters", "unmeasured", "alone", "mean_difference", "interval",
        "bootstrap", "p_value", "p_adjusted", "test", "wins", "losses", "ties", "smallest_detectable", "variance",
        "sentence", "metrics",
    ]  # fmt: skip
    assert (one["a"], one["b"], one["metric"], one["unit"], one["n"]) == (*days, "score", "task", 8)
    assert (one["mean_difference"], one["wins"], one["losses"], one["ties"]) == (0.5, 8, 0, 0)
    assert (one["p_value"], one["p_adjusted"], one["test"]) == (2 / 2**8, 2 / 2**8, "exact sign-flip")
    assert one["interval"] == {"lower": 0.5, "upper": 0.5, "level": 0.95}
    assert one["variance"] == {"task": None, "trial": None, "judge": None}
    said = "8 of 8 tasks better, 0 worse: +50 points, 95 % interval +50 to +50; p = 0.0078."
    assert one["sentence"] == f"{said} That is more than chance explains."
    assert {"pass_rate", "duration_ms"} <= set(one["metrics"])
    table, markdown, page = (compare(eight, *days, "-f", form).out for form in ("table", "markdown", "html"))
    assert said in " ".join(table.split())
    assert all(len(line) <= 80 for line in table.splitlines())
    assert "## Comparison" in markdown
    assert f"- tuesday against monday: {said}" in markdown
    assert "| Trial pass rate | +100 points |" in markdown
    assert page.startswith("<!doctype html>")
    assert said in " ".join(page.split())


def test_directories_and_summaries_hold_many_skills(eight: Path):
    found = strict_json(compare(eight, "monday/all_summary.json", "tuesday", "--json").out)
    assert [task["task_id"] for task in found["task_deltas"]] == [
        f"{skill}: t{i}" for skill in ("clear", "other") for i in range(4)
    ]
    assert (found["total_tests"], found["success_rates"], found["aggregate_scores"]) == (
        [8, 8],
        [0, 1],
        [0.5, 1],
    )
    assert [(one["suite"], one["comparisons"][0]["n"]) for one in found["suites"]] == [
        ("clear", 4),
        ("other", 4),
    ]
    assert "4 tasks are too few" in found["suites"][0]["comparisons"][0]["sentence"]
    assert found["suites"][0]["comparisons"][0]["p_adjusted"] == 0.25


def test_results_of_one_suite_and_model_are_named_once(eight: Path, tmp_path: Path):
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_bytes((eight / "monday" / "all_clear.json").read_bytes())
    ended = compare(eight, str(tmp_path), "tuesday")
    assert ended.code == 2
    assert "has 2 results of clear" in ended.err


def test_a_significant_loss_fails_where_it_is_asked_for(eight: Path):
    worse = compare(eight, "tuesday", "monday", "--fail-if-worse")
    assert worse.code == 1
    assert "monday is worse than tuesday: 0 of 8 tasks better, 8 worse: -50 points" in worse.err
    assert compare(eight, "tuesday", "monday").code == 0
    assert compare(eight, "monday", "tuesday", "--fail-if-worse").code == 0
    assert compare(eight, "tuesday", "monday", "--fail-if-worse", "--alpha", "0.005").code == 0
    few = compare(eight, "tuesday/all_clear.json", "monday/all_clear.json", "--fail-if-worse")
    assert few.code == 0
    assert (
        "warning: --fail-if-worse cannot fail for monday/all_clear.json, even if all of it were worse"
        in few.err
    )
    assert "cannot fail" not in worse.err
    none = compare(eight, "tuesday/all_clear.json", "monday/all_other.json", "--fail-if-worse")
    assert none.code == 0  # of one suite each, tasks go by their ids


def test_nothing_in_common_is_no_proof_of_not_being_worse(results: Path):
    ended = compare(results, "a.json", "c.json", "--fail-if-worse")
    assert ended.code == 0  # one task in common
    alone = waza("run", "eval.yaml", "--task", "gone", "--no-save", "-o", "../gone.json", cwd=results / "a")
    other = waza("run", "eval.yaml", "--task", "new", "--no-save", "-o", "../new.json", cwd=results / "c")
    assert (results / "gone.json").is_file(), alone.err + other.err
    ended = compare(results, "gone.json", "new.json", "--fail-if-worse")
    assert ended.code == 2
    assert "new.json and gone.json have no measured task in common" in ended.err


def test_a_run_is_not_shown_to_be_no_worse_than_itself(eight: Path):
    file = "monday/all_clear.json"
    (eight / "copy.json").write_bytes((eight / file).read_bytes())
    ended = waza("compare", file, "copy.json", "--fail-if-worse", cwd=eight)
    assert ended.code == 2
    assert "warning: copy.json is the same run as one before it, which is compared with itself" in ended.err
    assert f"--fail-if-worse: copy.json and {file} are the same run; name the results of two" in ended.err
    (eight / "copy.json").unlink()


def test_more_results_are_each_compared_with_one(results: Path):
    found = strict_json(compare(results, "a.json", "b.json", "c.json", "--json").out)
    assert [(one["a"], one["b"]) for one in found["comparisons"]] == [
        ("a.json", "b.json"),
        ("a.json", "c.json"),
    ]
    assert "comparison" not in found
    for words in (
        ("a.json", "b.json", "c.json", "--against", "c.json"),
        ("a.json", "b.json", "--against", "c.json"),
    ):
        against = strict_json(compare(results, *words, "--json").out)
        assert [(one["a"], one["b"]) for one in against["comparisons"]] == [
            ("c.json", "a.json"),
            ("c.json", "b.json"),
        ]
    assert found["comparisons"][0]["mean_difference"] == 0.5
    assert [one["p_adjusted"] for one in found["comparisons"]] == [1, 1]


def test_what_cannot_be_compared(results: Path):
    write_tree(results, {"empty.json": "", "other.json": '{"kind": "waza.preflight"}'})
    for name, said in (
        ("empty.json", "empty.json:1:1: is not valid JSON"),
        ("other.json", "other.json: is a waza.preflight report"),
        ("none.json", "'none.json' is neither a file nor a directory nor the id of a run"),
    ):
        ended = compare(results, "a.json", name)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
