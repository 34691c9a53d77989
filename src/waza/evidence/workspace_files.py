"""Files of a workspace as evidence: those that `--evidence-file` allows, UTF-8 text, nothing hidden, no links."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from waza.evidence.manifest import CaptureDiagnostic
from waza.kit.files import BINARY, safe_join
from waza.kit.glob import matches
from waza.kit.os_errors import describe_error, describe_os_error

MOST_FILES = 100
LARGEST = 1_000_000  # bytes of one file
LARGEST_TOTAL = 5_000_000  # bytes of all files of a trial
_MOST_ENTRIES = 100_000  # of a workspace that are looked at
_CAN_WALK = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")

# Files that hold credentials, by their names or the ends of these, in lower case.
_NAMES = frozenset({
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "htpasswd", "netrc", "_netrc", "shadow", "kubeconfig", "pgpass",
})  # fmt: skip
_SUFFIXES = (
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".jks",
    ".keystore",
    ".kdbx",
    ".ppk",
    ".asc",
    ".gpg",
    ".env",
    ".ovpn",
)
_FRAGMENTS = ("secret", "password", "passwd", "credential", "token", "apikey", "api_key", "api-key", "private_key",
              "private-key", "service-account", "service_account")  # fmt: skip


class CollectedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was allowed: its text, or why it was not taken."""

    path: str
    text: str = ""
    reason: str = ""


class CollectedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a workspace."""

    files: tuple[CollectedFile, ...] = ()
    diagnostics: tuple[CaptureDiagnostic, ...] = ()


def pattern_error(pattern: str) -> str:
    """Return why a pattern cannot name evidence, or an empty text."""
    try:
        safe_join(Path(), pattern)
        matches(pattern, "")
    except ValueError as error:
        return str(error)
    if "\\" in pattern:
        return f"the pattern {pattern!r} has a backslash; separate folders by '/'"
    why = refusal(pattern)
    return f"{pattern!r} {why}" if why else ""


def refusal(path: str) -> str:
    """Return why a path is never taken, or an empty text: a part of it is hidden, or looks like that of credentials."""
    for part in path.split("/"):
        name = part.lower()
        if name.startswith(".") and name != ".":
            return "is hidden, and hidden files are no evidence"
        if name in _NAMES or name.endswith(_SUFFIXES) or any(fragment in name for fragment in _FRAGMENTS):
            return "looks like a file of credentials, and these are no evidence"
    return ""


def collect(workspace: Path | None, patterns: Sequence[str]) -> CollectedFiles:
    """Return the files of a workspace that match a pattern, sorted by path. Blocks: call it in a thread.

    `*` crosses no `/`. Links are not followed, neither are hard links read: both may be of files elsewhere. Whatever
    matches and is not taken has its reason; a pattern without a match is a diagnostic.
    """
    if not patterns:
        return CollectedFiles()
    if workspace is None:
        return CollectedFiles(
            diagnostics=(_diagnostic("no-workspace", "there was no workspace to look into"),)
        )
    if not _CAN_WALK:
        message = "files of workspaces cannot be read safely on this system"
        return CollectedFiles(diagnostics=(_diagnostic("unsupported-system", message),))
    wanted = [pattern.removeprefix("./") for pattern in patterns]
    try:
        paths = sorted(_paths(workspace))
    except (OSError, OverflowError) as error:
        why = describe_error(error)
        return CollectedFiles(diagnostics=(_diagnostic("unreadable-workspace", why),))
    found, unmatched, total = list[CollectedFile](), set(wanted), 0
    for path in paths:
        fitting = {pattern for pattern in wanted if matches(pattern, path)}
        if not fitting:
            continue
        unmatched -= fitting
        file = _read(workspace, path, LARGEST_TOTAL - total, full=len(found) >= MOST_FILES)
        total += len(file.text.encode())
        found.append(file)
    notes = [
        _diagnostic("no-match", f"no file of the workspace matches {pattern!r}")
        for pattern in wanted
        if pattern in unmatched
    ]
    notes += [
        _diagnostic("not-taken", f"{file.path!r} is not kept: it {file.reason}")
        for file in found
        if file.reason
    ]
    return CollectedFiles(files=tuple(found), diagnostics=tuple(notes))


def _diagnostic(code: str, message: str) -> CaptureDiagnostic:
    return CaptureDiagnostic(category="workspace", code=code, message=message)


def _paths(root: Path) -> Iterator[str]:
    """Yield what is not a directory below a directory, by its path with `/`."""
    directories, seen = [root], 0
    while directories:
        with os.scandir(directories.pop()) as entries:
            for entry in entries:
                seen += 1
                if seen > _MOST_ENTRIES:
                    raise OverflowError(f"the workspace holds more than {_MOST_ENTRIES:,} files and folders")
                if entry.is_dir(follow_symlinks=False):
                    directories.append(Path(entry.path))
                else:
                    yield Path(entry.path).relative_to(root).as_posix()


def _read(root: Path, path: str, most: int, *, full: bool) -> CollectedFile:
    reason = refusal(path)
    if not reason and full:
        reason = f"is one of more than {MOST_FILES} files"
    if reason:
        return CollectedFile(path=path, reason=reason)
    try:
        data = _content(root, path.split("/"), min(most, LARGEST))
        if b"\0" in data:
            raise ValueError("is not text")
        return CollectedFile(path=path, text=data.decode())
    except UnicodeDecodeError:
        reason = "is not UTF-8 text"
    except ValueError as error:
        reason = str(error)
    except OSError as error:
        reason = f"cannot be read: {describe_os_error(error)}"
    return CollectedFile(path=path, reason=reason)


def _content(root: Path, parts: Sequence[str], most: int) -> bytes:
    """Return the content of a regular file; no link is followed on the way. Raises OSError, ValueError."""
    *folders, name = parts
    trail = [os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)]
    try:
        for folder in folders:
            trail.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=trail[-1]))
        if stat.S_ISLNK(os.stat(name, dir_fd=trail[-1], follow_symlinks=False).st_mode):
            raise ValueError("is a link, and links are not followed")
        flags = (
            os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | BINARY
        )  # to open a pipe must not wait for its writer
        descriptor = os.open(name, flags, dir_fd=trail[-1])
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("is not a regular file")
            if status.st_nlink > 1:
                raise ValueError("has further names (hard links), so it may be a file from elsewhere")
            data = file.read(most + 1)
    finally:
        for descriptor in trail:
            os.close(descriptor)
    if len(data) > most:
        if most < LARGEST:
            raise ValueError(f"would make more than {LARGEST_TOTAL:,} bytes with the files before it")
        raise ValueError(f"is larger than {LARGEST:,} bytes")
    return data
