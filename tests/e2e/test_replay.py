"""`waza replay`: records of trials, checked and compared, and `waza grade` by the files that evidence kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"


def snapshot(events: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A snapshot as another program writes it: without a manifest."""
    rows = [
        {"turn": 0, "sequence": i, "tool_name": "bash", "args": {}, "success": True, **event}
        for i, event in enumerate(events, 1)
    ]
    return {
        "schemaVersion": "1.0",
        "kind": "task-snapshot",
        "task": {"testId": "t", "runNumber": 1},
        "toolEvents": rows,
        "result": {"status": "passed", "finalOutput": "x", "validations": {}},
        **more,
    }


def replay(root: Path, document: object, *args: str) -> Ended:
    (root / "a.json").write_text(json.dumps(document), encoding="utf-8")
    return waza("replay", "a.json", *args, cwd=root)


def bisect(root: Path, one: object, other: object, *args: str) -> tuple[int, dict[str, Any]]:
    (root / "b.json").write_text(json.dumps(other), encoding="utf-8")
    ended = replay(root, one, "--bisect", "b.json", "--json", *args)
    found: dict[str, Any] = strict_json(ended.out)
    return ended.code, found


def test_a_directory_is_no_snapshot(tmp_path: Path) -> None:
    (tmp_path / "evidence").mkdir()
    ended = waza("replay", "evidence", cwd=tmp_path)
    assert ended.code == 2
    assert "evidence: is a directory; name a file in it" in ended.err


def test_a_consistent_record_passes(tmp_path: Path) -> None:
    ended = replay(tmp_path, snapshot([{}, {}]), "--json")
    assert ended.code == 0
    assert strict_json(ended.out) == {
        "source": "a.json",
        "mode": "model-replay",
        "pass": True,
        "status": "passed",
        "issues": [],
        "tool_events": 2,
        "graders": 0,
    }
    assert (
        "a.json: consistent; 2 tool calls, 0 verdicts; the trial ended as passed"
        in replay(tmp_path, snapshot([{}, {}])).out
    )


@pytest.mark.parametrize("numbers", [(1, 3), (2, 3), (1, 1), (1, 2, 2), (0, 1)])
def test_a_gap_in_the_numbers_of_calls_is_found(numbers: tuple[int, ...], tmp_path: Path) -> None:
    ended = replay(tmp_path, snapshot([{"sequence": number} for number in numbers]), "--json")
    assert ended.code == 1
    assert [issue["kind"] for issue in strict_json(ended.out)["issues"]] == ["sequence_gap"]


def test_the_order_in_the_file_does_not_matter(tmp_path: Path) -> None:
    assert replay(tmp_path, snapshot([{"sequence": 2}, {"sequence": 1}])).code == 0


def test_a_passed_verdict_with_a_score_of_0_is_found_unless_lenient(tmp_path: Path) -> None:
    def verdict(**more: Any) -> dict[str, Any]:
        return {
            "identifier": "g",
            "type": "text",
            "score": 0,
            "weight": 1,
            "passed": True,
            "feedback": "",
            "duration_ms": 0,
            **more,
        }

    result = {
        "status": "passed",
        "validations": {
            "odd": verdict(),
            "w": verdict(weight=0),
            "f": verdict(passed=False),
            "s": verdict(score=0.1),
        },
    }
    document = snapshot([], result=result)
    ended = replay(tmp_path, document, "--json")
    assert ended.code == 1
    (issue,) = strict_json(ended.out)["issues"]
    assert (issue["kind"], issue["grader"]) == ("validation_inconsistency", "odd")
    assert replay(tmp_path, document, "--strict=false").code == 0
    assert replay(tmp_path, document, "--strict=true").code == 1


