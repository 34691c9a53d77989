"""`executor: claude`: Claude Code by its SDK. Each attempt has a process and a home of its own. Needs claude-agent-sdk."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar

from waza.errors import ExecutorError
from waza.executors._servers import mcp_servers, start_limits
from waza.executors._system import system_text
from waza.executors._tool_list import agent_tools
from waza.executors.chat_skills import find_skills
from waza.executors.claude_events import ClaudeTurn, Counts
from waza.executors.claude_judge import ClaudeJudge, JudgedSession
from waza.executors.claude_policy import ClaudePolicy
from waza.executors.claude_process import ClaudeHome, ClaudeProcess, claude_environment
from waza.kit.tempdirs import ProcessTempdir, remove_tree
from waza.model.agent import AttemptWorkspace, Limits, Provider, Setup
from waza.model.base import Count, Keys
from waza.model.observation import Turn
from waza.model.task import Task
from waza.model.trial import Attempt

NO_SERVER = """\
the executor claude needs a model server that speaks Anthropic Messages:
  export ANTHROPIC_API_KEY=...                          # of api.anthropic.com
  export ANTHROPIC_BASE_URL=http://127.0.0.1:8080       # or any other server
or name it in .waza.yaml (provider, with type: anthropic). Or try the suite without an agent: --executor mock"""


class ClaudeOptions(Keys, frozen=True, kw_only=True):
    """`config.executor_options`."""

    strict_keys: ClassVar[bool] = True
    max_turns: Count = 100
    """How often the model is asked in one turn; a turn that needs more is an error."""
    max_retries: Count = 4
    """How often Claude Code asks a busy or broken server again."""


class ClaudeExecutor:
    """The engine: a model server, and homes of agents."""

    Options = ClaudeOptions

    def __init__(self, setup: Setup) -> None:
        self.setup, self.options = setup, setup.options(ClaudeOptions)
        self.sessions: dict[str, JudgedSession] = {}
        self._directory: ProcessTempdir | None = None
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        """See that there is a model server of the right kind. ExecutorError says what is missing."""
        kind = self.provider.type
        if kind != "anthropic":
            raise ExecutorError(
                f"the executor claude speaks Anthropic Messages, and the model server is configured as {kind!r}; "
                "set its type to anthropic"
            )
        self._directory = ProcessTempdir("claude")

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

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> ClaudeSession:
        """Return a session for an attempt."""
        return ClaudeSession(self, attempt.task, place)

    def judge(self, attempt: Attempt) -> ClaudeJudge:
        """Return the judge and responder of an attempt."""
        variables = attempt.task.inputs.environment

        def environment(home: ClaudeHome) -> dict[str, str]:
            return self.environment(home, self.provider.on_wire(self.setup.judge_wire), variables)

        return ClaudeJudge(
            self.setup.model,
            self.options.max_turns,
            self.provider.host,
            self.make_home,
            environment,
            self.sessions,
        )

    def make_home(self) -> ClaudeHome:
        """Return a new home, whose directories are not there yet."""
        if self._directory is None:
            raise ExecutorError("the executor was not started")
        return ClaudeHome(self._directory.path / f"agent-{next(self._numbers)}")

    def environment(
        self, home: ClaudeHome, provider: Provider, variables: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the environment of a process, whose home is made."""
        own = {**variables, "CLAUDE_CODE_MAX_RETRIES": str(self.options.max_retries)}
        return claude_environment(self.setup, home, provider, own)

    async def aclose(self) -> None:
        """Remove the homes."""
        if self._directory is not None:
            self._directory.remove()
            self._directory = None


class ClaudeSession:
    """The conversation of an attempt. Its process starts with the first prompt."""

    def __init__(self, executor: ClaudeExecutor, task: Task, place: AttemptWorkspace) -> None:
        if place.workspace is None:
            raise ExecutorError("the executor claude needs a workspace")
        self.executor, self.task, self.place = executor, task, place
        self.workdir = place.workdir or place.workspace
        self.home = executor.make_home()
        self.process: ClaudeProcess | None = None
        self.paths: dict[str, str] = {}
        self.counts: Counts = {}
        self.session_id = ""

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Send a prompt and wait for the end of the turn. OutsideError: Claude Code or an MCP server did not come up."""
        if self.process is None:
            self.process = await self._begin()
        process = self.process
        known = len(process.policy.denials)
        turn = ClaudeTurn(process.policy, self.paths, self.counts, self.place.report)
        ending = await process.take_turn(prompt, limits, turn)
        usage = turn.usage(self.executor.provider.host)
        self.counts = turn.counts or self.counts
        if turn.session_id:
            self.session_id = turn.session_id
            self.executor.sessions[self.session_id] = JudgedSession(self.home, self.workdir, process.policy)
        return Turn(
            output=turn.output,
            events=tuple(turn.events),
            skills=tuple(turn.skills),
            usage=usage,
            duration_ms=ending.duration_ms,
            error=ending.error,
            outside=ending.outside,
            throttled=ending.throttled,
            timed_out=ending.timed_out,
            session_id=self.session_id,
            denials=process.policy.denials[known:],
        )

    async def _begin(self) -> ClaudeProcess:
        setup, task, place = self.executor.setup, self.task, self.place
        skills = find_skills(task)
        self.paths = self.home.lay(skills)
        provider = self.executor.provider.on_wire(place.wire)
        own = {"WAZA_MOCK_SESSION": place.mock_token} if place.mock_token else {}
        environment = self.executor.environment(self.home, provider, {**place.environment, **own})
        servers = mcp_servers(setup.config.mcp_servers, place.mock_servers)
        policy = ClaudePolicy(
            agent_tools(None if task.no_skills else task.target),
            {name: entry.get("tools") or ["*"] for name, entry in servers.items()},
        )
        process = ClaudeProcess(
            policy,
            environment,
            self.workdir,
            servers,
            start_limits(setup.config.mcp_servers, place.mock_servers),
        )
        try:
            await process.start(**self._options())
        except BaseException:
            await process.aclose()
            raise
        return process

    def _options(self) -> dict[str, Any]:
        setup = self.executor.setup
        text = system_text(setup.config, self.task, self.place).strip()
        options: dict[str, Any] = {
            "model": setup.model or None,
            "system_prompt": {
                "type": "preset",
                "preset": "claude_code",
                **({"append": text} if text else {}),
            },
            "max_turns": self.executor.options.max_turns,
            "setting_sources": [
                "user"
            ],  # where the skills are; the user is one of ours, without any settings
            "skills": list(self.paths),
        }
        if setup.config.reasoning_effort:
            options["effort"] = setup.config.reasoning_effort
        return options

    async def aclose(self) -> None:
        """End the process with all that it started, and remove the home."""
        self.executor.sessions.pop(self.session_id, None)
        try:
            if self.process is not None:
                await self.process.aclose()
        finally:
            remove_tree(self.home.root)
