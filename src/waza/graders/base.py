"""What a grader is: a struct whose fields are the keys of its `config`, with one method.

A new grader is one file beside this one, and one line in `waza.graders.TYPES`. Its fields are read from
YAML, checked and documented; what types and limits cannot say goes into `check`.
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
from waza.model.verdict import Helpers, Verdict
from waza.problem import Code


class ConfigMistake(msgspec.Struct, frozen=True, kw_only=True):
    """A mistake in a grader's config: the key it is at, what is wrong and how to mend it.

    `code` is the kind of the mistake (see `waza.problem_codes`).
    """

    code: Code = "grader-config"
    path: tuple[str | int, ...] = ()
    message: str
    hint: str = ""
    warning: bool = False

    @property
    def text(self) -> str:
        """What is wrong, and what to do if that is known."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class ExactName(msgspec.Struct, frozen=True):
    """A name that is compared letter by letter, what it is the name of, and the key in the config."""

    kind: Literal["skill", "tool", "MCP server"]
    text: str
    path: tuple[str | int, ...] = ()


def list_exact_names(kind: Literal["skill", "tool"], **lists: list[str]) -> Iterator[ExactName]:
    """Yield the names in lists, which are given by their keys."""
    for key, names in lists.items():
        yield from (ExactName(kind, name, (key, i)) for i, name in enumerate(names))


class GraderLocation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a grader is declared: paths in its config are sought in `base`, then in the current directory.

    `judge` tells whether the suite's executor can be asked for verdicts.
    `fixtures` is the suite's fixtures directory (`--context-dir`). `module` is set for a grader from
    elsewhere: it finds nothing outside of its module.
    """

    base: Path = Path()
    fixtures: Path = Path()
    module: Path | None = None
    judge: bool = True

    def find(self, path: str) -> Path | None:
        """Return the existing file or directory that a path in a config means, or None."""
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
    """Tell files and directories; reading a pipe or a device may never end."""
    return path.is_file() or path.is_dir()


class Grader(Keys, frozen=True, kw_only=True):
    """Base of all graders. Subclass it, add the config keys as fields, and write `grade`."""

    strict_keys: ClassVar[bool] = True
    reads_workspace: ClassVar[bool] = False  # True: a workspace is made for every task that is graded so
    reads_changes: ClassVar[bool] = False  # True: it is told which files the agent wrote, which costs hashing

    # It judges an answer; a conversation that broke is not shown to it.
    needs_answer: ClassVar[bool] = False
    # It only asks, and changes nothing: it need not wait for its neighbours.
    concurrent: ClassVar[bool] = False
    # What it checks still says something where a variable in its config is empty.
    accepts_empty_variables: ClassVar[bool] = False
    # Variables with keys of its own, which a real agent is not to see.
    secret_variables: ClassVar[tuple[str, ...]] = ()

    @property
    def repeatable(self) -> bool:
        """Whether the same answer always gets the same verdict, so that verdicts can be kept."""
        return True

    @property
    def needs_session(self) -> bool:
        """Whether it asks in the agent's own session, so that it cannot be asked when that is over."""
        return False

    @property
    def extra_digest(self) -> str:
        """What verdicts hang on besides the config and the files that it names; resume and cache ask for it."""
        return ""

    @property
    def is_pinned(self) -> bool:
        """Whether all that decides is in the config, in `extra_files` and in `extra_digest`; a resumed run says what is not."""
        return True

    def extra_files(self) -> Sequence[Path]:
        """Return the files and folders that verdicts hang on besides the files that the config names."""
        return ()

    def required_capabilities(self) -> Mapping[str, str]:
        """Return the capabilities of the executor without which the verdict would say nothing of the agent.

        Each is mapped to the config key that asks for it, or to "" where the grader as a whole does.
        """
        return {}

    def exact_names(self) -> Iterator[ExactName]:
        """Yield the names that it compares letter by letter, so that wrong cases are warned of. Default: none."""
        yield from ()

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Yield the mistakes that types cannot say, without running anything. Default: none."""
        del location
        yield from ()

    def check_variables(self) -> Iterator[ConfigMistake]:
        """Yield the references to variables whose values would be read as code. Default: none."""
        yield from ()

    def fill_variables(self, variables: Mapping[str, str]) -> Grader:
        """Return the grader with the values of variables in place of the references to them."""
        grader: Grader = fill(self, variables)
        return grader

    def resolve_paths(self, location: GraderLocation) -> Grader:
        """Return the grader with its paths made absolute. Called once, after `check` found no error."""
        del location
        return self

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict | Awaitable[Verdict]:
        """Judge what was seen. Raise GraderError where no verdict can be reached."""
        raise NotImplementedError
