"""Mocked dependencies at work: the socket that the shims of agents call, and what each attempt may get there.

A `Relay` serves all attempts of a run. Each attempt opens a `AttemptMocks`, whose tokens tell its calls from those
of others, so that mocks of one name never mix. All decisions are taken here, in one event loop: a call is
matched, recorded and its step of a sequence taken before anything waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shlex
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from waza.errors import ExecutorError
from waza.kit.tempdirs import ProcessTempdir
from waza.model.agent import MockedAnswer
from waza.model.mocks import SHELLS, CommandMock, McpMock
from waza.model.observation import CommandInvocation
from waza.workspace.command_mock import MockedProgram, ProgramCall, ProgramOutput, redact_call
from waza.workspace.fixtures import load_tools
from waza.workspace.mcp_mock import McpServer, McpToolCall
from waza.workspace.shim import SESSION

__all__ = ["SESSION", "AttemptMocks", "Relay", "open_mocks"]

KIND = "mocks"
_OPERATORS = frozenset("();<>|&")
_SHIM = Path(__file__).with_name("shim.py")
_PYTHON = (sys.executable, "-I", "-S", "-X", "utf8", str(_SHIM))
_LONGEST_PATH = 100  # bytes; a unix socket's path has room for 104 to 108
_LONGEST_LINE = 64 * 1024 * 1024


class MockWatch(Protocol):
    """Gets to know the calls of mocks when they have been answered, and how many seconds that took."""

    def see_command(self, call: CommandInvocation, seconds: float) -> None:
        """Note a call of a mocked program."""
        ...

    def see_mcp(self, server: str, tool: str, *, args: Any, result: Any, error: bool, seconds: float) -> None:
        """Note a call of a tool of a mocked server."""
        ...


class AttemptMocks:
    """The mocks of one attempt. Made by `Relay.open`.

    `token` is the value of WAZA_MOCK_SESSION for the agent's commands; `mcp_servers` maps each mocked server
    to the settings by which an agent starts it.
    """

    def __init__(
        self,
        servers: Sequence[McpServer],
        programs: Sequence[MockedProgram],
        workspace: Path | None,
        address: str,
        closed: Callable[[AttemptMocks], None],
        watch: MockWatch | None,
    ) -> None:
        self._address = address
        self.token = secrets.token_hex(16)
        self.servers = {secrets.token_hex(16): server for server in servers}
        self.mcp_servers: dict[str, dict[str, Any]] = {
            server.name: _make_stdio_server([*_PYTHON, "mcp", address, token])
            for token, server in self.servers.items()
        }
        self.programs = {os.path.normcase(program.name): program for program in programs}
        self._workspace = workspace
        self._invocations: list[CommandInvocation] = []
        self._connections: set[asyncio.Task[Any]] = set()
        self._closed = closed
        self.watch = watch

    @property
    def invocations(self) -> tuple[CommandInvocation, ...]:
        """The calls of mocked programs until now, in the order in which they came, without secrets."""
        return tuple(self._invocations)

    def run(self, call: ProgramCall) -> tuple[ProgramOutput, CommandInvocation]:
        """Answer a call of a program that is mocked; return its record as well."""
        program = self.programs[os.path.normcase(call.name)]
        output = program.answer(call, self._workspace)
        record = CommandInvocation(
            command=program.name,
            args=redact_call(call),
            exit_code=output.exit_code,
            response_index=output.index,
            exhausted=output.exhausted,
        )
        self._invocations.append(record)
        return output, record

    def ask(self, name: str, args: Any, workdir: str) -> MockedAnswer | None:
        """Answer a scripted call as that of an agent would be; None: it is neither of a mocked tool nor of a mocked program.

        A tool is called `SERVER-TOOL`; a program by a shell whose command line is one call of it, in `workdir`.
        """
        given = args if isinstance(args, dict) else {}
        for token, server in self.servers.items():
            tool = name.removeprefix(f"{server.name}-")
            if tool in server.tools and name == f"{server.name}-{tool}":
                return self._ask_server(token, tool, given)
        argv = _split_command(given.get("command")) if name in SHELLS else []
        if not argv or os.path.normcase(argv[0]) not in self.programs:
            return None
        call = ProgramCall(
            name=argv[0], argv=argv[1:], cwd=workdir, environment=dict(os.environ), session=self.token
        )
        output, record = self.run(call)
        if self.watch is not None:
            self.watch.see_command(record, output.delay)
        text = (output.stdout + output.stderr).decode("utf-8", "replace")
        return MockedAnswer(text, output.exit_code == 0, output.delay)

    def _ask_server(self, token: str, tool: str, args: dict[str, Any]) -> MockedAnswer:
        result, delay = self.servers[token].call(tool, args)
        self.report_mcp(token, McpToolCall(tool, args, result), time.monotonic() - delay)
        return MockedAnswer(result["content"][0]["text"], "isError" not in result, delay)

    def report_mcp(self, token: str, call: McpToolCall | None, started: float) -> None:
        """Report a call of a mocked server's tool that came at a time of the monotonic clock."""
        if self.watch is not None and call is not None:
            self.watch.see_mcp(
                self.servers[token].name,
                call.tool,
                args=call.args,
                result=call.result,
                error=bool(call.result.get("isError")),
                seconds=time.monotonic() - started,
            )

    def call_count_error(self) -> str:
        """Return which programs were not called as often as `expect_calls` says, or an empty text.

        A script need not call any program; one that calls some is to do so as often as an agent would have to.
        """
        if not (self._invocations or self._address):
            return ""
        counts = Counter(invocation.command for invocation in self._invocations)
        return "; ".join(
            f"command mock {program.name!r}: expected {program.expect_calls} call(s), "
            f"got {counts[program.name]}"
            for program in self.programs.values()
            if program.expect_calls not in (None, counts[program.name])
        )

    def close(self) -> None:
        """End all its connections; calls that come later are refused. A second call does nothing."""
        for connection in self._connections:
            connection.cancel()
        self._closed(self)

    def add_connection(self, connection: asyncio.Task[Any] | None) -> None:
        """Add a connection, which ends when the mocks are closed."""
        if connection is not None:
            self._connections.add(connection)
            connection.add_done_callback(self._connections.discard)


