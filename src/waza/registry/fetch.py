"""Fetching a module: cloned with git, pinned to a commit, its files put into the cache in one step."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from waza.kit import git
from waza.kit.files import safe_join
from waza.registry.cache import MAX_BYTES, MAX_FILES, ModuleError, digest_of, module_directory
from waza.registry.ref import Ref

_REGULAR = ("100644", "100755")


class Module(msgspec.Struct, frozen=True):
    """A module in the cache."""

    directory: Path
    commit: str
    digest: str
    url: str


async def fetch(ref: Ref, root: Path, hosts: Mapping[str, str]) -> Module:
    """Bring the module of a ref into the cache and return it. Raises ModuleError and git's own GitError.

    `hosts` maps hosts to what stands before `/owner/repo.git` in their addresses, for mirrors; git's own
    credentials apply. A commit that is in the cache already is taken as it is there.
    """
    work = _working_directory(root)
    base = hosts.get(ref.host, f"https://{ref.host}").rstrip("/")
    try:
        await git.clone_bare(f"{base}/{ref.owner}/{ref.repo}.git", work / "repository")
        commit = await git.rev_parse(work / "repository", ref.version)
        target = module_directory(root, ref, commit)
        if not target.is_dir():
            await _export(work / "repository", commit, work / "files")
            target.parent.mkdir(parents=True, exist_ok=True)
            _move(work / "files", target)
        return Module(target, commit, digest_of(target), ref.url)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _working_directory(root: Path) -> Path:
    """Make a directory beside the modules, so that a finished one can be moved in one step."""
    root.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=".fetching-", dir=root))


async def _export(repository: Path, commit: str, target: Path) -> None:
    """Write the files of a commit, byte for byte: no filters, no links, nothing outside of `target`."""
    entries = await git.list_tree(repository, commit)
    if len(entries) > MAX_FILES:
        raise ModuleError(f"the module has {len(entries)} files; at most {MAX_FILES} are taken")
    if sum(entry.size for entry in entries) > MAX_BYTES:
        raise ModuleError(f"the module is larger than {MAX_BYTES // 2**20} MB")
    for entry in entries:
        if entry.mode not in _REGULAR:
            raise ModuleError(
                f"the module holds {entry.name!r}, which is no regular file; links and submodules are refused"
            )
        try:
            safe_join(target, entry.name)
        except ValueError as error:
            raise ModuleError(f"the module holds a file {entry.name!r}: {error}") from error
    contents = await git.read_blobs(repository, [entry.object for entry in entries])
    _write(target, entries, contents)


def _write(target: Path, entries: Sequence[git.TreeEntry], contents: Sequence[bytes]) -> None:
    target.mkdir()
    for entry, content in zip(entries, contents, strict=True):
        path = safe_join(target, entry.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if entry.mode == "100755" else 0o644)


def _move(source: Path, target: Path) -> None:
    """Move a finished directory into its place; another process may have been quicker with the same content."""
    try:
        source.rename(target)
    except OSError:
        if not target.is_dir():
            raise
