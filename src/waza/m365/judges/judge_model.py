"""What a judge is to the evaluators: a language model that answers messages, or says why it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from waza.errors import WazaError

LIMIT = 180.0  # seconds for one judgement


class JudgeError(WazaError):
    """A judge is not configured or could not answer. The text holds no key."""


class NoJudgeError(JudgeError):
    """The environment names no judge."""


class Message(msgspec.Struct, frozen=True):
    """A message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class JudgeModel(Protocol):
    """A language model that judges; `name` is what results call it.

    `model_config` is what custom evaluators get: a mapping with `azure_endpoint`, `azure_deployment`,
    `api_version` and perhaps `api_key` for Azure, with `base_url`, `model` and `api_key` for others.
    """

    name: str
    model_config: Mapping[str, str]

    async def check(self) -> None:
        """Find out, without cost, whether it can be asked. Raises JudgeError."""
        ...

    async def complete(self, messages: Sequence[Message]) -> str:
        """Return the reply, which was asked to be a JSON object. Raises JudgeError."""
        ...

    async def aclose(self) -> None:
        """End all connections."""
        ...
