"""Finding skills and agents on disk: the one that a suite names, and those that it requires.

A directory is defined by its `SKILL.md`; only without one do its `*.agent.md` files count.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import msgspec

from waza.errors import SuiteError
from waza.model.skill import Target
from waza.problem import Problem, display_path
from waza.suite.definition import (
    AGENT_SUFFIX,
    SKILL_FILE,
    Definition,
    is_agent,
    is_definition,
    make_absolute,
    read_definition,
    require_usable,
)
from waza.suite.project import FILE as PROJECT_FILE

_ROOTS = (PROJECT_FILE, ".git")  # one of them is in the top directory of a project
_NOT_SEARCHED = {"node_modules", "vendor"}
_FOLDERS = ("agents", "skills")
_HIDDEN_FOLDERS = (".github", ".claude", ".agents", ".apm")

Hides: TypeAlias = Callable[[Target], bool]


class SearchDirectory(msgspec.Struct, frozen=True):
    """A directory to look in: what it holds itself, then what the directories directly below hold."""

    path: Path
    itself: bool = True
    below: bool = True


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What a search for a name came to: one definition, none, or several that nothing chooses between.

    `searched` are the existing directories, `names` the other names that were found in them, `hidden` the
    definitions of the wanted name that are disabled. `problems` are warnings about the neighbours.
    """

    found: tuple[Definition, ...] = ()
    searched: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()
    hidden: tuple[Path, ...] = ()
    problems: tuple[Problem, ...] = ()


class RequiredSkills(msgspec.Struct, frozen=True, kw_only=True):
    """Which required skills are `missing`, where they were `searched`, and the names `found` there.

    `problems` are errors in the definitions of required skills, and warnings about others.
    """

    missing: tuple[str, ...]
    searched: tuple[Path, ...]
    found: tuple[str, ...]
    problems: tuple[Problem, ...] = ()


def read_target(path: Path) -> Target:
    """Return the skill or agent of a definition file, or of the directory that has one. Raises SuiteError."""
    return require_usable(read_definition_at(path)).target


def read_definition_at(path: Path) -> Definition:
    """Return the definition in a file, or in the directory that has one. SuiteError: there is no such file."""
    path = make_absolute(path)
    files = list_definitions(path) if _is_directory(path) else [path]
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        message = f"holds no single {SKILL_FILE} or *{AGENT_SUFFIX} (found: {found})"
        raise SuiteError(
            [
                Problem(
                    code="skill-not-found",
                    file=display_path(path),
                    message=message,
                    hint="name the file itself",
                )
            ]
        )
    if not is_definition(files[0]):
        message = f"is neither a {SKILL_FILE} nor a *{AGENT_SUFFIX}"
        hint = "agents are defined in files of this ending, skills in files of this name"
        raise SuiteError(
            [Problem(code="skill-not-found", file=display_path(path), message=message, hint=hint)]
        )
    return read_definition(files[0])


def find_definition(name: str, places: Iterable[SearchDirectory], hides: Hides = lambda _: False) -> Search:
    """Look for the skill or agent of that name (in any case). The first place that has it wins.

    A SKILL.md of another name ends the search of its directory, and at the top of a place that of the whole
    place. Definitions for which `hides` returns True are skipped.
    """
    met: list[Definition] = []
    searched: list[Path] = []
    hidden: list[Path] = []
    for place in places:
        if _is_directory(place.path):
            searched.append(place.path)
        for level in _iter_levels(place):
            read = [read_definition(file) for file in level]
            met += read
            named = [one for one in read if is_same_name(one.target.name, name)]
            hidden += [one.target.path for one in named if hides(one.target)]
            found = _without_links(one for one in named if not hides(one.target))
            if found:
                return Search(
                    found=found,
                    searched=tuple(dict.fromkeys(searched)),
                    problems=_collect_warnings(one for one in met if one not in found),
                )
    names = dict.fromkeys(one.target.name for one in met if not hides(one.target))
    return Search(
        searched=tuple(dict.fromkeys(searched)),
        names=tuple(names),
        hidden=tuple(hidden),
        problems=_collect_warnings(met),
    )


