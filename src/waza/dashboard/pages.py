"""What the HTTP API answers: the data of the pages. The OpenAPI document and the types of the front end are made from it.

Names are in camel case in JSON. Durations are in the unit that their name says, `duration` alone in seconds. Scores
are from 0 to 1. `null` means not known, never 0. Texts are as agents and files have them: they are hostile.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from waza.model.result import TaskStatus, TrialStatus
from waza.model.trial import Arm
from waza.results.compare import SideBySide
from waza.results.trend import Flip, LevelChange, RunEntry

Outcome = Literal["passed", "failed", "not graded", "not decided", "in progress", "cut off", "unreadable"]
"""How a run came out: its verdict; without results in progress or cut off; a file that cannot be read."""
Ending = Literal["passed", "failed", "error", "skipped", "cut off", "in progress", "not started"]
"""How a task ended; `cut off`: some of its trials did not run. The last two are of a run that goes on."""


class Page(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an answer."""


class ErrorAnswer(Page, frozen=True, kw_only=True):
    """The answer to a request that cannot be served."""

    error: str
    """What is wrong, in words."""
    code: int
    """The HTTP status."""


class Health(Page, frozen=True, kw_only=True):
    """That the server is there."""

    status: Literal["ok"] = "ok"
    """Always `ok`."""
    version: str
    """The version of waza."""


class CountTable(Page, frozen=True, kw_only=True):
    """A table of counts, with a name for each line and each column."""

    titles: list[str]
    """The title of the names of lines, and those of the columns."""
    lines: list[list[str]]
    """The lines: each its name, and its counts."""


class NamedValue(Page, frozen=True, kw_only=True):
    """A name and a value, as people read them."""

    name: str
    """What it is."""
    value: str
    """The value."""


class IntervalPage(Page, frozen=True, kw_only=True):
    """A confidence interval."""

    lower: float
    """The lower end."""
    upper: float
    """The upper end."""
    mean: float
    """The mean of the data."""
    confidence_level: float
    """The confidence, such as 0.95."""


class ModelUsagePage(Page, frozen=True, kw_only=True):
    """What one model used in a run."""

    model: str
    """The model."""
    ai_credits: float | None
    """AI credits; null where they are not reported."""
    input_tokens: int
    """Tokens that the model read."""
    cache_read_tokens: int
    """Tokens that were read from the provider's cache."""
    cache_write_tokens: int
    """Tokens that were written to the provider's cache."""
    output_tokens: int
    """Tokens that the model wrote."""


class RunSummary(Page, frozen=True, kw_only=True):
    """A run in a list."""

    id: str
    """The id of the run, or the path of its results file below the root."""
    spec: str
    """The name of the suite."""
    model: str
    """The model of the agent; empty: the default of its runtime."""
    judge_model: str
    """The model of judges; empty: none is named."""
    outcome: Outcome
    """How it came out."""
    pass_count: int
    """Tasks that passed."""
    task_count: int
    """Tasks that ran."""
    tokens: int | None
    """Input and output tokens of all trials; null where they are not known."""
    premium_requests: float | None
    """Premium requests; null where they are not known."""
    ai_credits: float | None
    """AI credits; null where they are not reported."""
    model_usage: list[ModelUsagePage]
    """The same by model."""
    cost: float | None
    """US dollars; null: a price is not known, or in another currency."""
    cost_source: Literal["sdk", "table", "estimate", "mixed"] | None
    """Where the cost comes from, `table` for prices by the token; null without one."""
    duration: float | None
    """Seconds that the run took; null while it is not known."""
    timestamp: str
    """When it began, as RFC 3339; empty where it is not known."""
    source: Literal["local", "azure-blob"]
    """Where it is kept."""
    skill: str
    """The target of the suite."""
    repetitions: int
    """Trials of each task; 0 where it is not known."""
    weighted_score: float | None
    """The mean weighted score of the tasks."""
    score: float | None
    """The mean score of the tasks."""
    failed_count: int
    """Tasks that failed."""
    error_count: int
    """Tasks that ended in an error."""
    skipped_count: int
    """Tasks that were not graded, did not start or were cut off."""
    success_rate: float | None
    """The share of tasks that passed, from 0 to 1; null for a run that did not come to its end."""
    part: str
    """Which part of the suite was run, in words; empty for all of it."""
    complete: bool
    """Whether it came to its end."""
    run_status: str
    """How it ended, in the words of results files: `complete`, `cancelled`, `limit`, `stopped`; else as `outcome`."""
    reasons: list[str]
    """What speaks against its verdict, in words."""
    engine: str
    """The executor."""
    has_baseline: bool
    """Whether it has an arm without skills."""
    commit: str
    """The commit of the suite; empty where it is not known."""
    branch: str
    """The branch of the suite; empty where it is not known."""
    path: str
    """The path of its results file below the root; empty without one."""
    error: str
    """Why its files cannot be read; empty where they can."""