def test_live_is_refused(tmp_path: Path) -> None:
    ended = replay(tmp_path, snapshot([]), "--mode", "live")
    assert ended.code == 2
    assert "a replay runs nothing" in ended.err


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({**snapshot([]), "kind": "waza.preflight"}, "a.json: kind: is no snapshot"),
        ({**snapshot([]), "schemaVersion": "2.0"}, "a.json: schemaVersion: version 2.0 is not readable here"),
        ({**snapshot([]), "schemaVersion": "x"}, "a.json: schemaVersion: "),
        ({**snapshot([]), "schemaVersion": 1}, "a.json: schemaVersion: must be a text"),
        ([], "a.json: must be a JSON object"),
        ({"kind": "task-snapshot"}, "a.json: is no snapshot: it has no result"),
        ({**snapshot([]), "toolEvents": {"x": 1}}, "a.json:1:"),
        ({**snapshot([]), "toolEvents": [{"sequence": "one"}]}, "toolEvents"),
    ],
)
def test_what_is_no_snapshot_is_refused(document: object, says: str, tmp_path: Path) -> None:
    ended = replay(tmp_path, document)
    assert ended.code == 2
    assert says in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b'{"a": 1,', "a.json:1:"),
        (b'{"a": 1, "a": 2}', "duplicate key"),
        (b'{"a": NaN}', "a.json:1:7: "),
        (b"\xff\xfe", "UTF-8"),
        (b'{"result": ' + b"[" * 100_000, "a.json"),
        (b'{"result": ' + b"1" * 5000 + b"}", "a.json"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(data: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(data)
    ended = waza("replay", "a.json", cwd=tmp_path)
    assert ended.code == 2
    assert says in ended.err
    assert "Traceback" not in ended.err
    assert waza("replay", "none.json", cwd=tmp_path).code == 2
    assert waza("replay", ".", cwd=tmp_path).code == 2


@pytest.mark.parametrize("version", [None, "", "1.0", "1.7"])
def test_snapshots_of_other_programs_are_read(version: str | None, tmp_path: Path) -> None:
    document = snapshot([{}], schemaVersion=version, fixtures=None, future={"x": [1]})
    if version is None:
        del document["schemaVersion"], document["kind"]
    document["result"]["validations"] = None
    assert replay(tmp_path, document).code == 0
    document["toolEvents"] = None
    assert replay(tmp_path, document).code == 0


def test_bisect_finds_the_first_difference(tmp_path: Path) -> None:
    one = snapshot(
        [{"args": {"a": 1, "b": [1.0]}}, {"tool_name": "view", "args": {"path": "x" * 300}, "turn": 7}]
    )
    same = snapshot(
        [
            {"args": {"b": [1], "a": 1.0}, "result": "other", "success": False},
            {"tool_name": "view", "args": {"path": "x" * 300}},
        ]
    )
    code, found = bisect(tmp_path, one, same)
    assert code == 0
    assert found == {
        "match": True,
        "divergences": [],
        "baseline": "a.json",
        "replayed": "b.json",
        "first_divergent_turn": 0,
    }

    other = snapshot(
        [{"args": {"a": 1, "b": [1]}}, {"tool_name": "view", "args": {"path": "y" * 300}, "turn": 7}, {}]
    )
    code, found = bisect(tmp_path, one, other)
    assert code == 1
    (divergence,) = found["divergences"]
    assert (divergence["kind"], divergence["first_divergent_index"]) == ("tool_args", 1)
    assert len(divergence["baseline_value"]) == len(divergence["replayed_value"]) == 200
    assert found["first_divergent_turn"] == 7

    code, found = bisect(tmp_path, one, snapshot([{"tool_name": "other"}]))
    assert (code, found["divergences"][0]["kind"], found["first_divergent_turn"]) == (1, "tool_name", 1)
    code, found = bisect(tmp_path, snapshot([{}]), snapshot([{}, {}, {}]))
    (divergence,) = found["divergences"]
    assert (code, divergence["kind"], divergence["first_divergent_index"]) == (1, "length_mismatch", 1)
    assert (divergence["baseline_value"], divergence["replayed_value"], found["first_divergent_turn"]) == (
        "1",
        "3",
        2,
    )


def test_bisect_compares_results_and_verdicts_when_it_is_strict(tmp_path: Path) -> None:
    plain = snapshot([{"result": "a"}])
    for changed, kind in (
        (snapshot([{"result": "a", "success": False}]), "tool_success"),
        (snapshot([{"result": "b"}]), "tool_result"),
        (snapshot([{"result": "a"}], result={"status": "failed", "validations": {}}), "final_status"),
        (
            snapshot(
                [{"result": "a"}],
                result={"status": "passed", "validations": {"g": {"identifier": "g", "passed": True}}},
            ),
            "validation",
        ),
    ):
        assert bisect(tmp_path, plain, changed)[0] == 0
        code, found = bisect(tmp_path, plain, changed, "--strict")
        assert (code, found["divergences"][0]["kind"]) == (1, kind)


# Snapshots of waza.


def record(root: Path, task: str, head: str = SAYS, *args: str) -> Path:
    mock_suite(root, {"a": task}, head)
    ended = waza("run", "eval.yaml", "--snapshot", "ev", "-o", "r.json", *args, cwd=root)
    assert ended.code in (0, 1), ended.err
    return root / "ev/a-run1.json"


def edit(file: Path, old: str, new: str) -> int:
    """Change a text in a file; return its line."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    return text[: text.index(old)].count("\n") + 1


CALLS = "inputs: {prompt: p}\nmock: {output: hello, tool_calls: [{name: bash, args: {command: ls}}, {name: view}]}"


def test_snapshots_of_a_run_replay_and_match_themselves(tmp_path: Path) -> None:
    file = record(tmp_path, CALLS)
    ended = waza("replay", file, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert strict_json(ended.out)["tool_events"] == 2
    shutil.copy(file, tmp_path / "copy.json")
    ended = waza("replay", file, "--bisect", "copy.json", "--strict", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "the records match\n")


def test_a_changed_snapshot_is_refused_with_the_place(tmp_path: Path) -> None:
    file = record(tmp_path, CALLS)
    edit(file, '"command": "ls"', '"command": "rm"')
    line = file.read_text(encoding="utf-8").split('"toolEvents"')[0].count("\n") + 1
    for args in ((file,), ("copy.json",), (tmp_path / "fine.json", "--bisect", file)):
        shutil.copy(file, tmp_path / "copy.json")
        write_tree(tmp_path, {"fine.json": json.dumps(snapshot([]))})
        ended = waza("replay", *args, cwd=tmp_path)
        assert ended.code == 2
        assert f".json:{line}:" in ended.err
        assert "toolEvents: changed after it was recorded" in ended.err


def test_a_snapshot_without_its_manifest_is_refused_where_it_is_sealed(tmp_path: Path) -> None:
    file = record(tmp_path, CALLS)
    document = strict_json(file.read_bytes())
    del document["evidence"]
    file.write_text(json.dumps(document), encoding="utf-8")
    ended = waza("replay", file, cwd=tmp_path)
    assert ended.code == 2
    assert "evidence: the manifest is missing" in ended.err
    write_tree(tmp_path, {"ev/new-run1.json": json.dumps(snapshot([]))})
    ended = waza("replay", "ev/new-run1.json", cwd=tmp_path)
    assert ended.code == 2
    assert "not in the seal beside it" in ended.err


# Grading by evidence.

FILES = """
inputs: {prompt: p}
mock:
  output: hello
  files: [{path: a.txt, content: "one\\n"}, {path: d/b.txt, content: two}, {path: s.txt, content: "password=hunter2x"}]
"""
KEEP = ("--evidence-file", "*.txt", "--evidence-file", "d/*")


def grade(root: Path, *args: str | Path, task: str = "a", file: str = "ev/a-run1.json") -> Ended:
    return waza(
        "grade",
        "eval.yaml",
        "--results",
        "r.json",
        "--task",
        task,
        "--evidence-snapshot",
        file,
        *args,
        cwd=root,
    )


def graders(config: str, kind: str = "file") -> str:
    return f"{SAYS[:-1]}, {{type: {kind}, name: g, config: {config}}}]"


def test_positive_checks_of_files_are_graded_by_evidence(tmp_path: Path) -> None:
    config = "{must_exist: [a.txt, d, ./s.txt], content_patterns: [{path: a.txt, must_match: ['^one'] }, {path: d/b.txt, must_match: [two]}]}"
    record(tmp_path, FILES, graders(config), *KEEP)
    before = strict_json((tmp_path / "r.json").read_bytes())["tasks"][0]["runs"][0]
    ended = grade(tmp_path, "-o", "again.json")
    assert ended.code == 0, ended.err
    assert strict_json(ended.out)["tasks"]["a"] == {
        "overall_score": 1,
        "passed": True,
        "grader_averages": {"g": 1, "says": 1},
    }
    after = strict_json((tmp_path / "again.json").read_bytes())["tasks"][0]["runs"][0]
    assert after["validations"]["g"]["passed"]
    assert after["evidence"] == before["evidence"]
    mock_suite(tmp_path, {"a": FILES}, graders("{content_patterns: [{path: a.txt, must_match: [three]}]}"))
    ended = grade(tmp_path, "--fail")
    assert ended.code == 1
    assert not strict_json(ended.out)["passed"]


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (graders("{must_not_exist: [x.txt]}"), "must_not_exist"),
        (graders("{must_exist: ['*.txt']}"), "only literal names"),
        (
            graders("{must_exist: [c.txt]}"),
            "'c.txt' was not kept: run the suite with --evidence-file 'c.txt'",
        ),
        (graders("{content_patterns: [{path: a.txt, must_not_match: [x]}]}"), "must_not_match"),
        (graders("{content_patterns: [{path: s.txt, must_match: [hunter]}]}"), "was redacted"),
        (graders("{content_patterns: [{path: d, must_match: [x]}]}"), "was not kept as a file"),
        (graders("{prompt: good?}", "prompt"), "a prompt grader can look at more"),
        (graders("{command: 'true'}", "program"), "a program grader can look at more"),
        (graders("{assertions: ['True']}", "code"), "a code grader can look at more"),
        (
            graders("{expected_files: [{path: a.txt, contains: [one]}]}", "diff"),
            "a diff grader can look at more",
        ),
        (SAYS, "none of them is a file grader"),
    ],
)
def test_checks_that_partial_evidence_cannot_prove_are_refused(head: str, says: str, tmp_path: Path) -> None:
    record(tmp_path, FILES, graders("{must_exist: [a.txt]}"), *KEEP)
    mock_suite(tmp_path, {"a": FILES}, head)
    ended = grade(tmp_path)
    assert ended.code == 2
    assert says in ended.err
    assert ended.out == ""


def test_evidence_of_something_else_is_refused(tmp_path: Path) -> None:
    head = graders("{must_exist: [a.txt]}")
    record(tmp_path, FILES, head, *KEEP)
    shutil.copytree(tmp_path / "ev", tmp_path / "first")
    shutil.copy(tmp_path / "r.json", tmp_path / "first.json")
    shutil.rmtree(tmp_path / "ev")
    mock_suite(tmp_path, {"a": FILES, "b": FILES}, head)
    assert waza("run", "eval.yaml", "--snapshot", "ev", "-o", "r.json", *KEEP, cwd=tmp_path).code == 0
    assert grade(tmp_path).code == 0
    for args, says in (
        ({"file": "first/a-run1.json"}, "evalId: it is of another run"),
        ({"file": "ev/b-run1.json"}, "task.testId: it is of another task"),
        ({"task": "c"}, "there is no task 'c' in the suite"),
        ({"file": "ev/none.json"}, "ev/none.json"),
        ({"file": "ev/evidence.json"}, "is no snapshot"),
    ):
        ended = grade(tmp_path, **args)
        assert ended.code == 2
        assert says in ended.err, ended.err
    mock_suite(tmp_path, {"a": FILES, "b": FILES}, head, name="renamed")
    assert "evalName: it is of another suite" in grade(tmp_path).err
    mock_suite(tmp_path, {"a": FILES, "b": FILES}, head)
    line = edit(tmp_path / "ev/a-run1.json", '"content": "one', '"content": "two')
    ended = grade(tmp_path)
    assert ended.code == 2
    assert "workspaceFiles[0]: changed after it was recorded" in ended.err
    assert f"ev/a-run1.json:{line - 3}:" in ended.err
    edit(tmp_path / "r.json", '"attempt_count": 1', '"attempt_count": 2')
    ended = grade(tmp_path, file="ev/b-run1.json", task="b")
    assert ended.code == 0
    edit(tmp_path / "r.json", '"attempt_count": 1', '"attempt_count": 2')
    ended = grade(tmp_path, file="ev/b-run1.json", task="b")
    assert ended.code == 2
    assert "evidence: the manifest in the results was changed" in ended.err


def test_evidence_grades_one_trial_of_one_task(tmp_path: Path) -> None:
    record(tmp_path, FILES, graders("{must_exist: [a.txt]}"), "--trials", "2", *KEEP)
    ended = grade(tmp_path)
    assert ended.code == 2
    assert "the results have 2 trials of the task 'a'" in ended.err
    whole = waza(
        "grade", "eval.yaml", "--results", "r.json", "--evidence-snapshot", "ev/a-run1.json", cwd=tmp_path
    )
    assert whole.code == 2
    assert "--evidence-snapshot needs --task" in whole.err
    assert grade(tmp_path, "--workspace", ".").code == 2
