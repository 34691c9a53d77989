"""The results file, schema 1.4, field by field in the order in which it is written.

Fields without a default are always written; the others are left out while they are empty.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from waza.model.cost import Cost
from waza.model.observation import CommandInvocation, Denial, Event, SkillInvocation, ToolEvent, Usage
from waza.model.pass_rule import ALL, PassRule
from waza.model.requirement import RecordedRequirement
from waza.model.stop_when import EndedBy, StopRule

TrialStatus = Literal["passed", "failed", "error", "skipped"]
TaskStatus = Literal["passed", "failed", "error", "skipped"]
SkillOffer = Literal["full", "name", "absent", "unknown"]


class ResultPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the results file."""


class Validation(ResultPart, frozen=True, kw_only=True):
    """A grader's verdict in a run."""

    identifier: str
    """The name of the grader."""
    type: str
    """The type of the grader; empty for checks of `expected` on the output."""
    score: float
    """From 0 to 1."""
    weight: float
    """How much the grader counts in weighted scores."""
    passed: bool
    """Whether the grader passed."""
    feedback: str
    """Why, in words."""
    details: dict[str, Any] = {}
    """What the grader found, by its type. `error` says why there is no verdict."""
    duration_ms: int = msgspec.field()
    """Milliseconds that the grader took."""
    started_ms: int | None = None
    """When it was asked: milliseconds since the first prompt of the attempt was sent. Left out where it is not known."""


class DigestArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The five arguments that the digest keeps of a call; `tool_events` has all of them."""

    path: str = ""
    """The argument `path`."""
    file_text: str = ""
    """The argument `file_text`."""
    command: str = ""
    """The argument `command`."""
    description: str = ""
    """The argument `description`."""
    skill: str = ""
    """The argument `skill`."""


class DigestCall(ResultPart, frozen=True, kw_only=True):
    """A tool call in the session digest (the older, shorter record)."""

    id: str = ""
    """The id of the call, where the agent has one."""
    name: str = msgspec.field()
    """The name of the tool."""
    arguments: Any = msgspec.field()
    """Five well-known arguments; `tool_events` has all."""
    result: Any = None
    """What the tool answered."""
    success: bool | None = msgspec.field()
    """Whether the call succeeded; null: it was not recorded."""


class SessionDigest(ResultPart, frozen=True, kw_only=True):
    """The session of a run in short."""

    tool_call_count: int
    """The number of tool calls."""
    tools_used: list[str] | None
    """The name of every call in order, duplicates kept."""
    tool_calls: list[DigestCall] = []
    """The calls."""
    errors: list[str] | None
    """Errors that the session reported."""
    usage: Usage | None = None
    """Tokens and requests of the session."""
    session_id: str = ""
    """The id of the session."""
    tool_policy_mode: str = ""
    """`unrestricted`, `deny_all` or `allow_list`; empty where the executor has no tool policy."""
    tool_policy_denials: list[Denial] = []
    """Calls that the tool policy denied."""
    started_ms: int | None = None
    """Of a judge or responder: when it was asked, in milliseconds since the first prompt of its attempt was sent. Left out
    where it is not known."""
    duration_ms: int = 0
    """Of a judge or responder: milliseconds until it answered. Left out where they are not known."""


class ResponderRecord(ResultPart, frozen=True, kw_only=True):
    """How the conversation with the responder ended."""

    followups_sent: int
    """How many replies the responder gave."""
    outcome: Literal["stopped", "abstained", "cap_exhausted", "error"]
    """`stopped` (content), `abstained`, `cap_exhausted` (no replies left) or `error`."""
    reason: str = ""
    """Why it abstained, or what broke."""


class CheckpointRecord(ResultPart, frozen=True, kw_only=True):
    """The verdicts of a checkpoint."""

    after_turn: int
    """The turn after which the graders ran."""
    status: Literal["passed", "failed", "error"]
    """The status of the checkpoint."""
    validations: dict[str, Validation]
    """Verdicts by the name of the grader."""
    stopped: bool = False
    """The conversation ended here."""


class AttemptRecord(ResultPart, frozen=True, kw_only=True):
    """A discarded attempt: that it happened and what it cost, neither its output nor verdict texts."""

    attempt: int
    """The number of the attempt, from 1."""
    status: TrialStatus
    """How it ended."""
    failed_graders: list[str]
    """Names of graders that did not pass."""
    error_msg: str = ""
    """The error, if there was one."""
    duration_ms: int = msgspec.field()
    """Milliseconds that the agent worked."""
    usage: Usage | None = None
    """Tokens and requests of the attempt."""


class FailureArtifacts(ResultPart, frozen=True, kw_only=True):
    """What helps to understand a run that did not pass."""

    stderr: str = ""
    """The error, cut to size."""
    stdout: str = ""
    """The output, cut to size."""
    exit_code: int = 0
    """1 for a failure, 2 for an error."""
    failed_graders: list[str] = []
    """Names of graders that did not pass."""
    error_patterns: list[str] = []
    """Words in output and error that hint at a cause."""
    triage_summary: str = ""
    """What to look at first, as Markdown."""
    captured_at: str = msgspec.field()
    """When this was recorded, as RFC 3339."""
    context: dict[str, str] = {}
    """`stderr_truncated` and `stdout_truncated`: whether the texts were cut."""


class TrialResult(ResultPart, frozen=True, kw_only=True):
    """One trial."""

    run_number: int
    """The number of the trial, from 1."""
    attempts: int
    """How many attempts the trial took."""
    prompt: str = ""
    """The prompt, with variables filled in."""
    status: TrialStatus
    """How the trial ended."""
    duration_ms: int
    """Milliseconds that the agent worked in the attempt that counts."""
    validations: dict[str, Validation] | None
    """Verdicts by the name of the grader. Null: nothing was graded."""
    session_digest: SessionDigest
    """The session of the agent in short."""
    grader_sessions: list[SessionDigest] = []
    """Sessions of judges."""
    transcript: list[Event] = []
    """What was seen of the agent, in order."""
    final_output: str
    """The output: the final text of the last turn."""
    error_msg: str = ""
    """Why there is no verdict, or what broke on the way."""
    skill_invocations: list[SkillInvocation] = []
    """Skills that the agent invoked, in order."""
    skill_offered: SkillOffer | None = None
    """How the agent was offered the skill under test: `full` (with its description, or its text), `name` (by its name
    alone), `absent`, or `unknown` where nobody could see it. Left out where no skill is under test, and in older files."""
    skill_loaded: bool | None = None
    """Whether the agent got the text of the skill under test: it was given to it, or the agent invoked the skill.
    Left out: not known."""
    wire_differences: list[str] = []
    """Where what the agent reports of itself differs from its requests to models; these count."""
    models_served: list[str] = []
    """The models that answered the agent, in the words of their servers, where its requests were seen."""
    other_skills_offered: list[str] | None = None
    """The names of all other skills that the agent was offered. The name of the skill under test is among them where
    another skill of that name was in its place. Left out: not known."""
    usage: Usage | None = None
    """Tokens and requests of the agent in the attempt that counts."""
    workspace_dir: str = ""
    """The workspace, with `--keep-workspace`."""
    failure_artifacts: FailureArtifacts | None = None
    """What helps to understand a trial that did not pass."""
    responder: ResponderRecord | None = None
    """How the conversation with the responder ended."""
    checkpoints: list[CheckpointRecord] = []
    """Verdicts of graders between turns."""
    tool_events: list[ToolEvent] = []
    """Tool calls with all arguments and results."""
    command_invocations: list[CommandInvocation] = []
    """Calls of mocked programs, without secrets."""
    snapshot_path: str = ""
    """The snapshot of the trial, as its path was written (`--snapshot`)."""
    evidence: dict[str, Any] = {}
    """The evidence manifest of the trial, with `--snapshot`: what was captured of it, with digests."""
    attempt_history: list[AttemptRecord] = []
    """Discarded attempts."""
    error_retries: int = 0
    """How often the trial was repeated after an error: by `config.error_retries`, `--resume` or `--retry-errors`."""
    cost: Cost | None = None
    """What the trial cost in this run: all attempts, judges and responders. Left out where a price, or the tokens, are not
    known, and of answers from the cache but for what judges cost who were asked again."""
    timed_out: bool = False
    """A time limit ended the trial."""
    duration_unknown: bool = False
    """It is not known how long the agent worked, which ran elsewhere; `duration_ms` is 0 then."""
    truncated: bool = False
    """The output was longer than 1 MB; its head and tail are kept."""
    output_bytes: int = 0
    """The length of an output that was cut, in bytes."""


class ConfidenceInterval(ResultPart, frozen=True, kw_only=True):
    """A confidence interval; bootstraps are counted where there are any."""

    lower: float
    """The lower end."""
    upper: float
    """The upper end."""
    mean: float
    """The mean of the data."""
    confidence_level: float
    """The confidence, 0.95."""
    num_bootstraps: int | None = None
    """How many samples a bootstrap drew."""
    method: str = ""
    """`confidence sequence` where `stop_when` decided how many trials there are: it holds under looking after each of
    them, as others do not. Left out: that which the field of the interval names."""


class TaskStats(ResultPart, frozen=True, kw_only=True):
    """Figures over the trials of a task."""

    pass_rate: float
    """The trial pass rate: the share of trials that passed."""
    flakiness_percent: float
    """The share of the rarer outcome, in percent: 0 when all trials passed or none, 50 when half of them did."""
    passed_runs: int
    """Trials that passed."""
    failed_runs: int
    """Trials that failed."""
    error_runs: int
    """Trials that ended in an error."""
    total_runs: int
    """All trials."""
    avg_score: float
    """The mean score of the trials."""
    avg_weighted_score: float
    """The mean weighted score of the trials."""
    min_score: float
    """The lowest score."""
    max_score: float
    """The highest score."""
    std_dev_score: float
    """The standard deviation of the scores."""
    score_variance: float
    """The variance of the scores."""
    ci95_lo: float
    """The lower end of the 95 % interval of the score."""
    ci95_hi: float
    """The upper end of the 95 % interval of the score."""
    flaky: bool
    """Passed in some trials and not in others, or only at a later attempt."""
    avg_duration_ms: int
    """The mean duration of the trials in milliseconds."""
    bootstrap_ci: ConfidenceInterval | None = None
    """The bootstrap interval of the weighted score."""
    is_significant: bool | None = None
    """Whether that interval leaves out 0."""
    pass_rate_ci: ConfidenceInterval | None = None
    """Wilson's interval of the trial pass rate; with `stop_when` the confidence sequence, of graded trials alone."""
    score_ci: ConfidenceInterval | None = None
    """With `stop_when`, in the place of `bootstrap_ci`: the confidence sequence of the weighted score."""

    @property
    def score_interval(self) -> ConfidenceInterval | None:
        """The interval of the weighted score, of whichever kind there is."""
        return self.score_ci or self.bootstrap_ci


