"""Judges and responders by Claude Code: sessions with the tools of a question, and those that it may use."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from claude_agent_sdk import SdkMcpTool, create_sdk_mcp_server

from waza.errors import ExecutorError, OutsideError
from waza.executors._tool_list import judge_tools
from waza.executors.claude_events import ClaudeTurn
from waza.executors.claude_policy import OWN_SERVER, ClaudePolicy
from waza.executors.claude_process import ClaudeHome, ClaudeProcess
from waza.kit.tempdirs import remove_tree
from waza.model.agent import JudgeAnswer, JudgeQuestion, JudgeSession, JudgeToolCall, Limits, Tool

_SYSTEM = "You answer questions about the work of an agent. Use the tools that you are given to answer them."


class JudgedSession(msgspec.Struct, frozen=True):
    """The session of an agent, for judges that go on in it."""

    home: ClaudeHome
    workdir: Path
    policy: ClaudePolicy


class ClaudeJudge:
    """Opens interviews for the graders and the responder of one attempt. `agents` are the sessions of agents by their ids."""

    def __init__(
        self,
        model: str,
        max_turns: int,
        host: str,
        make_home: Callable[[], ClaudeHome],
        environment: Callable[[ClaudeHome], Mapping[str, str]],
        agents: Mapping[str, JudgedSession],
    ) -> None:
        self.model, self.max_turns, self.host = model, max_turns, host
        self.make_home, self.environment, self.agents = make_home, environment, agents
        self.sessions: list[JudgeSession] = []

    async def open(self, workdir: Path | None, resume_id: str = "") -> ClaudeInterview:
        """Start an interview; with `resume_id` after all that was said in the agent's own session."""
        return ClaudeInterview(self, workdir, resume_id)


class ClaudeInterview:
    """A conversation with a judge or responder, which sees no skills and no MCP servers.

    Each question has a process of its own, since tools are those of a process; it goes on after the last one. One that goes on in the
    agent's session works on a copy of it, so that the agent never knows.
    """

    def __init__(self, judge: ClaudeJudge, workdir: Path | None, resume_id: str) -> None:
        self.judge, self.workdir, self.resume_id = judge, workdir, resume_id
        self._agent = judge.agents.get(resume_id)
        self._home = self._agent.home if self._agent is not None else judge.make_home()
        self._session = ""

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer. What breaks ends up in `JudgeAnswer.error`."""
        if self.resume_id and self._agent is None:
            return JudgeAnswer(error="the judge could not resume the agent's session: it is closed")
        calls: list[JudgeToolCall] = []
        declared = self._agent.policy.declared if self._agent else None
        tools = judge_tools(question, declared, continues=self._agent is not None)
        policy = ClaudePolicy(tools, {OWN_SERVER: ["*"]})
        environment = self.judge.environment(self._home)
        directory = self._agent.workdir if self._agent else self.workdir or Path(self._empty())
        server = create_sdk_mcp_server(OWN_SERVER, tools=[_tool(tool, calls) for tool in question.tools])
        process = ClaudeProcess(policy, environment, directory, {OWN_SERVER: server}, {})
        turn = ClaudeTurn(policy, {}, {})
        at_ms = time.time() * 1000
        try:
            await process.start(**self._options(question))
            ending = await process.take_turn(question.text, Limits(turn=question.timeout), turn)
        except (ExecutorError, OutsideError) as error:
            return JudgeAnswer(error=str(error))
        finally:
            await process.aclose()
        self._session = turn.session_id or self._session
        usage = turn.usage(self.judge.host)
        self.judge.sessions.append(
            JudgeSession(
                session_id=self._session,
                usage=usage,
                calls=tuple(calls),
                denials=policy.denials,
                at_ms=at_ms,
                duration_ms=ending.duration_ms,
            )
        )
        return JudgeAnswer(
            text=turn.output,
            calls=tuple(calls),
            error=ending.error,
            usage=usage,
            session_id=self._session,
        )

    def _empty(self) -> str:
        return tempfile.mkdtemp(dir=self._home.agent.temporary)

    def _options(self, question: JudgeQuestion) -> dict[str, Any]:
        resumed = self._session or (self.resume_id if self._agent else "")
        options: dict[str, Any] = {
            "model": question.model or self.judge.model or None,
            "system_prompt": _SYSTEM,
            "max_turns": self.judge.max_turns,
            "setting_sources": [],
            "skills": [],
        }
        if resumed:
            options |= {"resume": resumed, "fork_session": not self._session}
        if question.effort:
            options["effort"] = question.effort
        return options

    async def aclose(self) -> None:
        """Remove the home, where it is not that of the agent."""
        if self._agent is None:
            remove_tree(self._home.root)


def _tool(tool: Tool, calls: list[JudgeToolCall]) -> SdkMcpTool[Any]:
    """Return a tool that notes its calls."""

    async def note(arguments: Any) -> dict[str, Any]:
        calls.append(JudgeToolCall(name=tool.name, args=dict(arguments)))
        return {"content": [{"type": "text", "text": "noted"}]}

    return SdkMcpTool(
        name=tool.name, description=tool.description, input_schema=tool.parameters, handler=note
    )
