"""What reports show of a task, taken from its results while they pass by, without the transcripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from waza.kit.share import decimal, percent
from waza.kit.text import pluralize, shorten_middle
from waza.model.cost import Cost
from waza.model.observation import Usage, add_usage
from waza.model.result import SkillImpact, SuiteResult, TaskStats, TrialResult, TrialStatus, Validation
from waza.model.stop_when import EndedBy
from waza.report.words import one_line
from waza.results.ending import BAD, CUT_OFF, IN_PROGRESS, UNSTARTED, cut_off, task_ending
from waza.results.figures import SNAPSHOT_UPDATES, TaskOutline, TrialFigures
from waza.results.requirements import RequirementOutcome, join_requirements

LONGEST = 4000  # characters of a feedback that a report keeps
EXCERPT = 200  # characters of what was expected and found
OUTPUT = 2000  # characters of an output

# Where graders put what they wanted and what they saw instead, in order of preference.
EXPECTED = ("expected", "expected_actions", "required_skills", "expect_tools")
FOUND = ("found", "actual", "actual_actions", "actual_skills", "exit_error", "tools_used")


class CheckRow(msgspec.Struct, frozen=True, kw_only=True):
    """A grader's verdict in a trial that did not pass, unless the error of the trial states it already.

    `after_turn` is the checkpoint that it belongs to, 0 for the end of the trial. `expected`, `found` and
    `where` are empty if the grader did not say.
    """

    grader: str
    type: str
    score: float
    passed: bool
    feedback: str
    after_turn: int = 0
    expected: str = ""
    found: str = ""
    where: str = ""

    @property
    def label(self) -> str:
        """The grader's name and type, and the step at which it was asked."""
        step = f", after turn {self.after_turn}" if self.after_turn else ""
        kind = f" ({self.type}{step})" if self.type or step else ""
        return self.grader + kind.replace("(, ", "(")

    @property
    def details(self) -> list[tuple[str, str]]:
        """What the grader found besides its feedback, as names and values; not what the feedback says already."""
        pairs = (("expected", self.expected), ("found", self.found), ("where", self.where))
        return [(name, value) for name, value in pairs if value and value != self.feedback]


class BadTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that failed or errored.

    `excerpt` is its final output, without the middle where it is long, and `output_length` how many characters it has.
    """

    number: int
    status: str
    attempts: int
    error: str
    excerpt: str
    output_length: int
    checks: tuple[CheckRow, ...]

    @property
    def output(self) -> str:
        """The beginning of its final output in one line."""
        return one_line(self.excerpt[: 2 * EXCERPT], EXCERPT)

    @property
    def misses(self) -> list[CheckRow]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.passed]


class TrialSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a trial. Tokens are those of its agent in all attempts; None where they are not known."""

    number: int
    status: TrialStatus
    score: float
    duration_ms: int
    input_tokens: int | None = None
    output_tokens: int | None = None


_ENDED: dict[EndedBy, str] = {
    "ci_half_width": "narrow enough",
    "pass_rule": "decided",
    "max_trials": "undecided",
    "not_graded": "not graded",
}


