"""`waza export --format benchmark`: the files of Agent Skills evals, in the shape of the samples and with true values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.program import strict_json, waza, write_tree

from waza.kit import yaml

SAMPLE = Path(__file__).parents[1] / "data/foreign/agent-skills/price-sorter-workspace/iteration-1"
SKILL = "---\nname: price-sorter\ndescription: Sorts prices.\n---\nSort.\n"
OF_OTHERS = {"claims", "user_notes_summary", "eval_feedback"}  # what a person or another model adds


def shape(value: Any) -> Any:
    """Keys and types; a list has that of all of its items."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key not in OF_OTHERS}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def read(path: Path) -> Any:
    return strict_json(path.read_bytes())


def run_evals(root: Path) -> None:
    """Run an imported eval twice with the skill and twice without, as the sample has it."""
    evals = {
        "skill_name": "price-sorter",
        "evals": [
            {
                "id": 1,
                "name": "sort",
                "prompt": "Sort prices.csv by price.",
                "expectations": ["Mango is the first row", "No row is lost\n\n---\nat all"],
            }
        ],
    }
    write_tree(root, {"price-sorter/SKILL.md": SKILL, "price-sorter/evals/evals.json": json.dumps(evals)})
    assert waza("import", "price-sorter", "-o", "made", cwd=root).code == 0
    script = {
        "usage": {"input_tokens": 3000, "output_tokens": 400},
        "tool_calls": [{"name": "Read"}, {"name": "Bash"}],
        "output": "mango 😀",
        "judge": {
            "expectation_1": [{"pass": "Row 1 reads mango"}],
            "expectation_2": [{"pass": "3 of 3 rows"}],
        },
    }
    path = root / "made/tasks/1-eval-1.yaml"
    lost = {"judge": {**script["judge"], "expectation_2": [{"fail": "2 of 3 rows"}]}}  # type: ignore[dict-item]
    mock = {**script, "executions": [{}, lost]}
    path.write_text(path.read_text("utf-8") + yaml.dump({"mock": mock}), "utf-8")
    assert waza("run", "made", "--executor", "mock", "--trials", "2", cwd=root).code == 1


def test_a_run_in_the_shape_of_the_sample(tmp_path: Path) -> None:
    run_evals(tmp_path)
    done = waza("export", "--format", "benchmark", "-o", "out", cwd=tmp_path)
    assert done.code == 0, done.err
    benchmark, sample = read(tmp_path / "out/benchmark.json"), read(SAMPLE / "benchmark.json")
    assert shape(benchmark) == shape(sample | {"runs": [one | {"notes": []} for one in sample["runs"]]})
    for name in ("grading.json", "timing.json"):
        for folder in ("with_skill/run-1", "with_skill/run-2", "without_skill/run-1", "without_skill/run-2"):
            made = read(tmp_path / "out/eval-1" / folder / name)
            wanted = shape(read(SAMPLE / "eval-sort/with_skill/run-1" / name))
            assert {
                key: shape(made)[key] | {"tool_calls": 0} if key == "execution_metrics" else shape(made)[key]
                for key in wanted
            } == {
                key: one | {"tool_calls": 0} if key == "execution_metrics" else one
                for key, one in wanted.items()
            }
    assert shape(read(tmp_path / "out/eval-1/eval_metadata.json")) == shape(
        read(SAMPLE / "eval-sort/eval_metadata.json")
    )
    assert [(one["eval_id"], one["configuration"], one["run_number"]) for one in benchmark["runs"]] == [
        (1, "with_skill", 1), (1, "with_skill", 2), (1, "without_skill", 1), (1, "without_skill", 2),
    ]  # fmt: skip
    first, second = benchmark["runs"][:2]
    assert first["result"] | {"time_seconds": 0} == {
        "pass_rate": 1, "passed": 2, "failed": 0, "total": 2, "time_seconds": 0, "tokens": 3400, "tool_calls": 2, "errors": 0,
    }  # fmt: skip
    assert second["expectations"] == [
        {"text": "Mango is the first row", "passed": True, "evidence": "the judge passed 1 of 1 criteria"},
        {"text": "No row is lost\n\n---\nat all", "passed": False, "evidence": "2 of 3 rows"},
    ]
    summary = benchmark["run_summary"]
    assert summary["with_skill"]["pass_rate"] == {"mean": 0.75, "stddev": 0.3536, "min": 0.5, "max": 1}
    assert summary["with_skill"]["tokens"] == {"mean": 3400, "stddev": 0, "min": 3400, "max": 3400}
    assert (summary["delta"]["pass_rate"], summary["delta"]["tokens"]) == ("+0.00", "+0")
    assert benchmark["notes"][0].startswith("waza: price-sorter-evals: failed")
    assert any("the judge sees the reply" in note for note in benchmark["notes"])  # caveats, too
    grading = read(tmp_path / "out/eval-1/with_skill/run-1/grading.json")
    assert grading["execution_metrics"]["tool_calls"] == {"Read": 1, "Bash": 1}


def test_what_is_not_known_is_null_and_broken_runs_count_in_no_mean(tmp_path: Path) -> None:
    tasks = {
        "tasks/a.yaml": "id: b-task\ninputs: {prompt: x}\nexpected: {output_contains: [x]}\n",
        "tasks/b.yaml": "id: 7\ninputs: {prompt: x}\nmock: {error: it broke}\nexpected: {output_contains: [x]}\n",
    }
    write_tree(
        tmp_path, {"eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: ['tasks/*.yaml']\n", **tasks}
    )
    waza("run", "eval.yaml", cwd=tmp_path)
    done = waza("export", "--format", "benchmark", cwd=tmp_path)
    benchmark = strict_json(done.out)
    assert [one["eval_id"] for one in benchmark["runs"]] == [1, 2]  # one id is no number, so all are places
    assert benchmark["runs"][0]["result"]["tokens"] is None
    assert benchmark["runs"][0]["expectations"][0]["text"] == "_output_contains"
    assert (benchmark["runs"][1]["result"]["errors"], benchmark["runs"][1]["notes"]) == (1, ["it broke"])
    assert list(benchmark["run_summary"]) == ["with_skill"]
    assert benchmark["run_summary"]["with_skill"]["pass_rate"]["mean"] == 1
    assert benchmark["run_summary"]["with_skill"]["tokens"]["mean"] is None
    assert "1 run broke or had nothing to check, and count in no mean" in benchmark["notes"]
    assert waza("export", "--format", "benchmark", "-o", "one.json", cwd=tmp_path).code == 0
    assert read(tmp_path / "one.json") == benchmark
    write_tree(tmp_path, {"full/x": ""})
    waza("run", "eval.yaml", cwd=tmp_path)
    for args, why in (
        (("-o", "full"), "is not empty"),
        ((".waza/runs",), "these are 2"),
        (("--rows", "trials"), "--rows"),
    ):
        refused = waza("export", "--format", "benchmark", *args, cwd=tmp_path)
        assert (refused.code, why in refused.err) == (2, True), refused.err
