"""Judges and responders of the loop: conversations with the tools of a question, and those that it may use."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from waza.executors._tool_list import ToolList, judge_tools
from waza.executors.chat_loop import ChatLoop
from waza.executors.chat_model import ServedModel
from waza.executors.chat_tools import ChatTool, ToolAnswer
from waza.model.agent import JudgeAnswer, JudgeQuestion, JudgeSession, JudgeToolCall, Limits, Tool

_SYSTEM = "You answer questions about the work of an agent. Use the tools that you are given to answer them."


class JudgeMeans:
    """What a judge is made of.

    `make_model` returns a model by its name and effort, `make_tools` the tools that work in a directory. `agents` are the
    conversations of agents that a judge may go on with, by the ids of their sessions.
    """

    def __init__(
        self,
        make_model: Callable[[str, str], ServedModel],
        make_tools: Callable[[Path], list[ChatTool]],
        agents: dict[str, ChatLoop],
        max_requests: int,
        host: str,
    ) -> None:
        self.make_model, self.make_tools, self.agents = make_model, make_tools, agents
        self.max_requests, self.host = max_requests, host


class ChatJudge:
    """Opens interviews for the graders and the responder of one attempt."""

    def __init__(self, means: JudgeMeans) -> None:
        self.means = means
        self.sessions: list[JudgeSession] = []

    async def open(self, workdir: Path | None, resume_id: str = "") -> ChatInterview:
        """Start an interview; with `resume_id` after all that was said in the agent's own session."""
        return ChatInterview(self, workdir, resume_id)


class ChatInterview:
    """A conversation with a judge or responder, which sees no skills and no MCP servers.

    One that goes on in the agent's session works on a copy of the conversation, so that the agent never knows of it; there it
    only reads, and the agent's tool list holds.
    """

    def __init__(self, judge: ChatJudge, workdir: Path | None, resume_id: str) -> None:
        self.judge, self.workdir, self.resume_id = judge, workdir, resume_id
        self._loop: ChatLoop | None = None
        self._models: list[ServedModel] = []
        self._files: Sequence[ChatTool] = judge.means.make_tools(workdir) if workdir is not None else ()

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer. What breaks ends up in `JudgeAnswer.error`."""
        calls: list[JudgeToolCall] = []
        agent = self.judge.means.agents.get(self.resume_id)
        if self.resume_id and agent is None:
            return JudgeAnswer(error="the judge could not resume the agent's session: it is closed")
        declared = agent.allowed.declared if agent else None
        allowed = judge_tools(question, declared, continues=agent is not None)
        tools = [*self._files, *(_tool(tool, calls) for tool in question.tools)]
        loop = self._prepare(question, tools, allowed, agent)
        at_ms = time.time() * 1000
        turn = await loop.take_turn(question.text, Limits(turn=question.timeout))
        self.judge.sessions.append(
            JudgeSession(
                session_id=loop.session_id,
                usage=turn.usage,
                calls=tuple(calls),
                denials=turn.denials,
                at_ms=at_ms,
                duration_ms=turn.duration_ms,
            )
        )
        return JudgeAnswer(
            text=turn.output,
            calls=tuple(calls),
            error=turn.error,
            usage=turn.usage,
            session_id=loop.session_id,
        )

    def _prepare(
        self, question: JudgeQuestion, tools: Sequence[ChatTool], allowed: ToolList, agent: ChatLoop | None
    ) -> ChatLoop:
        """Return the conversation of the interview, with the model and the tools of a question."""
        means = self.judge.means
        model = means.make_model(question.model, question.effort)
        self._models.append(model)
        if self._loop is not None:
            self._loop.model = model
            self._loop.use(tools, allowed)
        elif agent is not None:
            self._loop = agent.fork(model, tools, allowed)
        else:
            self._loop = ChatLoop(model, tools, allowed, max_requests=means.max_requests, host=means.host)
            self._loop.instruct(_SYSTEM)
        return self._loop

    async def aclose(self) -> None:
        """Close the connections."""
        for model in self._models:
            await model.aclose()


def _tool(tool: Tool, calls: list[JudgeToolCall]) -> ChatTool:
    """Return a tool that notes its calls."""

    async def note(arguments: dict[str, object]) -> ToolAnswer:
        calls.append(JudgeToolCall(name=tool.name, args=arguments))
        return ToolAnswer("noted")

    return ChatTool(
        name=tool.name,
        identity=f"custom:{tool.name}",
        description=tool.description,
        parameters=tool.parameters,
        run=note,
    )
