"""The mark that a child process carries and hands down to whatever it starts, so that all of it can be found.

It is an environment variable, which `env -i` drops. On Linux it is also the value of a resource limit, and this is
what counts: it is inherited by every fork and kept by every exec, whatever becomes of environments, sessions, groups
and parents. The limit is the one on the computing time of real-time threads, in microseconds; the values used here
are more than 70,000 years.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import secrets
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MARK = "WAZA_CHILD_OF"
"""Environment variable of every child: `<owner>:<number of the child>`; those of an outer waza stand before it."""

_FIRST = 1 << 61  # the smallest value of the limit; the owner and the number of the child are added to it
_NUMBERS = 1 << 24
_SEED = secrets.token_hex(6)
_PDEATHSIG = 1  # of prctl

_numbers = itertools.count(1)
_given: set[int] = set()  # the numbers of all children; without any there is nothing to look for


def owner_id() -> str:
    """Return the name of this process in marks."""
    return f"{os.getpid()}-{_SEED}"


def new_mark() -> tuple[int, str]:
    """Return a number for a child, and the value of `MARK` for its environment."""
    number = next(_numbers)
    _given.add(number)
    return number, f"{os.environ.get(MARK, '')} {owner_id()}:{number}".strip()


def has_marks() -> bool:
    """Return whether this process has marked any child."""
    return bool(_given)


def find_marked(
    number: int | None, *, owner: str | None = None, inside: Path | None = None
) -> list[psutil.Process]:
    """Return the living processes with the mark of child `number` (None: of any child) of `owner` (None: this process).

    With `inside`, a real path, only those whose current directory is in it.
    """
    import psutil

    owner = owner or owner_id()
    has_mark = _has_limit if _by_limit() else _has_variable
    found = []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error):  # ended meanwhile, or not ours to look at
            if has_mark(pid, owner, number):
                process = psutil.Process(pid)
                if process.status() != psutil.STATUS_ZOMBIE and (
                    inside is None or Path(process.cwd()).is_relative_to(inside)
                ):
                    found.append(process)
    return found


def _has_variable(pid: int, owner: str, number: int | None) -> bool:
    import psutil

    wanted = f"{owner}:{'' if number is None else number}"
    marks = psutil.Process(pid).environ().get(MARK, "").split()
    return any(mark.startswith(wanted) if number is None else mark == wanted for mark in marks)


def apply_mark(number: int) -> None:
    """Complete the mark of a child that other code started with the mark in its environment."""
    import psutil

    if _by_limit():
        for pid in psutil.pids():
            with contextlib.suppress(psutil.Error):
                if _has_variable(pid, owner_id(), number):
                    _set_limit(pid, number)


if sys.platform == "linux":
    import resource

    def _value(owner: str, number: int) -> int:
        whose = int.from_bytes(hashlib.sha256(owner.encode()).digest()[:4])
        return _FIRST + whose * _NUMBERS + number % _NUMBERS

    def _by_limit() -> bool:
        return resource.getrlimit(resource.RLIMIT_RTTIME)[1] == resource.RLIM_INFINITY

    def _has_limit(pid: int, owner: str, number: int | None) -> bool:
        try:
            soft, _ = resource.prlimit(pid, resource.RLIMIT_RTTIME)
        except OSError:
            return False
        first = _value(owner, 0)
        return first <= soft < first + _NUMBERS if number is None else soft == _value(owner, number)

    def _set_limit(pid: int, number: int) -> None:
        with contextlib.suppress(OSError):  # it has ended
            resource.prlimit(
                pid, resource.RLIMIT_RTTIME, (_value(owner_id(), number), resource.RLIM_INFINITY)
            )

    def before_exec(number: int) -> Callable[[], None]:
        """Return what a child does between its start and its program: take the mark, and end with its parent.

        It runs in a copy of a process whose other threads are gone: nothing in it may wait for a lock.
        """
        import ctypes

        prctl = ctypes.PyDLL(None).prctl  # PyDLL: keeps the interpreter's lock, which is free in the copy
        parent = os.getpid()
        limits = (_value(owner_id(), number), resource.RLIM_INFINITY) if _by_limit() else None

        def prepare() -> None:
            if limits is not None:
                resource.setrlimit(resource.RLIMIT_RTTIME, limits)
            prctl(_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it ended before the signal was asked for
                os._exit(1)

        return prepare

else:

    def _by_limit() -> bool:
        return False

    def _has_limit(pid: int, owner: str, number: int | None) -> bool:
        raise NotImplementedError

    def _set_limit(pid: int, number: int) -> None:
        raise NotImplementedError

    def before_exec(number: int) -> Callable[[], None] | None:  # noqa: ARG001 - the same as on Linux
        """Return None: there is nothing to be done."""
        return None
