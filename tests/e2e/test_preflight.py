"""`waza preflight`: one rich suite in full, exit codes, and that nothing is started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.preflight_suite import RICH, RICH_END, RICH_LINES, RICH_REPORT
from tests.support.program import environment, mock_suite, strict_json, waza, write_tree


def test_a_rich_suite_in_full(tmp_path: Path) -> None:
    write_tree(tmp_path, RICH)
    asked = waza("preflight", "eval.yaml", "--json", cwd=tmp_path)
    assert (asked.code, asked.err) == (1, "")
    assert strict_json(asked.out) == RICH_REPORT
    assert waza("preflight", "eval.yaml", "--format", "json", cwd=tmp_path).out == asked.out
    shown = waza("preflight", "eval.yaml", cwd=tmp_path)
    assert (shown.code, shown.err) == (1, "")
    assert shown.out.startswith(RICH_LINES)
    assert shown.out.endswith(RICH_END)
    for said in RICH_REPORT["diagnostics"]:
        assert f"      {said['message']}\n      {said['remediation']}\n" in shown.out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({name.split("/")[0] for name in RICH})


SPY = """
import json, sys
seen = []
def spy(event, args):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.system", "os.exec", "os.fork", "os.forkpty",
                 "pty.spawn", "os.startfile", "_posixsubprocess.fork_exec") or event.startswith("socket."):
        seen.append(event)
sys.addaudithook(spy)
sys.argv = ["waza", "preflight", "eval.yaml", "--json"]
from waza.__main__ import main
try:
    main()
finally:
    sys.stdout.flush()
    print(json.dumps(seen), file=sys.stderr)
