"""`executor: chat`: a plain loop over Chat Completions, for models without an agent. Needs httpx, and mcp for MCP servers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec

from waza.errors import ExecutorError
from waza.executors._agent_home import AgentHome, private_environment, put_shims_first
from waza.executors._probe import probe
from waza.executors._servers import mcp_servers, start_limits
from waza.executors._system import given_target, system_text
from waza.executors._tool_list import agent_tools
from waza.executors.chat_judge import ChatJudge, JudgeMeans
from waza.executors.chat_loop import ChatLoop
from waza.executors.chat_model import ServedModel
from waza.executors.chat_skills import TOOL, ChatSkill, find_skills, list_skills, skill_tool
from waza.executors.chat_tools import ChatTool
from waza.executors.chat_workspace import Workspace
from waza.kit.packages import are_installed
from waza.kit.tempdirs import ProcessTempdir, remove_tree
from waza.model.agent import AttemptWorkspace, Limits, Provider, Setup
from waza.model.base import Count, Keys, Seconds
from waza.model.observation import OfferedSkill, SkillsOffered, Turn
from waza.model.task import Task
from waza.model.trial import Attempt

if TYPE_CHECKING:
    from waza.executors.chat_mcp import ChatServers

NO_SERVER = """\
the executor chat needs a model server that speaks Chat Completions:
  export OPENAI_API_KEY=...                             # of api.openai.com
  export OPENAI_BASE_URL=http://127.0.0.1:8080/v1       # or any other server
or name it in .waza.yaml (provider). Or try the suite without an agent: --executor mock"""
_SYSTEM = """\
You are an agent. Work on what the user asks for with the tools that you have. Your working directory is {directory}.
Your turn ends with the first answer in which you call no tool, so give it when the work is done."""


class ChatOptions(Keys, frozen=True, kw_only=True):
    """`config.executor_options`."""

    strict_keys: ClassVar[bool] = True
    max_requests: Count = 50
    """How often the model is asked in one turn; a turn that needs more is an error."""
    command_timeout_seconds: Seconds = 90
    """Seconds after which a command of the agent is ended; the model learns of it, and goes on."""


class ChatExecutor:
    """The engine: a model server, and private homes of agents. Commands of agents never see the key of the server."""

    Options = ChatOptions

    def __init__(self, setup: Setup) -> None:
        self.setup, self.options = setup, setup.options(ChatOptions)
        self.sessions: dict[str, ChatLoop] = {}
        self._directory: ProcessTempdir | None = None
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        """See that the model server can be reached. ExecutorError says what is missing."""
        provider = self.provider
        if provider.type != "openai" or provider.wire_api == "responses":
            kind = provider.wire_api or provider.type
            raise ExecutorError(
                f"the executor chat speaks Chat Completions, and the model server is configured as {kind!r}; "
                "set its type to openai and its wire_api to completions"
            )
        if not self.setup.model:
            raise ExecutorError("the executor chat needs the name of a model: set config.model, or use -m")
        self._directory = ProcessTempdir("chat")
        await probe(provider)

    @property
    def provider(self) -> Provider:
        """The model server. ExecutorError: it is not configured."""
        if self.setup.provider is None:
            raise ExecutorError(NO_SERVER)
        return self.setup.provider

    def works_in(self, task: Task) -> bool:
        """Say yes: the tools work in a workspace."""
        del task
        return True

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> ChatSession:
        """Return a session for an attempt."""
        return ChatSession(self, attempt.task, place)

    def judge(self, attempt: Attempt) -> ChatJudge:
        """Return the judge and responder of an attempt."""
        variables = attempt.task.inputs.environment

        def make_tools(workdir: Path) -> list[ChatTool]:
            environment = self.environment(self.make_home(), variables)
            return Workspace(workdir, workdir, (), environment, self.options.command_timeout_seconds).tools()

        def make_model(name: str, effort: str) -> ServedModel:
            provider = self.provider.on_wire(self.setup.judge_wire)
            return ServedModel(provider, name or self.setup.model, effort)

        return ChatJudge(
            JudgeMeans(make_model, make_tools, self.sessions, self.options.max_requests, self.provider.host)
        )

    def make_home(self) -> AgentHome:
        """Return a new home, whose directories are not there yet."""
        if self._directory is None:
            raise ExecutorError("the executor was not started")
        root = self._directory.path / f"agent-{next(self._numbers)}"
        return AgentHome(root / "home", root / "tmp")

    def environment(self, home: AgentHome, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of commands, whose home is made. `variables` are those of the task."""
        environment = {**private_environment(os.environ, self.setup, home), **variables}
        put_shims_first(environment, self.setup)
        home.make(environment.get("PATH", os.defpath))
        return environment

    async def aclose(self) -> None:
        """Remove the homes."""
        if self._directory is not None:
            self._directory.remove()
            self._directory = None


