"""WGP/1 graders in real runs: what they are told, what becomes of good ones, and what of hostile ones."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.program import mock_suite, strict_json, waza, write_tree
from tests.support.wgp import ANSWERS, DATA, LOOPS, module, program, response

from waza.suite.load import load

# Answers with the request as the rationale.
TELLS = (
    "import json; print(json.dumps({'schema': 'wgp/1', 'score': 1, 'passed': True, 'rationale': request}))"
)
GOOD = f"print('''{response()}''')"
SHORT = {"wall_seconds": 1, "cpu_seconds": 1}


def entry(name: str, artifact: str, **config: Any) -> dict[str, Any]:
    runtime = "wasm" if artifact.endswith(".wasm") else "program"
    return {"type": "wgp", "name": name, "config": {"runtime": runtime, "artifact": artifact, **config}}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def sleeping(seconds: str) -> list[int]:
    return [one.pid for one in psutil.process_iter(["cmdline"]) if seconds in (one.info["cmdline"] or [])]


def requests(run: dict[str, Any]) -> dict[str, Any]:
    return {name: json.loads(found["feedback"]) for name, found in run["validations"].items()}


def test_what_a_grader_receives(tmp_path: Path):
    program(tmp_path / "tell.py", TELLS)
    teller = entry("tell", "tell.py", config={"min": 1})
    tasks = {
        "a": """
inputs:
  prompt: "write {{.TaskName}}"
  follow_up_prompts: [and more]
  files: [{path: same.txt, content: same}, {path: old.txt, content: old}, {path: dir/left.txt, content: left}]
expected: {output_contains: [done, and dusted]}
checkpoints: [{after_turn: 1, graders: [{type: wgp, name: early, config: {runtime: program, artifact: tell.py}}]}]
mock:
  turns:
    - {output: first, files: [{path: old.txt, content: new}, {path: same.txt, content: same}]}
    - output: done and dusted
      files: [{path: "sub/ü b.txt", content: created}]
      tool_calls: [{name: bash, args: {command: ls, n: [1.5, null]}}]
