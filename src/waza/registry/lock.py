"""`waza.lock`: the commit and content of each ref, and which programs may run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit import yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice
from waza.kit.files import write_atomic
from waza.model.base import NonBlank
from waza.problem import Problem, display_path
from waza.registry.scalar import format_scalar

FILE = "waza.lock"
VERSION = 1
_HINT = "run `waza get` with the suite's file to write the lock again"
_COMMIT = re.compile("[0-9a-f]{40}")
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


class LockEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One ref, pinned. Trust is given to one commit, git tree and digest together: others must be trusted again.

    `tree` is empty in locks that were written before it was kept.
    """

    ref: NonBlank
    commit: str
    digest: str
    url: NonBlank
    tree: str = ""
    trusted: bool = False
    trust_reason: str = ""


class LockFile(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `waza.lock`."""

    schema_version: int = VERSION
    graders: list[LockEntry] = []

    def find(self, ref: str) -> LockEntry | None:
        """Return the entry of a ref."""
        return next((entry for entry in self.graders if entry.ref == ref), None)

    def with_entry(self, entry: LockEntry) -> LockFile:
        """Return the lock with an entry in the place of an older one of its ref."""
        others = [known for known in self.graders if known.ref != entry.ref]
        return msgspec.structs.replace(self, graders=[*others, entry])


def read_lock(directory: Path) -> LockFile | None:
    """Return the lock beside a suite, or None without one. Raises SuiteError for a broken one."""
    path = directory / FILE
    file = display_path(path)
    try:
        document = Document(file, yaml.load(path.read_bytes()))
    except FileNotFoundError:
        return None
    except yaml.YamlError as error:
        raise SuiteError([_as_of_lock(error.in_file(file))]) from error
    except OSError as error:
        raise SuiteError(
            [Problem(code="invalid-lock", file=file, message=f"cannot be read ({error.strerror})")]
        ) from error
    decoder = Decoder(document, lambda _struct, _key, _path: UnknownKeyAdvice("warning", ""))
    lock = decoder.read(LockFile)
    problems = [problem for problem in decoder.problems if problem.severity == "error"]
    if lock is not None:
        problems += [
            document.problem("invalid-lock", node, path, message)
            for node, path, message in _find_faults(document, lock)
        ]
    if lock is None or problems:
        problems = problems or [Problem(code="invalid-lock", file=file, message="is empty")]
        raise SuiteError([_as_of_lock(problem) for problem in problems])
    return lock


def _as_of_lock(problem: Problem) -> Problem:
    return msgspec.structs.replace(problem, code="invalid-lock", hint=problem.hint or _HINT)


def write_lock(directory: Path, entries: Iterable[LockEntry]) -> Path:
    """Write the lock, sorted by ref; return its path."""
    lines = [f"schema_version: {VERSION}", "graders:"]
    for entry in sorted(entries, key=lambda entry: entry.ref):
        lines += [f"  - ref: {format_scalar(entry.ref)}", f"    commit: {format_scalar(entry.commit)}"]
        lines += [f"    tree: {format_scalar(entry.tree)}"] if entry.tree else []
        lines += [f"    digest: {format_scalar(entry.digest)}", f"    url: {format_scalar(entry.url)}"]
        if entry.trusted:
            lines += ["    trusted: true", f"    trust_reason: {format_scalar(entry.trust_reason)}"]
    if len(lines) == 2:
        lines[1] = "graders: []"
    write_atomic(directory / FILE, ("\n".join(lines) + "\n").encode())
    return directory / FILE


def _find_faults(
    document: Document, lock: LockFile
) -> Iterator[tuple[yaml.Node, tuple[str | int, ...], str]]:
    """Yield what types cannot say of a lock: the node, its path, and what is wrong."""
    root = _get_entries(document.root)
    if lock.schema_version not in (0, VERSION):
        message = f"schema_version {lock.schema_version} is not readable here, which reads {VERSION}"
        yield root["schema_version"], ("schema_version",), message
    listed = root.get("graders")
    nodes = listed.items if isinstance(listed, yaml.Sequence) else []
    seen: set[str] = set()
    for i, (entry, node) in enumerate(zip(lock.graders, nodes, strict=True)):
        keys, path = _get_entries(node), ("graders", i)
        if entry.ref in seen:
            yield keys["ref"], (*path, "ref"), f"duplicate ref {entry.ref!r}"
        seen.add(entry.ref)
        if not _COMMIT.fullmatch(entry.commit):
            yield (
                keys["commit"],
                (*path, "commit"),
                f"{entry.commit!r} is not a commit of 40 hexadecimal digits",
            )
        if entry.tree and not _COMMIT.fullmatch(entry.tree):
            message = f"{entry.tree!r} is not a git tree of 40 hexadecimal digits"
            yield keys["tree"], (*path, "tree"), message
        if not _DIGEST.fullmatch(entry.digest):
            message = f"{entry.digest!r} is not a digest of the form sha256:<64 hexadecimal digits>"
            yield keys["digest"], (*path, "digest"), message


def _get_entries(node: yaml.Node) -> dict[str, yaml.Node]:
    return node.entries if isinstance(node, yaml.Mapping) else {}
