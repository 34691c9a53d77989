"""How much an ablation takes, and what it cannot show: announced before it starts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from waza.author.ablate.copies import suite_with, tasks_with_skill
from waza.author.plan.plan_size import plan_size
from waza.author.plan.power import count_units
from waza.author.plan.report import SizePlan
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.skill import Target
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import can_show


class AblationSize(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of an ablation take together: one of the whole skill, and one without each part."""

    runs: int
    tasks: int
    trials: int
    """Trials of each task in each run."""
    sessions: int
    """Sessions of the agent, without further attempts of trials that fail."""
    judge_calls: int
    """Questions to judges."""


def size_of(suite: Suite, target: Target, parts: int) -> AblationSize:
    """Return how much it takes to run without each of so many parts."""
    one: SizePlan = plan_size(suite_with(suite, target, target), suite.models[0], [])
    runs = parts + 1
    return AblationSize(
        runs=runs,
        tasks=one.tasks,
        trials=one.trials.most,
        sessions=runs * one.sessions.most,
        judge_calls=runs * one.judge_calls.most,
    )


def describe_size(size: AblationSize) -> str:
    """Return the announcement."""
    judges = f" and {pluralize(size.judge_calls, 'question')} to judges" if size.judge_calls else ""
    return (
        f"{pluralize(size.runs, 'run')} (the whole skill, and without each part) of {pluralize(size.tasks, 'task')} with "
        f"{pluralize(size.trials, 'trial')}: {pluralize(size.sessions, 'session')} of the agent{judges}"
    )


def notes_before(suite: Suite, parts: int) -> Iterator[str]:
    """Yield what limits an ablation of so many parts."""
    left_out = len(suite.tasks) - len(tasks_with_skill(suite))
    if left_out:
        yield f"{pluralize(left_out, 'task')} without the skill {'is' if left_out == 1 else 'are'} left out"
    if suite.file.config.stop_when:
        yield "config.stop_when is not used: all tasks have the same number of trials, which are paired"
    tried = msgspec.structs.replace(suite, tasks=tasks_with_skill(suite))
    units = count_units(tried, suite.models[0])
    if parts and not can_show(units, ALPHA / parts):
        fewest = next(count for count in range(2, 100) if can_show(count, ALPHA / parts))
        yield (
            f"with {pluralize(units, 'task')} no gain of one among {pluralize(parts, 'part')} can be more than chance, however "
            f"large it is; that takes {fewest} tasks that change independently, or fewer parts (--sections)"
        )
