"""The keys of a task file, and Task: what a task is once everything about it is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.model.base import Count, Keys, NonBlank, NonNegative, Seconds, SecondsOrOff
from waza.model.mock import MockBlock, MockScript
from waza.model.mocks import CommandMock, McpMock
from waza.model.requirement import RecordedRequirement
from waza.model.skill import Target
from waza.model.suite import GraderEntry
from waza.model.verdict import BuiltGrader


class InputFile(Keys, frozen=True, kw_only=True):
    """A file of the workspace: `content` in line, or copied from the fixtures directory."""

    path: str = ""
    """The path in the workspace, and without `content` also that below the fixtures directory. No `..`."""
    content: str | None = None
    """The content of the file, instead of a fixture."""


class Repo(Keys, frozen=True, kw_only=True):
    """A git worktree in the workspace; without `dest` it is the workspace's root.

    `filters` are those of the repository's own configuration that may run, such as `lfs`.
    """

    type: Literal["worktree"]
    """How the repository gets into the workspace. There is one way, a git worktree."""
    source: NonBlank
    """The path of a git repository on this machine."""
    commit: str = ""
    """A commit, branch or tag. Default: what is checked out in `source`."""
    dest: str = ""
    """A directory of the workspace. Default: the workspace itself."""
    filters: list[NonBlank] = []
    """Names of filters in the configuration of the repository that may run at the checkout. Others do not
    run."""


class Responder(Keys, frozen=True, kw_only=True):
    """A model that plays the user and answers the agent's questions."""

    instructions: NonBlank
    """What the model that plays the user knows and wants."""
    max_followups: Count
    """How many replies it may give."""
    model: str = ""
    """Its model. Default: the model of the agent."""


class TaskInputs(Keys, frozen=True, kw_only=True):
    """What the agent is given besides its prompts."""

    context: dict[str, Any] = {}
    """Notes for people and other programs; `fixture` names a directory that is copied into the workspace."""
    files: list[InputFile] = []
    """Files of the workspace."""
    repos: list[Repo] = []
    """Git worktrees in the workspace."""
    workdir: str = ""
    """The directory of the workspace that the agent starts in."""
    environment: dict[str, str] = {}
    """Environment variables of the agent and of `program` graders."""
    responder: Responder | None = None
    """A model that answers the agent's questions. Not together with `follow_up_prompts`."""


class Inputs(TaskInputs, frozen=True, kw_only=True):
    """`inputs`: what the agent is given."""

    prompt: str = ""
    """What the agent is asked. Template variables are filled in."""
    prompt_file: str = ""
    """A file beside the task with the prompt, instead of `prompt`."""
    follow_up_prompts: list[str] = []
    """Prompts that follow the first one, one after the answer to the other."""


class ExpectedBehavior(Keys, frozen=True, kw_only=True):
    """`expected.behavior`: limits on what the agent does; 0 or absent is no limit."""

    strict_keys: ClassVar[bool] = True
    max_tool_calls: NonNegative | None = None
    """Tool calls at most. 0: no limit."""
    max_iterations: NonNegative = 0
    """Messages of the agent at most. 0: no limit."""
    max_tokens: NonNegative = 0
    """Input and output tokens at most. 0: no limit."""
    max_response_time_ms: NonNegative = 0
    """Milliseconds that the agent may work, over all turns. 0: no limit."""
    required_tools: list[NonBlank] = []
    """Tools that must be called at least once, by their exact names."""
    forbidden_tools: list[NonBlank] = []
    """Tools that must not be called, by their exact names."""

    @property
    def checks(self) -> int:
        """The number of checks that the limits and tools make."""
        limits = (self.max_tool_calls, self.max_iterations, self.max_tokens, self.max_response_time_ms)
        return sum(map(bool, limits)) + len(self.required_tools) + len(self.forbidden_tools)


class Expected(Keys, frozen=True, kw_only=True):
    """`expected`: simple checks on the final output. `outcomes` and `tool_calls` only describe."""

    strict_keys: ClassVar[bool] = True
    output_contains: list[str] = []
    """Texts that the output must contain, ignoring case."""
    output_not_contains: list[str] = []
    """Texts that the output must not contain, ignoring case."""
    output_contains_any: list[str] = []
    """Texts of which the output must contain at least one, ignoring case."""
    behavior: ExpectedBehavior | None = None
    """Limits on what the agent does, as the check `_behavior`."""
    should_trigger: bool | None = None
    """Whether the agent should invoke the skill, as the check `_should_trigger`. Only with
    `inject_skill_body: false`."""
    outcomes: list[dict[str, Any]] = []
    """Descriptions of outcomes. They are no checks."""
    tool_calls: Any = None
    """Descriptions of tool calls. They are no checks."""


class CheckpointEntry(Keys, frozen=True, kw_only=True):
    """Graders that run after a turn, on what was seen so far."""

    strict_keys: ClassVar[bool] = True
    after_turn: Count
    """The turn after which the graders run, counted from 1."""
    graders: Annotated[list[GraderEntry], msgspec.Meta(min_length=1)]
    """The graders to run."""
    on_failure: Literal["continue", "stop"] = "continue"
    """Whether the conversation goes on when a grader did not pass."""


