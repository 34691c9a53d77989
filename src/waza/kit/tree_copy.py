"""A copy of a directory in which one may work: nothing that is done in it reaches the original."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from waza.errors import WazaError

_POINTER = "gitdir: "  # how the file begins that a git worktree has in place of its repository


def copy_tree(source: Path, target: Path) -> None:
    """Copy a directory to `target`, which is new. Blocks: call it in a thread. Raises WazaError.

    Links stay links; those that lead into the original by an absolute path lead into the copy. Pipes and sockets
    are left out. A git worktree gets its own index and HEAD; it shares the objects of its repository.
    """
    try:
        shutil.copytree(source, target, symlinks=True, ignore=_special)
        for folder, folders, files in os.walk(target):
            for name in [*folders, *files]:
                path = Path(folder, name)
                if path.is_symlink():
                    _turn(path, source, target)
            if ".git" in files:
                _detach(Path(folder, ".git"))
    except (OSError, shutil.Error, RecursionError) as error:
        raise WazaError(f"{source} cannot be copied: {_reason(error)}") from error


def _special(folder: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if not _is_plain(Path(folder, name))]


def _is_plain(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _turn(link: Path, source: Path, target: Path) -> None:
    leads = link.readlink()
    if leads.is_relative_to(source):
        link.unlink()
        link.symlink_to(target / leads.relative_to(source))


def _detach(pointer: Path) -> None:
    """Put a repository of its own in the place of the file that points to that of a worktree."""
    content = pointer.read_text(encoding="utf-8", errors="replace")
    if not content.startswith(_POINTER):
        return
    own = (pointer.parent / content.removeprefix(_POINTER).strip()).resolve()
    if not (own / "commondir").is_file():
        return
    common = (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve()
    pointer.unlink()
    shutil.copytree(own, pointer)
    (pointer / "gitdir").unlink(missing_ok=True)
    (pointer / "commondir").write_text(f"{common}\n", encoding="utf-8")


def _reason(error: Exception) -> str:
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return "; ".join(str(why) for _, _, why in error.args[0][:3])
    return str(error) or type(error).__name__
