"""The MCP servers of a session as executors start them: the declared ones and mocked ones, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waza.errors import ExecutorError

LIMIT_KEY = "start_timeout_seconds"
"""The key of a server's entry with the seconds that it may take to come up; it is not passed to the server."""

START_LIMIT = 30.0
_ALL_TOOLS = ["*"]


def mcp_servers(declared: Mapping[str, Any], mocked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the MCP servers: the declared ones, of which a mock of the same name takes the place.

    ExecutorError: an entry names no server. An agent would wait for it for ever.
    """
    servers = {name: _server(name, config) for name, config in declared.items() if name not in mocked}
    return {**servers, **mocked}


def _server(name: str, config: Any) -> dict[str, Any]:
    if not isinstance(config, Mapping) or not (config.get("command") or config.get("url")):
        raise ExecutorError(f"config.mcp_servers.{name} names no server; set command, or url")
    kind = config.get("type") or ("stdio" if config.get("command") else "http")
    tools = config.get("tools")
    entry = {key: value for key, value in config.items() if key != LIMIT_KEY}
    return {**entry, "type": kind, "tools": _ALL_TOOLS if tools is None else list(tools)}


def start_limits(declared: Mapping[str, Any], mocked: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds that each server may take to come up. ExecutorError: that is not a number above 0."""
    return {
        name: START_LIMIT if name in mocked else _limit(name, declared[name])
        for name in {**declared, **mocked}
    }


def _limit(name: str, config: Any) -> float:
    given = config.get(LIMIT_KEY, START_LIMIT) if isinstance(config, Mapping) else START_LIMIT
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        raise ExecutorError(f"config.mcp_servers.{name}.{LIMIT_KEY} is {given!r}; write seconds, such as 30")
    return float(given)
