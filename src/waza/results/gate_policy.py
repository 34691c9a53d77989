"""Policies of `waza gate`: limits of figures over all tasks, or over those of a group or a tag."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit.decode import Decoder, Document, KeyPath
from waza.kit.share import TOLERANCE
from waza.kit.stats import mean
from waza.model.policy import GatePolicy, Limit
from waza.model.result import SuiteResult, TaskResult, number
from waza.problem import Problem
from waza.results.comparison.conclude import Measured, compare_measured
from waza.results.comparison.measured import MeasuredTask, MeasuredTrial, measure, measure_task
from waza.results.comparison.paired import mean_interval
from waza.results.comparison.sign_flip import least_p_value
from waza.results.noise import Arm, ArmTask
from waza.suite.read import at, read_document

HIGHER = ("pass_rate", "score")
"""Figures of which more is better; so are metrics of the suite."""
SHARES = ("flakiness", "errors")
"""Shares of the tasks, of which less is better."""
SPENT = ("cost", "tokens", "latency")
"""What trials take, of which less is better; the mean over the tasks of the mean over their trials."""
BUILT_IN = (*HIGHER, *SHARES, *SPENT)
TESTED = (*HIGHER, *SPENT)
"""Figures whose own differences are tested for significance; for others, those of the trials that passed are."""
_KEYS: Mapping[str, tuple[str, ...]] = {
    "score": ("score",),
    "tokens": ("tokens",),
    "latency": ("duration_ms",),
    "cost": ("ai_credits", "premium_requests"),
}
"""The figures of trials that a metric is made of: the first of which the current run has data."""
Values = tuple[float | None, float | None]


class LimitReport(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of a policy, what was found, and whether it holds. None: there is no such figure."""

    metric: str
    group: str
    tag: str
    limit: str
    """Which limit, such as `max_drop 0.05`."""
    baseline: float | None
    current: float | None
    passed: bool
    why: str
    """What was found, for people."""
    significant: bool | None = None
    """Whether chance does not explain the loss; None where nobody asked for that."""

    @property
    def name(self) -> str:
        """The limit for people: `score of the tag billing, max_drop 0.05`."""
        of = f" of the group {self.group}" if self.group else f" of the tag {self.tag}" if self.tag else ""
        return f"{self.metric}{of}, {self.limit}"


def read_policy(path: Path) -> GatePolicy:
    """Return the policy in a YAML file. Raises SuiteError with every mistake in it, each at its place."""
    document = read_document(path, "policy")
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document)
    policy = decoder.read(GatePolicy)
    problems = [*decoder.problems, *(_mistakes(document, policy) if policy else ())]
    if policy is None or problems:
        raise SuiteError(problems)
    return policy


def _mistakes(document: Document, policy: GatePolicy) -> Iterator[Problem]:
    """Yield limits that limit nothing, or in the wrong direction, or that cannot be tested."""
    for index, limit in enumerate(policy.limits):
        for key, message, hint in _mistakes_of(limit, significant=policy.require is not None):
            path: KeyPath = ("limits", index, key) if key else ("limits", index)
            yield document.problem("invalid-value", at(document, *path), path, message, hint)


def _mistakes_of(limit: Limit, *, significant: bool) -> Iterator[tuple[str, str, str]]:
    if all(one is None for one in (limit.least, limit.most, limit.max_drop, limit.max_rise)):
        yield "", "limits nothing", "write min, max, max_drop or max_rise"
    less_is_better = limit.metric in (*SHARES, *SPENT)
    if less_is_better and limit.max_drop is not None:
        yield "max_drop", f"less {limit.metric} is no loss", "write max_rise"
    if not less_is_better and limit.max_rise is not None:
        yield "max_rise", f"a higher {limit.metric} is no loss", "write max_drop"
    if limit.group and limit.tag:
        yield "tag", "a limit is for a group or for a tag", "write two limits"
    if limit.metric not in BUILT_IN and (limit.group or limit.tag):
        key = "group" if limit.group else "tag"
        yield key, f"{limit.metric!r} is a metric of the suite, which is over all tasks", f"remove {key}"
    relative = limit.max_drop is not None or limit.max_rise is not None
    if significant and relative and limit.metric not in (*HIGHER, *SPENT):
        yield (
            "metric",
            f"there is no test of a change of {limit.metric!r}",
            "write min or max, or remove require",
        )


class Judged(msgspec.Struct, frozen=True):
    """Two runs as policies see them."""

    before: Arm
    after: Arm
    metrics: Callable[[str], Values]
    """The values of a metric of the suite in both."""


