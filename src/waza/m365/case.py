"""What an evaluator is given, and what a judge is: the two seams between documents, evaluators and models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from waza.m365.scores import RetrievalExecution

Entry: TypeAlias = dict[str, Any]
"""An entry of `scores`, as a document keeps it; `{"result": "error", "error": text}` where there is none."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One response and what belongs to it. `retrieval` is None where nothing is known of the agent's searches."""

    prompt: str
    response: str
    expected_response: str = ""
    context: str = ""
    retrieval: tuple[RetrievalExecution, ...] | None = None


class Message(msgspec.Struct, frozen=True):
    """A message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


class Judge(Protocol):
    """A language model that judges.

    `model_config` is what custom evaluators get: a mapping with `azure_endpoint`, `azure_deployment`,
    `api_version` and perhaps `api_key` for Azure, with `base_url`, `model` and `api_key` for others.
    """

    model_config: Mapping[str, str]

    async def complete(self, messages: Sequence[Message]) -> str:
        """Return the reply, which was asked to be a JSON object. Raises JudgeError."""
        ...

    async def aclose(self) -> None:
        """End all connections."""
        ...


class Evaluator(Protocol):
    """Judges responses by one set of options."""

    async def __call__(self, case: Case) -> Entry:
        """Return the entry of the response; what goes wrong is an errored entry, never an exception."""
        ...


def errored(text: str) -> Entry:
    """Return the entry of an evaluator that gave no result."""
    return {"result": "error", "error": text}
