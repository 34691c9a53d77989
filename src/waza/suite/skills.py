"""Which skills the agent may see in a task."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from waza.kit.names import did_you_mean, nearest_name
from waza.model.skill import Target
from waza.model.suite import Config
from waza.problem import display_path
from waza.suite.definition import expand_home, make_absolute
from waza.suite.discover import find_required_skills, fold_name, iter_targets
from waza.suite.inputs import check_text
from waza.suite.loading import Loading, Scope

ALL = "*"
NONE = "none"
MOST_FILES = 10_000  # in a skill directory; all of them are part of what a resumed run has to find unchanged


def are_all_disabled(loading: Loading) -> bool:
    """Return whether no skill at all may be seen."""
    config = loading.file.config
    return loading.request.no_skills or ALL in config.disabled_skills or NONE in config.skill_directories


class DisabledSkills:
    """What `config.disabled_skills` switches off: skills and agents by name, by directory, and all below one."""

    def __init__(self, entries: Iterable[str], base: Path) -> None:
        self.entries = frozenset(entries)
        self._names = {fold_name(entry) for entry in self.entries}
        self._directories = {resolve_path(base, entry) for entry in self.entries}

    def __call__(self, target: Target) -> bool:
        """Return whether a skill or agent is switched off."""
        return self.names(target.name) or self.directory(target.directory)

    def names(self, name: str) -> bool:
        """Return whether an entry is this name."""
        return fold_name(name) in self._names

    def directory(self, path: Path) -> bool:
        """Return whether what a directory defines is switched off."""
        near = (path.name, path.parent.name)
        return any(name in self.entries for name in near) or any(
            above in self._directories for above in (path, *path.parents)
        )


def disabled_skills(loading: Loading) -> DisabledSkills:
    """Return what the suite switches off."""
    return DisabledSkills(loading.file.config.disabled_skills, loading.directory)


def suite_paths(loading: Loading) -> tuple[Path, ...]:
    """Return the skill roots of the suite: those it lists, else that of its skill and the project's."""
    listed = loading.file.config.skill_directories
    if listed:
        return task_paths(loading, listed, ())
    off = disabled_skills(loading)
    return tuple(root for root in _default_roots(loading) if not off.directory(root))


def _default_roots(loading: Loading) -> list[Path]:
    """Return the skill roots of a suite that lists none: that of its skill and the project's."""
    own = [loading.request.skill_dir] if loading.request.skill_dir else []
    return list(dict.fromkeys([*own, *loading.project_skills]))


def task_paths(
    loading: Loading, directories: list[str] | None, inherited: tuple[Path, ...]
) -> tuple[Path, ...]:
    """Return the skill roots of a task: its own list replaces the suite's. Disabled ones are left out."""
    if not directories:
        return inherited
    enabled = enabled_directories(loading.file.config, directories)
    return tuple(resolve_path(loading.directory, entry) for entry in enabled)


def enabled_directories(config: Config, directories: Sequence[str]) -> list[str]:
    """Return the skill directories of a list that the suite does not disable."""
    off = set(config.disabled_skills)
    return [entry for entry in directories if entry not in off and Path(entry.rstrip("/\\")).name not in off]


def disabled_names(loading: Loading, paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of skills that an agent must not be offered although its skill roots hold them."""
    off = disabled_skills(loading)
    if not off.entries:
        return ()
    plain = (entry for entry in loading.file.config.disabled_skills if not set(entry) & set("/\\"))
    hidden = (target.name for target in iter_targets(paths) if off(target))
    return tuple(dict.fromkeys([*plain, *hidden]))


def is_task_without_skills(loading: Loading, directories: list[str] | None) -> bool:
    """Return whether a task runs without skills: it says so, or a scenario declares none."""
    if loading.skills_off or NONE in (directories or ()):
        return True
    if not loading.version.scenario:
        return False
    if directories is not None:
        return not directories
    return not loading.file.skill and not loading.file.config.skill_directories


def check_directories(scope: Scope, directories: Sequence[str]) -> None:
    """Note skill directories that are not there: the agent would run without the skill, and nobody would know."""
    for i, entry in enumerate(directories):
        check_text(scope.child(i), entry)
        missing = entry != NONE and not resolve_path(scope.loading.directory, entry).is_dir()
        if missing and "\0" not in entry and not scope.loading.hooks_may_create:
            hint = "paths are relative to the suite's directory"
            scope.child(i).warn("skill-directory", f"there is no directory {entry!r}", hint)
        elif not missing and entry != NONE and _is_vast(resolve_path(scope.loading.directory, entry)):
            message = f"{entry!r} holds more than {MOST_FILES:,} files, all of which would be digested"
            scope.child(i).error("skill-directory", message, "name the directory that holds the skills")


def check_disabled(loading: Loading) -> None:
    """Note entries of `config.disabled_skills` that switch nothing off: a misspelt skill would stay offered."""
    config = loading.file.config
    if not config.disabled_skills:
        return  # to know the skills, each has to be read
    listed = [resolve_path(loading.directory, entry) for entry in config.skill_directories if entry != NONE]
    known = {target.name for target in iter_targets([*listed, *_default_roots(loading)])}
    known |= {loading.file.skill, *(path.name for path in listed)}
    for index, entry in enumerate(config.disabled_skills):
        scope = loading.at("config", "disabled_skills", index)
        there = resolve_path(loading.directory, entry).exists()
        if entry == ALL or there or fold_name(entry) in map(fold_name, known):
            continue
        if set(entry) & set("/\\"):
            message = f"there is no directory {entry!r}, so this switches nothing off"
            scope.warn("skill-directory", message, "paths are relative to the suite's directory")
        elif nearest_name(entry, known):
            message = f"there is no skill {entry!r}, so this switches nothing off"
            scope.warn("skill-not-found", message, did_you_mean(entry, known))


def _is_vast(directory: Path) -> bool:
    """Return whether a directory holds more files than those of skills, such as that of a whole disk."""
    counts = accumulate(len(files) for _, _, files in os.walk(directory))
    return any(count > MOST_FILES for count in counts)


def check_required(loading: Loading, paths: tuple[Path, ...]) -> None:
    """Note required skills that no listed directory holds."""
    config = loading.file.config
    if not config.required_skills or loading.skills_off:
        return
    where = loading.at("config", "required_skills")
    if loading.version.scenario and not loading.file.skill and not config.skill_directories:
        message = "a scenario without a skill needs config.skill_directories to look in"
        where.error("required-skill", message)
        return
    if not paths:
        if not loading.document.has_error("config", "skill_directories"):
            where.error("required-skill", "needs config.skill_directories to look in")
        return
    report = find_required_skills(config.required_skills, paths, disabled_skills(loading))
    loading.problems.extend(report.problems)
    if report.missing:
        searched = ", ".join(display_path(path) for path in report.searched)
        meant = [guess for name in report.missing if (guess := nearest_name(name, report.found))]
        found = f"did you mean {', '.join(meant)}?" if meant else f"found {', '.join(report.found) or 'none'}"
        message = f"required skills are missing: {', '.join(report.missing)}"
        hint = f"{found}; searched {searched}, and the directories directly below"
        where.report("required-skill", message, hint, warning=loading.hooks_may_create)


def resolve_path(base: Path, entry: str) -> Path:
    """Return the path that an entry of a suite means, relative to a directory."""
    return make_absolute(base / expand_home(entry.replace("\\", "/")))