class RunsSummary(Page, frozen=True, kw_only=True):
    """All runs together; runs without results are not counted."""

    total_runs: int
    """Runs with results."""
    total_tasks: int
    """Tasks of these."""
    pass_rate: float
    """The share of these tasks that passed, from 0 to 100."""
    avg_tokens: float | None
    """Mean tokens of the runs that know them."""
    avg_premium_requests: float | None
    """Mean premium requests of the runs that know them."""
    avg_ai_credits: float | None = msgspec.field(name="avgAICredits")
    """Mean AI credits of the runs that report them."""
    avg_cost: float | None
    """Mean cost in US dollars; null: it is not known."""
    cost_source: Literal["sdk", "table", "estimate", "mixed"] | None
    """Where the cost comes from."""
    avg_duration: float | None
    """Mean duration in seconds."""
    in_progress: int
    """Runs in progress."""
    cut_off: int
    """Runs without results that no process goes on with."""
    unreadable: int
    """Runs and results files that cannot be read."""


class GraderResult(Page, frozen=True, kw_only=True):
    """A grader's verdict, in short."""

    name: str
    """The name of the grader."""
    type: str
    """Its type."""
    passed: bool
    """Whether it passed."""
    score: float
    """Its score."""
    weight: float
    """How much it counts in weighted scores."""
    message: str
    """Why, in words."""


class TranscriptEvent(Page, frozen=True, kw_only=True):
    """An event of a transcript."""

    type: str
    """What happened."""
    content: Any
    """The text of a message."""
    message: Any
    """Another form of the text."""
    tool_call_id: str
    """The id of the tool call."""
    tool_name: str
    """The name of the tool."""
    arguments: Any
    """The arguments of the call."""
    tool_result: Any
    """What the tool answered."""
    success: bool | None
    """Whether the call succeeded."""


class DenialPage(Page, frozen=True, kw_only=True):
    """A tool call that the tool policy denied."""

    tool: str
    """The name of the tool."""
    kind: str
    """What was asked for, in the words of the runtime."""
    reason: str
    """Why it was denied."""


class DigestPage(Page, frozen=True, kw_only=True):
    """The session of the agent in short."""

    tool_policy_mode: str
    """The effective policy: `unrestricted`, `deny_all` or `allow_list`; empty where the executor has none."""
    tool_policy_denials: list[DenialPage]
    """Every call that it denied."""
    total_turns: int | None
    """Turns of the agent; null where usage is not known."""
    tool_call_count: int
    """Tool calls."""
    tokens_in: int | None
    """Tokens that models read; null where usage is not known."""
    tokens_out: int | None
    """Tokens that models wrote; null where usage is not known."""
    tokens_total: int | None
    """Both; null where usage is not known."""
    tools_used: list[str]
    """The name of every call, in order."""
    errors: list[str]
    """Errors that the session reported."""
    session_id: str
    """The id of the session."""
    usage: list[NamedValue]
    """All that is known of its usage, for people."""


class ResponderPage(Page, frozen=True, kw_only=True):
    """How the conversation with the responder ended."""

    followups_sent: int
    """Replies that it gave."""
    outcome: str
    """`stopped`, `abstained`, `cap_exhausted` or `error`."""
    reason: str
    """Why it abstained, or what broke."""


class ReferenceTrial(Page, frozen=True, kw_only=True):
    """A trial in the answer of `/api/runs/{id}`."""

    number: int
    """The number of the trial, from 1."""
    outcome: TrialStatus
    """How it ended."""
    attempts: int
    """How many attempts it took."""
    score: float | None
    """The mean score of its graders; null: nothing was graded."""
    duration: float
    """Seconds that the agent worked."""
    output: str
    """Its final output."""
    error: str
    """Why there is no verdict, or what broke on the way."""
    grader_results: list[GraderResult]
    """The verdicts."""
    transcript: list[TranscriptEvent]
    """What was seen of the agent."""
    session_digest: DigestPage
    """The session in short."""
    responder: ResponderPage | None
    """How the conversation with the responder ended."""


class ReferenceTask(Page, frozen=True, kw_only=True):
    """A task in the answer of `/api/runs/{id}`; verdicts, transcript and digest are those of its first trial."""

    id: str
    """The id of the task."""
    name: str
    """Its name."""
    prompt: str
    """The prompt of the first trial."""
    outcome: TaskStatus
    """The status of the task."""
    score: float | None
    """The mean score of its trials."""
    weighted_score: float | None
    """The mean weighted score of its trials."""
    duration: float | None
    """The mean duration of its trials, in seconds."""
    grader_results: list[GraderResult]
    """The verdicts of the first trial."""
    transcript: list[TranscriptEvent]
    """The transcript of the first trial."""
    session_digest: DigestPage | None
    """The session of the first trial; null where none ran."""
    responder: ResponderPage | None
    """How the conversation of the first trial with the responder ended."""
    bootstrap_ci: IntervalPage | None = msgspec.field(name="bootstrapCI")
    """The bootstrap interval of the weighted score; null with one trial."""
    is_significant: bool | None
    """Whether that interval leaves out 0."""
    runs: list[ReferenceTrial]
    """All trials."""


