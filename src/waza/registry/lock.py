"""`waza.lock`: which commit and content each ref stands for, and which programs may run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit import yaml
from waza.kit.decode import Decoder, Document, Unknown
from waza.kit.files import write_atomic
from waza.problem import Problem, shown

FILE = "waza.lock"
VERSION = 1


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One ref, pinned. Trust is given to a digest: another digest has to be trusted anew."""

    ref: str
    commit: str
    digest: str
    url: str
    trusted: bool = False
    trust_reason: str = ""


class LockFile(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `waza.lock`."""

    schema_version: int = VERSION
    graders: list[Entry] = []

    def find(self, ref: str) -> Entry | None:
        """Return the entry of a ref."""
        return next((entry for entry in self.graders if entry.ref == ref), None)

    def with_entry(self, entry: Entry) -> LockFile:
        """Return the lock with an entry in the place of an older one of its ref."""
        others = [known for known in self.graders if known.ref != entry.ref]
        return msgspec.structs.replace(self, graders=[*others, entry])


def read_lock(directory: Path) -> LockFile | None:
    """Return the lock beside a suite, or None without one. Raises SuiteError for a broken one."""
    path = directory / FILE
    if not path.exists():
        return None
    try:
        document = Document(shown(path), yaml.load(path.read_bytes()))
    except yaml.YamlError as error:
        problem = Problem(file=shown(path), line=error.line, column=error.column, message=error.message)
        raise SuiteError([problem]) from error
    except OSError as error:
        raise SuiteError([Problem(file=shown(path), message=f"cannot be read ({error.strerror})")]) from error
    decoder = Decoder(document, lambda _struct, _key, _path: Unknown("warning", ""))
    lock = decoder.read(LockFile)
    problems = [problem for problem in decoder.problems if problem.severity == "error"]
    if lock is None or problems:
        raise SuiteError(problems or [Problem(file=shown(path), message="is empty; run `waza get` again")])
    problems = _check(document, lock)
    if problems:
        raise SuiteError(problems)
    return lock


def write_lock(directory: Path, entries: Iterable[Entry]) -> Path:
    """Write the lock, sorted by ref; return its path."""
    lines = [f"schema_version: {VERSION}", "graders:"]
    for entry in sorted(entries, key=lambda entry: entry.ref):
        lines += [f"  - ref: {_scalar(entry.ref)}", f"    commit: {_scalar(entry.commit)}"]
        lines += [f"    digest: {_scalar(entry.digest)}", f"    url: {_scalar(entry.url)}"]
        if entry.trusted:
            lines += ["    trusted: true", f"    trust_reason: {_scalar(entry.trust_reason)}"]
    if len(lines) == 2:
        lines[1] = "graders: []"
    write_atomic(directory / FILE, ("\n".join(lines) + "\n").encode())
    return directory / FILE


def _scalar(text: str) -> str:
    """Return a text as YAML: quoted as JSON, which is YAML too. Commits of digits alone would be numbers."""
    return json.dumps(text, ensure_ascii=False)


def _check(document: Document, lock: LockFile) -> list[Problem]:
    problems, seen = [], set[str]()

    def say(i: int, key: str, message: str) -> None:
        hint = "run `waza get` to write the lock anew"
        problems.append(document.problem(document.root, ("graders", i, key), message, hint))

    if lock.schema_version not in (0, VERSION):
        message = f"schema_version {lock.schema_version} is not readable here, which reads {VERSION}"
        problems.append(document.problem(document.root, ("schema_version",), message))
    for i, entry in enumerate(lock.graders):
        if entry.ref in seen:
            say(i, "ref", f"{entry.ref!r} stands twice")
        seen.add(entry.ref)
        if not _is_hex(entry.commit, 40):
            say(i, "commit", f"{entry.commit!r} is no commit of 40 hexadecimal digits")
        if not (entry.digest.startswith("sha256:") and _is_hex(entry.digest.removeprefix("sha256:"), 64)):
            say(i, "digest", f"{entry.digest!r} is no digest of the form sha256:<64 hexadecimal digits>")
    return problems


def _is_hex(text: str, length: int) -> bool:
    return len(text) == length and all(char in "0123456789abcdef" for char in text)
