"""Whether a run may ship: its results against those of an earlier run, by fixed rules.

The rules are the pass rate, golden tasks, and tasks that are new or gone. A run that did not come to its end, or
measured nothing, never passes: its pass rate is of a part of its tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Literal, get_args

import msgspec

from waza.executors import CAPABILITIES
from waza.kit.share import TOLERANCE, percent
from waza.kit.text import list_first, pluralize
from waza.model.pass_rule import rule_name
from waza.model.policy import GatePolicy
from waza.model.result import SuiteResult, TaskResult, number
from waza.model.stop_when import StopRule, describe_stop
from waza.results.ending import came_to_its_end, run_status
from waza.results.figures import task_status
from waza.results.gate_policy import LimitReport, breaks_policy, judge_policy
from waza.results.invocation import suite_name
from waza.results.noise import ACCEPTED, FalseAlarm, arm_of, false_alarm, pools_of_pair
from waza.results.selection import describe_selection, is_same_part, shard_of
from waza.results.treatment import NOT_MEASURED, treatment_of
from waza.results.verdict import RunVerdict, is_same_run, verdict_of

Treatment = Literal["allow", "warn", "fail"]
"""What is done about tasks that only one of two runs has."""
TREATMENTS: tuple[Treatment, ...] = get_args(Treatment)
Decision = Literal["pass", "regression", "golden_failure", "incomplete", "policy_failure", "doubtful"]
_MISSING = "n/a"  # the status of a task that is not in a file
_NAMED = 10  # tasks that a message names


class GateRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has to keep."""

    max_regression_pct: float = 0.0
    """By how many percentage points the pass rate may fall."""
    golden_must_pass: bool = True
    """Whether a golden task that does not pass decides."""
    on_new_tasks: Treatment = "allow"
    """What is done about tasks that only the current run has."""
    on_removed_tasks: Treatment = "warn"
    """What is done about tasks that only the baseline has."""
    strict: bool = False
    """Whether runs that were not measured alike fail, instead of being warned of."""


class GoldenFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A golden task that did not pass in the current run; `n/a` is the status of a task that is not there."""

    test_id: str
    display_name: str
    baseline_status: str
    current_status: str


class GateReport(msgspec.Struct, frozen=True, kw_only=True):
    """The decision and what it rests on, as `waza gate --format json` prints it. Rates are shares from 0 to 1."""

    baseline_file: str
    current_file: str
    baseline_pass_rate: float
    """`summary.success_rate` of the baseline."""
    current_pass_rate: float
    """`summary.success_rate` of the current run."""
    pass_rate_delta: float | None
    """Current minus baseline; None where one of them did not measure its skill, which `errors` say."""
    max_regression_pct: float
    """By how many percentage points the pass rate may fall."""
    regression_pct: float | None
    """By how many it fell; 0 where it did not, None where `pass_rate_delta` is."""
    regression_exceeds_threshold: bool
    golden_failures: list[GoldenFailure]
    golden_total: int
    """Tasks that either file marks as golden."""
    golden_must_pass: bool
    new_tasks: list[str]
    removed_tasks: list[str]
    on_new_tasks: Treatment
    on_removed_tasks: Treatment
    warnings: list[str]
    errors: list[str]
    """What keeps the run from passing besides the pass rate and golden tasks."""
    exit_code: int
    outcome: Decision
    """`regression` is also the outcome of a rule for new or removed tasks that is `fail`."""
    baseline_verdict: RunVerdict
    """What the baseline itself came to."""
    current_verdict: RunVerdict
    """What the current run itself came to: a regression gate passes runs with failed tasks."""

    false_alarm_probability: float | None
    """How often these rules (for the pass rate, golden tasks, and the policy) would fail a run of the same agent; None:
    the files have no trials that would say it."""
    quiet_limit_pct: float | None
    """The least limit of a regression that a run of the same agent exceeds in no more than 5 % of cases."""
    policy: list[LimitReport]
    """The limits of the policy with what was found."""

    @property
    def passed(self) -> bool:
        """Whether the run may ship."""
        return self.exit_code == 0


def decide(
    baseline: SuiteResult,
    current: SuiteResult,
    rules: GateRules,
    files: tuple[str, str] = ("", ""),
    policy: GatePolicy | None = None,
) -> GateReport:
    """Return the decision over a run, given the results to compare it with.

    `files` are the names of both in the report. `policy` has limits that hold besides the rules. The exit code is 2 for
    a golden task that did not pass, where that decides, else 1 for a pass rate that fell too far and for every entry of
    `errors`, else 0.
    """
    before, after = _by_id(baseline), _by_id(current)
    delta = current.summary.success_rate - baseline.summary.success_rate
    regression = max(0.0, -delta) * 100
    refused = [*_not_measured(baseline, "baseline"), *_not_measured(current, "current")]
    exceeded = not refused and regression > rules.max_regression_pct + TOLERANCE
    golden = [task_id for task_id in {**before, **after} if _is_golden(task_id, before, after)]
    failures = [one for task_id in golden if (one := _golden_failure(task_id, before, after))]
    new, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    incomplete = [
        *_unfinished(baseline, "baseline"),
        *_unfinished(current, "current"),
        *_not_run(before, after),
        *_parts(baseline, current),
        *_played(baseline, current),
        *refused,
    ]
    limits = judge_policy(policy, baseline, current, (arm_of(baseline), arm_of(current))) if policy else []
    alarm = false_alarm(
        pools_of_pair(baseline, current, figures=policy is not None),
        rules.max_regression_pct,
        golden=rules.golden_must_pass,
        breaks=partial(breaks_policy, policy) if policy else None,
    )
    doubts = [
        *_doubts(baseline, "baseline"),
        *_doubts(current, "current"),
        *_unequal(baseline, current),
        *_unequal_tasks(before, after),
    ]
    warnings = [
        *_notes(baseline, "baseline"),
        *_notes(current, "current"),
        *_not_known(baseline, current),
        *(() if rules.strict else doubts),
        *_noise(alarm, rules, policy),
    ]
    broken = [f"policy: {limit.name}: {limit.why}" for limit in limits if not limit.passed]
    errors = [*incomplete, *broken, *(doubts if rules.strict else ())]
    for names, treatment, words in (
        (new, rules.on_new_tasks, "only in current"),
        (removed, rules.on_removed_tasks, "only in the baseline"),
    ):
        if names and treatment != "allow":
            (errors if treatment == "fail" else warnings).append(f"{_tasks(names)} {words}: {_list(names)}")
    code, outcome = _outcome(
        golden_failed=bool(failures) and rules.golden_must_pass,
        exceeded=exceeded,
        errors=errors,
        incomplete=incomplete,
        broken=broken,
        doubts=doubts if rules.strict else [],
    )
    return GateReport(
        baseline_file=files[0],
        current_file=files[1],
        baseline_pass_rate=number(baseline.summary.success_rate),
        current_pass_rate=number(current.summary.success_rate),
        pass_rate_delta=None if refused else _rounded(delta),
        max_regression_pct=number(rules.max_regression_pct),
        regression_pct=None if refused else _rounded(regression),
        regression_exceeds_threshold=exceeded,
        golden_failures=failures,
        golden_total=len(golden),
        golden_must_pass=rules.golden_must_pass,
        new_tasks=new,
        removed_tasks=removed,
        on_new_tasks=rules.on_new_tasks,
        on_removed_tasks=rules.on_removed_tasks,
        warnings=warnings,
        errors=errors,
        exit_code=code,
        outcome=outcome,
        baseline_verdict=verdict_of(baseline),
        current_verdict=verdict_of(current),
        false_alarm_probability=number(alarm.probability) if alarm else None,
        quiet_limit_pct=number(alarm.quiet_limit_pct) if alarm else None,
        policy=limits,
    )


def _outcome(
    *,
    golden_failed: bool,
    exceeded: bool,
    errors: list[str],
    incomplete: list[str],
    broken: list[str],
    doubts: list[str],
) -> tuple[int, Decision]:
    """Return the exit code and the outcome: what is worst comes first."""
    if golden_failed:
        return 2, "golden_failure"
    if exceeded:
        return 1, "regression"
    reasons: tuple[tuple[list[str], Decision], ...] = (
        (incomplete, "incomplete"),
        (broken, "policy_failure"),
        (doubts, "doubtful"),
        (errors, "regression"),
    )
    return next(((1, outcome) for found, outcome in reasons if found), (0, "pass"))


def _by_id(result: SuiteResult) -> dict[str, TaskResult]:
    return {task.test_id: task for task in result.tasks}


def _is_golden(task_id: str, *tables: Mapping[str, TaskResult]) -> bool:
    return any(table[task_id].golden for table in tables if task_id in table)


def _golden_failure(
    task_id: str, before: Mapping[str, TaskResult], after: Mapping[str, TaskResult]
) -> GoldenFailure | None:
    old, new = before.get(task_id), after.get(task_id)
    known = new or old
    if known is None or (new is not None and new.status == "passed"):
        return None
    return GoldenFailure(
        test_id=task_id,
        display_name=known.display_name,
        baseline_status=old.status if old else _MISSING,
        current_status=new.status if new else _MISSING,
    )


def _unfinished(result: SuiteResult, name: str) -> Iterator[str]:
    """Yield why the pass rate of a file is not one of its run."""
    if not came_to_its_end(result):
        yield f"{name}: the run did not come to its end ({run_status(result)}): its pass rate is of a part of its tasks"
    elif result.tasks and not any(task.status in ("passed", "failed") for task in result.tasks):
        yield f"{name}: no task has a verdict: nothing was measured"
    elif not result.tasks and not result.summary.total_tests and not result.summary.success_rate:
        yield f"{name}: it has no tasks: nothing was measured"


def _not_run(before: Mapping[str, TaskResult], after: Mapping[str, TaskResult]) -> Iterator[str]:
    """Yield the tasks without a verdict that the baseline measured: they are in no pass rate."""
    names = [
        task_id
        for task_id, task in after.items()
        if task.status == "skipped" and task_id in before and before[task_id].status in ("passed", "failed")
    ]
    if names:
        yield f"current: {_tasks(names)} of the baseline without a verdict: {_list(names)}"


def _parts(baseline: SuiteResult, current: SuiteResult) -> Iterator[str]:
    """Yield which of the files is a shard, or of a part of its suite, unless both are of the same part."""
    shards = (("baseline", shard_of(baseline)), ("current", shard_of(current)))
    yield from (
        f"{name}: it is shard {one} of a run; merge all shards first: waza merge"
        for name, one in shards
        if one
    )
    if is_same_part(baseline, current):
        return
    for name, result in (("baseline", baseline), ("current", current)):
        if part := describe_selection(result):
            yield f"{name}: {part}: its pass rate is of other tasks; run both with the same choice, or all tasks"


def _played(baseline: SuiteResult, current: SuiteResult) -> Iterator[str]:
    """Yield that the current run played a script and asked no agent, where the baseline did."""
    before, after = baseline.config.engine_type, current.config.engine_type
    if before and not _is_scripted(before) and _is_scripted(after):
        yield f"current: it plays a script (executor {after}), and the baseline is of {before}: no agent was measured"


def _not_measured(result: SuiteResult, name: str) -> Iterator[str]:
    """Yield that a run did not measure its skill, since the agent was not offered what was claimed."""
    if (treatment := treatment_of(result)) and treatment.contradiction:
        yield f"{name}: {NOT_MEASURED}: {treatment.contradiction}"


def _not_known(baseline: SuiteResult, current: SuiteResult) -> Iterator[str]:
    """Yield that it is not known whether the agent was offered the skill, once for both runs."""
    runs = {"baseline": treatment_of(baseline), "current": treatment_of(current)}
    doubts = {name: found.doubt for name, found in runs.items() if found and found.doubt}
    if len(set(doubts.values())) == 1:
        yield f"{' and '.join(doubts)}: {next(iter(doubts.values()))}"
    else:
        yield from (f"{name}: {doubt}" for name, doubt in doubts.items())


def _is_scripted(executor: str) -> bool:
    known = CAPABILITIES.get(executor)
    return known is not None and known.scripted


def _notes(result: SuiteResult, name: str) -> Iterator[str]:
    """Yield what a reader of a pass rate must know, though it is in the rate: errors, and gates of the run."""
    if part := describe_selection(result):
        yield f"{name}: {part}"
    broken = [task.test_id for task in result.tasks if task.status == "error"]
    if broken:
        yield f"{name}: {_tasks(broken)} with an error, counted as not passed: {_list(broken)}"
    verdict = verdict_of(result)
    yield from (f"{name}: {reason}" for reason in verdict.reasons if reason.startswith("gate "))


def _doubts(result: SuiteResult, name: str) -> Iterator[str]:
    """Yield why a pass rate may not be that of the run: a summary that does not fit, tasks of the cache."""
    ran = [task for task in result.tasks if task.status != "skipped" or task.runs]
    rate = sum(task.status == "passed" for task in ran) / len(ran) if ran else 0.0
    if ran and result.summary.total_tests == len(ran) and abs(rate - result.summary.success_rate) > TOLERANCE:
        stated = percent(result.summary.success_rate)
        yield f"{name}: its summary states a pass rate of {stated}, its tasks have {percent(rate)}"
    denied = [
        task.test_id
        for task in result.tasks
        if task.status == "passed"
        and task.runs
        and task_status(tuple(trial.status for trial in task.runs), result.config.pass_rule) != "passed"
    ]
    if denied:
        yield f"{name}: {_tasks(denied)} passed, but not by the trials: {_list(denied)}"
    cached = [task.test_id for task in result.tasks if task.cached]
    if cached:
        yield f"{name}: {_tasks(cached)} from the cache, so measured before this run: {_list(cached)}"


def _unequal(baseline: SuiteResult, current: SuiteResult) -> Iterator[str]:
    """Yield why the two pass rates are not of one measure."""
    if is_same_run(baseline, current):
        yield "baseline and current are the same run, which is compared with itself"
    before, after = baseline.config, current.config
    for what, one, other in (
        ("suites", suite_name(baseline), suite_name(current)),
        ("executors", before.engine_type, after.engine_type),
        ("models", before.model_id, after.model_id),
        ("judges", before.judge_model, after.judge_model),
    ):
        if one != other:
            yield f"the {what} differ: {one or 'none'} in the baseline, {other or 'none'} in current"
    if before.pass_rule != after.pass_rule:
        yield f"the pass rules differ: {rule_name(before.pass_rule)} in the baseline, {rule_name(after.pass_rule)} in current"
    if before.stop_when != after.stop_when:
        yield f"the rules that end trials differ (stop_when): {_stop(before.stop_when)} in the baseline, {_stop(after.stop_when)} in current"
    elif 0 < before.runs_per_test != after.runs_per_test > 0:
        yield f"the trials of a task differ: {before.runs_per_test} in the baseline, {after.runs_per_test} in current"


def _stop(rule: StopRule | None) -> str:
    return describe_stop(rule).partition(";")[0] if rule else "none"


def _unequal_tasks(before: Mapping[str, TaskResult], after: Mapping[str, TaskResult]) -> Iterator[str]:
    """Yield where the tasks of both files have nothing to compare, or are not graded alike."""
    both = [task_id for task_id in after if task_id in before]
    measured = ("passed", "failed")
    if not any(before[one].status in measured and after[one].status in measured for one in both):
        yield "no task has a verdict in both files: nothing was compared"
    names = [
        f"{task_id} ({', '.join(sorted(lost))})"
        for task_id in both
        if _is_graded(after[task_id]) and (lost := _graders(before[task_id]) - _graders(after[task_id]))
    ]
    if names:
        yield f"current: {_tasks(names)} without graders that the baseline has: {_list(names)}"


def _is_graded(task: TaskResult) -> bool:
    return task.status in ("passed", "failed")  # else another line says why it has no verdict


def _graders(task: TaskResult) -> set[str]:
    """Return the names of the graders of a task."""
    return {name for trial in task.runs for name in trial.validations or ()}


def _noise(alarm: FalseAlarm | None, rules: GateRules, policy: GatePolicy | None) -> Iterator[str]:
    """Yield a warning where a run of the same agent would often fail, and what would be better."""
    if alarm is None or alarm.probability <= ACCEPTED:
        return
    often = f"a run of the same agent would fail this gate in {percent(alarm.probability, 0)} of cases"
    if alarm.quiet_limit_pct > rules.max_regression_pct + TOLERANCE:
        limit = f"the limit of {rules.max_regression_pct:g} points lies within the noise"
        if alarm.exceeded < alarm.probability:
            exceeded = percent(alarm.exceeded, 0)
            often = f"{often}, and exceed the limit in {exceeded}; the other cases come of golden tasks or the policy"
        yield f"{limit}: {often}; --max-regression-pct {_up(alarm.quiet_limit_pct)} would be outside, or run more trials"
    else:
        what = "limits of the policy lie within the noise" if policy else "golden tasks are flaky"
        yield f"{what}: {often}; run more trials, or let a pass_rule or wider limits allow for it"


def _up(points: float) -> str:
    """Return a number of points with one decimal, not below it."""
    return f"{math.ceil(points * 10 - TOLERANCE) / 10:g}"


def _tasks(names: list[str]) -> str:
    return pluralize(len(names), "task")


def _list(names: list[str]) -> str:
    return list_first(names, _NAMED)


def _rounded(value: float) -> float:
    """Return the value without the noise of subtracting doubles."""
    return number(round(value, 10) + 0.0)
