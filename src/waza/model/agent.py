"""The protocols between the engine and agents: Executor, Session, Judge, Interview, and what passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from waza.errors import ExecutorError
from waza.model.base import Keys
from waza.model.observation import Denial, Turn, Usage
from waza.model.suite import Config

if TYPE_CHECKING:
    from waza.model.task import Task
    from waza.model.trial import Attempt


Options = TypeVar("Options", bound=Keys)

READING = ("view", "grep", "rg", "glob")
"""The tools that read a workspace; `rg` is what some models have in place of `grep`."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one turn, in seconds; 0 switches a limit off. `until_skill`: the invocation of this skill ends it."""

    turn: float = 300
    first_event: float = 0
    idle: float = 0
    until_skill: str = ""


class Resource(msgspec.Struct, frozen=True):
    """A file that was put into the workspace for the agent: its path there, its size and how it begins."""

    path: str
    size: int
    head: bytes


class Instruction(msgspec.Struct, frozen=True):
    """An instruction file: its path in the workspace, and its text for the system message."""

    path: str
    text: str


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A model server that the user configured. `repr` shows no key."""

    base_url: str
    type: str = "openai"
    wire_api: str = ""
    api_key: str = ""
    bearer_token: str = ""
    headers: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Provider({self.host})"

    @property
    def host(self) -> str:
        """The host and port, without credentials or path."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor is made for: one suite on one model."""

    model: str
    config: Config
    skill: str = ""
    provider: Provider | None = None
    hidden: frozenset[str] = frozenset()  # variables that hold keys: no agent may see them
    shims: Path | None = None  # directory of mocked programs, for the front of the agent's PATH

    def options(self, kind: type[Options]) -> Options:
        """Return `config.executor_options` as the struct that an executor calls `Options`.

        ExecutorError: they do not fit; those of a suite were checked when it was loaded.
        """
        try:
            return msgspec.convert(self.config.executor_options, kind)
        except msgspec.ValidationError as error:
            raise ExecutorError(f"config.executor_options of {self.config.executor}: {error}") from error


class AttemptWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an attempt happens: the workspace, the agent's directory in it, and what was put there.

    `mock_servers` are mocked MCP servers to be given to the agent; `mock_token` is what its shell must carry as
    WAZA_MOCK_SESSION, so that mocked programs know whose call it is.
    """

    workspace: Path | None
    workdir: Path | None
    resources: tuple[Resource, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    environment: Mapping[str, str] = {}
    mock_servers: Mapping[str, Any] = {}
    mock_token: str = ""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a question offers: its name, what it is for, and a JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class JudgeToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that was called in answer to a question."""

    name: str
    args: dict[str, Any]


class JudgeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a judge or responder. `asker` is the grader's name, or `responder`.

    `tools` are for the answer. `may_use` are those of the executor's own tools that the judge may use.
    """

    asker: str
    text: str
    tools: tuple[Tool, ...] = ()
    may_use: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    timeout: float = 120


class JudgeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: text, the calls in order, and an error if the turn ended in one."""

    text: str = ""
    calls: tuple[JudgeToolCall, ...] = ()
    error: str = ""
    usage: Usage | None = None
    session_id: str = ""


class Interview(Protocol):
    """A conversation with a judge or responder; it remembers what was asked."""

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer. Never raises for a broken turn: see `JudgeAnswer.error`."""
        ...

    async def aclose(self) -> None:
        """End the conversation."""
        ...


class JudgeSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a judge or responder held: what it cost, and what it was denied; None: nothing is denied."""

    session_id: str
    usage: Usage | None = None
    calls: tuple[JudgeToolCall, ...] = ()
    denials: tuple[Denial, ...] | None = None


class Judge(Protocol):
    """Answers questions about an attempt."""

    @property
    def sessions(self) -> Sequence[JudgeSession]:
        """The sessions that were held so far."""
        ...

    async def open(self, workdir: Path | None, resume_id: str = "") -> Interview:
        """Start a conversation; with `resume_id` in the agent's own session."""
        ...


class Session(Protocol):
    """One conversation with an agent."""

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Send a prompt and wait for the turn to end, in whatever way. ExecutorError: nothing was sent."""
        ...

    async def aclose(self) -> None:
        """End the session and all that belongs to it."""
        ...


class Executor(Protocol):
    """An agent engine; one per suite and model.

    The class of one from another package has `capabilities`, a `waza.model.capabilities.Capabilities`.
    """

    async def start(self) -> None:
        """Get ready. ExecutorError: the engine, a login or a model is missing, and how to get it."""
        ...

    def works_in(self, task: Task) -> bool:
        """Tell whether the agent needs a workspace for a task that brings no files itself."""
        ...

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> Session:
        """Start a session for an attempt."""
        ...

    def judge(self, attempt: Attempt) -> Judge | None:
        """Return the judge that answers graders and plays the user; None if the executor has none."""
        ...

    async def aclose(self) -> None:
        """Stop the engine; nothing of it stays."""
        ...
