"""What a run takes and shows, for people (`waza plan`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from waza.author.plan.report import Deviation, NeededSize, PlannedPower, SizeEstimate, SizePlan, SizeRange
from waza.kit.text import pluralize
from waza.model.cost import Cost
from waza.report.section import Draw, facts
from waza.report.table import WIDTH
from waza.report.words import BULLET, duration, grouped, money, one_line
from waza.report.wrap import wrap

NOT_KNOWN = "not known"


def print_plan(plan: SizePlan, draw: Draw) -> None:
    """Draw what a run consists of, what it takes by earlier runs, and what it can show."""
    arms = " with and without skills" if len(plan.arms) > 1 else ""
    size = [
        ("Suite", one_line(plan.suite)),
        ("Model", one_line(plan.model) or "(default)"),
        ("Tasks", f"{plan.tasks}, {_range(plan.trials)} trials each{arms}"),
        *([("Trigger prompts", str(plan.trigger_prompts))] if plan.trigger_prompts else []),
        ("Sessions", _range(plan.sessions)),
        ("Judge calls", _range(plan.judge_calls)),
    ]
    draw("WHAT A RUN CONSISTS OF", facts(size))
    takes = [
        ("Tokens", _estimate(plan.tokens, grouped)),
        *([("Tokens of judges", _estimate(plan.judge_tokens, grouped))] if plan.judge_calls.most else []),
        (
            "Cost",
            _estimate(plan.cost, lambda value: money(Cost(amount=value, currency=plan.currency, source=""))),
        ),
        *([("AI credits", _estimate(plan.ai_credits, grouped))] if plan.ai_credits else []),
        *([("Premium requests", _estimate(plan.premium_requests, grouped))] if plan.premium_requests else []),
        ("Time", _time(plan)),
    ]
    made = (
        f"By {pluralize(len(plan.runs), 'earlier run')}: {', '.join(map(one_line, plan.runs))}"
        if plan.runs
        else ""
    )
    draw("WHAT IT TAKES", [*facts(takes), *(wrap(made, WIDTH) if made else ())])
    draw("WHAT TWO OF THEM SHOW", list(_power(plan.power)))
    if plan.power.needed:
        needed = list(_needed(plan.power.needed, plan))
        draw(f"TO SHOW A DIFFERENCE OF {_points(plan.power.needed.difference).upper()} IN SCORE", needed)
    draw("NOTES", [line for note in plan.notes for line in wrap(one_line(note), WIDTH, f"{BULLET} ")])


def _range(count: SizeRange) -> str:
    if count.least == count.most:
        return grouped(count.least)
    return f"{grouped(count.least)} to {grouped(count.most)}"


def _estimate(found: SizeEstimate | None, show: Callable[[float], str]) -> str:
    if found is None:
        return NOT_KNOWN
    limits = f"{show(found.lower)} to {show(found.upper)}"
    return limits if found.expected is None else f"about {show(found.expected)} ({limits})"


def _time(plan: SizePlan) -> str:
    workers = f", on {plan.workers} workers" if plan.workers > 1 else ""
    return _estimate(
        plan.duration_ms, lambda value: duration(round(value, -3) if value > 10_000 else value)
    ) + (workers if plan.duration_ms else "")


def _power(power: PlannedPower) -> Iterator[str]:
    least = power.smallest_detectable
    units = "" if power.units == power.tasks else f" in {power.units} groups"
    yield from facts(
        [
            ("Smallest difference", _smallest(least, power)),
            ("If alike on all tasks", _smallest(power.if_alike, power)),
            ("A trial varies by", _deviation(power.trial, "the most that there can be")),
            ("Differences vary by", f"{_deviation(power.task, 'assumed')} between tasks"),
        ]
    )
    how = (
        f"With {pluralize(power.tasks, 'task')}{units} and {pluralize(power.trials, 'trial')} of each, in four of five "
        f"cases (power {power.power:g}) at alpha {power.alpha:g}: {power.method}."
    )
    yield from wrap(how, WIDTH)


def _smallest(share: float | None, power: PlannedPower) -> str:
    if share is None:
        return "any: nothing varies" if power.enough_tasks else "none: too few tasks"
    return f"{_points(share)} of score" if share <= 1 else "none: more than 100 points"


def _deviation(found: Deviation, unless: str) -> str:
    return f"{_points(found.std_dev)} ({'by earlier trials' if found.source == 'measured' else f'not known; {unless}'})"


def _needed(needed: NeededSize, plan: SizePlan) -> Iterator[str]:
    power = plan.power
    tasks = "no number does"
    trials = "no number does: " + (
        "tasks change unequally, which trials do not even out"
        if power.enough_tasks
        else "there are too few tasks"
    )
    if needed.tasks is not None and needed.tasks_sessions is not None:
        tasks = f"{grouped(needed.tasks)} with {pluralize(power.trials, 'trial')} each, {grouped(needed.tasks_sessions)} sessions a run"
    if needed.trials is not None and needed.trials_sessions is not None:
        trials = f"{grouped(needed.trials)} of these {pluralize(power.tasks, 'task')}, {grouped(needed.trials_sessions)} sessions a run"
    for line in facts([("Tasks", tasks), ("Or trials", trials)]):
        yield from wrap(line, WIDTH)
    says = {
        "neither": "Neither more tasks nor more trials show it.",
        "as it is": "The suite shows it as it is.",
        "more tasks": "More tasks are the cheaper way, in sessions; the work of writing them is not counted.",
        "more trials": "More trials are the cheaper way, in sessions.",
        "alike": "Both take as many sessions; more trials need no new tasks.",
    }
    yield from wrap(says[needed.cheaper], WIDTH)


def _points(share: float) -> str:
    return f"{share * 100:.1f} points"
