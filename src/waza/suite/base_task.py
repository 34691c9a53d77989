"""What all tasks of a suite have in common."""

from __future__ import annotations

from pathlib import Path

from waza.model.suite import SuiteFile
from waza.model.task import Task


def make_base_task(file: SuiteFile, directory: Path, fixtures: Path) -> Task:
    """Return a task with the settings of a suite, without a prompt, graders and skills.

    `directory` is that of the suite, and `fixtures` that of its fixtures.
    """
    config = file.config
    return Task(
        id="",
        name="",
        file="",
        prompt="",
        timeout=config.timeout_seconds,
        first_event_timeout=config.first_event_timeout_seconds,
        home=directory,
        fixtures=fixtures,
        instruction_files=tuple(config.instruction_files),
        command_mocks=tuple(file.command_mocks or ()),
        mcp_mocks=tuple(file.mcp_mocks or ()),
    )
