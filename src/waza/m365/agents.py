"""Agents that answer the prompts of a document: recorded, any command, or an executor of suites."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import UnsetType

from waza.engine.engines import COPILOT, MOCK, Engine, start_engine
from waza.engine.place import at_place
from waza.errors import ExecutorError, RunError, UsageError
from waza.kit import process
from waza.m365.document import EvalDocument, Item
from waza.m365.status import AGENT_THROTTLED, EVALUATORS_FAILED, Failure
from waza.model.agent import Limits, Session
from waza.model.loaded import Project, Suite
from waza.model.skill import Target
from waza.model.suite import Config, SuiteFile
from waza.model.task import Inputs, Task
from waza.model.trial import Attempt, Trial
from waza.workspace.room import Room, clear_stale_rooms

RECORDED, COMMAND, A2A = "recorded", "command", "a2a"
AGENTS = (MOCK, RECORDED, f"{COMMAND}:CMD", f"{A2A}:URL", COPILOT)
_SHOWN = 500  # characters of a program's complaint


class Credentials(msgspec.Struct, frozen=True):
    """A bearer token, or an API key, or neither. `repr` shows none."""

    token: str = ""
    key: str = ""

    def __repr__(self) -> str:
        return "Credentials()"


class AgentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is asked: `timeout` in seconds a prompt.

    `model` and `target` (a skill or custom agent) are for executors, `credentials` and `attempts`, the
    number of times that a refused request is made, for agents behind HTTP.
    """

    project: Project
    timeout: float = 300
    model: str = ""
    target: Target | None = None
    credentials: Credentials = Credentials()
    attempts: int = 4


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent answered to one prompt; with a `failure` there is no answer."""

    text: str = ""
    failure: Failure | None = None
    citations: list[dict[str, Any]] = []
    diagnostics: dict[str, Any] = {}


class Conversation(Protocol):
    """One conversation with an agent: that of one item."""

    async def send(self, prompt: str) -> Reply:
        """Send the next prompt and wait for the answer."""
        ...

    async def aclose(self) -> None:
        """End the conversation."""
        ...


class Agent(Protocol):
    """Whoever answers. It is given prompts and nothing else of a document, but for recorded responses."""

    async def start(self) -> None:
        """Get ready. RunError: why that is impossible."""
        ...

    async def open(self, item: Item) -> Conversation:
        """Start the conversation of an item. ExecutorError: why it cannot be started."""
        ...

    async def aclose(self) -> None:
        """End everything."""
        ...


class Recorded:
    """Answers with the responses that the document has."""

    async def start(self) -> None:
        """Nothing to get ready."""

    async def open(self, item: Item) -> Conversation:
        """Return the conversation that was recorded."""
        return _Recording(item)

    async def aclose(self) -> None:
        """Nothing to end."""


class _Recording:
    def __init__(self, item: Item) -> None:
        self._turns = iter(item.turns)

    async def send(self, prompt: str) -> Reply:
        del prompt
        turn = next(self._turns)
        if not isinstance(turn.error, UnsetType) and turn.error.code != EVALUATORS_FAILED:
            return Reply(
                failure=Failure(f"as recorded: {turn.error.message.removeprefix('Agent request failed: ')}")
            )
        if isinstance(turn.response, UnsetType):
            return Reply(failure=Failure("the document has no 'response' for this prompt"))
        plain = msgspec.to_builtins
        found = turn.diagnostics.retrieval_executions
        known = {"retrieval_executions": [plain(one) for one in found]} if found else {}
        return Reply(text=turn.response, citations=plain(turn.citations), diagnostics=known)

    async def aclose(self) -> None:
        pass


class Command:
    """A program that is started for every prompt: it reads it on stdin and writes its answer to stdout.

    `WAZA_CONVERSATION` names the conversation (the item's id) and `WAZA_TURN` counts its prompts from 1, so
    that a program can remember. A status other than 0 is a failed request, and 75 (EX_TEMPFAIL) one that the
    program asks to be made later.
    """

    def __init__(self, line: str, timeout: float) -> None:
        self.line, self.timeout = line, timeout

    async def start(self) -> None:
        """Nothing to get ready."""

    async def open(self, item: Item) -> Conversation:
        """Return a conversation in which the program is started anew for every prompt."""
        return _Calls(self, item.id)

    async def aclose(self) -> None:
        """Nothing to end."""


class _Calls:
    def __init__(self, command: Command, name: str) -> None:
        self.command, self.name, self.turn = command, name, 0

    async def send(self, prompt: str) -> Reply:
        self.turn += 1
        shell = ["cmd", "/C"] if sys.platform == "win32" else ["sh", "-c"]
        ended = await process.run(
            [*shell, self.command.line],
            stdin=prompt.encode("utf-8", "replace"),
            env={**os.environ, "WAZA_CONVERSATION": self.name, "WAZA_TURN": str(self.turn)},
            timeout=self.command.timeout,
        )
        if ended.timed_out:
            return Reply(failure=Failure(f"the command did not end within {self.command.timeout:g} s"))
        if ended.truncated:
            return Reply(failure=Failure(f"the command wrote more than {process.MAX_OUTPUT:,} bytes"))
        if ended.ok:
            return Reply(text=ended.stdout.decode("utf-8", "replace").rstrip("\r\n"))
        return Reply(failure=_failure(ended))

    async def aclose(self) -> None:
        pass


def _failure(ended: process.Finished) -> Failure:
    said = ended.stderr.decode("utf-8", "replace").strip()[-_SHOWN:]
    cause = ended.start_error or process.ending(ended.returncode, ended.signal)
    code = {75: AGENT_THROTTLED}.get(ended.returncode or 0)
    text = f"the command ended with {cause}{': ' if said else ''}{said}"
    return Failure(text, code) if code else Failure(text)


class Engines:
    """An executor of suites: `mock`, which echoes, or `copilot-sdk` with a skill or custom agent."""

    def __init__(self, document: EvalDocument, executor: str, options: AgentOptions) -> None:
        self.options, target = options, options.target
        config = Config(
            executor=executor, model=options.model, timeout_seconds=max(1, round(options.timeout))
        )
        file = SuiteFile(name=document.name, skill=target.name if target else "", config=config)
        here = Path.cwd()
        self.suite = Suite(
            path=here / document.source.file,
            directory=here,
            fixtures=here,
            file=file,
            tasks=(),
            models=(options.model,),
        )
        self.room = Room()
        self.engine: Engine | None = None

    async def start(self) -> None:
        """Start the executor."""
        await clear_stale_rooms()
        self.engine = await start_engine(self.suite, self.options.model, self.options.project)

    async def open(self, item: Item) -> Conversation:
        """Start a session in an empty workspace of its own."""
        if self.engine is None:
            raise ExecutorError("the executor was not started")
        target, timeout = self.options.target, self.options.timeout
        skills = (target.directory,) if target and target.kind == "skill" else ()
        task = Task(
            id=item.id,
            name=item.id,
            file="",
            prompt=item.turns[0].prompt,
            timeout=timeout,
            home=self.suite.directory,
            fixtures=self.suite.fixtures,
            inputs=Inputs(),
            target=target,
            skill_paths=skills,
            no_skills=target is None,
        )
        stack = contextlib.AsyncExitStack()
        try:
            place, _ = await stack.enter_async_context(at_place(self.room, None, task, wanted=True))
            attempt = Attempt(trial=Trial(task=task, number=1), number=1, task=task)
            session = await self.engine.executor.open(attempt, place)
        except BaseException:
            await stack.aclose()
            raise
        return _Sessions(session, stack, Limits(turn=timeout))

    async def aclose(self) -> None:
        """Stop the executor, and remove the workspaces."""
        if self.engine is not None:
            await self.engine.aclose()
        await self.room.close()


class _Sessions:
    def __init__(self, session: Session, stack: contextlib.AsyncExitStack, limits: Limits) -> None:
        self.session, self.stack, self.limits = session, stack, limits

    async def send(self, prompt: str) -> Reply:
        turn = await self.session.send(prompt, self.limits)
        if turn.error:
            throttled = "429" in turn.error or "rate limit" in turn.error.lower()
            return Reply(failure=Failure(turn.error, AGENT_THROTTLED) if throttled else Failure(turn.error))
        return Reply(text=turn.output)

    async def aclose(self) -> None:
        try:
            await self.session.aclose()
        finally:
            await self.stack.aclose()


def agent_of(name: str, document: EvalDocument, options: AgentOptions) -> Agent:
    """Return the agent that `--agent` names. UsageError: there is none of that name."""
    kind, _, rest = name.partition(":")
    if kind == A2A and rest.strip():
        return _a2a(rest.strip(), options)
    if kind == RECORDED and not rest:
        return Recorded()
    if kind == COMMAND and rest.strip():
        return Command(rest, options.timeout)
    if name in (MOCK, COPILOT):
        return Engines(document, name, options)
    raise UsageError(f"there is no agent {name!r}; known: {', '.join(AGENTS)}")


def _a2a(url: str, options: AgentOptions) -> Agent:
    try:
        from waza.m365.a2a import WAITS, A2AAgent
    except ModuleNotFoundError as error:
        raise RunError("agents over A2A need more packages; pip install 'waza[m365]'") from error
    waits = [WAITS[min(number, len(WAITS) - 1)] for number in range(options.attempts - 1)]
    return A2AAgent(url, options.credentials, options.timeout, waits)
