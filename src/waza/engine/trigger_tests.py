"""Trigger tests: does the skill fire on the prompts it should fire on, and only there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from waza.engine.attempt_watch import AttemptWatch
from waza.engine.attempt_workspace import AttemptScope
from waza.engine.record import session_digest, storable
from waza.engine.skill_reach import form_of_offer
from waza.engine.trial import RunContext, turn_limits, turn_reporter
from waza.engine.wire import AttemptWire
from waza.errors import ExecutorError
from waza.kit.exception_report import describe_exception
from waza.kit.stats import round_half_away
from waza.model.loaded import Suite, TriggerPrompt, TriggerTests
from waza.model.observation import Turn, Usage, tool_events, turn_events
from waza.model.result import TrialResult, TriggerMetrics, TriggerResult, number
from waza.model.task import InputFile, Task, TaskInputs
from waza.model.trial import Attempt, Trial
from waza.results.assemble import Triggers
from waza.results.routing import is_as_expected, trigger_matrix
from waza.suite.base_task import make_base_task
from waza.suite.discover import is_searched

LARGEST_FIXTURE = 1024 * 1024  # bytes; larger files would be copied for every prompt


async def run_trigger_tests(context: RunContext, tests: TriggerTests) -> Triggers | None:
    """Run every prompt in a session of its own, or take a scripted executor's answers from its script.

    A session that breaks before the skill fired counts as the wrong answer, and as an error. None: a limit of the run left
    nothing for the rest of them.
    """
    suite = context.plan.suite
    skill, prompts = suite.trigger_skill, tests.prompts
    if suite.capabilities.scripted:
        played = ((prompt, should, suite.trigger_script[prompt.prompt]) for prompt, should in prompts)
        results = [
            _result(suite, prompt, invoked, should=should, did=skill in invoked)
            for prompt, should, invoked in played
        ]
        return _triggers(suite, results)
    task = _task(suite)
    gate = asyncio.Semaphore(context.plan.trigger_workers)

    async def one(number: int, prompt: TriggerPrompt, *, should: bool) -> _Asked | None:
        trial = Trial(task=msgspec.structs.replace(task, prompt=prompt.prompt), number=number)
        async with gate:
            if context.meter.refusal():
                return None
            return await _run_prompt(context, trial, skill, prompt, should=should)

    async with asyncio.TaskGroup() as group:
        running = [
            group.create_task(one(number, prompt, should=should))
            for number, (prompt, should) in enumerate(prompts, 1)
        ]
    asked = [found for session in running if (found := session.result()) is not None]
    turns = [one.turn for one in asked]
    if len(turns) < len(prompts) or any(
        context.meter.met and context.meter.met in turn.error for turn in turns
    ):
        return None
    results = [
        _judged(context, skill, prompt, found, should=should)
        for (prompt, should), found in zip(prompts, asked, strict=True)
    ]
    usages = [turn.usage for turn in turns]
    known = [usage for usage in usages if usage is not None and usage.tokens]
    costs = tuple(context.meter.prices.cost(usage, context.plan.model) for usage in known)
    return msgspec.structs.replace(_triggers(suite, results, usages), costs=costs)


class _Asked(msgspec.Struct, frozen=True):
    """The turn that a prompt led to, and where the agent's report of it differs from the wire."""

    turn: Turn
    differences: list[str] = []


def _triggers(
    suite: Suite, results: Sequence[TriggerResult], usages: Sequence[Usage | None] = ()
) -> Triggers:
    """Return the results with their figures; with neighbours it is one of them which skill was invoked."""
    routed_by = suite.trigger_skill if suite.trigger_neighbours else ""
    return Triggers(
        metrics=trigger_metrics(results, routed_by),
        results=tuple(results),
        usages=tuple(usages),
        matrix=trigger_matrix(suite, results),
    )


def _task(suite: Suite) -> Task:
    """Return what the sessions of all prompts have in common: the skills, fixtures and mocks of the suite.

    There is a target only for the routing block: a skill whose body is injected need not fire.
    """
    return msgspec.structs.replace(
        make_base_task(suite.file, suite.directory, suite.fixtures),
        id="trigger",
        name="trigger",
        inputs=TaskInputs(files=[InputFile(path=name) for name in _fixtures(suite.fixtures)]),
        skill_paths=_skill_paths(suite),
        disabled_skills=suite.disabled_skills,
        target=None if suite.file.config.inject_skill_body else suite.trigger_target,
        no_skills=suite.skills_off,
    )


