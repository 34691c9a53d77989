"""GitHub Copilot as a judge: each question is a session of the runtime, without tools, deleted at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from waza.engine.executor_factory import COPILOT
from waza.engine.provider import find_provider, secret_variables
from waza.errors import WazaError
from waza.m365.judges.executor_judge import ExecutorJudgeModel
from waza.m365.judges.judge_model import LIMIT, JudgeError, JudgeReply, Message
from waza.model.agent import Executor, JudgeQuestion, Setup
from waza.model.suite import Config
from waza.model.task import Task
from waza.model.trial import Attempt, TrialKey
from waza.plugins import load_class as load_plugin

MISSING_SDK = "the judge copilot needs the GitHub Copilot SDK; install it: pip install 'waza[copilot]'"
NO_REPLY = "GitHub Copilot gave no judgement: "


class CopilotJudgeModel:
    """Asks a model of GitHub Copilot, or of the server that COPILOT_BASE_URL names. Starts with the first question."""

    def __init__(self, model: str, env: Mapping[str, str], limit: float = LIMIT) -> None:
        """Prepare; `limit` is for one judgement, in seconds. Raises JudgeError if the SDK is not installed."""
        self.model, self.limit = model, limit
        self.name, self.provider = f"{model} of GitHub Copilot", "github.copilot"
        self.model_config: Mapping[str, str] = {}
        self._executor, self._starting = _executor(model, env), asyncio.Lock()
        self._started = False

    async def check(self) -> None:
        """Start the runtime. Raises JudgeError if it does not start, or no user is signed in."""
        try:
            await self._start()
        except WazaError as error:
            raise JudgeError(f"GitHub Copilot cannot judge: {error}") from error

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        """Return the reply to the messages as one text. Raises JudgeError with the reason if that fails."""
        try:
            async with asyncio.timeout(self.limit):
                await self._start()
                judge = self._executor.judge(_ATTEMPT)
                if judge is None:
                    raise JudgeError(f"{NO_REPLY}it cannot judge")
                question = JudgeQuestion(asker="judge", text="", model=self.model, timeout=self.limit)
                return await ExecutorJudgeModel(judge, question, "GitHub Copilot").complete(messages)
        except TimeoutError:
            raise JudgeError(f"{NO_REPLY}there was none within {self.limit:g} s") from None
        except JudgeError:
            raise
        except WazaError as error:
            raise JudgeError(f"{NO_REPLY}{error}") from error

    async def aclose(self) -> None:
        """Stop the runtime and remove its files."""
        await self._executor.aclose()
        self._started = False

    async def _start(self) -> None:
        async with self._starting:
            if not self._started:
                await self._executor.start()
                self._started = True


def _executor(model: str, env: Mapping[str, str]) -> Executor:
    try:
        kind = load_plugin("waza.executors", COPILOT)
        provider = find_provider(env, None)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "copilot":
            raise JudgeError(MISSING_SDK) from error
        raise
    except WazaError as error:
        raise JudgeError(str(error)) from error
    if kind is None:
        raise JudgeError(MISSING_SDK)
    setup = Setup(model=model, config=Config(), provider=provider, hidden=frozenset(secret_variables(None)))
    return kind(setup)  # type: ignore[no-any-return]  # plugins are typed by their group


_TASK = Task(id="judge", name="judge", file="", prompt="", home=Path(), fixtures=Path())
_ATTEMPT = Attempt(trial=TrialKey("main", _TASK.id, 1), number=1, task=_TASK)
