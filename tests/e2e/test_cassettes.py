"""Cassettes: a run is recorded on the wire, and run again without a model and without a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_wire import KEY, run
from tests.support.model_server import Call, Reply, Usage
from tests.support.program import Ended, waza

NO_KEY = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}
SAME = ("status", "final_output", "tool_events", "models_served", "skill_offered", "error_msg", "attempts")


def recorded(root: Path, **keys: Any) -> tuple[dict[str, Any], Path]:
    """Record a run; return its trial, and the directory of the run."""
    _, trial, server = run(root, "--wire", "record", wire=None, **keys)
    assert server.requests
    (directory,) = (root / ".waza" / "runs").iterdir()
    return trial, directory


def replayed(root: Path, directory: Path, code: int = 0) -> tuple[dict[str, Any], Ended]:
    """Run a recorded suite again, without a server."""
    flags = ("--wire", "replay", "--cassettes", directory)
    ended = waza("run", "eval.yaml", *flags, cwd=root, env=NO_KEY)
    assert ended.code == code, ended.err + ended.out
    return ended.results()["tasks"][0]["runs"][0], ended


def same(trial: dict[str, Any]) -> dict[str, Any]:
    usage = trial["session_digest"].get("usage")
    found = {key: trial.get(key) for key in SAME}
    found["tool_events"] = [
        {key: one.get(key) for key in ("tool_name", "args", "result")} for one in found["tool_events"] or []
    ]
    return {**found, "usage": usage}


@pytest.mark.parametrize("stream", [False, True])
def test_a_recorded_run_has_the_same_results_without_a_model(tmp_path: Path, stream: bool) -> None:
    trial, directory = recorded(tmp_path, stream=stream)
    (cassette,) = (directory / "cassettes").glob("main-*.ndjson")
    lines = [json.loads(line) for line in cassette.read_text().splitlines()]
    assert (lines[0]["form"], lines[0]["version"], lines[0]["run"]) == ("waza.cassette", 1, directory.name)
    assert [one["number"] for one in lines[1:]] == [1, 2]
    assert KEY not in cassette.read_text()
    again, ended = replayed(tmp_path, directory)
    assert same(again) == same(trial)
    assert "is not that of the cassettes" not in ended.err
    # They may be kept with the suite.
    (directory / "cassettes").rename(tmp_path / "kept")
    wire = "{mode: replay, cassettes: kept}"
    suite = (tmp_path / "eval.yaml").read_text()
    (tmp_path / "eval.yaml").write_text(suite.replace("config:\n", f"config:\n  wire: {wire}\n"))
    ended = waza("run", "eval.yaml", cwd=tmp_path, env=NO_KEY)
    assert ended.code == 0, ended.err
    assert same(ended.results()["tasks"][0]["runs"][0]) == same(trial)


def test_a_changed_skill_fails_and_is_named(tmp_path: Path) -> None:
    system = "You have skills:\n- tidy: Tidies up what lies around."
    _, directory = recorded(tmp_path, env={"SYSTEM": system})
    skill = tmp_path / "skills" / "tidy" / "SKILL.md"
    skill.write_text(skill.read_text().replace("lies around", "stands around"))
    flags = ("--wire", "replay", "--cassettes", directory.name)
    env = {**NO_KEY, "SYSTEM": system.replace("lies", "stands")}
    ended = waza("run", "eval.yaml", *flags, cwd=tmp_path, env=env)
    assert ended.code == 1
    trial = ended.results()["tasks"][0]["runs"][0]
    assert trial["status"] == "error"
    assert (
        "the request 1 differs from the cassette (a 1, request 1) at messages[0].content"
        in trial["error_msg"]
    )
    assert "Tidies up what lies around" in trial["error_msg"]
    assert "Tidies up what stands around" in trial["error_msg"]
    assert "the skill tidy has changed since it was recorded" in trial["error_msg"]
    assert "is not that of the cassettes" in ended.err


def test_an_agent_that_asks_less_or_more_than_recorded_fails(tmp_path: Path) -> None:
    _, directory = recorded(tmp_path)
    (cassette,) = (directory / "cassettes").glob("main-*.ndjson")
    lines = cassette.read_text().splitlines()
    cassette.write_text("\n".join(lines[:-1]) + "\n")
    trial, _ = replayed(tmp_path, directory, code=1)
    assert "the agent made a request 2 that its cassette (a 1) does not have" in trial["error_msg"]
    cassette.write_text("\n".join([*lines, lines[-1]]) + "\n")
    trial, _ = replayed(tmp_path, directory, code=1)
    assert "the agent did not make the request 2 of its cassette (a 1)" in trial["error_msg"]


RETRIES = """
import json, os, sys, time, urllib.request
prompt = sys.stdin.read()
for attempt in range(4):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "m", "messages": [{"role": "user", "content": prompt}]}).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    try:
        answer = json.load(urllib.request.urlopen(request))
        print(answer["choices"][0]["message"]["content"], "after", attempt)
        break
    except Exception as error:
        print("retry after", getattr(error, "headers", {}).get("Retry-After"), file=sys.stderr)