class TaskRow(msgspec.Struct, frozen=True, kw_only=True):
    """A task. `bad_trials` failed or errored, `first_tries` counts those that passed at their first attempt.

    `title` is the name, with the id where other tasks have the same name. `missing` counts the planned trials that
    did not run, or have not run yet where the run is `going_on`. `broken_trials` counts those that errored. `judging` is what judges
    and responders used, `cost` what all of it cost, None where that is not known. `error` says what kept the task from starting. `ended_by` says why a task of a run with `stop_when`,
    which could have `most` trials, has no further one.
    """

    id: str
    name: str
    status: str
    trials: int
    group: str = ""
    golden: bool = False
    cached: bool = False
    rejudged: bool = False
    stats: TaskStats | None = None
    impact: SkillImpact | None = None
    graders: tuple[str, ...] = ()
    trial_summaries: tuple[TrialSummary, ...] = ()
    bad_trials: tuple[BadTrial, ...] = ()
    passed_trials: int = 0
    first_tries: int = 0
    snapshots: tuple[str, ...] = ()
    title: str = ""
    missing: int = 0
    judging: Usage | None = None
    cost: Cost | None = None
    error: str = ""
    requirements: tuple[RequirementOutcome, ...] = ()
    broken_trials: int = 0
    going_on: bool = False
    most: int = 0
    ended_by: EndedBy | None = None

    @property
    def ending(self) -> str:
        """The status for people: a task whose trials did not all run has not passed."""
        return task_ending(self.status, trials=self.trials, missing=self.missing, going_on=self.going_on)

    @property
    def planned(self) -> int:
        """How many trials there were to be."""
        return self.trials + self.missing

    @property
    def why_cut_off(self) -> str:
        """The line about a task some of whose trials did not run."""
        return cut_off(self.missing, self.planned)

    @property
    def score(self) -> float:
        """The mean score of the trials; 0 for a task without figures."""
        return self.stats.avg_score if self.stats else 0.0

    @property
    def score_interval(self) -> str:
        """The 95 % interval of the score over several trials, else ""."""
        if self.stats is None or self.trials < 2:
            return ""
        return f"[{decimal(self.stats.ci95_lo)}, {decimal(self.stats.ci95_hi)}]"

    @property
    def tokens(self) -> int | None:
        """The tokens of the agent over all trials; None where they are not known."""
        known = [one for one in self.trial_summaries if one.input_tokens is not None]
        return sum((one.input_tokens or 0) + (one.output_tokens or 0) for one in known) if known else None

    @property
    def retried(self) -> bool:
        """Whether a trial passed only on a later attempt."""
        return self.first_tries < self.passed_trials

    @property
    def flaky(self) -> bool:
        """Whether the task sometimes passes: in some of its trials, or only on a later attempt."""
        return self.retried or bool(self.stats and self.stats.flaky)

    @property
    def first_try_rate(self) -> str:
        """The pass@1 of a task of which a trial passed only on a later attempt, else ""."""
        return f"pass@1 {percent(self.first_tries / self.trials, 0)}" if self.retried else ""

    @property
    def stopping(self) -> str:
        """How many trials a task could have whose trials a rule ends, and how it ended: `up to 20, decided`; else ""."""
        notes = [f"up to {self.most}"] if self.most else []
        notes += [_ENDED[self.ended_by]] if self.ended_by else []
        return ", ".join(notes)

    @property
    def trials_note(self) -> str:
        """What follows the number of trials in reports: that in brackets."""
        return f" ({self.stopping})" if self.stopping else ""

    @property
    def tags(self) -> list[str]:
        """What there is to say of the task besides its status."""
        known = (
            ("golden", self.golden),
            ("cached", self.cached),
            ("judged again", self.rejudged),
            ("flaky", self.flaky),
            (self.first_try_rate, self.retried),
        )
        return [tag for tag, on in known if on]

    @property
    def first_error(self) -> str:
        """The first error of its trials, else what kept the task from starting."""
        return next((trial.error for trial in self.bad_trials if trial.error), self.error)

    @property
    def never_passed(self) -> bool:
        """Whether every one of several trials failed or errored."""
        return self.trials > 1 and len(self.bad_trials) == self.trials

    @property
    def failed(self) -> bool:
        """Whether the task failed or errored."""
        return self.status in BAD


def most_trials(head: SuiteResult) -> int:
    """Return how many trials a task of a run with `stop_when` could have; 0 for any other run."""
    return head.config.runs_per_test if head.config.stop_when else 0


def row(outline: TaskOutline, most: int = 0) -> TaskRow:
    """Return what reports say of a task, which could have `most` trials where a rule ends them."""
    task, trials = outline.task, outline.trials
    passed = [found for _, found in trials if found.status == "passed"]
    return TaskRow(
        id=task.test_id,
        name=task.display_name or task.test_id,
        title=task.display_name or task.test_id,
        status=task.status,
        trials=len(trials),
        group=task.group,
        golden=task.golden,
        cached=task.cached,
        rejudged=task.rejudged,
        stats=task.stats,
        impact=task.skill_impact,
        graders=trials[0][1].graders if trials else (),
        trial_summaries=tuple([_summary(number, found) for number, found in trials]),
        bad_trials=tuple([_trial(trial) for trial in task.runs if trial.status in BAD]),
        passed_trials=len(passed),
        first_tries=sum(1 for trial in passed if trial.attempts <= 1),
        judging=None
        if task.cached and not task.rejudged
        else add_usage([found.judging for _, found in trials]),
        cost=task.cost,
        error=shorten_middle(task.error_msg, LONGEST),
        missing=task.missing_trials,
        most=most,
        ended_by=task.ended_by,
        requirements=tuple(
            join_requirements(task.requirements, [found.observed for _, found in trials], task.missing_trials)
        ),
        broken_trials=sum(found.status == "error" for _, found in trials),
        snapshots=tuple([line for trial in task.runs for line in _snapshots(trial.validations or {})]),
    )


