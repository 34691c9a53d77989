"""The few things we ask of git, all through the `git` program on PATH."""

from __future__ import annotations

import asyncio
import contextlib
import os
from asyncio.subprocess import DEVNULL
from collections.abc import Iterable, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from waza.errors import WazaError
from waza.kit import process
from waza.kit.files import write_atomic

_MOST = 512 * 1024 * 1024  # bytes that are read from git
_MOST_LISTED = 16 * 1024 * 1024  # bytes of a list of files

_LIMIT = 600.0  # seconds; a checkout of a huge repository takes minutes, a lost network drive for ever
_STATUS_LIMIT = 10.0  # seconds; a run waits for it

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


def ignore_in_git(directory: Path) -> None:
    """Keep what is in a directory out of git. Raises WazaError if that cannot be written."""
    ignore = directory / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")


_NO_SUCH_KEY = 1  # exit status of `git config`
_OWN_SCOPES = (b"local", b"worktree")  # of configuration: it stands in the repository


class GitError(WazaError):
    """Git refused, could not be started or did not end; the message includes git's own.

    `exit_status` is that of a git which ended by itself.
    """

    exit_status: int | None = None


async def add_worktree(
    source: Path, target: Path, commit: str | None = None, *, filters: Sequence[str] = ()
) -> None:
    """Check out `commit` (hash, branch or tag; None: HEAD) of the repository `source` into `target`.

    The worktree is detached and shares the objects of the repository. It is locked, so that no other `git
    worktree prune` forgets it while it is in use. `target` is new or an empty directory.

    Nothing that the repository's own configuration names is run, and nothing is fetched: a repository may
    come from anywhere. Of its filters those in `filters` work; files that need another one are an error.
    Raises GitError.
    """
    revision = "HEAD" if commit is None else _revision(commit)
    async with _worktree_lock(source):
        await _git(source, "worktree", "add", "--lock", "--no-checkout", "--detach", _place(target), revision)
        off = await _own_filters(target) - set(filters)
        await _git(target, *_disable_filters(off), "reset", "--hard", "--quiet", "--no-recurse-submodules")
        if off and (needed := await _files_with_filter(target, off)):
            raise GitError(
                f"{needed[0]} and other files of {source} go through a filter of its own configuration "
                f"({', '.join(sorted(off))}), a program that is not run; let it run with filters: [NAME] beside "
                "the source of the worktree, or configure it for all repositories (git config --global)"
            )


async def _own_filters(target: Path, limit: float = _LIMIT) -> set[str]:
    """Return the filters that the configuration of a repository itself names. Those of the user are trusted."""
    try:
        listed = await _git_bytes(
            target,
            "config",
            "--null",
            "--show-scope",
            "--get-regexp",
            r"^filter\..*\.(clean|smudge|process)$",
            limit=limit,
        )
    except GitError as error:
        if error.exit_status == _NO_SUCH_KEY:
            return set()
        raise  # filters that nobody knows of would be run
    parts = listed.split(b"\0")
    own = [key for scope, key in zip(parts[::2], parts[1::2], strict=False) if scope in _OWN_SCOPES]
    names = (key.partition(b"\n")[0].partition(b".")[2].rpartition(b".")[0] for key in own)
    return {os.fsdecode(name) for name in names}


def _disable_filters(filters: Iterable[str]) -> list[str]:
    """Return the options with which git does not run filters."""
    settings = [
        f"filter.{name}.{key}"
        for name in filters
        for key in ("clean=", "smudge=", "process=", "required=false")
    ]
    return [part for setting in settings for part in ("-c", setting)]


async def _files_with_filter(target: Path, filters: set[str]) -> list[str]:
    """Return the files of a worktree that go through one of the filters."""
    files = await _git_bytes(target, "ls-files", "-z")
    attributes = (
        await _git_bytes(target, "check-attr", "--stdin", "-z", "filter", stdin=files) if files else b""
    )
    parts = [os.fsdecode(part) for part in attributes.split(b"\0")]
    return [name for name, value in zip(parts[::3], parts[2::3], strict=False) if value in filters]


async def remove_worktree(source: Path, target: Path) -> None:
    """Remove this one worktree, locked or not, and what changed in it. Raises GitError.

    Others are never looked at: `git worktree prune` would forget those of the user whose disk is away.
    """
    async with _worktree_lock(source):
        await _git(source, "worktree", "remove", "--force", "--force", _place(target))


