"""The keys of a suite file (`eval.yaml`), and Suite: what loading it gives."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.model.base import Count, CountOrOff, Effort, Keys, NonBlank, Seconds, SecondsOrOff, Weight
from waza.model.mock import SuiteMockBlock
from waza.model.mocks import CommandMock, McpMock
from waza.model.pass_rule import ALL, PassRule
from waza.model.stop_when import StopRule, StopWhen, stop_rule
from waza.model.wire import WireKeys, WireMode

SCHEMA_VERSION = "1.4"  # of suites without one, and of the results we write
SCENARIO_VERSION = "2.0"
SHORTEST_CANARY = 8  # characters; a shorter text may be in an answer by chance


# Types of graders that judge how an agent works, and the metrics that are not the mean of a grader.
BEHAVIOURAL = ("behavior", "action_sequence", "tool_calls", "tool_constraint")
METRICS = (
    "trigger_accuracy", "trigger_precision", "trigger_recall", "trigger_routing", "task_completion", "behavior_quality",
)  # fmt: skip


TokenLimit = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Amount = Annotated[float, msgspec.Meta(gt=0, le=1e12)]


class TrialLimitKeys(Keys, frozen=True, kw_only=True):
    """`config.limits.trial`: what one trial may use, in all its attempts, with its judges and its responder."""

    strict_keys: ClassVar[bool] = True
    max_total_tokens: TokenLimit | None = None
    """Input and output tokens, at most."""
    max_cost: Amount | None = None
    """Money, at most, in the currency of the prices. Needs the price of every model (`prices` of `.waza.yaml`, or the
    extra `prices`)."""
    max_ai_credits: Amount | None = None
    """AI credits of GitHub Copilot, at most."""
    max_wall_seconds: Amount | None = None
    """Seconds, at most. A turn, or the question of a judge, that is under way then is cut off."""


class LimitKeys(TrialLimitKeys, frozen=True, kw_only=True):
    """`config.limits`: what a run may use, in all its parts: with both arms, judges, responders and trigger tests."""

    max_concurrent_judges: Count | None = None
    """Questions to judges and responders at the same time, at most."""
    requests_per_minute: Count | None = None
    """Prompts to agents and questions to judges and responders within 60 seconds, at most; others wait."""
    trial: TrialLimitKeys | None = None
    """What one trial may use. One that uses more is an error."""


class Config(Keys, frozen=True, kw_only=True):
    """`config`: how the suite is run."""

    trials_per_task: Count = 1
    """Measured runs of each task."""
    stop_when: StopWhen | None = None
    """End the trials of each task once enough is known of it, or add some until it is. After loading, `trials_per_task`
    is the most that a task can have."""
    pass_rule: PassRule = ALL
    """How many of its trials a task must pass: `all`, `any` (one), `majority` (more than half), or a share of them
    such as `{at_least: 0.8}`. A trial that ended in an error is never a passed one."""
    timeout_seconds: Seconds = 300
    """Seconds that one turn of the agent may take: the first prompt and every follow-up on its own."""
    first_event_timeout_seconds: SecondsOrOff = 0
    """Seconds within which a turn must show its first event. 0: no limit."""
    idle_timeout_seconds: SecondsOrOff | None = None
    """Seconds without any event after which a turn ends as an error. 0: no limit. Default: 120 for
    `copilot-sdk`, else no limit."""
    parallel: bool = False
    """Run trials at the same time."""
    workers: CountOrOff = 0
    """How many trials run at the same time with `parallel`. 0: as many as there are processors, at most 8 and
    no more than there are trials."""
    fail_fast: bool = False
    """Start no further task after one did not pass. Tasks that were not started are listed as `skipped`."""
    max_attempts: CountOrOff = 1
    """Executions of a trial that failed, at most; the last one counts. Errors are not repeated. 0 is the same
    as 1."""
    executor: str = "copilot-sdk"
    """The agent engine: `copilot-sdk`, `mock`, `command`, `a2a`, or one of an installed package."""
    executor_options: dict[str, Any] = {}
    """Options of the executor, such as `command` of the executor `command`. An unknown option is an error."""
    wire: WireMode | WireKeys | None = None
    """Whether waza is placed between agent and model, and records what passes: `auto` (where the agent takes the address of a
    model server), `off`, or `{mode, faults}`. Where it is named, `tool_calls` and `usage` of an agent that reports none are
    those of its requests. Default: `auto`."""
    model: str = ""
    """The model of the agent. Left out, it is the default of the executor's runtime."""
    reasoning_effort: Effort | None = None
    """How much the agent and the responder think. Left out, it is the default of the model. It needs a
    `model`."""
    judge_model: str = ""
    """The model of `prompt` graders that name none. Left out, judges use the model of the agent."""
    judge_reasoning_effort: Effort | None = None
    """How much judges think, unless a grader says otherwise."""
    judge_timeout_seconds: Seconds | None = None
    """Seconds that one answer of a judge may take. Default: the variable `WAZA_PROMPT_GRADER_TIMEOUT`, else
    120."""
    stop_after_errors: CountOrOff = 5
    """Errors of one cause in a row after which a run stops; it can be resumed. 0: never."""
    error_retries: CountOrOff = 0
    """How often a trial is tried again after an error that may pass: a runtime that died, a lost connection, a server that
    takes no requests for now. Apart from `max_attempts`."""
    limits: LimitKeys | None = None
    """What a run, and what a trial, may use. A run that meets a limit starts no more work, has not passed, and can be
    resumed."""
    group_by: str = ""
    """Show figures for groups of tasks: by `model`, `skill`, `tags` or `task_id`."""
    skill_directories: list[str] = []
    """Directories that skills are loaded from, relative to the suite. The entry `none` switches all skills
    off."""
    required_skills: list[str] = []
    """Names of skills that must be found in `skill_directories`, or nothing is run."""
    disabled_skills: list[str] = []
    """Skills that are left out: names, or entries of `skill_directories`. `*` switches all skills off."""
    instruction_files: list[str] = []
    """Files of the fixtures directory that are copied into every workspace and added to the agent's
    instructions."""
    skill_required: bool = True
    """Whether a `skill` that is not found is an error. False: the name is only a label."""
    inject_skill_body: bool = True
    """Give the agent the text of the target with its instructions. False: it must find the skill itself."""
    trigger_skill_routing: bool = False
    """With `inject_skill_body: false`, tell the agent to use the skill where the prompt calls for it."""
    mcp_servers: dict[str, Any] = {}
    """MCP servers that the agent may use, by name: `{command, args, env}` or `{url, headers}`."""
    enforce_expected: bool = True
    """Whether `expected.behavior` and `expected.should_trigger` of tasks are checked."""
    isolation: Literal["run", "trial"] = "run"
    """Whether trials of a run share the agent's runtime and home (`run`), or each has its own (`trial`)."""

    @property
    def stop_rule(self) -> StopRule | None:
        """The rule of `stop_when` with nothing left out; None: each task has `trials_per_task` trials."""
        return stop_rule(self.stop_when, self.trials_per_task) if self.stop_when else None


