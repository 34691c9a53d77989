"""The files that graders read and tasks bring, as they were before any agent ran: an agent may not change them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

from waza.kit.tree_digest import TreeTooLargeError, describe_changes, digest_tree
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.verdict import BuiltGrader, Helpers
from waza.results.journal_lines import path_text
from waza.suite.digest import input_paths, read_roots

Found = dict[Path, bytes]


class TamperCheck:
    """Digests of those files, shared by the graders of a run. Before `record` nothing is checked."""

    def __init__(self) -> None:
        self._suite: Suite | None = None
        self._ignored: Collection[Path] = ()
        self._graders: dict[int, list[Path]] = {}  # by the identity of a grader, which its suite keeps alive
        self._tasks: dict[str, list[Path]] = {}
        self._whole: set[Path] = (
            set()
        )  # what tasks bring is watched however much it is: it is copied as a whole
        self._recorded: dict[Path, Found] = {}
        self._unwatched: dict[Path, str] = {}  # why

    def has_recorded(self, suite: Suite) -> bool:
        """Tell whether the files of a suite are known, as they are in its second arm."""
        return self._suite is suite

    def record(self, suite: Suite, ignored: Collection[Path] = ()) -> list[str]:
        """Record all that graders of a suite read and its tasks bring; return what cannot be watched, and why.

        `ignored` are the files and folders that waza itself writes.
        """
        self._suite, self._ignored = suite, ignored
        self._recorded, self._unwatched = {}, {}
        self._tasks = {task.id: paths for task in suite.tasks if (paths := input_paths(task))}
        self._graders = {
            id(built.grader): read_roots(built) for task in suite.tasks for built in task.all_graders
        }
        self._whole = {root for roots in self._tasks.values() for root in roots}
        for root in {*self._whole, *(root for roots in self._graders.values() for root in roots)}:
            self._record(root)
        return [
            f"changes in {root} are not noticed: {why}; list what graders read there under cache_inputs"
            for root, why in sorted(self._unwatched.items())
        ]

    def _record(self, root: Path) -> None:
        if root not in self._recorded and root not in self._unwatched:
            try:
                self._recorded[root] = self._inventory(root)
            except TreeTooLargeError as error:
                self._unwatched[root] = str(error)

    def _inventory(self, root: Path) -> Found:
        """Return what counts at a place.

        Logs, reports and other programs' files come and go in a folder that holds the suite, so that only code counts
        there; a folder of its own below belongs to the grader as a whole.
        """
        whole = root in self._whole
        holds_suite = self._suite is not None and self._suite.directory.is_relative_to(root)
        return digest_tree(root, self._ignored, limited=not whole, code_only=holds_suite and not whole)

    def digests(self) -> dict[str, str]:
        """Return what lies at the places that graders read, by path: what a resumed run compares."""
        roots = dict.fromkeys(root for roots in self._graders.values() for root in roots)
        found = [item for root in roots for item in self._recorded.get(root, {}).items()]
        return {path_text(path): hashlib.sha256(what).hexdigest()[:32] for path, what in found}

    def grader_change(self, built: BuiltGrader, helpers: Helpers) -> str:
        """Return what changed of the files of a grader, or "". A grader may rewrite its own files."""
        rewrites = getattr(built.grader, "rewrites", None)
        if self._suite is None or (rewrites and rewrites(helpers)):
            return ""
        roots = self._graders.get(id(built.grader))
        if roots is None:  # made for one attempt
            roots = read_roots(built)
            for root in roots:
                self._record(root)
        changes = self._changes(roots)
        return f"{changes} during the run, so its verdict would not be the suite's" if changes else ""

    def task_change(self, task: Task) -> str:
        """Return what changed of the files that a task brings, or ""."""
        changes = self._changes(self._tasks.get(task.id, []))
        return f"{changes} during the run, so the task would be another one" if changes else ""

    def _changes(self, roots: Sequence[Path]) -> str:
        if not roots:
            return ""
        before: Found = {}
        now: Found = {}
        for root in roots:
            if root in self._recorded:
                before |= self._recorded[root]
                try:
                    now |= self._inventory(root)
                except TreeTooLargeError as error:
                    return f"{root} changed ({error})"
        return describe_changes(before, now)

    def record_task(self, task: Task) -> None:
        """Record again what a task brings, which hooks may have changed."""
        for root in self._tasks.get(task.id, []):
            self._recorded[root] = self._inventory(root)

    async def aclose(self) -> None:
        """Nothing to end."""
