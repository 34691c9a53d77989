"""Verifying evidence: whether files are byte for byte what waza wrote."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import SuiteError, UsageError
from waza.evidence.json_file import problem_at, read_json, refuse
from waza.evidence.manifest import EVIDENCE, check, own_digest
from waza.evidence.recorder import SealedFile
from waza.evidence.seal import KIND, SEAL, VERSION, Seal, encode_document
from waza.evidence.snapshot import KIND as SNAPSHOT
from waza.evidence.snapshot import SCHEMA_VERSION
from waza.problem import Problem, display_path
from waza.suite.version import parse_version

_TO_DO = "get an unchanged copy of the evidence"


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What was found in a directory of evidence: the faults, and its seal where that could be read."""

    problems: tuple[Problem, ...]
    seal: Seal | None = None


def verify(directory: Path, expected: str = "") -> Verification:
    """Look at every file of a directory of evidence; `expected` is the digest that its seal must have.

    Raises UsageError where there is no such directory.
    """
    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory}; name the one that `waza run --snapshot` wrote")
    path = directory / SEAL
    try:
        seal, problems = _read_seal(path)
    except SuiteError as error:
        seal, problems = None, list(error.problems)
    if seal is not None and expected and expected.lower() != seal.sha256:
        message = f"its sha256 is {seal.sha256}, not {expected}: it is another seal"
        problems.append(problem_at(display_path(path), path.read_bytes(), ("sha256",), message, _TO_DO))
    listed = {one.file: one for one in seal.files} if seal else {}
    found = sorted(_names(directory))
    for name in found:
        if name == SEAL:
            continue
        if name in listed:
            problems += _file_problems(directory / name, listed[name])
        elif seal is not None:
            problems.append(
                _problem(directory / name, "was added after the directory was sealed", "remove it")
            )
        else:  # without a seal, its own manifest still shows changes
            problems += snapshot_problems(directory / name)
    problems += [
        _problem(directory / name, "was removed after the directory was sealed")
        for name in sorted(listed.keys() - set(found))
    ]
    return Verification(problems=tuple(problems), seal=seal)


def _problem(path: Path, message: str, hint: str = _TO_DO) -> Problem:
    return Problem(code="evidence", file=display_path(path), message=message, hint=hint)


def _names(directory: Path) -> Iterator[str]:
    """Yield everything below a directory but directories that hold something."""
    for folder, folders, names in os.walk(directory):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        for name in (*names, *links):
            yield Path(folder, name).relative_to(directory).as_posix()
        if not (folders or names) and Path(folder) != directory:
            yield Path(folder).relative_to(directory).as_posix()


def _read_seal(path: Path) -> tuple[Seal | None, list[Problem]]:
    """Return a seal, and what is wrong with it. Raises SuiteError where it is missing or cannot be read."""
    file = display_path(path)
    if not os.path.lexists(path):
        hint = "the run may have been killed: go on with `waza run --resume` and the same --snapshot"
        refuse(file, "is missing: the directory was never sealed, or its seal was removed", hint=hint)
    data, document = _regular(path)
    problems = []
    if document.get("kind") != KIND:
        refuse(file, f"is no seal of evidence: its kind is {document.get('kind')!r}", "kind", _TO_DO)
    _check_version(file, document.get("schema_version"), "schema_version", VERSION)
    if encode_document(document) != data:
        problems.append(_difference(file, data, document))
    if document.get("sha256") != own_digest(document):
        message = "was changed after the directory was sealed: this is not the digest of the rest"
        problems.append(problem_at(file, data, ("sha256",), message, _TO_DO))
    try:
        return msgspec.convert(document, Seal), problems
    except msgspec.ValidationError as error:
        return None, [*problems, _problem(path, f"was changed after the directory was sealed: {error}")]


def _regular(path: Path) -> tuple[bytes, dict[str, Any]]:
    mode = path.lstat().st_mode
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "no regular file"
        refuse(display_path(path), f"is {what}, which waza does not write", hint=_TO_DO)
    return read_json(path)


