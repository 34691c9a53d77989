"""The project of a command: with the warnings about its `.waza.yaml` printed."""

from __future__ import annotations

from pathlib import Path

from waza.cli.streams import print_problems
from waza.model.loaded import Project
from waza.suite.project import find_project


def open_project(start: Path | None = None) -> Project:
    """Return the project that a directory is in, by default the current one, and print the warnings about its settings.

    Raises SuiteError for settings that cannot be used.
    """
    project = find_project(start or Path.cwd())
    print_problems(project.warnings)
    return project
