"""Why the system did not start a program: what it says names the program, whatever it is that is missing."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from waza.kit.os_errors import describe_error

_HEAD = 256  # bytes of a script in which its first line is looked for


def describe_start_error(error: OSError | ValueError, program: str, cwd: Path | None) -> str:
    """Return why `program` could not be started in `cwd`, and what to do where that is known."""
    if cwd is not None and not cwd.is_dir():
        why = f"the directory {cwd} does not exist"
    elif isinstance(error, OSError) and error.errno in (errno.ENOENT, errno.ENOEXEC):
        why = _missing(error, program, cwd)
    else:
        why = describe_error(error)
    return f"{program!r} cannot be started: {why}"


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD)
    except OSError:
        return b""


def _missing(error: OSError, program: str, cwd: Path | None) -> str:
    """Return what of a program is missing: itself, or the interpreter that its first line names."""
    found = shutil.which(program) if "/" not in program else str((cwd or Path()) / program)
    head = _head(Path(found)) if found else b""
    first = head.partition(b"\n")[0]
    if first.startswith(b"#!") and first.endswith(b"\r"):
        return "its lines end as on Windows (CRLF), and so does the name in its '#!' line; save it with LF"
    if first.startswith(b"#!"):
        words = first[2:].split()
        name = words[0].decode("utf-8", "replace") if words else ""
        return f"the interpreter {name!r} of its '#!' line does not exist"
    if head and error.errno == errno.ENOEXEC:
        return f"{error.strerror}; it is neither a program of this system nor a script that begins with '#!'"
    if not head and len(program.split()) > 1:
        return (
            f"{error.strerror}; a program is named without its arguments, which go into a list of their own"
        )
    return str(error.strerror)
