"""What `file` and `diff` share: paths that name a place in the workspace, and reading from there."""

from __future__ import annotations

import codecs
import os
import posixpath
from collections.abc import Iterable
from pathlib import Path

from waza.errors import GraderError, is_outside
from waza.kit.files import is_inside, read_rooted, safe_join
from waza.kit.os_errors import describe_os_error
from waza.model.observation import Observation

MAX_BYTES = 50 * 1024 * 1024  # of a file that is looked into


def normalize_path(path: str) -> str:
    """Return a workspace path without `.` and `..`, with `/` as separator.

    Raises ValueError if it names the workspace itself or a place outside of it.
    """
    normal = posixpath.normpath(path.replace("\\", "/"))
    if normal == ".":
        raise ValueError(f"the path {path!r} names the workspace itself; name a place inside")
    safe_join(Path(), normal)
    return normal


def path_error(path: str) -> str:
    """Return why a path in a config cannot be used, or an empty text."""
    try:
        normalize_path(path)
    except ValueError as error:
        return str(error)
    return ""


def open_root(observation: Observation, paths: Iterable[str]) -> Path | None:
    """Return the directory that the agent worked in, or None where there was none.

    Raises GraderError if one of the paths leads out of it, or if it cannot be opened.
    """
    for path in paths:
        if fault := path_error(path):
            raise GraderError(fault)
    if not observation.workspace:
        return None
    try:
        os.scandir(observation.workspace).close()
    except OSError as error:
        raise GraderError(
            f"the workspace {observation.workspace} cannot be opened: {describe_os_error(error)}"
        ) from error
    return Path(observation.workspace)


def path_exists(root: Path, path: str) -> bool:
    """Return whether a workspace path exists. Raises ValueError if that cannot be determined."""
    place = safe_join(root, normalize_path(path))
    if not is_inside(root, place):
        raise ValueError(f"{path!r} leads out of the workspace, or in a circle, through a symbolic link")
    try:
        place.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise read_error(f"{path!r} cannot be looked up", error) from error
    return True


def encoding_note(data: bytes) -> str:
    """Return what is odd about the encoding of a file that is searched as UTF-8, or an empty text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return " (the file is UTF-16, and is searched as UTF-8: save it as UTF-8)"
    if data.startswith(codecs.BOM_UTF8):
        return " (the file begins with a byte order mark, which is a character of its first line)"
    if b"\0" in data[:1024]:
        return " (the file is binary, and is searched as UTF-8)"
    return ""


def read_file(root: Path, path: str) -> bytes:
    """Return the content of a workspace file. Raises ValueError with a sentence if it cannot be read."""
    normal = normalize_path(path)
    try:
        size = safe_join(root, normal).stat().st_size
        if size > MAX_BYTES:
            raise ValueError(f"{path!r} has {size:,} bytes, too large to look into (limit {MAX_BYTES:,})")
        return read_rooted(root, normal)
    except FileNotFoundError:
        raise ValueError(f"{path!r} does not exist") from None
    except OSError as error:
        raise read_error(f"{path!r} cannot be read", error) from error


def read_error(what: str, error: OSError) -> Exception:
    """Return the exception for an OSError: ValueError (a failed check), or GraderError if the cause is outside of the file."""
    kind = GraderError if is_outside(error) else ValueError
    return kind(f"{what}: {describe_os_error(error)}")
