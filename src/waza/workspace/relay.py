"""Mocked dependencies at work: the socket that the shims of agents call, and what each attempt may get there.

A `Relay` serves all attempts of a run. Each attempt opens a `Mocked`, whose tokens tell its calls from those
of others, so that mocks of one name never mix. All decisions are taken here, in one event loop: a call is
matched, recorded and its step of a sequence taken before anything waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shlex
import shutil
import sys
import tempfile
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.schema import strict_json
from waza.model.mocks import CommandMock, McpMock
from waza.model.observation import CommandInvocation
from waza.workspace.command_mock import Call, Output, Program, sanitised
from waza.workspace.fixtures import tools_of
from waza.workspace.mcp_mock import McpServer

SESSION = "WAZA_MOCK_SESSION"
"""The variable with an attempt's token; without it a mocked name means the real program."""

PREFIX = "waza-mocks-"
_SHIM = Path(__file__).with_name("shim.py")
_PYTHON = (sys.executable, "-I", "-S", "-X", "utf8", str(_SHIM))
_LONGEST_PATH = 100  # bytes; a unix socket's path has room for 104 to 108
_LONGEST_LINE = 64 * 1024 * 1024


class Mocked:
    """The mocks of one attempt. Made by `Relay.open`.

    `token` is the value of WAZA_MOCK_SESSION for the agent's commands; `mcp_servers` maps each mocked server
    to the settings by which an agent starts it.
    """

    def __init__(
        self,
        servers: Sequence[McpServer],
        programs: Sequence[Program],
        workspace: Path | None,
        address: str,
        closed: Callable[[Mocked], None],
    ) -> None:
        self.token = secrets.token_hex(16)
        self.servers = {secrets.token_hex(16): server for server in servers}
        self.mcp_servers: dict[str, dict[str, Any]] = {
            server.name: _stdio([*_PYTHON, "mcp", address, token]) for token, server in self.servers.items()
        }
        self.connections: set[asyncio.Task[None]] = set()
        self._programs = {os.path.normcase(program.name): program for program in programs}
        self._workspace = workspace
        self._invocations: list[CommandInvocation] = []
        self._closed = closed

    @property
    def invocations(self) -> tuple[CommandInvocation, ...]:
        """The calls of mocked programs until now, in the order in which they came, without secrets."""
        return tuple(self._invocations)

    def has(self, program: str) -> bool:
        """Tell whether a program is mocked."""
        return os.path.normcase(program) in self._programs

    def run(self, call: Call) -> Output:
        """Answer and record a call of a program that is mocked."""
        program = self._programs[os.path.normcase(call.name)]
        output = program.answer(call, self._workspace)
        self._invocations.append(
            CommandInvocation(
                command=program.name,
                args=sanitised(call),
                exit_code=output.exit_code,
                response_index=output.index,
            )
        )
        return output

    def complaint(self) -> str:
        """Return which programs were not called as often as `expect_calls` says, or an empty text."""
        counts = Counter(invocation.command for invocation in self._invocations)
        return "; ".join(
            f"command mock {program.name!r}: expected {program.expect_calls} call(s), "
            f"got {counts[program.name]}"
            for program in self._programs.values()
            if program.expect_calls not in (None, counts[program.name])
        )

    def close(self) -> None:
        """End all its connections; calls that come later are refused. Doing it twice is harmless."""
        for connection in self.connections:
            connection.cancel()
        self._closed(self)