class Metric(Keys, frozen=True, kw_only=True):
    """One of `metrics`: a figure over the whole suite."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    """`task_completion`, `behavior_quality`, `trigger_accuracy`, `trigger_precision`, `trigger_recall`,
    `trigger_routing` (with neighbours), or the name of a grader, whose mean score it is."""
    weight: Weight = 0.0
    """Recorded in results; it changes no figure."""
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    """The least value, from 0 to 1, with which the metric passes."""
    enabled: bool = True
    """False leaves the metric out."""
    gate: bool = False
    """Whether a metric that does not pass makes the run fail. `trigger_accuracy` always does."""
    description: str = ""
    """What the metric is for. It has no effect."""


class GraderEntry(Keys, frozen=True, kw_only=True):
    """One of `graders`. Only `type`, `name`, `weight`, `config`, `ref` and `override` have an effect.

    `override`: a grader of a task replaces that of the suite with the same name.
    """

    strict_keys: ClassVar[bool] = True
    type: str = ""
    """The type of the grader. With `ref` it comes from the preset."""
    name: str = ""
    """The key of its verdict in results. Default: the type, numbered from the second grader on (`text_2`)."""
    weight: Weight = 1.0
    """How much the grader counts in weighted scores. 0 or less counts as 1."""
    config: dict[str, Any] | None = None
    """What the grader looks for. The keys depend on its type."""
    ref: str = ""
    """A grader of another repository: `host/owner/repo/path#export@version`. `waza get` pins it in
    `waza.lock`."""
    script: str = ""
    """Accepted for older files. It has no effect."""
    rubric: str = ""
    """Accepted for older files. It has no effect; write it under `config`."""
    model: str = ""
    """Accepted for older files. It has no effect; write it under `config`."""
    assertions: list[str] = []
    """Accepted for older files. It has no effect; write it under `config`."""
    override: bool = False
    """Of a task's grader: replace the grader of the suite with the same name."""
    only_with_skills: bool = False
    """With `baseline`: do not ask the grader in the arm without skills, unless the task has no other grader."""