class Pairwise(ResultPart, frozen=True, kw_only=True):
    """Which of two outputs a judge preferred."""

    winner: Literal["baseline", "skill", "tie"]
    """`skill`, `baseline` or `tie`."""
    magnitude: str
    """How much better the winner is."""
    reasoning: str
    """Why, in the judge's words."""
    position_consistent: bool
    """Whether the judge reached the same verdict with the two outputs exchanged."""


class SkillImpact(ResultPart, frozen=True, kw_only=True):
    """What the skills changed for a task."""

    pass_rate_with_skills: float
    """The trial pass rate with skills."""
    pass_rate_baseline: float
    """The trial pass rate without."""
    delta: float
    """The difference."""
    percent_change: float
    """The difference as a percentage of the rate without skills."""
    pairwise: Pairwise | None = None
    """What a pairwise judge preferred."""


class TaskResult(ResultPart, frozen=True, kw_only=True):
    """One task with its trials.

    `rejudged`: the answers are `cached`, judges were asked again. `missing_trials` were planned and did not run.
    `error_msg` says what kept it from starting.
    """

    cached: bool = False
    """The answers are from the cache."""
    rejudged: bool = msgspec.field(default=False, name="judged_anew")
    """Judges were asked again about answers from the cache."""
    test_id: str
    """The id of the task."""
    display_name: str
    """The name of the task."""
    group: str = ""
    """The groups that the task belongs to, by `config.group_by`."""
    golden: bool = False
    """The task is marked as one that must always pass."""
    tags: list[str] = []
    """The tags of the task."""
    status: TaskStatus
    """By the pass rule: `passed` when enough trials passed, `failed` when so many failed that the others could not
    be enough, else `error` when some ended in an error; `skipped` where nothing was graded or trials are missing."""
    runs: list[TrialResult]
    """The trials."""
    missing_trials: int = 0
    """Trials that were planned and did not run; with `stop_when`, those that are still wanted at least."""
    ended_by: EndedBy | None = None
    """With `stop_when`, why the task has no further trial: its interval is narrow enough (`ci_half_width`), its verdict is
    decided (`pass_rule`), it had the most trials (`max_trials`), or nobody graded it (`not_graded`). Left out while
    trials are missing."""
    without_skills: bool = False
    """The agent was to be offered no skills: in the arm without skills, and where a suite or an option says so."""
    stats: TaskStats | None = None
    """Figures over the trials."""
    skill_impact: SkillImpact | None = None
    """What the skills changed, in a run with a baseline."""
    error_msg: str = ""
    """Why the task did not start."""
    cost: Cost | None = None
    """What its trials cost in this run, those that were repeated included. Answers from the cache cost nothing. Left out
    where a price, or the tokens, are not known."""
    requirements: list[RecordedRequirement] = []
    """What is required of the task, and which verdicts observe it; `waza show --requirements` joins the two."""


