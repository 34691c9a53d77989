"""`waza new skill`: a skill with a suite that runs on the mock. What is there already stays."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import NewExecutor, Place, schema_comment
from waza.author.scaffold.skill_text import SkillText, description, folded, prompts_of
from waza.author.scaffold.suite import NewSuite, add_suite, add_trigger_tests
from waza.author.scaffold.template import fill_file
from waza.errors import UsageError
from waza.problem import display_path
from waza.registry.scalar import format_scalar
from waza.suite.definition import SKILL_FILE, read_definition

UNRELATED = ("What is the capital of Peru?", "Write a birthday greeting for my neighbour.")
"""Prompts that have nothing to do with any skill."""

_NO_TOOLS = """\
behavior:
  forbidden_tools: [skill, view, edit, create, bash]"""
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


class SkillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a skill: those to write, and those that are there and stay. `suite` is its `eval.yaml`."""

    files: NewFiles
    kept: tuple[Path, ...]
    definition: Path
    suite: Path


def skill_file(place: Place, name: str) -> Path:
    """Return the path of the definition of a new skill."""
    return place.skills / name / SKILL_FILE


def suite_file(place: Place, name: str) -> Path:
    """Return the path of the suite of a new skill: below itself where the project has no directory of suites."""
    directory = place.evals / name if place.has_skills else place.skills / name / "evals"
    return directory / place.eval_file


def is_kept(definition: Path) -> bool:
    """Return whether a skill has a definition that can stay."""
    return _has_text(definition) and not unusable(definition)


def unusable(definition: Path) -> str:
    """Return why what a definition file holds cannot be used; an empty text where it can, or where it holds nothing."""
    if not _has_text(definition):
        return ""
    errors = [one for one in read_definition(definition).problems if one.severity == "error"]
    return str(errors[0]) if errors else ""


def plan_skill(text: SkillText, place: Place, executor: NewExecutor, *, judge: bool = False) -> SkillPlan:
    """Return the files of a new skill, and of one that lacks some of them; a definition that is not usable is replaced.

    `judge`: its first task is graded by a model as well.
    """
    definition, file = skill_file(place, text.name), suite_file(place, text.name)
    files, wanted = NewFiles(), NewFiles()
    suite = NewSuite(
        place=place,
        executor=executor,
        file=file,
        kind="skill",
        target=text.name,
        target_directory=definition.parent,
        description=f"Whether the skill {text.name} does what it is for, and nothing else",
        positive=prompts_of(text.triggers),
        negative=UNRELATED,
    )
    add_skill_file(wanted, definition, text)
    add_suite(wanted, suite)
    if not suite.file.exists():  # tests that somebody took away stay away
        add_trigger_tests(wanted, suite)
    if not _has_files(place.task_file(suite.directory, "x").parent):
        _add_tasks(wanted, suite, text, judge=judge)
    if not _has_files(suite.directory / "fixtures"):
        wanted.add(suite.directory / "fixtures" / "sample.py", fill_file("skill/fixtures/sample.py", {}))
    kept = [path for path in wanted if path.exists() and (path != definition or is_kept(path))]
    for path in wanted:
        if path not in kept:
            files.add(path, wanted.text(path))
    return SkillPlan(files=files, kept=tuple(kept), definition=definition, suite=suite.file)


def add_skill_file(files: NewFiles, path: Path, text: SkillText) -> None:
    """Add the definition of a skill."""
    values = {"name": text.name, "title": text.title, "description": folded(description(text))}
    files.add(path, fill_file("skill/SKILL.md", values))


def _has_text(path: Path) -> bool:
    return path.is_file() and bool(path.read_bytes().strip())


def _has_files(directory: Path) -> bool:
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{display_path(directory)} is not a directory; move it away")
    return directory.is_dir() and any(directory.iterdir())


def _add_tasks(files: NewFiles, suite: NewSuite, text: SkillText, *, judge: bool) -> None:
    can = suite.executor.capabilities
    if judge and not can.judge:
        raise UsageError(f"the executor {suite.executor.name} has no judge; leave --judge out")
    prompts = {
        "basic-usage": f"Use {text.words} on sample.py. Name the functions that you find there, and what is left open.",
        "edge-case": f"Use {text.words} on empty.txt.",
        "should-not-trigger": "",
    }
    for stem, prompt in prompts.items():
        path = suite.place.task_file(suite.directory, stem)
        values = {
            "schema": schema_comment(path, suite.place.root, "task"),
            "prompt": format_scalar(prompt),
            "judge": _JUDGE if judge else "",
            "judge_script": _JUDGE_SCRIPT if judge else "",
            "behavior": _NO_TOOLS if can.tool_calls else "",
        }
        files.add(path, fill_file(f"skill/tasks/{stem}", values))
