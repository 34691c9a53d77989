"""Files that survive a crash, and paths that stay where they belong.

* `write_atomic`: a file is there as a whole or not at all.
* `safe_join`, `is_inside`, `read_rooted`: names from suites and agents, which must not lead out of a folder.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from waza.errors import WazaError
from waza.kit.os_errors import describe_os_error

_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")
BINARY = getattr(os, "O_BINARY", 0)  # Windows would turn line ends round

# What component-wise opening needs; Windows has neither.
_CAN_WALK = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_MOST_LINKS = 40

_TEMPORARY = re.compile(r"\.waza-[0-9a-f]{16}\.tmp")  # the name of a file while it is written
_STALE_AFTER = 3600.0  # seconds; no write takes that long
_checked_folders: set[Path] = set()


def write_atomic(
    path: Path, data: bytes | Iterable[bytes], *, private: bool = False, temporary_in: Path | None = None
) -> None:
    """Write a file so that readers see the old content or all of the new one, also after a crash.

    Parent directories are made. A symbolic link is followed. What is no regular file (`/dev/stdout`, a
    pipe) is written to directly. A `private` file can be read by its owner alone. Raises WazaError naming the file;
    nothing half-written is left.

    The temporary file of a write that is killed stays until a later process writes into the same folder. So where
    nobody writes again, `temporary_in` names another folder, on the same file system, that later processes write to.
    """
    chunks = (data,) if isinstance(data, bytes) else data
    try:
        if _is_stream(path):
            _write_stream(path, chunks)
        else:
            _replace(Path(os.path.realpath(path)), chunks, 0o600 if private else 0o666, temporary_in)
    except OSError as error:
        raise write_error(path, error) from error


def write_new(path: Path, data: bytes) -> None:
    """Write a file that is not there yet, as a whole. Its directory is there.

    Raises FileExistsError if something is there, also if another process has just put it there, and WazaError naming the
    file for what else goes wrong; nothing half-written is left.
    """
    temporary = path.with_name(f".waza-{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        _put_in_place(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _put_in_place(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except (
        OSError
    ):  # a file system without links; the moment that is left between the two cannot be helped there
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        temporary.replace(path)


def rewrite_file(path: Path, data: bytes) -> None:
    """Replace the content of a file that is there, as a whole; its mode stays, also that of what a link leads to.

    Raises WazaError naming the file.
    """
    real = Path(os.path.realpath(path))
    try:
        mode = real.stat().st_mode & 0o777
    except OSError as error:
        raise write_error(path, error) from error
    write_atomic(path, data)
    with suppress(OSError):
        real.chmod(mode)


def _is_stream(path: Path) -> bool:
    # By name first: a redirected /dev/stdout is a regular file, but not one to put another in its place.
    if str(path).startswith(_STREAMS):
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_stream(path: Path, chunks: Iterable[bytes]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | BINARY)
    try:
        for chunk in chunks:
            write_all(descriptor, chunk)
    finally:
        os.close(descriptor)


def _replace(path: Path, chunks: Iterable[bytes], mode: int, temporary_in: Path | None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = temporary_in or path.parent
    _clear_remains(folder)
    temporary = folder / f".waza-{secrets.token_hex(8)}.tmp"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, mode)
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _clear_remains(folder: Path) -> None:
    """Remove what writes that were killed left in a folder; it is looked at once a process."""
    if folder in _checked_folders:
        return
    _checked_folders.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if is_temporary(entry.name):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime > _STALE_AFTER:
                        Path(entry).unlink()


def is_temporary(name: str) -> bool:
    """Return whether a file of this name is one that is being written, or that a killed write left."""
    return bool(_TEMPORARY.fullmatch(name))


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of the data, however many calls that takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_error(path: Path, error: OSError) -> WazaError:
    """Return the error to raise for a file that cannot be written: its name, the reason and what to do."""
    advice = (
        "make room there or choose another place" if error.errno == errno.ENOSPC else "choose another place"
    )
    return WazaError(f"cannot write {path}: {describe_os_error(error)}; {advice}")


def safe_join(root: Path, relative: str) -> Path:
    r"""Return the path below `root` that a relative path names; `/` and `\` both separate.

    Looks at the text only, not at the disk: symbolic links are the business of `is_inside` and `read_rooted`.
    An empty path or `.` names the root itself. Raises ValueError with a sentence for a path that is
    absolute (of any system), has a `..` segment, or holds a NUL character.
    """
    return root.joinpath(*_segments(relative))


def _segments(relative: str) -> list[str]:
    if "\0" in relative:
        raise ValueError(f"the path {relative!r} holds a NUL character; remove it")
    segments = relative.replace("\\", "/").split("/")
    absolute = not segments[0] and len(segments) > 1
    if absolute or any(_is_drive(segment) for segment in segments):
        raise ValueError(f"the path {relative!r} is absolute; give it relative to the folder it belongs to")
    # Windows takes blanks off the end, so `.. ` climbs as well.
    if any(segment.rstrip(" ") == ".." for segment in segments):
        raise ValueError(
            f"the path {relative!r} climbs with `..`; name a place inside the folder it belongs to"
        )
    return [segment for segment in segments if segment not in {"", "."}]


def _is_drive(segment: str) -> bool:
    return segment[1:2] == ":" and segment[0].isascii() and segment[0].isalpha()


Stamp = tuple[int, int, int]
"""Which file it is, its size in bytes, and when it was changed, in nanoseconds: another one means another content."""


def stamp_of(found: os.stat_result) -> Stamp:
    """Return the stamp of a file."""
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def stamp_at(path: Path) -> Stamp | None:
    """Return the stamp of the file at a path; None without one, also for a pipe: opening it would wait for a writer."""
    try:
        found = path.stat()
    except OSError:
        return None
    return stamp_of(found) if stat.S_ISREG(found.st_mode) else None


def is_inside(root: Path, path: Path) -> bool:
    """Return whether the path, all symbolic links followed, lies in the root or is the root itself.

    It need not exist. A path that cannot be followed (a loop of links, no permission, a NUL) is not inside.
    """
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            os.path.realpath(path, strict=True)  # only so does a loop raise, whatever the Python version
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    except (OSError, ValueError):
        return False


def read_rooted(root: Path, relative: str) -> bytes:
    """Return the content of a regular file below `root` without ever leaving the root.

    Every component is opened relative to the one before and no link is followed by the system: we read
    each link ourselves and go on below the root. So there is no moment between check and use in which a
    link could be put in the way, as there is in resolving a path first and opening it afterwards. (Where
    the system cannot do that, which is Windows, it has to be resolve, check, open.)

    Raises ValueError for a path or link that leads out of the root, FileNotFoundError, and other OSErrors
    (a directory, a pipe, no permission, a loop of links).
    """
    segments = _segments(relative)
    try:
        descriptor = _walk(root, segments) if _CAN_WALK else _open_checked(root, segments)
        with os.fdopen(descriptor, "rb") as file:
            return file.read()
    except OSError as error:
        error.filename = relative
        raise


def _walk(root: Path, segments: list[str]) -> int:
    """Open the file that the segments name; `trail` holds the open directories from the root downwards."""
    trail = [os.open(root, os.O_RDONLY)]
    ahead, links = deque(segments), 0
    try:
        while ahead:
            segment = ahead.popleft()
            if segment == "..":  # only a link brings these
                os.close(trail.pop())
                if not trail:
                    raise _leads_out(segments)
                continue
            target = _link_target(segment, trail[-1])
            if target is None:
                trail.append(_open_below(trail[-1], segment))
                continue
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if target.startswith("/"):
                target = _below_root(root, target, segments)
                while len(trail) > 1:
                    os.close(trail.pop())
            ahead.extendleft(reversed([part for part in target.split("/") if part not in {"", "."}]))
        _refuse_special(trail[-1])
        return trail.pop()
    finally:
        for descriptor in trail:
            os.close(descriptor)


def _open_below(directory: int, segment: str) -> int:
    # Not blocking: opening a pipe would wait for its writer.
    return os.open(segment, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)


def _link_target(segment: str, directory: int) -> str | None:
    try:
        return os.readlink(segment, dir_fd=directory)
    except OSError as error:
        if error.errno == errno.EINVAL:  # there, and no link
            return None
        raise


def _below_root(root: Path, target: str, segments: list[str]) -> str:
    for base in (root.absolute(), Path(os.path.realpath(root))):
        if Path(target).is_relative_to(base):
            return str(Path(target).relative_to(base))
    raise _leads_out(segments)


def _leads_out(segments: list[str]) -> ValueError:
    name = "/".join(segments)
    return ValueError(f"{name!r} leads out of its folder through a symbolic link, so it is not read")


def _refuse_special(descriptor: int) -> None:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")


def _open_checked(root: Path, segments: list[str]) -> int:
    path = Path(os.path.realpath(root.joinpath(*segments)))
    if not path.is_relative_to(os.path.realpath(root)):
        raise _leads_out(segments)
    return os.open(path, os.O_RDONLY | BINARY)
