"""What an agent starts in place of a mocked dependency: it carries bytes to waza, which decides.

This file is run by itself, `python -I -S -X utf8 shim.py ...`, and imports nothing of waza, because an agent
waits for its start. Two uses:

    mcp ADDRESS TOKEN                    an MCP server: standard input and output are those of a connection
    command ADDRESS PROGRAM -- ARGS...   a program: one line of JSON asks, one answers

An ADDRESS is the path of a unix socket, or `127.0.0.1:PORT`. PROGRAM is the path of the script in place
of the program: its name, in the directory that a search for the real one leaves out.
"""

import json
import os
import socket
import sys
from binascii import a2b_base64
from contextlib import suppress
from typing import Any

SESSION = "WAZA_MOCK_SESSION"
"""The variable with an attempt's token; without it a mocked name means the real program."""

NOT_ANSWERED = 127
"""The exit code of a call that has no answer, as of a program that is not there."""

LOOPBACK = "127.0.0.1:"
BLOCK = 1 << 16


def main(use: str, address: str, *rest: str) -> int:
    """Be the MCP server or the program; return the exit code."""
    return serve_mcp(address, rest[0]) if use == "mcp" else run_command(address, rest[0], list(rest[2:]))


def connect(address: str) -> socket.socket:
    """Connect to waza. Raises OSError when it has ended."""
    if address.startswith(LOOPBACK):
        return socket.create_connection(("127.0.0.1", int(address.removeprefix(LOOPBACK))))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    return connection


def serve_mcp(address: str, token: str) -> int:
    """Carry everything both ways until either side ends."""
    import _thread  # `threading` would wait at the end for input that may never come

    try:
        connection = connect(address)
    except OSError as error:
        return complain(f"the MCP mock is not served any more: {error}")
    # From here on, waza ends the connection when the attempt has ended. That is a reset, not an end of input,
    # if something was on its way to waza at that moment.
    with suppress(OSError):
        connection.sendall(json.dumps({"mcp": token}).encode() + b"\n")
        _thread.start_new_thread(send_input, (connection,))
        while (data := connection.recv(BLOCK)) and write(1, data):
            pass
    return 0


def send_input(connection: socket.socket) -> None:
    """Send standard input to its end."""
    with suppress(OSError):  # waza is gone, and the other direction ends the process
        while data := os.read(0, BLOCK):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def run_command(address: str, program: str, args: list[str]) -> int:
    """Answer a call as waza says: with an output, or by the real program."""
    directory, name = os.path.split(program)
    if not os.environ.get(SESSION):
        return run_real(name, directory, args)
    try:
        answer = ask(address, name, args)
    except (OSError, ValueError) as error:
        return complain(f"the command mock {name!r} gave no answer, because its task has ended ({error})")
    if answer.get("pass"):
        return run_real(name, directory, args)
    write(1, a2b_base64(answer["stdout"]))
    write(2, a2b_base64(answer["stderr"]))
    return int(answer["exit_code"])


def ask(address: str, name: str, args: list[str]) -> dict[str, Any]:
    """Send the call to waza, and return its answer. Raises OSError or ValueError without one."""
    call = {
        "name": name,
        "argv": args,
        "cwd": current_directory(),
        "environment": dict(os.environ),
        "session": os.environ[SESSION],
    }
    with connect(address) as connection:
        connection.sendall(json.dumps(call).encode() + b"\n")
        with connection.makefile("rb") as answer:
            return dict(json.loads(answer.readline()))


def current_directory() -> str:
    """Return where the call was made; empty if that directory is gone."""
    with suppress(OSError):
        return os.getcwd()  # noqa: PTH109  # importing pathlib takes longer than all the rest
    return ""


def run_real(name: str, directory: str, args: list[str]) -> int:
    """Become the real program: the first on PATH that is not in `directory`.

    It keeps the environment: what it starts itself may be mocked.
    """
    from shutil import which

    bin_directory = os.path.realpath(directory)
    path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    others = [place for place in path if os.path.realpath(place) != bin_directory]
    found = which(name, path=os.pathsep.join(others))
    if found is None:
        return complain(f"{name}: command not found")
    try:
        return execute(found, [name, *args])
    except OSError as error:
        return complain(f"{found} cannot be run: {error.strerror}")


def execute(program: str, argv: list[str]) -> int:
    """Become the program. On Windows, where no process can, wait for it instead."""
    if sys.platform != "win32":
        os.execv(program, argv)  # noqa: S606  # the agent's own program, with the arguments that it gave

    import subprocess

    return subprocess.call([program, *argv[1:]])


def complain(message: str) -> int:
    """Say on standard error why there is no answer; return the exit code."""
    write(2, f"waza: {message}\n".encode("utf-8", "backslashreplace"))
    return NOT_ANSWERED


def write(fd: int, data: bytes) -> bool:
    """Write everything; return False when nobody reads it."""
    rest = memoryview(data)
    with suppress(OSError):
        while rest:
            rest = rest[os.write(fd, rest) :]
    return not rest


if __name__ == "__main__":
    # At once: a thread may still be waiting for input.
    os._exit(main(*sys.argv[1:]))