def _check_version(file: str, declared: object, key: str, ours: str) -> None:
    """Raise SuiteError for another major version; a missing one is the current one."""
    if declared is None or declared == "":
        return
    if not isinstance(declared, str):
        refuse(file, "must be a text such as '1.0'", key, "put quotes around it")
    try:
        major, _ = parse_version(declared)
    except ValueError as error:
        refuse(file, str(error), key)
    if major != parse_version(ours)[0]:
        message = f"version {declared} is not readable here, which reads {ours[0]}.x"
        refuse(file, message, key, "use the version of waza that wrote it")


def _difference(file: str, data: bytes, document: dict[str, Any]) -> Problem:
    """Return a problem at the first byte that waza would have written otherwise."""
    ours = encode_document(document)
    same = next(
        (at for at, pair in enumerate(zip(data, ours, strict=False)) if pair[0] != pair[1]),
        min(len(data), len(ours)),
    )
    line = data.count(b"\n", 0, same) + 1
    column = len(data[data.rfind(b"\n", 0, same) + 1 : same].decode(errors="replace")) + 1
    message = "the text was changed after it was written: the same data is not written like this"
    return Problem(code="evidence", file=file, line=line, column=column, message=message, hint=_TO_DO)


def _file_problems(path: Path, listed: SealedFile) -> list[Problem]:
    """Return what is wrong with a file that the seal lists."""
    problems = snapshot_problems(path, listed.manifest)
    if problems:
        return problems
    data = path.read_bytes()
    if len(data) == listed.size and hashlib.sha256(data).hexdigest() == listed.sha256:
        return []
    return [_problem(path, "was changed after the directory was sealed")]


def snapshot_problems(path: Path, manifest: str = "") -> list[Problem]:
    """Return what is wrong with a snapshot of waza; `manifest` is the digest that its manifest must have."""
    try:
        data, document = _regular(path)
        _check_kind(path, document)
    except SuiteError as error:
        return list(error.problems)
    return _content_problems(path, data, document, path.name, manifest)


def _content_problems(
    path: Path, data: bytes, document: dict[str, Any], name: str = "", manifest: str = ""
) -> list[Problem]:
    file = display_path(path)
    problems = [problem_at(file, data, fault.path, fault.message, _TO_DO) for fault in check(document, name)]
    if not problems and encode_document(document) != data:
        problems.append(_difference(file, data, document))
    found = document.get(EVIDENCE)
    if not problems and manifest and isinstance(found, dict) and found.get("sha256") != manifest:
        message = "the manifest is another one than the seal has"
        problems.append(problem_at(file, data, (EVIDENCE, "sha256"), message, _TO_DO))
    return problems


def _check_kind(path: Path, document: dict[str, Any]) -> None:
    file, kind = display_path(path), document.get("kind")
    if kind not in (None, "", SNAPSHOT):
        refuse(file, f"is no snapshot: its kind is {kind!r}", "kind", "name a file of `waza run --snapshot`")
    if not isinstance(document.get("result"), dict):
        refuse(file, "is no snapshot: it has no result", hint="name a file of `waza run --snapshot`")
    _check_version(file, document.get("schemaVersion"), "schemaVersion", SCHEMA_VERSION)


def read_snapshot(path: Path) -> dict[str, Any]:
    """Return a snapshot, of waza or of another program that writes the format.

    One with a manifest must be as it was recorded, and as the seal beside it has it. Raises SuiteError with all that
    is not.
    """
    data, document = read_json(path)
    _check_kind(path, document)
    seal_path = path.parent / SEAL
    sealed: SealedFile | None = None
    if os.path.lexists(seal_path):
        seal, problems = _read_seal(seal_path)
        if seal is None or problems:
            raise SuiteError(problems)
        sealed = next((one for one in seal.files if one.file == path.name), None)
        if sealed is None:
            refuse(display_path(path), f"is not in the seal beside it, {SEAL}: it was added", hint=_TO_DO)
    if EVIDENCE in document or sealed:
        problems = _file_problems(path, sealed) if sealed else _content_problems(path, data, document)
        if problems:
            raise SuiteError(problems)
    return document
