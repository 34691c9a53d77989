"""Which skills and agents a command means: paths, names, or those of the workspace around."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from waza.errors import UsageError
from waza.kit.git import find_work_tree
from waza.kit.glob import expand, matches
from waza.kit.names import did_you_mean
from waza.model.loaded import Project
from waza.suite.definition import AGENT_SUFFIX, SKILL_FILE, is_definition, make_absolute
from waza.suite.detect import (
    DetectedSkill,
    describe_definition,
    detect_below,
    detect_skills,
    discover_tree,
    looks_like_path,
)
from waza.suite.discover import list_definitions, read_target


def find_targets(wanted: Sequence[str], project: Project) -> list[DetectedSkill]:
    """Return the skills and agents that paths, names and patterns mean, each once; without any, those of the workspace.

    A directory means what it defines, else all below it; a pattern all that it matches, paths if it looks like one, else
    names. Raises UsageError for what is not there.
    """
    if wanted:
        found = [target for one in wanted for target in _find(one, project)]
    else:
        skills = project.directory / project.keys.paths.skills
        found = detect_skills(Path.cwd(), skills, every=True) or _refuse_none()
    return list({target.definition: target for target in reversed(found)}.values())[::-1]


def find_one_target(wanted: str, command: str, project: Project) -> DetectedSkill:
    """Return the one skill or agent that is meant. Raises UsageError for several, and SuiteError for one that is broken."""
    found = find_targets([wanted], project)
    if len(found) != 1:
        names = ", ".join(sorted(one.name for one in found))
        raise UsageError(f"{wanted} means several ({names}); name one: waza {command} SKILL")
    read_target(found[0].definition)
    return found[0]


def find_named(name: str | None, project: Project) -> list[DetectedSkill]:
    """Return the skills and agents of the workspace, or the one of a name: around here, else anywhere below."""
    around = detect_skills(Path.cwd(), project.directory / project.keys.paths.skills)
    named = [found for found in around if name in (None, found.name)]
    if named or name is None:
        return named
    return [found for found in find_around(project) if name in (found.name, found.declared)][:1]


def find_matching(pattern: str, project: Project) -> list[DetectedSkill]:
    """Return the skills and agents whose names match a pattern. Raises UsageError for one that is malformed."""
    try:
        found = [
            one
            for one in find_around(project)
            if matches(pattern, one.name) or matches(pattern, one.declared)
        ]
    except ValueError as error:
        raise UsageError(str(error)) from None
    return list({one.definition: one for one in reversed(found)}.values())[::-1]


def is_pattern(wanted: str) -> bool:
    """Return whether a text is a pattern of names or paths, and not a file that is called so."""
    return any(sign in wanted for sign in "*?[") and not os.path.lexists(wanted)


def expand_paths(pattern: str) -> list[Path]:
    """Return the paths that a pattern matches, relative to the current directory. Raises UsageError for a malformed one."""
    try:
        return expand(Path.cwd(), pattern.replace(os.sep, "/"))
    except ValueError as error:
        raise UsageError(str(error)) from None


def find_around(project: Project) -> list[DetectedSkill]:
    """Return the skills and agents of the workspace, and every skill below the current directory."""
    keys = project.keys
    around = detect_skills(Path.cwd(), project.directory / keys.paths.skills)
    return [*around, *discover_tree(Path.cwd(), keys.files.evalFile, keys.paths.evals)]


def _find(wanted: str, project: Project) -> list[DetectedSkill]:
    if is_pattern(wanted):
        return _find_all(wanted, project) or _refuse_name(wanted, project)
    path = make_absolute(Path(wanted)) if wanted and "\0" not in wanted else None
    if path is not None and os.path.isdir(path):  # noqa: PTH112  # Path.is_dir raises for names that are too long
        return _find_in_directory(path, wanted, project)
    if path is not None and looks_like_path(wanted):
        return [_describe_file(path, wanted)]
    return find_named(wanted, project) or _refuse_name(wanted, project)


def _find_all(pattern: str, project: Project) -> list[DetectedSkill]:
    """Return what a pattern matches; paths that are neither definitions nor directories with any do not count."""
    if not looks_like_path(pattern):
        return find_matching(pattern, project)
    found: list[DetectedSkill] = []
    for path in expand_paths(pattern):
        if path.is_dir():
            found += [describe_definition(file, path) for file in list_definitions(path)] or detect_below(
                path
            )
        elif is_definition(path):
            found.append(describe_definition(path, path.parent))
    return found


def _find_in_directory(path: Path, wanted: str, project: Project) -> list[DetectedSkill]:
    own = [describe_definition(file, path) for file in list_definitions(path)]
    named = [] if own or looks_like_path(wanted) else find_named(wanted, project)
    found = own or named or detect_below(path)
    if not found:
        raise UsageError(f"{wanted} holds no {SKILL_FILE} and no *{AGENT_SUFFIX}, also not further below")
    return found


def _describe_file(path: Path, wanted: str) -> DetectedSkill:
    if not os.path.isfile(path):  # noqa: PTH113  # as above
        raise UsageError(f"there is no file or directory {wanted}")
    if not is_definition(path):
        what = "; `waza preflight` checks a suite" if path.suffix in (".yaml", ".yml") else ""
        raise UsageError(f"{wanted} is neither a {SKILL_FILE} nor a *{AGENT_SUFFIX}{what}")
    return describe_definition(path, path.parent)


def _refuse_none() -> list[DetectedSkill]:
    raise UsageError(
        f"there is no skill or agent around here; name a {SKILL_FILE}, a *{AGENT_SUFFIX} or a directory"
    )


def _refuse_name(name: str, project: Project) -> list[DetectedSkill]:
    known = {found.name for found in find_around(project)}
    raise UsageError(f"there is no skill or agent {name!r} around here; {did_you_mean(name, known)}")


def repository_of(directory: Path) -> Path:
    """Return the top of the repository that a directory is in, or the directory outside of any."""
    return find_work_tree(directory / SKILL_FILE) or directory