def search_directories(directory: Path) -> list[SearchDirectory]:
    """Return where a directory keeps skills and agents: itself, the folders for them, any directory below it."""
    folders = [directory / folder for folder in _FOLDERS]
    for hidden in _HIDDEN_FOLDERS:
        folders += [directory / hidden, *(directory / hidden / folder for folder in _FOLDERS)]
    return [
        SearchDirectory(directory, below=False),
        *map(SearchDirectory, folders),
        SearchDirectory(directory, itself=False),
    ]


def project_directories(start: Path) -> list[Path]:
    """Return a directory and its parents, up to that of `.waza.yaml` or the root of the git repository.

    Without either the extent of the project is unknown, and only the directory itself is returned.
    """
    upwards = [start, *start.parents]
    for i, directory in enumerate(upwards):
        if any(os.path.lexists(directory / name) for name in _ROOTS):
            return upwards[: i + 1]
    return [start]


def find_required_skills(
    names: Iterable[str], directories: Sequence[Path], hides: Hides = lambda _: False
) -> RequiredSkills:
    """Look for skills by their declared names, case-sensitively, in the directories and one level below."""
    wanted = list(dict.fromkeys(names))
    found: list[str] = []
    problems: list[Problem] = []
    for directory in directories:
        for definition in map(read_definition, chain.from_iterable(_iter_levels(SearchDirectory(directory)))):
            required = definition.declared_name in wanted
            problems += definition.problems if required else definition.warnings
            if definition.declared_name and not hides(definition.target):
                found.append(definition.declared_name)
    return RequiredSkills(
        missing=tuple(name for name in wanted if name not in found),
        searched=tuple(directories),
        found=tuple(dict.fromkeys(found)),
        problems=tuple(problems),
    )


def iter_targets(directories: Iterable[Path]) -> Iterator[Target]:
    """Yield every skill and agent of directories, in them and one level below, whatever is wrong with it."""
    for directory in directories:
        for file in chain.from_iterable(_iter_levels(SearchDirectory(directory))):
            yield read_definition(file).target


def list_definitions(directory: Path) -> list[Path]:
    """Return the definition files of a directory: its SKILL.md alone, else its agents by name."""
    files = [entry for entry in _list_entries(directory) if is_definition(entry) and not _is_directory(entry)]
    return [file for file in files if file.name == SKILL_FILE] or files


def list_subdirectories(directory: Path) -> list[Path]:
    """Return the directories directly below that may hold definitions, by name."""
    return [entry for entry in _list_entries(directory) if is_searched(entry.name) and _is_directory(entry)]


def is_searched(name: str) -> bool:
    """Return whether definitions are looked for in a directory of this name below another one."""
    return not name.startswith(".") and name not in _NOT_SEARCHED


def is_same_name(one: str, other: str) -> bool:
    """Compare names in any case, and however their accents are encoded (file systems differ there)."""
    return fold_name(one) == fold_name(other)


def fold_name(name: str) -> str:
    """Return the form in which names are compared."""
    return unicodedata.normalize("NFC", name.strip()).casefold()


def _iter_levels(place: SearchDirectory) -> Iterator[list[Path]]:
    """Yield the definition files of a place itself, then those of all directories directly below it."""
    own = list_definitions(place.path)
    if place.itself:
        yield own
    if place.below and all(is_agent(file) for file in own):
        yield [file for folder in list_subdirectories(place.path) for file in list_definitions(folder)]


def _without_links(named: Iterable[Definition]) -> tuple[Definition, ...]:
    """Return definitions without those that are another one's file under a second path, as links make them."""
    files: dict[str, Definition] = {}
    for one in named:
        files.setdefault(os.path.realpath(one.target.path), one)
    return tuple(files.values())


def _collect_warnings(definitions: Iterable[Definition]) -> tuple[Problem, ...]:
    return tuple(chain.from_iterable(one.warnings for one in definitions))


def _list_entries(directory: Path) -> list[Path]:
    """Return the entries of a directory, by name; an empty list where it cannot be listed."""
    try:
        return sorted(directory.iterdir(), key=lambda entry: entry.name)
    except (OSError, ValueError):
        return []


def _is_directory(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112  # Path.is_dir raises where permission is missing
