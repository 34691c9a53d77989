"""Copies of a skill, each without one of its parts, and the suite that is run with a copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from waza.author.ablate.parts import FOLDERS, NOT_COPIED, Part
from waza.author.skill_copy import with_copy
from waza.errors import UsageError, WazaError
from waza.kit.os_errors import describe_os_error
from waza.kit.tempdirs import remove_tree
from waza.model.loaded import Suite
from waza.model.skill import Target
from waza.model.task import Task
from waza.problem import display_path
from waza.suite.digest import suite_digest, with_digest
from waza.suite.discover import read_target

_OF_AGENTS = (*FOLDERS, "assets")  # folders beside an agent that are its own


def find_ablated(suite: Suite) -> Target:
    """Return the one skill or agent that the tasks of a suite are about. Raises UsageError for none and for several."""
    found = {task.target.path: task.target for task in suite.tasks if _is_with_skill(task) and task.target}
    if len(found) == 1:
        return next(iter(found.values()))
    where = display_path(suite.path)
    if not found:
        raise UsageError(
            f"no task of {where} runs with the skill under test, so nothing of a skill can be left out; name it under 'skill:'"
        )
    names = ", ".join(display_path(path) for path in sorted(found))
    raise UsageError(f"the tasks of {where} are about several skills ({names}), and only one can be ablated")


def tasks_with_skill(suite: Suite) -> tuple[Task, ...]:
    """Return the tasks that run with the skill under test."""
    return tuple(task for task in suite.tasks if _is_with_skill(task))


def _is_with_skill(task: Task) -> bool:
    return task.target is not None and not task.no_skills


def copy_skill(target: Target, folder: Path, part: Part | None = None) -> Target:
    """Write a copy of a skill without a part into a new folder, and return it.

    Raises SuiteError if it would not be a valid skill, and WazaError if it cannot be written.
    """
    remove_tree(folder)
    copy = folder / (target.directory.name or target.name)
    ignore = shutil.ignore_patterns(*NOT_COPIED)
    try:
        folder.mkdir(parents=True)
        if target.kind == "skill":
            shutil.copytree(target.directory, copy, ignore=ignore, ignore_dangling_symlinks=True)
        else:
            copy.mkdir()
            shutil.copy2(target.path, copy)
            for name in _OF_AGENTS:
                if (target.directory / name).is_dir():
                    shutil.copytree(
                        target.directory / name, copy / name, ignore=ignore, ignore_dangling_symlinks=True
                    )
        file = copy / target.path.name
        if part is not None and part.text is not None:
            file.unlink()  # it may be read-only
            file.write_bytes(part.text.encode("utf-8"))
        elif part is not None:
            (copy / part.name).unlink()
    except shutil.Error as error:
        names = ", ".join(display_path(Path(found[0])) for found in error.args[0])
        raise WazaError(f"cannot copy {display_path(target.directory)}: {names} cannot be copied") from error
    except OSError as error:
        raise WazaError(
            f"cannot copy {display_path(target.directory)}: {describe_os_error(error)}"
        ) from error
    return read_target(file)


def suite_with(suite: Suite, original: Target, copy: Target) -> Suite:
    """Return the suite as it measures a copy: the tasks that run with the skill, each with all of its trials, and nothing else."""
    config = msgspec.structs.replace(suite.file.config, stop_when=None, fail_fast=False)
    made = msgspec.structs.replace(
        suite,
        file=msgspec.structs.replace(suite.file, config=config, baseline=False),
        tasks=tuple(_task_with(task, original, copy) for task in tasks_with_skill(suite)),
        trigger_tests=None,
        trigger_target=None,
        trigger_neighbours=(),
        skill_paths=_paths_with(suite.skill_paths, original, copy),
    )
    return msgspec.structs.replace(made, digest=suite_digest(made))


def _task_with(task: Task, original: Target, copy: Target) -> Task:
    paths = _paths_with(task.skill_paths, original, copy)
    return with_digest(msgspec.structs.replace(task, target=copy, skill_paths=paths, digest=""))


def _paths_with(roots: tuple[Path, ...], original: Target, copy: Target) -> tuple[Path, ...]:
    """Return where skills are found; an agent, and a skill that is not found there, is not put there either."""
    own = original.directory
    if original.kind == "agent" or not any(own.is_relative_to(root) for root in roots):
        return roots
    return with_copy(roots, own, copy.directory)
