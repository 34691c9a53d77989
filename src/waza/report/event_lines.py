"""Events of a run as lines for the console."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from waza.kit.share import decimal
from waza.kit.text import pluralize
from waza.model.event import (
    AttemptRetried,
    CheckpointGraded,
    ExecutorFailed,
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
from waza.model.result import Validation
from waza.report.words import BULLET, ERROR, call_mark, duration, indented, one_line, shortened, status_mark

RESPONSE = 200  # characters of a response that are shown
ARGUMENTS = 120  # characters of the arguments of a tool call, or of its result
_NAME = 60  # characters of a task's name before a line of its own
_DEEP = "        "  # before the second and later lines of a text

Clean = Callable[[str], str]
"""Takes a text and returns it with the secrets taken out; called before anything is cut."""


def header_line(event: SuiteStarted, *, verbose: bool) -> Iterator[str]:
    """Yield the lines that say what is run, on what, and by how many workers; an empty one at the end."""
    if event.arm == "baseline":
        yield "Baseline: the same tasks without skills"
    yield f"Benchmark: {one_line(event.suite)}"
    yield f"Skill: {one_line(event.skill) or '-'}"
    yield f"Engine: {event.executor}"
    yield f"Model: {event.model or '(default)'}"
    if event.judge_model:
        yield f"Judge model: {event.judge_model}"
    if event.workers > 1:
        yield f"Parallel: {event.workers} workers"
    if event.resumed:
        yield f"Resumed: {event.run_id}, {pluralize(event.resumed, 'finished run')} kept"
    if verbose:
        yield from event.notes
    if event.selected:
        yield f"Selected: {pluralize(len(event.selected), 'task')}"
        yield from (f"  {BULLET} {one_line(name)} ({task_id})" for name, task_id in event.selected)
    yield ""


BRIEF = frozenset({SuiteStarted, TaskFinished, TrialFinished, HookRan, Warned, SuiteStopped})
"""The events of which `brief_lines` may have lines; most of a run are others."""


def brief_lines(event: RunEvent, clean: Clean) -> Iterator[str]:
    """Yield the lines that are always printed: finished tasks, errors, warnings, a run that stops."""
    match event:
        case SuiteStarted():
            yield from header_line(event, verbose=False)
        case TaskFinished():
            yield _finished(event, clean)
        case TrialFinished() if event.result.error_msg:
            yield _error(event, clean)
        case HookRan() if not event.ok:
            yield from _hook(event, clean)
        case Warned():
            yield f"{ERROR} {indented(clean(event.message), '  ')}"
        case SuiteStopped():
            yield f"{ERROR} stopped: {clean(event.reason)}"


_HOOK_LINE = 2000  # characters of a line that a hook wrote


class Detailed:
    """The lines of `--verbose`: every event, indented under its task.

    Where several tasks run at once, each line starts with the name of its task. `workspaces` says that
    they are kept, and so worth telling of.
    """

    def __init__(self, clean: Clean, *, workspaces: bool = False) -> None:
        self._clean, self._workspaces = clean, workspaces
        self._parallel = False

    def lines(self, event: RunEvent) -> Iterator[str]:
        """Yield the lines of an event."""
        match event:
            case SuiteStarted():
                self._parallel = event.workers > 1
                yield from header_line(event, verbose=True)
                yield f"Running {pluralize(event.tasks, 'task')}"
            case TaskStarted():
                yield f"[{event.index}/{event.total}] running: {one_line(event.name)}"
            case TrialStarted():
                yield f"{self._at(event.name, 1)}Run {event.trial}/{event.trials}"
            case PromptSent() | ResponseSeen() | CheckpointGraded() | AttemptRetried():
                start = self._at(event.name, 2)
                yield from (f"{start}{line}" for line in self._during(event))
            case TrialFinished():
                yield from self._trial(event)
            case TaskFinished():
                yield _finished(event, self._clean)
                took = f"{decimal(event.score)} in {duration(event.duration_ms)}"
                yield f"Test {one_line(event.name)}: {event.status} ({took})"
            case HookRan():
                yield from _hook(event, self._clean)
            case SuiteFinished():
                yield f"Total duration: {duration(event.duration_ms)}"
            case _:
                yield from brief_lines(event, self._clean)

    def _at(self, name: str, depth: int) -> str:
        return "  " * depth + (f"{one_line(name, _NAME)} | " if self._parallel else "")

    def _during(self, event: PromptSent | ResponseSeen | CheckpointGraded | AttemptRetried) -> Iterator[str]:
        match event:
            case PromptSent():
                yield f"[PROMPT] {indented(self._clean(event.text).rstrip(), _DEEP)}"
            case ResponseSeen():
                if event.text:
                    yield f"[RESPONSE] {shortened(one_line(self._clean(event.text)), RESPONSE)}"
                if event.calls:
                    yield f"[TOOLS] {pluralize(len(event.calls), 'call')}"
                    yield from (f"[TOOL] {_call(call, self._clean)}" for call in event.calls)
            case CheckpointGraded():
                checkpoint = event.checkpoint
                yield f"[CHECKPOINT] after turn {checkpoint.after_turn}: {checkpoint.status}"
                yield from _graders(checkpoint.validations, self._clean)
            case AttemptRetried():
                failed = f" ({', '.join(event.failed_graders)})" if event.failed_graders else ""
                yield f"[RETRY] attempt {event.attempt} of {event.attempts} failed{failed}, trying again"

    def _trial(self, event: TrialFinished) -> Iterator[str]:
        run, start = event.result, self._at(event.name, 2)
        for line in (
            *(_command(call, self._clean) for call in run.command_invocations),
            *_graders(run.validations or {}, self._clean),
        ):
            yield f"{start}{line}"
        if run.error_msg:
            yield f"{start}{_error(event, self._clean)}"
        if run.workspace_dir and self._workspaces:
            yield f"{start}[WORKSPACE] kept: {run.workspace_dir}"
        ending = f"{run.status} ({duration(run.duration_ms)})"
        yield f"{self._at(event.name, 1)}Run {run.run_number}/{event.trials}: {ending}"


def tracebacks(event: RunEvent, clean: Clean) -> Iterator[str]:
    """Yield the tracebacks of executors and graders that broke (`--debug`)."""
    match event:
        case ExecutorFailed():
            yield clean(event.traceback).rstrip()
        case TrialFinished():
            points = [
                event.result.validations or {},
                *(point.validations for point in event.result.checkpoints),
            ]
            for name, validation in (pair for point in points for pair in point.items()):
                if "traceback" in validation.details:
                    yield f"{name}: {clean(str(validation.details['traceback'])).rstrip()}"


def call_line(call: ToolEvent, arguments: str = "") -> str:
    """Return a tool call in one line: whether it succeeded, its name, the arguments that are given, and its duration."""
    mark = call_mark(call.success)
    given = f" {arguments}" if arguments else ""
    return f"{mark} {one_line(call.tool_name, _NAME)}{given} ({duration(call.duration_ms)})"


def _call(call: ToolEvent, clean: Clean) -> str:
    """Return a tool call in one line, with its arguments, and its result if it did not succeed."""
    arguments = "" if call.args in (None, {}, "") else _short(call.args, clean)
    result = "" if call.success is not False or call.result is None else f": {_short(call.result, clean)}"
    return f"{call_line(call, arguments)}{result}"


def _short(value: Any, clean: Clean) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    return one_line(clean(text), ARGUMENTS)


def _finished(event: TaskFinished, clean: Clean) -> str:
    cached = " [cached]" if event.cached else ""
    cached += " [judged again]" if event.rejudged else ""
    note = f" ({clean(event.note)})" if event.note else ""
    return f"{status_mark(event.status)} [{event.index}/{event.total}] {one_line(event.name)}{cached}{note}"


def _error(event: TrialFinished, clean: Clean) -> str:
    return f"[ERROR] {one_line(event.name)}: {indented(clean(event.result.error_msg), _DEEP)}"


def _hook(event: HookRan, clean: Clean) -> Iterator[str]:
    ending = "" if event.ok else " failed"
    yield f"[hook:{event.point}]{ending} {clean(event.command)}"
    for line in clean(event.output).splitlines():
        yield f"[hook:{event.point}] {shortened(line, _HOOK_LINE)}"


def _graders(validations: Mapping[str, Validation], clean: Clean) -> Iterator[str]:
    for name, validation in sorted(validations.items()):
        mark = status_mark("passed" if validation.passed else "failed")
        feedback = f": {indented(clean(validation.feedback), _DEEP)}" if validation.feedback else ""
        yield f"[GRADER] {mark} {name} {decimal(validation.score)} ({duration(validation.duration_ms)}){feedback}"


def _command(call: CommandInvocation, clean: Clean) -> str:
    return f"[COMMAND] {clean(command_line(call))}"


def command_line(call: CommandInvocation) -> str:
    """Return a call of a mocked program in one line: what was called, its exit code, and why it got no answer."""
    why = " (no response matched)" if call.response_index < 0 else ""
    why = " (the sequence is exhausted)" if call.exhausted else why
    return f"{shlex.join((call.command, *call.args))} -> exit {call.exit_code}{why}"
