"""What a judge is to the evaluators: a language model that answers messages, or says why it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from waza.errors import WazaError
from waza.model.observation import Usage

LIMIT = 180.0  # seconds for one judgement


class JudgeError(WazaError):
    """A judge is not configured or could not answer. The text holds no key."""


class NoJudgeError(JudgeError):
    """The environment names no judge."""


class Message(msgspec.Struct, frozen=True):
    """A message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class JudgeReply(msgspec.Struct, frozen=True):
    """What a model replied, and what it cost; None: not known."""

    text: str
    usage: Usage | None = None


class JudgeModel(Protocol):
    """A language model that judges; `name` is what results call it.

    `provider` is who serves it, as the conventions of OpenTelemetry say, and `model` what that one calls it; each may be
    empty, where it is not known.

    `model_config` is what custom evaluators get: a mapping with `azure_endpoint`, `azure_deployment`,
    `api_version` and perhaps `api_key` for Azure, with `base_url`, `model` and `api_key` for others.
    """

    name: str
    provider: str
    model: str
    model_config: Mapping[str, str]

    async def check(self) -> None:
        """Find out, without cost, whether it can be asked. Raises JudgeError."""
        ...

    async def complete(self, messages: Sequence[Message]) -> JudgeReply:
        """Return the reply, which was asked to be a JSON object. Raises JudgeError."""
        ...

    async def aclose(self) -> None:
        """End all connections."""
        ...
