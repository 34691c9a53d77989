"""What reports show: a finished run, and all runs of an invocation. Every figure and every line is made once, here.

Console, HTML, JUnit, Markdown and GitHub comments draw from these views. They choose what they show and how it looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from waza.kit import stats
from waza.kit.share import decimal, differs, percent
from waza.kit.text import pluralize
from waza.model.observation import Usage, add_usage
from waza.model.pass_rule import ALL, describe_rule, rule_name
from waza.model.requirement import BOUNDARY
from waza.model.result import ConfidenceInterval, SuiteResult, TaskResult, TriggerResult
from waza.model.stop_when import describe_stop
from waza.report.impact import Impact, impact_of
from waza.report.requirements import RequirementLine, requirement_lines
from waza.report.routing import expectation, invocation, matrix_table
from waza.report.rows import TaskRow, counts, most_trials, rows
from waza.report.section import Table
from waza.report.words import (
    COUNTS_BROKEN,
    LEFT_OUT,
    NO_SUITE,
    SKIPPED,
    grouped,
    money,
    one_line,
    status_mark,
)
from waza.results.attacks import AttackOutcome, read_attacks
from waza.results.ending import (
    CUT_OFF,
    IN_PROGRESS,
    WITHOUT_SUITE,
    came_to_its_end,
    run_status,
    tasks_planned,
)
from waza.results.figures import TaskOutline, outline_of
from waza.results.invocation import InvocationResults, suite_name
from waza.results.outcome import Outcome
from waza.results.requirements import RequirementState
from waza.results.routing import list_wrong
from waza.results.selection import describe_selection
from waza.results.treatment import recorded_treatment
from waza.results.verdict import Gate, RunVerdict, gates

if TYPE_CHECKING:
    from waza.results.comparison.measured import MeasuredTask

Pairs = list[tuple[str, str]]
"""Names and values, as people read them."""

NOT_STARTED = "not started"
NOT_KNOWN = "not known"
NO_TASK = "no task"  # of suites of trigger tests alone
_PROMPT = 100  # characters of a prompt of a trigger test
_ERROR = 500  # characters of why there was no answer to it
_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # of k, for which pass@k is shown


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """A finished run: one suite on one model.

    `name` tells it apart from the other runs of its invocation. `head` is its results file without the tasks,
    `tasks` are what reports show of those. `impact` is None without a baseline. `requirements` are those of all tasks,
    of the arm without skills behind the others.
    """

    name: str
    head: SuiteResult
    verdict: RunVerdict
    gates: tuple[Gate, ...]
    tasks: tuple[TaskRow, ...]
    impact: Impact | None
    requirements: tuple[RequirementLine, ...] = ()

    @classmethod
    def of(cls, outcome: Outcome, name: str) -> RunView:
        """Return the view of an outcome. Goes through the tasks once, and through those without the skills."""
        head = outcome.head
        most = most_trials(head)
        measured: list[MeasuredTask] = []
        without: list[MeasuredTask] = []
        if head.baseline_outcome is None:
            found, before = rows(outcome.outlines(), most), []
        else:
            found = rows(_measuring(outcome.tasks(), measured), most)
            before = rows(_measuring(outcome.baseline_tasks(), without), most)
        if run_status(head) == IN_PROGRESS:
            found = [msgspec.structs.replace(one, going_on=True) for one in found]
        return cls(
            name=name,
            head=head,
            verdict=outcome.verdict,
            gates=tuple(gates(head)),
            tasks=tuple(found),
            impact=impact_of(head, found, before, (without, measured)),
            requirements=(*requirement_lines(found), *requirement_lines(before, "baseline")),
        )

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return came_to_its_end(self.head)

    @property
    def attacks(self) -> AttackOutcome | None:
        """What packs of attacks show, held to what trials recorded; None for a run without packs."""
        boundaries = dict[str, list[RequirementState]]()
        for line in self.requirements:
            if line.outcome.category == BOUNDARY:
                boundaries.setdefault(line.task_id, []).append(line.outcome.state)
        return read_attacks(self.head, boundaries)

    @property
    def model(self) -> str:
        """The model, for people."""
        return model_name(self.head)

    @property
    def warnings(self) -> list[str]:
        """That a part of the suite was run, or that the skill was not offered, if so, and the warnings of the suite."""
        part, treatment = describe_selection(self.head), recorded_treatment(self.head)
        silent = "" if self.impact or treatment is None else treatment.contradiction
        return [*filter(None, (part, silent)), *self.head.metadata.get("warnings", ())]

    @property
    def failed(self) -> list[TaskRow]:
        """The tasks that failed or errored."""
        return [row for row in self.tasks if row.failed]

    @property
    def counts(self) -> str:
        """How many tasks ended in which way."""
        return counts(self.tasks)

    def count(self, ending: str) -> int:
        """Return how many tasks ended so."""
        return sum(row.ending == ending for row in self.tasks)

    @property
    def rates(self) -> Pairs:
        """The pass rule unless it is `all`, the success rate, and the rate over graded tasks if the two differ.

        Of a run that did not come to its end there is no rate: nobody knows what the rest would have done.
        """
        summary = self.head.summary
        if not self.tasks:
            return [*self._rule, ("Task success rate", NO_TASK)]
        share = f"{summary.succeeded} of {pluralize(summary.total_tests, 'task')}"
        if not self.complete:
            cut = self.count(CUT_OFF)
            rest = f"{cut} {CUT_OFF}" if cut else "but trials, trigger tests or hooks did not end"
            if run_status(self.head) == IN_PROGRESS:
                rest = f"the run is {IN_PROGRESS}"
            return [*self._rule, ("Task success rate", f"{NOT_KNOWN}; {share} that ran passed, {rest}")]
        shown = [*self._rule, ("Task success rate", f"{percent(summary.success_rate)} ({share})")]
        graded = summary.graded_success_rate
        if graded is not None and differs(graded, summary.success_rate):
            of = summary.succeeded + summary.failed
            note = f"{percent(graded)} ({summary.succeeded} of {of}, without errors and skipped tasks)"
            shown.append(("Graded success rate", note))
        return shown

    @property
    def _rule(self) -> Pairs:
        config = self.head.config
        if config.stop_when:
            return [("Trials", describe_stop(config.stop_when)), ("Pass rule", rule_name(config.pass_rule))]
        rule, trials = config.pass_rule, config.runs_per_test
        return [] if rule == ALL else [("Pass rule", describe_rule(rule, trials))]

    @property
    def score_note(self) -> str:
        """What is to be known of the scores over all tasks; empty where nothing broke."""
        broke = any(row.broken_trials or row.status == "error" for row in self.tasks)
        return COUNTS_BROKEN if broke else ""

    @property
    def aggregate(self) -> str:
        """The aggregate score, with what is to be known of it."""
        note = f" ({self.score_note})" if self.score_note else ""
        return decimal(self.head.summary.aggregate_score) + note

    @property
    def scores(self) -> Pairs:
        """The scores over all tasks."""
        summary = self.head.summary
        return [
            ("Aggregate score", self.aggregate),
            ("Min score", decimal(summary.min_score)),
            ("Max score", decimal(summary.max_score)),
            ("Std deviation", f"{summary.std_dev:.4f}"),
        ]

    @property
    def statistics(self) -> Pairs:
        """Intervals, and how likely several trials pass; nothing without figures."""
        found = self.head.summary.statistics
        if found is None:
            return []
        pairs = [("Score CI95", interval(found.bootstrap_ci) + self._interval_about)]
        if found.success_rate_ci:
            pairs.append(("Success rate CI95", interval(found.success_rate_ci)))
        for name, values in (("Any of k passes", found.pass_at_k), ("All of k pass", found.pass_hat_k)):
            steps = [k for k in range(1, len(values) + 1) if k in _STEPS or k == len(values)]
            if steps:
                pairs.append((name, ", ".join(f"{decimal(values[k - 1])} (k={k})" for k in steps)))
        return pairs

    @property
    def _interval_about(self) -> str:
        """What the interval of the score is about, where tasks without a trial count as 0 in the aggregate only."""
        summary, ran = self.head.summary, sum(row.stats is not None for row in self.tasks)
        about = decimal(summary.statistics.bootstrap_ci.mean) if summary.statistics else ""
        if ran == summary.total_tests or about == decimal(summary.aggregate_score):
            return ""
        return f" about {about}, the mean of {pluralize(ran, 'task')} with trials"

    @property
    def groups(self) -> list[str]:
        """A line for each group of tasks."""
        return [
            f"{one_line(group.name)}: {group.passed}/{group.total} passed"
            f" ({percent(group.passed / group.total if group.total else 0.0)})  avg: {decimal(group.avg_score)}"
            for group in self.head.summary.groups
        ]

    @property
    def trigger_figures(self) -> Pairs:
        """The figures of the trigger tests; nothing without them."""
        found = self.head.trigger_metrics
        if found is None:
            return []
        ratios = (
            ("Precision", found.precision),
            ("Recall", found.recall),
            ("F1", found.f1),
            ("Routing", found.routing),
        )
        return [
            ("Accuracy", percent(found.accuracy)),
            *([("Errors", str(found.errors))] if found.errors else []),
            *((name, percent(ratio)) for name, ratio in ratios if ratio is not None),
        ]

    @property
    def trigger_counts(self) -> str:
        """How many trigger tests ended in which way; "" without them."""
        found = self.head.trigger_metrics
        if found is None:
            return ""
        return (
            f"TP {found.true_positives}  FP {found.false_positives}"
            f"  FN {found.false_negatives}  TN {found.true_negatives}"
        )

    @property
    def trigger_failures(self) -> list[str]:
        """A line for each prompt on which the skill did not do as it should: what was expected, and what happened."""
        tested = self.head.trigger_matrix.skill if self.head.trigger_matrix else ""
        return [_describe_wrong(one, tested) for one in list_wrong(self.head)]

    @property
    def trigger_matrix(self) -> Table | None:
        """How often which skill was invoked where which was expected; None for trigger tests without neighbours."""
        found = self.head.trigger_matrix
        return matrix_table(found) if found else None

    @property
    def judging(self) -> Usage | None:
        """What judges and responders used."""
        return add_usage([row.judging for row in self.tasks])

    @property
    def usage(self) -> Usage | None:
        """What agents, judges and responders used."""
        return add_usage([self.head.summary.usage, self.judging])

    @property
    def usage_figures(self) -> Pairs:
        """The usage of all, and the judges' part of it; nothing where it is not known."""
        total, judges = self.usage, self.judging
        if total is None:
            return []
        host = f" ({total.provider_host})" if total.provider_host else ""
        requests = "Provider requests" if total.provider else "Premium requests"
        tokens = grouped(judges.tokens) if judges else ""
        known = total.tokens > 0
        return [
            *([("Provider", total.provider + host)] if total.provider else []),
            *([(requests, f"{total.premium_requests:.0f}")] if total.premium_requests else []),
            *([("AI credits", _credits(total.ai_credits))] if total.ai_credits is not None else []),
            ("Turns", grouped(total.turns)),
            ("Input tokens", grouped(total.input_tokens) if known else NOT_KNOWN),
            ("Output tokens", grouped(total.output_tokens) if known else NOT_KNOWN),
            *([("Cached tokens read", grouped(total.cache_read_tokens))] if known else []),
            *([("Cached tokens written", grouped(total.cache_write_tokens))] if known else []),
            *([("Total tokens", grouped(total.tokens))] if known else []),
            *([("Judges' part", f"{tokens} tokens")] if judges else []),
            *([("Cost", cost)] if (cost := self.cost) else []),
        ]

    @property
    def cost(self) -> str:
        """What the run cost, by which prices; that it is not known, where a model was asked; "" where none was."""
        found, usage = self.head.summary.cost, self.usage
        if found is not None:
            return f"{money(found)} ({one_line(found.source)})"
        return (
            f"{NOT_KNOWN}: a price, or a count of tokens, is missing"
            if usage is not None and usage.model_metrics
            else ""
        )

    @property
    def usage_by_model(self) -> Table | None:
        """The usage of each model, where there are several."""
        total = self.usage
        if total is None or len(total.model_metrics) < 2:
            return None
        lines = [
            (
                name,
                grouped(model.input_tokens),
                grouped(model.output_tokens),
                f"{model.request_count:.0f}",
                _credits(model.ai_credits),
            )
            for name, model in sorted(total.model_metrics.items())
        ]
        return Table(("Model", "In", "Out", "Requests", "AI Credits"), lines)


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the overview of an invocation: a run, or what was not run.

    `word` is the verdict, `not started`, `no suite` or `left out`. `passed` and `score` are empty for what was not run; `why` says
    what prevented it.
    """

    name: str
    mark: str
    word: str
    passed: str = ""
    score: str = ""
    why: str = ""

    @property
    def shown(self) -> str:
        """The word with its mark."""
        return f"{self.mark} {self.word}"


class SkillLine(msgspec.Struct, frozen=True, kw_only=True):
    """One skill of an invocation: what the runs on its models come to.

    `success_rate` is the share of all planned tasks that passed, `score` the mean over the runs.
    """

    skill: str
    models: tuple[str, ...]
    passed: bool
    success_rate: float
    score: float


class InvocationView(msgspec.Struct, frozen=True):
    """All runs of an invocation, and what of it was not run."""

    results: InvocationResults

    @property
    def verdict(self) -> RunVerdict:
        """The verdict over all of it."""
        return self.results.verdict

    @property
    def single(self) -> bool:
        """Whether one run is all that there is to show."""
        return self.results.single

    def runs(self) -> Iterator[RunView]:
        """Yield the runs one at a time, so that the tasks of one alone are in memory."""
        for name, outcome in self.results.named:
            yield RunView.of(outcome, name)

    @property
    def lines(self) -> list[RunLine]:
        """The overview: every run, then what was not run."""
        return [*map(_run_line, self.results.named), *self.not_started, *self.not_run]

    @property
    def not_started(self) -> list[RunLine]:
        """What was to run and did not."""
        return [
            RunLine(name=one.name, mark="❌", word=NOT_STARTED, why=f"it did not run: {one.why}")
            for one in self.results.not_started
        ]

    @property
    def not_run(self) -> list[RunLine]:
        """The skills that were found and have no suite, and the suites that were left out."""
        without = [
            RunLine(name=name, mark=SKIPPED, word=NO_SUITE, why=WITHOUT_SUITE)
            for name in self.results.without_suite
        ]
        left_out = [
            RunLine(name=one.skill, mark=SKIPPED, word=LEFT_OUT, why=one.why) for one in self.results.left_out
        ]
        return without + left_out

    @property
    def skills(self) -> list[SkillLine]:
        """The skills that ran, each with what the runs on its models come to."""
        absent = {one.skill for one in self.results.not_started}
        found: dict[str, list[Outcome]] = {}
        for skill, outcome in self._by_skill():
            found.setdefault(skill, []).append(outcome)
        return [_skill_line(skill, own, whole=skill not in absent) for skill, own in found.items()]

    @property
    def models(self) -> list[tuple[str, list[Outcome]]]:
        """The suites that ran on several models, each with the outcomes on them."""
        found: dict[tuple[str, str], list[Outcome]] = {}
        for skill, outcome in self._by_skill():
            found.setdefault((skill, outcome.head.eval_name), []).append(outcome)
        return [
            (skill, own)
            for (skill, _), own in found.items()
            if len({one.head.config.model_id for one in own}) > 1
        ]

    def _by_skill(self) -> Iterator[tuple[str, Outcome]]:
        outcomes = self.results.outcomes
        skills = self.results.skills or [suite_name(outcome.head) for outcome in outcomes]
        return zip(skills, outcomes, strict=True)


def _measuring(tasks: Iterable[TaskResult], measured: list[MeasuredTask]) -> Iterator[TaskOutline]:
    """Yield the outlines of tasks, and keep what was measured of them."""
    from waza.results.comparison.measured import measure_task  # most runs compare nothing

    for task in tasks:
        measured.append(measure_task(task))
        yield outline_of(task)


def compare_outcomes(outcomes: Sequence[Outcome], base: int = 0) -> list[str]:
    """Return what can be said of each of the other models of a suite against one, by their scores.

    Goes through the tasks of all of them once.
    """
    from waza.results.comparison.conclude import Measured, describe_scores
    from waza.results.comparison.measured import measure

    measured = [Measured(model_name(one.head), measure(one.tasks())) for one in outcomes]
    pairs = [(measured[base], other) for place, other in enumerate(measured) if place != base]
    sentences = describe_scores(pairs)
    return [
        f"{one_line(b.name)} against {one_line(a.name)}: {what}"
        for (a, b), what in zip(pairs, sentences, strict=True)
    ]


def model_name(head: SuiteResult) -> str:
    """Return the model of a run, for people."""
    return head.config.model_id or "(default)"


def success_rate(head: SuiteResult) -> str:
    """Return the success rate of a run; it is not known where the run did not come to its end."""
    if not (head.summary.total_tests or head.summary.skipped):
        return NO_TASK
    return percent(head.summary.success_rate) if came_to_its_end(head) else NOT_KNOWN


def interval(found: ConfidenceInterval) -> str:
    """Return a confidence interval as people read it."""
    return f"[{decimal(found.lower)}, {decimal(found.upper)}]"


def _run_line(named: tuple[str, Outcome]) -> RunLine:
    name, outcome = named
    verdict, summary = outcome.verdict, outcome.head.summary
    return RunLine(
        name=name,
        mark=verdict.mark,
        word=verdict.word,
        passed=f"{summary.succeeded} of {summary.total_tests}",
        score=decimal(summary.aggregate_score),
    )


def _skill_line(skill: str, outcomes: Sequence[Outcome], *, whole: bool) -> SkillLine:
    ends = [outcome.head.summary for outcome in outcomes]
    planned = sum(map(tasks_planned, ends))
    return SkillLine(
        skill=skill,
        models=tuple(outcome.head.config.model_id for outcome in outcomes),
        passed=whole and all(outcome.verdict.passed for outcome in outcomes),
        success_rate=sum(one.succeeded for one in ends) / planned if planned else 0.0,
        score=stats.mean([one.aggregate_score for one in ends]),
    )


def _describe_wrong(one: TriggerResult, tested: str) -> str:
    """Return what was expected on a prompt, and what happened; `tested` is the skill that has neighbours, if it has any."""
    prompt = f'"{one_line(one.prompt, _PROMPT)}"'
    if not tested:
        wanted = "should trigger" if one.should_trigger else "should not trigger"
        seen = "it triggered" if one.did_trigger else "it did not trigger"
    else:
        wanted, seen = expectation(one.expected_skill, tested), invocation(one.invoked_skills or [])
    if one.error_msg:
        return f"{status_mark('error')} {prompt} {wanted}: {one_line(one.error_msg, _ERROR)}"
    return f"{status_mark('failed')} {prompt} {wanted}: {seen}"


def _credits(credits_used: float | None) -> str:
    return "n/a" if credits_used is None else f"{credits_used:.9f}"
