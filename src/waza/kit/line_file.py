"""Append-only files of lines (NDJSON) that one process writes.

A line is in the file when `append` returns: a process that is killed loses none. It is on disk at most about
`SYNC_DELAY` seconds later, together with those that were appended meanwhile: a power cut loses no more than these.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from waza.errors import WazaError
from waza.kit.files import BINARY, write_all, write_error
from waza.kit.os_errors import describe_os_error

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, *, shared: bool = False) -> None:
        del shared  # it has no such lock here
        # Windows locks a range of bytes against reading, too: take one far behind any line.
        os.lseek(descriptor, 2**62, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, *, shared: bool = False) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


SYNC_DELAY = 0.05  # seconds; a sync takes its time as well, and both together should stay below 0.1
_LOCKED_ELSEWHERE = {errno.EAGAIN, errno.EACCES, errno.EDEADLK}
_BLOCK = 1 << 16
_sync_data = getattr(os, "fdatasync", os.fsync)


class GroupSync:
    """Calls `sync` once for all that was written within a short time, in a thread of its own.

    A thread, because a grader that computes holds up the event loop for longer than a line may wait.
    """

    def __init__(self, sync: Callable[[], None], delay: float = SYNC_DELAY) -> None:
        self._sync, self._delay = sync, delay
        self._timer: threading.Timer | None = None
        self._timers = threading.Lock()  # guards the one above
        self._syncing = threading.Lock()
        self._closed = False
        self.error: OSError | None = None  # why a sync failed; what was written before it may be lost

    def schedule(self) -> None:
        """Have what was written synced soon."""
        with self._timers:
            if self._timer is None:
                self._timer = threading.Timer(self._delay, self._run)
                self._timer.daemon = True
                self._timer.start()

    def flush(self) -> None:
        """Wait until everything that was written is synced, or cannot be."""
        with self._timers:
            if self._timer is not None:
                self._timer.cancel()
        self._run()

    def close(self) -> None:
        """Sync for the last time; `sync` is not called again."""
        self.flush()
        with self._syncing:
            self._closed = True

    def _run(self) -> None:
        with self._syncing:  # so a slow disk makes no more than one timer wait
            with self._timers:
                self._timer = None  # before the sync: what is written during it needs another one
            if self._closed:
                return
            try:
                self._sync()
            except OSError as error:
                self.error = error


class LineFile:
    """An append-only file of lines that this process alone writes. Make one with `LineFile.open`.

    The lock belongs to the open file: the kernel frees it when the process ends, however that happens.
    """

    def __init__(self, path: Path, descriptor: int, size: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._size = size
        self._reader = path.open("rb")
        self._group = GroupSync(lambda: _sync_data(descriptor))

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file, made with its parents if absent, and lock it; cut a torn last line off.

        Raises WazaError if another process holds it or it cannot be opened.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o666)
        except OSError as error:
            raise write_error(path, error) from error
        try:
            _lock_or_refuse(descriptor, path)
            return cls(path, descriptor, _cut_torn_tail(descriptor))
        except BaseException:
            os.close(descriptor)
            raise

    def append(self, line: bytes) -> int:
        """Append a line (without its newline), to be synced soon, and return the offset of its first byte.

        Raises WazaError naming the file if it cannot be written, or if an earlier line could not be synced; the
        file then ends where it did before. Raises ValueError for a line with a newline in it.
        """
        if b"\n" in line:
            raise ValueError("a line cannot hold a newline; encode it as one line of JSON")
        self._raise_sync_error()
        offset = self._size
        try:
            write_all(self._descriptor, line + b"\n")
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, offset)
            raise write_error(self.path, error) from error
        self._size += len(line) + 1
        self._group.schedule()
        return offset

    def sync(self) -> None:
        """Wait until all lines are on disk. Raises WazaError naming the file if they cannot be brought there."""
        self._group.flush()
        self._raise_sync_error()

    def read_at(self, offset: int) -> bytes:
        """Return the line that begins at this offset, without its newline. Raises ValueError if none does."""
        self._reader.seek(offset)
        line = self._reader.readline()
        if not line.endswith(b"\n"):
            raise ValueError(f"{self.path} has no line at byte {offset}")
        return line[:-1]

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        """Yield the offset and the text of every line."""
        return read_lines(self.path)

    def close(self) -> None:
        """Close the file and free the lock; a second call does nothing."""
        self._reader.close()
        if self._descriptor >= 0:
            self._group.close()
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _raise_sync_error(self) -> None:
        if self._group.error is not None:
            raise write_error(self.path, self._group.error) from self._group.error


def read_lines(path: Path, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield offset and text of every whole line of a file from an offset on; another process may be appending to it.

    A last line without newline is not finished and is left out. Raises OSError.
    """
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def read_last_line(path: Path) -> bytes | None:
    """Return the last whole line of a file, without its newline; None if it has no line. Raises OSError."""
    with path.open("rb") as file:
        end, tail = file.seek(0, os.SEEK_END), b""
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            tail, end = file.read(end - start) + tail, start
            whole = tail[: tail.rfind(b"\n") + 1]
            if whole.count(b"\n") > 1 or (whole and not start):
                return whole[:-1].rpartition(b"\n")[2]
    return None


def lock_while_open(file: IO[bytes]) -> None:
    """Lock a file until it is closed, so that `is_locked` tells readers that it may grow. Where there are no locks, nothing."""
    with suppress(OSError):
        _lock(file.fileno())


def is_locked(path: Path) -> bool:
    """Tell whether a process has the file open and locked. Raises OSError where it cannot be read."""
    descriptor = os.open(path, os.O_RDONLY | BINARY)
    try:
        _lock(descriptor, shared=True)  # readers do not lock each other out; closing frees it
    except OSError as error:
        if error.errno not in _LOCKED_ELSEWHERE:
            raise
        return True
    finally:
        os.close(descriptor)
    return False


def _lock_or_refuse(descriptor: int, path: Path) -> None:
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno not in _LOCKED_ELSEWHERE:
            raise WazaError(
                f"cannot lock {path}: {describe_os_error(error)}; use a local disk for it"
            ) from error
        raise WazaError(f"{path} is in use by another run; wait until that run has ended") from error


def _cut_torn_tail(descriptor: int) -> int:
    """Cut off what follows the last newline, the trace of a crash in mid-write; return the size left."""
    end = whole = os.lseek(descriptor, 0, os.SEEK_END)
    while whole:
        start = max(0, whole - _BLOCK)
        os.lseek(descriptor, start, os.SEEK_SET)
        newline = os.read(descriptor, whole - start).rfind(b"\n")
        whole = start + newline + 1
        if newline >= 0:
            break
    if whole < end:
        os.ftruncate(descriptor, whole)
    return whole
