"""The one caller of graders: it measures them, checks what they return, and turns exceptions into verdicts."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import Iterator, Sequence

import msgspec

from waza.engine.attempt_clock import AttemptClock
from waza.engine.attempt_watch import AttemptWatch
from waza.engine.tamper_check import TamperCheck
from waza.errors import GraderError, is_outside
from waza.graders.base import Grader, requires_judge
from waza.kit.exception_report import describe_exception
from waza.model.observation import Observation
from waza.model.result import Validation, number
from waza.model.verdict import BuiltGrader, Helpers, Verdict

LARGE = 256 * 1024  # characters of output from which on a grader is run in a thread


class Grading(msgspec.Struct, frozen=True):
    """The verdicts of all graders, by name. `errors` names the graders that reached none, and why.

    `outside`: one of them broke for a cause outside of the agent, such as a full disk.
    """

    validations: dict[str, Validation]
    errors: tuple[str, ...] = ()
    outside: bool = False

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of graders that did not pass."""
        return tuple(name for name, as_validation in self.validations.items() if not as_validation.passed)


async def grade(
    graders: Sequence[BuiltGrader],
    observation: Observation,
    helpers: Helpers,
    watch: AttemptWatch | None = None,
    clock: AttemptClock | None = None,
) -> Grading:
    """Run graders in order, neighbours that are `concurrent` at the same time. `watch` reports each.

    `clock` is that of the attempt; verdicts over an earlier one have no time at which they began.

    A grader that breaks has score 0, and never passes. Graders that need the last answer are left out where there is
    none.
    """
    if observation.error:
        graders = [built for built in graders if not getattr(built.grader, "needs_answer", False)]
    graded: list[tuple[Validation, Verdict]] = []
    for batch in _batches(graders):
        answers = [_grade_one(built, observation, helpers, watch, clock) for built in batch]
        # Most graders are plain functions, and a task of its own costs more than many of them.
        graded += await asyncio.gather(*answers) if len(answers) > 1 else [await answers[0]]
    errors = tuple(f"{found.identifier}: {verdict.error}" for found, verdict in graded if verdict.error)
    outside = any(verdict.outside for _, verdict in graded)
    return Grading({found.identifier: found for found, _ in graded}, errors, outside)


def _batches(graders: Sequence[BuiltGrader]) -> Iterator[list[BuiltGrader]]:
    """Yield the graders in order: concurrent neighbours together, any other alone."""
    batch: list[BuiltGrader] = []
    for built in graders:
        concurrent = getattr(built.grader, "concurrent", False)
        if batch and not (concurrent and getattr(batch[-1].grader, "concurrent", False)):
            yield batch
            batch = []
        batch.append(built)
    if batch:
        yield batch


async def _grade_one(
    built: BuiltGrader,
    observation: Observation,
    helpers: Helpers,
    watch: AttemptWatch | None,
    clock: AttemptClock | None,
) -> tuple[Validation, Verdict]:
    """Return the verdict of a grader, in the form of the results file and in its own."""
    if watch is not None:
        helpers = watch.start_grader(built, helpers)
    started, started_ms = time.monotonic(), clock.now() if clock else None
    verdict = await _ask(built, observation, helpers)
    took = round((time.monotonic() - started) * 1000)
    validation = as_validation(built.spec.name, built.spec.type, verdict, built.spec.weight, took)
    validation = msgspec.structs.replace(validation, started_ms=started_ms)
    if watch is not None:
        watch.finish_grader(validation, verdict)
    return validation, verdict


def as_validation(name: str, kind: str, verdict: Verdict, weight: float = 1.0, took: int = 0) -> Validation:
    """Return a verdict in the form of the results file."""
    return Validation(
        identifier=name,
        type=kind,
        score=number(verdict.score),
        weight=number(weight),
        passed=verdict.passed,
        feedback=verdict.feedback,
        details=verdict.details,
        duration_ms=took,
    )


async def _ask(built: BuiltGrader, observation: Observation, helpers: Helpers) -> Verdict:
    if observation.broke and requires_judge(built):
        why = f"the judge was not asked, since the executor broke off the conversation: {observation.broke}"
        return Verdict.failed(why, not_asked=observation.broke)
    helpers = msgspec.structs.replace(helpers, name=built.spec.name)
    if broken := helpers.shared.get(TamperCheck).grader_change(built, helpers):
        return Verdict.errored(broken)
    try:
        return _checked(await _call(built, observation, helpers))
    except GraderError as error:
        verdict = Verdict.errored(str(error) or "the grader did not say why it reached no verdict")
        return msgspec.structs.replace(verdict, outside=is_outside(error))
    except Exception as error:  # noqa: BLE001 - graders are other people's code: whatever they raise is their error
        fault = describe_exception(error)
        verdict = Verdict.errored(f"the grader broke: {fault.text}", traceback=fault.traceback)
        return msgspec.structs.replace(verdict, outside=is_outside(error))


async def _call(built: BuiltGrader, observation: Observation, helpers: Helpers) -> object:
    grader = built.grader
    slow = len(observation.output) > LARGE or (isinstance(grader, Grader) and grader.reads_workspace)
    in_thread = slow and not inspect.iscoroutinefunction(grader.grade)
    answer = (
        await asyncio.to_thread(grader.grade, observation, helpers)
        if in_thread
        else grader.grade(observation, helpers)
    )
    return answer if isinstance(answer, Verdict) or not inspect.isawaitable(answer) else await answer


def _checked(verdict: object) -> Verdict:
    """Return the verdict if it is one: a boolean and a finite score from 0 to 1. One with an error never passes."""
    if not isinstance(verdict, Verdict):
        raise GraderError(f"the grader returned {type(verdict).__name__}, not a Verdict")
    if verdict.error:
        details = verdict.details if isinstance(verdict.details, dict) else {}
        return Verdict.errored(str(verdict.error), **{str(key): value for key, value in details.items()})
    if not isinstance(verdict.passed, bool):
        raise GraderError(f"the grader's 'passed' is {verdict.passed!r}, not true or false")
    score = verdict.score
    if (
        isinstance(score, bool)
        or not isinstance(score, int | float)
        or not math.isfinite(score)
        or not 0 <= score <= 1
    ):
        raise GraderError(f"the grader's score is {score!r}, not a number from 0 to 1")
    if not (isinstance(verdict.feedback, str) and isinstance(verdict.details, dict)):
        raise GraderError("the grader's 'feedback' is not a text, or its 'details' are not a dict")
    return verdict
