"""The judge that replies from a file, for trying evaluators out without a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.kit import json_nodes, yaml
from waza.m365.judges.endpoint import Endpoint
from waza.m365.judges.judge_model import JudgeError, JudgeReply, Message

MOCK = "mock:"


class ScriptedReply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reply of a script, for user messages that hold the text `match`."""

    reply: str | dict[str, Any]
    match: str = ""


class ScriptedJudgeModel:
    """Replies from a file, a list of `{match: text, reply: object or text}` in JSON or YAML.

    The first entry whose `match` is in the user message counts; one without `match` fits all messages. Custom judges,
    which have clients of their own, reach it by an address of this machine.
    """

    def __init__(self, file: Path) -> None:
        """Read the file. Raises JudgeError if it cannot be read, or is not such a list."""
        self.file, self.script = file, _read_script(file)
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        self.name = f"{MOCK}{file.name} ({content[:8]})"
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
        for entry in self.script:
            if entry.match in asked:
                return JudgeReply(entry.reply if isinstance(entry.reply, str) else json.dumps(entry.reply))
        raise JudgeError(f"no entry of {self.file} fits this question; add one without 'match'")

    async def aclose(self) -> None:
        """Close the endpoint for custom judges."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.aclose()


def _read_script(file: Path) -> list[ScriptedReply]:
    try:
        data = file.read_bytes()
        node = json_nodes.load(data) if file.suffix == ".json" else yaml.load(data)
        return msgspec.convert(yaml.to_plain(node), list[ScriptedReply])
    except OSError as error:
        raise JudgeError(f"the judge's script {file} cannot be read: {error.strerror or error}") from error
    except (yaml.YamlError, json_nodes.JsonError, msgspec.ValidationError) as error:
        hint = "it is a list of entries with 'reply' and perhaps 'match'"
        raise JudgeError(f"the judge's script {file} is not valid: {error}; {hint}") from error