class Relay:
    """Serves the mocks of all attempts of a run, from `start` to `aclose`.

    `bin` is the directory that must stand in front of an agent's PATH, `address` where the shims call.
    """

    bin: Path
    address: str

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._attempts: dict[str, Mocked] = {}
        self._mcp: dict[str, Mocked] = {}
        self._ended: set[str] = set()

    async def start(self) -> None:
        """Listen, in a new temporary directory."""
        self._directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.bin = self._directory / "bin"
        self.bin.mkdir()
        path = self._directory / "relay.sock"
        if sys.platform == "win32" or len(os.fsencode(path)) > _LONGEST_PATH:
            self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=_LONGEST_LINE)
            host, port = self._server.sockets[0].getsockname()
            self.address = f"{host}:{port}"
        else:
            self._server = await asyncio.start_unix_server(self._connected, path, limit=_LONGEST_LINE)
            self.address = str(path)

    def open(
        self, mcp: Sequence[McpMock], commands: Sequence[CommandMock], home: Path, workspace: Path | None
    ) -> Mocked:
        """Set up the mocks of an attempt, each with its sequences at the start.

        `home` is the suite's directory, where fixtures are; `workspace` is what `workdir` is relative to.
        Raises ExecutorError for fixtures that cannot be read.
        """
        servers = [McpServer(mock.name.strip(), tools_of(mock, home)) for mock in mcp]
        programs = [Program(mock, home) for mock in commands]
        mocked = Mocked(servers, programs, workspace, self.address, self._forget)
        for program in programs:
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
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def _forget(self, mocked: Mocked) -> None:
        if self._attempts.pop(mocked.token, None) is not None:
            self._ended.add(mocked.token)
            for token in mocked.servers:
                del self._mcp[token]

    def _place_script(self, name: str) -> None:
        """Put what stands for a program on the PATH. It is the same for all attempts."""
        script = self.bin / name
        call = [*_PYTHON, "command", self.address, str(script), "--"]
        if sys.platform == "win32":
            quoted = " ".join('"' + word.replace("%", "%%") + '"' for word in call)
            script.with_name(f"{name}.cmd").write_text(f"@{quoted} %*\r\n", encoding="utf-8")
        elif not script.exists():
            script.write_text(f'#!/bin/sh\nexec {shlex.join(call)} "$@"\n', encoding="utf-8")
            script.chmod(0o755)  # last: until then the real program is found

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of a shim; whoever sends anything else is left without an answer."""
        try:
            hello = strict_json(await reader.readline())
            if isinstance(hello, dict) and "mcp" in hello:
                await self._serve_mcp(hello["mcp"], reader, writer)
            else:
                await self._serve_command(msgspec.convert(hello, Call), writer)
        except (OSError, ValueError, msgspec.ValidationError):
            pass  # the caller is gone, or is no shim
        except asyncio.CancelledError:
            writer.transport.abort()  # closing alone would wait for a reader
            raise
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _serve_mcp(
        self, token: object, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        mocked = self._mcp.get(str(token))
        if mocked is None:
            return
        loop = asyncio.get_running_loop()
        delayed: list[asyncio.TimerHandle] = []
        with _counted(mocked):
            try:
                while line := await reader.readline():
                    reply = mocked.servers[str(token)].answer(line) if line.strip() else None
                    if reply and reply.delay:
                        delayed.append(loop.call_later(reply.delay, writer.write, reply.line + b"\n"))
                    elif reply:
                        writer.write(reply.line + b"\n")
                        await writer.drain()
            finally:
                for handle in delayed:
                    handle.cancel()

    async def _serve_command(self, call: Call, writer: asyncio.StreamWriter) -> None:
        mocked = self._attempts.get(call.session)
        if mocked is None or not mocked.has(call.name):
            # The task has ended: a mocked program must not run for real because it was called late.
            writer.write(b'{"pass": true}\n' if call.session not in self._ended else b"")
            return
        with _counted(mocked):
            output = mocked.run(call)
            await asyncio.sleep(output.delay)
            writer.write(_encoded(output))
            await writer.drain()


@contextlib.contextmanager
def _counted(mocked: Mocked):
    task = asyncio.current_task()
    mocked.connections.add(task)
    try:
        yield
    finally:
        mocked.connections.discard(task)


def _stdio(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": command[0], "args": command[1:], "env": {}, "tools": ["*"]}


def _encoded(output: Output) -> bytes:
    stdout, stderr = b64encode(output.stdout).decode(), b64encode(output.stderr).decode()
    answer = {"stdout": stdout, "stderr": stderr, "exit_code": output.exit_code}
    return msgspec.json.encode(answer) + b"\n"
