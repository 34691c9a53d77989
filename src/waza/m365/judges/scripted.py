"""The judge that replies from a file, for trying evaluators out without a model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from waza.errors import WazaError
from waza.kit.scripted_replies import SCRIPT_PREFIX, ScriptedReply, find_reply, read_replies
from waza.m365.judges.endpoint import Endpoint
from waza.m365.judges.judge_model import JudgeError, JudgeReply, Message


class ScriptedJudgeModel:
    """Replies from a file, a list of `{match: text, reply: object or text}` in JSON or YAML.

    The first entry whose `match` is in the user message counts; one without `match` fits all messages. Custom judges,
    which have clients of their own, reach it by an address of this machine.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. Raises JudgeError if it cannot be read, or is not such a list."""
        self.file, self.script = file, _read_script(file)
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        self.name = f"{SCRIPT_PREFIX}{file.name} ({content[:8]})"
        self.provider, self.model = "mock", ""
        self.model_config: Mapping[str, str] = {}
        self._endpoint: Endpoint | None = None

    async def check(self) -> None:
        """Become reachable for custom judges; the script was read."""
        if self._endpoint is None:
            self._endpoint = Endpoint(self)
            self.model_config = await self._endpoint.start()

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        """Return the reply. Raises JudgeError if no entry fits."""
        asked = "\n".join(message.content for message in messages if message.role == "user")
        reply = find_reply(self.script, asked)
        if reply is None:
            raise JudgeError(f"no entry of {self.file} fits this question; add one without 'match'")
        return JudgeReply(reply)

    async def aclose(self) -> None:
        """Close the endpoint for custom judges."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.aclose()


def _read_script(file: Path) -> list[ScriptedReply]:
    try:
        return read_replies(file)
    except WazaError as error:
        raise JudgeError(str(error)) from error
