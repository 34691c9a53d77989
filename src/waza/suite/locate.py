"""Which suite tests a skill or agent: the one at its place, else one that names it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from waza.model.loaded import Project
from waza.suite.detect import DetectedSkill, DirectorySuite, find_suite, read_directory_suite
from waza.suite.discover import list_subdirectories, project_directories
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

    def locate(self, found: DetectedSkill) -> Path | None:
        """Return the suite of a skill or agent, or None.

        The first of these: a suite at its place; one that names it, in the directory of the workspace, of the project, or
        one above up to the top of the project; one that names it below the directory of suites in these.
        """
        keys, roots = self._project.keys, self._roots(found)
        places = (find_suite(found, root, keys.paths.evals, keys.files.evalFile) for root in roots)
        at_place = next((path for path in places if path is not None), None)
        return at_place or next(
            (suite.path for suite in self._suites(roots) if suite.names & {found.name, found.declared}), None
        )

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