""",
        "b": "expected_outcome: the answer\nexpected: {output_contains: [x]}\ninputs: {prompt: p}\nmock: {output: x}",
    }
    mock_suite(tmp_path, tasks, json.dumps({"graders": [teller]})[1:-1], ["trials_per_task: 2"])
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.out + ended.err
    first, second = ended.results()["tasks"]

    for number, run in enumerate(first["runs"], 1):
        told = requests({"validations": {"tell": run["validations"]["tell"]}})["tell"]
        workspace = told["context"].pop("workspace_dir")
        assert Path(workspace).is_absolute()
        assert not Path(workspace).exists()
        assert told == {
            "schema": "wgp/1",
            "task": {"id": "a", "input": "write a", "expected": "done\nand dusted"},
            "agent": {
                "output": "done and dusted",
                "tool_calls": [{"name": "bash", "arguments": {"command": "ls", "n": [1.5, None]}}],
                "files_written": [
                    {"path": "old.txt", "sha256": digest("new")},
                    {"path": "sub/ü b.txt", "sha256": digest("created")},
                ],
                "command_invocations": [],
            },
            "config": {"min": 1},
            "context": {"trial": number},
        }
        early = requests(run["checkpoints"][0])["early"]
        assert early["agent"]["files_written"] == [{"path": "old.txt", "sha256": digest("new")}]
        assert (early["agent"]["output"], early["task"]["expected"]) == ("first", "done\nand dusted")

    told = requests({"validations": {"tell": second["runs"][0]["validations"]["tell"]}})["tell"]
    assert told["task"]["expected"] == "the answer"
    assert told["agent"]["files_written"] == []

    # Regraded, it is told the same, except for what is gone with the workspace.
    results = next((tmp_path / ".waza" / "runs").glob("*/results.json"))
    ended = waza(
        "grade", "eval.yaml", "--results", results, "--workspace", tmp_path, "-o", "new.json", cwd=tmp_path
    )
    assert ended.code == 0, ended.err
    again = strict_json((tmp_path / "new.json").read_bytes())["tasks"][0]["runs"][0]
    told = requests({"validations": {"tell": again["validations"]["tell"]}})["tell"]
    assert told["agent"]["files_written"] == []
    assert told["context"] == {"workspace_dir": str(tmp_path), "trial": 1}
    assert told["task"] == {"id": "a", "input": "write a", "expected": "done\nand dusted"}
    assert told["agent"]["tool_calls"] == [{"name": "bash", "arguments": {"command": "ls", "n": [1.5, None]}}]


def test_mistakes_are_reported_when_the_suite_is_loaded(tmp_path: Path):
    write_tree(tmp_path, {"plain.py": "print()", "torn.wasm": b"\0asm\1\0\0\0\xff"})
    graders = [entry("gone", "gone.wasm"), entry("plain", "plain.py"), entry("torn", "torn.wasm")]
    mock_suite(
        tmp_path, {"a": "inputs: {prompt: p}\nmock: {output: x}"}, json.dumps({"graders": graders})[1:-1]
    )
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    for said in (
        "graders[0].config.artifact: 'gone.wasm' is not there",
        "graders[1].config.artifact: 'plain.py' is not executable; make it so: chmod +x ",
        "graders[2].config.artifact: the module cannot be compiled: ",
    ):
        assert said in ended.err, ended.err
    assert "Traceback" not in ended.err


def test_another_artifact_makes_another_task(tmp_path: Path):
    """The digest is the key of resume and of the result cache."""
    mock_suite(
        tmp_path,
        {"a": "inputs: {prompt: p}\nmock: {output: x}"},
        json.dumps({"graders": [entry("p", "p.py"), entry("m", "m.wasm")]})[1:-1],
    )

    def digest_with(score: float, rationale: str) -> str:
        program(tmp_path / "p.py", f"print({score})")
        module(tmp_path / "m.wasm", ANSWERS, answer=response(rationale=rationale))
        return load(tmp_path / "eval.yaml").tasks[0].digest

    found = [digest_with(*what) for what in ((0.25, "a"), (0.5, "a"), (0.25, "b"), (0.25, "a"))]
    assert found[0] == found[3]
    assert len(set(found)) == 3


PROGRAMS = {
    "silent": ("pass", "the response is empty"),
    "twice": (f"{GOOD}; {GOOD}", "more than one JSON document"),
    "huge": ("print('x' * 10_000_000)", "larger than 1,048,576 bytes"),
    "nan": ("""print('{"schema": "wgp/1", "score": NaN, "passed": true}')""", "is not JSON"),
    "too_good": (f"print('''{response(score=1.5)}''')", "'score' cannot be used: expected a number <= 1.0"),
    "worded": (f"print('''{response(passed='false')}''')", "'passed' cannot be used: expected true or false"),
    "newer": (f"print('''{response(schema='wgp/2')}''')", "the response speaks 'wgp/2', waza speaks 'wgp/1'"),
    "exits": (f"{GOOD}; print('no key', file=sys.stderr); sys.exit(3)", "exit status 3; its log ends: no key"),
    "sleeps": ("os.execlp('sleep', 'sleep', '3146')", "the time limit of 1 s was reached"),
    "forks": ("import subprocess; subprocess.Popen(['setsid', 'sleep', '3146'])", "the response is empty"),
    "chatty": ("sys.stderr.write('x' * 5_000_000 + 'the end'); sys.exit(1)", "xxthe end"),
}  # fmt: skip
MODULES = {
    "mute": ("", "the module wrote no result"),
    "trap": ("unreachable", "the module trapped: unreachable"),
    "again": (f"{ANSWERS} {ANSWERS}", "the module wrote a second result"),
    "loop": (LOOPS, "the time limit of 1 s was reached"),
    "outside": ("(call $write (i32.const 65535) (i32.const 2))", "with a range outside of its memory"),
    "grows": ("(loop $l (br_if $l (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)))) unreachable", "the module trapped: unreachable"),
    "log": ("(loop $l (call $log (i32.const 0) (i32.const 65536)) (br $l))", "the time limit of 1 s was reached"),
}  # fmt: skip


@pytest.mark.slow
def test_hostile_graders_are_errors_and_spoil_nothing(tmp_path: Path):
    for name, (body, _) in PROGRAMS.items():
        program(tmp_path / f"{name}.py", body)
    for name, (body, _) in MODULES.items():
        module(tmp_path / f"{name}.wasm", body)
    module(tmp_path / "start.wasm", ANSWERS, parts=f"(func $begin {LOOPS}) (start $begin)")
    write_tree(tmp_path, {"brief.wasm": (DATA / "brief.wasm").read_bytes()})

    says = {"type": "text", "name": "says", "config": {"contains": ["done"]}}
    bad = [entry(name, f"{name}.py", limits={"wall_seconds": 1}) for name in PROGRAMS]
    bad += [entry(name, f"{name}.wasm", limits=SHORT) for name in [*MODULES, "start"]]
    graders = [says, *bad, entry("last", "brief.wasm")]
    task = "inputs: {prompt: p}\nmock: {output: all done}"
    mock_suite(tmp_path, {"a": task}, json.dumps({"graders": graders})[1:-1])
    ended = waza("run", "eval.yaml", cwd=tmp_path, env={"SECRET_TOKEN": "hush"})

    assert ended.code == 1, ended.err
    (result,) = ended.results()["tasks"]
    (run,) = result["runs"]
    found = run["validations"]
    assert set(found) == {one["name"] for one in graders}
    reasons = {name: reason for name, (_, reason) in {**PROGRAMS, **MODULES}.items()}
    for name, reason in {**reasons, "start": "the time limit of 1 s was reached"}.items():
        one = found[name]
        assert (one["passed"], one["score"], one["type"]) == (False, 0, "wgp"), name
        assert reason in one["details"]["error"], name
    for name in ("says", "last"):
        assert (found[name]["passed"], found[name]["score"]) == (True, 1), name
    assert found["last"]["details"]["metrics"] == {"characters": 8}
    assert run["status"] == result["status"] == "error"
    assert run["error_msg"].startswith("running graders: silent: the response is empty; ")
    assert sleeping("3146") == []
    assert "Traceback" not in ended.err + ended.out
