"""Which skills the agent may see in a task, and which skill or agent is under test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from waza.errors import SuiteError
from waza.kit.decode import Document
from waza.model.skill import Target
from waza.model.suite import Config
from waza.problem import shown
from waza.suite.discover import absolute, expanded, required_skills, resolve_target, target_roots
from waza.suite.inputs import check_text
from waza.suite.loading import Loading

ALL = "*"
NONE = "none"


def all_disabled(loading: Loading) -> bool:
    """Tell whether no skill at all may be seen."""
    config = loading.file.config
    return loading.request.no_skills or ALL in config.disabled_skills or NONE in config.skill_directories


def suite_paths(loading: Loading) -> tuple[Path, ...]:
    """Return the skill roots of the suite: those it lists, else the project's."""
    config = loading.file.config
    if not config.skill_directories:
        return loading.request.default_skill_dirs
    return tuple(_absolute(loading.directory, entry) for entry in enabled_directories(config))


def enabled_directories(config: Config) -> list[str]:
    """Return the skill directories that a suite lists and does not disable by their names."""
    disabled = set(config.disabled_skills)
    return [
        entry
        for entry in config.skill_directories
        if entry not in disabled and Path(entry.rstrip("/\\")).name not in disabled
    ]


def task_paths(
    loading: Loading, directories: list[str] | None, inherited: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return the skill roots of a task: its own list replaces the suite's."""
    if directories:
        return tuple(_absolute(loading.directory, entry) for entry in directories)
    return inherited


def task_skills_off(loading: Loading, directories: list[str] | None) -> bool:
    """Tell whether a task runs without skills. A scenario has only the skills that it declares."""
    if loading.skills_off:
        return True
    if not loading.version.scenario:
        return False
    if directories is not None:
        return not directories
    return not loading.file.skill and not loading.file.config.skill_directories


def target(loading: Loading, paths: tuple[Path, ...]) -> Target | None:
    """Return the skill or agent under test; mistakes in an agent file are collected."""
    if not loading.file.skill:
        return None
    context = loading.fixtures if loading.request.context_dir else None
    roots = target_roots(Path.cwd(), context, paths, loading.directory)
    try:
        return _resolve(loading.file.skill, tuple(roots))
    except SuiteError as error:
        loading.problems.extend(error.problems)
        return None


@lru_cache(maxsize=64)
def _resolve(name: str, roots: tuple[Path, ...]) -> Target | None:
    return resolve_target(name, roots)


def forget_targets() -> None:
    """Forget what was found, for a process that loads suites while files change."""
    _resolve.cache_clear()


def check_directories(
    loading: Loading, document: Document, directories: Sequence[str], path: tuple[str, ...]
) -> None:
    """Note skill directories that are not there: the agent would run without the skill, and nobody would know."""
    for i, entry in enumerate(directories):
        check_text(loading, document, entry, (*path, i))
        missing = entry != NONE and not _absolute(loading.directory, entry).is_dir()
        if missing and "\0" not in entry and not loading.hooks_may_create:
            hint = "paths are relative to the suite's directory"
            loading.say(document, (*path, i), f"there is no directory {entry!r}", hint, warning=True)


def check_required(loading: Loading, paths: tuple[Path, ...]) -> None:
    """Note required skills that no listed directory holds."""
    config = loading.file.config
    if not config.required_skills or loading.skills_off:
        return
    where = ("config", "required_skills")
    if loading.version.scenario and not loading.file.skill and not config.skill_directories:
        message = "a scenario without a skill needs config.skill_directories to look in"
        loading.say(loading.document, where, message)
        return
    if not paths:
        if not loading.document.faulty("config", "skill_directories"):
            loading.say(loading.document, where, "needs config.skill_directories to look in")
        return
    report = required_skills(config.required_skills, paths)
    loading.problems.extend(report.problems)
    if report.missing:
        searched = ", ".join(shown(path) for path in report.searched)
        found = ", ".join(report.found) or "none"
        message = f"required skills are missing: {', '.join(report.missing)}"
        hint = f"searched {searched}; found {found}"
        loading.say(loading.document, where, message, hint, warning=loading.hooks_may_create)


def _absolute(base: Path, entry: str) -> Path:
    return absolute(base / expanded(entry.replace("\\", "/")))