class RequirementCheck(Keys, frozen=True, kw_only=True):
    """The grader that observes a requirement."""

    scope: str = ""
    """Where the grader is declared: `eval` (the suite), `task` or `checkpoint`."""
    grader: str = ""
    """The name of the grader."""
    after_turn: Count | None = None
    """The turn of the checkpoint, with the scope `checkpoint`."""


class Requirement(Keys, frozen=True, kw_only=True):
    """A requirement and the graders that observe it. It describes and changes no verdict."""

    id: str = ""
    """The name of the requirement, unique in its task."""
    category: str = ""
    """`outcome`, `boundary`, `recovery` or `quality`."""
    description: str = ""
    """What is required."""
    checks: list[RequirementCheck] = []
    """The graders that observe it."""


class TaskFile(Keys, frozen=True, kw_only=True):
    """The keys of a task file. `triggers`, `fixtures` and `expected_outcome` are the short form."""

    id: str = ""
    """The name of the task in results. Default: `name`, else the name of the file. Unique in its suite."""
    name: str = ""
    """The name of the task in reports. Default: `id`."""
    description: str = ""
    """What the task is for. It has no effect."""
    enabled: bool = True
    """False leaves the task out."""
    golden: bool = False
    """Marks a task that must always pass. Results show the mark."""
    tags: list[str] = []
    """Words that `--tags` and `config.group_by: tags` look for."""
    timeout_seconds: Seconds | None = None
    """Seconds that one turn may take. Default: that of the suite."""
    first_event_timeout_seconds: SecondsOrOff | None = None
    """Seconds within which a turn must show its first event. Default: that of the suite."""
    context_dir: str = ""
    """The fixtures directory of this task, relative to the current directory, else to the suite. Default: that of
    the suite."""
    skill_directories: list[str] | None = None
    """Directories that skills are loaded from, instead of those of the suite."""
    instruction_files: list[str] = []
    """Further files of instructions, besides those of the suite."""
    inputs: Inputs = Inputs()
    """What the agent is given."""
    expected: Expected = Expected()
    """Simple checks on the output and on what the agent does."""
    graders: list[GraderEntry] = []
    """Graders of this task, which run after those of the suite."""
    checkpoints: list[CheckpointEntry] = []
    """Graders that run between turns."""
    requirements: list[Requirement] = []
    """Named requirements and the graders that observe them. They change no verdict."""
    command_mocks: list[CommandMock] | None = None
    """Mocked programs, instead of those of the suite. An empty list: none."""
    mcp_mocks: list[McpMock] | None = None
    """Mocked MCP servers, instead of those of the suite. An empty list: none."""
    mock: MockBlock | None = None
    """The script of the mock executor. It replaces that of the suite key by key."""
    solution: MockBlock | None = None
    """A right answer, in the form of `mock`. No run plays it: `waza check --prove` shows that every grader passes it."""
    triggers: list[str] = []
    """The short form of `inputs.prompt`: the first is the prompt, each further one makes a further task."""
    fixtures: list[str] = []
    """The short form of `inputs.files`: paths in the fixtures directory."""
    expected_outcome: str = ""
    """What the agent should achieve, in words for judges that use a rubric."""
    caveats: list[NonBlank] = []
    """What results of the task do not show, in sentences. Each is a warning in every report."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint whose graders are built."""

    after_turn: int
    graders: tuple[BuiltGrader, ...]
    stop: bool


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task, with everything that it inherits from its suite already decided.

    `prompt`, `follow_ups`, `variables` (the `.Vars` of templates) are unrendered: they are rendered for each
    attempt. `home` is the suite's directory, `fixtures` is the directory of `files` and `instruction_files`. `skill_paths` are the absolute
    roots that the agent may load skills from, but for those with names in `disabled_skills`; empty with `no_skills`. `skill` is the name of the skill or agent
    under test, also where the task runs without skills; empty: nothing is. `graders` are in the order in which
    they run: the suite's, the implicit tool constraint, the task's own. With `verbatim` the prompts are no
    templates, and the transcript gets the prompt before every turn, and an event `ANSWER` or `FAILURE` after it.
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
    inputs: TaskInputs = TaskInputs()
    follow_ups: tuple[str, ...] = ()
    instruction_files: tuple[str, ...] = ()
    skill_paths: tuple[Path, ...] = ()
    disabled_skills: tuple[str, ...] = ()
    no_skills: bool = False
    target: Target | None = None
    skill: str = ""
    expected: Expected = Expected()
    graders: tuple[BuiltGrader, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    requirements: tuple[RecordedRequirement, ...] = ()
    command_mocks: tuple[CommandMock, ...] = ()
    mcp_mocks: tuple[McpMock, ...] = ()
    mock: MockScript | None = None
    solution: MockScript | None = None
    variables: dict[str, str] = {}
    verbatim: bool = False
    digest: str = ""

    @property
    def all_graders(self) -> tuple[BuiltGrader, ...]:
        """The graders of the task, and after them those of its checkpoints."""
        return (*self.graders, *(built for point in self.checkpoints for built in point.graders))
