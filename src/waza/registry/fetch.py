"""Fetching a module: cloned with git, pinned to a commit, its files put into the cache in one step."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from waza.kit import git
from waza.kit.files import safe_join
from waza.registry.cache import MAX_BYTES, MAX_FILES, ModuleError, digest_module, is_intact, module_directory
from waza.registry.ref import Ref

_REGULAR = ("100644", "100755")
_BATCH = 16 * 1024 * 1024  # bytes of files that are read from git at once
_WORKING = ".fetching-"
_ABANDONED = 24 * 3600  # seconds; a fetch that was killed leaves its working directory
_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)


class Module(msgspec.Struct, frozen=True):
    """A module in the cache."""

    directory: Path
    commit: str
    tree: str
    digest: str
    url: str


async def fetch(ref: Ref, root: Path, hosts: Mapping[str, str]) -> Module:
    """Bring the module of a ref into the cache and return it. Raises ModuleError.

    `hosts` maps hosts to the text before `/owner/repo.git` in their addresses, for mirrors; git's own
    credentials apply. A commit that is in the cache already stays as it is there, if it is what git has.
    """
    work = _make_working_directory(root)
    base = hosts.get(ref.host, f"https://{ref.host}").rstrip("/")
    repository, files = work / "repository", work / "files"
    try:
        commit = await _clone(ref, f"{base}/{ref.owner}/{ref.repo}.git", repository)
        tree = await git.resolve_tree(repository, commit)
        await _export(repository, commit, files)
        digest = digest_module(files)
        target = module_directory(root, ref, commit)
        target.parent.mkdir(parents=True, exist_ok=True)
        _move(files, target)
    except git.GitError as error:
        raise ModuleError(f"{ref} cannot be fetched: {error}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if not is_intact(target, digest, tree):
        raise ModuleError(
            f"{target} does not hold the files of commit {commit[:12]}: it was changed. Look at what "
            "changed, remove the directory, and run `waza get` again"
        )
    return Module(target, commit, tree, digest, ref.url)


async def _clone(ref: Ref, address: str, repository: Path) -> str:
    """Clone a repository; return the commit that the version of the ref names."""
    await git.clone_bare(address, repository)
    try:
        commit = await git.rev_parse(repository, ref.version)
    except git.GitError as error:
        raise ModuleError(f"{ref.module} has no tag, branch or commit {ref.version!r}") from error
    if len(commit) != 40:
        raise ModuleError(
            f"{ref.module} is a SHA-256 repository; commits of SHA-1 repositories can be pinned"
        )
    return commit


def _make_working_directory(root: Path) -> Path:
    """Make a directory beside the modules, so that a finished one can be moved in one step."""
    root.mkdir(parents=True, exist_ok=True)
    for left in root.glob(f"{_WORKING}*"):
        if left.lstat().st_mtime < time.time() - _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=_WORKING, dir=root))


async def _export(repository: Path, commit: str, target: Path) -> None:
    """Write the files of a commit, byte for byte: no filters, no links, nothing outside of `target`."""
    entries = await git.list_tree(repository, commit, MAX_FILES)
    if not entries:
        raise ModuleError("the module holds no files")
    if sum(entry.size for entry in entries) > MAX_BYTES:
        raise ModuleError(f"the module is larger than {MAX_BYTES // 2**20} MB")
    for entry in entries:
        fault = name_fault(entry.name) if entry.mode in _REGULAR else "links and submodules are refused"
        if fault:
            raise ModuleError(f"the module holds {entry.name!r}, which cannot be taken: {fault}")
    for batch in _split_into_batches(entries):
        contents = await git.read_blobs(repository, [entry.object for entry in batch])
        for entry, content in zip(batch, contents, strict=True):
            _write(target, entry, content)


def name_fault(name: str, *, windows: bool = sys.platform == "win32") -> str:
    """Return what is wrong with the name of a file in a module, or nothing.

    On Windows that is also what cannot be a name there; elsewhere such files are kept as they are.
    """
    if "\\" in name:
        return "a backslash separates folders on some systems"
    try:
        safe_join(Path(), name)
    except ValueError as error:
        return str(error)
    segments = name.split("/")
    if any(segment.lower() == ".git" for segment in segments):
        return "'.git' belongs to git"
    if windows and any(map(_is_impossible_on_windows, segments)):
        return "Windows has no such name"
    return ""


def _is_impossible_on_windows(segment: str) -> bool:
    odd = any(char in '<>:"|?*' or ord(char) < 32 for char in segment)
    return odd or segment.endswith((".", " ")) or segment.partition(".")[0].rstrip().lower() in _DEVICES


def _split_into_batches(entries: Sequence[git.TreeEntry]) -> Iterator[list[git.TreeEntry]]:
    batch: list[git.TreeEntry] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += entry.size
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    yield batch


def _write(target: Path, entry: git.TreeEntry, content: bytes) -> None:
    """Write a file that is not there yet: two names may be one on this system, such as `a` and `A`."""
    path = safe_join(target, entry.name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            stream.write(content)
        path.chmod(0o755 if entry.mode == "100755" else 0o644)
    except OSError as error:
        raise ModuleError(
            f"the file {entry.name!r} of the module cannot be written: {error.strerror}"
        ) from error


def _move(source: Path, target: Path) -> None:
    """Move a finished directory into its place, unless it is there already."""
    try:
        source.rename(target)
    except OSError:
        if not target.is_dir():
            raise
