"""Progress: which lines, whole ones only, and a bar that costs little."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import pytest
from tests.unit.report.factory import checkpoint, run, verdict

from waza.model.event import (
    AttemptRetried,
    CheckpointGraded,
    HookRan,
    PromptSent,
    ResponseSeen,
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    SuiteStopped,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    TrialStarted,
    Warned,
)
from waza.model.observation import CommandInvocation, ToolEvent
from waza.model.result import TaskStatus, TrialResult
from waza.report.bar import INTERVAL
from waza.report.progress import Progress
from waza.report.terminal import has_colour, is_live


class Console(io.StringIO):
    """A terminal that keeps every call of write."""

    encoding = "utf-8"

    def __init__(self, *, terminal: bool = True) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.drawn: asyncio.Event | None = None
        self._terminal = terminal

    def write(self, text: str) -> int:
        self.calls.append(text)
        if self.drawn:
            self.drawn.set()
        return super().write(text)

    def isatty(self) -> bool:
        return self._terminal


class Clock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def started(**more: Any) -> SuiteStarted:
    given: dict[str, Any] = {
        "suite": "greeter-eval",
        "path": "eval.yaml",
        "skill": "greeter",
        "executor": "mock",
        "model": "",
        "judge_model": "",
        "workers": 1,
        "tasks": 2,
    }
    return SuiteStarted(**{**given, **more})


def finished(
    index: int = 1, status: TaskStatus = "passed", name: str = "Greets", **more: Any
) -> TaskFinished:
    return TaskFinished(
        task_id="t", name=name, index=index, total=2, status=status, score=0.5, duration_ms=850, **more
    )


def trial(result: TrialResult, name: str = "Greets") -> TrialFinished:
    return TrialFinished(task_id="t", name=name, trials=2, result=result)


CALLS = (
    ToolEvent(turn=1, sequence=1, tool_name="view", args={"path": "a.py"}, success=True, duration_ms=40),
    ToolEvent(
        turn=1, sequence=2, tool_name="github-list_issues", args={"q": "x" * 200}, success=False,
        result="exit\n2", duration_ms=3,
    ),
    ToolEvent(turn=1, sequence=3, tool_name="quiet", success=False),
)  # fmt: skip
FINISHED = SuiteFinished(total=2, passed=1, failed=1, errors=0, skipped=0, duration_ms=1234)
PROMPT = PromptSent(task_id="t", name="Greets", turn=1, text="Say\nhello")


def told(*events: RunEvent, **options: Any) -> list[str]:
    console = Console()
    progress = Progress(console, **options)
    for event in events:
        progress.handle(event)
    progress.close()
    return console.getvalue().splitlines()


def test_the_header() -> None:
    lines = told(
        started(
            judge_model="j",
            workers=4,
            model="m",
            selected=(("First", "t1"),),
            resumed=3,
            run_id="run-1",
            notes=("x",),
        )
    )
    assert lines == [
        "Benchmark: greeter-eval",
        "Skill: greeter",
        "Engine: mock",
        "Model: m",
        "Judge model: j",
        "Parallel: 4 workers",
        "Resumed: run-1, 3 finished runs kept",
        "Selected: 1 task",
        "  • First (t1)",
        "",
    ]
    assert told(started()) == [
        "Benchmark: greeter-eval",
        "Skill: greeter",
        "Engine: mock",
        "Model: (default)",
        "",
    ]
    assert told(started(arm="baseline"))[0] == "Baseline: the same tasks without skills"
    assert "Skills: a" in told(started(notes=("Skills: a",)), verbose=True)


def test_by_default_one_line_a_finished_task() -> None:
    lines = told(
        TaskStarted(task_id="t", name="Greets", index=1, total=2),
        TrialStarted(task_id="t", name="Greets", trial=1, trials=1),
        PROMPT,
        trial(run()),
        finished(1),
        finished(2, "failed", "Two\nlines", cached=True),
        finished(2, "error", note="before_task hook failed"),
        finished(2, "skipped"),
        FINISHED,
    )
    assert lines == [
        "✓ [1/2] Greets",
        "✗ [2/2] Two lines [cached]",
        "⚠ [2/2] Greets (before_task hook failed)",
        "○ [2/2] Greets",
    ]


def test_errors_warnings_failed_hooks_and_stops_are_always_shown() -> None:
    hook = {"point": "before_run", "command": "make", "output": "a\nb\n"}
    lines = told(
        trial(run(1, "error", error_msg="it broke\nbadly")),
        HookRan(**hook, ok=False),
        HookRan(**hook, ok=True),
        Warned(message="take care"),
        SuiteStopped(reason="fail_fast"),
    )
    assert lines == [
        "[ERROR] Greets: it broke",
        "        badly",
        "[hook:before_run] failed make",
        "[hook:before_run] a",
        "[hook:before_run] b",
        "⚠ take care",
        "⚠ stopped: fail_fast",
    ]


def test_verbose_tells_of_every_event() -> None:
    calls = [
        CommandInvocation(command="gh", args=["issue", "a b"], exit_code=0, response_index=1),
        CommandInvocation(command="gh", exit_code=127, response_index=-1),
    ]
    result = run(
        1,
        "error",
        [verdict("b", passed=False, feedback="x\ny"), verdict("a")],
        command_invocations=calls,
        workspace_dir="/tmp/w",
    )
    lines = told(
        TaskStarted(task_id="t", name="Greets", index=1, total=2),
        TrialStarted(task_id="t", name="Greets", trial=1, trials=2),
        PROMPT,
        ResponseSeen(task_id="t", name="Greets", turn=1, text="r" * 300, calls=CALLS),
        CheckpointGraded(task_id="t", name="Greets", checkpoint=checkpoint(1, verdict("c"))),
        AttemptRetried(task_id="t", name="Greets", attempt=1, attempts=3, failed_graders=("a", "b")),
        trial(result),
        HookRan(point="after_task", command="ls", output="f\n", ok=True),
        finished(),
        Warned(message="w"),
        FINISHED,
        verbose=True,
        keep_workspace=True,
    )
    assert lines == [
        "[1/2] running: Greets",
        "  Run 1/2",
        "    [PROMPT] Say",
        "        hello",
        "    [RESPONSE] " + "r" * 199 + "…",
        "    [TOOLS] 3 calls",
        '    [TOOL] ✓ view {"path":"a.py"} (40ms)',
        '    [TOOL] ✗ github-list_issues {"q":"' + "x" * 113 + "… (3ms): exit 2",
        "    [TOOL] ✗ quiet (0s)",
        "    [CHECKPOINT] after turn 1: passed",
        "    [GRADER] ✓ c 1.00 (2ms): all checks passed",
        "    [RETRY] attempt 1 of 3 failed (a, b), trying again",
        "    [COMMAND] gh issue 'a b' -> exit 0",
        "    [COMMAND] gh -> exit 127 (no response matched)",
        "    [GRADER] ✓ a 1.00 (2ms): all checks passed",
        "    [GRADER] ✗ b 0.00 (2ms): x",
        "        y",
        "    [ERROR] Greets: the engine broke",
        "    [WORKSPACE] kept: /tmp/w",
        "  Run 1/2: error (4ms)",
        "[hook:after_task] ls",
        "[hook:after_task] f",
        "✓ [1/2] Greets",
        "Test Greets: passed (0.50 in 850ms)",
        "⚠ w",
        "Total duration: 1.234s",
    ]


def test_workspaces_that_are_removed_are_not_named() -> None:
    assert "WORKSPACE" not in "".join(told(trial(run(workspace_dir="/tmp/w")), verbose=True))


def test_lines_of_parallel_tasks_name_their_task_and_come_in_one_piece() -> None:
    console = Console(terminal=False)
    progress = Progress(console, verbose=True)
    progress.handle(started(workers=2))
    console.calls.clear()
    text = "\n".join(f"line {i}" for i in range(50))
    progress.handle(PromptSent(task_id="t", name="Greets", turn=1, text=text))
    assert len(console.calls) == 1
    assert console.calls[0].startswith("    Greets | [PROMPT] line 0\n")
    assert console.calls[0].endswith("line 49\n")


def test_secrets_are_taken_out_before_texts_are_cut() -> None:
    secret = "x" * 195 + "hunter2"
    events: list[RunEvent] = [
        PromptSent(task_id="t", name="T", turn=1, text=secret),
        ResponseSeen(task_id="t", name="T", turn=1, text=secret),
        trial(run(1, "error", [verdict(feedback=secret)], error_msg=secret)),
        HookRan(point="before_run", command=secret, output=secret, ok=False),
        Warned(message=secret),
        SuiteStopped(reason=secret),
    ]
    for verbose in (False, True):
        text = "\n".join(told(*events, verbose=verbose, redact=lambda value: value.replace("hunter2", "***")))
        assert "***" in text
        assert "hunt" not in text


def test_no_escape_codes_without_a_terminal() -> None:
    text = "\n".join(told(started(), finished(name="\x1b[31mred"), FINISHED))
    assert "\x1b" not in text
    assert "\r" not in text
    assert "\\x1b[31mred" in text


@pytest.mark.parametrize(
    ("terminal", "environ", "live"),
    [
        (True, {}, True),
        (True, {"CI": "false", "TERM": "xterm"}, True),
        (False, {}, False),
        (True, {"CI": "1"}, False),
        (True, {"CI": "true"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_where_a_bar_is_drawn(terminal: bool, environ: dict[str, str], live: bool) -> None:
    assert is_live(Console(terminal=terminal), environ) is live
    assert has_colour(Console(terminal=terminal), environ) is live


def test_no_color_is_heeded() -> None:
    assert not has_colour(Console(), {"NO_COLOR": "1"})


class Screen:
    """What a terminal shows of what was written to it."""

    def __init__(self, console: Console) -> None:
        self.lines = [""]
        column = 0
        for char in console.getvalue():
            if char == "\n":
                self.lines.append("")
                column = 0
            elif char == "\r":
                column = 0
            else:
                line = self.lines[-1]
                self.lines[-1] = line[:column] + char + line[column + 1 :]
                column += 1
        self.lines = [line.rstrip() for line in self.lines]


def test_the_bar_stays_below_the_lines_and_goes_away() -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, clock=clock)
    clock.now += 1
    progress.handle(started(tasks=2))
    clock.now += 61
    progress.handle(finished(1))
    assert Screen(console).lines[-2:] == ["✓ [1/2] Greets", "[########--------] 1/2 trials, 1m1s"]
    clock.now += 1
    progress.handle(finished(2, "failed", "Leaves"))
    assert Screen(console).lines[-1] == "[################] 2/2 trials, 1m2s"
    progress.handle(FINISHED)
    assert Screen(console).lines[-3:] == ["✓ [1/2] Greets", "✗ [2/2] Leaves", ""]
    assert "\x1b" not in console.getvalue()


def test_lines_in_a_burst_are_drawn_together_and_all_are_kept() -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, clock=clock)
    clock.now += 1
    progress.handle(started(tasks=5000))
    console.calls.clear()
    for number in range(5000):
        clock.now += INTERVAL / 100
        progress.handle(finished(number, name=f"task-{number}"))
    progress.close()
    assert len(console.calls) <= 52
    shown = Screen(console).lines
    assert [line for line in shown if line.startswith("✓")] == [f"✓ [{i}/2] task-{i}" for i in range(5000)]
    assert shown[-1] == ""


def test_after_the_suite_lines_are_shown_at_once() -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, verbose=True, clock=clock)
    progress.handle(started())
    progress.handle(FINISHED)
    assert Screen(console).lines[-2:] == ["Total duration: 1.234s", ""]


def test_in_an_event_loop_a_timer_draws_what_came_in_between() -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, clock=clock)

    async def scenario() -> None:
        console.drawn = asyncio.Event()
        clock.now += 1
        progress.handle(started())
        progress.handle(finished())
        assert "✓" not in console.getvalue()
        console.drawn.clear()
        await console.drawn.wait()
        assert Screen(console).lines[-2:] == ["✓ [1/2] Greets", "[########--------] 1/2 trials, 0s"]
        clock.now += 3
        console.drawn.clear()
        await console.drawn.wait()
        assert Screen(console).lines[-1] == "[########--------] 1/2 trials, 3s"
        progress.close()

    asyncio.run(asyncio.wait_for(scenario(), 30))
    assert Screen(console).lines[-1] == ""


def test_a_second_suite_starts_a_bar_of_its_own() -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, clock=clock)
    for _ in range(2):
        clock.now += 1
        progress.handle(started(tasks=4))
        clock.now += 1
        progress.handle(finished())
        assert Screen(console).lines[-1].endswith("1/4 trials, 1s")


def test_a_console_without_our_characters() -> None:
    console = Console()
    console.encoding = "ascii"
    for live in (True, False):
        progress = Progress(console, live=live, colour=False)
        progress.handle(finished(name="é"))
        progress.close()
    assert console.getvalue() == "+ [1/2] \\xe9\n" * 2


def test_the_bar_counts_trials_names_what_runs_and_says_how_long_it_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, verbose=True, clock=clock)
    monkeypatch.setenv("COLUMNS", "120")
    clock.now += 1
    progress.handle(started(tasks=2, trials=3))
    for number in (1, 2):
        progress.handle(TrialStarted(task_id="t", name="Greets\x1b", trial=number, trials=3))
    clock.now += 10
    progress.handle(trial(run(1, "failed"), name="Greets\x1b"))
    shown = "[##--------------] 1/6 trials, 10s, 1 failed, about 50s left, running: Greets\\x1b"
    assert Screen(console).lines[-1] == shown
    monkeypatch.setenv("COLUMNS", "40")
    clock.now += 1
    progress.handle(finished())
    assert Screen(console).lines[-1] == "[##--------------] 1/6 trials, 11s, 1 f"


def test_the_bar_of_a_resumed_run_begins_where_it_stopped() -> None:
    console, clock = Console(), Clock()
    progress = Progress(console, live=True, clock=clock)
    clock.now += 1
    progress.handle(started(tasks=2, trials=3, resumed=4))
    clock.now += 1
    progress.handle(Warned(message="w"))
    assert Screen(console).lines[-1] == "[##########------] 4/6 trials, 1s"
