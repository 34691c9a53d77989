"""The results file, schema 1.4, field by field in the order in which it is written.

Fields without a default are always written; the others are left out while they are empty.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from waza.model.observation import CommandInvocation, Denial, Event, SkillInvocation, ToolEvent, Usage

TrialStatus = Literal["passed", "failed", "error", "skipped"]
TaskStatus = Literal["passed", "failed", "error", "skipped"]


class ResultPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the results file."""


class Validation(ResultPart, frozen=True, kw_only=True):
    """A grader's verdict in a run."""

    identifier: str
    type: str
    score: float
    weight: float
    passed: bool
    feedback: str
    details: dict[str, Any] = {}
    duration_ms: int = msgspec.field()


class DigestArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The five arguments that the digest keeps of a call; `tool_events` has all of them."""

    path: str = ""
    file_text: str = ""
    command: str = ""
    description: str = ""
    skill: str = ""


class DigestCall(ResultPart, frozen=True, kw_only=True):
    """A tool call in the session digest (the older, shorter record)."""

    id: str = ""
    name: str = msgspec.field()
    arguments: Any = msgspec.field()
    result: Any = None
    success: bool = msgspec.field()


class SessionDigest(ResultPart, frozen=True, kw_only=True):
    """The session of a run in short."""

    tool_call_count: int
    tools_used: list[str] | None
    tool_calls: list[DigestCall] = []
    errors: list[str] | None
    usage: Usage | None = None
    session_id: str = ""
    tool_policy_mode: str = ""
    tool_policy_denials: list[Denial] = []


class ResponderRecord(ResultPart, frozen=True, kw_only=True):
    """How the conversation with the responder ended."""

    followups_sent: int
    outcome: Literal["stopped", "abstained", "cap_exhausted", "error"]
    reason: str = ""


class CheckpointRecord(ResultPart, frozen=True, kw_only=True):
    """What the graders of a checkpoint said."""

    after_turn: int
    status: Literal["passed", "failed", "error"]
    validations: dict[str, Validation]
    stopped: bool = False


class AttemptRecord(ResultPart, frozen=True, kw_only=True):
    """A discarded attempt: that it happened and what it cost, neither its output nor verdict texts."""

    attempt: int
    status: TrialStatus
    failed_graders: list[str]
    error_msg: str = ""
    duration_ms: int = msgspec.field()
    usage: Usage | None = None


class FailureArtifacts(ResultPart, frozen=True, kw_only=True):
    """What helps to understand a run that did not pass."""

    stderr: str = ""
    stdout: str = ""
    exit_code: int = 0
    failed_graders: list[str] = []
    error_patterns: list[str] = []
    triage_summary: str = ""
    captured_at: str = msgspec.field()
    context: dict[str, str] = {}


class TrialResult(ResultPart, frozen=True, kw_only=True):
    """One trial."""

    run_number: int
    attempts: int
    prompt: str = ""
    status: TrialStatus
    duration_ms: int
    validations: dict[str, Validation] | None
    session_digest: SessionDigest
    grader_sessions: list[SessionDigest] = []
    transcript: list[Event] = []
    final_output: str
    error_msg: str = ""
    skill_invocations: list[SkillInvocation] = []
    usage: Usage | None = None
    workspace_dir: str = ""
    failure_artifacts: FailureArtifacts | None = None
    responder: ResponderRecord | None = None
    checkpoints: list[CheckpointRecord] = []
    tool_events: list[ToolEvent] = []
    command_invocations: list[CommandInvocation] = []
    snapshot_path: str = ""
    attempt_history: list[AttemptRecord] = []
    error_retries: int = 0
    timed_out: bool = False
    truncated: bool = False
    output_bytes: int = 0


class ConfidenceInterval(ResultPart, frozen=True, kw_only=True):
    """A confidence interval; bootstraps are counted where there are any."""

    lower: float
    upper: float
    mean: float
    confidence_level: float
    num_bootstraps: int | None = None


class TaskStats(ResultPart, frozen=True, kw_only=True):
    """Figures over the trials of a task."""

    pass_rate: float
    flakiness_percent: float
    passed_runs: int
    failed_runs: int
    error_runs: int
    total_runs: int
    avg_score: float
    avg_weighted_score: float
    min_score: float
    max_score: float
    std_dev_score: float
    score_variance: float
    ci95_lo: float
    ci95_hi: float
    flaky: bool
    avg_duration_ms: int
    bootstrap_ci: ConfidenceInterval | None = None
    is_significant: bool | None = None
    pass_rate_ci: ConfidenceInterval | None = None


class Pairwise(ResultPart, frozen=True, kw_only=True):
    """Which of two outputs a judge preferred."""

    winner: Literal["baseline", "skill", "tie"]
    magnitude: str
    reasoning: str
    position_consistent: bool


class SkillImpact(ResultPart, frozen=True, kw_only=True):
    """What the skills changed for a task."""

    pass_rate_with_skills: float
    pass_rate_baseline: float
    delta: float
    percent_change: float
    pairwise: Pairwise | None = None


class TaskResult(ResultPart, frozen=True, kw_only=True):
    """One task with its trials.

    `judged_anew`: the answers are `cached`, judges were asked again. `missing_trials` were planned and did not run.
    `error_msg` says what kept it from starting.
    """

    cached: bool = False
    judged_anew: bool = False
    test_id: str
    display_name: str
    group: str = ""
    golden: bool = False
    status: TaskStatus
    runs: list[TrialResult]
    missing_trials: int = 0
    stats: TaskStats | None = None
    skill_impact: SkillImpact | None = None
    error_msg: str = ""


class Group(ResultPart, frozen=True, kw_only=True):
    """The tasks of one group (`config.group_by`)."""

    name: str
    passed: int
    total: int
    avg_score: float


class SuiteStatistics(ResultPart, frozen=True, kw_only=True):
    """Figures over the tasks of a suite with several trials."""

    bootstrap_ci: ConfidenceInterval
    is_significant: bool
    normalized_gain: float | None = None
    success_rate_ci: ConfidenceInterval | None = None
    pass_hat_k: list[float] = []
    pass_at_k: list[float] = []


class Summary(ResultPart, frozen=True, kw_only=True):
    """Figures over the whole suite. `success_rate` counts errors in; `graded_success_rate` leaves them out."""

    total_tests: int
    succeeded: int
    failed: int
    errors: int
    skipped: int
    success_rate: float
    aggregate_score: float
    weighted_score: float
    min_score: float
    max_score: float
    std_dev: float
    duration_ms: int
    groups: list[Group] = []
    usage: Usage | None = None
    statistics: SuiteStatistics | None = None
    graded_success_rate: float | None = None


class MetricResult(ResultPart, frozen=True, kw_only=True):
    """A metric of the suite."""

    identifier: str
    value: float
    threshold: float
    passed: bool
    weight: float
    details: dict[str, Any] = {}


class TriggerResult(ResultPart, frozen=True, kw_only=True):
    """One prompt of the trigger tests."""

    prompt: str
    confidence: str = ""
    should_trigger: bool
    did_trigger: bool
    error_msg: str = ""
    final_output: str = ""
    transcript: list[Event] = []
    tool_calls: list[DigestCall] = []
    session_id: str = ""


class TriggerMetrics(ResultPart, frozen=True, kw_only=True):
    """How well the skill fires when it should, and only then. A ratio of no cases is left out."""

    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int
    errors: int = 0
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None
    accuracy: float


class RunConfig(ResultPart, frozen=True, kw_only=True):
    """The settings that the figures depend on."""

    runs_per_test: int
    model_id: str
    engine_type: str
    timeout_sec: int
    judge_model: str = ""
    reasoning_effort: str = ""
    judge_reasoning_effort: str = ""


class SuiteResult(ResultPart, frozen=True, kw_only=True):
    """A results file. `tasks` is large: writers and readers may handle it one task at a time."""

    schemaVersion: str  # noqa: N815  # the file format's own spelling
    eval_id: str
    skill: str
    eval_name: str
    timestamp: str
    config: RunConfig
    summary: Summary
    metrics: dict[str, MetricResult]
    tasks: list[TaskResult]
    trigger_metrics: TriggerMetrics | None = None
    trigger_results: list[TriggerResult] = []
    metadata: dict[str, Any] = {}
    is_baseline: bool = False
    baseline_outcome: SuiteResult | None = None
    evaluation_usage: dict[str, Any] | None = None


def number(value: float) -> float:
    """Return a whole float as an int, so that JSON shows `1` and not `1.0`."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value
