"""Whether the MCP servers of a session of the runtime start in time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from waza.executors._servers import LIMIT_KEY

_PENDING = "pending"
_UP = "connected"


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