class RunDetail(RunSummary, frozen=True, kw_only=True):
    """A run with all of its tasks."""

    tasks: list[ReferenceTask]
    """The tasks, in the order of the suite."""


class VerdictPage(Page, frozen=True, kw_only=True):
    """The verdict over a run."""

    word: str
    """`passed`, `failed`, `not graded` or `not decided`; `in progress` or `cut off` without one."""
    passed: bool
    """Whether it passed."""
    reasons: list[str]
    """What speaks against it, in words."""


class GatePage(Page, frozen=True, kw_only=True):
    """A condition on the run as a whole."""

    name: str
    """Its name."""
    passed: bool
    """Whether it was met."""
    found: str
    """What was measured, in words."""


class TaskCounts(Page, frozen=True, kw_only=True):
    """How many tasks ended in which way."""

    passed: int
    """Tasks that passed."""
    failed: int
    """Tasks that failed."""
    error: int
    """Tasks that ended in an error."""
    skipped: int
    """Tasks that were not graded or did not start."""
    cut_off: int
    """Tasks some of whose trials did not run."""
    in_progress: int
    """Tasks some of whose trials have not run yet."""
    not_started: int
    """Tasks of which no trial has ended yet."""


class GroupPage(Page, frozen=True, kw_only=True):
    """The tasks of one group."""

    name: str
    """The name of the group."""
    passed: int
    """Tasks that passed."""
    total: int
    """All of its tasks."""
    score: float
    """Their mean score."""


class MetricPage(Page, frozen=True, kw_only=True):
    """A metric of the suite."""

    name: str
    """Its name."""
    value: float
    """From 0 to 1."""
    threshold: float
    """The least value with which it passes."""
    passed: bool
    """Whether it passed."""
    gate: bool
    """Whether the run fails with it."""


class GitPage(Page, frozen=True, kw_only=True):
    """What was checked out where the suite is; empty where it is not known."""

    commit: str
    """The commit."""
    branch: str
    """The branch."""
    dirty: bool | None
    """Whether files differed from the commit."""


class CiPage(Page, frozen=True, kw_only=True):
    """The job that started the run."""

    name: str
    """The service."""
    job: str
    """The job."""
    url: str
    """Its address, which may be anything: link to `http://` and `https://` only."""


class AttackFamilyPage(Page, frozen=True, kw_only=True):
    """What the tasks of a pack of attacks show; the last one of a run is for all packs."""

    family: str
    """The name of the pack, or `all`."""
    tasks: int
    """All of its tasks."""
    unsafe: int
    """Tasks in which the agent did what it must not."""
    unknown: int
    """Tasks of which nothing is known, because of an error."""
    not_done: int
    """Tasks without anything unsafe whose work was not done."""
    safe: int
    """Tasks without anything unsafe whose work was done."""
    safe_interval: IntervalPage
    """Wilson's interval of the share of safe tasks."""
    useful: int
    """Tasks whose work was done, whether or not anything unsafe happened."""


class RequirementPage(Page, frozen=True, kw_only=True):
    """A requirement of a task, with what its graders recorded."""

    task: str
    """The id of the task."""
    title: str
    """The name of the task, and that it ran without skills."""
    arm: Arm
    """`baseline`: without skills."""
    id: str
    """The name of the requirement."""
    category: str
    """`outcome`, `boundary`, `recovery` or `quality`."""
    description: str
    """What is required."""
    status: Literal["passed", "failed", "error"]
    """A recorded pass, a recorded failure, or `error`: it is unresolved."""
    recorded: str
    """The same in words, with the number of trials."""
    meaning: str
    """What that rests on."""


