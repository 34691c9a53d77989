"""A trial as a page: why it ended as it did, then all that is recorded of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from waza.kit.share import decimal
from waza.kit.text import pluralize
from waza.model.observation import ToolEvent, Usage
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.trial import Arm
from waza.report.conversation import (
    AgentMessage,
    AnswerDetails,
    CallMade,
    SkillLoaded,
    Step,
    TurnFailure,
    calls_of,
    conversation_of,
    mock_errors,
    result_text,
)
from waza.report.event_lines import call_line, command_line
from waza.report.rows import EXPECTED, FOUND, CheckRow, checks_of, plain_value
from waza.report.show_hint import show_command
from waza.report.view import model_name
from waza.report.words import BULLET, duration, grouped, money, one_line, status_mark
from waza.report.wrap import cut_middle, wrap
from waza.results.ending import GRADING

_LINES, _CHARACTERS = 12, 1500  # of a text, unless all of it is shown
_FEW_LINES, _FEW_CHARACTERS = 4, 400  # of a text among the causes
_MOST = 4  # verdicts that are explained among the causes; further ones are named
_OFFERED = {  # what is said of the skill under test, by `skill_offered`
    "full": ", which was offered",
    "name": ", which was offered by its name alone",
    "absent": ", which was not offered",
}
_INLINE = 60  # characters of the arguments of a call that are shown beside its name
# Details of verdicts that are shown otherwise, or are of no use to people.
_SHOWN = {
    "failures",
    "passes",
    "error",
    "evidence",
    "traceback",
    "prompt",
    "response",
    "reason",
    "workspace_dir",
}

Section = tuple[str, list[str]]


class TrialView(msgspec.Struct, frozen=True, kw_only=True):
    """A trial of a saved run. `run` is the name by which `waza show` finds the run; `head` are its results."""

    run: str
    head: SuiteResult
    arm: Arm
    task: TaskResult
    trial: TrialResult

    @property
    def title(self) -> str:
        """The task, the trial, and how it ended."""
        several = len(self.task.runs) > 1 or self.task.missing_trials
        which = (
            f", trial {self.trial.run_number} of {len(self.task.runs) + self.task.missing_trials}"
            if several
            else ""
        )
        arm = ", without skills" if self.arm == "baseline" else ""
        return (
            f"{status_mark(self.trial.status)} {one_line(self.task.test_id)}{which}{arm}: {self.trial.status}"
        )

    @property
    def command(self) -> str:
        """The command that shows this trial."""
        number = self.trial.run_number if len(self.task.runs) > 1 else 0
        return show_command(self.run, self.task.test_id, number, self.arm)


def causes(trial: TrialResult) -> list[CheckRow]:
    """Return the verdicts that did not pass: those of checkpoints first, then those with the lowest score."""
    misses = [check for check in checks_of(trial) if not check.passed]
    return sorted(misses, key=lambda check: (check.after_turn or sys.maxsize, check.score, check.grader))


def cause(trial: TrialResult) -> str:
    """Return why a trial did not pass, in one line; empty if it passed or was not graded."""
    misses = causes(trial)
    if trial.error_msg:
        stopped = [check for check in misses if check.after_turn]
        more = f" ({one_line(stopped[0].feedback)})" if stopped else ""
        return f"error: {one_line(trial.error_msg)}{more}"
    if not misses:
        return ""
    rest = f" (and {', '.join(check.grader for check in misses[1:])})" if len(misses) > 1 else ""
    return f"{misses[0].label} {decimal(misses[0].score)}: {one_line(misses[0].feedback)}{rest}"


class TrialPage:
    """The sections of a page, in lines of at most `width` columns. `full`: nothing is cut or left out.

    `grader` restricts the verdicts to those of one grader, whose details are shown whatever it says.
    """

    def __init__(self, view: TrialView, width: int, *, full: bool = False, grader: str = "") -> None:
        self.view, self.trial = view, view.trial
        self.width, self.full, self.grader = width, full, grader
        self.calls = calls_of(view.trial)

    def sections(self) -> Iterator[Section]:
        """Yield the sections that have something to show: why it ended so comes first."""
        parts: list[tuple[str, Iterable[str]]] = [
            (self.view.title, self._why()),
            ("VERDICTS", self._verdicts(self.trial.validations or {})),
            ("CHECKPOINTS", self._checkpoints()),
            ("CONVERSATION", self._conversation()),
            ("MOCKED PROGRAMS", self._commands()),
            ("TOOL POLICY", self._policy()),
            ("RESPONDER", self._responder()),
            ("JUDGES", self._judges()),
            ("ATTEMPTS BEFORE", self._attempts()),
            ("TRIAL", self._facts()),
        ]
        for title, lines in parts:
            found = list(lines)
            if found:
                yield title, found

    def _text(self, text: str, first: str = "", rest: str | None = None, *, few: bool = False) -> list[str]:
        """Return a text as lines, cut unless all is shown."""
        lines, characters = (_FEW_LINES, _FEW_CHARACTERS) if few else (_LINES, _CHARACTERS)
        shown = text if self.full else cut_middle(text, lines, characters)
        return wrap(shown.rstrip(), self.width, first, rest)

    def _why(self) -> Iterator[str]:
        view, trial = self.view, self.trial
        yield from wrap(f"{view.run}: {one_line(view.head.eval_name)} on {model_name(view.head)}", self.width)
        if view.task.display_name not in ("", view.task.test_id):
            yield from wrap(one_line(view.task.display_name), self.width)
        misses = causes(trial)
        if trial.error_msg:
            yield from self._text(trial.error_msg, f"{BULLET} error: ", "    ", few=True)
            if trial.timed_out:
                yield "    a time limit ended it; what was seen until then is below"
        elif not misses:
            word = {"passed": "every grader passed", "skipped": "it was not graded"}.get(
                trial.status, "no cause is recorded"
            )
            yield f"{BULLET} {word}"
        yield from self._misses(misses)
        yield from self._besides()
        if trial.status != "passed":
            output = trial.final_output or "(nothing)"
            yield from self._text(output, "output: ", "    ", few=True)

    def _misses(self, misses: Sequence[CheckRow]) -> Iterator[str]:
        """Yield why graders did not pass: the first ones with what they compared, the others by name."""
        # After an error they judged a part of an answer: only what stopped the conversation explains anything.
        partial = self.trial.error_msg and not self.trial.error_msg.startswith(GRADING)
        shown = [miss for miss in misses if miss.after_turn] if partial else misses
        for miss in shown[:_MOST]:
            yield from self._text(
                f"{miss.label} {decimal(miss.score)}: {miss.feedback}", f"{BULLET} ", "    ", few=True
            )
            for name, value in miss.details:
                yield from self._text(value, f"    {name}: ", "      ", few=True)
        rest = [miss for miss in misses if miss not in shown[:_MOST]]
        if rest:
            word = "after that failed" if partial else "also failed"
            yield from wrap(
                f"{word}: {', '.join(miss.label for miss in rest)}", self.width, f"{BULLET} ", "    "
            )

    def _besides(self) -> Iterator[str]:
        """Yield what else went wrong: it may be what the verdicts come from."""
        trial = self.trial
        for denial in trial.session_digest.tool_policy_denials[:_MOST]:
            yield from self._text(f"denied: {denial.tool}: {denial.reason}", f"{BULLET} ", "    ", few=True)
        for call in [one for one in trial.command_invocations if not one.answered][:_MOST]:
            yield from self._text(f"mocked program: {command_line(call)}", f"{BULLET} ", "    ", few=True)
        mocks = mock_errors(self.calls)
        for mocked in mocks[:_MOST]:
            text = (
                f"mocked server: {mocked.tool_name} {plain_value(mocked.args)}: {result_text(mocked.result)}"
            )
            yield from self._text(text, f"{BULLET} ", "    ", few=True)
        failed = [call for call in self.calls if call.success is False and call not in mocks]
        if failed:
            last = failed[-1]
            text = f"{len(failed)} of {pluralize(len(self.calls), 'tool call')} did not succeed; the last: {last.tool_name}: {result_text(last.result) or 'its end was not seen'}"
            yield from self._text(text, f"{BULLET} ", "    ", few=True)
        if trial.truncated:
            yield f"{BULLET} the output is long ({grouped(trial.output_bytes)} bytes): its middle was not stored"

    def _verdicts(self, validations: Mapping[str, Validation]) -> Iterator[str]:
        """Yield the verdicts: those that did not pass first, with what they compared."""
        found = [
            (name, verdict)
            for name, verdict in validations.items()
            if self.grader in ("", verdict.identifier or name)
        ]
        for name, verdict in sorted(found, key=lambda one: (one[1].passed, not self._broke(*one), one[0])):
            yield from self._verdict(verdict.identifier or name, verdict)

    def _broke(self, name: str, verdict: Validation) -> bool:
        """Return whether the grader reached no verdict, which is an error of the trial."""
        error = verdict.details.get("error")
        return bool(error) and f"{verdict.identifier or name}: {error}" in self.trial.error_msg

    def _verdict(self, name: str, verdict: Validation) -> Iterator[str]:
        mark = status_mark(
            "error" if self._broke(name, verdict) else "passed" if verdict.passed else "failed"
        )
        kind = f" ({verdict.type})" if verdict.type else ""
        weight = f", weight {verdict.weight:g}" if verdict.weight != 1 else ""
        head = f"{mark} {name}{kind} {decimal(verdict.score)}{weight} ({duration(verdict.duration_ms)})"
        failures = verdict.details.get("failures")
        several = isinstance(failures, list) and len(failures) > 1
        text = head if several or not verdict.feedback else f"{head}: {verdict.feedback}"
        yield from self._text(text, "", "    ")
        if several:
            for failure in failures or ():
                yield from self._text(str(failure), f"    {BULLET} ", "      ")
        if not verdict.passed or self.full or self.grader:
            yield from self._compared(verdict)

    def _compared(self, verdict: Validation) -> Iterator[str]:
        """Yield what a grader wanted, what it found instead and where, and whatever else it recorded."""
        details, taken = verdict.details, set(_SHOWN)
        for label, keys in (("expected", EXPECTED), ("found", FOUND)):
            key = next((key for key in keys if details.get(key) not in (None, "", [])), None)
            if key is not None:
                taken.add(key)
                yield from self._text(plain_value(details[key]), f"    {label}: ", "      ")
        for item in details.get("evidence") or ():
            yield from self._text(self._evidence(item), "    where: ", "      ")
        error = details.get("error")
        if error and str(error) not in verdict.feedback:
            yield from self._text(str(error), "    error: ", "      ")
        for key, value in details.items():
            if key not in taken and value not in (None, "", [], {}):
                yield from self._text(plain_value(value), f"    {key}: ", "      ")
        for key, label in (("prompt", "the judge was asked"), ("response", "the judge wrote")):
            if details.get(key):
                yield from self._text(plain_value(details[key]), f"    {label}: ", "      ")
        if self.full and details.get("traceback"):
            yield from self._text(str(details["traceback"]), "    traceback: ", "      ")

    def _evidence(self, item: Any) -> str:
        """Return a piece of evidence: its reference, with the part of the output that it names."""
        if not isinstance(item, dict):
            return plain_value(item)
        ref = str(item.get("ref") or "")
        start, _, end = ref.removeprefix("agent.output[").removesuffix("]").partition("..")
        if ref.startswith("agent.output[") and start.isdecimal() and end.isdecimal():
            return f"{ref} {plain_value(self.trial.final_output[int(start) : int(end)])!r}"
        return ref or plain_value(item)

    def _checkpoints(self) -> Iterator[str]:
        for point in self.trial.checkpoints:
            stopped = ", and ended the conversation" if point.stopped else ""
            yield f"{status_mark(point.status)} after turn {point.after_turn}: {point.status}{stopped}"
            for line in self._verdicts(point.validations):
                yield f"  {line}"

    def _conversation(self) -> Iterator[str]:
        found = conversation_of(self.trial)
        for number, turn in enumerate(found.turns, 1):
            prompt = "(its prompt is not recorded)" if turn.prompt is None else turn.prompt
            yield from self._text(prompt, f"[{number}] user: ", "    ")
            for step in turn.steps:
                yield from self._step(step)
            if not any(isinstance(step, AgentMessage | TurnFailure) for step in turn.steps):
                yield "  (no answer is recorded)"
        if not found.whole:
            yield from wrap(
                "no transcript: the first prompt and the final output are all that is recorded",
                self.width,
                "",
                "  ",
            )
        if found.others:
            names = ", ".join(f"{name} {count}" for name, count in found.others.items())
            yield from wrap(f"events that are not shown: {names}", self.width, "", "  ")

    def _step(self, step: Step) -> Iterator[str]:
        match step:
            case AgentMessage(text):
                yield from self._text(text, "  agent: ", "    ")
            case TurnFailure(text):
                yield from self._text(text or "the turn broke", f"  {status_mark('error')} ", "    ")
            case SkillLoaded(name):
                yield from self._text(one_line(name), "  skill loaded: ", "    ", few=True)
            case AnswerDetails(details):
                for key, value in details.items():
                    yield from self._text(plain_value(value), f"    {key}: ", "      ", few=True)
            case CallMade(call, ended):
                yield from self._call(call, ended=ended)

    def _call(self, call: ToolEvent, *, ended: bool) -> Iterator[str]:
        given = "" if call.args in (None, {}, "") else plain_value(call.args)
        short = len(given) <= _INLINE and "\n" not in given
        yield from self._text(call_line(call, given if short else ""), "  ", "      ")
        if not short and isinstance(call.args, dict):
            for key, value in call.args.items():
                yield from self._text(plain_value(value), f"      {key}: ", "        ")
        elif not short:
            yield from self._text(given, "      arguments: ", "        ")
        result = result_text(call.result)
        if result:
            yield from self._text(result, "      -> ", "         ")
        elif not ended:
            yield "      -> (its end was not seen)"
        if call.truncated:
            yield f"      (the result is long, {grouped(call.result_bytes)} bytes: its middle was not stored)"

    def _commands(self) -> Iterator[str]:
        for call in self.trial.command_invocations:
            mark = status_mark("passed" if call.answered else "failed")
            answered = "" if call.response_index < 0 else f" (response {call.response_index + 1})"
            yield from self._text(f"{mark} {command_line(call)}{answered}", "", "    ")

    def _policy(self) -> Iterator[str]:
        digest = self.trial.session_digest
        if digest.tool_policy_mode or digest.tool_policy_denials:
            yield f"mode: {digest.tool_policy_mode or 'not recorded'}"
        for denial in digest.tool_policy_denials:
            yield from self._text(
                f"denied: {denial.tool} ({denial.kind}): {denial.reason}", f"{BULLET} ", "    "
            )

    def _responder(self) -> Iterator[str]:
        found = self.trial.responder
        if found is not None:
            replies = "1 reply" if found.followups_sent == 1 else f"{found.followups_sent} replies"
            reason = f": {found.reason}" if found.reason else ""
            yield from self._text(f"{found.outcome} after {replies}{reason}", "", "    ")

    def _judges(self) -> Iterator[str]:
        for number, session in enumerate(self.trial.grader_sessions, 1):
            called = f", {pluralize(session.tool_call_count, 'tool call')}" if session.tool_call_count else ""
            yield from wrap(f"session {number}: {_tokens(session.usage)}{called}", self.width)
            for denial in session.tool_policy_denials:
                yield from self._text(f"denied: {denial.tool}: {denial.reason}", f"  {BULLET} ", "      ")

    def _attempts(self) -> Iterator[str]:
        for attempt in self.trial.attempt_history:
            failed = f": {', '.join(attempt.failed_graders)}" if attempt.failed_graders else ""
            text = f"{status_mark(attempt.status)} attempt {attempt.attempt}: {attempt.status} in {duration(attempt.duration_ms)}, {_tokens(attempt.usage)}{failed}"
            yield from self._text(text, "", "    ")
            if attempt.error_msg:
                yield from self._text(attempt.error_msg, "    error: ", "      ")

    def _facts(self) -> Iterator[str]:
        """Yield figures of the trial, and what else there is to look at."""
        view, trial = self.view, self.trial
        retried = f", after {pluralize(trial.error_retries, 'earlier error')}" if trial.error_retries else ""
        yield f"attempts: {max(1, trial.attempts)}{retried}"
        yield f"duration: {'not recorded' if trial.duration_unknown else duration(trial.duration_ms)}"
        skills = [skill.name for skill in trial.skill_invocations]
        if skills or view.head.skill:
            how = _OFFERED.get(trial.skill_offered or "", "")
            offered = f" (the suite tests {one_line(view.head.skill)}{how})" if view.head.skill else ""
            yield from wrap(f"skills loaded: {', '.join(skills) or 'none'}{offered}", self.width, "", "  ")
        usage = trial.session_digest.usage or trial.usage
        yield from wrap(f"usage: {_tokens(usage)}", self.width, "", "  ")
        if usage is not None:
            for name, model in usage.model_metrics.items():
                text = f"{name}: {grouped(model.input_tokens)} in, {grouped(model.output_tokens)} out, {grouped(model.request_count)} requests"
                yield from wrap(text, self.width, "  ", "    ")
        if trial.cost is not None:
            yield from wrap(
                f"cost: {money(trial.cost)} ({one_line(trial.cost.source)})", self.width, "", "  "
            )
        elif usage is not None and usage.model_metrics:
            yield "cost: not known"
        if trial.workspace_dir:
            yield from wrap(f"workspace: {trial.workspace_dir}", self.width, "", "  ")
        others = [one for one in view.task.runs if one.run_number != trial.run_number]
        if others:
            text = ", ".join(f"{one.run_number} {one.status}" for one in others)
            yield from wrap(f"other trials: {text} (--trial N)", self.width, "", "  ")
        if view.task.missing_trials:
            yield f"{pluralize(view.task.missing_trials, 'trial')} did not run"


def _tokens(usage: Usage | None) -> str:
    """Return what a session used, in one line."""
    if usage is None:
        return "usage is not known"
    parts = [
        pluralize(usage.turns, "turn"),
        *(
            [f"{grouped(usage.input_tokens)} tokens in", f"{grouped(usage.output_tokens)} out"]
            if usage.tokens
            else ["tokens are not known"]
        ),
        *([f"{grouped(usage.cache_read_tokens)} cached"] if usage.cache_read_tokens else []),
        *(
            [f"{usage.premium_requests:g} premium requests"]
            if usage.premium_requests and not usage.provider
            else []
        ),
        *([f"{usage.ai_credits:g} AI credits"] if usage.ai_credits is not None else []),
    ]
    return ", ".join(parts)
