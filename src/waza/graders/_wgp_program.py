"""WGP/1 over stdin and stdout: the grader is a program that is started for each grading."""

from __future__ import annotations

import os
import sys
import tempfile
from asyncio.subprocess import PIPE
from pathlib import Path

from waza.errors import GraderError, is_outside
from waza.kit import process
from waza.kit.process import ProcessDiedError
from waza.model.wgp import MAX_LOG, MAX_RESPONSE, GraderReply

# What a program needs to find other programs and its own files. Secrets in our environment stay here.
_HANDED_ON = ("PATH", "HOME", "LANG", "SYSTEMROOT")

# Limits the shell, then becomes the program ($3). $1: seconds of CPU time; first comes SIGXCPU, which tells
# the reason, a second later SIGKILL, and neither leaves a core file. $2: KiB of address space, 0 for no
# limit. CPU time that cannot be limited so is limited by the system already, and to less.
_LIMITED = (
    'ulimit -c 0; ulimit -S -t "$1" 2>/dev/null; ulimit -H -t "$(($1 + 1))" 2>/dev/null; '
    '[ "$2" = 0 ] || ulimit -v "$2" || exit 126; exec "$3"'
)


async def ask(
    program: Path, request: bytes, *, workspace: str, cpu: int, wall: int, memory_mb: int | None
) -> GraderReply:
    """Run a program in the workspace, or without one in an empty directory, with the request on stdin.

    `cpu` and `wall` are seconds. `memory_mb` limits the address space, the one kind of memory that a shell
    can limit; without it there is no limit, since runtimes such as Node, Go and Java reserve gigabytes of
    addresses that they never use. (On Windows only `wall` works.) Of stderr, the log, the end is kept. When
    this returns, the program and all that it started are gone. GraderError: the machine could not start it.
    """
    output = _Output()
    argv = ["sh", "-c", _LIMITED, "sh", str(cpu), str((memory_mb or 0) * 1024), str(program)]
    with tempfile.TemporaryDirectory(prefix="waza-wgp-", ignore_cleanup_errors=True) as empty:
        try:
            child = await process.start(
                [str(program)] if sys.platform == "win32" else argv,
                output.keep,
                stdin=PIPE,
                cwd=Path(workspace or empty),
                env=_environment(workspace),
            )
        except ProcessDiedError as error:
            if is_outside(error):
                raise GraderError(str(error)) from error
            return GraderReply(fault=str(error))
        try:
            child.write(request, last=True)
            ended = await process.wait_at_most(wall, child.exited)
        finally:
            await process.kill_tree(child)
    ending = _ending(*child.status(), cpu) if ended else f"the time limit of {wall} s was reached"
    return GraderReply(
        data=bytes(output.answer), log=output.log.decode("utf-8", "replace").strip(), fault=ending
    )


class _Output:
    """What a program writes: the start of stdout, so much that too much is noticed, and the end of stderr."""

    def __init__(self) -> None:
        self.answer = bytearray()
        self.log = bytearray()

    def keep(self, fd: int, data: bytes) -> None:
        """Take what came from a descriptor."""
        if fd == 1:
            self.answer += data[: MAX_RESPONSE + 1 - len(self.answer)]
        else:
            self.log += data
            del self.log[:-MAX_LOG]


def _environment(workspace: str) -> dict[str, str]:
    handed_on = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
    # Bytecode that a Python program leaves beside itself would change the digest of its module.
    return {**handed_on, "PYTHONDONTWRITEBYTECODE": "1", "WAZA_WORKSPACE_DIR": workspace}


def _ending(returncode: int | None, signal: str, cpu: int) -> str:
    """Return what is wrong with the end of a program, or nothing."""
    if signal == "SIGXCPU":
        return f"the CPU limit of {cpu} s was reached"
    return "" if returncode == 0 else f"the program ended badly: {process.describe_exit(returncode, signal)}"