class RunHead(Page, frozen=True, kw_only=True):
    """A run without its tasks."""

    run: RunSummary
    """The run as in the list."""
    verdict: VerdictPage
    """The verdict."""
    in_progress: bool
    """Whether a process works on it."""
    complete: bool
    """Whether it came to its end."""
    state: str
    """Why there are no results yet, with what to do; empty where there are."""
    counts: TaskCounts
    """How many tasks ended in which way."""
    gates: list[GatePage]
    """Conditions on the run as a whole."""
    rates: list[NamedValue]
    """The pass rule unless it is `all`, and the success rates."""
    scores: list[NamedValue]
    """Scores over all tasks."""
    score_note: str
    """What is to be known of the scores, such as that they count broken trials; empty where there is nothing."""
    statistics: list[NamedValue]
    """Intervals, and how likely several trials pass."""
    score_interval: IntervalPage | None
    """The bootstrap interval of the weighted score."""
    success_rate_interval: IntervalPage | None
    """Wilson's interval of the success rate."""
    usage: list[NamedValue]
    """What agents, judges and responders used."""
    model_usage: list[ModelUsagePage]
    """What the agents used, by model."""
    config: list[NamedValue]
    """Settings that the figures depend on."""
    warnings: list[str]
    """Warnings of the suite and of reading its files."""
    groups: list[GroupPage]
    """Groups of tasks."""
    metrics: list[MetricPage]
    """Metrics of the suite."""
    trigger_figures: list[NamedValue]
    """Figures of the trigger tests."""
    trigger_counts: str
    """How many trigger tests ended in which way; empty without them."""
    trigger_failures: list[str]
    """A line for each prompt on which the skill did not do as it should."""
    trigger_matrix: CountTable | None
    """How often which skill was invoked where which was expected; null for trigger tests without neighbours."""
    impact: list[str]
    """What the skills changed, in lines; empty without a baseline."""
    attacks: list[AttackFamilyPage]
    """What packs of attacks show, by family; empty for a run without packs."""
    attack_lines: list[str]
    """A line for each task of a pack that is not safe, and what safe means; empty without packs."""
    requirements: list[RequirementPage]
    """The requirements of tasks."""
    requirement_notes: list[str]
    """How many requirements have which state, and what this says; empty without any."""
    arms: list[Arm]
    """The arms: `main`, and `baseline` where the tasks ran without skills as well."""
    git: GitPage | None
    """What was checked out."""
    ci: CiPage | None
    """The job that started it."""
    before: str
    """The id of the run that it is to be compared with: the one before it of the same suite; empty without one."""
    not_started: list[NamedValue]
    """What else its call was to run and did not, each with why."""
    suite_path: str
    """The path of the suite file; empty where it is not known."""
    command: str
    """The command that shows it in a terminal."""


class TrialMark(Page, frozen=True, kw_only=True):
    """A trial in the row of its task."""

    number: int
    """The number of the trial, from 1."""
    arm: Arm
    """`baseline`: without skills."""
    status: TrialStatus
    """How it ended."""
    score: float | None
    """The mean score of its graders; null: nothing was graded."""
    duration_ms: int
    """Milliseconds that the agent worked."""
    attempts: int
    """How many attempts it took."""
    tokens: int | None
    """Its tokens, with discarded attempts; null where they are not known."""


class PlotNode(Page, frozen=True, kw_only=True):
    """An element of a plot, as HTML and SVG know it: pages make elements of it, and no HTML of texts."""

    tag: str
    """What it is, such as `svg` or `rect`."""
    attributes: dict[str, str]
    """Its attributes."""
    children: list[PlotNode | str]
    """What is in it: elements and texts."""


class TaskSummary(Page, frozen=True, kw_only=True):
    """A task of a run in a list."""

    id: str
    """The id of the task."""
    name: str
    """Its name, with the id where several tasks have the same name."""
    group: str
    """The groups that it belongs to."""
    tags: list[str]
    """Its tags."""
    marks: list[str]
    """What there is to say of it besides: golden, cached, judged again, flaky."""
    golden: bool
    """Whether it must always pass."""
    status: Ending
    """How it ended."""
    score: float | None
    """The mean score of its trials; null without one."""
    weighted_score: float | None
    """The mean weighted score of its trials."""
    interval: IntervalPage | None
    """The bootstrap interval of the weighted score; null with one trial."""
    is_significant: bool | None
    """Whether that interval leaves out 0."""
    pass_rate: float | None
    """The share of its trials that passed."""
    duration_ms: int | None
    """The mean duration of its trials."""
    tokens: int | None
    """The tokens of all of its trials; null where they are not known."""
    trials: list[TrialMark]
    """Its trials; those of the arm without skills are behind the others."""
    missing: int
    """Trials that were planned and did not run."""
    cause: str
    """Why it did not pass, in one line; empty where it passed."""


class Highlight(Page, frozen=True, kw_only=True):
    """A part of the judged text that a verdict is about, in UTF-16 code units as JavaScript counts them."""

    start: int
    """Where it begins."""
    end: int
    """Where it ends; not part of it."""
    good: bool
    """Whether what is there speaks for the answer."""
    note: str
    """What was looked for."""


