"""The fold from finished trials to results. Live, resumed and regraded runs all end here.

It keeps figures only; the records themselves stay in the journal and are read again one task at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Protocol, cast

import msgspec

from waza.kit import stats
from waza.kit.share import reaches
from waza.model.cost import Cost, add_costs
from waza.model.loaded import Suite
from waza.model.observation import Usage
from waza.model.result import (
    MetricResult,
    Pairwise,
    RunConfig,
    SkillImpact,
    SuiteResult,
    Summary,
    TaskResult,
    TrialResult,
    TriggerMatrix,
    TriggerMetrics,
    TriggerResult,
    number,
)
from waza.model.suite import BEHAVIOURAL, SCHEMA_VERSION, Metric
from waza.model.task import Task
from waza.model.trial import Arm, TrialKey
from waza.results.cost import charges
from waza.results.ending import COMPLETE, NO_DATA, NOT_STARTED
from waza.results.figures import (
    TaskFigures,
    TaskOutline,
    TrialFigures,
    figures_of,
    summary,
)
from waza.results.outcome import Outcome
from waza.results.treatment import SeenTrial, judge_treatment, see_trial, with_treatment
from waza.results.verdict import gating, judge, with_verdict, without_data


class TrialReader(Protocol):
    """Reads the records of trials, by where they begin in the journal."""

    def read_trial(self, offset: int) -> TrialResult:
        """Return a record."""
        ...

    def read_encoded(self, offset: int) -> msgspec.Raw:
        """Return a record as it is in results files, as JSON in one line."""
        ...


_TRIGGER = "trigger_"  # begins the names of metrics of trigger tests


class Triggers(msgspec.Struct, frozen=True):
    """What the trigger tests gave."""

    metrics: TriggerMetrics | None = None
    results: tuple[TriggerResult, ...] = ()
    usages: tuple[Usage | None, ...] = ()
    matrix: TriggerMatrix | None = None
    costs: tuple[Cost | None, ...] = ()  # of those whose tokens are known


class Fold:
    """Figures of all trials of one run: one suite on one model, one or two arms."""

    def __init__(self, suite: Suite, model: str, arms: Sequence[Arm]) -> None:
        self.suite, self.model = suite, model
        self.tasks: dict[Arm, dict[str, TaskFigures]] = {
            arm: {
                task.id: TaskFigures(
                    task_id=task.id,
                    groups=groups_of(suite, task, model),
                    planned=suite.file.config.trials_per_task,
                    rule=suite.file.config.pass_rule,
                    stop=suite.file.config.stop_rule,
                )
                for task in suite.tasks
            }
            for arm in arms
        }
        self._requirements = {task.id: task.requirements for task in suite.tasks}
        self._without = {task.id for task in suite.tasks if task.no_skills}
        self.durations: dict[Arm, int] = dict.fromkeys(arms, 0)  # the sum over all parts of the run
        self._scores: dict[TrialKey, list[tuple[str, str, float]]] = {}  # grader, type and score
        self._sessions: dict[TrialKey, list[dict[str, Any]]] = {}
        self._seen: dict[TrialKey, SeenTrial | None] = {}  # what trials say of their arms
        self._repeats: dict[TrialKey, int] = {}  # how often a trial that broke was run again
        self._costs: dict[TrialKey, list[Cost | None]] = {}  # of each record of it whose tokens are known

    def add(
        self,
        arm: Arm,
        task_id: str,
        run: TrialResult,
        offset: int,
        *,
        cached: bool = False,
        rejudged: bool = False,
    ) -> None:
        """Add a finished trial, whose record begins at `offset` of the journal, in the place of an earlier record.

        What the sessions of that one cost still counts. Of a cached trial only judges cost anything, if it was
        `rejudged`.
        """
        key = TrialKey(arm, task_id, run.run_number)
        task = self.tasks[arm][task_id]
        if run.run_number in task.trials:
            self._repeats[key] = self._repeats.get(key, 0) + 1 + task.trials[run.run_number].error_retries
        charged = charges(run, "", "", judges_only=rejudged)
        if (rejudged or not cached) and any(usage is not None and usage.tokens for usage, _ in charged):
            self._costs.setdefault(key, []).append(run.cost)
        found = figures_of(
            run, offset, cached=cached, rejudged=rejudged, requirements=self._requirements[task_id]
        )
        task.add(run.run_number, found)
        offered = arm == "main" and task_id not in self._without
        self._seen[key] = see_trial(run, self.suite.file.skill, with_skills=offered, paired=self._is_paired)
        costs = _judges(run) if rejudged else [] if cached else _sessions(run)
        if costs:
            self._sessions[key] = [*self._sessions.get(key, ()), *costs]
        if arm == "main" and self.suite.file.metrics:
            verdicts = (run.validations or {}).values()
            self._scores[key] = [(one.identifier, one.type, one.score) for one in verdicts]

    @property
    def _is_paired(self) -> bool:
        return "baseline" in self.tasks

    def _keys(self) -> Iterator[TrialKey]:
        """Yield the finished trials in the order of the plan, in whatever order they ended."""
        for arm, found in self.tasks.items():
            for task in self.suite.tasks:
                yield from (TrialKey(arm, task.id, number) for number in sorted(found[task.id].trials))

    def stop(self, arm: Arm, task_id: str, reason: str) -> None:
        """Note that a task was aborted before its first trial."""
        self.tasks[arm][task_id].stopped = reason

    def trials(self, arm: Arm, task_id: str) -> dict[int, TrialFigures]:
        """Return the figures of the finished trials of a task, by number."""
        return self.tasks[arm][task_id].trials

    def outcome(
        self,
        reader: TrialReader,
        *,
        run_id: str,
        timestamp: str,
        triggers: Triggers | None = None,
        warnings: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
    ) -> tuple[Outcome, list[str]]:
        """Return the outcome with its verdict, and warnings about metrics without data.

        `metadata` has the `run_status`; the verdict is added to it, and the warnings of the suite, of the run and
        about metrics. Tasks that never ran are listed as skipped.
        """
        triggers, metadata = triggers or Triggers(), metadata or {}
        trials = self.suite.file.config.trials_per_task
        figures = list(self.tasks["main"].values())
        total = summary(figures, trials, self.durations.get("main", 0), extra_usage=triggers.usages)
        total = msgspec.structs.replace(total, cost=self._cost("main", triggers))
        metrics, unmeasured = self._metrics(total, triggers.metrics)
        if self.suite.part is not None:
            metrics, unmeasured = {}, []  # they are of the whole, and not of a shard
        if metadata.get("run_status", COMPLETE) != COMPLETE:
            unmeasured = []  # the data would have come
        listed = [*(str(problem) for problem in self.suite.warnings), *warnings, *unmeasured]
        sessions = [
            *(cost for key in self._keys() for cost in self._sessions.get(key, ())),
            *_costs(zip(triggers.usages, (one.session_id for one in triggers.results), strict=False)),
        ]
        head = SuiteResult(
            schemaVersion=SCHEMA_VERSION,
            eval_id=run_id,
            skill=self.suite.file.skill,
            eval_name=self.suite.name,
            timestamp=timestamp,
            config=run_config(self.suite, self.model),
            summary=total,
            metrics=dict(sorted(metrics.items())),
            tasks=[],
            trigger_metrics=triggers.metrics,
            trigger_results=list(triggers.results),
            trigger_matrix=triggers.matrix,
            metadata={**metadata, **({"warnings": listed} if listed else {})},
            evaluation_usage={"sessions": sessions} if sessions else None,
        )
        baseline = self._baseline(head, trials)
        if baseline is not None:
            head = msgspec.structs.replace(head, is_baseline=True, baseline_outcome=baseline)
        seen = [one for one in self._seen.values() if one]
        head = with_treatment(head, judge_treatment(seen, self.suite.file.skill))
        head = without_data(head, self._unmeasured(metrics))
        verdict = judge(head, missing_trials=self._missing(), graded=not self._ungraded())
        return Outcome(
            with_verdict(head, verdict),
            lambda arm, encoded: self._results(arm, reader, encoded=encoded),
            lambda arm: self._outlines(arm, reader),
        ), unmeasured

    def _baseline(self, head: SuiteResult, trials: int) -> SuiteResult | None:
        if "baseline" not in self.tasks:
            return None
        figures = list(self.tasks["baseline"].values())
        ran = any(task.trials or task.stopped for task in figures)
        return msgspec.structs.replace(
            head,
            summary=msgspec.structs.replace(
                summary(figures, trials, self.durations.get("baseline", 0)), cost=self._cost("baseline")
            ),
            metrics={},
            trigger_metrics=None,
            trigger_results=[],
            trigger_matrix=None,
            metadata={} if ran else {"run_status": NOT_STARTED},
            evaluation_usage=None,
        )

    def _cost(self, arm: Arm, triggers: Triggers | None = None) -> Cost | None:
        """Return what an arm cost, with the trigger tests where they are given."""
        parts = [cost for key in self._keys() if key.arm == arm for cost in self._costs.get(key, ())]
        return add_costs([*parts, *(triggers.costs if triggers else ())])

    def _missing(self) -> int:
        """Return how many planned trials did not run."""
        return sum(task.missing for tasks in self.tasks.values() for task in tasks.values())

    def _unmeasured(self, measured: Collection[str]) -> list[str]:
        """Return the gates without data. An executor that plays a script need not say what triggers a skill."""
        if self.suite.part is not None:
            return []
        exempt = self.suite.capabilities.scripted and self.suite.trigger_tests is None
        found = (
            metric for metric in self.suite.file.metrics if gating(metric) and metric.name not in measured
        )
        return [one.name for one in found if one.gate or (one.threshold > 0 and not exempt)]

    def _ungraded(self) -> bool:
        """Return whether trials ran without being graded."""
        found = (task for tasks in self.tasks.values() for task in tasks.values())
        return any(trial.status == "skipped" for task in found for trial in task.trials.values())

    def _results(self, arm: Arm, reader: TrialReader, *, encoded: bool) -> Iterator[TaskResult]:
        for task in self.suite.tasks:
            figures = self.tasks[arm][task.id]
            keys = [TrialKey(arm, task.id, number) for number in sorted(figures.trials)]
            runs = [self._record(key, reader, encoded=encoded) for key in keys]
            yield self._result(arm, task, figures, cast("list[TrialResult]", runs))

    def _outlines(self, arm: Arm, reader: TrialReader) -> Iterator[TaskOutline]:
        for task in self.suite.tasks:
            figures = self.tasks[arm][task.id]
            trials = tuple(sorted(figures.trials.items()))
            keys = [TrialKey(arm, task.id, number) for number, trial in trials if trial.notable]
            runs = [self._record(key, reader, encoded=False) for key in keys]
            yield TaskOutline(self._result(arm, task, figures, cast("list[TrialResult]", runs)), trials)

    def _result(self, arm: Arm, task: Task, figures: TaskFigures, runs: list[TrialResult]) -> TaskResult:
        return TaskResult(
            cached=figures.cached,
            rejudged=figures.rejudged,
            test_id=task.id,
            display_name=task.name,
            group=", ".join(figures.groups),
            golden=task.golden,
            tags=list(task.tags),
            status=figures.status,
            runs=runs,
            missing_trials=figures.missing,
            ended_by=figures.ended_by,
            without_skills=arm == "baseline" or task.no_skills,
            stats=figures.stats,
            skill_impact=self._impact(task.id) if arm == "main" and self._is_paired else None,
            error_msg=figures.stopped,
            cost=add_costs(
                cost
                for number in figures.trials
                for cost in self._costs.get(TrialKey(arm, task.id, number), ())
            ),
            requirements=list(task.requirements),
        )

    def _record(self, key: TrialKey, reader: TrialReader, *, encoded: bool) -> TrialResult | msgspec.Raw:
        offset, repeats = self.tasks[key.arm][key.task_id].trials[key.number].offset, self._repeats.get(key)
        if repeats:
            found = reader.read_trial(offset)
            return msgspec.structs.replace(found, error_retries=repeats + found.error_retries)
        return reader.read_encoded(offset) if encoded else reader.read_trial(offset)

    def _impact(self, task_id: str) -> SkillImpact | None:
        main, baseline = self.tasks["main"][task_id], self.tasks["baseline"][task_id]
        with_skills, without = main.pass_rate, baseline.pass_rate
        if with_skills is None or without is None or main.missing or baseline.missing:
            return None
        if any(one.status not in ("passed", "failed") for one in (*main.ordered, *baseline.ordered)):
            return None  # an error is no measurement
        numbers = [
            TrialKey(arm, task_id, number) for arm in self.tasks for number in self.trials(arm, task_id)
        ]
        treatment = judge_treatment([one for key in numbers if (one := self._seen.get(key))], "")
        if treatment and treatment.contradiction:
            return None
        delta = with_skills - without
        return SkillImpact(
            pass_rate_with_skills=number(with_skills),
            pass_rate_baseline=number(without),
            delta=number(delta),
            percent_change=number(delta / max(without, 0.01) * 100),
            pairwise=msgspec.convert(main.pairwise, Pairwise) if main.pairwise else None,
        )

    def _metrics(
        self, total: Summary, triggers: TriggerMetrics | None
    ) -> tuple[dict[str, MetricResult], list[str]]:
        results, warnings = {}, []
        for metric in self.suite.file.metrics:
            if not metric.enabled:
                continue
            value = self._value(metric, total, triggers)
            if value is None:
                warnings.append(
                    f"the metric {metric.name!r} has {NO_DATA}: no grader or trigger test gave any"
                )
                continue
            results[metric.name] = MetricResult(
                identifier=metric.name,
                value=number(value),
                threshold=number(metric.threshold),
                passed=metric.threshold <= 0 or reaches(value, metric.threshold),
                weight=number(metric.weight),
                details={"gate": True} if metric.gate else {},
            )
        return results, warnings

    def _value(self, metric: Metric, total: Summary, triggers: TriggerMetrics | None) -> float | None:
        if metric.name.startswith(_TRIGGER):
            key = metric.name.removeprefix(_TRIGGER)
            if key in ("accuracy", "precision", "recall", "routing"):
                return getattr(triggers, key) if triggers else None
        if metric.name == "task_completion":
            return total.success_rate if total.total_tests else None
        if metric.name == "behavior_quality":
            return self._mean(lambda _, kind: kind in BEHAVIOURAL)
        return self._mean(lambda name, _: name == metric.name)

    def _mean(self, wanted: Callable[[str, str], bool]) -> float | None:
        scores = (one for key in self._keys() for one in self._scores.get(key, ()))
        found = [score for name, kind, score in scores if wanted(name, kind)]
        return stats.mean(found) if found else None


def _sessions(run: TrialResult) -> list[dict[str, Any]]:
    """Return what every session of a trial cost: the agent's, discarded attempts', judges' and responders'."""
    own, discarded = run.session_digest, [(attempt.usage, "") for attempt in run.attempt_history]
    held = [(session.usage, session.session_id) for session in (own, *run.grader_sessions)]
    return _costs([*held, *discarded])


def _judges(run: TrialResult) -> list[dict[str, Any]]:
    """Return what the sessions of judges cost."""
    return _costs((session.usage, session.session_id) for session in run.grader_sessions)


def _costs(held: Iterable[tuple[Usage | None, str]]) -> list[dict[str, Any]]:
    """Return the costs of sessions, given with their ids; scripted sessions cost nothing and are left out."""
    return [
        {**({"session_id": name} if name else {}), "usage": msgspec.to_builtins(usage)}
        for usage, name in held
        if usage is not None and usage.provider + usage.provider_host + "".join(usage.model_metrics)
    ]


def run_config(suite: Suite, model: str) -> RunConfig:
    """Return the settings that results name."""
    config = suite.file.config
    efforts = suite.capabilities.efforts  # what the executor does not know was not applied
    return RunConfig(
        runs_per_test=config.trials_per_task,
        stop_when=config.stop_rule,
        pass_rule=config.pass_rule,
        model_id=model,
        engine_type=config.executor,
        timeout_sec=config.timeout_seconds,
        judge_model=config.judge_model,
        reasoning_effort=(efforts and config.reasoning_effort) or "",
        judge_reasoning_effort=(efforts and config.judge_reasoning_effort) or "",
    )


def groups_of(suite: Suite, task: Task, model: str) -> tuple[str, ...]:
    """Return the groups that a task belongs to by `config.group_by`."""
    match suite.file.config.group_by:
        case "model":
            return (model,) if model else ()
        case "skill":
            return (suite.file.skill,) if suite.file.skill else ()
        case "tags":
            return task.tags or ("untagged",)
        case "task_id":
            return (task.id,)
        case _:
            return ()
