"""The verdict over a run, and over a call of the program that made several: passed, or every reason why not.

Whatever is shown of a run (console, documents, results file, exit code) takes its verdict from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from waza.kit.share import TOLERANCE, decimal, percent
from waza.kit.text import pluralize
from waza.model.result import SuiteResult, Summary
from waza.model.suite import Metric
from waza.results.ending import (
    BAD,
    CUT_OFF,
    LEFT_OUT,
    NO_DATA,
    WITHOUT_SUITE,
    came_to_its_end,
    limit_met,
    run_status,
    tasks_planned,
)
from waza.results.selection import shard_of
from waza.results.treatment import NOT_MEASURED, recorded_treatment

UNGRADED = "not graded (--skip-graders)"
OF_A_SHARD = "is a part of a run; `waza merge` makes the whole of all shards, and decides"
_ALWAYS = "trigger_accuracy"  # gates without being asked to
_WITHOUT_DATA = "gates_without_data"  # the key in the metadata of results


class RunVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether everything that was to be shown was shown; `reasons` say what was not. `metadata.verdict`."""

    passed: bool
    """Whether it passed."""
    reasons: tuple[str, ...] = ()
    """What speaks against it, in words."""

    @property
    def ungraded(self) -> bool:
        """Whether nothing is against passing but that nobody graded what ran, as was asked for, or that nothing ran."""
        return _all_end(self.reasons, *_NOT_GRADED)

    @property
    def undecided(self) -> bool:
        """Whether nothing is against passing but that only a shard of the whole was run."""
        return not self.ungraded and _all_end(self.reasons, *_NOT_GRADED, OF_A_SHARD)

    @property
    def word(self) -> str:
        """The verdict for people: passed, failed, not graded, or not decided."""
        if self.undecided:
            return "not decided"
        return "passed" if self.passed else "not graded" if self.ungraded else "failed"

    @property
    def status(self) -> str:
        """The verdict as the status of a task: passed, failed, or skipped where nothing was graded or decided."""
        return "passed" if self.passed else "skipped" if self.acceptable else "failed"

    @property
    def mark(self) -> str:
        """Its sign, as documents show it."""
        return "✅" if self.passed else "⚠" if self.acceptable else "❌"

    @property
    def acceptable(self) -> bool:
        """Whether the program that reached it ends with 0."""
        return self.passed or self.ungraded or self.undecided

    @classmethod
    def of(cls, reasons: Iterable[str]) -> RunVerdict:
        """Return the verdict with these reasons against passing; without any it has passed."""
        found = tuple(reasons)
        return cls(passed=not found, reasons=found)


_NOT_GRADED = (UNGRADED, WITHOUT_SUITE, LEFT_OUT)