def rows(tasks: Iterable[TaskOutline], most: int = 0) -> list[TaskRow]:
    """Return the rows of tasks, going through them once; each could have `most` trials where a rule ends them."""
    found = [row(task, most) for task in tasks]
    names = Counter(row.name for row in found)
    return [
        msgspec.structs.replace(row, title=f"{row.name} ({row.id})") if names[row.name] > 1 else row
        for row in found
    ]


def counts(found: Sequence[TaskRow]) -> str:
    """Return how many tasks ended in which way."""
    endings = Counter(row.ending for row in found)
    parts = [
        f"{endings['passed']} passed",
        f"{endings['failed']} failed",
        pluralize(endings["error"], "error"),
        *(
            f"{endings[ending]} {ending}"
            for ending in ("skipped", CUT_OFF, IN_PROGRESS, UNSTARTED)
            if endings[ending]
        ),
    ]
    return ", ".join(parts)


def _summary(number: int, found: TrialFigures) -> TrialSummary:
    return TrialSummary(
        number=number,
        status=found.status,
        score=found.score,
        duration_ms=found.duration_ms,
        input_tokens=found.usage.input_tokens if found.usage and found.usage.tokens else None,
        output_tokens=found.usage.output_tokens if found.usage and found.usage.tokens else None,
    )


def _trial(trial: TrialResult) -> BadTrial:
    return BadTrial(
        number=trial.run_number,
        status=trial.status,
        attempts=trial.attempts,
        error=shorten_middle(trial.error_msg, LONGEST),
        excerpt=shorten_middle(trial.final_output, OUTPUT),
        output_length=len(trial.final_output),
        checks=tuple(checks_of(trial)),
    )


def checks_of(trial: TrialResult) -> list[CheckRow]:
    """Return the verdicts in a trial, those of checkpoints included, sorted by grader and turn.

    Those that its error reports already are left out.
    """
    checks = list(_checks(trial.validations or {}, trial.error_msg))
    for checkpoint in trial.checkpoints:
        checks += _checks(checkpoint.validations, trial.error_msg, checkpoint.after_turn)
    return sorted(checks, key=lambda check: (check.grader, check.after_turn))


def _checks(validations: Mapping[str, Validation], error: str, after_turn: int = 0) -> Iterator[CheckRow]:
    """Yield the verdicts of graders, but for errors that are already in the error of the trial."""
    for name in sorted(validations):
        verdict = validations[name]
        broke = verdict.details.get("error")
        if broke and f"{verdict.identifier or name}: {broke}" in error:
            continue
        yield CheckRow(
            grader=verdict.identifier or name,
            type=verdict.type,
            score=verdict.score,
            passed=verdict.passed,
            feedback=shorten_middle(verdict.feedback, LONGEST),
            after_turn=after_turn,
            expected=_first(verdict.details, EXPECTED),
            found=_first(verdict.details, FOUND),
            where=_where(verdict.details),
        )


def _first(details: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    found = next((details[key] for key in keys if details.get(key) not in (None, "", [])), None)
    return "" if found is None else one_line(plain_value(found), EXCERPT)


def plain_value(value: object) -> str:
    """Return a value as people read it: texts as they are, lists of texts with commas, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return msgspec.json.encode(value, enc_hook=str).decode()


def _where(details: Mapping[str, Any]) -> str:
    evidence = details.get("evidence")
    if not isinstance(evidence, list):
        return ""
    refs = [str(item["ref"]) for item in evidence if isinstance(item, dict) and item.get("ref")]
    return one_line(", ".join(refs), EXCERPT)


def _snapshots(validations: Mapping[str, Validation]) -> Iterator[str]:
    for verdict in validations.values():
        for update in verdict.details.get(SNAPSHOT_UPDATES) or []:
            if not isinstance(update, dict):
                continue
            status = str(update.get("status", ""))
            changed = update.get("lines_changed", 0)
            words = {"updated": f"updated ({changed} lines)", "unchanged": "no changes"}.get(status, status)
            yield f"{update.get('snapshot') or update.get('path')}: {words}"
