"""The MCP servers of a session: their settings for the runtime, and whether they start in time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from waza.errors import ExecutorError

LIMIT_KEY = "start_timeout_seconds"
"""The key of a server's entry with the seconds that it may take to come up; it is not passed to the runtime."""

START_LIMIT = 30.0
_ALL_TOOLS = ["*"]
_PENDING = "pending"
_UP = "connected"


def mcp_servers(declared: Mapping[str, Any], mocked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the MCP servers: the declared ones, of which a mock of the same name takes the place.

    ExecutorError: an entry names no server. The runtime would wait for it for ever.
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


class Servers:
    """The servers that a turn needs. `fresh`: the session is new, so that none of them has come up before."""

    def __init__(self, limits: Mapping[str, float], *, fresh: bool) -> None:
        self._limits = limits
        self._status = dict.fromkeys(limits, _PENDING if fresh else _UP)
        self._errors: dict[str, str] = {}
        self._began = time.monotonic()

    def take(self, kind: str, data: Mapping[str, Any]) -> None:
        """Take an event of the runtime about its servers."""
        if kind == "session.mcp_server_status_changed":
            self._set(str(data.get("serverName")), data)
        elif kind == "session.mcp_servers_loaded":
            for server in data.get("servers") or ():
                self._set(str(server.get("name")), server)

    def _set(self, name: str, report: Mapping[str, Any]) -> None:
        if name in self._limits:
            self._status[name] = str(report.get("status") or "")
            self._errors[name] = str(report.get("error") or "")
            if self._status[name] == _UP:  # whatever becomes of it later is seen in the calls of its tools
                self._limits = {other: limit for other, limit in self._limits.items() if other != name}

    def fault(self) -> str:
        """Return which server did not come up by now, and why; else nothing."""
        seconds = time.monotonic() - self._began
        for name, limit in self._limits.items():
            status = self._status[name]
            if status == _PENDING and seconds > limit:
                return (
                    f"the MCP server {name!r} did not come up within {limit:g} s ({LIMIT_KEY} of the server)"
                )
            if status not in (_PENDING, _UP):
                return f"the MCP server {name!r} did not start: {self._errors[name] or status}"
        return ""
