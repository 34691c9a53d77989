"""A skill or custom agent with its suite: which of the files are written, and which are there and stay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import schema_comment
from waza.author.scaffold.suite import NewSuite, add_suite, add_trigger_tests
from waza.author.scaffold.template import fill_file
from waza.errors import UsageError
from waza.problem import display_path
from waza.registry.scalar import format_scalar
from waza.suite.definition import read_definition

SAMPLE = {"sample.py": "target/sample.py"}
"""The fixture that the tasks of new skills and agents have, with its template."""

UNRELATED = ("What is the capital of Peru?", "Write a birthday greeting for my neighbour.")
"""Prompts that have nothing to do with any skill."""

_JUDGE = """\
- type: prompt
  name: is_useful
  config:
    prompt: |
      Judge two criteria, each with one call: the answer says what it rests on, with names from the file; it says
      what is left open."""
_JUDGE_SCRIPT = """\
judge:
  is_useful: [{pass: It names both functions.}, {pass: It asks about a discount above 1.}]"""


class TargetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a skill or agent: those to write, and those that are there and stay."""

    files: NewFiles
    kept: tuple[Path, ...]
    definition: Path
    suite: Path


def plan_target(
    definition: Path,
    content: str,
    suite: NewSuite,
    tasks: Mapping[str, str],
    *,
    judge: bool = False,
    more: Mapping[Path, str] = MappingProxyType({}),
) -> TargetPlan:
    """Return the files of a new skill or agent, and of one that lacks some of them.

    A definition that cannot be used is replaced by `content`. Tasks and fixtures are written where their directories are empty;
    `tasks` are their templates, each with a prompt. `judge`: the first one is graded by a model as well. `more` are further files.
    """
    wanted = NewFiles()
    wanted.add(definition, content)
    add_suite(wanted, suite)
    if not suite.file.exists():  # tests that somebody took away stay away
        add_trigger_tests(wanted, suite)
    if not _has_files(suite.place.task_file(suite.directory, "x").parent):
        _add_tasks(wanted, suite, tasks, judge=judge)
    if not _has_files(suite.directory / "fixtures"):
        for name, template in SAMPLE.items():
            wanted.add(suite.directory / "fixtures" / name, fill_file(template, {}))
    for path, text in more.items():
        wanted.add(path, text)
    kept = [path for path in wanted if path.exists() and (path != definition or is_kept(path))]
    return TargetPlan(files=wanted.without(kept), kept=tuple(kept), definition=definition, suite=suite.file)


def is_kept(definition: Path) -> bool:
    """Return whether there is a definition that can stay."""
    return _has_text(definition) and not unusable(definition)


def unusable(definition: Path) -> str:
    """Return why what a definition file holds cannot be used; an empty text where it can, or where it holds nothing."""
    if not _has_text(definition):
        return ""
    errors = [one for one in read_definition(definition).problems if one.severity == "error"]
    return str(errors[0]) if errors else ""


def _has_text(path: Path) -> bool:
    return path.is_file() and bool(path.read_bytes().strip())


def _has_files(directory: Path) -> bool:
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{display_path(directory)} is not a directory; move it away")
    return directory.is_dir() and any(directory.iterdir())


def _add_tasks(files: NewFiles, suite: NewSuite, tasks: Mapping[str, str], *, judge: bool) -> None:
    suite.executor.require_judge(judge)
    for template, prompt in tasks.items():
        stem = template.rpartition("/")[2]
        path = suite.place.task_file(suite.directory, stem)
        values = {
            "schema": schema_comment(path, suite.place.root, "task"),
            "kind": suite.kind,
            "prompt": format_scalar(prompt),
            "judge": _JUDGE if judge else "",
            "judge_script": _JUDGE_SCRIPT if judge else "",
            "behavior": "" if not suite.executor.sees_calls else _NO_TOOLS,
        }
        files.add(path, fill_file(template, values))


_NO_TOOLS = """\
behavior:
  forbidden_tools: [skill, view, edit, create, bash]"""
