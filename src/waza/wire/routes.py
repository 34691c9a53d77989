"""Which requests the wire lets through: those that agents need to talk to a model, and none that a key opens besides."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from waza.wire.anthropic_messages import AnthropicMessages
from waza.wire.api import Family, WireApi
from waza.wire.chat_completions import ChatCompletions
from waza.wire.openai_responses import OpenAIResponses

_APIS: dict[str, WireApi] = {
    "messages": AnthropicMessages(),
    "responses": OpenAIResponses(),
    "chat/completions": ChatCompletions(),
}
_ANTHROPIC = "anthropic-version"  # the header by which its clients are known


class Route(msgspec.Struct, frozen=True):
    """Where a request goes: the family of its server, the path below the address of that, and its interface, if it asks a model."""

    family: Family
    path: str
    api: WireApi | None = None


def api_named(name: str) -> WireApi | None:
    """Return the interface of a name, as records have it."""
    return next((api for api in _APIS.values() if api.name == name), None)


def find_route(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """Return where a request goes, or None for one that is not let through. `path` has neither a slash before nor a query."""
    below = path.removeprefix("v1/")
    if method == "POST" and (api := _APIS.get(below)):
        return Route(api.family, below, api)
    if method == "POST" and below == "messages/count_tokens":
        return Route("anthropic", below)
    if method in ("GET", "HEAD") and (below == "models" or below.startswith("models/")) and ".." not in below:
        return Route("anthropic" if _ANTHROPIC in headers else "openai", below)
    return None
