"""The few things we ask of git, all through the `git` program on PATH."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from weakref import WeakValueDictionary

from waza.errors import WazaError
from waza.kit import process

_LIMIT = 600.0  # seconds; a checkout of a huge repository takes minutes, a lost network drive for ever

# Set by git for its hooks; they would make git work on the repository whose hook started us.
_INHERITED = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)

# Git lists a repository's worktrees while it adds one, and trips over one that is only half made.
_locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()


class GitError(WazaError):
    """Git refused, could not be started or did not end; the message carries what git said."""


async def worktree_add(source: Path, target: Path, commit: str | None = None) -> None:
    """Check out `commit` (hash, branch or tag; None: HEAD) of the repository `source` into `target`.

    The worktree is detached and shares the objects of the repository. `target` is new or an empty
    directory. Raises GitError.
    """
    revision = "HEAD" if commit is None else _revision(commit)
    async with _alone(source):
        await _git(source, "worktree", "add", "--detach", _place(target), revision)


async def worktree_remove(source: Path, target: Path) -> None:
    """Remove a worktree with whatever changed in it, and git's notes of vanished ones. Raises GitError."""
    try:
        async with _alone(source):
            await _git(source, "worktree", "remove", "--force", _place(target))
    finally:
        await worktree_prune(source)


async def worktree_prune(source: Path) -> None:
    """Make git forget the worktrees of `source` whose directories are gone. Raises GitError."""
    async with _alone(source):
        await _git(source, "worktree", "prune")


async def rev_parse(path: Path, rev: str) -> str:
    """Return the full hash of the commit that `rev` names in the repository at `path`. Raises GitError."""
    return await _git(path, "rev-parse", "--verify", f"{_revision(rev)}^{{commit}}")


def _alone(source: Path) -> asyncio.Lock:
    """Return the lock under which the worktrees of a repository are changed, one change at a time."""
    return _locks.setdefault(source.resolve(), asyncio.Lock())


def _place(target: Path) -> str:
    """Git runs in `source`, and would look for a relative path there."""
    return str(target.absolute())


def _revision(text: str) -> str:
    if not text or text.startswith("-"):
        raise GitError(f"{text!r} is not a commit; give a hash, a branch or a tag")
    return text


async def _git(directory: Path, *args: str) -> str:
    """Run git without prompts and without the hooks of the repository; return its stdout, stripped."""
    environment = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    environment["GIT_TERMINAL_PROMPT"] = "0"
    argv = ["git", "-c", f"core.hooksPath={os.devnull}", *args]
    finished = await process.run(argv, cwd=directory, env=environment, timeout=_LIMIT)
    if not finished.ok:
        said = finished.stderr.decode("utf-8", "replace").strip() or finished.ending
        raise GitError(f"git {' '.join(args[:2])} in {directory}: {said}")
    return finished.stdout.decode("utf-8", "replace").strip()