class ChatSession:
    """The conversation of an attempt. Its MCP servers start with the first prompt, and end with it."""

    def __init__(self, executor: ChatExecutor, task: Task, place: AttemptWorkspace) -> None:
        if place.workspace is None:
            raise ExecutorError("the executor chat needs a workspace")
        self.executor, self.task, self.place = executor, task, place
        self.root, self.workdir = place.workspace, place.workdir or place.workspace
        self.home = executor.make_home()
        setup = executor.setup
        provider = executor.provider.on_wire(place.wire)
        self.model = ServedModel(provider, setup.model, setup.config.reasoning_effort or "")
        self.offered = SkillsOffered()
        self.loop: ChatLoop | None = None
        self.servers: ChatServers | None = None

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Send a prompt and wait for the end of the turn. OutsideError: an MCP server did not come up."""
        warnings: list[str] = []
        if self.loop is None:
            self.loop = await self._begin(warnings)
            self.executor.sessions[self.loop.session_id] = self.loop
        turn = await self.loop.take_turn(prompt, limits)
        return msgspec.structs.replace(turn, skills_offered=self.offered, warnings=tuple(warnings))

    async def _begin(self, warnings: list[str]) -> ChatLoop:
        task = self.task
        skills = find_skills(task)
        environment = self.executor.environment(self.home, self.place.environment)
        own = {"WAZA_MOCK_SESSION": self.place.mock_token} if self.place.mock_token else {}
        tools = Workspace(
            self.root,
            self.workdir,
            self._readable(skills),
            {**environment, **own},
            self.executor.options.command_timeout_seconds,
        ).tools()
        if skills:
            tools.append(skill_tool(skills))
        tools += await self._start_servers(environment, warnings)
        loop = ChatLoop(
            self.model,
            tools,
            agent_tools(None if task.no_skills else task.target),
            max_requests=self.executor.options.max_requests,
            host=self.executor.provider.host,
            report=self.place.report,
        )
        listed = skills if TOOL in loop.tools else []
        self.offered = self._offers(listed)
        loop.instruct(self._system(listed))
        return loop

    def _readable(self, skills: list[ChatSkill]) -> list[Path]:
        given = given_target(self.executor.setup.config, self.task)
        return [skill.path.parent for skill in skills] + ([given.directory] if given else [])

    def _offers(self, listed: list[ChatSkill]) -> SkillsOffered:
        offered = [skill.offered for skill in listed]
        given = given_target(self.executor.setup.config, self.task)
        if given is not None:
            offered.append(OfferedSkill(name=given.name, path=str(given.path), loaded=True))
        return SkillsOffered(skills=tuple(offered))

    def _system(self, listed: list[ChatSkill]) -> str:
        parts = [
            _SYSTEM.format(directory=os.path.realpath(self.workdir)),
            list_skills(listed) if listed else "",
            system_text(self.executor.setup.config, self.task, self.place).strip(),
        ]
        return "\n\n".join(filter(None, parts))

    async def _start_servers(self, environment: Mapping[str, str], warnings: list[str]) -> list[ChatTool]:
        config = self.executor.setup.config
        entries = mcp_servers(config.mcp_servers, self.place.mock_servers)
        if not entries:
            return []
        if not are_installed(["mcp"]):
            raise ExecutorError("MCP servers need the package mcp. Install it:\n  pip install 'waza[chat]'")
        from waza.executors.chat_mcp import ChatServers  # heavy, and few suites have servers

        limits = start_limits(config.mcp_servers, self.place.mock_servers)
        self.servers = ChatServers(entries, limits, self.workdir, environment)
        found = await self.servers.start()
        warnings += self.servers.warnings
        return found

    async def aclose(self) -> None:
        """End the servers, and remove the home."""
        if self.loop is not None:
            self.executor.sessions.pop(self.loop.session_id, None)
        try:
            if self.servers is not None:
                await self.servers.aclose()
        finally:
            await self.model.aclose()
            remove_tree(self.home.home.parent)
