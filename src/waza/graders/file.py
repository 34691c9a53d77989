"""`file`: files that must be in the workspace, or must not, and patterns on their content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import msgspec

from waza.graders._workspace_files import encoding_note, open_root, path_error, path_exists, read_file
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.graders.text import check_entries, match_failures
from waza.model.base import Keys
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


class ContentPattern(Keys, frozen=True, kw_only=True):
    """A file and the patterns that its content must match, and must not."""

    strict_keys: ClassVar[bool] = True

    path: str
    """The path of the file in the workspace."""
    must_match: list[str] = []
    """Patterns (RE2) that must be found in the file."""
    must_not_match: list[str] = []
    """Patterns (RE2) that must not be found in the file."""


class File(Grader, frozen=True, kw_only=True):
    """Files of the workspace that must or must not exist, and patterns in them.

    One check for each path, and for each content entry one that it can be read and one a pattern. Paths are relative to the workspace and literal. A directory exists, too. Content is taken as UTF-8.
    """

    reads_workspace: ClassVar[bool] = True
    must_exist: list[str] = []
    """Files and directories that must exist."""
    must_not_exist: list[str] = []
    """Files and directories that must not exist."""
    content_patterns: list[ContentPattern] = []
    """What must be in files, and what must not."""

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader that would check nothing and paths that leave the workspace; warn of bad patterns."""
        del location
        if not (self.must_exist or self.must_not_exist or self.content_patterns):
            yield ConfigMistake(
                message="checks nothing", hint="set must_exist, must_not_exist or content_patterns"
            )
        for at, path in self._paths():
            if fault := path_error(path):
                yield ConfigMistake(path=at, message=fault)
        for index, entry in enumerate(self.content_patterns):
            at = ("content_patterns", index)
            yield from check_entries(entry.must_match, (*at, "must_match"), patterns=True)
            yield from check_entries(entry.must_not_match, (*at, "must_not_match"), patterns=True)

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Look into the workspace as the agent left it."""
        del helpers
        root = open_root(observation, (path for _, path in self._paths()))
        if root is None:
            return Verdict.failed("there is no workspace, so no file can be looked at")
        patterns = sum(len(entry.must_match) + len(entry.must_not_match) for entry in self.content_patterns)
        paths = len(self.must_exist) + len(self.must_not_exist) + len(self.content_patterns)
        failures = [
            *_existence_failures(root, self.must_exist, wanted=True),
            *_existence_failures(root, self.must_not_exist, wanted=False),
            *(failure for entry in self.content_patterns for failure in _content_failures(root, entry)),
        ]
        details = {**msgspec.to_builtins(self), "workspace_dir": observation.workspace}
        return Verdict.of_checks(paths + patterns, failures, details)

    def _paths(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        for key in ("must_exist", "must_not_exist"):
            for index, path in enumerate(getattr(self, key)):
                yield (key, index), path
        for index, entry in enumerate(self.content_patterns):
            yield ("content_patterns", index, "path"), entry.path


def _existence_failures(root: Path, paths: list[str], *, wanted: bool) -> Iterator[str]:
    for path in paths:
        try:
            if path_exists(root, path) != wanted:
                yield f"{path!r} does not exist" if wanted else f"{path!r} exists"
        except ValueError as error:
            yield str(error)


def _content_failures(root: Path, entry: ContentPattern) -> Iterator[str]:
    try:
        data = read_file(root, entry.path)
    except ValueError as error:
        yield str(error)
        for pattern in (*entry.must_match, *entry.must_not_match):
            yield f"{entry.path!r}: could not be searched for the pattern `{pattern}`"
        return
    text, note = data.decode("utf-8", "replace"), encoding_note(data)
    for wanted, patterns in ((True, entry.must_match), (False, entry.must_not_match)):
        for failure in match_failures(patterns, text, wanted=wanted):
            yield f"{entry.path!r}: {failure}{note}"
