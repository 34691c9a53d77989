"""Which task of a suite a recording is a trial of."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waza.engine.trial import template_variables
from waza.errors import UsageError
from waza.kit.template import TemplateError, render
from waza.kit.text import list_first
from waza.model.loaded import Suite
from waza.model.recording import Recording
from waza.model.task import Task

LISTED = 8
"""How many tasks a message names."""


class RecordedTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A recording, and the trial that it is."""

    task: Task
    """The task."""
    number: int
    """The number of the trial, from 1."""
    recording: Recording
    """What was seen."""


def assign(suite: Suite, recordings: Sequence[Recording], only: str = "") -> list[RecordedTrial]:
    """Return the recordings as trials: of the task `only`, of the suite's one task, or of the one with the same prompt.

    Raises UsageError, with what to do, for a recording that is of no task, or may be of several.
    """
    numbers: dict[str, int] = {}
    found = []
    for recording in recordings:
        task = _find_task(suite, recording, only)
        numbers[task.id] = numbers.get(task.id, 0) + 1
        found.append(RecordedTrial(task=task, number=numbers[task.id], recording=recording))
    return found


def _find_task(suite: Suite, recording: Recording, only: str) -> Task:
    if only:
        named = next((task for task in suite.tasks if task.id == only), None)
        if named is None:
            raise UsageError(f"there is no task {only!r} in the suite; {_listing(suite.tasks)}")
        return named
    if len(suite.tasks) == 1:
        return suite.tasks[0]
    prompt = recording.prompts[0] if recording.prompts else None
    if prompt is None:
        raise UsageError(
            f"{recording.file}: the transcript does not have its prompt, by which its task could be found; "
            f"name it with --task ID; {_listing(suite.tasks)}"
        )
    same = [task for task in suite.tasks if same_prompt(task, prompt)]
    if len(same) != 1:
        which = f"{len(same)} tasks have" if same else "no task has"
        raise UsageError(
            f"{recording.file}: {which} the prompt of the transcript; name the task with --task ID; "
            f"{_listing(same or suite.tasks)}"
        )
    return same[0]


def _listing(tasks: Sequence[Task]) -> str:
    return f"tasks: {list_first([task.id for task in tasks], LISTED)}"


def same_prompt(task: Task, prompt: str) -> bool:
    """Tell whether a prompt is that of a task, but for blanks around it and the ends of its lines."""
    wanted = task.prompt
    if not task.verbatim:
        try:
            wanted = render(wanted, template_variables(task, "", 1, 1))
        except TemplateError:
            return False
    return _plain(wanted) == _plain(prompt)


def _plain(text: str) -> str:
    return "\n".join(text.split("\r\n")).strip()
