"""What an evaluator is given and what it says, and what a judge is: the seams to documents and to models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from waza.m365.document.scores import RetrievalExecution

Kind: TypeAlias = Literal["built-in", "judge", "code"]
"""What an evaluator is; of the custom ones, those with a `.prompty` are judges."""


class EvaluatorInput(msgspec.Struct, frozen=True, kw_only=True):
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


class EvaluatorResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one evaluator said of one response. With an `error` it said nothing, and the rest does not count.

    `score` is on the evaluator's own scale: 1 to 5 for those that judge, the count of Citations, 1 or 0 for
    ExactMatch, anything for code. `extra` are further keys of its entry; RetrievalQuery and RetrievalResult
    must give their `diagnostic_code`. An error that was an exception of people's code has its `traceback`.
    """

    name: str
    kind: Kind = "built-in"
    score: float = 0
    threshold: float = 1
    passed: bool = False
    reason: str = ""
    error: str = ""
    traceback: str = ""
    extra: dict[str, Any] = {}


class Evaluator(Protocol):
    """Judges responses by one set of options."""

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Return the result for a response; what goes wrong is an errored result, never an exception."""
        ...