"""


def test_nothing_is_started_and_nobody_is_asked(tmp_path: Path) -> None:
    write_tree(tmp_path, RICH)
    more = {
        "before_run": [{"command": "touch hooked"}],
        "after_run": [{"command": "touch hooked"}],
    }
    text = RICH["eval.yaml"].replace("hooks: {", f"hooks: {{{json.dumps(more)[1:-1]}, ")
    graders = "\n  - {type: code, name: js, config: {language: javascript, assertions: ['1']}}\nmcp_mocks:"
    write_tree(tmp_path, {"eval.yaml": text.replace("\nmcp_mocks:", graders)})
    done = subprocess.run(
        [sys.executable, "-c", SPY],
        cwd=tmp_path,
        env={**environment(), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    report = strict_json(done.stdout)
    programs = {(one["kind"], one["name"]) for one in report["dependencies"] if one["mode"] == "subprocess"}
    hooks = {("hook", f"{point}[0]") for point in ("before_run", "after_run", "before_task")}
    assert programs == {*hooks, ("program", "touch"), ("program", "node")}
    assert json.loads(done.stderr) == []
    assert not {"hooked", "graded", ".waza"} & {path.name for path in tmp_path.iterdir()}


def test_the_spy_sees_what_is_started(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}"}, "hooks: {before_run: [{command: 'true'}]}")
    code = SPY.replace('"preflight", "eval.yaml", "--json"', '"run", "eval.yaml"')
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "subprocess.Popen" in done.stderr.splitlines()[-1]


# --- exit codes ---

PLAIN = "inputs: {prompt: p}\nexpected: {output_contains: [p]}\n"
GAP = f"{PLAIN}requirements: [{{id: R, category: quality, description: d}}]\n"
ODD = f"{PLAIN}requirements: [{{id: R, category: odd, description: d}}]\n"
DISABLED = "enabled: false\n"


@pytest.mark.parametrize(
    ("written", "complete", "code", "strict"),
    [
        ({"a": PLAIN}, True, 0, 0),
        ({"a": GAP}, False, 0, 1),
        ({"a": ODD}, False, 1, 1),
        ({"a": PLAIN, "b": DISABLED + ODD, "c": DISABLED + GAP}, True, 0, 0),
        ({"a": DISABLED + PLAIN}, False, 1, 1),  # a run would refuse it: there is nothing to run
    ],
    ids=["complete", "gap", "invalid", "disabled gaps", "all disabled"],
)
def test_exit_codes(tmp_path: Path, written: dict[str, str], complete: bool, code: int, strict: int) -> None:
    mock_suite(tmp_path, written)
    asked = waza("preflight", "eval.yaml", "--json", cwd=tmp_path)
    report = strict_json(asked.out)
    assert (asked.code, report["complete"]) == (code, complete)
    enabled = {task["id"]: task["enabled"] for task in report["tasks"]}
    assert enabled == {name: DISABLED not in text for name, text in written.items()}
    assert waza("preflight", "eval.yaml", "--strict", cwd=tmp_path).code == strict


def test_wrong_calls(tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": PLAIN})
    write_tree(tmp_path, {"evals.json": '{"schemaVersion": "1.7.0", "items": [{"prompt": "p"}]}'})
    calls = {
        ("nobody",): "there is no skill, agent or suite 'nobody' around here",
        ("eval.yaml", "--format", "xml"): "'xml' is not one of 'human', 'json'",
        (
            "evals.json",
        ): "evals.json is an evaluation document, not a suite; `waza m365 validate evals.json` checks it",
    }
    for args, said in calls.items():
        ended = waza("preflight", *args, cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
    if Path("/dev/full").exists():
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "waza", "preflight", str(suite)],
                stdout=full,
                stderr=subprocess.PIPE,
                cwd=tmp_path,
                check=False,
            )
        assert (done.returncode, b"cannot write the output" in done.stderr) == (2, True)


def test_several_suites_and_those_of_the_workspace(tmp_path: Path) -> None:
    for name, task in (("a", PLAIN), ("b", ODD)):
        text = f"---\nname: {name}\ndescription: Does {name}.\n---\n"
        write_tree(tmp_path, {f"skills/{name}/SKILL.md": text, "skills/c/SKILL.md": text.replace(name, "c")})
        mock_suite(tmp_path / f"evals/{name}", {"t": task}, name=name)
    for targets in ([], ["evals/a/eval.yaml", "b"], ["a", "b", "evals/a"]):
        asked = waza("preflight", *targets, "--json", cwd=tmp_path)
        found = [Path(report["source"]).parent.name for report in strict_json(asked.out)]
        assert (asked.code, found) == (1, ["a", "b"]), targets
        assert ("skipping c: it has no eval.yaml" in asked.err) == (not targets)
    pattern = waza("preflight", "*", "--json", cwd=tmp_path)
    assert len(strict_json(pattern.out)) == 2, "all suites that one argument means"
    nothing = waza("preflight", cwd=write_tree(tmp_path / "empty", {"x": ""}))
    assert (nothing.code, nothing.out) == (2, "")
    assert "there is no skill or agent around here" in nothing.err
    one = waza("preflight", "a", cwd=tmp_path)
    assert (one.code, one.out.count("Preflight of ")) == (0, 1)
    strict = waza("preflight", "--strict", cwd=tmp_path)
    assert (strict.code, strict.out) == (2, "")
    assert "skills without a suite: c" in strict.err


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, "eval.read", "eval.yaml: there is no such suite file"),
        ("a: [", "eval.schema", "eval.yaml:2:1: not valid YAML"),
        ("- a\n", "eval.schema", "eval.yaml:1:1: is not a suite"),
        ("tasks: 1\n", "eval.schema", "eval.yaml:1:8: tasks: "),
    ],
)
def test_a_suite_that_cannot_be_read_still_has_a_report(
    tmp_path: Path, content: str | None, code: str, message: str
) -> None:
    write_tree(tmp_path, {} if content is None else {"eval.yaml": content})
    asked = waza("preflight", "eval.yaml", "--json", cwd=tmp_path)
    (found,) = [one for one in strict_json(asked.out)["diagnostics"] if one["state"] == "invalid"]
    assert (asked.code, asked.err, found["code"]) == (1, "", code)
    assert found["message"].startswith(message)
    assert found["remediation"]
