"""One broken suite: its files, how it is called, and every line that the program must answer with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.support.program import write_tree

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
    """`says`: the lines on standard error, in order, without the count that follows mistakes in files."""

    name: str
    files: Mapping[str, Content]
    says: tuple[str, ...]
    args: tuple[str, ...] = ("eval.yaml",)

    @property
    def stderr(self) -> str:
        """All that stands on standard error."""
        if self.says[0].startswith("Error: "):
            return "\n".join(self.says) + "\n"
        count = sum(": warning: " not in line for line in self.says)
        lines = [*self.says, f"{count} {'mistake' if count == 1 else 'mistakes'}; nothing was run"]
        return "\n".join(lines) + "\n"

    def write(self, root: Path) -> None:
        """Write the files. A callable makes its path itself (a link, a directory, a pipe)."""
        for name, content in self.files.items():
            if isinstance(content, str | bytes):
                write_tree(root, {name: content})
            else:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                content(root / name)


def case(
    name: str,
    *says: str,
    suite: str = SUITE,
    task: str | None = TASK,
    files: Mapping[str, Content] | None = None,
    args: Sequence[str] = ("eval.yaml",),
) -> Case:
    """Return a case: `suite` is eval.yaml, `task` is t.yaml (None: there is none), `files` the others."""
    own: dict[str, Content] = {"eval.yaml": suite}
    if task is not None:
        own["t.yaml"] = task
    return Case(name, {**own, **(files or {})}, says, tuple(args))


def tail(text: str) -> str:
    """Return the default suite with more keys behind it, from line 4 on."""
    return SUITE + text


def config(*lines: str) -> str:
    """Return a suite whose `config` has more keys, from line 5 on."""
    return "\n".join(
        ["name: s", "config:", "  executor: mock", "  model: m", *(f"  {line}" for line in lines), "tasks: [t.yaml]", ""]
    )


def grader(kind: str, config: str) -> str:
    """Return a suite with one grader; its config starts in line 5."""
    return SUITE + f"graders:\n  - {{name: g, type: {kind}, config: {config}}}\n"


def link(target: str) -> Callable[[Path], None]:
    """Make a symbolic link."""
    return lambda path: path.symlink_to(target)


def directory(path: Path) -> None:
    """Make a directory."""
    path.mkdir(parents=True)


def pipe(path: Path) -> None:
    """Make a named pipe, which never ends for whoever reads it."""
    import os

    os.mkfifo(path)