class Group(ResultPart, frozen=True, kw_only=True):
    """The tasks of one group (`config.group_by`)."""

    name: str
    """The name of the group."""
    passed: int
    """Tasks that passed."""
    total: int
    """All tasks."""
    avg_score: float
    """The mean score."""


class SuiteStatistics(ResultPart, frozen=True, kw_only=True):
    """Figures over the tasks of a suite with several trials."""

    bootstrap_ci: ConfidenceInterval
    """The bootstrap interval of the weighted score."""
    is_significant: bool
    """Whether that interval leaves out 0."""
    normalized_gain: float | None = None
    """The gain over a baseline as a share of what was left to gain. Only in files of other programs."""
    success_rate_ci: ConfidenceInterval | None = None
    """Wilson's interval of the task success rate."""
    pass_hat_k: list[float] = []
    """How likely all of k trials pass; the first entry is k = 1."""
    pass_at_k: list[float] = []
    """How likely at least one of k trials passes; the first entry is k = 1."""


class Summary(ResultPart, frozen=True, kw_only=True):
    """Figures over the whole suite. `success_rate` counts errors in; `graded_success_rate` leaves them out."""

    total_tests: int
    """Tasks that ran."""
    succeeded: int
    """Tasks that passed."""
    failed: int
    """Tasks that failed."""
    errors: int
    """Tasks without a verdict, because of something other than the answer."""
    skipped: int
    """Tasks that were not graded, or did not start."""
    success_rate: float
    """The share of tasks that passed; errors count as not passed."""
    aggregate_score: float
    """The mean score of the tasks."""
    weighted_score: float
    """The mean weighted score of the tasks."""
    min_score: float
    """The lowest score."""
    max_score: float
    """The highest score."""
    std_dev: float
    """The standard deviation of the scores."""
    duration_ms: int
    """Milliseconds that the run took."""
    groups: list[Group] = []
    """Figures for groups of tasks."""
    usage: Usage | None = None
    """Tokens and requests of the agent over all trials."""
    cost: Cost | None = None
    """What all trials and trigger tests cost in this run, judges and responders included. Left out where a price, or the
    tokens, are not known."""
    statistics: SuiteStatistics | None = None
    """Intervals, and how likely several trials pass."""
    graded_success_rate: float | None = None
    """The share of tasks that passed, among those with a verdict. Left out where no task has one."""


class MetricResult(ResultPart, frozen=True, kw_only=True):
    """A metric of the suite."""

    identifier: str
    """The name of the metric."""
    value: float
    """From 0 to 1."""
    threshold: float
    """The least value with which it passes."""
    passed: bool
    """Whether it passed."""
    weight: float
    """The weight that the suite gives it."""
    details: dict[str, Any] = {}
    """`gate`: whether the run fails with it."""


class TriggerResult(ResultPart, frozen=True, kw_only=True):
    """One prompt of the trigger tests."""

    prompt: str
    """The prompt."""
    confidence: str = ""
    """How sure the author of the test is."""
    should_trigger: bool
    """Whether the agent should invoke the skill."""
    did_trigger: bool
    """Whether it did."""
    expected_skill: str = ""
    """Of tests with neighbours: the skill that should be invoked, or `none`; empty: any but the tested one."""
    invoked_skills: list[str] | None = None
    """The names of the skills that it invoked, each once; left out where they were not recorded."""
    error_msg: str = ""
    """Why there is no answer."""
    final_output: str = ""
    """What the agent answered."""
    transcript: list[Event] = []
    """What was seen of the agent."""
    tool_calls: list[DigestCall] = []
    """Its tool calls."""
    session_id: str = ""
    """The id of its session."""
    skill_offered: SkillOffer | None = None
    """How the agent was offered the tested skill, as in trials; left out where nobody saw it."""
    wire_differences: list[str] = []
    """Where what the agent reported differs from its requests to models, as in trials."""