async def list_worktrees(source: Path) -> list[Path]:
    """Return the worktrees that a repository knows, itself first, whether they are there or not. Raises GitError."""
    listed = await _git(source, "worktree", "list", "--porcelain")
    return [
        Path(line.removeprefix("worktree ")) for line in listed.splitlines() if line.startswith("worktree ")
    ]


async def unlock_worktree(source: Path, target: Path) -> None:
    """Leave a worktree to its user. Raises GitError."""
    async with _worktree_lock(source):
        await _git(source, "worktree", "unlock", _place(target))


async def rev_parse(path: Path, rev: str) -> str:
    """Return the full hash of the commit that `rev` names in the repository at `path`. Raises GitError."""
    return await _git(path, "rev-parse", "--verify", f"{_revision(rev)}^{{commit}}")


def find_work_tree(path: Path) -> Path | None:
    """Return the top directory of the work tree that a file is in, by its `.git`; starts no process."""
    for directory in path.resolve().parents:
        entry = directory / ".git"
        if entry.is_file() or (entry / "HEAD").exists():
            return directory
    return None


class WorkTreeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked out, and whether files differ from it.

    `commit` is empty before the first one, `branch` on a detached HEAD. `dirty`: files are changed, staged or new; None:
    unknown, since a filter of the repository's own configuration would have to compare them.
    """

    commit: str
    branch: str
    dirty: bool | None


async def work_tree_status(directory: Path) -> WorkTreeStatus:
    """Return the state of a work tree. Raises GitError, also after 10 seconds.

    Nothing that the repository's own configuration names is run, and nothing is written: neither file system monitors
    nor filters, nor the index. Changes within submodules are not looked for; another commit of one is a change.
    """
    off = await _own_filters(directory, limit=_STATUS_LIMIT)
    listed = await _git_bytes(
        directory,
        "--no-optional-locks",
        *_disable_filters(off),
        "status",
        "-z",
        "--porcelain=v2",
        "--branch",
        "--no-ahead-behind",
        "--no-renames",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        limit=_STATUS_LIMIT,
    )
    lines = [os.fsdecode(line) for line in listed.split(b"\0") if line]
    heads = dict(
        line.removeprefix("# branch.").split(" ", 1) for line in lines if line.startswith("# branch.")
    )
    changed = [line for line in lines if not line.startswith("#")]
    commit, branch = heads.get("oid", ""), heads.get("head", "")
    return WorkTreeStatus(
        commit="" if commit == "(initial)" else commit,
        branch="" if branch == "(detached)" else branch,
        dirty=None if changed and off else bool(changed),
    )


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What differs between a commit and a work tree: changed, staged, new, renamed (both names) and deleted files.

    `paths` are absolute and without duplicates; that of a submodule or of a repository within the work tree is its
    directory. What git ignores is not among them.
    """

    commit: str
    paths: tuple[Path, ...]


