"""From the runs of a skill, whole and without each part, to what can be said of the parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from waza.author.ablate.ablation import PartResult, RunOfSkill
from waza.author.ablate.judge_part import ComparedPart, judge_part
from waza.author.ablate.parts import Part
from waza.report.words import one_line
from waza.results.comparison.comparison import ALPHA, Comparison
from waza.results.comparison.conclude import Measured, compare_measured
from waza.results.comparison.measured import MeasuredTask, MeasuredTrial
from waza.results.comparison.paired import mean_interval
from waza.results.comparison.pairs import pair_tasks

WHOLE = "the whole skill"
"""What the run is called that all others are compared with."""


class TaskRuns(msgspec.Struct, frozen=True):
    """A task in one run: its group, and the trials that were measured, by number."""

    group: str
    trials: Mapping[int, MeasuredTrial]


class Arm(msgspec.Struct, frozen=True):
    """A run, its tasks by id, and what it warned of."""

    run: RunOfSkill
    tasks: Mapping[str, TaskRuns]
    warnings: Sequence[str] = ()


def compare_parts(
    parts: Sequence[Part], whole: Arm, without: Sequence[Arm], margin: float
) -> Iterator[PartResult]:
    """Yield what each part gives: the score of the whole skill minus that without the part, adjusted for their number."""
    pairs = [_pair(part, arm, whole) for part, arm in zip(parts, without, strict=True)]
    compared = compare_measured(pairs, resample=False)
    for part, arm, (a, b), found in zip(parts, without, pairs, compared, strict=True):
        joined = pair_tasks(a.tasks, b.tasks, "score")
        known = ComparedPart(
            comparison=found,
            interval=mean_interval(joined.clusters, 1 - ALPHA / len(pairs)) if found.n else None,
            parts=len(pairs),
            paired_trials=sum(len(pair.a) for pair in joined.pairs),
            differing=any(len({*pair.a, *pair.b}) > 1 for pair in joined.pairs),
            whole=whole.run,
            without=arm.run,
            tokens=part.tokens,
        )
        yield _result(part, known, margin)


def _result(part: Part, known: ComparedPart, margin: float) -> PartResult:
    verdict, why, needed = judge_part(known, margin)
    found = known.comparison
    return PartResult(
        name=part.name,
        kind=part.kind,
        line=part.line,
        tokens=part.tokens,
        verdict=verdict,
        why=why,
        gain=found.mean_difference,
        interval=known.known_interval,
        p_value=found.p_value,
        p_adjusted=found.p_adjusted,
        tasks=found.n,
        paired_trials=known.paired_trials if found.n else 0,
        tokens_per_trial=_tokens_per_trial(found),
        smallest_detectable=found.smallest_detectable,
        needed=needed,
        run=known.without,
        notes=(*part.notes, *known.doubts()),
    )


def _tokens_per_trial(found: Comparison) -> float | None:
    tokens = found.metrics.get("tokens")
    return tokens.mean_difference if tokens else None


def _pair(part: Part, without: Arm, whole: Arm) -> tuple[Measured, Measured]:
    """Return both arms with the trials that both of them measured, by task and number."""
    treatment = without.run.treatment
    contradiction = treatment.contradiction if treatment else ""
    return (
        Measured(f"without {one_line(part.name)}", list(_common(without, whole)), contradiction),
        Measured(WHOLE, list(_common(whole, without))),
    )


def _common(arm: Arm, other: Arm) -> Iterator[MeasuredTask]:
    for task, runs in arm.tasks.items():
        theirs = other.tasks[task].trials if task in other.tasks else {}
        trials = tuple(trial for number, trial in runs.trials.items() if number in theirs)
        yield MeasuredTask(id=task, group=runs.group, trials=trials)