class Relay:
    """Serves the mocks of all attempts of a run, from `start` to `aclose`.

    `bin` is the directory that must stand in front of an agent's PATH, `address` where the shims call.
    """

    bin: Path
    address: str

    def __init__(self) -> None:
        self._directory: ProcessTempdir | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._attempts: dict[str, AttemptMocks] = {}
        self._mcp: dict[str, AttemptMocks] = {}
        self._ended: dict[str, frozenset[str]] = {}

    async def start(self) -> None:
        """Listen, in a new temporary directory."""
        self._directory = ProcessTempdir(KIND)
        self.bin = self._directory.path / "bin"
        self.bin.mkdir()
        path = self._directory.path / "relay"
        if sys.platform == "win32" or len(os.fsencode(path)) > _LONGEST_PATH:
            self._server = await asyncio.start_server(
                self._on_connection, "127.0.0.1", 0, limit=_LONGEST_LINE
            )
            host, port = self._server.sockets[0].getsockname()
            self.address = f"{host}:{port}"
        else:
            self._server = await asyncio.start_unix_server(self._on_connection, path, limit=_LONGEST_LINE)
            self.address = str(path)

    def open(
        self,
        mcp: Sequence[McpMock],
        commands: Sequence[CommandMock],
        home: Path,
        workspace: Path | None,
        watch: MockWatch | None = None,
    ) -> AttemptMocks:
        """Set up the mocks of an attempt, each with its sequences at the start.

        `home` is the suite's directory, where fixtures are; `workspace` is what `workdir` is relative to.
        Raises ExecutorError for fixtures that cannot be used.
        """
        mocked = open_mocks(mcp, commands, home, workspace, watch, self.address, self._forget)
        for program in mocked.programs.values():
            self._place_script(program.name)
        self._attempts[mocked.token] = mocked
        self._mcp |= dict.fromkeys(mocked.servers, mocked)
        return mocked

    async def aclose(self) -> None:
        """Close all attempts and the socket, and remove the temporary directory."""
        for mocked in list(self._attempts.values()):
            mocked.close()
        if self._server is not None:
            self._server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            await self._server.wait_closed()
        if self._directory is not None:
            await asyncio.to_thread(self._directory.remove)

    def _forget(self, mocked: AttemptMocks) -> None:
        if self._attempts.pop(mocked.token, None) is not None:
            self._ended[mocked.token] = frozenset(mocked.programs)
            for token in mocked.servers:
                del self._mcp[token]

    def _place_script(self, name: str) -> None:
        """Put the script of a mocked program on the PATH. It is the same for all attempts."""
        script = self.bin / name
        call = [*_PYTHON, "command", self.address, str(script), "--"]
        if sys.platform == "win32":
            quoted = " ".join('"' + word.replace("%", "%%") + '"' for word in call)
            script.with_name(f"{name}.cmd").write_text(f"@{quoted} %*\r\n", encoding="utf-8")
        elif not script.exists():
            script.write_text(f'#!/bin/sh\nexec {shlex.join(call)} "$@"\n', encoding="utf-8")
            script.chmod(0o755)  # last: until then the real program is found

    def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a shim; anything else gets no answer."""
        try:
            hello = _decode(await _read_line(reader))
            if isinstance(hello, ProgramCall):
                await self._serve_command(hello, writer)
            elif hello in self._mcp:
                await self._serve_mcp(hello, reader, writer)
        except ConnectionError:
            pass  # the caller is gone
        except asyncio.CancelledError:
            writer.transport.abort()  # closing alone would wait for a reader
            raise
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve_mcp(
        self, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        mocked = self._mcp[token]
        mocked.add_connection(asyncio.current_task())
        loop = asyncio.get_running_loop()
        delayed: dict[asyncio.TimerHandle, Callable[[], None]] = {}
        try:
            while line := await _read_line(reader):
                started = time.monotonic()
                reply = mocked.servers[token].answer(line) if line.strip() else None
                if reply is None:
                    continue
                report = partial(mocked.report_mcp, token, reply.call, started)
                if reply.delay:
                    handle = loop.call_later(reply.delay, _send, writer, reply.line, report)
                    delayed[handle] = report
                else:
                    _send(writer, reply.line, report)
                    await writer.drain()
        finally:
            for handle, report_cut_off in delayed.items():
                if handle.when() > loop.time():
                    handle.cancel()
                    report_cut_off()

    async def _serve_command(self, call: ProgramCall, writer: asyncio.StreamWriter) -> None:
        name = os.path.normcase(call.name)
        mocked = self._attempts.get(call.session)
        if mocked is not None and name in mocked.programs:
            mocked.add_connection(asyncio.current_task())
            started = time.monotonic()
            output, record = mocked.run(call)
            try:
                await asyncio.sleep(output.delay)
            finally:
                if mocked.watch is not None:
                    mocked.watch.see_command(record, time.monotonic() - started)
            writer.write(_encode(output))
        elif name not in self._ended.get(call.session, ()):
            # Else it is called after its attempt, and must not run for real for that: no answer.
            writer.write(b'{"pass": true}\n')
        await writer.drain()


def open_mocks(
    mcp: Sequence[McpMock],
    commands: Sequence[CommandMock],
    home: Path,
    workspace: Path | None,
    watch: MockWatch | None = None,
    address: str = "",
    closed: Callable[[AttemptMocks], None] = lambda _: None,
) -> AttemptMocks:
    """Set up the mocks of an attempt, as `Relay.open` does; without the `address` of a relay, only `ask` reaches them."""
    servers = [_load_server(mock, home) for mock in mcp]
    programs = [MockedProgram(mock, home) for mock in commands]
    return AttemptMocks(servers, programs, workspace, address, closed, watch)


def _split_command(line: object) -> list[str]:
    """Return the words of a command line that is a single call; nothing for any other."""
    words = shlex.shlex(line if isinstance(line, str) else "", posix=True, punctuation_chars=True)
    words.commenters = ""
    try:
        found = list(words)
    except ValueError:  # a quote is not closed
        return []
    return [] if any(set(word) <= _OPERATORS for word in found if word) else found


def _load_server(mock: McpMock, home: Path) -> McpServer:
    try:
        return McpServer(mock.name.strip(), load_tools(mock, home))
    except ValueError as error:
        raise ExecutorError(f"the MCP mock {mock.name!r} cannot be used: {error}") from error


def _make_stdio_server(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": command[0], "args": command[1:], "env": {}, "tools": ["*"]}


def _send(writer: asyncio.StreamWriter, line: bytes, report: Callable[[], None]) -> None:
    writer.write(line + b"\n")
    report()


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """Return the next line; nothing at the end, and for a line too long to be meant."""
    try:
        return await reader.readline()
    except ValueError:
        return b""


def _decode(line: bytes) -> ProgramCall | str:
    """Return what a shim says first: a call of a program, or the token of an MCP server."""
    from waza.kit.schema import strict_json  # heavy, and few runs have mocks

    try:
        hello = strict_json(line)
        if isinstance(hello, dict) and "mcp" in hello:
            return str(hello["mcp"])
        return msgspec.convert(hello, ProgramCall)
    except (ValueError, msgspec.ValidationError):
        return ""  # no shim


def _encode(output: ProgramOutput) -> bytes:
    stdout, stderr = b64encode(output.stdout).decode(), b64encode(output.stderr).decode()
    answer = {"stdout": stdout, "stderr": stderr, "exit_code": output.exit_code}
    return msgspec.json.encode(answer) + b"\n"