"""


def test_retries_faults_and_errors_of_servers_are_replayed(tmp_path: Path) -> None:
    wire = "{mode: record, faults: [{request: 1, status: 429, retry_after: 7}, {request: 2, truncate: 40}]}"
    graders = "graders: [{type: text, config: {contains: [found-it after 3]}}]\n"
    script = [
        lambda turn, seen=[]: (
            seen.append(1) or (Reply(status=503) if len(seen) == 2 else Reply("found-it"))
        )  # it counts
    ]
    _, trial, server = run(tmp_path, wire=wire, agent=RETRIES, script=script, graders=graders)
    assert len(server.requests) == 3
    (directory,) = (tmp_path / ".waza" / "runs").iterdir()
    again, _ = replayed(tmp_path, directory)
    assert same(again) == same(trial)
    endings = [e["message"]["ending"] for e in again["transcript"] if e["type"] == "wire.exchange"]
    assert endings == [e["message"]["ending"] for e in trial["transcript"] if e["type"] == "wire.exchange"]
    assert (endings[:2], endings[3]) == (
        ["fault", "fault"],
        "whole",
    )  # the agent may not read all of an error


def test_secrets_are_in_no_cassette_even_in_pieces(tmp_path: Path) -> None:
    secret = "hunter2-hunter2-hunter2"
    script = [
        Reply(
            "I look.", calls=[Call("bash", {"command": "echo found-it; echo $MY_SECRET"})], usage=Usage(9, 1)
        ),
        lambda turn: Reply(f"The tool said {turn.tool_results[-1].strip()}.", usage=Usage(9, 1)),
    ]
    run(tmp_path, "--wire", "record", wire=None, script=script, stream=True, env={"MY_SECRET": secret})
    (directory,) = (tmp_path / ".waza" / "runs").iterdir()
    written = b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert secret[:8].encode() not in written


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("replay", "replay needs 'cassettes'"),
        ("{mode: record, cassettes: x}", "goes with 'replay' only"),
        ("{mode: replay, cassettes: nowhere}", "there is no directory or run nowhere with cassettes"),
    ],
)
def test_mistakes_are_refused(tmp_path: Path, keys: str, says: str) -> None:
    ended, _, server = run(tmp_path, wire=keys, code=2)
    assert says in ended.err
    assert server.requests == []


def test_cassettes_of_something_else_are_refused(tmp_path: Path) -> None:
    _, directory = recorded(tmp_path)
    flags = ("--wire", "replay", "--cassettes", directory)
    ended = waza("run", "eval.yaml", *flags, "--model", "other", cwd=tmp_path, env=NO_KEY)
    assert ended.code == 2
    assert "has no cassettes of the suite wired with the executor command and other" in ended.err
    (cassette,) = (directory / "cassettes").glob("main-*.ndjson")
    cassette.write_text(cassette.read_text().replace('"version":1', '"version":99', 1))
    ended = waza("run", "eval.yaml", *flags, cwd=tmp_path, env=NO_KEY)
    assert "a cassette of the form waza.cassette 99" in ended.err
    cassette.write_text("[]\n")
    ended = waza("run", "eval.yaml", *flags, cwd=tmp_path, env=NO_KEY)
    assert ":1: not a cassette" in ended.err


def test_cassettes_are_listed_shown_and_removed(tmp_path: Path) -> None:
    _, first = recorded(tmp_path)
    listed = waza("cassette", "list", "--json", cwd=tmp_path)
    (one,) = json.loads(listed.out)
    assert (one["task"], one["trial"], one["requests"], one["complete"]) == ("a", 1, 2, True)
    assert one["agents"][0].startswith("Python-urllib/")
    shown = waza("cassette", "show", first.name, "a", cwd=tmp_path)
    assert 'I look. bash({"command":"echo found-it"})' in shown.out
    assert "The tool said found-it." in shown.out
    assert waza("cassette", "show", one["path"], cwd=tmp_path).out == shown.out
    missing = waza("cassette", "show", first.name, "b", cwd=tmp_path)
    assert (missing.code, "has no cassette of the task b" in missing.err) == (2, True)
    run(tmp_path, "--wire", "record", wire=None)
    pruned = waza("cassette", "prune", "--keep", "1", cwd=tmp_path)
    assert f"Removed .waza/runs/{first.name}/cassettes" in pruned.out.replace("\\", "/")
    assert not (first / "cassettes").exists()
    assert (first / "results.json").is_file()
    assert first.name not in waza("cassette", "list", cwd=tmp_path).out
    waza("cassette", "prune", "--keep", "0", cwd=tmp_path)
    assert "There are no cassettes" in waza("cassette", "list", cwd=tmp_path).out


def test_each_attempt_has_a_cassette_of_its_own(tmp_path: Path) -> None:
    asked = list[int]()

    def answer(turn: Any) -> Reply:
        asked.append(turn.step)
        return Reply("nothing" if len(asked) == 1 else "found-it", usage=Usage(9, 1))

    graders = "graders: [{type: text, config: {contains: [found-it]}}]\n"
    config = "  max_attempts: 2\n"
    trial, directory = recorded(tmp_path, script=[answer], graders=graders, config=config)
    assert (trial["attempts"], trial["status"]) == (2, "passed")
    assert len(list((directory / "cassettes").glob("main-*.ndjson"))) == 2
    again, _ = replayed(tmp_path, directory)
    assert same(again) == same(trial)
    assert [one["status"] for one in again["attempt_history"]] == ["failed"]


def test_a_run_that_is_not_kept_cannot_be_recorded(tmp_path: Path) -> None:
    ended, _, server = run(tmp_path, "--wire", "record", "--no-save", wire=None, code=2)
    assert "leave --no-save out" in ended.err
    assert server.requests == []
