"""Calls of the program by a fork of a process that has imported it already.

A process of its own for each call, as ever, with its own directory, environment and streams; only the imports, most of
what a short call costs, were made before. One server a test process; it ends with that. What a start itself does is
tested by `tests/e2e/test_starts.py` and its like, which start Python; `WAZA_TESTS_FORK=0` makes all calls do so.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

_AT_START = (
    "PYTHON",
    "LC_",
    "LANG",
    "LD_",
    "SSL_",
    "COVERAGE",
    "MALLOC",
)  # begin variables that only a start heeds
_AVAILABLE = sys.platform == "linux" and os.environ.get("WAZA_TESTS_FORK") != "0"
_SIZE = 4  # bytes of the length before a request

Request = tuple[list[str], str, dict[str, str]]
"""Arguments, directory and environment of a call."""


def can_fork(env: Mapping[str, str] | None) -> bool:
    """Whether a call with these variables on top of those of the tests can be a fork."""
    measured = "COVERAGE_PROCESS_START" in os.environ  # processes are measured from their start
    return _AVAILABLE and not measured and not any(name.startswith(_AT_START) for name in env or ())


def call(
    args: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes | None, limit: float
) -> subprocess.CompletedProcess[bytes]:
    """Run the program with these arguments and wait until it and all that holds its output have ended.

    Raises subprocess.TimeoutExpired, and OSError for a directory that cannot be entered.
    """
    if not os.path.isdir(cwd):  # noqa: PTH112  # the same question for every kind of path
        raise FileNotFoundError(cwd)
    until = time.monotonic() + limit
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_server())
        theirs, ours = zip(os.pipe(), os.pipe()[::-1], os.pipe()[::-1], strict=True)
        request = json.dumps([list(args), str(cwd), dict(env)], ensure_ascii=True).encode()
        socket.send_fds(connection, [len(request).to_bytes(_SIZE, "big")], list(theirs))
        connection.sendall(request)
        for descriptor in theirs:
            os.close(descriptor)
        pid = int.from_bytes(_receive(connection, _SIZE), "big")
        try:
            out, err = _exchange(ours, stdin or b"", until)
            connection.settimeout(max(0.0, until - time.monotonic()))
            code = int.from_bytes(_receive(connection, _SIZE), "big", signed=True)
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(args), limit) from None
    return subprocess.CompletedProcess(list(args), code, out, err)


def _exchange(ours: Sequence[int], stdin: bytes, until: float) -> tuple[bytes, bytes]:
    """Write the input and read output and errors to their ends. Raises TimeoutError."""
    writer, *readers = ours
    found = {reader: bytearray() for reader in readers}
    with selectors.DefaultSelector() as selector:
        os.set_blocking(writer, False)
        selector.register(writer, selectors.EVENT_WRITE)
        for reader in readers:
            selector.register(reader, selectors.EVENT_READ)
        try:
            while selector.get_map():
                ready = selector.select(max(0.0, until - time.monotonic()))
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    descriptor = key.fd
                    if descriptor == writer:
                        try:
                            stdin = stdin[os.write(writer, stdin[:65536]) :] if stdin else b""
                        except BrokenPipeError:
                            stdin = b""
                        ended = not stdin
                    else:
                        data = os.read(descriptor, 65536)
                        found[descriptor] += data
                        ended = not data
                    if ended:
                        selector.unregister(descriptor)
                        os.close(descriptor)
        except BaseException:
            for key in list(selector.get_map().values()):
                os.close(key.fd)
            raise
    return bytes(found[readers[0]]), bytes(found[readers[1]])


@cache
def _server() -> str:
    """Start the server of this process; return the address of its socket."""
    directory = tempfile.mkdtemp(prefix="waza-fork-server-", dir="/tmp")
    address = f"{directory}/socket"
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONUTF8": "1"},
    )

    def end() -> None:
        server.communicate()
        with contextlib.suppress(OSError):
            os.unlink(address)  # noqa: PTH108
            os.rmdir(directory)  # noqa: PTH106

    atexit.register(end)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return address


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("the fork server closed the connection")
        data += part
    return data


def _serve(address: str) -> Request | None:
    """Take calls until the standard input ends. Returns in the process of a call, with what was asked for."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    selector.register(listener, selectors.EVENT_READ)
    running: dict[int, tuple[int, socket.socket]] = {}  # by pidfd
    print("ready", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fd == 0:
                return None
            if key.fd in running:
                pid, connection = running.pop(key.fd)
                selector.unregister(key.fd)
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with contextlib.suppress(OSError):
                    connection.sendall(code.to_bytes(_SIZE, "big", signed=True))
                connection.close()
                continue
            connection, _address = listener.accept()
            head, streams, _flags, _from = socket.recv_fds(connection, _SIZE, 3)
            request: Request = json.loads(_receive(connection, int.from_bytes(head, "big")))
            pid = os.fork()
            if not pid:
                for number, descriptor in enumerate(streams):
                    os.dup2(descriptor, number)
                _close_all(streams, running, connection, listener, selector)
                return request
            for descriptor in streams:
                os.close(descriptor)
            connection.sendall(pid.to_bytes(_SIZE, "big"))
            pidfd = os.pidfd_open(pid)
            running[pidfd] = (pid, connection)
            selector.register(pidfd, selectors.EVENT_READ)


def _close_all(
    streams: Sequence[int],
    running: Mapping[int, tuple[int, socket.socket]],
    connection: socket.socket,
    listener: socket.socket,
    selector: selectors.BaseSelector,
) -> None:
    """Close what a call has of the server. Objects and not their numbers: one that is closed late closes another file."""
    for descriptor in (*streams, *running):
        os.close(descriptor)
    for one in (connection, listener, *(other for _, other in running.values())):
        one.close()
    selector.close()


def _preload() -> None:
    """Import all of the program but what is for processes of its own."""
    import waza

    for module in pkgutil.walk_packages(waza.__path__, "waza."):
        if not any(part.startswith("_") for part in module.name.split(".")):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as missing:
                if missing.name != "claude_agent_sdk":  # it is in an environment of its own
                    raise


def main() -> None:
    """Serve, and in a process of a call be the program."""
    _preload()
    gc.collect()
    gc.freeze()
    asked = _serve(sys.argv[1])
    if asked is None:
        return
    args, directory, variables = asked
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(directory)
    _open_streams()
    from waza import __main__ as program

    sys.argv = [str(program.__file__), *args]
    _end(program.main)


def _open_streams() -> None:
    """Open the standard streams as a start of Python in UTF-8 mode does; nobody closes their descriptors."""
    binary = [open(number, mode, closefd=False) for number, mode in enumerate(("rb", "wb", "wb"))]  # noqa: SIM115  # open to the end
    sys.stdin, sys.stdout = (io.TextIOWrapper(stream, "utf-8", "surrogateescape") for stream in binary[:2])
    sys.stderr = io.TextIOWrapper(binary[2], "utf-8", "backslashreplace", line_buffering=True)


def _end(program: Callable[[], None]) -> NoReturn:
    """Run a program and end the process as Python ends, but without taking all modules apart, which copies their pages."""
    code = 0
    try:
        program()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # as Python does with what nobody catches
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # what Python calls at its end, and has no other name
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = 120  # as of Python
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
