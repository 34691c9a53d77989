"""A trial as a page has it: why it ended as it did, then all that is recorded of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from waza.dashboard.catalogue import ListedRun
from waza.dashboard.digests import denial_pages, digest_page, responder_page, usage_values
from waza.dashboard.file_changes import changes_of
from waza.dashboard.highlights import highlights_of
from waza.dashboard.pages import (
    AttemptPage,
    BarKind,
    CallPage,
    Check,
    CheckpointPage,
    JudgePage,
    MockedCommand,
    Step,
    TimelineEntry,
    TrialDetail,
    TrialLink,
    TurnPage,
)
from waza.dashboard.run_pages import named_values
from waza.kit.text import pluralize
from waza.model.observation import ToolEvent, tokens_of
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.trial import ARMS, Arm
from waza.report.conversation import (
    AgentMessage,
    AnswerDetails,
    CallMade,
    ShownConversation,
    SkillLoaded,
    TurnFailure,
    calls_of,
    conversation_of,
    mock_errors,
    result_text,
)
from waza.report.conversation import Step as ShownStep
from waza.report.event_lines import command_line
from waza.report.rows import EXPECTED, FOUND, plain_value
from waza.report.trial_page import TrialView, cause, causes
from waza.report.view import model_name
from waza.report.words import duration, grouped, one_line
from waza.results.ending import BAD
from waza.results.figures import mean_scores
from waza.results.task_index import RunTasks

# Details of verdicts that have fields of their own.
_SHOWN = {"failures", "passes", "prompt", "response"}
_LINE = 600  # characters of a line about what else went wrong


class TrialLinks:
    """Where the trials of a run are: by task, and in the order in which failed ones come first. Takes time once."""

    def __init__(self, source: RunTasks) -> None:
        self._by_task: dict[str, list[TrialLink]] = {}
        self._ordered: dict[Arm, list[TrialLink]] = {}
        for arm in ARMS:
            links = [
                TrialLink(task=task.test_id, number=one.number, arm=arm, status=one.status)
                for task in source.heads(arm)
                for one in task.trials
            ]
            for link in links:
                self._by_task.setdefault(link.task, []).append(link)
            self._ordered[arm] = sorted(links, key=lambda link: link.status not in BAD)
        self._places = {
            (link.arm, link.task, link.number): place
            for links in self._ordered.values()
            for place, link in enumerate(links)
        }

    def of_task(self, task_id: str) -> list[TrialLink]:
        """Return all trials of a task, of both arms."""
        return self._by_task.get(task_id, [])

    def neighbours(self, arm: Arm, task_id: str, number: int) -> tuple[TrialLink | None, TrialLink | None]:
        """Return the trials before and after one of its arm."""
        here, links = self._places.get((arm, task_id, number)), self._ordered[arm]
        if here is None:
            return None, None
        return links[here - 1] if here else None, links[here + 1] if here + 1 < len(links) else None


def make_trial(
    run: ListedRun,
    head: SuiteResult,
    links: TrialLinks,
    arm: Arm,
    task: TaskResult,
    number: int,
    read: Callable[[str], bytes | None] | None = None,
) -> TrialDetail | None:
    """Return a trial of a task of a run; None where there is no such trial.

    `head` are the results of its arm, `read` returns the content of a file that results
    name, such as a snapshot; without it none is looked at.
    """
    trial = next((one for one in task.runs if one.run_number == number), None)
    if trial is None:
        return None
    view = TrialView(run=run.saved.name, head=head, arm=arm, task=task, trial=trial)
    verdicts = list((trial.validations or {}).values())
    score, weighted = mean_scores(verdicts) if verdicts else (None, None)
    conversation = conversation_of(trial)
    turns = [
        TurnPage(prompt=turn.prompt, steps=[_step(step) for step in turn.steps])
        for turn in conversation.turns
    ]
    before, after = links.neighbours(arm, task.test_id, number)
    return TrialDetail(
        run=run.id,
        spec=head.eval_name,
        model=model_name(head),
        task=task.test_id,
        name=task.display_name or task.test_id,
        number=number,
        planned=len(task.runs) + task.missing_trials,
        arm=arm,
        status=trial.status,
        score=score,
        weighted_score=weighted,
        title=view.title,
        cause=cause(trial),
        error=trial.error_msg,
        timed_out=trial.timed_out,
        causes=list(dict.fromkeys(one.grader for one in causes(trial))),
        besides=list(_besides(trial)),
        checks=list(_checks(trial)),
        judged_text=trial.final_output,
        truncated=trial.truncated,
        output_bytes=trial.output_bytes,
        turns=turns,
        whole=conversation.whole,
        other_events=conversation.others,
        timeline=list(_timeline(trial, conversation)),
        digest=digest_page(trial.session_digest, trial.session_digest.usage or trial.usage),
        mocked_commands=[
            MockedCommand(
                line=command_line(call),
                exit_code=call.exit_code,
                response=call.response_index + 1 if call.response_index >= 0 else None,
                exhausted=call.exhausted,
            )
            for call in trial.command_invocations
        ],
        responder=responder_page(trial.responder),
        checkpoints=[
            CheckpointPage(after_turn=one.after_turn, status=one.status, stopped=one.stopped)
            for one in trial.checkpoints
        ],
        attempts_before=[
            AttemptPage(
                number=one.attempt,
                status=one.status,
                failed_graders=one.failed_graders,
                error=one.error_msg,
                duration_ms=one.duration_ms,
                tokens=tokens_of(one.usage),
            )
            for one in trial.attempt_history
        ],
        judges=[
            JudgePage(
                label=f"session {place}",
                tool_calls=one.tool_call_count,
                usage=usage_values(one.usage),
                denials=denial_pages(one.tool_policy_denials),
            )
            for place, one in enumerate(trial.grader_sessions, 1)
        ],
        file_changes=changes_of(
            calls_of(trial), read(trial.snapshot_path) if read and trial.snapshot_path else None
        ),
        facts=named_values(_facts(view)),
        trials=links.of_task(task.test_id),
        previous=before,
        next=after,
        in_progress=run.state == "in progress",
        command=view.command,
    )


def _besides(trial: TrialResult) -> Iterator[str]:
    """Yield what else went wrong: it may be what the verdicts come from."""
    for denial in trial.session_digest.tool_policy_denials:
        yield one_line(f"denied: {denial.tool}: {denial.reason}", _LINE)
    for call in trial.command_invocations:
        if not call.answered:
            yield one_line(f"mocked program: {command_line(call)}", _LINE)
    calls = calls_of(trial)
    mocks = mock_errors(calls)
    for one in mocks:
        yield one_line(
            f"mocked server: {one.tool_name} {plain_value(one.args)}: {result_text(one.result)}", _LINE
        )
    failed = [one for one in calls if one.success is False and one not in mocks]
    if failed:
        last = result_text(failed[-1].result) or "its end was not seen"
        yield one_line(
            f"{len(failed)} of {pluralize(len(calls), 'tool call')} did not succeed; the last: "
            f"{failed[-1].tool_name}: {last}",
            _LINE,
        )


def _checks(trial: TrialResult) -> Iterator[Check]:
    """Yield the verdicts: those without a verdict first, then what did not pass, by how much it explains."""
    found = [_check(trial, name, one, 0) for name, one in (trial.validations or {}).items()]
    for point in trial.checkpoints:
        found += [_check(trial, name, one, point.after_turn) for name, one in point.validations.items()]
    telling = [(one.grader, one.after_turn) for one in causes(trial)]

    def key(check: Check) -> tuple[bool, bool, int, int, str]:
        place = (check.name, check.after_turn)
        rank = telling.index(place) if place in telling else len(telling)
        return check.passed, not check.broke, rank, check.after_turn, check.name

    yield from sorted(found, key=key)


def _check(trial: TrialResult, key: str, verdict: Validation, after_turn: int) -> Check:
    name, details = verdict.identifier or key, verdict.details
    error = details.get("error")
    failures = details.get("failures")
    step = f", after turn {after_turn}" if after_turn else ""
    kind = f" ({verdict.type}{step})" if verdict.type or step else ""
    judged = "" if after_turn else trial.final_output
    return Check(
        name=name,
        label=name + kind.replace("(, ", "("),
        type=verdict.type,
        passed=verdict.passed,
        broke=bool(error) and f"{name}: {error}" in trial.error_msg,
        score=verdict.score,
        weight=verdict.weight,
        feedback=verdict.feedback,
        failures=[plain_value(one) for one in failures] if isinstance(failures, list) else [],
        expected=_first(details, EXPECTED),
        found=_first(details, FOUND),
        after_turn=after_turn,
        duration_ms=verdict.duration_ms,
        details={key: value for key, value in details.items() if key not in _SHOWN},
        judge_prompt=plain_value(details["prompt"]) if details.get("prompt") else "",
        judge_response=plain_value(details["response"]) if details.get("response") else "",
        highlights=highlights_of(details, judged, passed=verdict.passed) if judged else [],
    )


def _first(details: Mapping[str, Any], keys: Sequence[str]) -> str:
    found = next((details[key] for key in keys if details.get(key) not in (None, "", [])), None)
    return "" if found is None else plain_value(found)


def _step(step: ShownStep) -> Step:
    match step:
        case AgentMessage(text):
            return Step(kind="message", text=text, call=None, details=None)
        case TurnFailure(text):
            return Step(kind="failure", text=text or "the turn broke", call=None, details=None)
        case SkillLoaded(name):
            return Step(kind="skill", text=name, call=None, details=None)
        case AnswerDetails(found):
            return Step(kind="details", text="", call=None, details=found)
        case CallMade(call, ended):
            return Step(kind="call", text="", call=_call(call, ended=ended), details=None)


def _call(call: ToolEvent, *, ended: bool) -> CallPage:
    return CallPage(
        id=call.tool_call_id,
        name=call.tool_name,
        arguments=call.args,
        result=result_text(call.result),
        success=call.success,
        ended=ended,
        duration_ms=call.duration_ms or None,
        truncated=call.truncated,
        result_bytes=call.result_bytes,
    )


def _timeline(trial: TrialResult, conversation: ShownConversation) -> Iterator[TimelineEntry]:
    """Yield the bars of the waterfall, with the times that results have: turns and their calls, then judges."""
    turns = conversation.turns
    for number, turn in enumerate(turns, 1):
        broke = any(isinstance(step, TurnFailure) for step in turn.steps)
        started_ms = 0 if number == 1 else turn.started_ms  # by definition, also in results without starts
        took = turn.duration_ms or (trial.duration_ms if len(turns) == 1 else 0)
        yield _bar("turn", f"turn {number}", started_ms, took, ok=not broke, turn=number)
        for place, step in enumerate(turn.steps):
            if isinstance(step, CallMade):
                call = step.call
                kind: BarKind = "mcp" if _is_mcp(call) else "tool"
                yield _bar(
                    kind,
                    call.tool_name,
                    call.started_ms,
                    call.duration_ms,
                    ok=call.success is not False,
                    turn=number,
                    step=place,
                )
        for point in trial.checkpoints:
            if point.after_turn == number:
                yield from _judge_bars(point.validations)
    yield from _judge_bars(trial.validations or {})


def _judge_bars(validations: Mapping[str, Validation]) -> Iterator[TimelineEntry]:
    for name, verdict in validations.items():
        if verdict.details.get("prompt") or verdict.type == "prompt":
            label, broke = verdict.identifier or name, "error" in verdict.details
            yield _bar("judge", label, verdict.started_ms, verdict.duration_ms, ok=not broke)


def _bar(
    kind: BarKind,
    label: str,
    started_ms: int | None,
    duration_ms: int,
    *,
    ok: bool,
    turn: int = 0,
    step: int | None = None,
) -> TimelineEntry:
    return TimelineEntry(
        kind=kind,
        label=label,
        start_ms=None if started_ms is None else float(started_ms),
        duration_ms=float(duration_ms) if duration_ms else None,
        ok=ok,
        turn=turn,
        step=step,
    )


def _is_mcp(call: ToolEvent) -> bool:
    """Tell whether a call was one of an MCP server, by the name of the tool or what a mocked server answered."""
    return call.tool_name.startswith(("mcp__", "mcp-", "mcp_")) or "MCP mock '" in result_text(call.result)


def _facts(view: TrialView) -> Iterator[tuple[str, str]]:
    trial, head = view.trial, view.head
    retried = f", after {pluralize(trial.error_retries, 'earlier error')}" if trial.error_retries else ""
    yield "Attempts", f"{max(1, trial.attempts)}{retried}"
    yield "Duration", "not recorded" if trial.duration_unknown else duration(trial.duration_ms)
    skills = [skill.name for skill in trial.skill_invocations]
    if skills or head.skill:
        yield "Skills loaded", ", ".join(skills) or "none"
    if head.skill:
        yield "Skill under test", head.skill
    if trial.truncated:
        yield "Output", f"{grouped(trial.output_bytes)} bytes; its middle was not stored"
    if trial.workspace_dir:
        yield "Workspace", trial.workspace_dir
    if trial.snapshot_path:
        yield "Snapshot", trial.snapshot_path
    if view.task.missing_trials:
        yield "Not run", pluralize(view.task.missing_trials, "trial")


def find_task(source: RunTasks, arm: Arm, task_id: str) -> int | None:
    """Return the place of a task in an arm; None where there is no such task."""
    return next((i for i, task in enumerate(source.heads(arm)) if task.test_id == task_id), None)
