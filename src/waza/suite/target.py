"""The skill or agent under test: finding what `skill:` names, and saying what keeps it from being tested."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from waza.errors import SuiteError
from waza.kit.names import did_you_mean
from waza.kit.text import list_first
from waza.model.skill import Target
from waza.model.suite import SuiteFile
from waza.problem import display_path
from waza.suite.definition import Definition, make_absolute, read_definition
from waza.suite.discover import (
    Search,
    SearchDirectory,
    find_definition,
    list_definitions,
    project_directories,
    read_definition_at,
    search_directories,
)
from waza.suite.loading import Loading, Scope
from waza.suite.skills import DisabledSkills, disabled_skills, enabled_directories, resolve_path

_SHOWN = 8  # places that a message lists


def find_task_target(loading: Loading, directories: Sequence[str] = ()) -> Target | None:
    """Return the skill or agent under test of a task that lists these directories. Mistakes are collected."""
    config, able = loading.file.config, loading.capabilities
    wanted = loading.file.skill.strip()
    handed = able.skills or able.scripted
    if not wanted or not (handed or config.skill_required):
        return None
    found = find_target(loading.at("skill"), wanted, directories)
    if not handed:
        message = (
            f"the executor {config.executor!r} hands no skill to its agent, so {wanted!r} is not under test"
        )
        hint = "set config.skill_required: false if the agent has it of its own"
        loading.at("skill").warn("capability", message, hint)
    if found is not None and found.tools is not None:
        if not able.scripted:
            hint = "drop 'tools' from the agent's frontmatter"
            loading.at("skill").require("tool_policy", hint)
        if (able.scripted or able.tool_policy) and not able.tool_calls:
            message = f"the tools of {found.name!r} are not checked: no tool calls are reported"
            loading.at("skill").warn("not-checked", message)
    return found


Role = Literal["tested", "offered"]
"""What a skill or agent is looked for as: to be under test, or to be offered beside that."""


def find_target(
    scope: Scope, wanted: str, directories: Sequence[str] = (), role: Role = "tested"
) -> Target | None:
    """Return the skill or agent that a name or path at a place means; None after a mistake.

    What is tested may be missing where its name is only a label; what is offered beside it may not.
    """
    if is_path(wanted):
        return _find_at_path(scope, wanted, role)
    places = tuple(_search_places(scope.loading, directories))
    config = scope.loading.file.config
    search = _search(wanted, places, tuple(config.disabled_skills), scope.loading.directory)
    scope.loading.problems.extend(search.problems)
    if not search.found:
        _report_not_found(scope, wanted, search, role)
        return None
    if len(search.found) > 1:
        files = " and ".join(display_path(one.target.path) for one in search.found)
        hint = "rename one of them, or write the path of the one that is meant"
        scope.error("ambiguous-skill", f"{wanted!r} is defined more than once in one place: {files}", hint)
        return None
    return _use(scope.loading, search.found[0])


def is_path(skill: str) -> bool:
    """Return whether a text is a path to a skill or agent, and not a name."""
    return any(sign in skill for sign in "/\\") or skill in (".", "..") or skill.lower().endswith(".md")


def with_target_name(loading: Loading) -> SuiteFile:
    """Return the suite's keys with the name of its skill or agent where they have its path."""
    file = loading.file
    place = _locate(loading, file.skill.strip()) if is_path(file.skill.strip()) else None
    files = list_definitions(place) if place is not None and place.is_dir() else [place] if place else []
    if len(files) != 1:
        return file
    return msgspec.structs.replace(file, skill=read_definition(files[0]).target.name)


def forget_targets() -> None:
    """Forget what was found, for a process that loads suites while files change."""
    _search.cache_clear()


@lru_cache(maxsize=64)
def _search(wanted: str, places: tuple[SearchDirectory, ...], entries: tuple[str, ...], base: Path) -> Search:
    return find_definition(wanted, places, DisabledSkills(entries, base))


def _search_places(loading: Loading, directories: Sequence[str]) -> dict[SearchDirectory, None]:
    """Return where a name is looked for, in order. The current directory, which chooses nothing else, is last."""
    config, request = loading.file.config, loading.request
    listed = [
        *enabled_directories(config, directories),
        *enabled_directories(config, config.skill_directories),
    ]
    places = [SearchDirectory(resolve_path(loading.directory, entry)) for entry in listed]
    if request.skill_dir:
        places.append(SearchDirectory(make_absolute(request.skill_dir)))
    for directory in project_directories(make_absolute(loading.directory)):
        places += search_directories(directory)
    places += map(SearchDirectory, loading.project_skills)
    if request.context_dir:
        places.append(SearchDirectory(make_absolute(loading.fixtures)))
    return dict.fromkeys([*places, *search_directories(Path.cwd())])


def _locate(loading: Loading, wanted: str) -> Path | None:
    """Return the file or directory that a path means: relative to the suite, else to the current directory."""
    candidates = (resolve_path(base, wanted) for base in (loading.directory, Path.cwd()))
    return next((path for path in candidates if path.exists()), None)


def _find_at_path(scope: Scope, wanted: str, role: Role) -> Target | None:
    place = _locate(scope.loading, wanted)
    if place is None:
        bases = " and ".join(dict.fromkeys(map(display_path, (scope.loading.directory, Path.cwd()))))
        _report_missing(scope, f"there is no {wanted!r}", f"looked in {bases}", role)
        return None
    try:
        definition = read_definition_at(place)
    except SuiteError as error:
        scope.loading.problems.extend(error.problems)
        return None
    if disabled_skills(scope.loading)(definition.target):
        _report_disabled(scope, wanted, role)
        return None
    return _use(scope.loading, definition)


def _use(loading: Loading, definition: Definition) -> Target | None:
    loading.problems.extend(definition.problems)
    return definition.target if definition.is_fit else None


def _report_not_found(scope: Scope, wanted: str, search: Search, role: Role) -> None:
    if search.hidden:
        _report_disabled(scope, wanted, role)
        return
    searched = [display_path(place) for place in search.searched]
    names = f"{did_you_mean(wanted, search.names)}; " if search.names else ""
    hint = f"{names}looked in {list_first(searched, _SHOWN)}"
    _report_missing(scope, f"no skill or agent {wanted!r} was found", hint, role)


def _report_missing(scope: Scope, message: str, hint: str, role: Role) -> None:
    """Note that the target is not there: the agent would run without it, and the results would not show it."""
    if role == "offered":
        scope.error("skill-not-found", message, hint)
        return
    if not scope.loading.file.config.skill_required:
        return
    able = scope.loading.capabilities
    warning = able.scripted or not able.skills or scope.loading.request.elsewhere
    message += ", so none is under test" if warning else ""
    hint += "; where the name is only a label, set config.skill_required: false"
    scope.report("skill-not-found", message, hint, warning=warning)


def _report_disabled(scope: Scope, wanted: str, role: Role) -> None:
    is_what = "under test" if role == "tested" else "to be offered"
    message = f"{wanted!r} is {is_what}, and config.disabled_skills switches it off"
    hint = "remove one of the two; --no-skills and disabled_skills: ['*'] run without any skill"
    scope.error("disabled-skill", message, hint)
