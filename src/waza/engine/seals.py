"""Files that graders read, as they were before any agent ran: an agent may not rewrite what judges it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.verdict import BuiltGrader, Helpers
from waza.suite.digest import content, copied_files, grader_files, read_files


class Seals:
    """The digests of those files, shared by the graders of a run. Without `take`, nothing is known and checked."""

    def __init__(self) -> None:
        self._digests: dict[Path, bytes] = {}
        self._files: dict[
            int, tuple[Path, ...]
        ] = {}  # by the identity of a grader, which its suite keeps alive
        self._copied: dict[str, list[Path]] = {}  # what tasks bring, by their ids
        self._suite: Suite | None = None

    def take(self, suite: Suite) -> None:
        """Look at the files of all graders of a suite, once."""
        if self._suite is suite:
            return
        self._suite, self._files, self._digests, self._copied = suite, {}, {}, {}
        for built in _graders(suite.tasks):
            if id(built.grader) not in self._files:
                files = tuple(dict.fromkeys([*grader_files(built), *read_files(built, suite.directory)]))
                self._files[id(built.grader)] = files
                self._digests.update((file, content(file)) for file in files if file not in self._digests)
        for task in suite.tasks:
            self._brought(task)

    def broken(self, built: BuiltGrader, helpers: Helpers) -> str:
        """Say which file of a grader has changed, or nothing. One that rewrites its own files may do so."""
        rewrites = getattr(built.grader, "rewrites", None)
        if self._suite is None or (rewrites and rewrites(helpers)):
            return ""
        files = self._files.get(id(built.grader))
        if files is None:  # made for one attempt
            files = tuple(grader_files(built))
        changed = [str(file) for file in files if self._has_changed(file)]
        return (
            f"{' and '.join(changed)} changed during the run, so its verdict would not be the suite's"
            if changed
            else ""
        )

    def _has_changed(self, file: Path) -> bool:
        now = content(file)
        return now != self._digests.setdefault(file, now)

    def changed(self, task: Task) -> str:
        """Say which file that a task brings has changed since it was first asked about, or nothing."""
        if self._suite is None:
            return ""
        changed = [str(file) for file in self._brought(task) if self._digests[file] != content(file)]
        return (
            f"{' and '.join(changed)} changed during the run, so the task would be another one"
            if changed
            else ""
        )

    def renew(self, task: Task) -> None:
        """Look at the files that a task brings again, which hooks may have changed."""
        self._copied.pop(task.id, None)
        self._digests.update((file, content(file)) for file in self._brought(task))

    def _brought(self, task: Task) -> list[Path]:
        if task.id not in self._copied:
            self._copied[task.id] = copied_files(task)
            self._digests.update(
                (file, content(file)) for file in self._copied[task.id] if file not in self._digests
            )
        return self._copied[task.id]

    async def aclose(self) -> None:
        """Nothing to end."""


def _graders(tasks: Iterable[Task]) -> Iterable[BuiltGrader]:
    for task in tasks:
        yield from task.graders
        for point in task.checkpoints:
            yield from point.graders
