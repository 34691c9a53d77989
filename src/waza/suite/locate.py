"""Which suite tests a skill or agent: the one at its place, else one that names it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from waza.model.loaded import Project
from waza.model.skill import Target
from waza.suite.detect import DetectedSkill, DirectorySuite, find_suite, read_directory_suite
from waza.suite.discover import is_same_name, list_subdirectories, project_directories
from waza.suite.project import find_project

_LEVELS = 10  # directories above a skill that may have its suite


def find_suite_of(found: DetectedSkill) -> Path | None:
    """Return the suite of a skill or agent by the settings of the project that it is in, or None."""
    return SuiteLocator(find_project(found.directory)).locate(found)


class SuiteLocator:
    """Looks for suites, and reads each directory that may have one only once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._read: dict[Path, DirectorySuite | None] = {}
        self._tested: dict[tuple[Path, Path], Target | None] = {}

    def locate(self, found: DetectedSkill) -> Path | None:
        """Return the suite of a skill or agent, or None.

        The first of these that does not test another definition of the same name: a suite at its place; one that names it,
        in the directory of the workspace, of the project, or one above up to the top of the project; one that names it
        below the directory of suites in these.
        """
        return next((path for path in self._candidates(found) if not self._tests_namesake(path, found)), None)

    def locate_of_namesake(self, found: DetectedSkill) -> Path | None:
        """Return the suite that would be that of a skill or agent, but tests another definition of the same name."""
        return next((path for path in self._candidates(found) if self._tests_namesake(path, found)), None)

    def other_tested(self, path: Path, found: DetectedSkill) -> Target | None:
        """Return what a suite tests if that is not this skill or agent, but another definition."""
        # Here, since completion of names, which needs only the rest, would load all graders.
        from waza.suite.load import find_tested

        key = (path, found.definition)
        if key not in self._tested:
            self._tested[key] = find_tested(path, found.directory)
        tested = self._tested[key]
        same = tested is None or os.path.realpath(tested.path) == os.path.realpath(found.definition)
        return None if same else tested

    def _tests_namesake(self, path: Path, found: DetectedSkill) -> bool:
        other = self.other_tested(path, found)
        return other is not None and any(
            is_same_name(other.name, name) for name in (found.name, found.declared)
        )

    def _candidates(self, found: DetectedSkill) -> Iterator[Path]:
        keys, roots = self._project.keys, self._roots(found)
        for root in roots:
            path = find_suite(found, root, keys.paths.evals, keys.files.evalFile)
            if path is not None:
                yield path
        for suite in self._suites(roots):
            if suite.names & {found.name, found.declared}:
                yield suite.path

    def named(self, name: str) -> Path | None:
        """Return the suite in the directory of this name among the suites of the workspace or the project."""
        suites = (self.in_directory(root / self._project.keys.paths.evals / name) for root in self._tops())
        return next((suite.path for suite in suites if suite), None)

    def all(self) -> list[Path]:
        """Return the suites that lie among those of the workspace or the project, one a directory."""
        evals = self._project.keys.paths.evals
        directories = (place for root in self._tops() for place in list_subdirectories(root / evals))
        return [suite.path for place in dict.fromkeys(directories) if (suite := self.in_directory(place))]

    def in_directory(self, directory: Path) -> DirectorySuite | None:
        """Return the suite in a directory, with what it tests."""
        if directory not in self._read:
            self._read[directory] = read_directory_suite(directory, self._project.keys.files.evalFile)
        return self._read[directory]

    def _tops(self) -> list[Path]:
        return list(dict.fromkeys([Path.cwd(), *([self._project.directory] if self._project.found else [])]))

    def _roots(self, found: DetectedSkill) -> list[Path]:
        own = [self._project.directory] if self._project.found else []
        here = [Path.cwd()] if found.owner.is_relative_to(Path.cwd()) else []
        return list(dict.fromkeys([found.root, *own, *here, *project_directories(found.owner)[:_LEVELS]]))

    def _suites(self, roots: list[Path]) -> Iterator[DirectorySuite]:
        for root in roots:
            for place in (root, *list_subdirectories(root / self._project.keys.paths.evals)):
                suite = self.in_directory(place)
                if suite:
                    yield suite
