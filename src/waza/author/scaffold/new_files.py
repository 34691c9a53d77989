"""NewFiles: files that are written together, all of them or none, and never over others unless that was asked for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from waza.errors import UsageError, WazaError
from waza.kit.files import write_atomic, write_new
from waza.kit.os_errors import describe_os_error
from waza.kit.text import list_first
from waza.problem import display_path

_PROGRAM = b"#!"
_LISTED = 5  # names in a message


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What became of files: they are new, replaced others, or were there already with the same content."""

    new: tuple[Path, ...] = ()
    replaced: tuple[Path, ...] = ()
    unchanged: tuple[Path, ...] = ()


class NewFiles:
    """Files to write, by their absolute paths. What begins with `#!` becomes executable."""

    def __init__(self) -> None:
        self._contents: dict[Path, bytes] = {}

    def add(self, path: Path, content: str | bytes) -> None:
        """Add a file, in the place of one that was added with this path."""
        self._contents[path] = content.encode() if isinstance(content, str) else content

    def __iter__(self) -> Iterator[Path]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def text(self, path: Path) -> str:
        """Return the content of a file that was added."""
        return self._contents[path].decode()

    def without(self, paths: Collection[Path]) -> NewFiles:
        """Return the files but for those at some paths."""
        others = NewFiles()
        others._contents = {path: content for path, content in self._contents.items() if path not in paths}
        return others

    def conflicts(self) -> list[Path]:
        """Return the paths at which something else is already."""
        return [path for path, content in self._contents.items() if _is_taken(path, content)]

    def write(self, *, overwrite: bool = False) -> Written:
        """Write all files, with the directories that they need; return what became of each. `overwrite`: also over what is there.

        Raises UsageError, naming the files, where something is there already and must not be overwritten, and
        WazaError for what cannot be written; all is as before then.
        """
        there = [path for path in self._contents if os.path.lexists(path)]  # looked at before their contents
        taken = self.conflicts()
        if taken and not overwrite:
            raise UsageError(f"{list_paths(taken)} {'is' if len(taken) == 1 else 'are'} there already")
        for path in self._contents:
            _refuse_obstacle(path)
        unchanged = [path for path in there if path not in taken]
        made, before = list[Path](), dict[Path, bytes | None]()
        try:
            for path, content in self._contents.items():
                if path in unchanged:
                    continue
                _make_directories(path.parent, made)
                if path in taken:
                    before[path] = path.read_bytes() if path.exists() else None
                    write_atomic(path, content)
                else:
                    write_new(path, content)
                    before[path] = None
                if content.startswith(_PROGRAM):
                    path.chmod(0o755)
        except BaseException as error:
            _undo(before, made)
            if isinstance(error, FileExistsError):
                what = display_path(path)
                raise UsageError(
                    f"{what} was written by another program just now; nothing was changed"
                ) from error
            if isinstance(error, OSError):
                where = error.filename or "the files"
                raise WazaError(f"cannot write {where}: {describe_os_error(error)}") from error
            raise
        return Written(
            new=tuple(path for path in self._contents if path not in (*taken, *unchanged)),
            replaced=tuple(taken),
            unchanged=tuple(unchanged),
        )


def list_paths(paths: list[Path]) -> str:
    """Return paths as a text for people; of many only the first ones."""
    return list_first([display_path(path) for path in paths], _LISTED)


def _is_taken(path: Path, content: bytes) -> bool:
    if not os.path.lexists(path):
        return False
    try:
        return not (path.is_file() and path.read_bytes() == content)
    except OSError:
        return True


def _refuse_obstacle(path: Path) -> None:
    """Raise UsageError where a directory or a file is in the way, which nobody can have meant to overwrite."""
    if path.is_dir():
        raise UsageError(f"{display_path(path)} is a directory; choose another name")
    obstacle = next((one for one in path.parents if os.path.lexists(one)), path.parent)
    if not obstacle.is_dir():
        raise UsageError(f"{display_path(obstacle)} is not a directory; choose another place")


def _make_directories(directory: Path, made: list[Path]) -> None:
    """Make a directory and those above it that are missing, and add these, outermost first."""
    for one in [one for one in (directory, *directory.parents) if not one.exists()][::-1]:
        with suppress(FileExistsError):  # another program has just made it
            one.mkdir()
            made.append(one)


def _undo(before: dict[Path, bytes | None], made: list[Path]) -> None:
    for path, content in before.items():
        with suppress(OSError, WazaError):
            if content is None:
                path.unlink(missing_ok=True)
            else:
                write_atomic(path, content)
    for directory in reversed(made):
        with suppress(OSError):
            directory.rmdir()
