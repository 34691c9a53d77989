"""`diff`: files of the workspace against expected files (snapshots) and expected fragments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec

from waza.errors import WazaError, is_outside
from waza.graders._difference import count_changed_lines, describe_difference
from waza.graders._workspace_files import encoding_note, open_root, path_error, read_error, read_file
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.files import is_inside, write_atomic
from waza.model.base import Keys
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


class ExpectedFile(Keys, frozen=True, kw_only=True):
    """What a file of the workspace must be: equal to a snapshot, and with or without fragments.

    A fragment with `-` in front must not be in the file; one with `+` or nothing in front must be.
    """

    strict_keys: ClassVar[bool] = True

    path: str
    """The path of the file in the workspace."""
    snapshot: str = ""
    """A file that it must be equal to, byte for byte."""
    contains: list[str] = []
    """Fragments that must be in the file. One with `-` in front must not be; a `+` in front is dropped."""


class _Snapshot(msgspec.Struct, frozen=True):
    """An expected file: its name in the config, where it is, and the directory that it must not leave.

    One that is `fixed` belongs to a module and is never rewritten.
    """

    name: str
    file: Path
    context: Path | None
    fixed: bool

    def stray(self) -> str:
        """Return what is wrong with the place, or an empty text."""
        if self.context is None or is_inside(self.context, self.file):
            return ""
        return f"snapshot {self.name!r} leads out of {self.context}"

    def differs(self, data: bytes) -> str:
        """Return how a file of the workspace differs, why that is unknown, or an empty text."""
        try:
            how = self.stray() or describe_difference(self.file.read_bytes(), data)
        except OSError as error:
            if is_outside(error):
                raise read_error(f"snapshot {self.name!r} cannot be read", error) from error
            return f"snapshot {self.name!r} cannot be read: {error.strerror}"
        return how and f"compared with {self.name!r}: {how}"

    def update(self, data: bytes) -> dict[str, Any]:
        """Make the snapshot equal to `data` and return what that meant. Raises ValueError with a sentence."""
        if stray := self.stray():
            raise ValueError(stray)
        try:
            before = self.file.read_bytes() if self.file.exists() else None
            if before != data:
                write_atomic(self.file, data)
        except OSError as error:
            raise read_error(f"snapshot {self.name!r} cannot be read", error) from error
        except WazaError as error:
            raise ValueError(f"snapshot {self.name!r}: {error}") from error
        status = "created" if before is None else "unchanged" if before == data else "updated"
        return {
            "snapshot": self.name,
            "status": status,
            "lines_changed": count_changed_lines(before or b"", data),
        }


class Diff(Grader, frozen=True, kw_only=True):
    """Files of the workspace compared with snapshots and fragments.

    One check a file, one more for its snapshot and one for each fragment.
    """

    reads_workspace: ClassVar[bool] = True
    expected_files: Annotated[list[ExpectedFile], msgspec.Meta(min_length=1)]
    """What files of the workspace must be."""
    context_dir: str = ""
    """The directory of snapshots. Default: beside the suite, then the fixtures, then the current
    directory."""
    update_snapshots: bool = False
    """Rewrite snapshots with what the agent wrote, as `--update-snapshots` does."""

    _snapshots: tuple[_Snapshot | None, ...] = ()  # one for each expected file, set by `resolve_paths`

    def rewrites(self, helpers: Helpers) -> bool:
        """Tell whether it updates its snapshots instead of comparing with them."""
        return helpers.update_snapshots or self.update_snapshots

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse entries that check nothing and paths that lead out; warn of snapshots that are missing."""
        if location.module and self.context_dir and location.find(self.context_dir) is None:
            yield ConfigMistake(
                path=("context_dir",), message=f"there is no {self.context_dir!r} in the module"
            )
        for index, (entry, snapshot) in enumerate(self._entries(location)):
            at = ("expected_files", index)
            if fault := path_error(entry.path):
                yield ConfigMistake(path=(*at, "path"), message=fault)
            if not (entry.snapshot or entry.contains):
                yield ConfigMistake(path=at, message="checks nothing", hint="set snapshot or contains")
            for i, fragment in enumerate(entry.contains):
                if not _search_text(fragment):
                    message = "is empty, so it holds for every file"
                    yield ConfigMistake(path=(*at, "contains", i), message=message, warning=True)
            if snapshot is None:
                continue
            if stray := snapshot.stray():
                yield ConfigMistake(path=(*at, "snapshot"), message=stray)
            elif not (snapshot.file.exists() or self.update_snapshots):
                yield ConfigMistake(
                    path=(*at, "snapshot"),
                    message=f"there is no file {snapshot.file}",
                    hint="correct the path, or let --update-snapshots write the file",
                    warning=True,
                )

    def resolve_paths(self, location: GraderLocation) -> Diff:
        """Return the grader with its snapshots found; one that is not there yet gets the first place."""
        snapshots = tuple(snapshot for _, snapshot in self._entries(location))
        return msgspec.structs.replace(self, _snapshots=snapshots)

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare the workspace as the agent left it, or update the snapshots from it."""
        root = open_root(observation, (entry.path for entry in self.expected_files))
        if root is None:
            return Verdict.failed("there is no workspace, so no file can be compared")
        update = self.rewrites(helpers)
        failures: list[str] = []
        updates: list[dict[str, Any]] = []
        for entry, snapshot in self._entries(GraderLocation()):
            try:
                data = read_file(root, entry.path)
            except ValueError as error:
                failures += _unread(entry, str(error))
                continue
            if snapshot and update and not snapshot.fixed:
                try:
                    updates.append({"path": entry.path, **snapshot.update(data)})
                except ValueError as error:
                    failures.append(str(error))
            elif snapshot and (how := snapshot.differs(data)):
                failures.append(f"{entry.path!r} {how}")
            failures += _fragment_failures(entry, data)
        details = {
            "expected_files": msgspec.to_builtins(self.expected_files),
            "workspace_dir": observation.workspace,
            "snapshot_updates": updates,
        }
        checks = sum(1 + bool(entry.snapshot) + len(entry.contains) for entry in self.expected_files)
        return Verdict.of_checks(checks, failures, details, _note(updates))

    def _entries(self, location: GraderLocation) -> Iterator[tuple[ExpectedFile, _Snapshot | None]]:
        if self._snapshots:
            yield from zip(self.expected_files, self._snapshots, strict=True)
            return
        context = None
        if self.context_dir:
            found = location.find(self.context_dir)
            context = (found or location.base / Path(self.context_dir).expanduser()).absolute()
        for entry in self.expected_files:
            yield entry, _find_snapshot(entry.snapshot, context, location)


def _find_snapshot(snapshot: str, context: Path | None, location: GraderLocation) -> _Snapshot | None:
    if not snapshot:
        return None
    given = Path(snapshot).expanduser()
    if context:
        bases: tuple[Path, ...] = (context,)
    elif location.module:
        bases = (location.base,)
    else:
        bases = (location.base, location.fixtures, Path())
    places = [(base / given).absolute() for base in bases]
    file = next((place for place in places if place.exists()), places[0])
    return _Snapshot(snapshot, file, context or location.module, fixed=location.module is not None)


def _unread(entry: ExpectedFile, reason: str) -> Iterator[str]:
    """Yield one note for each check of an entry whose file cannot be read."""
    yield reason
    if entry.snapshot:
        yield f"{entry.path!r}: not compared with {entry.snapshot!r}"
    for fragment in entry.contains:
        yield f"{entry.path!r}: not searched for {fragment!r}"


def _search_text(fragment: str) -> str:
    """Return what of a fragment is looked for: without the sign that says whether it is wanted."""
    return (fragment[1:] if fragment.startswith(("+", "-")) else fragment).strip()


def _fragment_failures(entry: ExpectedFile, data: bytes) -> Iterator[str]:
    text = data.decode("utf-8", "replace")
    for fragment in entry.contains:
        wanted = not fragment.startswith("-")
        sought = _search_text(fragment)
        if sought and (sought in text) != wanted:
            found = "does not contain" if wanted else "contains"
            yield f"{entry.path!r} {found} {sought!r}{encoding_note(data)}"


def _note(updates: list[dict[str, Any]]) -> str:
    if not updates:
        return "all checks passed"
    counts = Counter(row["status"] for row in updates)
    return "snapshots: " + ", ".join(
        f"{counts[status]} {status}" for status in ("created", "updated", "unchanged")
    )
