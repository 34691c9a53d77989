"""One broken suite: its files, how it is called, and every line that the program must answer with."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.support.program import write_tree

from waza.graders import TYPES

SUITE = """\
name: s
config: {executor: mock, model: m}
tasks: [t.yaml]
"""
TASK = """\
id: t
inputs: {prompt: hi}
"""

Content: TypeAlias = str | bytes | Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """`says`: the lines on standard error, in order, without the count that follows mistakes in files.

    `{types}` stands for all types of graders.
    """

    name: str
    files: Mapping[str, Content]
    says: tuple[str, ...]
    args: tuple[str, ...]

    @property
    def stderr(self) -> str:
        """All that stands on standard error."""
        lines = list(self.says)
        if not lines[-1].startswith("Error: "):
            count = sum(": warning: " not in line for line in lines)
            lines.append(f"{count} {'mistake' if count == 1 else 'mistakes'}; nothing was run")
        return "\n".join(lines).replace("{types}", ", ".join(sorted(TYPES))) + "\n"

    def write(self, root: Path) -> None:
        """Write the files. A callable makes its path itself: a link, a directory, a pipe."""
        for name, content in self.files.items():
            if isinstance(content, str | bytes):
                write_tree(root, {name: content})
            else:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                content(root / name)


def case(
    name: str,
    *says: str,
    suite: str | bytes = SUITE,
    task: str | bytes | None = TASK,
    files: Mapping[str, Content] | None = None,
    args: Sequence[str] = (),
    target: str = "eval.yaml",
) -> Case:
    """Return a case: `suite` is eval.yaml, `task` is t.yaml (None: there is none), `files` are the others."""
    own: dict[str, Content] = {"eval.yaml": suite}
    if task is not None:
        own["t.yaml"] = task
    return Case(name, {**own, **(files or {})}, says, (target, *args))


def config(*lines: str) -> str:
    """Return the usual suite with more keys in its `config`, from line 5 on."""
    head = ["name: s", "config:", "  executor: mock", "  model: m"]
    return "\n".join([*head, *(f"  {line}" for line in lines), "tasks: [t.yaml]", ""])


def graded(kind: str, keys: str) -> str:
    """Return the usual suite with a grader. Its config starts in line 5, behind the type."""
    return f"{SUITE}graders:\n  - {{name: g, type: {kind}, config: {keys}}}\n"


def rows(more: str = "") -> str:
    """Return a suite whose tasks are the rows of a.csv; more keys start in line 4."""
    return f"name: s\nconfig: {{executor: mock, model: m}}\ntasks_from: a.csv\n{more}"


def inputs(keys: str) -> str:
    """Return a task with these inputs, on line 2."""
    return f"id: t\ninputs: {{{keys}}}\n"


def link(target: str) -> Callable[[Path], None]:
    """Make a symbolic link."""
    return lambda path: path.symlink_to(target)


def directory(path: Path) -> None:
    """Make a directory."""
    path.mkdir(parents=True)


def pipe(path: Path) -> None:
    """Make a named pipe, whose reader waits for a writer that never comes."""
    os.mkfifo(path)


def sparse(size: int) -> Callable[[Path], None]:
    """Make a file of that many bytes which takes no room."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make
