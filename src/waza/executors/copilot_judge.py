"""Judges and responders on the runtime: sessions with tools of ours, deleted when they are over."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

from copilot import CopilotClient, CopilotSession, ToolInvocation, ToolResult
from copilot import Tool as SdkTool

from waza.errors import ExecutorError
from waza.executors.copilot_client import Clients
from waza.executors.copilot_events import Collector, Meter
from waza.executors.copilot_models import check_effort
from waza.executors.copilot_options import common_options
from waza.executors.copilot_policy import ToolPolicy, agent_policy, judge_policy
from waza.executors.copilot_turn import TurnWatch, session_metrics, take_turn
from waza.kit.text import replace_surrogates
from waza.model.agent import (
    READING,
    JudgeAnswer,
    JudgeQuestion,
    JudgeSession,
    JudgeToolCall,
    Limits,
    Setup,
    Tool,
)
from waza.model.trial import Attempt

LIMIT = 30.0  # seconds to delete a session


class CopilotJudge:
    """Opens interviews for the graders and the responder of one attempt."""

    def __init__(self, setup: Setup, clients: Clients, attempt: Attempt) -> None:
        self.setup, self.clients, self.attempt = setup, clients, attempt
        self.sessions: list[JudgeSession] = []

    async def open(self, workdir: Path | None, resume_id: str = "") -> CopilotInterview:
        """Start an interview; with `resume_id` in the agent's own session."""
        client = await self.clients.of(self.attempt)
        return CopilotInterview(self, client, workdir, resume_id)


class CopilotInterview:
    """A conversation with a judge or responder, which sees no skills and no MCP servers.

    It has the tools of the question and those that the question says it may use. In the agent's own session it
    only reads, and the agent's policy holds.
    """

    def __init__(
        self, judge: CopilotJudge, client: CopilotClient, workdir: Path | None, resume_id: str
    ) -> None:
        self.judge, self.client, self.workdir, self.resume_id = judge, client, workdir, resume_id
        self.session_id = resume_id
        provider = judge.setup.provider
        self.meter = Meter(provider.host if provider else "", custom=provider is not None)

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer. What breaks ends up in `JudgeAnswer.error`."""
        calls: list[JudgeToolCall] = []
        policy = judge_policy(question, self._agents_policy())
        watch = TurnWatch(Limits(turn=question.timeout))
        try:
            await check_effort(self.client, question.model, question.effort, self.judge.setup.provider)
            session = await self._session(question, policy, watch, calls)
        except ExecutorError as error:
            return JudgeAnswer(error=str(error))
        if self.resume_id:  # what the agent spent is not the judge's
            self.meter.turn(Collector(), await session_metrics(session))
        at_ms = time.time() * 1000
        metrics = await take_turn(
            watch,
            session,
            self.client,
            self.judge.clients,
            lambda: session.send(replace_surrogates(question.text), mode="enqueue"),
        )
        usage = self.meter.turn(watch.collector, metrics)
        if set(question.may_use) - set(READING) and self.workdir is not None:
            self.judge.clients.end_commands(self.client, self.workdir)  # it has a copy, which is removed now
        self.judge.sessions.append(
            JudgeSession(
                session_id=self.session_id,
                usage=usage,
                calls=tuple(calls),
                denials=tuple(policy.denials),
                at_ms=at_ms,
                duration_ms=round(watch.seconds * 1000),
            )
        )
        return JudgeAnswer(
            text=watch.collector.text,
            calls=tuple(calls),
            error=watch.error,
            usage=usage,
            session_id=self.session_id,
        )

    def _agents_policy(self) -> ToolPolicy | None:
        """Return the policy of the agent in whose session this goes on; None in a session of its own."""
        task = self.judge.attempt.task
        return agent_policy(None if task.no_skills else task.target) if self.resume_id else None

    async def _session(
        self, question: JudgeQuestion, policy: ToolPolicy, watch: TurnWatch, calls: list[JudgeToolCall]
    ) -> CopilotSession:
        setup = self.judge.setup
        temporary = str(self.judge.clients.temporary(self.client))
        provider = setup.provider.on_wire(setup.judge_wire) if setup.provider else None
        options = common_options(question.model, question.effort, provider, temporary)
        options |= {
            "working_directory": str(self.workdir or temporary),
            "skip_custom_instructions": True,  # an agent could write them for its judge
            "tools": [_tool(tool, calls) for tool in question.tools],
            "enable_skills": False,
            "on_event": watch.take,
            **policy.options(),
        }
        try:
            if self.session_id:
                return await self.client.resume_session(self.session_id, **options)
            session = await self.client.create_session(**options)
        except Exception as error:
            await self.judge.clients.forget_if_dead(self.client)
            what = "resume the agent's session" if self.resume_id else "open a session"
            raise ExecutorError(f"the judge could not {what}: {error}") from error
        self.session_id = session.session_id
        return session

    async def aclose(self) -> None:
        """Delete the session, unless it is the agent's."""
        if self.resume_id or not self.session_id:
            return
        with contextlib.suppress(Exception):
            async with asyncio.timeout(LIMIT):
                await self.client.delete_session(self.session_id)


def _tool(tool: Tool, calls: list[JudgeToolCall]) -> SdkTool:
    """Return a tool that notes its calls. Arguments that are no object count as a call without any."""

    def handle(invocation: ToolInvocation) -> ToolResult:
        args = invocation.arguments
        calls.append(JudgeToolCall(name=tool.name, args=args if isinstance(args, dict) else {}))
        return ToolResult(text_result_for_llm="noted")

    return SdkTool(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        handler=handle,
        skip_permission=True,
    )
