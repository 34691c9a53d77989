"""What suites are made of on the disk, and so which of them changed files touch."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.kit.glob import matches
from waza.model.loaded import Project, Suite
from waza.model.task import Task
from waza.suite.definition import SKILL_FILE
from waza.suite.detect import EVAL_FILE
from waza.suite.digest import input_paths, program_files, read_roots
from waza.suite.discover import iter_targets, project_directories
from waza.suite.load import examine
from waza.suite.loading import Loading, LoadOptions
from waza.suite.project import FILE as PROJECT_FILE
from waza.workspace.prepare import find_repository

_SETTINGS = {PROJECT_FILE, "AGENTS.md", "CLAUDE.md"}  # of all that is below their directory
_INSTRUCTIONS = ("copilot-instructions.md", "instructions")  # in .github, of all that is beside it
_NO_LINKS = {".git", ".venv", ".waza", "node_modules"}  # where links are made by programs
_COMMIT = 40  # characters of a commit that is named in full


class SuiteParts(msgspec.Struct, frozen=True, kw_only=True):
    """The files and directories that a suite is made of: its own, those of its tasks and graders, its skills and agents.

    `names` are those of the skills and agents that it tests. `roots` are absolute, as they are written and without links;
    `patterns` are those of its task files, relative to its directory. `scripted`: there is no agent to be asked.
    """

    path: Path
    names: frozenset[str] = frozenset()
    roots: frozenset[Path] = frozenset()
    patterns: tuple[str, ...] = ()
    scripted: bool = False

    def has(self, path: Path) -> bool:
        """Return whether a file belongs to the suite, whether it is there or not."""
        if not self.roots.isdisjoint((path, *path.parents)):
            return True
        if path.is_dir():  # a submodule, or a repository that git does not look into
            return any(root.is_relative_to(path) for root in self.roots)
        relative = Path(os.path.relpath(path, os.path.realpath(self.path.parent))).as_posix()
        return any(matches(pattern, relative) for pattern in self.patterns)


class Touched(msgspec.Struct, frozen=True, kw_only=True):
    """What changed files touch: suites by their paths, each with the files that touch it, and files that touch none."""

    suites: dict[Path, list[Path]]
    outside: list[Path]


def read_parts(path: Path, request: LoadOptions, source: Path | None = None) -> SuiteParts:
    """Return what a suite is made of, whatever mistakes it has: of one that cannot be read, its file and its skill.

    Skills that are offered only because the project keeps them are no part of it. `source` is what it was imported from.
    """
    more = [source] if source else []
    try:
        suite, loading = examine(path, request)
    except WazaError:
        known = [path, *more, *([request.skill_dir] if request.skill_dir else [])]
        return SuiteParts(path=path, roots=frozenset(form for root in known for form in _forms(root)))
    targets = [one for one in (suite.trigger_target, *(task.target for task in suite.tasks)) if one]
    roots = [suite.path, *more, *(task.path for task in loading.sources), *program_files(suite)]
    if suite.file.tasks_from:
        roots.append(suite.directory / suite.file.tasks_from)
    roots += [one.path if one.kind == "agent" else one.directory for one in targets]
    roots += [one.directory for one in suite.trigger_neighbours]
    roots += _skills(suite, loading)
    for task in suite.tasks:
        with suppress(ValueError):  # a path that leads elsewhere, which is reported when the suite is run
            roots += input_paths(task)
        roots += [root for grader in task.all_graders for root in read_roots(grader)]
    roots += [to for root in {suite.directory, *map(Path, roots)} for to in _linked(root)]
    for task in suite.tasks:
        roots += _repositories(task)
    return SuiteParts(
        path=path,
        names=frozenset({*filter(None, [suite.file.skill]), *(one.name for one in targets)}),
        roots=frozenset(form for root in roots for form in _forms(root)),
        patterns=tuple(filter(_is_pattern, map(_normalized, suite.file.tasks))),
        scripted=suite.capabilities.scripted,
    )


def map_changes(suites: Sequence[SuiteParts], paths: Iterable[Path], project: Project) -> Touched:
    """Return what changed files touch. The paths are absolute and without links.

    A file touches the suites that are made of it, and those in whose directory it is, unless it is in that of a skill or of
    another suite further down. The definition of a skill that is gone touches the suites that name it. Settings and
    instructions touch all suites below their directory, and those of the project all suites.
    """
    homes = {_real(one.path.parent) for one in suites}
    settings = _real(project.directory) / PROJECT_FILE
    found: dict[Path, list[Path]] = {}
    outside: list[Path] = []
    for path in paths:
        owner = _find_owner(path, homes, project.keys.files.evalFile)
        rules = _ruled_directory(path)
        gone = path.parent.name if path.name == SKILL_FILE and not path.exists() else ""
        touched = [
            one
            for one in suites
            if one.has(path)
            or owner == _real(one.path.parent)
            or gone in one.names
            or (rules and _real(one.path).is_relative_to(rules))
            or path == settings
        ]
        for one in touched:
            found.setdefault(one.path, []).append(path)
        if not touched:
            outside.append(path)
    return Touched(suites=found, outside=outside)


def list_settings(suite: Path, project: Project) -> list[Path]:
    """Return where settings and instructions may be that touch a suite, up to the top of its project."""
    tops = [project.directory, *project_directories(suite.parent)]
    names = [*sorted(_SETTINGS), *(f".github/{name}" for name in _INSTRUCTIONS)]
    return [top / name for top in tops for name in names]


def _find_owner(path: Path, homes: Collection[Path], eval_file: str) -> Path | None:
    """Return the directory of the suite that a file is in; None if it is in no suite, or in a skill within one."""
    for directory in path.parents:
        if directory in homes:
            return directory
        if any(os.path.lexists(directory / name) for name in (eval_file, EVAL_FILE, SKILL_FILE)):
            return None
    return None


def _ruled_directory(path: Path) -> Path | None:
    """Return the directory all of which a file rules, since it has settings or instructions; None for other files."""
    if path.name in _SETTINGS:
        return path.parent
    places = (place for place in path.parents if place.name == ".github")
    return next((place.parent for place in places if path.relative_to(place).parts[0] in _INSTRUCTIONS), None)


def _skills(suite: Suite, loading: Loading) -> Iterator[Path]:
    """Yield the directories of skills that the suite and its tasks list, and of those that they require."""
    offered = {*suite.skill_paths, *(root for task in suite.tasks for root in task.skill_paths)}
    default = set() if suite.file.config.skill_directories else set(loading.project_skills)
    yield from offered - default
    required = suite.file.config.required_skills
    if required:
        yield from (one.directory for one in iter_targets(offered & default) if one.name in required)


def _repositories(task: Task) -> Iterator[Path]:
    """Yield the repositories that a task takes as they are, and not at a commit that is named in full."""
    for repo in task.inputs.repos:
        if len(repo.commit) != _COMMIT:
            yield find_repository(task, repo)


def _linked(root: Path) -> Iterator[Path]:
    """Yield what the links within a directory lead to, such as a text that several skills have in common."""
    for folder, names, files in os.walk(root):
        yield from (path for name in (*names, *files) if (path := Path(folder, name)).is_symlink())
        names[:] = [name for name in names if name not in _NO_LINKS]


def _forms(path: Path) -> Iterator[Path]:
    """Yield a path as it is written, and without links: its last part as it is written, then what that leads to."""
    plain = Path(os.path.abspath(path))  # noqa: PTH100  # Path.absolute keeps `..`
    yield plain
    yield Path(os.path.realpath(plain.parent), plain.name)
    yield _real(plain)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _normalized(pattern: str) -> str:
    return Path(os.path.normpath(pattern)).as_posix()


def _is_pattern(pattern: str) -> bool:
    """Return whether a pattern is well-formed; the mistake in another one is reported when the suite is run."""
    try:
        matches(pattern, "")
    except ValueError:
        return False
    return True