def _all_end(reasons: Sequence[str], *endings: str) -> bool:
    return bool(reasons) and all(reason.endswith(endings) for reason in reasons)


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A condition on a run as a whole, besides its tasks; `found` says what was measured."""

    name: str
    passed: bool
    found: str


class NotStarted(msgspec.Struct, frozen=True, kw_only=True):
    """A suite, on one of its models, that was to run and did not."""

    skill: str
    """The suite, by its skill if it has one."""
    model: str = ""
    """The model; empty: the default one, or not known."""
    why: str
    """What prevented it."""
    unread: bool = False
    """The files of the suite, which may name a model, have mistakes."""

    @property
    def name(self) -> str:
        """The suite and its model, for people."""
        return run_name(self.skill, self.model)


def run_name(skill: str, model: str) -> str:
    """Return what a suite on a model is called."""
    return f"{skill} on {model}" if model else skill


def is_same_run(one: SuiteResult, other: SuiteResult) -> bool:
    """Return whether two results are of one and the same run; of files of other programs that may not be known."""
    known = bool(one.eval_id and one.timestamp)
    return known and (one.eval_id, one.timestamp) == (other.eval_id, other.timestamp)


def judge(head: SuiteResult, *, missing_trials: int = 0, graded: bool = True) -> RunVerdict:
    """Return the verdict over one suite on one model.

    `missing_trials` were planned and did not run; what was not `graded` has not passed. A run with a baseline
    passes when its success rate is higher than without skills, and its arms are not known to be something else than they
    claim; any other when no task failed or errored.
    In either case every gate must pass, and the run must have come to its end. A shard never passes: its gates are
    decided with those of the others.
    """
    return RunVerdict.of([*_reasons(head, missing_trials), *(() if graded else (UNGRADED,))])


def verdict_of(head: SuiteResult) -> RunVerdict:
    """Return the verdict that results carry, which was checked when they were read; those of other programs are judged."""
    return _stated(head) or judge(head)


def _stated(head: SuiteResult) -> RunVerdict | None:
    try:
        return msgspec.convert(head.metadata.get("verdict"), RunVerdict)
    except msgspec.ValidationError:  # of another program it may be anything
        return None


class TaskEnding(Protocol):
    """How a task of a results file ended, as far as the verdict needs it; of another program it may be anything."""

    @property
    def status(self) -> Any:
        """Its status."""
        ...

    @property
    def missing_trials(self) -> Any:
        """How many of its trials did not run."""
        ...


def check_verdict(
    head: SuiteResult, tasks: Sequence[TaskEnding], baseline: Sequence[TaskEnding]
) -> SuiteResult:
    """Return results that were read from a file with a verdict that their tasks and figures bear out.

    Anybody can write into a file that a run passed, or something that speaks against it. What can be found out again
    replaces what the file says; where the two disagree, that is a reason against passing.
    """
    stated, every = _stated(head), [*tasks, *baseline]
    ungraded = any(one.status == "skipped" and not one.missing_trials for one in every)
    missing = sum(one.missing_trials for one in every if isinstance(one.missing_trials, int))
    # Other programs list tasks as skipped for reasons of their own.
    found = judge(head, missing_trials=missing, graded=not ungraded or stated is None)
    reasons = [*found.reasons, *_disagreement(head, tasks)]
    if stated is None:
        return with_verdict(head, RunVerdict.of(reasons)) if len(reasons) > len(found.reasons) else head
    if stated.passed != (not reasons):
        says = "passed" if stated.passed else "failed"
        known = reasons or stated.reasons
        reasons = [
            *known,
            f"the file's verdict is that it {says} (metadata.verdict), which the rest of it contradicts",
        ]
    verdict = RunVerdict.of(reasons)
    return head if verdict == stated else with_verdict(head, verdict)


def _disagreement(head: SuiteResult, tasks: Sequence[TaskEnding]) -> Iterator[str]:
    """Yield where the summary of a run is better than its tasks."""
    summary = head.summary
    passed, bad = (
        sum(one.status == "passed" for one in tasks),
        sum(one.status in BAD for one in tasks),
    )
    if summary.succeeded > passed or summary.failed + summary.errors < bad:
        yield (
            f"the file's summary ({summary.succeeded} passed, {summary.failed + summary.errors} did not) is not that of "
            f"its tasks ({passed} passed, {bad} did not)"
        )


def with_verdict(head: SuiteResult, verdict: RunVerdict) -> SuiteResult:
    """Return the results with this verdict in their metadata."""
    return msgspec.structs.replace(head, metadata={**head.metadata, "verdict": msgspec.to_builtins(verdict)})


def without_data(head: SuiteResult, names: Sequence[str]) -> SuiteResult:
    """Return the results with these metrics as gates of which nothing was seen."""
    metadata = {key: value for key, value in head.metadata.items() if key != _WITHOUT_DATA}
    return msgspec.structs.replace(
        head, metadata={**metadata, **({_WITHOUT_DATA: list(names)} if names else {})}
    )


def gates(head: SuiteResult) -> Iterator[Gate]:
    """Yield the gates of a run: its gating metrics and, with a baseline, that the skills make it better.

    One without data has not passed. A shard has none: they are of the whole.
    """
    if shard_of(head) is not None:
        return
    for name, metric in sorted(head.metrics.items()):
        if name == _ALWAYS or metric.details.get("gate") is True:
            bound = f"{decimal(metric.value)}, at least {decimal(metric.threshold)} is required"
            yield Gate(name=name, passed=metric.passed, found=bound)
    names = head.metadata.get(_WITHOUT_DATA, ())
    for name in (
        names if isinstance(names, list | tuple) else [names]
    ):  # of another program it may be anything
        yield Gate(name=str(name), passed=False, found=NO_DATA)
    without = head.baseline_outcome
    if without is not None and (why := uncompared(head, without)):
        yield Gate(name="baseline", passed=False, found=f"not compared: {why}")
    elif without is not None and (treatment := recorded_treatment(head)) and treatment.contradiction:
        yield Gate(name="baseline", passed=False, found=f"{NOT_MEASURED}: {treatment.contradiction}")
    elif without is not None:
        before, after = without.summary.success_rate, head.summary.success_rate
        found = f"success rate {percent(after)} with skills, {percent(before)} without"
        yield Gate(name="baseline", passed=after > before + TOLERANCE, found=found)


def uncompared(head: SuiteResult, without: SuiteResult) -> str:
    """Return why the two passes of an A/B run have no common measure, with what each came to; "" if they have.

    An error is no measurement, and both passes must have verdicts on the same tasks.
    """
    arms = (("with skills", head.summary), ("without skills", without.summary))
    cut = not came_to_its_end(head)
    if not cut and not any(one.errors or one.skipped for _, one in arms):
        return ""
    return "; ".join(f"{name} {_ending(one, cut=cut)}" for name, one in arms)


def _ending(summary: Summary, *, cut: bool) -> str:
    """Return what the tasks of a pass came to. In a run that was `cut`, those without a result were cut off."""
    planned = tasks_planned(summary)
    cut_off = summary.skipped if cut else planned - summary.total_tests
    counts = (
        (summary.succeeded, "passed"),
        (summary.failed, "failed"),
        (summary.errors, "errored"),
        (summary.skipped - cut_off, "skipped"),
        (cut_off, CUT_OFF),
    )
    which = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{which or 'nothing ran'} of {pluralize(planned, 'task')}"


def gating(metric: Metric) -> bool:
    """Return whether a metric of a suite fails the run where its value is below the threshold."""
    return metric.enabled and (metric.gate or metric.name == _ALWAYS)


def overall_verdict(
    verdicts: Sequence[tuple[str, RunVerdict]],
    not_started: Sequence[NotStarted],
    not_run: Sequence[tuple[str, str]] = (),
) -> RunVerdict:
    """Return the verdict over all runs of one call, each given with its name.

    What was `not_run` on purpose, given with its name and the reason, keeps nothing from passing, but alone it did not
    pass: nothing was run.
    """
    if len(verdicts) == 1 and not not_started:
        return verdicts[0][1]
    if not (verdicts or not_started):
        return RunVerdict.of(f"{name}: {why}" for name, why in not_run)
    reasons = [f"{name}: {reason}" for name, verdict in verdicts for reason in verdict.reasons]
    return RunVerdict.of([*reasons, *(f"{one.name}: did not run: {one.why}" for one in not_started)])


def reason_of(gate: Gate) -> str:
    """Return what a gate that did not pass says in the verdict."""
    return f"gate {gate.name}: {gate.found}"


def tasks_reason(head: SuiteResult) -> str:
    """Return what tasks that did not pass say in the verdict; nothing if all passed."""
    summary = head.summary
    bad = summary.failed + summary.errors
    if not bad:
        return ""
    counts = ((summary.failed, "failed"), (summary.errors, "errored"))
    which = ", ".join(f"{count} {word}" for count, word in counts if count)
    return f"{bad} of {pluralize(summary.total_tests, 'task')} did not pass: {which}"


def _reasons(head: SuiteResult, missing_trials: int) -> Iterator[str]:
    shard = shard_of(head)
    if not came_to_its_end(head):
        missing = f": {pluralize(missing_trials, 'trial')} did not run" if missing_trials else ""
        if limit := limit_met(head):
            yield limit
        yield f"the run did not come to its end ({run_status(head)}){missing}"
    elif shard is None and not (head.summary.total_tests or head.summary.skipped or head.trigger_metrics):
        yield "nothing was measured: no task and no trigger test ran"
    failed = [reason_of(gate) for gate in gates(head) if not gate.passed]
    # With a baseline, tasks that fail alone keep no run from passing.
    if (tasks := tasks_reason(head)) and (failed or shard or head.baseline_outcome is None):
        yield tasks
    yield from failed
    if shard is not None:
        yield f"shard {shard} {OF_A_SHARD}"
