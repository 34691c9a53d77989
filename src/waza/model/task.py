"""The keys of a task file, and Task: what a task is once everything about it is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.model.base import Count, Keys, NonBlank, NonNegative, Seconds, SecondsOrOff
from waza.model.mock import MockBlock, MockScript
from waza.model.mocks import CommandMock, McpMock
from waza.model.skill import Target
from waza.model.suite import GraderEntry
from waza.model.verdict import BuiltGrader


class InputFile(Keys, frozen=True, kw_only=True):
    """A file of the workspace: `content` in line, or copied from the fixtures directory."""

    path: str = ""
    content: str | None = None


class Repo(Keys, frozen=True, kw_only=True):
    """A git worktree in the workspace; without `dest` it is the workspace's root.

    `filters` are those of the repository's own configuration that may run, such as `lfs`.
    """

    type: Literal["worktree"]
    source: NonBlank
    commit: str = ""
    dest: str = ""
    filters: list[NonBlank] = []


class Responder(Keys, frozen=True, kw_only=True):
    """A model that plays the user and answers the agent's questions."""

    instructions: NonBlank
    max_followups: Count
    model: str = ""


class Inputs(Keys, frozen=True, kw_only=True):
    """`inputs`: what the agent is given."""

    prompt: str = ""
    prompt_file: str = ""
    context: dict[str, Any] = {}
    files: list[InputFile] = []
    repos: list[Repo] = []
    workdir: str = ""
    environment: dict[str, str] = {}
    follow_up_prompts: list[str] = []
    responder: Responder | None = None


class ExpectedBehavior(Keys, frozen=True, kw_only=True):
    """`expected.behavior`: limits on what the agent does; 0 or absent is no limit."""

    strict_keys: ClassVar[bool] = True
    max_tool_calls: NonNegative | None = None
    max_iterations: NonNegative = 0
    max_tokens: NonNegative = 0
    max_response_time_ms: NonNegative = 0
    required_tools: list[NonBlank] = []
    forbidden_tools: list[NonBlank] = []

    @property
    def checks(self) -> int:
        """The number of checks that the limits and tools make."""
        limits = (self.max_tool_calls, self.max_iterations, self.max_tokens, self.max_response_time_ms)
        return sum(map(bool, limits)) + len(self.required_tools) + len(self.forbidden_tools)


class Expected(Keys, frozen=True, kw_only=True):
    """`expected`: simple checks on the final output. `outcomes` and `tool_calls` only describe."""

    strict_keys: ClassVar[bool] = True
    output_contains: list[str] = []
    output_not_contains: list[str] = []
    output_contains_any: list[str] = []
    behavior: ExpectedBehavior | None = None
    should_trigger: bool | None = None
    outcomes: list[dict[str, Any]] = []
    tool_calls: Any = None


class CheckpointEntry(Keys, frozen=True, kw_only=True):
    """Graders that run after a turn, on what was seen so far."""

    strict_keys: ClassVar[bool] = True
    after_turn: Count
    graders: Annotated[list[GraderEntry], msgspec.Meta(min_length=1)]
    on_failure: Literal["continue", "stop"] = "continue"


class RequirementCheck(Keys, frozen=True, kw_only=True):
    """The grader that observes a requirement."""

    scope: str = ""
    grader: str = ""
    after_turn: Count | None = None


class Requirement(Keys, frozen=True, kw_only=True):
    """A requirement and the graders that observe it. It describes and changes no verdict."""

    id: str = ""
    category: str = ""
    description: str = ""
    checks: list[RequirementCheck] = []


class TaskFile(Keys, frozen=True, kw_only=True):
    """The keys of a task file. `triggers`, `fixtures` and `expected_outcome` are the short form."""

    id: str = ""
    name: str = ""
    description: str = ""
    enabled: bool = True
    golden: bool = False
    tags: list[str] = []
    timeout_seconds: Seconds | None = None
    first_event_timeout_seconds: SecondsOrOff | None = None
    context_dir: str = ""
    skill_directories: list[str] | None = None
    instruction_files: list[str] = []
    inputs: Inputs = Inputs()
    expected: Expected = Expected()
    graders: list[GraderEntry] = []
    checkpoints: list[CheckpointEntry] = []
    requirements: list[Requirement] = []
    command_mocks: list[CommandMock] | None = None
    mcp_mocks: list[McpMock] | None = None
    mock: MockBlock | None = None
    triggers: list[str] = []
    fixtures: list[str] = []
    expected_outcome: str = ""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint whose graders are built."""

    after_turn: int
    graders: tuple[BuiltGrader, ...]
    stop: bool


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task, with everything that it inherits from its suite already decided.

    `prompt`, `follow_ups`, `variables` (the `.Vars` of templates) are unrendered: they are rendered for each
    attempt. `home` is the suite's directory, `fixtures` is the directory of `files` and `instruction_files`. `skill_paths` are the absolute
    roots that the agent may load skills from, but for those with names in `disabled_skills`; empty with `no_skills`. `graders` are in the order in which
    they run: the suite's, the implicit tool constraint, the task's own. With `verbatim` the prompts are no
    templates, and the transcript gets an event `ANSWER` or `FAILURE` after every turn.
    """

    id: str
    name: str
    file: str
    prompt: str
    description: str = ""
    expected_outcome: str = ""
    golden: bool = False
    tags: tuple[str, ...] = ()
    timeout: float = 300
    first_event_timeout: float = 0
    home: Path
    fixtures: Path
    inputs: Inputs = Inputs()
    follow_ups: tuple[str, ...] = ()
    instruction_files: tuple[str, ...] = ()
    skill_paths: tuple[Path, ...] = ()
    disabled_skills: tuple[str, ...] = ()
    no_skills: bool = False
    target: Target | None = None
    expected: Expected = Expected()
    graders: tuple[BuiltGrader, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    command_mocks: tuple[CommandMock, ...] = ()
    mcp_mocks: tuple[McpMock, ...] = ()
    mock: MockScript | None = None
    variables: dict[str, str] = {}
    verbatim: bool = False
    digest: str = ""

    @property
    def responder(self) -> Responder | None:
        """The model that plays the user, if the task has one."""
        return self.inputs.responder
