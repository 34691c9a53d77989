"""Agent Skills evals (`evals.json`): prompts, and statements about the result that a judge holds true or not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec

from waza.foreign.imported import FIXTURES, ImportedTask
from waza.foreign.notes import Notes
from waza.foreign.source import MAX_FIXTURE, SourceFolder
from waza.foreign.verbatim import in_config, in_prompt
from waza.kit.decode import Document
from waza.kit.names import unused_name
from waza.kit.text import shorten_middle
from waza.problem import Problem
from waza.suite.read import at

_FILES = "evals/files/"
_NAME = 60  # characters of a task's name
_OF_CHECKS = re.compile(
    "assert|check|criteri|deny|expect|forbid|grade|match|must|never|pattern|regex|reject|require|rubric|scor|threshold|valid",
    re.IGNORECASE,
)
_OF_STATEMENTS = re.compile(r"\.(?:expectations|assertions)\[")
_ONE = """Does the statement below hold for the result of the task?
Look at the reply, and in the workspace where the statement is about files. If you cannot see that it holds, it does not.
Give one verdict.

Statement:
"""
_MATERIAL = "\n\n---\n\n"  # between what a judge is asked and what it is shown
_ALL = """Which of the statements below hold for the result of the task?
Look at the reply, and in the workspace where a statement is about files. If you cannot see that one holds, it does not.
Give one verdict for each statement, and name it in your reason.

Statements:
"""
_OUTPUT = """Is the result of the task what is described below?
Look at the reply, and in the workspace where the description is about files. If you cannot see it, it is not.
Give one verdict.

