"""Bundles: what a suite is made of on the disk, as one archive that is named by its digest, for other machines.

Files keep their places relative to one another, so that paths in suites, tasks and graders lead to the same files.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.kit.git import find_work_tree
from waza.kit.os_errors import describe_os_error
from waza.model.loaded import Project, ProjectFile, Suite
from waza.suite.definition import expand_home
from waza.suite.loading import LoadOptions
from waza.suite.parts import list_settings, read_parts
from waza.suite.project import FILE as PROJECT_FILE

MOST_BYTES = 200 * 1024 * 1024  # of the files of a bundle together; each worker gets all of it
_LEFT_OUT = {".git", ".waza", ".waza-cache", ".venv", "node_modules", "__pycache__"}  # no part of a suite
_TIME = 315532800  # 1980: the same files make the same archive, whenever they were written


class SuiteBundle(msgspec.Struct, frozen=True, kw_only=True):
    """An archive of files; `digest` is its SHA-256, and `top` the directory that names in it are relative to."""

    digest: str
    data: bytes
    top: Path

    def place(self, path: Path) -> str:
        """Return the name of a file or directory in it, with slashes. Raises ValueError for one outside of `top`."""
        return path.relative_to(self.top).as_posix()


def pack(suite: Suite, request: LoadOptions, project: Project) -> SuiteBundle:
    """Return all that a suite is made of: its directory, its tasks, fixtures, graders and skills, and settings.

    Programs of this machine, which lead out of the project, are left out: workers have their own. Raises UsageError where
    it is too much, or a file cannot be read.
    """
    parts = read_parts(suite.path, request)
    settings = (path for path in list_settings(suite.path, project) if _is_sent(path, project))
    given = [expand_home(request.context_dir).absolute()] if request.context_dir else []
    given += [request.skill_dir.absolute()] if request.skill_dir else []
    top = Path(os.path.commonpath([project.directory, *_reach(suite), *given]))
    roots = [root for root in {suite.directory, *parts.roots, *settings, *given} if root.is_relative_to(top)]
    found = {path for root in roots for path in _files(root)}
    own = {path for path in found if path.name.startswith(".env") and path not in parts.roots}
    files = sorted(found - own)  # files of variables hold secrets, which are those of the workers
    total = 0
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in files:
            try:
                data, mode = _content(path, project), path.stat().st_mode
            except OSError as error:
                raise UsageError(
                    f"{path} belongs to the suite and cannot be sent: {describe_os_error(error)}"
                ) from error
            total += len(data)
            if total > MOST_BYTES:
                raise UsageError(
                    f"{suite.path}: its files are more than {MOST_BYTES // 1024**2} MB, too many for workers; "
                    f"the one that was too much is {path}"
                )
            entry = tarfile.TarInfo(path.relative_to(top).as_posix())
            entry.size, entry.mtime, entry.mode = len(data), _TIME, 0o755 if mode & 0o100 else 0o644
            archive.addfile(entry, io.BytesIO(data))
    packed = gzip.compress(raw.getvalue(), compresslevel=6, mtime=0)
    return SuiteBundle(digest=hashlib.sha256(packed).hexdigest(), data=packed, top=top)


def _reach(suite: Suite) -> Iterator[Path]:
    """Yield the directories of a suite that its relative paths lead to, and the repository that it is in."""
    targets = (suite.trigger_target, *suite.trigger_neighbours, *(task.target for task in suite.all_tasks))
    yield from (suite.directory, suite.fixtures, *suite.skill_paths)
    yield from (target.directory for target in targets if target)
    if (repository := find_work_tree(suite.path)) is not None:
        yield repository


def _is_sent(path: Path, project: Project) -> bool:
    """Return whether settings are there, and are those of the project."""
    return path.exists() and (path.name != PROJECT_FILE or path.parent == project.directory)


def sendable(keys: ProjectFile) -> ProjectFile:
    """Return the settings of a project for other machines: without those of its store, which may hold a secret."""
    return msgspec.structs.replace(keys, storage=None)


def _content(path: Path, project: Project) -> bytes:
    """Return the content of a file for a bundle; of settings what can be sent, as JSON, which is YAML, too."""
    if path.name != PROJECT_FILE:
        return path.read_bytes()
    return msgspec.json.encode(_without_nothing(msgspec.to_builtins(sendable(project.keys))))


def _without_nothing(value: Any) -> Any:
    """Return data without the keys that have no value: a file leaves them out."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nothing(one) for key, one in value.items() if one is not None}


def _files(root: Path) -> Iterator[Path]:
    """Yield the files at a place; links are followed, so that what they lead to is there."""
    if root.is_file():
        yield root
        return
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _LEFT_OUT)
        yield from (path for name in sorted(files) if (path := Path(folder, name)).is_file())


def unpack(data: bytes, digest: str, store: Path) -> Path:
    """Return the directory of a bundle below `store`, which is unpacked where it is not there yet.

    Raises UsageError for data that is not what the digest names.
    """
    target = store / digest
    if target.is_dir():
        return target
    if hashlib.sha256(data).hexdigest() != digest:
        raise UsageError("the bundle of the suite was changed on its way; run again")
    store.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=store))
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            archive.extractall(fresh, filter="data")
        fresh.rename(target)
    except OSError:
        if not target.is_dir():  # another worker of this machine may have been faster
            raise
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return target


def rebase(request: LoadOptions, names: Iterable[tuple[str, str]], directory: Path) -> LoadOptions:
    """Return load options whose paths, given by their names in a bundle, are those in the directory it is in."""
    known = dict(names)
    return msgspec.structs.replace(
        request,
        context_dir=str(directory / known["context_dir"]) if "context_dir" in known else "",
        skill_dir=directory / known["skill_dir"] if "skill_dir" in known else None,
    )