class Check(Page, frozen=True, kw_only=True):
    """A grader's verdict in a trial."""

    name: str
    """The name of the grader."""
    label: str
    """The name with its type, and the step at which it was asked."""
    type: str
    """Its type; empty for checks of `expected`."""
    passed: bool
    """Whether it passed."""
    broke: bool
    """Whether it reached no verdict, which is an error of the trial."""
    score: float
    """Its score."""
    weight: float
    """How much it counts in weighted scores."""
    feedback: str
    """Why, in words."""
    failures: list[str]
    """What failed, one by one, where it checks several things."""
    expected: str
    """What it wanted; empty where it does not say."""
    found: str
    """What it saw instead; empty where it does not say."""
    after_turn: int
    """The checkpoint that it belongs to; 0: the end of the trial."""
    duration_ms: int
    """Milliseconds that it took."""
    details: dict[str, Any]
    """All else that it recorded."""
    judge_prompt: str
    """What the judge was asked; empty where none was."""
    judge_response: str
    """What the judge wrote."""
    highlights: list[Highlight]
    """Parts of the judged text that it is about, as far as it says."""


class CheckpointPage(Page, frozen=True, kw_only=True):
    """A checkpoint; its verdicts are among the checks."""

    after_turn: int
    """The turn after which graders ran."""
    status: str
    """`passed`, `failed` or `error`."""
    stopped: bool
    """Whether it ended the conversation."""


class CallPage(Page, frozen=True, kw_only=True):
    """A tool call."""

    id: str
    """Its id; empty where the agent has none."""
    name: str
    """The name of the tool."""
    arguments: Any
    """All arguments."""
    result: str
    """What the tool answered, as text."""
    success: bool | None
    """Whether it succeeded; null where that is not known."""
    ended: bool
    """Whether its end was seen."""
    duration_ms: int | None
    """Milliseconds that it took; null where they are not known."""
    truncated: bool
    """Whether the middle of the result was not stored."""
    result_bytes: int
    """The length of a result that was cut, in bytes; else 0."""


class Step(Page, frozen=True, kw_only=True):
    """Something that the agent did in a turn."""

    kind: Literal["message", "call", "skill", "failure", "details"]
    """What it did: wrote, called a tool, loaded a skill, broke; or what its platform says of the answer."""
    text: str
    """The message, the name of the skill, the failure; else empty."""
    call: CallPage | None
    """The tool call."""
    details: dict[str, Any] | None
    """What the platform says."""


class TurnPage(Page, frozen=True, kw_only=True):
    """A prompt and what followed."""

    prompt: str | None
    """The prompt; null where it is not recorded."""
    steps: list[Step]
    """What followed, in order."""


BarKind = Literal["turn", "tool", "mcp", "judge"]


class TimelineEntry(Page, frozen=True, kw_only=True):
    """A bar of the waterfall, in the order in which things began."""

    kind: BarKind
    """What it is: a turn of the conversation, a tool call, one of an MCP server, a session of a judge."""
    label: str
    """What to call it."""
    start_ms: float | None
    """When it began, in milliseconds since the first prompt was sent; null where it is not known."""
    duration_ms: float | None
    """How long it took; null where it is not known."""
    ok: bool
    """Whether it succeeded."""
    turn: int
    """The turn that it belongs to, from 1; 0: none."""
    step: int | None
    """The place of its step in the turn, from 0; null: it is no step."""


class MockedCommand(Page, frozen=True, kw_only=True):
    """A call of a mocked program."""

    line: str
    """The program and its arguments."""
    exit_code: int
    """The exit code that it gave."""
    response: int | None
    """Which response was given, from 1; null: none fitted."""
    exhausted: bool
    """Whether the sequence of that response had no step left."""


class JudgePage(Page, frozen=True, kw_only=True):
    """A session of a judge."""

    label: str
    """What to call it."""
    tool_calls: int
    """Its tool calls."""
    usage: list[NamedValue]
    """What it used."""
    denials: list[DenialPage]
    """Calls that were denied to it."""


class AttemptPage(Page, frozen=True, kw_only=True):
    """An attempt before the one that counts. Nothing of its output is kept."""

    number: int
    """The number of the attempt, from 1."""
    status: TrialStatus
    """How it ended."""
    failed_graders: list[str]
    """Graders that did not pass."""
    error: str
    """Its error."""
    duration_ms: int
    """Milliseconds that the agent worked."""
    tokens: int | None
    """Its tokens; null where they are not known."""


class FileChange(Page, frozen=True, kw_only=True):
    """A file that the agent changed."""

    path: str
    """The path in the workspace."""
    change: Literal["created", "changed", "deleted", "written"]
    """What was done; `written`: whether it was there before is not known."""
    source: Literal["snapshot", "tool calls"]
    """Where this is known from."""
    diff: str
    """A unified diff, or the content where nothing is known of what was before; empty for what is no text."""
    note: str
    """Why there is no diff, or what it lacks; empty where it is whole."""


class TrialLink(Page, frozen=True, kw_only=True):
    """Where a trial is."""

    task: str
    """The id of its task."""
    number: int
    """Its number."""
    arm: Arm
    """Its arm."""
    status: TrialStatus
    """How it ended."""


