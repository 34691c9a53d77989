"""The project around the current directory, for commands: with the warnings about its `.waza.yaml` printed."""

from __future__ import annotations

from pathlib import Path

from waza.cli.streams import print_notice
from waza.model.loaded import Project
from waza.suite.project import find_project


def open_project() -> Project:
    """Return the project around the current directory, and print the warnings about its settings.

    Raises SuiteError for settings that cannot be used.
    """
    project = find_project(Path.cwd())
    for warning in project.warnings:
        print_notice(str(warning))
    return project