class TriggerMatrixRow(ResultPart, frozen=True, kw_only=True):
    """Of the prompts with one expectation: on how many which skill was invoked."""

    expected: str
    """The skill that should be invoked, or `none`; empty: any but the tested one."""
    invoked: dict[str, int]
    """On how many prompts this skill alone was invoked, by its name."""
    none: int
    """On how many no skill was."""
    several: int
    """On how many more than one was."""
    errors: int
    """How many have no answer."""


class TriggerMatrix(ResultPart, frozen=True, kw_only=True):
    """Of trigger tests with neighbours: which skill was invoked where which was expected."""

    skill: str
    """The tested skill."""
    neighbours: list[str]
    """The skills that were offered beside it."""
    rows: list[TriggerMatrixRow]
    """A row for each expectation: that of the tested skill, of its neighbours, of none, of any but the tested one."""


class TriggerMetrics(ResultPart, frozen=True, kw_only=True):
    """How well the skill fires when it should, and only then. A ratio of no cases is left out."""

    true_positives: int
    """Invoked, and should be."""
    false_positives: int
    """Invoked, and should not be."""
    true_negatives: int
    """Not invoked, and should not be."""
    false_negatives: int
    """Not invoked, and should be."""
    errors: int = 0
    """Prompts without an answer; they count as wrong."""
    precision: float | None = None
    """Of the prompts on which the skill was invoked, the share on which it should be."""
    recall: float | None = None
    """Of the prompts on which it should be invoked, the share on which it was."""
    f1: float | None = None
    """The harmonic mean of precision and recall."""
    accuracy: float
    """The share of prompts with the right outcome."""
    routing: float | None = None
    """Of tests with neighbours: the share of prompts on which exactly the expected skill was invoked."""


class RunConfig(ResultPart, frozen=True, kw_only=True):
    """The settings that the figures depend on."""

    runs_per_test: int
    """Trials of each task; with `stop_when` the most of them."""
    stop_when: StopRule | None = None
    """When the trials of a task ended before."""
    pass_rule: PassRule = ALL
    """How many of its trials a task must pass."""
    model_id: str
    """The model of the agent; empty: the default of the runtime."""
    engine_type: str
    """The executor."""
    timeout_sec: int
    """Seconds that one turn may take."""
    judge_model: str = ""
    """The model of judges."""
    reasoning_effort: str = ""
    """The effort of the agent."""
    judge_reasoning_effort: str = ""
    """The effort of judges."""


class SuiteResult(ResultPart, frozen=True, kw_only=True):
    """A results file. `tasks` is large: writers and readers may handle it one task at a time."""

    schemaVersion: str  # noqa: N815  # the file format's own spelling
    """The version of the results format."""
    eval_id: str
    """The id of the run."""
    skill: str
    """The target of the suite."""
    eval_name: str
    """The name of the suite."""
    timestamp: str
    """When the run began, as RFC 3339."""
    config: RunConfig
    """Settings that the figures depend on."""
    summary: Summary
    """Figures over the whole suite."""
    metrics: dict[str, MetricResult]
    """Metrics of the suite, by name. Those without data are left out."""
    tasks: list[TaskResult]
    """The tasks, in the order of the suite."""
    trigger_metrics: TriggerMetrics | None = None
    """Figures of the trigger tests."""
    trigger_results: list[TriggerResult] = []
    """The trigger tests, prompt by prompt."""
    trigger_matrix: TriggerMatrix | None = None
    """Which skill was invoked where which was expected, of trigger tests with neighbours."""
    metadata: dict[str, Any] = {}
    """How the run ended (`run_status`), which limit it met (`limit`), its verdict (`verdict`), that of the whole call (`invocation`),
    warnings, the version of waza, what was checked out where the suite is (`git`: `commit`, `branch`, `dirty`),
    the job that started the run (`ci`: `name`, `job`, `url`), and, where options chose among the tasks, which part of the
    suite was run (`selection`: `filters`, `selected`, `of`, and `shard` for one of several parts of a run), the `shards` that a
    run was merged from (`number`, `eval_id`, `timestamp`, `tasks`), and what trials were graded
    from that ran elsewhere (`transcripts`). With `--recommend` also the `recommendation`, with `--suggest` what a model says to
    change (`suggestion_report`, in Markdown)."""
    is_baseline: bool = False
    """This is the arm without skills."""
    baseline_outcome: SuiteResult | None = None
    """The arm without skills, in a run with a baseline."""
    evaluation_usage: dict[str, Any] | None = None
    """What every session cost, with judges, responders and discarded attempts."""


def number(value: float) -> float:
    """Return a whole float as an int, so that JSON shows `1` and not `1.0`."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