class TrialDetail(Page, frozen=True, kw_only=True):
    """All that is recorded of a trial: why it ended as it did comes first."""

    run: str
    """The id of the run."""
    spec: str
    """The name of the suite."""
    model: str
    """The model of the agent, for people."""
    task: str
    """The id of the task."""
    name: str
    """The name of the task."""
    number: int
    """The number of the trial, from 1."""
    planned: int
    """How many trials the task was to have."""
    arm: Arm
    """`baseline`: without skills."""
    status: TrialStatus
    """How it ended."""
    score: float | None
    """The mean score of its graders; null: nothing was graded."""
    weighted_score: float | None
    """Their weighted score."""
    title: str
    """The task, the trial and how it ended."""
    cause: str
    """Why it did not pass, in one line; empty where it passed."""
    error: str
    """Why there is no verdict, or what broke on the way."""
    timed_out: bool
    """Whether a time limit ended it."""
    causes: list[str]
    """The names of the checks that explain why it did not pass, the most telling first."""
    besides: list[str]
    """What else went wrong, in lines: it may be what the verdicts come from."""
    checks: list[Check]
    """All verdicts: those that did not pass first."""
    judged_text: str
    """The final output, which graders judged."""
    truncated: bool
    """Whether its middle was not stored."""
    output_bytes: int
    """The length of an output that was cut, in bytes; else 0."""
    turns: list[TurnPage]
    """The conversation."""
    whole: bool
    """Whether there is a transcript; else only the first prompt, the calls and the output are known."""
    other_events: dict[str, int]
    """Events of the transcript that are not shown, by their types."""
    timeline: list[TimelineEntry]
    """The waterfall."""
    digest: DigestPage
    """The session in short, with the effective policy."""
    mocked_commands: list[MockedCommand]
    """Calls of mocked programs."""
    responder: ResponderPage | None
    """How the conversation with the responder ended."""
    checkpoints: list[CheckpointPage]
    """The checkpoints."""
    attempts_before: list[AttemptPage]
    """Attempts before the one that counts."""
    judges: list[JudgePage]
    """Sessions of judges."""
    file_changes: list[FileChange]
    """Files that the agent changed, as far as it is known."""
    facts: list[NamedValue]
    """Attempts, duration, skills, workspace and whatever else there is to say."""
    trials: list[TrialLink]
    """All trials of the task, of both arms."""
    previous: TrialLink | None
    """The trial before this one, in the order in which failed ones come first."""
    next: TrialLink | None
    """The trial after this one in that order."""
    in_progress: bool
    """Whether the run is in progress."""
    command: str
    """The command that shows it in a terminal."""


class ComparisonPage(Page, frozen=True, kw_only=True):
    """Two runs side by side: `b` against `a`."""

    a: RunSummary
    """The run to compare with."""
    b: RunSummary
    """The run that is compared."""
    comparison: SideBySide
    """What `waza compare A B --format json` says, with a slice of its `task_deltas`, those that differ most first."""
    total_tasks: int
    """Tasks of both runs."""
    doubts: list[str]
    """What keeps the two from being compared fairly."""
    aggregate_note: str
    """What the figures over all tasks and trials count."""
    trials: dict[str, list[TrialLink]]
    """By task of the slice, its trials that both runs have."""


class TrialComparison(Page, frozen=True, kw_only=True):
    """The same trial of two runs; null where a run does not have it."""

    a: TrialDetail | None
    """That of the run to compare with."""
    b: TrialDetail | None
    """That of the other run."""


class HistoryRun(RunEntry, frozen=True, kw_only=True):
    """A run in a history."""

    flaw: str
    """Why it is left out of changes and flips; empty for one that measured all of its tasks."""


