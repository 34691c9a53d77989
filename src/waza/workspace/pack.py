"""A workspace as one file: what an agent left is kept so that judges can look at it again later."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from waza.errors import ExecutorError, WazaError
from waza.kit.files import is_inside, safe_join

MAX_ARCHIVE_SIZE = 20_000_000  # bytes of a packed workspace

# Nobody may put a link or a pipe in the place of a file meanwhile; Windows has neither flag.
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


def pack(root: Path) -> bytes:
    """Return the files, directories and links below `root` as a tar. Blocks: call it in a thread.

    Links that lead into the workspace by an absolute path lead there from wherever it is unpacked; pipes and
    sockets are left out. Raises WazaError where it is larger than LARGEST, or cannot be read as a whole.
    """
    buffer = io.BytesIO()
    try:
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for path in _walk_entries(root):
                _add(tar, path, root, MAX_ARCHIVE_SIZE - buffer.tell())
                if buffer.tell() > MAX_ARCHIVE_SIZE:
                    raise WazaError(f"its workspace is larger than {MAX_ARCHIVE_SIZE // 1_000_000} MB")
    except (OSError, ValueError) as error:
        raise WazaError(f"its workspace cannot be kept: {error}") from error
    return buffer.getvalue()


def _walk_entries(root: Path) -> Iterator[Path]:
    """Yield what is below a directory from a list of open ends: a tree can be deeper than our stack."""
    directories = [root]
    while directories:
        with os.scandir(directories.pop()) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            yield Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                directories.append(Path(entry.path))


def _add(tar: tarfile.TarFile, path: Path, root: Path, most: int) -> None:
    """Add one entry; of a file that is larger than `most`, no more than shows that it is."""
    name, mode = path.relative_to(root).as_posix(), path.lstat().st_mode
    if safe_join(root, name) != path:
        raise ValueError(f"the name {name!r} is another one on other systems")
    info = tarfile.TarInfo(name)
    if stat.S_ISLNK(mode):
        info.type, info.linkname = tarfile.SYMTYPE, _relocate_target(path, root)
        tar.addfile(info)
    elif stat.S_ISDIR(mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    elif stat.S_ISREG(mode):
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            data = file.read(most + 1)  # as it is now: something may still be writing
        info.size, info.mode = len(data), stat.S_IMODE(mode)
        tar.addfile(info, io.BytesIO(data))


def _relocate_target(link: Path, root: Path) -> str:
    target = link.readlink()
    if target.is_absolute() and target.is_relative_to(root):
        return os.path.relpath(target, link.parent)
    return str(target)


def packed_texts(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the paths of what was packed, with the texts of files and the targets of links; other bytes are U+FFFD."""
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for info in tar:
            file = tar.extractfile(info) if info.isreg() else None
            yield info.name, file.read().decode("utf-8", "replace") if file else info.linkname


def unpack(data: bytes, root: Path) -> None:
    """Put what was packed into an empty directory, and nothing anywhere else. Blocks: call it in a thread.

    Raises ExecutorError where that is not possible.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            for info in sorted(tar, key=tarfile.TarInfo.issym):  # nothing is written through a link
                _put(tar, info, root)
    except (OSError, ValueError, tarfile.TarError) as error:
        raise ExecutorError(f"the workspace cannot be made from the cache: {error}") from error


def _put(tar: tarfile.TarFile, info: tarfile.TarInfo, root: Path) -> None:
    path = safe_join(root, info.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not is_inside(root, path.parent):
        raise ValueError(f"{info.name!r} leads outside of the workspace")
    if info.issym():
        path.symlink_to(info.linkname)
    elif info.isdir():
        path.mkdir(exist_ok=True)
    elif info.isreg() and (file := tar.extractfile(info)) is not None:
        path.write_bytes(file.read())
        path.chmod(info.mode & 0o777)
    else:
        raise ValueError(f"{info.name!r} is neither a file nor a directory nor a symbolic link")
