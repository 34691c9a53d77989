"""Shards: a run in parts, each on a machine of its own, and the whole that `waza merge` makes of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import mock_suite, strict_json, waza, write_tree

NAMES = ("ada", "bob", "cy", "dee", "eve", "fay", "gus")
TASK = """id: {name}
inputs: {{prompt: Greet {name}.}}
tags: [{tag}]
requirements: [{{id: greets, category: outcome, description: It greets., checks: [{{grader: hello}}]}}]
mock: {{output: '{output}'}}
"""
HOOKS = "hooks: {before_task: [{command: 'test {{.TaskName}} != fay', error_on_fail: true}]}\n"
HEAD = """skill: greeter
graders: [{name: hello, type: text, config: {contains: [Hello]}}]
metrics: [{name: hello, threshold: 0.5, gate: true}, {name: task_completion, threshold: 0.1}]
"""
CONFIG = ("trials_per_task: 2", "group_by: tags", "skill_required: false", "skill_directories: [skills]")
TRIGGERS = """skill: greeter
neighbours: [sums]
should_trigger_prompts: [{prompt: Greet me.}]
should_not_trigger_prompts: [{prompt: Add up.}]
"""
MOCK = "mock: {output: Hello, triggers: {Greet me.: true, Add up.: sums}}\n"


def project(
    root: Path, *, failing: Sequence[str] = ("bob",), trigger: bool = True, hooks: bool = True
) -> Path:
    """A suite of seven tasks; the hook of one of them fails."""
    tasks = {
        name: TASK.format(
            name=name, tag="x" if name < "d" else "y", output="No" if name in failing else f"Hello {name}"
        )
        for name in NAMES
    }
    skill = "---\nname: {}\ndescription: works\n---\nWork.\n"
    write_tree(root, {f"skills/{name}/SKILL.md": skill.format(name) for name in ("greeter", "sums")})
    if trigger:
        write_tree(root, {"trigger_tests.yaml": TRIGGERS})
    mock_suite(root, tasks, head=HEAD + (HOOKS if hooks else "") + (MOCK if trigger else ""), config=CONFIG)
    return root


def run_shards(root: Path, of: int, *more: str, codes: set[int] | None = None) -> list[Path]:
    """Run all shards, each in a copy of the project; return the copies."""
    places = []
    for number in range(1, of + 1):
        place = root.parent / f"machine-{number}"
        shutil.copytree(root, place)
        ended = waza("run", "eval.yaml", f"--shard={number}/{of}", *more, cwd=place)
        assert ended.code in (codes or {0, 1}), ended.err
        places.append(place)
    return places


TIMES = {
    "eval_id", "timestamp", "duration_ms", "avg_duration_ms", "workspace_dir", "started_ms", "invocation",
    "shards", "session_id", "captured_at",
}  # fmt: skip


def plain(results: Any) -> Any:
    """Results without ids, times and paths of directories that are gone."""
    if isinstance(results, dict):
        return {key: plain(value) for key, value in results.items() if key not in TIMES}
    if isinstance(results, list):
        return [plain(one) for one in results]
    return re.sub(r"run-\w+-\w+", "RUN", results) if isinstance(results, str) else results


def load(path: Path) -> Any:
    return strict_json(path.read_bytes())


def test_merged_shards_are_the_results_of_one_run(tmp_path: Path):
    root = project(tmp_path / "whole")
    shards = run_shards(root, 3, "--baseline", "--model=a", "--model=b")
    assert (
        waza("run", "eval.yaml", "--baseline", "--model=a", "--model=b", "-o", "all.json", cwd=root).code == 1
    )
    merged = waza("merge", *shards, "-o", "all.json", "--reporter=junit:junit.xml", cwd=tmp_path)
    assert merged.code == 1, merged.err
    for name in ("all_a.json", "all_b.json"):
        assert plain(load(tmp_path / name)) == plain(load(root / name))
    found = load(tmp_path / "all_a.json")
    assert [one["number"] for one in found["metadata"]["shards"]] == [1, 2, 3]
    assert found["trigger_metrics"]["accuracy"] == 1
    assert found["trigger_matrix"]["rows"][0]["invoked"] == {"greeter": 1, "sums": 0}
    assert "selection" not in found["metadata"]
    assert {task["test_id"]: task["status"] for task in found["tasks"]}["fay"] == "error"
    assert "bob" in (tmp_path / "junit.xml").read_text()


def test_a_shard_has_the_tasks_of_its_hashes_and_is_never_green_as_the_whole(tmp_path: Path):
    root = project(tmp_path / "whole", failing=())
    for number, place in enumerate(run_shards(root, 3), 1):
        saved = load(next(place.glob(".waza/runs/*/results.json")))
        wanted = [
            name for name in NAMES if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 + 1 == number
        ]
        assert [task["test_id"] for task in saved["tasks"]] == wanted
        assert saved["metadata"]["selection"] == {
            "filters": [f"--shard {number}/3"], "selected": len(wanted), "of": 7,
            "shard": {"number": number, "of": 3},
        }  # fmt: skip
        verdict = saved["metadata"]["verdict"]
        assert not verdict["passed"]
        assert f"shard {number}/3 is a part of a run; `waza merge`" in verdict["reasons"][-1]
        assert saved["metrics"] == {}
        assert ("trigger_metrics" in saved) == (number == 1)
        shown = waza("show", cwd=place)
        assert f"only {len(wanted)} of 7 tasks chosen: --shard {number}/3" in shown.out
        assert ("not decided" in shown.out) == ("fay" not in wanted)
        assert ": passed\n" not in shown.out


def test_the_exit_code_of_a_shard_is_of_its_own_tasks_and_an_empty_one_is_no_error(tmp_path: Path):
    root = project(tmp_path / "whole", failing=(), trigger=False)
    codes, texts = [], []
    for number in range(1, 14):
        ended = waza("run", "eval.yaml", f"--shard={number}/13", "-o", f"{number}.json", cwd=root)
        codes.append(ended.code)
        texts.append(ended.err)
    with_fay = int(hashlib.sha256(b"fay").hexdigest(), 16) % 13 + 1
    assert [number for number, code in enumerate(codes, 1) if code] == [with_fay]
    empty = [text for text in texts if "has 0 of 7 tasks; nothing is run" in text]
    assert len(empty) >= 6
    merged = waza("merge", ".", "-o", "all.json", cwd=root)
    assert merged.code == 1, merged.err
    assert len(load(root / "all.json")["tasks"]) == 7


def test_a_shard_that_was_cut_off_is_refused_until_it_is_resumed(tmp_path: Path):
    root = project(tmp_path / "whole")
    first, second = run_shards(root, 2)
    journal = next(second.glob(".waza/runs/*/journal.ndjson"))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4]) + lines[4][:10])
    ended = waza("merge", first, second, cwd=tmp_path)
    assert ended.code == 2
    assert "shard 2/2" in ended.err
    assert "was cut off; go on with it" in ended.err
    assert waza("run", "eval.yaml", "--resume", cwd=second).err.count("there is no earlier run") == 1
    shutil.rmtree(max(second.glob(".waza/runs/*"), key=lambda path: path.stat().st_mtime_ns))
    resumed = waza("run", "eval.yaml", "--shard=2/2", "--resume", cwd=second)
    assert "there is no earlier run" not in resumed.err
    assert waza("merge", first, second, "-o", "all.json", cwd=tmp_path).code == 1
    assert waza("run", "eval.yaml", "-o", "all.json", cwd=root).code == 1
    assert plain(load(tmp_path / "all.json")) == plain(load(root / "all.json"))


def test_durations_of_a_file_balance_shards(tmp_path: Path):
    root = project(tmp_path / "whole", failing=())
    waza("run", "eval.yaml", "-o", "before.json", cwd=root)
    results = load(root / "before.json")
    took = {"ada": 100, "bob": 60, "cy": 50, "dee": 40, "eve": 30, "fay": 0, "gus": 20}
    for task in results["tasks"]:
        for trial in task["runs"]:
            trial["duration_ms"] = took[task["test_id"]]
    (root / "before.json").write_text(json.dumps(results))
    shutil.rmtree(root / ".waza")
    shards = run_shards(root, 2, "--durations=before.json")
    have = [
        {task["test_id"] for task in load(next(place.glob(".waza/runs/*/results.json")))["tasks"]}
        for place in shards
    ]
    # Longest first, to the shard with the least: ada 1, bob 2, cy 2, fay 1 (not known, so the average), dee 2, eve 1, gus 2.
    assert have == [{"ada", "eve", "fay"}, {"bob", "cy", "dee", "gus"}]
    assert waza("merge", *shards, cwd=tmp_path).code == 1
    (root / "before.json").write_text(json.dumps(results) + "\n")
    shutil.rmtree(shards[1] / ".waza")
    shutil.copy(root / "before.json", shards[1])
    waza("run", "eval.yaml", "--shard=2/2", "--durations=before.json", cwd=shards[1])
    ended = waza("merge", *shards, cwd=tmp_path)
    assert ended.code == 2
    assert "differ in the file of --durations" in ended.err
    alone = waza("run", "eval.yaml", "--durations=before.json", cwd=root)
    assert (alone.code, "--durations balances shards; give --shard" in alone.err) == (2, True)


def test_what_is_missing_overlaps_or_does_not_fit_is_refused_by_name(tmp_path: Path):
    root = project(tmp_path / "whole")
    first, second = run_shards(root, 2, "--model=m")

    def refusal(*places: Path) -> str:
        ended = waza("merge", *places, "-o", "all.json", cwd=tmp_path)
        assert ended.code == 2, ended.err
        assert not (tmp_path / "all.json").exists()
        return ended.err

    assert "eval.yaml on m: shard 2 of 2 is missing" in refusal(first)
    third = tmp_path / "again"
    shutil.copytree(root, third)
    waza("run", "eval.yaml", "--shard=2/2", "--model=m", cwd=third)
    assert "shard 2/2 is there 2 times: " in refusal(first, second, third)
    for words, why in (
        (["--model=other"], "eval.yaml on m: shard 2 of 2 is missing"),
        (["--model=m", "--trials=3"], "differ in config of the suite"),
        (["--model=m", "--tags=x"], "differ in the choice of tasks"),
        (["--model=m", "--skip-graders"], "differ in --skip-graders"),
        (["--model=m", "--baseline"], "differ in the comparison with no skills (--baseline)"),
    ):
        shutil.rmtree(third / ".waza")
        waza("run", "eval.yaml", "--shard=2/2", *words, cwd=third)
        assert why in refusal(first, third), words
    shutil.rmtree(third / ".waza")
    waza("run", "eval.yaml", "--shard=2/3", "--model=m", cwd=third)
    assert "differ in the number of shards" in refusal(first, third)
    shutil.rmtree(third / ".waza")
    task = third / "tasks/dee.yaml"
    task.write_text(task.read_text().replace("Greet dee", "Greet Dee"))
    waza("run", "eval.yaml", "--shard=2/2", "--model=m", cwd=third)
    assert "differ in the suite, a task, a grader" in refusal(first, third)
    shutil.rmtree(third / ".waza")
    waza("run", "eval.yaml", "--model=m", cwd=third)
    assert "is a whole run of suite, and not a shard" in refusal(first, third)
    results = next(first.glob(".waza/runs/*/results.json"))
    shutil.copy(results, tmp_path / "one.json")
    assert "shards are merged from their run directories" in refusal(tmp_path / "one.json", second)
    journal = next(second.glob(".waza/runs/*/journal.ndjson"))
    journal.write_bytes(journal.read_bytes().replace(b'"passed"', b'"failed"', 1))
    assert "the checksum of this line does not fit" in waza("merge", first, second, cwd=tmp_path).err


def test_a_suite_that_did_not_run_in_any_shard_is_missing(tmp_path: Path):
    root = tmp_path / "whole"
    for name in ("one", "two"):
        mock_suite(root / name, {"a": "id: a\ninputs: {prompt: p}\n"}, name=name)
    (root / "two/eval.yaml").write_text("name: [")
    ended = waza("run", "one", "two", "--shard=1/1", cwd=root)
    assert ended.code == 2
    merged = waza("merge", ".", cwd=root)
    assert merged.code == 2
    assert "two/eval.yaml: no shard of it is there: its files had mistakes" in merged.err


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", "1/2/3"])
def test_a_malformed_shard_is_refused(tmp_path: Path, text: str):
    ended = waza("run", "eval.yaml", f"--shard={text}", cwd=tmp_path)
    assert ended.code == 2
    assert "is not a shard; write its number, from 1, and how many there are, such as 2/3" in ended.err


def test_a_shard_is_no_baseline_and_no_candidate_of_a_gate(tmp_path: Path):
    root = project(tmp_path / "whole", failing=(), trigger=False)
    waza("run", "eval.yaml", "--shard=1/2", "-o", "one.json", cwd=root)
    waza("run", "eval.yaml", "--shard=1/2", "-o", "two.json", cwd=root)
    ended = waza("gate", "--baseline=one.json", "--current=two.json", cwd=root)
    assert ended.code == 1
    assert "current: it is shard 1/2 of a run; merge all shards first" in ended.out + ended.err


def test_a_shard_that_was_stopped_makes_a_whole_that_was_stopped(tmp_path: Path):
    root = project(tmp_path / "whole", failing=(), trigger=False)
    (root / "eval.yaml").write_text(
        (root / "eval.yaml").read_text().replace("executor: mock", "executor: command\n  stop_after_errors: 1\n  executor_options: {command: 'no-such-program-x'}")
        .replace("mock: {", "# mock: {")
    )  # fmt: skip
    for task in (root / "tasks").iterdir():
        task.write_text("\n".join(line for line in task.read_text().splitlines() if "mock:" not in line))
    shards = run_shards(root, 2)
    merged = waza("merge", *shards, "-o", "all.json", cwd=tmp_path)
    assert merged.code == 1, merged.err
    found = load(tmp_path / "all.json")
    assert found["metadata"]["run_status"] == "stopped"
    assert "the run did not come to its end (stopped)" in found["metadata"]["verdict"]["reasons"][0]


def test_a_killed_shard_names_the_call_that_goes_on_with_it(tmp_path: Path):
    root = project(tmp_path / "whole")
    waza("run", "eval.yaml", "--shard=2/2", "--tags=y", cwd=root)
    journal = next(root.glob(".waza/runs/*/journal.ndjson"))
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:4]))
    ended = waza("compare", journal.parent, journal.parent, cwd=root)
    (command,) = set(re.findall(r"go on with it: (waza run [^;]+);", ended.err))
    assert command.split()[3:] == ["--tags", "y", "--shard", "2/2", f"--resume={journal.parent.name}"]
    assert waza(*command.split()[1:], cwd=root).err.count("is finished") == 0
    assert load(journal.with_name("results.json"))["metadata"]["run_status"] == "complete"


def test_an_evaluation_document_has_no_shards_and_no_choice_of_tasks(tmp_path: Path):
    write_tree(
        tmp_path, {"doc.json": '{"schemaVersion": "1.2.0", "items": [{"prompt": "p", "response": "r"}]}'}
    )
    for options, flag in (
        (["--shard=1/2"], "--shard"),
        (["--backend=dask"], "--backend"),
        (["-k", "x"], "-k"),
        (["--changed-since=main"], "--changed-since"),
    ):
        ended = waza("run", "doc.json", *options, cwd=tmp_path)
        assert ended.code == 2
        assert f"is an evaluation document, and has no use for: {flag};" in ended.err