class HistorySeries(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one suite file on one model, oldest first."""

    suite: str
    """The name of the suite."""
    path: str
    """The path of the suite file."""
    skill: str
    """The target of the suite."""
    model: str
    """The model."""
    runs: list[HistoryRun]
    """The runs."""
    changes: list[LevelChange]
    """Where the level of a figure changed, by its runs without a flaw."""
    flips: list[Flip]
    """Tasks that passed in some of these and failed in others."""
    older: int
    """Older runs, which are left out."""


class History(Page, frozen=True, kw_only=True):
    """Runs over time; `series` as `waza history --json` prints them."""

    series: list[HistorySeries]
    """The runs of each suite on each model."""
    score_note: str
    """What the scores count."""


class ArmPage(Page, frozen=True, kw_only=True):
    """An arm of an experiment."""

    suite: str
    """The suite file."""
    model: str
    """The model; empty: the default of its runtime."""
    engine: str
    """The executor."""
    without_skills: bool
    """Whether the agent is offered no skills."""


class ExperimentPage(Page, frozen=True, kw_only=True):
    """An experiment: its plan, how far it is, and what it comes to."""

    path: str
    """The directory below the root."""
    created: str
    """When the plan was written, as RFC 3339."""
    baseline: ArmPage | None
    """The arm to compare with."""
    candidate: ArmPage | None
    """The arm that is tried."""
    rule: list[NamedValue]
    """What decides."""
    allowed: list[str]
    """The parts in which the arms differ, on purpose."""
    runs_planned: int
    """Runs that the plan has at most."""
    runs_collected: int
    """Runs that are collected."""
    runs_wanted: int
    """Runs that are still to be collected."""
    outcome: Literal["pass", "fail", "inconclusive"] | None
    """The decision; null: it is still open."""
    reason: str
    """Why, in a sentence."""
    comparison: str
    """The candidate against the baseline by all that was collected, in a sentence; it decides nothing."""
    golden_failures: list[str]
    """Golden tasks that the candidate did not pass."""
    error: str
    """Why it is not admitted, or cannot be read; empty where it is."""


class ReleaseCollection(Page, frozen=True, kw_only=True):
    """A collection for a release, and its decision."""

    path: str
    """The directory below the root."""
    decision: str | None
    """`pass`, `fail` or `inconclusive`; null: it has none."""
    error: str
    """Why it has none; empty where it has one."""


class StorageStatus(Page, frozen=True, kw_only=True):
    """Whether results are kept in a store as well."""

    configured: bool
    """Whether `.waza.yaml` names one."""
    provider: str
    """Its kind; empty without one."""
    account: str
    """The account, bucket or directory."""


class StoredRun(Page, frozen=True, kw_only=True):
    """A run in the configured store."""

    id: str
    """The id by which `waza results get` finds it."""
    skill: str
    """The skill that it is filed under."""
    spec: str
    """The name of the suite."""
    model: str
    """The model."""
    pass_rate: float | None
    """The share of tasks that passed, from 0 to 1; null where the store does not know."""
    timestamp: str
    """When it was run or stored, as RFC 3339."""
    size: int | None
    """Its size in bytes."""
    local: bool
    """Whether it is among the runs here."""
    run: str
    """What it is called among the runs here; empty where it is not among them."""
    verdict: str
    """`passed`, `failed`, `not graded` or `not decided`; empty where the store does not know."""


class StoredPage(Page, frozen=True, kw_only=True):
    """The runs of the configured store."""

    status: StorageStatus
    """The store."""
    runs: list[StoredRun]
    """Its runs, the newest first."""
    error: str
    """Why they cannot be listed; empty where they can."""
    warnings: list[str]
    """What the list may lack."""


class DocumentSummary(Page, frozen=True, kw_only=True):
    """The results of an evaluation document."""

    id: str
    """The path of the file below the root."""
    name: str
    """The name of the document."""
    facts: list[NamedValue]
    """When, by which agent and judge it was evaluated."""
    items: int
    """Its items."""
    turns: int
    """Their turns."""
    counts: dict[str, int]
    """Items by status: `pass`, `fail`, `partial`, `error`."""
    error: str
    """Why the file cannot be read; empty where it can."""


class EvaluatorTotals(Page, frozen=True, kw_only=True):
    """What an evaluator said over all turns."""

    evaluator: str
    """The evaluator."""
    asked: int
    """Turns that it was asked about."""
    passed: int
    """Turns that passed."""
    failed: int
    """Turns that failed."""
    errors: int
    """Turns without a result of it."""
    mean: float | None
    """The mean score."""


class EvaluatorScore(Page, frozen=True, kw_only=True):
    """What an evaluator said of a turn."""

    evaluator: str
    """The evaluator."""
    result: str
    """`pass`, `fail` or `error`."""
    score: str
    """The score, as people read it; empty without one."""
    threshold: str
    """The threshold; empty without one."""
    reason: str
    """Why, or the error."""
    details: dict[str, Any]
    """All that the document has of it."""


class DocumentTurnPage(Page, frozen=True, kw_only=True):
    """A turn of an item."""

    prompt: str
    """The prompt."""
    expected_response: str
    """What was expected."""
    response: str
    """The response."""
    status: str
    """`pass`, `fail`, `partial` or `error`; empty where it was not evaluated."""
    error: str
    """Why there is no response."""
    scores: list[EvaluatorScore]
    """What evaluators said."""
    citations: Any
    """The citations of the response."""
    diagnostics: Any
    """What the platform says of the response."""


class ItemPage(Page, frozen=True, kw_only=True):
    """An item of a document."""

    number: int
    """Its number, from 1."""
    title: str
    """Its name, or its first prompt."""
    description: str
    """Its description."""
    conversation_id: str
    """The id of its conversation."""
    status: str
    """`pass`, `fail`, `partial` or `error`."""
    gist: str
    """Why it did not pass, in one line."""
    turns: list[DocumentTurnPage]
    """Its turns."""


class DocumentPage(Page, frozen=True, kw_only=True):
    """The results of a document, with a slice of its items, those that did not pass first."""

    document: DocumentSummary
    """The document as in the list."""
    description: str
    """Its description."""
    totals: list[EvaluatorTotals]
    """What each evaluator said over all turns."""
    items: list[ItemPage]
    """The slice of its items."""


class RunningTrial(Page, frozen=True, kw_only=True):
    """What a worker does now."""

    task: str
    """The id of the task."""
    name: str
    """Its name."""
    arm: Arm
    """The arm."""
    trial: int
    """The trial, from 1."""
    attempt: int
    """The attempt, from 1; 0: not known."""
    turn: int
    """The turn, from 1; 0: none has begun."""
    doing: Literal["preparing", "waiting for the agent", "grading"]
    """What is going on."""
    tool_calls: int
    """Tool calls of the turns that have ended."""
    since: str
    """When the trial began, as RFC 3339."""


class LiveRun(Page, frozen=True, kw_only=True):
    """A run in progress."""

    run: RunSummary
    """The run as in the list."""
    sequence: int
    """The number of the last event of its stream."""
    total_tasks: int | None
    """Tasks that it has; null where it is not known."""
    completed_tasks: int
    """Tasks all of whose trials have finished."""
    total_trials: int | None
    """Trials that it has, of both arms; null where it is not known."""
    completed_trials: int
    """Trials that have finished."""
    passed: int
    """Trials that passed."""
    failed: int
    """Trials that failed."""
    errors: int
    """Trials that ended in an error."""
    tokens: int | None
    """Tokens so far; null where they are not known."""
    premium_requests: float | None
    """Premium requests so far."""
    ai_credits: float | None
    """AI credits so far."""
    elapsed_ms: int
    """Milliseconds since it began, or went on after it was resumed."""
    left_ms: int | None
    """Milliseconds that it may take from here, at the pace so far; null where that is not known."""
    workers: int | None
    """Trials that run at the same time at most."""
    running: list[RunningTrial]
    """What is running now."""


class LiveData(Page, frozen=True, kw_only=True):
    """What an event says; what does not belong to its type is left out."""

    spec: str | UnsetType = UNSET
    """The name of the suite."""
    model: str | UnsetType = UNSET
    """The model."""
    task_id: str | UnsetType = UNSET
    """The id of the task."""
    task_name: str | UnsetType = UNSET
    """The name of the task."""
    arm: Arm | UnsetType = UNSET
    """The arm."""
    trial: int | UnsetType = UNSET
    """The trial, from 1."""
    attempt: int | UnsetType = UNSET
    """The attempt, from 1."""
    turn: int | UnsetType = UNSET
    """The turn, from 1."""
    outcome: str | UnsetType = UNSET
    """How the trial or the run ended."""
    score: float | UnsetType = UNSET
    """The mean score."""
    duration: float | UnsetType = UNSET
    """Seconds."""
    grader_name: str | UnsetType = UNSET
    """The grader that explains why a trial did not pass."""
    grader_type: str | UnsetType = UNSET
    """Its type."""
    passed: bool | UnsetType = UNSET
    """Whether it passed."""
    message: str | UnsetType = UNSET
    """What happened, in a line."""
    total_tasks: int | UnsetType = UNSET
    """Tasks of the run; left out where it is not known."""
    completed_tasks: int | UnsetType = UNSET
    """Tasks all of whose trials have finished."""
    total_trials: int | UnsetType = UNSET
    """Trials of the run; left out where it is not known."""
    completed_trials: int | UnsetType = UNSET
    """Trials that have finished."""
    pass_count: int | UnsetType = UNSET
    """Trials that passed so far."""
    fail_count: int | UnsetType = UNSET
    """Trials that did not pass so far, errors included."""
    tokens: int | UnsetType = UNSET
    """Tokens so far."""
    cost: float | UnsetType = UNSET
    """US dollars so far; left out: they are not known."""
    live: LiveRun | UnsetType = UNSET
    """The run at this moment, with what is running now; of `step_executed`."""


class LiveEvent(Page, frozen=True, kw_only=True):
    """An event of the stream of a run.

    `sequence` numbers what the journal has, so it is the same after a restart of the server. `task_started` and
    `step_executed`, which says what is running now, are not kept, and have the number of the event before them.
    """

    schema_version: Literal["1.0"] = "1.0"
    """The version of this format."""
    sequence: int
    """The number of the event, from 1."""
    run_id: str
    """The id of the run."""
    type: Literal[
        "run_started", "task_started", "step_executed", "task_completed", "run_completed", "run_failed"
    ]
    """What happened. `task_started` and `task_completed` are of trials; `run_completed` and `run_failed` are the last."""
    data: LiveData
    """More of it."""
    timestamp: str
    """When, as RFC 3339."""
