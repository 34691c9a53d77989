"""A run of the loop, replayed from its cassettes: agent, judge and responder, without a model and without a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.chat.suites import KEY, run, write
from tests.e2e.copilot.suites import bash, task
from tests.support.model_server import Call, Reply
from tests.support.program import waza

PASS = Call("set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
JUDGED = {"type": "prompt", "name": "judged", "config": {"prompt": "Is it right?"}}
NO_SERVER = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "COPILOT_BASE_URL": ""}


def essence(results: dict[str, Any]) -> Any:
    (trial,) = results["tasks"][0]["runs"]
    verdicts = {name: one["passed"] for name, one in trial["validations"].items()}
    calls = [(one["tool_name"], one["args"]) for one in trial["tool_events"]]
    judges = [one["usage"] for one in trial["grader_sessions"]]
    return trial["status"], trial["final_output"], verdicts, calls, trial["session_digest"]["usage"], judges


def test_agent_and_judge_are_replayed(tmp_path: Path) -> None:
    suite = write(tmp_path, {"a": task("go", follow_up_prompts=["and then"])}, graders=[JUDGED])
    scripts = {
        "Is it right?": [Reply(calls=[PASS]), Reply("Done.")],
        "go": [Reply(calls=[bash("pwd; echo here > made.txt")]), Reply("made")],
        "and then": [Reply(calls=[bash("cat made.txt")]), Reply("all is fine")],
    }
    seen = run(suite, scripts, "--wire", "record")
    assert seen.ended.code == 0, seen.ended.err
    (directory,) = (tmp_path / ".waza" / "runs").iterdir()
    assert not any(KEY.encode() in path.read_bytes() for path in directory.rglob("*") if path.is_file())
    flags = ("--wire", "replay", "--cassettes", directory)
    ended = waza("run", suite, *flags, cwd=tmp_path, env=NO_SERVER)
    assert ended.code == 0, ended.err + ended.out
    assert essence(ended.results()) == essence(seen.results)
