"""The keys of a suite file (`eval.yaml`), and Suite: what loading it gives."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.model.base import Count, CountOrOff, Effort, Keys, NonBlank, Seconds, SecondsOrOff, Weight
from waza.model.mock import SuiteMockBlock
from waza.model.mocks import CommandMock, McpMock

SCHEMA_VERSION = "1.4"  # of suites without one, and of the results we write
SCENARIO_VERSION = "2.0"


# Types of graders that judge how an agent works, and the metrics that are not the mean of a grader.
BEHAVIOURAL = ("behavior", "action_sequence", "tool_calls", "tool_constraint")
METRICS = ("trigger_accuracy", "trigger_precision", "trigger_recall", "task_completion", "behavior_quality")


class Config(Keys, frozen=True, kw_only=True):
    """`config`: how the suite is run."""

    trials_per_task: Count = 1
    timeout_seconds: Seconds = 300
    first_event_timeout_seconds: SecondsOrOff = 0
    idle_timeout_seconds: SecondsOrOff | None = None
    parallel: bool = False
    workers: CountOrOff = 0
    fail_fast: bool = False
    max_attempts: CountOrOff = 1
    executor: str = "copilot-sdk"
    executor_options: dict[str, Any] = {}
    model: str = ""
    reasoning_effort: Effort | None = None
    judge_model: str = ""
    judge_reasoning_effort: Effort | None = None
    judge_timeout_seconds: Seconds | None = None
    stop_after_errors: CountOrOff = 5
    group_by: str = ""
    skill_directories: list[str] = []
    required_skills: list[str] = []
    disabled_skills: list[str] = []
    instruction_files: list[str] = []
    skill_required: bool = True
    inject_skill_body: bool = True
    trigger_skill_routing: bool = False
    mcp_servers: dict[str, Any] = {}
    enforce_expected: bool = True
    isolation: Literal["run", "trial"] = "run"


class Metric(Keys, frozen=True, kw_only=True):
    """One of `metrics`: a figure over the whole suite."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    weight: Weight = 0.0
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    enabled: bool = True
    gate: bool = False
    description: str = ""


class GraderEntry(Keys, frozen=True, kw_only=True):
    """One of `graders`. Only `type`, `name`, `weight`, `config`, `ref` and `override` have an effect.

    `override`: a grader of a task replaces that of the suite with the same name.
    """

    strict_keys: ClassVar[bool] = True
    type: str = ""
    name: str = ""
    weight: Weight = 1.0
    config: dict[str, Any] | None = None
    ref: str = ""
    script: str = ""
    rubric: str = ""
    model: str = ""
    assertions: list[str] = []
    override: bool = False


class Hook(Keys, frozen=True, kw_only=True):
    """A shell command that runs around the suite or around each task."""

    command: NonBlank
    working_directory: str = ""
    exit_codes: list[int] = []
    error_on_fail: bool = False


class Hooks(Keys, frozen=True, kw_only=True):
    """`hooks`: what to run, and when."""

    before_run: list[Hook] = []
    after_run: list[Hook] = []
    before_task: list[Hook] = []
    after_task: list[Hook] = []


class Adversarial(Keys, frozen=True, kw_only=True):
    """`adversarial`: read by `waza adversarial`, ignored by a run."""

    packs: Annotated[list[NonBlank], msgspec.Meta(min_length=1)]
    on_unsafe_outcome: Literal["fail", "warn"] = "fail"


class SuiteFile(Keys, frozen=True, kw_only=True):
    """The keys of `eval.yaml`."""

    schemaVersion: str = SCHEMA_VERSION  # noqa: N815  # the file format's own spelling
    name: str = ""
    description: str = ""
    scenario: str | None = None
    skill: str = ""
    version: str = ""
    config: Config = Config()
    metrics: list[Metric] = []
    graders: list[GraderEntry] = []
    hooks: Hooks = Hooks()
    inputs: dict[str, str] = {}
    mcp_mocks: list[McpMock] | None = None
    command_mocks: list[CommandMock] | None = None
    adversarial: Adversarial | None = None
    baseline: bool = False
    tasks: list[NonBlank] = []
    tasks_from: str = ""
    range: tuple[int, int] | None = None
    mock: SuiteMockBlock | None = None
