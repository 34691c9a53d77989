"""The MCP servers of the loop, real ones and mocked ones, by the MCP SDK (the package `mcp`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import mcp.types
import msgspec
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from waza.errors import OutsideError
from waza.executors._servers import LIMIT_KEY
from waza.executors.chat_tools import ChatTool, ToolAnswer
from waza.kit.process import kill_marked
from waza.kit.process_marks import MARK, new_mark
from waza.kit.text import shorten_middle
from waza.model.skill import server_prefix

_OTHER = re.compile(r"[^A-Za-z0-9_-]")  # what names of functions may not hold
_LONGEST_NAME = 64  # characters of the name of a function
_SHOWN = 500  # characters of an error
_MOST_PAGES = 100  # of a server's list of tools


class ChatServers:
    """The servers of one session, from `start` to `aclose`.

    `entries` are their settings as agents get them, `limits` the seconds that each may take to come up. Programs run in
    `directory` with `environment`. `warnings` say which tools cannot be offered.
    """

    def __init__(
        self,
        entries: Mapping[str, Any],
        limits: Mapping[str, float],
        directory: Path,
        environment: Mapping[str, str],
    ) -> None:
        self._connections = [
            _Connection(name, entry, limits[name], directory, environment) for name, entry in entries.items()
        ]
        self.warnings: list[str] = []

    async def start(self) -> list[ChatTool]:
        """Start all servers, and return their tools. OutsideError: one of them did not come up."""
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what matters is reported as a reason
        starts = [asyncio.ensure_future(one.start()) for one in self._connections]
        try:
            found = await asyncio.gather(*starts)
        except BaseException:
            await self.aclose()
            raise
        tools: dict[str, ChatTool] = {}
        for tool in (tool for part in found for tool in part):
            if len(tool.name) > _LONGEST_NAME or tool.name in tools:
                why = "is too long" if tool.name not in tools else "is that of another one"
                self.warnings.append(f"the tool {tool.name!r} is not offered: its name {why}")
            else:
                tools[tool.name] = tool
        return list(tools.values())

    async def aclose(self) -> None:
        """Stop all servers, with all that they started."""
        await asyncio.gather(*(one.aclose() for one in self._connections))


class _Connection:
    """One server. A task of its own holds the connection, since the SDK wants to be left by the task that entered it."""

    def __init__(
        self,
        name: str,
        entry: Mapping[str, Any],
        limit: float,
        directory: Path,
        environment: Mapping[str, str],
    ) -> None:
        self.name, self._entry, self._limit = name, entry, limit
        self._directory, self._environment = directory, environment
        self._wanted = entry.get("tools") or []
        self._mark: int | None = None
        self._stop = asyncio.Event()
        self._up = False
        self._task: asyncio.Task[None] | None = None
        self._errors: Any = None

    async def start(self) -> list[ChatTool]:
        ready: asyncio.Future[tuple[ClientSession, list[mcp.types.Tool]]] = (
            asyncio.get_running_loop().create_future()
        )
        self._task = task = asyncio.create_task(self._hold(ready))
        task.add_done_callback(lambda _: ready.cancel())  # which does nothing once it has a result
        await asyncio.wait([ready], timeout=self._limit)
        if ready.done() and not ready.cancelled():
            self._up = True
            session, tools = ready.result()
            return [self._tool(session, tool) for tool in tools if self._is_wanted(tool.name)]
        if not ready.done():
            ready.cancel()
            raise OutsideError(
                f"the MCP server {self.name!r} did not come up within {self._limit:g} s ({LIMIT_KEY} of the server)"
            )
        error = task.exception()
        raise OutsideError(f"the MCP server {self.name!r} did not start: {self._reason(error)}") from error

    def _is_wanted(self, tool: str) -> bool:
        return "*" in self._wanted or tool in self._wanted

    def _reason(self, error: BaseException | None) -> str:
        """Return why the server did not start: the innermost error, and what the program wrote to stderr."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        text = " ".join(str(error).split()) if error is not None else "it ended"
        written = self._stderr()
        return shorten_middle(f"{text or type(error).__name__}{': ' if written else ''}{written}", _SHOWN)

    def _stderr(self) -> str:
        if self._errors is None or self._errors.closed:
            return ""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _SHOWN))
        return " ".join(self._errors.read().decode("utf-8", "replace").split())

    async def _hold(self, ready: asyncio.Future[tuple[ClientSession, list[mcp.types.Tool]]]) -> None:
        async with self._transport() as streams, ClientSession(*streams) as session:
            await session.initialize()
            able = session.server_capabilities
            tools: list[mcp.types.Tool] = []
            cursor: str | None = None
            for _ in range(_MOST_PAGES if able is not None and able.tools is not None else 0):
                page = await session.list_tools(params=mcp.types.PaginatedRequestParams(cursor=cursor))
                tools += page.tools
                cursor = page.next_cursor
                if not cursor:
                    break
            if not ready.done():
                ready.set_result((session, tools))
            await self._stop.wait()

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        entry = self._entry
        headers = {str(key): str(value) for key, value in (entry.get("headers") or {}).items()}
        if entry["type"] == "sse":
            async with sse_client(entry["url"], headers=headers) as streams:
                yield streams
        elif entry["type"] == "http":
            async with (
                create_mcp_http_client(headers=headers) as client,
                streamable_http_client(entry["url"], http_client=client) as streams,
            ):
                yield streams
        else:
            self._mark, mark = new_mark()
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `aclose`, which may want to read it
            own = {str(key): str(value) for key, value in (entry.get("env") or {}).items()}
            parameters = StdioServerParameters(
                command=entry["command"],
                args=[str(arg) for arg in entry.get("args") or ()],
                env={**self._environment, **own, MARK: mark},
                cwd=entry.get("cwd") or entry.get("working_directory") or self._directory,
                encoding_error_handler="replace",
            )
            async with stdio_client(parameters, errlog=self._errors) as streams:
                yield streams

    def _tool(self, session: ClientSession, tool: mcp.types.Tool) -> ChatTool:
        name = f"{server_prefix(self.name)}{_OTHER.sub('-', tool.name)}"

        async def call(arguments: dict[str, Any]) -> ToolAnswer:
            result = await session.call_tool(tool.name, arguments)
            text = "\n".join(map(_content_text, result.content))
            if not text and result.structured_content is not None:
                text = msgspec.json.encode(result.structured_content).decode()
            return ToolAnswer(text, success=not result.is_error)

        return ChatTool(
            name=name,
            identity=f"mcp:{name}",
            description=tool.description or "",
            parameters=tool.input_schema,
            run=call,
        )

    async def aclose(self) -> None:
        """End the connection, and the program with all that it started. A second call does nothing."""
        task, self._task = self._task, None
        self._stop.set()
        try:
            if task is not None:
                if not self._up:
                    task.cancel()
                await asyncio.wait([task])
                if not task.cancelled():
                    task.exception()  # was reported, or says that the server is gone
        finally:
            if self._mark is not None:
                kill_marked(self._mark)
            if self._errors is not None:
                self._errors.close()


def _content_text(content: Any) -> str:
    """Return a part of an answer as text; of any other kind the name of the kind."""
    if isinstance(content, mcp.types.TextContent):
        return content.text
    resource = getattr(content, "resource", None)
    text = getattr(resource, "text", None)
    return text if isinstance(text, str) else f"[{content.type}]"