def judge_policy(
    policy: GatePolicy, baseline: SuiteResult, current: SuiteResult, arms: tuple[Arm, Arm]
) -> list[LimitReport]:
    """Return every limit of a policy with what was found. A limit without data does not hold."""

    def metrics(name: str) -> Values:
        found = [
            result.metrics[name].value if name in result.metrics else None for result in (baseline, current)
        ]
        return found[0], found[1]

    def significant(limit: Limit, sign: int) -> bool | None:
        return _is_significant(limit, sign, policy.alpha, baseline, current, arms)

    judged = Judged(arms[0], arms[1], metrics)
    test = significant if policy.require else None
    return [one for limit in policy.limits for one in _judge(limit, judged, test)]


def breaks_policy(policy: GatePolicy, before: Arm, after: Arm) -> bool:
    """Return whether dealt arms break a policy; metrics of the suite, which no trial has, break nothing here.

    Significance is judged by the interval of the mean difference, which is much faster than the sign-flip test.
    """

    def significant(limit: Limit, sign: int) -> bool | None:
        return _is_far(limit, sign, policy.alpha, before, after)

    judged = Judged(before, after, lambda _: (1.0, 1.0))
    test = significant if policy.require else None
    limits = (limit for limit in policy.limits if limit.metric in BUILT_IN)
    return any(not one.passed for limit in limits for one in _judge(limit, judged, test))


def _judge(
    limit: Limit, judged: Judged, significant: Callable[[Limit, int], bool | None] | None
) -> Iterator[LimitReport]:
    """Yield what was found of each of the limits that one entry has.

    `significant` tells whether chance does not explain a fall (-1), a rise (1) or either (0); None: so few tasks can
    never show it.
    A limit that was exceeded does not hold then, or it would be no limit.
    """
    lack = _lack(limit, judged)
    before, after = _values(limit, judged)
    for key, bound in (
        ("min", limit.least),
        ("max", limit.most),
        ("max_drop", limit.max_drop),
        ("max_rise", limit.max_rise),
    ):
        if bound is None:
            continue
        relative = key.startswith("max_")
        one, other = _paired_values(limit, judged) if relative else (before, after)
        why = lack or _no_data(limit, one if relative else 0.0, other)
        loss = None if why or other is None else _excess(key, limit.metric, bound, one, other)
        broken = bool(why) or (loss is not None and loss > TOLERANCE)
        tested, found = None, why or _found(one, other)
        if significant and relative and broken and not why:
            sign = -1 if key == "max_drop" else 1
            tested = significant(limit, sign if limit.metric in TESTED else 0)
            found += _CHANCE[tested]
        yield LimitReport(
            metric=limit.metric,
            group=limit.group,
            tag=limit.tag,
            limit=f"{key} {bound:g}",
            baseline=None if one is None else number(one),
            current=None if other is None else number(other),
            passed=not broken or tested is False,
            why=found,
            significant=tested,
        )


def _excess(key: str, metric: str, bound: float, before: float | None, after: float) -> float:
    """Return by how much a value is beyond its limit; a rise from 0 is beyond any share of it."""
    if key == "min":
        return bound - after
    if key == "max":
        return after - bound
    base = before or 0.0
    if key == "max_drop":
        return base - after - bound
    allowed = bound * base if metric in SPENT else bound
    return after - base - allowed


_CHANCE: Mapping[bool | None, str] = {
    True: ", and chance does not explain it",
    False: ", which chance may explain",
    None: "; so few tasks can never show that chance does not explain it: add tasks, or drop 'require'",
}


def _found(before: float | None, after: float | None) -> str:
    return f"{after:.4g}" if before is None else f"{after:.4g}, in the baseline {before:.4g}"


def _lack(limit: Limit, judged: Judged) -> str:
    """Return why a group or a tag means nothing; empty if the current run has tasks of it."""
    if not (limit.group or limit.tag) or _chosen(judged.after, limit):
        return ""
    kind, name = ("group", limit.group) if limit.group else ("tag", limit.tag)
    return f"current has no task of the {kind} {name!r}"


def _no_data(limit: Limit, before: float | None, after: float | None) -> str:
    known = (
        ""
        if limit.metric in BUILT_IN
        else f"; a policy knows {', '.join(BUILT_IN)} and the metrics of the suite"
    )
    if limit.metric == "flakiness":
        known = "; a task shows it with at least two trials"
    if after is None:
        return f"current has no data of {limit.metric}{known}"
    return "" if before is not None else f"the baseline has no data of {limit.metric}{known}"