Description:
"""


def stated(prompt: str) -> str:
    """Return the statement that a judge was asked about with a prompt of an imported eval; empty for any other."""
    if not prompt.startswith(_ONE):
        return ""
    return prompt.removeprefix(_ONE).partition(_MATERIAL)[0].strip()


class Statement(msgspec.Struct, kw_only=True):
    """A statement as an object; `check`, `description` and `text` all hold what is stated."""

    name: str = ""
    id: str = ""
    description: str = ""
    check: str = ""
    text: str = ""


class Eval(msgspec.Struct, kw_only=True):
    """One of `evals`."""

    id: str = ""
    name: str = ""
    eval_name: str = ""
    prompt: str
    expected_output: str = ""
    files: list[str] = []
    expectations: list[str | Statement] = []
    assertions: list[str | Statement] = []


class EvalsFile(msgspec.Struct, kw_only=True):
    """The keys of `evals.json`."""

    skill_name: str = ""
    evals: list[Eval]


class EvalTasks(msgspec.Struct, frozen=True, kw_only=True):
    """What the evals of a file come to: tasks, the variables that their prompts use, and fixtures."""

    skill_name: str
    tasks: tuple[ImportedTask, ...]
    inputs: dict[str, str]
    files: dict[str, bytes]


def read_evals(source: SourceFolder, relative: str, notes: Notes, *, one_judge: bool) -> EvalTasks | None:
    """Return the tasks of a file; None after a mistake, which is in `source`.

    The files of evals are below `source.root`, which is the skill's directory. `one_judge`: all statements of an
    eval are asked about at once.
    """
    document = source.read_json(relative)
    if document is None:
        return None
    found, unknown = source.decode(document, EvalsFile, strict=False)
    if found is None:
        return None
    _note_unknown_keys(unknown, notes)
    if not found.evals:
        source.error("missing-key", relative, "has no evals", "add one with a prompt", at(document, "evals"))
    reader = _Reader(source, relative, document, notes, one_judge=one_judge)
    tasks = tuple(reader.task(number, one) for number, one in enumerate(found.evals))
    if any(task.keys["graders"] for task in tasks):
        message = (
            "the judge sees the reply and the workspace, and not what the agent did; there it reads all of it"
        )
        notes.add(document.file, "statements", message, unchecked=True)
    if reader.placed:
        message = (
            "files are copied into the workspace, without evals/files/; there the agent is given their paths"
        )
        notes.add(document.file, "files", message, count=len(reader.placed))
    return EvalTasks(skill_name=found.skill_name, tasks=tasks, inputs=reader.inputs, files=reader.files)


def _note_unknown_keys(unknown: list[Problem], notes: Notes) -> None:
    for problem in unknown:
        key = problem.path.rpartition(".")[2]
        notes.add(
            problem.file,
            f"key {key!r}",
            "is not known, and is left out",
            line=problem.line,
            unchecked=bool(_OF_CHECKS.search(key) or _OF_STATEMENTS.search(problem.path)),
        )


class _Reader:
    """Makes tasks of the evals of one file."""

    def __init__(
        self, source: SourceFolder, relative: str, document: Document, notes: Notes, *, one_judge: bool
    ) -> None:
        self.source, self.relative, self.document, self.notes = source, relative, document, notes
        self.one_judge = one_judge
        self.inputs: dict[str, str] = {}
        self.files: dict[str, bytes] = {}
        self.placed: dict[str, str] = {}  # where a fixture is in workspaces, by its path in the skill
        self.ids: set[str] = set()

    def task(self, index: int, one: Eval) -> ImportedTask:
        """Return the task of an eval."""
        where = ("evals", index)
        label = (one.name or one.eval_name).strip()
        given = f"eval-{one.id or index + 1}"
        if given in self.ids:
            hint = "give each eval its own id"
            self.source.error(
                "duplicate-name", self.relative, f"duplicate id {one.id!r}", hint, at(self.document, *where)
            )
        self.ids.add(given)
        if not one.prompt.strip():
            node = at(self.document, *where, "prompt")
            self.source.error(
                "missing-key", self.relative, "the prompt is empty", "write what the user types", node
            )
        keys: dict[str, Any] = {"id": given, "name": label or _first_words(one.prompt) or given}
        if one.expected_output.strip():
            keys["description"] = one.expected_output
        keys["inputs"] = {"prompt": in_prompt(one.prompt, self.inputs)}
        if files := [{"path": self._place(name, (*where, "files", i))} for i, name in enumerate(one.files)]:
            keys["inputs"]["files"] = files
        keys["graders"] = list(self._graders(one, where))
        if not keys["graders"]:
            self.notes.add(
                self.document.file,
                given,
                "has neither statements nor an expected output, so nothing is checked",
                line=at(self.document, *where).line,
                unchecked=True,
            )
        return ImportedTask(keys=keys, origin=f"{self.relative}#{one.id or index + 1}")

    def _place(self, name: str, where: tuple[str | int, ...]) -> str:
        """Return where a file of an eval is in the workspace; it is read once, and becomes a fixture."""
        path = PurePosixPath(name.replace("\\", "/")).as_posix()
        if path in self.placed:
            return self.placed[path]
        found = len(self.source.problems)
        content = self.source.read(path, MAX_FIXTURE)
        if content is None:
            node = at(self.document, *where)
            self.source.problems[found:] = [
                msgspec.structs.replace(
                    problem,
                    file=self.document.file,
                    line=node.line,
                    column=node.column,
                    message=f"the file {name!r}: {problem.message}",
                    hint=problem.hint or "paths are relative to the directory of the skill",
                )
                for problem in self.source.problems[found:]
            ]
            return path
        short = path.removeprefix(_FILES)
        place = path if short in self.placed.values() else short
        self.placed[path] = place
        self.files[f"{FIXTURES}/{place}"] = content
        return place

    def _graders(self, one: Eval, where: tuple[str | int, ...]) -> Iterator[dict[str, Any]]:
        statements = list(self._statements(one, where))
        taken: set[str] = set()
        if statements and self.one_judge:
            listed = "\n".join(f"{number}. {text}" for number, (_, text) in enumerate(statements, 1))
            yield _judge("expectations", _ALL + listed)
            return
        for number, (label, text) in enumerate(statements, 1):
            name = unused_name(label or f"expectation_{number}", taken, "_")
            taken.add(name)
            yield _judge(name, _ONE + text)
        if not statements and one.expected_output.strip():
            self.notes.add(
                self.document.file,
                "expected_output",
                "is for people there; where an eval has no statements, a judge compares the result with it",
                line=at(self.document, *where).line,
            )
            yield _judge("expected_output", _OUTPUT + one.expected_output)

    def _statements(self, one: Eval, where: tuple[str | int, ...]) -> Iterator[tuple[str, str]]:
        """Yield label and text of each statement, each text once."""
        seen: set[str] = set()
        for key, listed in (("expectations", one.expectations), ("assertions", one.assertions)):
            for i, given in enumerate(listed):
                label, text = ("", given) if isinstance(given, str) else _parts(given)
                if not text.strip():
                    node, hint = at(self.document, *where, key, i), "write what must hold"
                    self.source.error("empty-check", self.relative, "the statement is empty", hint, node)
                elif text not in seen:
                    seen.add(text)
                    yield label.strip(), text


def _parts(given: Statement) -> tuple[str, str]:
    stated = dict.fromkeys(text.strip() for text in (given.description, given.check, given.text))
    return given.name or given.id, "\n".join(filter(None, stated))


def _judge(name: str, prompt: str) -> dict[str, Any]:
    return {"type": "prompt", "name": name, "config": {"prompt": in_config(prompt)}}


def _first_words(text: str) -> str:
    return shorten_middle(" ".join(text.split()), _NAME) if text.strip() else ""
