"""How many tokens a file may have: by `tokens.limits` of `.waza.yaml`, `.token-limits.json`, or the built-in limits.

An override names a file by its path or the end of that; a default is a pattern, of which the most specific one counts.
In patterns `*` stays within a directory, `**` crosses directories, and one without a slash matches in any directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from waza.errors import UsageError
from waza.kit.git import find_work_tree
from waza.problem import display_path
from waza.suite.definition import SKILL_FILE
from waza.suite.project import find_project

if TYPE_CHECKING:
    from waza.model.loaded import Project

LEGACY_FILE = ".token-limits.json"
LONGEST_PATTERN = 500  # characters
FALLBACK = 2000  # tokens of a file that no pattern matches
_LEVELS = 10  # directories that are searched for the SKILL.md of a file

DEFAULTS: Mapping[str, int] = MappingProxyType(
    {"SKILL.md": 500, "references/**/*.md": 1000, "docs/**/*.md": 1500, "*.md": 2000}
)
OVERRIDES: Mapping[str, int] = MappingProxyType({"README.md": 3000, "CONTRIBUTING.md": 2500})


class TokenLimit(msgspec.Struct, frozen=True):
    """The limit of a file, and the pattern or path that sets it (empty: none does)."""

    tokens: int
    pattern: str = ""


class TokenLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a project. `legacy` is the file that they were read from where that is a `.token-limits.json`."""

    defaults: Mapping[str, int] = DEFAULTS
    overrides: Mapping[str, int] = OVERRIDES
    fallback: int = FALLBACK
    legacy: Path | None = None

    def of(self, *paths: str) -> TokenLimit:
        """Return the limit of a file that is known by these paths, each relative to a directory, with slashes."""
        names = [str(PurePosixPath(path)) for path in paths]
        for name, tokens in self.overrides.items():
            wanted = str(PurePosixPath(name))
            if any(path == wanted or path.endswith(f"/{wanted}") for path in names):
                return TokenLimit(tokens, name)
        for pattern in sorted(self.defaults, key=_specificity, reverse=True):
            if any(_compile(pattern).fullmatch(path) for path in names):
                return TokenLimit(self.defaults[pattern], pattern)
        return TokenLimit(self.fallback)


class _LegacyKeys(msgspec.Struct, frozen=True):
    """The keys of `.token-limits.json`."""

    defaults: dict[str, int] = {}
    overrides: dict[str, int] = {}


def read_limits(project: Project, directory: Path) -> TokenLimits:
    """Return the limits that hold in the directory of a skill. Raises UsageError for limits that cannot be used."""
    keys = project.keys.tokens
    if keys.limits is not None:
        _check_patterns([*keys.limits.defaults, *keys.limits.overrides], ".waza.yaml")
        return TokenLimits(
            defaults=keys.limits.defaults, overrides=keys.limits.overrides, fallback=keys.fallbackLimit
        )
    legacy = directory / LEGACY_FILE
    if not legacy.is_file():
        return TokenLimits(fallback=keys.fallbackLimit)
    name = display_path(legacy)
    try:
        read = msgspec.convert(json.loads(legacy.read_bytes()), _LegacyKeys)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{name}: these limits cannot be read: {error}") from error
    _check_patterns([*read.defaults, *read.overrides], name)
    return TokenLimits(
        defaults=read.defaults, overrides=read.overrides, fallback=keys.fallbackLimit, legacy=legacy
    )


def _check_patterns(patterns: Iterable[str], file: str) -> None:
    for pattern in patterns:
        if len(pattern) > LONGEST_PATTERN:
            raise UsageError(f"{file}: a pattern has more than {LONGEST_PATTERN} characters: {pattern[:40]}…")


def _specificity(pattern: str) -> int:
    """Return how exactly a pattern names files, as the reference program does."""
    pairs = pattern.count("**")
    stars = pattern.count("*") - 2 * pairs
    exact = 0 if "*" in pattern else 10_000
    return exact + 100 * pattern.count("/") + 10 * stars - 50 * pairs + len(pattern)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    """Return a pattern as a regular expression of ours, in which only stars have a meaning."""
    parts = re.split(r"(\*\*/|\*\*|\*)", pattern.removeprefix("./"))
    meanings = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*"}
    text = "".join(meanings.get(part, re.escape(part)) for part in parts)
    return re.compile(text if "/" in pattern else f"(?:.*/)?{text}", re.DOTALL)


class FileLimits:
    """The limits of files, each by the project and the skill that it is in.

    `has_skill` tells of a directory whether it has a SKILL.md. `legacy` are the `.token-limits.json` that were read.
    """

    def __init__(self, has_skill: Callable[[Path], bool] | None = None) -> None:
        self.legacy: list[Path] = []
        self._has_skill = has_skill or (lambda directory: (directory / SKILL_FILE).is_file())
        self._known: dict[Path, tuple[Path, TokenLimits]] = {}
        self._skills: dict[Path, Path | None] = {}

    def of(self, path: Path, root: Path) -> TokenLimit:
        """Return the limit of a file (absolute path); `root` is where it was looked for, if it is in no skill.

        Patterns are tried on its path below the skill, or the root, and below the project or repository. Raises UsageError for limits
        that cannot be used, and SuiteError for a broken `.waza.yaml`.
        """
        base = self.skill_of(path) or root
        if base not in self._known:
            project = find_project(base)
            limits = read_limits(project, base)
            if limits.legacy is not None:
                self.legacy.append(limits.legacy)
            top = project.directory if project.found else find_work_tree(base / SKILL_FILE) or Path.cwd()
            self._known[base] = (top, limits)
        top, limits = self._known[base]
        below = [path.relative_to(one).as_posix() for one in (base, top) if path.is_relative_to(one)]
        return limits.of(*below)

    def skill_of(self, path: Path) -> Path | None:
        """Return the directory of the skill that a file is in: the nearest one above it that has a SKILL.md."""
        directory = path.parent
        if directory not in self._skills:
            around = [directory, *directory.parents][:_LEVELS]
            self._skills[directory] = next(filter(self._has_skill, around), None)
        return self._skills[directory]