def _chosen(arm: Arm, limit: Limit) -> list[ArmTask]:
    if limit.group:
        return [task for task in arm if limit.group in task.groups]
    return [task for task in arm if limit.tag in (*task.tags, *task.groups)] if limit.tag else list(arm)


def _values(limit: Limit, judged: Judged) -> Values:
    """Return the figure of all chosen tasks, in both runs."""
    if limit.metric not in BUILT_IN:
        return judged.metrics(limit.metric)
    before, after = _chosen(judged.before, limit), _chosen(judged.after, limit)
    key = _key(limit.metric, after)
    return figure(before, limit.metric, key), figure(after, limit.metric, key)


def _paired_values(limit: Limit, judged: Judged) -> Values:
    """Return the figure of those chosen tasks that both runs measured."""
    if limit.metric not in BUILT_IN:
        return judged.metrics(limit.metric)
    before = {task.id: task for task in _chosen(judged.before, limit)}
    after = _chosen(judged.after, limit)
    key = _key(limit.metric, after)
    pairs = [(before[task.id], task) for task in after if task.id in before]
    if key:
        pairs = [pair for pair in pairs if all(task.values(key) for task in pair)]
    return figure([one for one, _ in pairs], limit.metric, key), figure(
        [one for _, one in pairs], limit.metric, key
    )


def _key(metric: str, arm: Arm) -> str:
    keys = _KEYS.get(metric, ())
    return next((key for key in keys if any(task.values(key) for task in arm)), keys[0] if keys else "")


def figure(arm: Arm, metric: str, key: str) -> float | None:
    """Return a figure of tasks; None without data. `key` is the figure of trials that it is the mean of, if it is one."""
    if key:
        means = [mean(values) for task in arm if (values := task.values(key))]
        return mean(means) if means else None
    tasks = [task for task in arm if task.status != "skipped"]
    if not tasks:
        return None
    if metric == "pass_rate":
        return sum(task.passed for task in tasks) / len(tasks)
    if metric == "errors":
        return sum(task.status == "error" for task in tasks) / len(tasks)
    repeated = [task for task in tasks if len(task.trials) > 1]  # one trial cannot show it
    return sum(task.flaky for task in repeated) / len(repeated) if repeated else None


def _is_significant(
    limit: Limit, sign: int, alpha: float, baseline: SuiteResult, current: SuiteResult, arms: tuple[Arm, Arm]
) -> bool | None:
    """Return whether the sign-flip test finds a difference, of a sign if one is given, of the means of chosen tasks."""
    chosen = [{task.id for task in _chosen(arm, limit)} for arm in arms]
    measured = _passes if limit.metric == "pass_rate" else measure
    a, b = (
        Measured(name, [task for task in measured(result.tasks) if task.id in ids])
        for name, result, ids in zip(("baseline", "current"), (baseline, current), chosen, strict=True)
    )
    (found,) = compare_measured([(a, b)], alpha)
    key = _KEYS.get(limit.metric, ("pass_rate",))
    one = (
        found
        if key == ("score",)
        else next((found.metrics[name] for name in key if name in found.metrics), None)
    )
    if one is None or one.p_value is None or not one.can_be_significant(alpha):
        return None
    return one.p_value <= alpha and (one.mean_difference or 0.0) * sign >= 0


def _passes(tasks: Sequence[TaskResult]) -> list[MeasuredTask]:
    """Return which trials of tasks passed; broken ones did not, and a task without trials counts as one trial."""
    found = []
    for task in tasks:
        statuses = [run.status for run in task.runs] or [task.status]
        trials = [
            MeasuredTrial({"pass_rate": float(one == "passed")}) for one in statuses if one != "skipped"
        ]
        found.append(msgspec.structs.replace(measure_task(task), trials=tuple(trials)))
    return found


def _is_far(limit: Limit, sign: int, alpha: float, before: Arm, after: Arm) -> bool | None:
    first, key = {task.id: task for task in before}, _key(limit.metric, after)

    def values(task: ArmTask) -> list[float]:
        return task.values(key) if key else [float(trial.status == "passed") for trial in task.trials]

    differences = [
        [mean(new) - mean(old)]
        for task in _chosen(after, limit)
        if (old := values(first[task.id])) and (new := values(task))
    ]
    if least_p_value(len(differences)) > alpha:
        return None
    found = mean_interval(differences, 1 - alpha)
    return found is not None and ((sign >= 0 and found.lower > 0) or (sign <= 0 and found.upper < 0))
