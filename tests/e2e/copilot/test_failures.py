"""Model servers that fail, silence, time limits, a runtime that dies, Ctrl-C: a reason, what was seen, nothing left."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import psutil
import pytest
from copilot import CopilotClient
from copilot.session_events import SessionEvent
from tests.e2e.copilot.suites import task, write_suite
from tests.support.live import Live, Project, nap, stubborn, survivors, until
from tests.support.model_server import Call, ModelServer, Reply, Step, Turn
from tests.support.program import Ended
from tests.support.runtime import copilot_environment

from waza.executors import copilot_turn
from waza.executors.copilot_turn import TurnWatch
from waza.model.agent import Limits

pytestmark = pytest.mark.slow

SLEEP = nap()
JUDGE = {"type": "prompt", "name": "judge", "config": {"prompt": "Was it polite, JUDGE?"}}
VERDICT = Call("set_waza_grade_pass", {"description": "it is polite"})


def bash(command: str) -> Call:
    return Call("bash", {"command": command, "description": "works", "initial_wait": 600})


def failing(status: int, message: str, **headers: str) -> list[Step]:
    return [Reply(status=status, body={"error": {"message": message}}, headers=headers)]


# What the model does by the name of the task, which is its prompt too.
SCRIPTS: dict[str, list[Step]] = {
    "JUDGE": [Reply(calls=[VERDICT]), Reply(hang=True)],  # first: it is shown the prompt of its task
    "good": [Reply("all is fine")],
    "bad-request": failing(400, "no such model"),
    "unauthorised": failing(401, "bad key"),
    "busy": failing(429, "slow down", **{"Retry-After": "1"}),
    "broken": failing(500, "it broke", **{"Retry-After": "1"}),
    "dropped": [Reply("this reply breaks off", drop=True)],
    "empty": [Reply("")],
    "hangs": [Reply("Looking.", calls=[bash("echo seen before")]), Reply(hang=True)],
    "silent": [Reply("Looking.", calls=[bash("echo seen before")]), Reply(hang=True)],
    "working": [Reply("Working.", calls=[bash(stubborn(SLEEP))]), Reply("all is fine")],
    "late": [Reply("all is fine", delay=2)],
    "mute": [Reply(hang=True)],
    "judged": [Reply("all is fine")],
}
KEYS: dict[str, dict[str, Any]] = {
    "hangs": {"timeout_seconds": 4},
    "working": {"timeout_seconds": 4},
    "late": {"first_event_timeout_seconds": 60},
    "mute": {"first_event_timeout_seconds": 2},
    "judged": {"graders": [JUDGE]},
}
REASONS = {
    "bad-request": "no such model",
    "unauthorised": "(HTTP 401)",
    "busy": "slow down",
    "broken": "it broke",
    "dropped": "unexpected EOF",
    "empty": "No response was returned",
    "hangs": "the turn did not end within 4 s",
    "working": "the turn did not end within 4 s",
    "silent": "the session fell silent: no event came for 5 s",
    "mute": "the session did not start: nothing came from the model within 2 s (first_event_timeout_seconds)",
}
REQUESTS = {"good": 1, "bad-request": 1, "unauthorised": 3, "busy": 6, "broken": 6, "dropped": 6, "hangs": 2}
CUT_SHORT = {"hangs", "silent", "working", "mute"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("failures"))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPTS) as server:
        yield server


@pytest.fixture(scope="module")
def ended(project: Project, server: ModelServer) -> Ended:
    """All of them in one run, at the same time: the runtime asks a server that fails again and again."""
    tasks = {name: task(name, **KEYS.get(name, {})) for name in SCRIPTS if name != "JUDGE"}
    config = {"idle_timeout_seconds": 5}
    suite = write_suite(project.home, tasks, workers=len(tasks), config=config)
    return project.run("run", suite, env=copilot_environment(server, WAZA_PROMPT_GRADER_TIMEOUT="3s"))


@pytest.fixture(scope="module")
def runs(ended: Ended) -> dict[str, Any]:
    return {one["test_id"]: one["runs"][0] for one in ended.results()["tasks"]}


def test_only_what_failed_is_an_error(ended: Ended, runs: dict[str, Any]):
    assert ended.code == 1
    assert {name for name, run in runs.items() if run["status"] == "error"} == REASONS.keys()
    assert {name for name, run in runs.items() if run["status"] == "passed"} == {"good", "late", "judged"}
    assert "Traceback" not in ended.err + ended.out
    assert "Warning" not in ended.err


@pytest.mark.parametrize("name", REASONS)
def test_a_reason_that_a_person_understands(ended: Ended, runs: dict[str, Any], name: str):
    assert REASONS[name] in runs[name]["error_msg"]
    assert f"[ERROR] {name}: " in ended.err
    assert REASONS[name] in ended.err
    assert runs[name].get("timed_out", False) is (name in CUT_SHORT)


@pytest.mark.parametrize("name", REQUESTS)
def test_the_runtime_itself_asks_again_where_that_may_help(
    server: ModelServer, runs: dict[str, Any], name: str
):
    assert name in runs
    assert sum(request.turn.user == name for request in server.requests if request.turn) == REQUESTS[name]


@pytest.mark.parametrize("name", ["hangs", "silent"])
def test_what_was_seen_before_the_silence_is_kept_and_graded(runs: dict[str, Any], name: str):
    run = runs[name]
    assert run["final_output"] == "Looking."
    (call,) = run["tool_events"]
    assert (call["tool_name"], call["args"]["command"]) == ("bash", "echo seen before")
    assert call["success"] is True
    assert "seen before" in json.dumps(call["result"])
    assert {"user.message", "assistant.message", "tool.execution_complete"} <= {
        e["type"] for e in run["transcript"]
    }
    assert run["validations"]["said"]["passed"] is False
    assert run["session_digest"]["usage"]["input_tokens"] == 1000


def test_a_command_that_outlives_the_time_limit_is_seen_and_ended(runs: dict[str, Any]):
    (call,) = runs["working"]["tool_events"]
    assert (call["args"]["command"], call["success"]) == (stubborn(SLEEP), False)
    assert runs["working"]["final_output"] == "Working."
    assert runs["working"]["duration_ms"] >= 4000
    assert survivors(SLEEP) == []


def test_a_model_that_takes_its_time_is_no_session_that_does_not_start(runs: dict[str, Any]):
    assert runs["late"]["duration_ms"] >= 2000
    assert runs["late"]["final_output"] == "all is fine"


def test_a_judge_that_answered_and_never_ends_its_turn_has_answered(runs: dict[str, Any]):
    verdict = runs["judged"]["validations"]["judge"]
    assert (verdict["passed"], verdict["score"]) == (True, 1)
    assert "it is polite" in json.dumps(verdict)


def test_nothing_is_left(ended: Ended, project: Project):
    assert ended.code == 1
    assert project.left == []


# --- the runtime is killed, or hangs ---


def runtimes(live: Live) -> list[psutil.Process]:
    """The processes of the runtime of a running `waza`."""
    children = psutil.Process(live.process.pid).children()
    return [child for child in children if "--headless" in child.cmdline()]


@pytest.mark.parametrize("how", ["kill", "suspend"])
def test_a_runtime_that_is_gone_costs_its_turn_and_no_other(tmp_path: Path, how: str):
    project = Project(tmp_path)
    duration = nap()
    before = bash(f"setsid sleep {duration} > log & echo seen before")
    scripts: dict[str, list[Step]] = {
        "first": [Reply("Looking.", calls=[before]), Reply(hang=True)],
        "second": SCRIPTS["good"],
    }
    tasks = {name: task(name, timeout_seconds=5) for name in scripts}
    with ModelServer(scripts) as server:
        suite = write_suite(project.home, tasks, workers=1)
        with project.started("run", suite, env=copilot_environment(server)) as live:
            live.until(server.hanging.is_set)
            (runtime,) = runtimes(live)
            getattr(runtime, how)()
            ended = live.ended()
    first, second = (one["runs"][0] for one in ended.results()["tasks"])
    reason = {
        "kill": "the Copilot runtime ended in the middle of the turn",
        "suspend": "did not end within 5 s",
    }
    assert reason[how] in first["error_msg"]
    assert first["final_output"] == "Looking."
    assert "seen before" in json.dumps(first["tool_events"][0]["result"])
    assert (first["status"], second["status"]) == ("error", "passed")
    assert not runtime.is_running()
    assert survivors(duration) == []
    assert project.left == []


def test_what_commands_left_running_ends_with_their_task_or_is_reported(tmp_path: Path):
    server_of_task, daemon = nap(), nap()

    def look(turn: Turn) -> Reply:
        assert survivors(server_of_task) == []
        return Reply(calls=[bash(f"cd /; setsid sleep {daemon} > /dev/null &")])

    def answer(turn: Turn) -> Reply:
        until(lambda: survivors(server_of_task if turn.user == "first" else daemon))
        return Reply("all is fine")

    scripts: dict[str, list[Step]] = {
        "first": [Reply(calls=[bash(f"setsid sleep {server_of_task} > log &")]), answer],
        "second": [look, answer],
    }
    project = Project(tmp_path)
    suite = write_suite(project.home, {name: task(name) for name in scripts}, workers=1)
    with ModelServer(scripts) as server:
        ended = project.run("run", suite, env=copilot_environment(server))
    assert ended.code == 0, ended.err
    assert "processes that were left over, and have been ended: 1" in ended.err
    assert survivors(daemon) == []


# --- Ctrl-C ---


@pytest.mark.parametrize("whole_group", [False, True])
def test_an_interrupt_in_the_middle_of_a_turn_leaves_nothing(tmp_path: Path, *, whole_group: bool):
    """A terminal sends Ctrl-C to the runtime as well."""
    project = Project(tmp_path)
    tasks = {name: task(name) for name in ("good", "working")}
    with ModelServer(SCRIPTS) as server:
        suite = write_suite(project.home, tasks, workers=1)
        with project.started("run", suite, env=copilot_environment(server)) as live:
            live.until(lambda: len(survivors(SLEEP)) == 3)
            running = runtimes(live)
            live.send(signal.SIGINT)
            for process in running if whole_group else []:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGINT)
            ended = live.ended()
    assert ended.code == 130
    assert [(one["test_id"], one["status"]) for one in ended.results()["tasks"] if one["runs"]] == [
        ("good", "passed")
    ]
    assert "Traceback" not in ended.err
    assert running
    assert not any(process.is_running() for process in running)
    assert survivors(SLEEP) == []
    assert project.left == []


# --- the clocks of a turn ---
#
# Here a turn is watched without a runtime, in a real event loop.

FOREVER = 120.0


def event(kind: str) -> SessionEvent:
    stamp = {"id": str(uuid4()), "timestamp": "2026-01-02T03:04:05.678Z", "parentId": None}
    data = {"content": "go", "messageId": "m", "turnId": "1", "role": "system"}
    return SessionEvent.from_dict({"type": kind, "data": data, **stamp})


class Runtime:
    """A runtime as far as a watch sees it: it answers a ping, or is gone, or never answers anything."""

    def __init__(self, *, gone: bool = False, stuck: bool = False) -> None:
        self.gone, self.stuck, self.aborted = gone, stuck, False
        self.pings = 0

    async def ping(self) -> None:
        self.pings += 1
        if self.gone:
            raise ConnectionError("the process has ended")
        await self.answer()

    async def abort(self) -> None:
        await self.answer()
        self.aborted = True

    async def answer(self) -> None:
        if self.stuck:
            await asyncio.Event().wait()


def watched(
    limits: Limits, send: Callable[[TurnWatch], Awaitable[None]], runtime: Runtime, before: str = ""
) -> TurnWatch:
    """Watch a turn to its end. `before` is an event that the session told before the prompt was sent."""

    async def go() -> TurnWatch:
        watch = TurnWatch(limits)
        if before:
            watch.take(event(before))
            await asyncio.sleep(0)
        await watch.run(lambda: send(watch), cast("CopilotClient", runtime), runtime.abort)
        return watch

    return asyncio.run(asyncio.wait_for(go(), FOREVER))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copilot_turn, "BEAT", 0.01)
    monkeypatch.setattr(copilot_turn, "ABORT_LIMIT", 0.05)
    monkeypatch.setattr(copilot_turn, "SETTLE_LIMIT", 0.05)


async def nothing(watch: TurnWatch) -> None:
    del watch


async def one_event(watch: TurnWatch) -> None:
    watch.take(event("assistant.message"))


async def told_of(watch: TurnWatch) -> None:
    """The runtime tells of a turn before its model is asked."""
    for kind in ("user.message", "system.message", "assistant.turn_start"):
        watch.take(event(kind))


@pytest.mark.parametrize("before", ["", "user.message", "assistant.message"])
@pytest.mark.parametrize("send", [nothing, told_of])
def test_a_session_whose_model_says_nothing_did_not_start(
    before: str, send: Callable[[TurnWatch], Awaitable[None]]
):
    runtime = Runtime()
    watch = watched(Limits(turn=FOREVER, first_event=0.05), send, runtime, before)
    assert watch.error.startswith("the session did not start: nothing came from the model within 0.05 s")
    assert watch.timed_out
    assert runtime.aborted
    assert not watch.lost


def test_a_first_event_is_enough_for_that_limit_but_not_for_the_others():
    watch = watched(Limits(turn=FOREVER, first_event=0.05, idle=0.2), one_event, Runtime())
    assert "fell silent: no event came for 0.2 s" in watch.error
    assert [one.type for one in watch.collector.events] == ["assistant.message"]
    watch = watched(Limits(turn=0.2, first_event=0.05, idle=FOREVER), one_event, Runtime())
    assert watch.error == "the turn did not end within 0.2 s"


def test_limits_of_zero_are_off_and_an_idle_session_is_at_its_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(copilot_turn, "BEAT", 0.01)
    runtime = Runtime()

    async def late_end(watch: TurnWatch) -> None:
        while runtime.pings < 2:  # noqa: ASYNC110 - each look at the clocks follows a ping
            await asyncio.sleep(0)
        watch.take(event("session.idle"))

    watch = watched(Limits(turn=0, first_event=0, idle=0), late_end, runtime)
    assert (watch.error, watch.timed_out, watch.lost) == ("", False, False)


def test_a_runtime_that_is_gone_is_not_waited_for():
    watch = watched(Limits(turn=FOREVER), one_event, Runtime(gone=True))
    assert (watch.error, watch.timed_out, watch.lost) == (copilot_turn.GONE, False, True)


def test_a_prompt_that_cannot_be_sent_says_why():
    async def broken(watch: TurnWatch) -> None:
        raise RuntimeError("the pipe is closed")

    watch = watched(Limits(turn=FOREVER), broken, Runtime())
    assert watch.error == "the prompt could not be sent: the pipe is closed"


def test_a_runtime_that_answers_nothing_is_left_to_the_limit_and_then_lost(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("waza.executors.copilot_client.PING_LIMIT", 0.01)
    watch = watched(Limits(turn=0.1), one_event, Runtime(stuck=True))
    assert (watch.error, watch.timed_out, watch.lost) == ("the turn did not end within 0.1 s", True, True)
