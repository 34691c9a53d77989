"""What an agent is given of a suite: prompts, the files of its workspace, the skill. Each text has its file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from waza.author.prove.options import ProveOptions
from waza.author.prove.probe import render_prompts
from waza.graders.diff import Diff
from waza.graders.file import File
from waza.graders.text import match_failures
from waza.kit import yaml
from waza.kit.files import safe_join
from waza.kit.template import TemplateError
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.verdict import BuiltGrader
from waza.problem import display_path
from waza.suite.digest import grader_files
from waza.suite.loading import Loading
from waza.suite.read import child
from waza.workspace.prepare import find_repository, list_files

MOST_TASKS = 300
"""Tasks of a suite that are proved, so that the number of runs is bounded: at most 13 a task."""
LONGEST = 200_000  # characters of a file, and of all texts of a suite together

TextKind = Literal["prompt", "fixture", "skill"]


class GivenText(msgspec.Struct, frozen=True, kw_only=True):
    """A text that agents are given. `file` is as it is shown to people; the text begins in `line`, counted from 1."""

    kind: TextKind
    file: str
    line: int = 1
    text: str


def given_texts(loading: Loading, task: Task) -> list[GivenText]:
    """Return the texts that an agent is given with a task; files that cannot be read as text are left out."""
    return [*_prompts(loading, task), *_fixtures(loading, task), *_skill(task)]


def given_files(task: Task) -> list[Path]:
    """Return the files that are copied into the workspaces of a task; none where one is missing."""
    try:
        items = list_files(task)
        instructions = [safe_join(task.fixtures, name) for name in task.instruction_files]
    except (OSError, ValueError):
        return []  # was reported when the suite was loaded
    return [*(item.source for item in items if item.source is not None), *instructions]


def without_missing(task: Task, *, may_appear: bool = False) -> Task:
    """Return a task without the inputs that are not there or not allowed, which were reported when its suite was loaded.

    `may_appear`: hooks run that may make what is not there yet.
    """

    def is_kept(root: Path, name: object) -> bool:
        try:
            return isinstance(name, str) and (safe_join(root, name).exists() or may_appear)
        except (OSError, ValueError):
            return False

    inputs = task.inputs
    files = [one for one in inputs.files if one.content is not None or is_kept(task.fixtures, one.path)]
    context = inputs.context
    if context.get("fixture") and not is_kept(task.home, context["fixture"]):
        context = {key: value for key, value in context.items() if key != "fixture"}
    repos = [one for one in inputs.repos if may_appear or find_repository(task, one).exists()]
    instructions = tuple(name for name in task.instruction_files if is_kept(task.fixtures, name))
    kept = (files, context, repos, instructions)
    if kept == (inputs.files, inputs.context, inputs.repos, task.instruction_files):
        return task
    inputs = msgspec.structs.replace(inputs, files=files, context=context, repos=repos, workdir="")
    return msgspec.structs.replace(task, inputs=inputs, instruction_files=instructions)


def provable_tasks(suite: Suite, options: ProveOptions, most: int | None = MOST_TASKS) -> tuple[Task, ...]:
    """Return the tasks of a suite that are proved, the first `most` or all, without what is missing of them, and without mocks, which nothing calls."""
    hooks = suite.file.hooks
    hooked = options.programs and bool(hooks.before_run or hooks.before_task)
    return tuple(
        msgspec.structs.replace(without_missing(task, may_appear=hooked), command_mocks=(), mcp_mocks=())
        for task in suite.tasks[:most]
    )


def kept_files(task: Task, built: BuiltGrader) -> list[str]:
    """Return the files of the workspace that a grader wants to stay as, or where, they are given to the agent."""
    grader = built.grader
    if not isinstance(grader, Diff | File):
        return []
    try:
        items = list_files(task)
        given = {one.path: one.source.read_bytes() if one.source else one.content for one in items}
        if isinstance(grader, Diff):
            snapshots = {path.read_bytes() for path in grader_files(built)}
            return [
                one.path for one in grader.expected_files if one.snapshot and given.get(one.path) in snapshots
            ]
    except (OSError, ValueError):
        return []  # was reported when the suite was loaded
    matching = (
        entry.path
        for entry in grader.content_patterns
        if entry.path in given
        and not [*match_failures(entry.must_match, given[entry.path].decode("utf-8", "replace"), wanted=True)]
    )
    return [*(path for path in grader.must_exist if path in given), *matching]


def _prompts(loading: Loading, task: Task) -> Iterator[GivenText]:
    row, _, number = task.file.rpartition(":")  # of a dataset: its file and line
    file, line = (row, int(number)) if row and number.isdigit() else (display_path(loading.path), 1)
    follow_ups = list[int]()
    for source in loading.sources:
        if any(one.id == task.id for one in source.tasks):
            root = source.document.root
            node = child(root, "inputs", "prompt") or child(root, "triggers") or root
            block = (
                isinstance(node, yaml.Scalar) and "\n" in node.text
            )  # its text begins below its first line
            file, line = source.document.file, node.line + block
            found = (child(root, "inputs", "follow_up_prompts", i) for i in range(len(task.follow_ups)))
            follow_ups = [node.line if node else line for node in found]
    try:
        prompts = render_prompts(task)
    except TemplateError:
        return  # was reported when the suite was loaded
    for text, at in zip(prompts, [line, *follow_ups, *(line for _ in prompts)], strict=False):
        yield GivenText(kind="prompt", file=file, line=max(at, 1), text=text)


def _fixtures(loading: Loading, task: Task) -> Iterator[GivenText]:
    for file in task.inputs.files:
        if file.content is not None:
            file_of_task = task.file or display_path(loading.path)
            yield GivenText(kind="fixture", file=file_of_task, text=file.content)
    for path in given_files(task):
        text = read_text(path)
        if text:
            yield GivenText(kind="fixture", file=display_path(path), text=text)


def _skill(task: Task) -> Iterator[GivenText]:
    if task.target is not None and not task.no_skills:
        text = read_text(task.target.path)
        if text:
            yield GivenText(kind="skill", file=display_path(task.target.path), text=text)


@lru_cache(maxsize=256)
def read_text(path: Path) -> str:
    """Return the beginning of a file of text; an empty text for any other."""
    try:
        with path.open("rb") as stream:
            data = stream.read(LONGEST)
        return "" if b"\0" in data else data.decode("utf-8", "ignore")
    except (OSError, ValueError):
        return ""
