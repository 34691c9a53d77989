"""A suite, tasks and fixtures that a model suggests: read from its answer, and checked by the loader of suites.

Nothing of it is written here. The check happens in a temporary copy of the directory that the files are for; what is wrong
with the files that are there already is not held against the suggestion.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from waza.author.improve.ask import AskError
from waza.errors import SuiteError
from waza.kit import yaml
from waza.kit.files import is_inside, safe_join
from waza.kit.json_objects import find_objects
from waza.kit.tempdirs import ProcessTempdir
from waza.kit.text import pluralize
from waza.kit.tree_copy import copy_tree
from waza.model.loaded import Suite
from waza.problem import Problem, display_path
from waza.report.words import one_line
from waza.suite.detect import DetectedSkill
from waza.suite.load import examine, sort_problems
from waza.suite.loading import LoadOptions

_MOST_FILES = 50
_LONGEST = 200_000  # characters of a file
_PROGRAMS = ("program", "wgp")  # types of graders that start what they name
_FENCED = re.compile(r"^```[\w-]*\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)


class SuggestedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a model suggests: its path below the output directory, and how sure the model is, and why."""

    path: str
    content: str
    confidence: str = ""
    rationale: str = ""


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """What a model suggests. `suite` is the text of the suite file, `keeps_suite`: one is there, and stays.

    `problems` are the mistakes that the loader finds in it; without any it is valid. `notes` are its warnings, and what of
    the answer was left out.
    """

    output_dir: Path
    suite_file: str
    suite: str
    keeps_suite: bool
    tasks: tuple[SuggestedFile, ...]
    fixtures: tuple[SuggestedFile, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether `waza run` could load it."""
        return not self.problems

    @property
    def files(self) -> dict[Path, str]:
        """The files to write, by their absolute paths."""
        own = {} if self.keeps_suite else {self.output_dir / self.suite_file: self.suite}
        return own | {
            safe_join(self.output_dir, one.path): one.content for one in (*self.tasks, *self.fixtures)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "output_dir": display_path(self.output_dir),
            "valid": self.is_valid,
            "problems": list(self.problems),
            "notes": list(self.notes),
            "eval_yaml": self.suite,
            "keeps_eval": self.keeps_suite,
            "tasks": msgspec.to_builtins(self.tasks),
            "fixtures": [{"path": one.path, "content": one.content} for one in self.fixtures],
        }


def read_suggestion(answer: str, output_dir: Path, suite_file: str) -> Suggestion:
    """Return what an answer suggests, not checked yet. Raises AskError for an answer that cannot be used.

    That is one without tasks, and one with a file whose path leads out of the directory, or that two entries have.
    """
    value = _read_mapping(answer)
    keeps_suite = (output_dir / suite_file).is_file()
    suite = value.get("eval_yaml")
    if not keeps_suite and not (isinstance(suite, str) and suite.strip()):
        raise AskError("the answer has no text for 'eval_yaml'")
    tasks = tuple(_read_files(value.get("tasks"), "tasks", output_dir))
    fixtures = tuple(_read_files(value.get("fixtures"), "fixtures", output_dir))
    if not tasks:
        raise AskError("the answer has no tasks")
    names = [suite_file, *(one.path for one in (*tasks, *fixtures))]
    if again := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise AskError(f"the answer has more than one file {again[0]!r}")
    if len(names) > _MOST_FILES:
        raise AskError(f"the answer has {len(names)} files; {_MOST_FILES} are the most")
    notes = [f"{suite_file} is there and is kept as it is"] if keeps_suite else []
    return Suggestion(
        output_dir=output_dir,
        suite_file=suite_file,
        suite=_unfence(suite) if isinstance(suite, str) else "",
        keeps_suite=keeps_suite,
        tasks=tasks,
        fixtures=fixtures,
        notes=tuple(notes),
    )


def _read_mapping(answer: str) -> Mapping[str, Any]:
    """Return the mapping that an answer is, in JSON or in YAML, with or without a fence and text around it."""
    found: list[Mapping[str, Any]] = [one for one in find_objects(answer) if "tasks" in one]
    texts = [*_FENCED.findall(answer), answer] if not found else []
    for text in texts:
        try:
            value = yaml.to_plain(yaml.load(text.encode("utf-8", "replace")))
        except yaml.YamlError:
            continue
        if isinstance(value, dict) and "tasks" in value:
            found.append(value)
            break
    if len(found) != 1:
        raise AskError(f"the answer is no object with 'tasks': {one_line(answer, 200)!r}")
    return found[0]


def _read_files(entries: Any, key: str, output_dir: Path) -> Iterator[SuggestedFile]:
    if entries is None:
        return
    if not isinstance(entries, list):
        raise AskError(f"'{key}' of the answer is not a list")
    for entry in entries:
        path, content = (entry.get("path"), entry.get("content")) if isinstance(entry, dict) else (None, None)
        if not (isinstance(path, str) and isinstance(content, str)):
            raise AskError(f"an entry of '{key}' has no path and content")
        if len(content) > _LONGEST:
            raise AskError(f"{path!r} has more than {_LONGEST:,} characters")
        yield SuggestedFile(
            path=_check_path(path, output_dir),
            content=_unfence(content) if key == "tasks" else content,
            confidence=_word(entry.get("confidence")),
            rationale=_word(entry.get("rationale")),
        )


def _check_path(path: str, output_dir: Path) -> str:
    """Return a path with slashes. Raises AskError where it leads out of the directory, also by a link."""
    try:
        place = safe_join(output_dir, path)
        name = place.relative_to(output_dir).as_posix()
        place.as_posix().encode()
    except ValueError as error:
        raise AskError(f"the answer has a path that cannot be used: {error}") from error
    if name == "." or not is_inside(output_dir, place):
        raise AskError(f"the path {path!r} of the answer leads out of {display_path(output_dir)}")
    if any(part.startswith(".") for part in PurePosixPath(name).parts):
        raise AskError(f"the path {path!r} of the answer is hidden, where files are that programs obey")
    return name


def _word(value: Any) -> str:
    return one_line(str(value), 500) if isinstance(value, str | int | float) else ""


def _unfence(text: str) -> str:
    """Return YAML without the fence that models like to put around it, with a line end."""
    found = _FENCED.fullmatch(text.strip() + "\n")
    return (found[1] if found else text).strip("\n") + "\n"


def check_suggestion(suggestion: Suggestion, target: DetectedSkill) -> Suggestion:
    """Return a suggestion with what the loader says of it. Raises WazaError where the directory cannot be copied."""
    own = ProcessTempdir("suggest")
    try:
        copy = own.path / "suite"
        if suggestion.output_dir.is_dir():
            copy_tree(suggestion.output_dir, copy)
        else:
            copy.mkdir()
        before, _ = _load(copy / suggestion.suite_file, target) if suggestion.keeps_suite else ([], None)
        for path, content in suggestion.files.items():
            place = copy / path.relative_to(suggestion.output_dir)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode("utf-8", "replace"))
        after, suite = _load(copy / suggestion.suite_file, target)
        known = {*map(_key, before)}
        added = [problem for problem in after if _key(problem) not in known]
        errors = [str(one) for one in added if one.severity == "error"]
        if suite is not None and not errors:
            errors = [*_list_unused(suggestion, copy, suite), *_list_programs(suggestion, copy, suite)]
        notes = [str(one) for one in added if one.severity == "warning"]
        old = sum(one.severity == "error" for one in before)
        notes += [f"the files that are there have {pluralize(old, 'mistake')} already"] if old else []
        shown = display_path(suggestion.output_dir)
        return msgspec.structs.replace(
            suggestion,
            problems=tuple(one.replace(str(copy), shown) for one in errors),
            notes=(*suggestion.notes, *(one.replace(str(copy), shown) for one in notes)),
        )
    finally:
        own.remove()


def _load(path: Path, target: DetectedSkill) -> tuple[list[Problem], Suite | None]:
    try:
        suite, loading = examine(path, LoadOptions(skill_dir=target.directory))
    except SuiteError as error:
        return list(error.problems), None
    return sort_problems(loading), suite


def _key(problem: Problem) -> tuple[object, ...]:
    return problem.file, problem.path, problem.code, problem.message


def _list_unused(suggestion: Suggestion, copy: Path, suite: Suite) -> Iterator[str]:
    """Yield what is wrong about tasks that the suite would not run: no pattern of it names them."""
    used = {Path(task.file).resolve() for task in suite.tasks if task.file}
    for one in suggestion.tasks:
        if safe_join(copy, one.path).resolve() not in used:
            yield f"{one.path}: no pattern under 'tasks' of {suggestion.suite_file} names it, so that it would not run"


def _list_programs(suggestion: Suggestion, copy: Path, suite: Suite) -> Iterator[str]:
    """Yield what of a suggestion names programs, which a run would start: nobody has chosen these."""
    own = set() if not suggestion.keeps_suite else {one.name for one in suite.file.graders}
    suggested = {safe_join(copy, one.path).resolve() for one in suggestion.tasks}
    graders = {
        built.spec.name: built.spec.type
        for task in suite.tasks
        if task.file and Path(task.file).resolve() in suggested
        for built in task.all_graders
        if built.spec.type in _PROGRAMS and built.spec.name not in own
    }
    for name, kind in graders.items():
        yield f"the grader {name!r} ({kind}) starts a program; write it yourself if you want it"
    if not suggestion.keeps_suite:
        config = suite.file.config
        keys = {
            "hooks": any(msgspec.structs.astuple(suite.file.hooks)),
            "config.executor_options": config.executor_options,
            "config.mcp_servers": config.mcp_servers,
        }
        for key in (key for key, given in keys.items() if given):
            yield f"{suggestion.suite_file}: {key} may start a program; write it yourself if you want it"


def list_conflicts(suggestion: Suggestion) -> list[Path]:
    """Return the files that are there already with another content."""
    return [path for path, content in suggestion.files.items() if path.exists() and _text(path) != content]


def diff_lines(paths: Iterable[Path], contents: Mapping[Path, str]) -> Iterator[str]:
    """Yield what would change in files, as a unified diff."""
    for path in paths:
        shown = display_path(path)
        yield from (
            line.rstrip("\n")
            for line in difflib.unified_diff(
                _text(path).splitlines(keepends=True),
                contents[path].splitlines(keepends=True),
                f"{shown} (there)",
                f"{shown} (suggested)",
            )
        )


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def suggestion_lines(suggestion: Suggestion) -> Sequence[str]:
    """Return the files as YAML documents with comments, for people."""
    lines: list[str] = []
    shown: list[SuggestedFile] = [*suggestion.tasks, *suggestion.fixtures]
    if not suggestion.keeps_suite:
        shown.insert(0, SuggestedFile(path=suggestion.suite_file, content=suggestion.suite))
    for one in shown:
        about = ": ".join(filter(None, (one.confidence and f"confidence {one.confidence}", one.rationale)))
        lines += [f"# {display_path(suggestion.output_dir / one.path)}", *([f"# {about}"] if about else [])]
        lines += [one.content.rstrip("\n"), "---"]
    return lines[:-1]
