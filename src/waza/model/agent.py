"""The protocols between the engine and agents: Executor, Session, Judge, Interview, and what passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from waza.errors import ExecutorError
from waza.model.base import Keys
from waza.model.observation import Denial, Event, ModelCall, Turn, Usage
from waza.model.suite import Config
from waza.model.wire import WireAddress

if TYPE_CHECKING:
    from waza.model.task import Task
    from waza.model.trial import Attempt


Options = TypeVar("Options", bound=Keys)

READING = ("view", "grep", "rg", "glob")
"""The tools that read a workspace; `rg` is what some models have in place of `grep`."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one turn, in seconds; 0 is no limit. A turn that one of them ends is a Turn with `error` and `timed_out`."""

    turn: float = 300
    """Seconds that the turn may take. The engine gives a turn up some seconds later."""
    first_event: float = 0
    """Seconds within which something must be seen of the agent."""
    idle: float = 0
    """Seconds without any event after which the turn ends."""
    until_skill: str = ""
    """The turn ends when the agent invokes this skill; set for the prompts of trigger tests."""


class Resource(msgspec.Struct, frozen=True):
    """A file of the task that was put into the workspace."""

    path: str
    """Its path in the workspace."""
    size: int
    """Its size in bytes."""
    head: bytes
    """How it begins."""


class Instruction(msgspec.Struct, frozen=True):
    """An instruction file of the suite."""

    path: str
    """Its path in the workspace."""
    text: str
    """Its text, for the system message."""


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A model server that the user configured. `repr` shows no key."""

    base_url: str
    """Its address."""
    type: str = "openai"
    """The kind of server, such as `openai` or `azure`."""
    wire_api: str = ""
    """The interface that it speaks; empty: the usual one."""
    api_key: str = ""
    """The key, or empty."""
    bearer_token: str = ""
    """The token, or empty."""
    headers: dict[str, str] = {}
    """Headers of every request."""
    known_host: str = ""
    """The host for results, where the address is that of the wire."""

    def __repr__(self) -> str:
        return f"Provider({self.host})"

    @property
    def host(self) -> str:
        """The host and port, without credentials or path."""
        return self.known_host or urlsplit(self.base_url).netloc.rpartition("@")[2]

    def on_wire(self, wire: WireAddress | None) -> Provider:
        """Return how sessions find this server: on the wire, with the key for that; without one as it is."""
        if wire is None:
            return self
        address = wire.root if self.type == "anthropic" else wire.openai
        return Provider(
            base_url=address,
            type=self.type,
            wire_api=self.wire_api,
            api_key=wire.token,
            known_host=self.host,
        )


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor is made for: one suite on one model."""

    model: str
    """The model of the agent; empty: the default one."""
    config: Config
    """The `config` of the suite, with what the command line changed."""
    skill: str = ""
    """The target of the suite: the name of a skill or custom agent, or empty."""
    provider: Provider | None = None
    """The model server of the project, for executors with the capability `models`."""
    judge_wire: WireAddress | None = None
    """Where judges and responders find their models, in the place of `provider`, whose key then no session gets; None: there."""
    hidden: frozenset[str] = frozenset()
    """Environment variables that hold keys; no agent may see them."""
    shims: Path | None = None
    """The directory of mocked programs, for the front of the agent's PATH."""

    def options(self, kind: type[Options]) -> Options:
        """Return `config.executor_options` as the struct that an executor calls `Options`.

        ExecutorError: they do not fit; those of a suite were checked when it was loaded.
        """
        try:
            return msgspec.convert(self.config.executor_options, kind)
        except msgspec.ValidationError as error:
            raise ExecutorError(f"config.executor_options of {self.config.executor}: {error}") from error


class MockedAnswer(msgspec.Struct, frozen=True):
    """What a mocked dependency answers to a call of a script."""

    result: str
    """The text that the agent would get."""
    success: bool
    """Whether the call succeeds."""
    delay: float = 0
    """Seconds until it is answered."""


class AttemptWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an attempt happens: the workspace, the agent's directory in it, and what was put there."""

    workspace: Path | None
    """The directory that was made for the attempt; None: no workspace was made (see `Executor.works_in`)."""
    workdir: Path | None
    """The directory in it that the agent starts in."""
    resources: tuple[Resource, ...] = ()
    """The files of the task that were put there."""
    instructions: tuple[Instruction, ...] = ()
    """Instruction files of the suite."""
    environment: Mapping[str, str] = {}
    """Environment variables of the task."""
    mock_servers: Mapping[str, Any] = {}
    """Mocked MCP servers to be given to the agent, by name, as in `config.mcp_servers`."""
    mock_token: str = ""
    """What the shell of the agent must carry as WAZA_MOCK_SESSION, so that mocked programs know whose call it
    is."""
    ask_mocks: Callable[[str, Any], MockedAnswer | None] | None = None
    """Takes the name of a tool and the arguments of a scripted call, and returns the answer of the mocks of the attempt,
    or None where it is not for them. Only for executors that play a script; others meet mocks by the two fields above."""
    wire: WireAddress | None = None
    """Where the agent finds its model, with the key that it shows there, in the place of the model server of the project.
    None: it is on its own."""
    report: Callable[[Event | ModelCall], None] | None = None
    """Takes what is seen of the agent in the moment it is seen: starts and ends of tool calls, which are events of
    the turn as well, and calls of models. An executor need not report anything. None: nobody wants to know."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a question offers for the answer."""

    name: str
    """Its name."""
    description: str
    """What it is for."""
    parameters: dict[str, Any]
    """A JSON Schema of its arguments."""


class JudgeToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that was called in answer to a question."""

    name: str
    """The name of the tool."""
    args: dict[str, Any]
    """Its arguments; the executor need not have checked them."""


class JudgeQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a judge or a responder."""

    asker: str
    """The name of the grader (`Helpers.name`), by which a scripted judge knows it; or `responder`."""
    text: str
    """The question."""
    tools: tuple[Tool, ...] = ()
    """Tools that give the answer its form. The judge may call each any number of times."""
    may_use: tuple[str, ...] = ()
    """Tools of the executor that the judge may use to look around."""
    model: str = ""
    """The model; empty: the one of the agent."""
    effort: str = ""
    """The reasoning effort; empty: the default of the model."""
    timeout: float = 120
    """Seconds that the answer may take."""
    provider: str = ""
    """Who serves the model, as the conventions of OpenTelemetry call it; empty: the executor."""


class JudgeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge or a responder answered."""

    text: str = ""
    """What the judge wrote."""
    calls: tuple[JudgeToolCall, ...] = ()
    """The calls of `JudgeQuestion.tools`, in order."""
    error: str = ""
    """Why the turn broke; empty: it did not."""
    usage: Usage | None = None
    """What it cost; None: not known."""
    session_id: str = ""
    """The id of the session, if the executor has one."""


class Interview(Protocol):
    """A conversation with a judge or responder; it remembers what was asked."""

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer. Never raises for a broken turn: see `JudgeAnswer.error`."""
        ...

    async def aclose(self) -> None:
        """End the conversation."""
        ...


class JudgeSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a judge or responder held, as `grader_sessions` of results has it."""

    session_id: str
    """The id of the session."""
    usage: Usage | None = None
    """What it cost; None: not known."""
    calls: tuple[JudgeToolCall, ...] = ()
    """The calls of the tools of questions."""
    denials: tuple[Denial, ...] | None = None
    """What the judge was denied; None: nothing is denied."""
    at_ms: float | None = None
    """When it was asked, in milliseconds since the Unix epoch; None: not known."""
    duration_ms: int = 0
    """Milliseconds until it answered; 0: not known."""


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