async def changes_since(top: Path, revision: str) -> Changes:
    """Return what has changed in a work tree since its branch left the commit that `revision` names.

    That is the newest commit which both have: what others did on that branch since then is no change. `top` is the top
    directory of the work tree. Nothing that the repository's own configuration names is run, nothing is written.
    Raises GitError; for a shallow clone it says how to fetch what is missing.
    """
    try:
        wanted = await rev_parse(top, revision)
        commit = await _git(top, "merge-base", wanted, "HEAD")
    except GitError as error:
        raise await _without_history(top, revision, error) from error
    options = ("--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    off = await _own_filters(top)
    changed = await _git_bytes(
        top,
        "--no-optional-locks",
        *_disable_filters(off),
        "diff",
        "--name-only",
        "-z",
        *options,
        commit,
        "--",
    )
    new = await _git_bytes(top, "ls-files", "-z", "--others", "--exclude-standard")
    names = (os.fsdecode(name) for name in (*changed.split(b"\0"), *new.split(b"\0")) if name)
    return Changes(commit=commit, paths=tuple(dict.fromkeys(top / name for name in names)))


async def _without_history(top: Path, revision: str, error: GitError) -> GitError:
    """Return the error of a commit that is not there, or has nothing in common with HEAD."""
    with contextlib.suppress(GitError):
        if await _git(top, "rev-parse", "--is-shallow-repository") == "true":
            return GitError(
                f"this is a shallow clone, which has no history back to {revision!r}; fetch all of it with "
                "`git fetch --unshallow` (in a workflow of GitHub: fetch-depth: 0 of actions/checkout)"
            )
        if error.exit_status is None:
            return error
        if await _is_commit(top, revision):
            return GitError(f"{revision!r} and what is checked out in {top} have no commit in common")
        return GitError(
            f"there is no commit, branch or tag {revision!r} in {top}; fetch it, or name another one, "
            "such as a branch of a remote (origin/main)"
        )
    return error


async def _is_commit(top: Path, revision: str) -> bool:
    try:
        await rev_parse(top, revision)
    except GitError:
        return False
    return True


async def resolve_tree(path: Path, commit: str) -> str:
    """Return the id of the tree of a commit. Raises GitError."""
    return await _git(path, "rev-parse", "--verify", f"{_revision(commit)}^{{tree}}")


class TreeEntry(msgspec.Struct, frozen=True):
    """A file of a commit: its mode as git writes it, the id of its content, its size, its path with slashes."""

    mode: str
    object: str
    size: int
    name: str


async def clone_bare(url: str, target: Path) -> None:
    """Clone a repository without a checkout, all branches and tags. Raises GitError, without the URL's secrets."""
    if url.startswith("-"):
        raise GitError(f"{url!r} is not the URL of a repository")
    await _git(target.parent, "clone", "--quiet", "--mirror", "--", url, _place(target), fetches=True)


async def list_tree(repository: Path, commit: str, most: int, below: str = "") -> list[TreeEntry]:
    """Return all files of a commit, links and submodules included; `below`: those in this directory, such as `docs/`.

    Raises GitError; also for more than `most` files, since a few trees can name billions of them.
    """
    listing = _Listing(most)
    argv = _argv(
        "ls-tree", "-r", "-z", "--long", "--full-tree", _revision(commit), *((below,) if below else ())
    )
    child = await process.start(argv, listing.keep, stdin=DEVNULL, cwd=repository, env=_environment())
    try:
        complete = await process.wait_at_most(_LIMIT, listing.over) and not listing.overflows
        complete = complete and await process.wait_at_most(_LIMIT, child.exited)
    finally:
        await process.kill_tree(child)
    if listing.overflows:
        raise GitError(f"the commit {commit} holds more than {most:,} files")
    if not complete or child.status() != (0, ""):
        raise GitError(
            f"git ls-tree in {repository} did not end well: {process.describe_exit(*child.status())}"
        )
    return [_tree_entry(line) for line in bytes(listing.data).split(b"\0") if line]


class _Listing:
    """What `ls-tree -z` writes, until all is there or it is too much."""

    def __init__(self, most: int) -> None:
        self.data = bytearray()
        self.over = asyncio.Event()
        self.overflows = False
        self._remaining = most

    def keep(self, descriptor: int, data: bytes) -> None:
        """Take what git writes."""
        if descriptor != 1 or self.overflows:
            return
        self.data += data
        self._remaining -= data.count(0)
        self.overflows = self._remaining < 0 or len(self.data) > _MOST_LISTED
        if self.overflows or not data:
            self.over.set()


def _tree_entry(line: bytes) -> TreeEntry:
    head, _, name = line.partition(b"\t")
    mode, _kind, identity, size = head.split()
    return TreeEntry(mode.decode(), identity.decode(), int(size) if size.isdigit() else 0, os.fsdecode(name))


class WorkFile(msgspec.Struct, frozen=True):
    """A file of a work tree: its path below the directory that was asked for, its mode and the id of its content in the index.

    Both are empty of a new file. `is_sparse`: a sparse checkout left it out, so that the index alone has it.
    """

    name: str
    mode: str = ""
    object: str = ""
    is_sparse: bool = False


async def find_prefix(directory: Path) -> str:
    """Return the path of a directory below the top of its work tree, such as `docs/`; empty at the top. Raises GitError."""
    out = await _git_bytes(
        directory, "rev-parse", "--show-toplevel", "--show-prefix"
    )  # the first fails without one
    return os.fsdecode(out.removesuffix(b"\n").rpartition(b"\n")[2])


async def list_work_files(directory: Path) -> list[WorkFile]:
    """Return the files of a work tree below a directory: those of the index, and new ones that are not ignored.

    Links, submodules (mode 160000) and repositories of their own (names that end in a slash) are listed as well. Files of
    the index need not be there. Raises GitError.
    """
    listed = await _git_bytes(directory, "ls-files", "-z", "-s", "-t")
    new = await _git_bytes(directory, "ls-files", "-z", "--others", "--exclude-standard")
    files = {file.name: file for file in map(_work_file, listed.split(b"\0")[:-1])}
    return [*files.values(), *(WorkFile(os.fsdecode(name)) for name in new.split(b"\0")[:-1])]


def _work_file(line: bytes) -> WorkFile:
    head, _, name = line.partition(b"\t")
    tag, mode, identity, _stage = head.decode().split()
    return WorkFile(os.fsdecode(name), mode, identity, tag == "S")


async def read_blobs(repository: Path, objects: Sequence[str]) -> list[bytes]:
    """Return the contents of files by their ids, byte for byte. Raises GitError."""
    if not objects:
        return []
    asked = "".join(f"{identity}\n" for identity in objects).encode()
    out = await _git_bytes(repository, "cat-file", "--batch", stdin=asked)
    contents, at = [], 0
    for identity in objects:
        end = out.index(b"\n", at)
        _name, kind, *size = out[at:end].split()
        if kind != b"blob":
            what = "is not there; the clone is partial, fetch it" if kind == b"missing" else "is no file"
            raise GitError(f"the object {identity} in {repository} {what}")
        start = end + 1
        length = int(size[0])
        contents.append(out[start : start + length])
        at = start + length + 1
    return contents


def _worktree_lock(source: Path) -> asyncio.Lock:
    """Return the lock under which the worktrees of a repository are changed, one change at a time."""
    return _locks.setdefault(source.resolve(), asyncio.Lock())


def _place(target: Path) -> str:
    """Git runs in `source`, and would look for a relative path there."""
    return str(target.absolute())


def _revision(text: str) -> str:
    if not text or text.startswith("-"):
        raise GitError(f"{text!r} is not a commit; give a hash, a branch or a tag")
    return text


async def _git(directory: Path, *args: str, fetches: bool = False) -> str:
    """Run git and return its stdout as text, stripped."""
    return (await _git_bytes(directory, *args, fetches=fetches)).decode("utf-8", "replace").strip()


async def _git_bytes(
    directory: Path, *args: str, stdin: bytes = b"", fetches: bool = False, limit: float = _LIMIT
) -> bytes:
    """Run git, at most `limit` seconds; return its stdout."""
    finished = await process.run(
        _argv(*args),
        cwd=directory,
        env=_environment(fetches=fetches),
        timeout=limit,
        stdin=stdin,
        max_output=_MOST,
    )
    if not finished.ok:
        reason = finished.stderr.decode("utf-8", "replace").strip() or finished.outcome
        error = GitError(f"git {_command_name(args)} in {directory}: {reason}")
        error.exit_status = None if finished.timed_out else finished.returncode
        raise error from finished.cause
    if finished.truncated:
        raise GitError(
            f"git {_command_name(args)} in {directory}: its output is larger than {_MOST // 2**20} MB"
        )
    return finished.stdout


def _command_name(args: Sequence[str]) -> str:
    """Return the command of a call, without the settings before it."""
    words = [arg for arg, before in zip(args, ("", *args), strict=False) if "-c" not in (arg, before)]
    return " ".join(words[:2])


def _argv(*args: str) -> list[str]:
    """Return the call of git that runs no hook and no other program that a repository names."""
    safe = (f"core.hooksPath={os.devnull}", "core.fsmonitor=false", "protocol.ext.allow=never")
    return ["git", *(part for setting in safe for part in ("-c", setting)), *args]


def _environment(*, fetches: bool = False) -> dict[str, str]:
    """Return the environment in which git asks nothing, and works on the repository that we say.

    Without `fetches` it fetches nothing either: a partial clone names the programs that it fetches with.
    """
    own = {name: value for name, value in os.environ.items() if name not in _INHERITED}
    local = {} if fetches else {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    return {**own, **local, "GIT_TERMINAL_PROMPT": "0"}
