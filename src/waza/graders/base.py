"""The base class of graders: a struct whose fields are the keys of its `config`, with one method.

A built-in grader is one file in this package, and one line in `waza.graders.TYPES`; a grader of another distribution
is an entry point in the group `waza.graders`. Its fields are read from YAML, validated and documented; rules that
types and limits cannot express go into `check`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import msgspec

from waza.kit.files import is_inside
from waza.kit.template import fill
from waza.model.base import Keys
from waza.model.observation import Observation
from waza.model.verdict import BuiltGrader, Helpers, Verdict
from waza.problem import Code


class ConfigMistake(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake in a grader's config, which waza reports with its place in the file."""

    code: Code = "grader-config"
    """The kind of mistake: a code that `waza explain` lists."""
    path: tuple[str | int, ...] = ()
    """The keys and indexes that lead to the value from `config`, such as `("limits", 0)`; empty: the config as
    a whole."""
    message: str
    """What is wrong."""
    hint: str = ""
    """What to do."""
    warning: bool = False
    """The suite can be run nevertheless."""

    @property
    def text(self) -> str:
        """The message, with the hint if there is one."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class ExactName(msgspec.Struct, frozen=True):
    """A name that is compared case-sensitively, the kind of thing it names, and its path in the config."""

    kind: Literal["skill", "tool", "MCP server"]
    """What it names."""
    text: str
    """The name."""
    path: tuple[str | int, ...] = ()
    """Where it is in the config."""


def list_exact_names(kind: Literal["skill", "tool"], **lists: list[str]) -> Iterator[ExactName]:
    """Yield an ExactName for each entry of lists, which are passed by their config keys."""
    for key, names in lists.items():
        yield from (ExactName(kind, name, (key, i)) for i, name in enumerate(names))


class GraderLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a grader is declared, and what there is."""

    base: Path = Path()
    """The directory of the suite; paths in a config are relative to it, then to the current directory."""
    fixtures: Path = Path()
    """The fixtures of the suite (`--context-dir`)."""
    module: Path | None = None
    """The directory of the module of a grader from elsewhere, outside of which it finds no files; None for
    others."""
    judge: bool = True
    """Whether the executor of the suite has a judge."""

    def find(self, path: str) -> Path | None:
        """Return the file or directory of a path in the config, or None if it does not exist."""
        try:
            given = Path(path).expanduser() if path == "~" or path.startswith("~/") else Path(path)
            if self.module is not None:
                path_inside = self.base / given
                return path_inside if _is_plain(path_inside) and is_inside(self.module, path_inside) else None
            candidates = [given] if given.is_absolute() else [self.base / given, Path.cwd() / given]
            return next(filter(_is_plain, candidates), None)
        except (OSError, RuntimeError, ValueError):
            return None  # no file can have such a name


def _is_plain(path: Path) -> bool:
    """Return whether a path is a file or directory; reading a pipe or a device may never end."""
    return path.is_file() or path.is_dir()


class Grader(Keys, frozen=True, kw_only=True):
    """Base class of all graders. Subclass it, declare the config keys as fields, and implement `grade`.

    The methods are called in this order: `check`, `check_variables` and `exact_names` when a suite is loaded;
    `resolve_paths` once after that; `fill_variables` for each task with variables; then `grade` for each answer.
    """

    strict_keys: ClassVar[bool] = True
    """An unknown key of the config is an error."""
    reads_workspace: ClassVar[bool] = False
    """The grader reads the workspace: one is created for every task that it grades."""
    reads_changes: ClassVar[bool] = False
    """The grader reads `Observation.files_written`, for which workspaces are hashed."""
    needs_answer: ClassVar[bool] = False
    """The grader needs an answer: it is not called for a conversation that broke."""
    concurrent: ClassVar[bool] = False
    """The grader changes nothing: it can run at the same time as its neighbours."""
    accepts_empty_variables: ClassVar[bool] = False
    """The grader still checks something if a variable in its config is empty."""
    secret_variables: ClassVar[tuple[str, ...]] = ()
    """Environment variables with keys of the grader, which are hidden from agents."""

    @property
    def repeatable(self) -> bool:
        """Whether the same answer always gets the same verdict, so that verdicts can be cached. Default: True."""
        return True

    @property
    def needs_session(self) -> bool:
        """Whether the grader continues the agent's session, so that it cannot run after it has ended. Default: False."""
        return False

    @property
    def asks_judge(self) -> bool:
        """Whether the verdict is that of a model that the grader asks. Default: if it requires the executor's judge."""
        return "judge" in self.required_capabilities()

    @property
    def extra_digest(self) -> str:
        """A digest of what verdicts depend on besides the config and files; verdicts are not reused when it changes."""
        return ""

    @property
    def is_pinned(self) -> bool:
        """Whether config, files and `extra_digest` are all that verdicts depend on; a resumed run warns if not. Default: True."""
        return True

    def extra_files(self) -> Sequence[Path]:
        """Return files and folders that verdicts depend on besides those named in the config. Default: none."""
        return ()

    def required_capabilities(self) -> Mapping[str, str]:
        """Return the names of executor capabilities without which a verdict would be meaningless. Default: none.

        Each is mapped to the config key that requires it, or to "" if the grader as a whole does.
        """
        return {}

    def exact_names(self) -> Iterator[ExactName]:
        """Yield the names that are compared case-sensitively, so that a wrong case is warned about. Default: none."""
        yield from ()

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Yield the mistakes that types cannot express, without running anything. Default: none."""
        del location
        yield from ()

    def check_variables(self) -> Iterator[ConfigMistake]:
        """Yield a mistake for each reference to a variable whose value would be read as code. Default: none."""
        yield from ()

    def fill_variables(self, variables: Mapping[str, str]) -> Grader:
        """Return a copy with references to variables replaced by their values.

        Raises TemplateError for an unknown variable.
        """
        grader: Grader = fill(self, variables)
        return grader

    def resolve_paths(self, location: GraderLocation) -> Grader:
        """Return a copy with absolute paths. Called once, after `check` found no error. Default: no change."""
        del location
        return self

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict | Awaitable[Verdict]:
        """Return the verdict on an answer. Raises GraderError if none can be reached, which is never a pass."""
        raise NotImplementedError


def asks_judge(built: BuiltGrader) -> bool:
    """Tell whether the verdict of a grader is that of a judge, be it the executor's or another one."""
    return isinstance(built.grader, Grader) and built.grader.asks_judge


def requires_judge(built: BuiltGrader) -> bool:
    """Tell whether a grader asks the judge of the executor, and no other: the one that can be scripted, and has a price."""
    return isinstance(built.grader, Grader) and "judge" in built.grader.required_capabilities()
