"""Trigger tests: does the skill fire on the prompts it should fire on, and only there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from waza.engine.record import digest_call
from waza.engine.trial import World
from waza.errors import ExecutorError
from waza.kit.stats import round_half_away
from waza.model.agent import Limits
from waza.model.loaded import TriggerPrompt, TriggerTests
from waza.model.observation import tool_events
from waza.model.result import TriggerMetrics, TriggerResult, number
from waza.model.task import Task
from waza.model.trial import Attempt, Trial
from waza.results.assemble import Triggers
from waza.workspace.prepare import close_place, open_place


async def run_trigger_tests(world: World, tests: TriggerTests, workers: int) -> Triggers:
    """Run every prompt in a session of its own. The mock executor takes every prompt as judged rightly.

    A session that breaks counts as the wrong answer and as an error.
    """
    prompts = [(prompt, True) for prompt in tests.should_trigger_prompts]
    prompts += [(prompt, False) for prompt in tests.should_not_trigger_prompts]
    if world.suite.file.config.executor == "mock":
        results = [_result(prompt, should, did=should) for prompt, should in prompts]
        return Triggers(trigger_metrics(results), tuple(results))
    gate = asyncio.Semaphore(max(1, workers))

    async def one(prompt: TriggerPrompt, should: bool) -> TriggerResult:
        async with gate:
            return await _ask(world, tests.skill, prompt, should=should)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(prompt, should)) for prompt, should in prompts]
    results = [task.result() for task in running]
    return Triggers(trigger_metrics(results), tuple(results))


def _result(prompt: TriggerPrompt, should: bool, *, did: bool) -> TriggerResult:
    return TriggerResult(
        prompt=prompt.prompt, confidence=prompt.confidence, should_trigger=should, did_trigger=did
    )


async def _ask(world: World, skill: str, prompt: TriggerPrompt, *, should: bool) -> TriggerResult:
    suite = world.suite
    task = Task(
        id="trigger",
        name=prompt.prompt,
        file="",
        prompt=prompt.prompt,
        timeout=suite.file.config.timeout_seconds,
        home=suite.directory,
        fixtures=suite.fixtures,
        skill_paths=suite.skill_paths,
        no_skills=suite.skills_off,
    )
    attempt = Attempt(trial=Trial(task=task, number=1), number=1, task=task)
    place = await open_place(world.room, task, wanted=True)
    try:
        session = await world.executor.open(attempt, place)
        try:
            turn = await session.send(prompt.prompt, Limits(turn=task.timeout, cancel_on_skill=True))
        finally:
            await session.aclose()
    except ExecutorError as error:
        return TriggerResult(
            prompt=prompt.prompt,
            confidence=prompt.confidence,
            should_trigger=should,
            did_trigger=not should,
            error_msg=str(error),
        )
    finally:
        await close_place(world.room, place)
    return TriggerResult(
        prompt=prompt.prompt,
        confidence=prompt.confidence,
        should_trigger=should,
        did_trigger=any(found.name == skill for found in turn.skills),
        error_msg=turn.error,
        final_output=turn.output,
        transcript=list(turn.events),
        tool_calls=[digest_call(event) for event in tool_events(turn.events)],
        session_id=turn.session_id,
    )


def trigger_metrics(results: Sequence[TriggerResult]) -> TriggerMetrics:
    """Return the figures over all prompts: medium confidence counts half; ratios to four digits, 0 of nothing."""

    def weight(*, should: bool, did: bool) -> float:
        hits = [one for one in results if one.should_trigger == should and one.did_trigger == did]
        return sum(0.5 if one.confidence == "medium" else 1.0 for one in hits)

    tp, fn = weight(should=True, did=True), weight(should=True, did=False)
    tn, fp = weight(should=False, did=False), weight(should=False, did=True)

    def ratio(part: float, whole: float) -> float:
        return number(round_half_away(part / whole, 4)) if whole else 0

    return TriggerMetrics(
        true_positives=int(round_half_away(tp)),
        false_positives=int(round_half_away(fp)),
        true_negatives=int(round_half_away(tn)),
        false_negatives=int(round_half_away(fn)),
        errors=sum(bool(one.error_msg) for one in results),
        precision=ratio(tp, tp + fp),
        recall=ratio(tp, tp + fn),
        f1=ratio(2 * tp, 2 * tp + fp + fn),
        accuracy=ratio(tp + tn, tp + tn + fp + fn),
    )
