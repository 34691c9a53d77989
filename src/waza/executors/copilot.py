"""`executor: copilot-sdk`: a real agent, through the GitHub Copilot SDK."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from uuid import uuid4

from copilot import CopilotClient, CopilotSession

from waza.errors import ExecutorError, OutsideError
from waza.executors._probe import probe
from waza.executors._servers import start_limits
from waza.executors._system import given_target
from waza.executors.copilot_client import LOGIN, Clients, quiet_logging
from waza.executors.copilot_events import Collector, Meter
from waza.executors.copilot_judge import CopilotJudge
from waza.executors.copilot_models import check_effort
from waza.executors.copilot_options import agent_options
from waza.executors.copilot_policy import ToolPolicy, agent_policy
from waza.executors.copilot_servers import Servers
from waza.executors.copilot_turn import TurnWatch, session_metrics, take_turn
from waza.kit.text import replace_surrogates
from waza.model.agent import AttemptWorkspace, Limits, Setup
from waza.model.observation import Turn, Usage
from waza.model.task import Task
from waza.model.trial import Attempt

DELETE_LIMIT = 30.0  # seconds


class CopilotExecutor:
    """The engine: its processes, and the sessions on them."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.clients = Clients(setup)

    async def start(self) -> None:
        """Start the runtime, and see that it can reach a model. ExecutorError says what is missing."""
        quiet_logging()
        client = await self.clients.get({})
        if self.setup.provider is not None:
            await probe(self.setup.provider)
        else:
            try:
                status = await client.get_auth_status()
            except Exception as error:
                raise ExecutorError(
                    f"the Copilot runtime does not tell whether it is logged in: {error}"
                ) from error
            if not status.isAuthenticated:
                raise ExecutorError(LOGIN)

    def works_in(self, task: Task) -> bool:
        """Say yes: a real agent always works in a workspace."""
        del task
        return True

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> CopilotAgent:
        """Return a session for an attempt. ExecutorError: the model cannot do what is asked of it."""
        client = await self.clients.of(attempt)
        config = self.setup.config
        await check_effort(client, self.setup.model, config.reasoning_effort or "", self.setup.provider)
        return CopilotAgent(self, client, attempt, place)

    def judge(self, attempt: Attempt) -> CopilotJudge:
        """Return the judge and responder of an attempt."""
        return CopilotJudge(self.setup, self.clients, attempt)

    async def aclose(self) -> None:
        """Stop all processes; nothing of them stays."""
        await self.clients.aclose()


class CopilotAgent:
    """An agent's session. Each turn creates or resumes it, with all its options, and leaves it resumable."""

    def __init__(
        self, executor: CopilotExecutor, client: CopilotClient, attempt: Attempt, place: AttemptWorkspace
    ) -> None:
        self.executor, self.client, self.attempt, self.place = executor, client, attempt, place
        self.task = attempt.task
        self.session_id = self._made = ""
        setup = executor.setup
        self.meter = Meter(setup.provider.host if setup.provider else "", custom=setup.provider is not None)

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Send a prompt and wait for the end of the turn. ExecutorError: there is no session to send it to."""
        servers = start_limits(self.executor.setup.config.mcp_servers, self.place.mock_servers)
        policy = agent_policy(None if self.task.no_skills else self.task.target, servers)
        watch = TurnWatch(limits, Servers(servers, fresh=not self.session_id), self.place.report)
        session = await self._session(policy, watch)
        metrics = await take_turn(
            watch,
            session,
            self.client,
            self.executor.clients,
            lambda: session.send(replace_surrogates(prompt)),
        )
        policy.note_hidden(watch.collector.events)
        if watch.error:
            self._end_commands()  # they must not change what is graded now
        return self._turn(policy, watch, metrics)

    async def _session(self, policy: ToolPolicy, watch: TurnWatch) -> CopilotSession:
        options = agent_options(
            self.executor.setup, self.task, self.place, str(self.executor.clients.temporary(self.client))
        )
        options |= policy.options(self.place.mock_token)
        opening = self._resume if self.session_id else self._create
        try:
            session = await watch.wait_opened(opening(on_event=watch.take, **options))
        except ExecutorError:
            raise  # a server did not come up
        except Exception as error:
            await self.executor.clients.forget_if_dead(self.client)
            what = f"resume the session {self.session_id}" if self.session_id else "create a session"
            raise OutsideError(f"the Copilot runtime could not {what}: {error}") from error
        if self.session_id:  # a judge may have gone on in it meanwhile; what it spent is not the agent's
            self.meter.turn(Collector(), await session_metrics(session))
        self.session_id = session.session_id
        return session

    async def _create(self, **options: Any) -> CopilotSession:
        self._made = str(uuid4())  # known beforehand, so that one that is never ready is deleted, too
        return await self.client.create_session(session_id=self._made, **options)

    async def _resume(self, **options: Any) -> CopilotSession:
        return await self.client.resume_session(self.session_id, **options)

    def _turn(self, policy: ToolPolicy, watch: TurnWatch, metrics: dict[str, Any] | None) -> Turn:
        seen = watch.collector
        usage: Usage = self.meter.turn(seen, metrics)
        return Turn(
            output=seen.text,
            events=tuple(seen.events),
            skills=tuple(seen.skills),
            skills_offered=watch.offers.offered(given_target(self.executor.setup.config, self.task)),
            usage=usage,
            duration_ms=round(watch.seconds * 1000),
            error=watch.error,
            throttled=seen.throttled,
            outside=watch.outside,
            timed_out=watch.timed_out,
            session_id=self.session_id,
            denials=tuple(policy.denials),
            warnings=tuple(f"stopped what still ran after the answer: {what}" for what in watch.stopped),
        )

    def _end_commands(self) -> None:
        if self.place.workspace is not None:
            self.executor.clients.end_commands(self.client, self.place.workspace)

    async def aclose(self) -> None:
        """Delete the session, if it can still be reached, and stop a runtime that nobody shares."""
        if self._made:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(DELETE_LIMIT):
                    await self.client.delete_session(self._made)
        self._end_commands()
        await self.executor.clients.leave(self.attempt)