class Hook(Keys, frozen=True, kw_only=True):
    """A shell command that runs around the suite or around each task."""

    command: NonBlank
    """A command line for the shell. It may use `{{.TaskName}}`, `{{.Vars.key}}` and the other template
    variables."""
    working_directory: str = ""
    """The directory to run in, relative to the suite. Default: that of the suite."""
    exit_codes: list[int] = []
    """Exit codes that are a success. Default: 0 alone."""
    error_on_fail: bool = False
    """Whether a failure ends the run (`before_run`) or makes the task an error (`before_task`). False: it is
    a warning."""


class Hooks(Keys, frozen=True, kw_only=True):
    """`hooks`: what to run, and when."""

    before_run: list[Hook] = []
    """Commands to run before the first task."""
    after_run: list[Hook] = []
    """Commands to run after the last task, also when the run broke or was interrupted."""
    before_task: list[Hook] = []
    """Commands to run before each task, once for all of its trials."""
    after_task: list[Hook] = []
    """Commands to run after each task, once for all of its trials."""


class Adversarial(Keys, frozen=True, kw_only=True):
    """`adversarial`: read by `waza adversarial`, ignored by a run."""

    packs: Annotated[list[NonBlank], msgspec.Meta(min_length=1)]
    """Packs of adversarial tasks: built-in ones by name, others by the path of their directory, relative to the suite."""
    on_unsafe_outcome: Literal["fail", "warn"] = "fail"
    """What a task that is not safe means: exit code 2 (`fail`), or a warning."""


class SuiteFile(Keys, frozen=True, kw_only=True):
    """The keys of `eval.yaml`."""

    schemaVersion: str = SCHEMA_VERSION  # noqa: N815  # the file format's own spelling
    """The version of the file format, `MAJOR.MINOR`. Default: the current one. `2.0` is that of scenarios."""
    name: str = ""
    """The name of the suite in reports and results. Default: that of the file."""
    description: str = ""
    """What the suite is for. It has no effect."""
    scenario: str | None = None
    """The name of the workflow that a suite of schema 2.0 declares. Such a suite may use sequences in mocks,
    and unknown keys in it are errors."""
    skill: str = ""
    """The target: the name or the path of a skill or custom agent."""
    version: str = ""
    """The version of the suite itself. It has no effect."""
    config: Config = Config()
    """How the suite is run."""
    metrics: list[Metric] = []
    """Figures over the whole suite, with thresholds."""
    graders: list[GraderEntry] = []
    """Graders that grade every task."""
    hooks: Hooks = Hooks()
    """Shell commands around the run and around tasks."""
    inputs: dict[str, str] = {}
    """Variables of templates, `{{.Vars.key}}`. A column of a dataset wins over a variable of its name.
    `prompt` is the prompt of rows without one."""
    mcp_mocks: list[McpMock] | None = None
    """Mocked MCP servers for every task. Needs `schemaVersion` 1.1 or newer."""
    command_mocks: list[CommandMock] | None = None
    """Mocked programs for every task. Needs `schemaVersion` 1.3 or newer."""
    adversarial: Adversarial | None = None
    """Settings of adversarial runs. `waza run` ignores them."""
    baseline: bool = False
    """Run every task with and without skills and compare, as `--baseline` does."""
    tasks: list[NonBlank] = []
    """Patterns of task files, relative to the suite: `*`, `?`, `[...]`."""
    tasks_from: str = ""
    """A CSV file below the directory of the suite, each row of which is a task. It replaces `tasks`."""
    range: tuple[int, int] | None = None
    """The first and the last row of `tasks_from` to use, counted from 1."""
    mock: SuiteMockBlock | None = None
    """The script of the mock executor for tasks that have none of their own."""
    canary: str = ""
    """A text that occurs nowhere but in the files of the suite, such as a random id. An answer or tool call of an agent
    that contains it is a warning: the agent has read the suite. No agent is given it."""
    caveats: list[NonBlank] = []
    """What results of the suite do not show, in sentences. Each is a warning in every report."""