def _skill_paths(suite: Suite) -> tuple[Path, ...]:
    """Return the suite's skill roots, and the directories of the skills that are found elsewhere."""
    targets = [suite.trigger_target, *suite.trigger_neighbours, *(task.target for task in suite.tasks)]
    found = [target.directory for target in targets if target and target.kind == "skill"]
    return tuple(dict.fromkeys([*suite.skill_paths, *found]))


def _fixtures(root: Path) -> Iterator[str]:
    """Yield the fixtures by path; links, hidden directories and large files are left out."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if is_searched(name))
        for path in (Path(folder, name) for name in sorted(files)):
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST_FIXTURE:
                yield path.relative_to(root).as_posix()


async def _run_prompt(
    context: RunContext, trial: Trial, skill: str, prompt: TriggerPrompt, *, should: bool
) -> _Asked:
    """Return the turn that a prompt led to. A tracer follows it; other listeners know tasks only."""
    if (tracer := context.tracer) is None:
        return await _ask(context, trial, skill, None)
    context = msgspec.structs.replace(context, emit=tracer.handle)
    watch = AttemptWatch(tracer.handle, tracer, trial, 1)
    watch.start_trigger(prompt, should=should)
    asked = await _ask(context, trial, skill, watch)
    watch.finish_trigger(asked.turn, fired=_fired(skill, asked.turn))
    return asked


async def _ask(context: RunContext, trial: Trial, skill: str, watch: AttemptWatch | None) -> _Asked:
    """Return the turn that a prompt led to; one whose session breaks, also when it is closed, is an error."""
    task, meter = trial.task, context.meter.trial()
    attempt = Attempt(trial=trial.key, number=1, task=task)
    limits = msgspec.structs.replace(turn_limits(context, task), until_skill=skill)
    report_turn = turn_reporter(context, attempt, watch, "trigger") if watch else None
    turn, differences = Turn(), list[str]()
    try:
        scope = AttemptScope(
            context.tempdir,
            context.relay,
            task,
            trial.key,
            wanted=True,
            meter=meter,
            watch=watch,
            run_wire=context.wire,
        )
        async with scope as (place, _):
            session = await context.executor.open(attempt, place)
            try:
                if report_turn:
                    report_turn(1, task.prompt, None)
                await meter.admit(on_wire=scope.wire is not None)
                limits = msgspec.structs.replace(limits, turn=meter.within(limits.turn))
                turn = await session.send(task.prompt, limits)
                if scope.wire is not None:
                    turn = _complete(scope.wire, skill, task.prompt, turn)
                    differences = scope.wire.differences
                turn = meter.count_turn(turn, context.plan.model)
                if (limit := meter.end()) and not turn.error:
                    turn = msgspec.structs.replace(turn, error=limit)
                turn = msgspec.structs.replace(turn, events=turn_events(task.prompt, turn))
                if report_turn:
                    report_turn(1, task.prompt, turn)
            finally:
                await session.aclose()
    except ExecutorError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - executors are other people's code: one that breaks costs a prompt
        reason = f"the executor broke: {describe_exception(error).text}"
    else:
        return _Asked(turn, differences)
    why = "; ".join(filter(None, (turn.error, reason)))
    return _Asked(msgspec.structs.replace(turn, error=why), differences)


def _complete(wire: AttemptWire, skill: str, prompt: str, turn: Turn) -> Turn:
    """Return a turn with what the wire knows of it. Where the skill fired, the turn was ended, perhaps in the middle of an answer."""
    complete = wire.complete(prompt, turn)
    if _fired(skill, complete) and not turn.error:
        return msgspec.structs.replace(complete, error="", outside=turn.outside)
    if not complete.error and (left := wire.unplayed()):
        return msgspec.structs.replace(complete, error=left)
    return complete


def _fired(skill: str, turn: Turn) -> bool:
    return any(found.name == skill for found in turn.skills)


def _judged(
    context: RunContext, skill: str, prompt: TriggerPrompt, asked: _Asked, *, should: bool
) -> TriggerResult:
    """Return the result of a session, in the form in which it may be stored."""
    turn = asked.turn
    fired, seen = _fired(skill, turn), turn.skills_offered
    offers = [one for one in seen.skills if one.name == skill] if seen else []
    trial = TrialResult(
        run_number=1,
        attempts=1,
        prompt=prompt.prompt,
        status="skipped",
        duration_ms=turn.duration_ms,
        validations=None,
        session_digest=session_digest(tool_events(turn.events), turn.usage, turn.session_id),
        transcript=list(turn.events),
        final_output=turn.output,
        error_msg=turn.error,
        skill_invocations=list(turn.skills),
        skill_offered=form_of_offer(seen, offers, skill) if seen else None,
        wire_differences=asked.differences,
    )
    did = fired or (bool(turn.error) and not should)
    stored = storable(trial, context.redactor)
    invoked = [one.name for one in stored.skill_invocations]
    return _result(context.plan.suite, prompt, invoked, should=should, did=did, trial=stored)


def _result(
    suite: Suite,
    prompt: TriggerPrompt,
    invoked: Iterable[str],
    *,
    should: bool,
    did: bool,
    trial: TrialResult | None = None,
) -> TriggerResult:
    plain = TriggerResult(
        prompt=prompt.prompt,
        confidence=prompt.confidence,
        should_trigger=should,
        did_trigger=did,
        expected_skill=suite.trigger_skill if should and suite.trigger_neighbours else prompt.expect.strip(),
        invoked_skills=list(dict.fromkeys(invoked)),
    )
    if trial is None:
        return plain
    return msgspec.structs.replace(
        plain,
        prompt=trial.prompt,
        invoked_skills=plain.invoked_skills or (None if trial.error_msg else []),
        error_msg=trial.error_msg,
        final_output=trial.final_output,
        transcript=trial.transcript,
        tool_calls=trial.session_digest.tool_calls,
        session_id=trial.session_digest.session_id,
        skill_offered=trial.skill_offered,
        wire_differences=trial.wire_differences,
    )


def trigger_metrics(results: Sequence[TriggerResult], routed_by: str = "") -> TriggerMetrics:
    """Return the figures over all prompts: plain counts, and ratios to four digits; none of no cases.

    `routed_by` is the tested skill where it has neighbours, so that it matters which skill is invoked on each prompt.

    In the ratios a prompt of medium confidence counts half, and a session that broke counts as wrong, so that no
    gate passes by breakdowns. It showed nothing of the skill, though, so it is counted as an error only.
    """

    def answered(*, should: bool, did: bool) -> int:
        seen = (one for one in results if not one.error_msg or one.should_trigger == one.did_trigger)
        return sum(one.should_trigger == should and one.did_trigger == did for one in seen)

    def weights(*, should: bool, did: bool) -> list[float]:
        hits = [one for one in results if one.should_trigger == should and one.did_trigger == did]
        return [_weight(one) for one in hits]

    hit, missed = weights(should=True, did=True), weights(should=True, did=False)
    silent, wrong = weights(should=False, did=False), weights(should=False, did=True)
    tp, fn, tn, fp = sum(hit), sum(missed), sum(silent), sum(wrong)

    right = sum(_weight(one) for one in results if is_as_expected(one, routed_by))

    def ratio(part: float, whole: float) -> float | None:
        return number(round_half_away(part / whole, 4)) if whole else None

    return TriggerMetrics(
        true_positives=answered(should=True, did=True),
        false_positives=answered(should=False, did=True),
        true_negatives=answered(should=False, did=False),
        false_negatives=answered(should=True, did=False),
        errors=sum(bool(one.error_msg) for one in results),
        precision=ratio(tp, tp + fp),
        recall=ratio(tp, tp + fn),
        f1=ratio(2 * tp, 2 * tp + fp + fn),
        accuracy=number(round_half_away((tp + tn) / (tp + tn + fp + fn), 4)),  # there is a prompt at least
        routing=ratio(right, tp + tn + fp + fn) if routed_by else None,
    )


def _weight(result: TriggerResult) -> float:
    return 0.5 if result.confidence == "medium" else 1.0
