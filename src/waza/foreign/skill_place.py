"""Which skill the evals of another tool are about, and the keys of a suite that tests it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from waza.errors import UsageError
from waza.foreign.notes import Notes
from waza.model.skill import Target
from waza.suite.definition import SKILL_FILE
from waza.suite.discover import is_same_name, read_target

_LEVELS = 3  # above the file: <skill>/evals/files/x.json


def find_skill(origin: Path, given: Path | None) -> Target | None:
    """Return the skill that a file is about: the one that was given, else the nearest above. None without any.

    Raises UsageError where nothing is at `given`, SuiteError for a definition with mistakes.
    """
    if given is not None:
        if not given.exists():
            raise UsageError(
                f"there is no skill {given}; name its directory or its {SKILL_FILE} with --skill"
            )
        return read_target(given)
    start = origin if origin.is_dir() else origin.parent
    for directory in (start, *list(start.parents)[:_LEVELS]):
        if (directory / SKILL_FILE).is_file():
            return read_target(directory)
    return None


def skill_keys(
    skill: Target | None, named: str, notes: Notes, file: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keys of a suite, and of its `config`, that name its skill; `named` is what `file` calls it."""
    if skill is None:
        notes.add(
            file,
            "skill",
            f"no {SKILL_FILE} is near the file, so {named or 'the skill'!r} is only a label; import with --skill",
            unchecked=True,
        )
        return {"skill": named} if named else {}, {"skill_required": False}
    if named and not is_same_name(named, skill.name):
        notes.add(
            file, "skill_name", f"is {named!r}, and the skill there is called {skill.name!r}, which is tested"
        )
    return {"skill": skill.name}, {"skill_directories": [skill.directory]}
