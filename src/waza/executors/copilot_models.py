"""The models that the runtime offers, and whether one of them can be asked for a reasoning effort."""

from __future__ import annotations

from typing import Any

import msgspec
from copilot import CopilotClient

from waza.errors import ExecutorError
from waza.model.agent import Provider

HINT = "`waza models` lists the models and their efforts"


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model: what it is called, whether it sees images, how much it reads, which efforts it knows."""

    id: str
    name: str
    vision: bool = False
    context_window: int = 0
    supported_reasoning_efforts: list[str] = []
    default_reasoning_effort: str = ""


async def list_models(client: CopilotClient) -> list[Model]:
    """Return the hosted models, sorted by id. Raises ExecutorError."""
    try:
        found = await client.list_models()
    except Exception as error:
        raise ExecutorError(f"the Copilot runtime does not list its models: {error}") from error
    return sorted((_model(info) for info in found), key=lambda model: model.id)


def _model(info: Any) -> Model:
    capabilities = info.capabilities.to_dict() if info.capabilities else {}
    supports, limits = capabilities.get("supports") or {}, capabilities.get("limits") or {}
    return Model(
        id=info.id,
        name=info.name,
        vision=bool(supports.get("vision")),
        context_window=int(limits.get("max_context_window_tokens") or 0),
        supported_reasoning_efforts=list(info.supported_reasoning_efforts or []),
        default_reasoning_effort=info.default_reasoning_effort or "",
    )


async def check_effort(client: CopilotClient, model: str, effort: str, provider: Provider | None) -> None:
    """Raise ExecutorError when a hosted model cannot be asked for this effort. Other servers are not asked."""
    if not effort or provider is not None:
        return
    if model in ("", "auto"):
        raise ExecutorError(f"a reasoning effort needs a model that is named; {HINT}")
    known = {found.id: found for found in await list_models(client)}
    if model not in known:
        raise ExecutorError(f"there is no model {model!r}; {HINT}")
    efforts = known[model].supported_reasoning_efforts
    if not efforts:
        raise ExecutorError(f"the model {model!r} knows no reasoning efforts; {HINT}")
    if effort not in efforts:
        raise ExecutorError(
            f"the model {model!r} knows the efforts {', '.join(efforts)}, not {effort!r}; {HINT}"
        )
