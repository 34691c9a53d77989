"""The inputs of a task: files that must be there, paths that must stay inside, prompts that name variables."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.files import is_inside, safe_join
from waza.kit.template import find_mistakes
from waza.model.task import Inputs, Repo, TaskFile
from waza.problem import Code, display_path
from waza.suite.definition import expand_home
from waza.suite.loading import RUN_VARIABLES, Place, Scope

MAX_FIXTURE = 256 * 1024 * 1024  # bytes; a larger file is a mistake more often than an input
_HOOK = "a before_run hook may create it"


def check_inputs(scope: Scope, task: TaskFile, fixtures: Path) -> None:
    """Note every input that cannot be read or leaves its place; a hook may still create missing ones.

    The short form's `fixtures` of the task are the last of its files.
    """
    inputs = task.inputs
    written = len(inputs.files) - len(task.fixtures)
    for i, file in enumerate(inputs.files):
        where = (
            scope.child("inputs", "files", i, "path") if i < written else scope.child("fixtures", i - written)
        )
        if not file.path:
            where.warn("no-effect", "is empty, so this file is left out")
        elif file.content is None:
            check_file(where, fixtures, file.path)
        else:
            _check_inside(where, file.path)
    for i, repo in enumerate(inputs.repos):
        _check_repo(scope.child("inputs", "repos", i), repo)
    _check_inside(scope.child("inputs", "workdir"), inputs.workdir)
    for name, value in inputs.environment.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            message = f"{name!r} cannot be set in an environment"
            hint = "a name is not empty and has no '='; neither name nor value has a NUL character"
            scope.child("inputs", "environment", name).error("invalid-value", message, hint)
    _check_context(scope, inputs)
    _check_prompt_files(scope, inputs)


def check_file(scope: Scope, root: Path, name: str, missing: Code = "missing-file") -> None:
    """Note a file of the fixtures directory `root` that cannot be read; `missing` is the code of one that is not there."""
    try:
        target = safe_join(root, name)
    except ValueError as error:
        scope.error("outside-path", str(error))
        return
    fault, hint = _explain_unreadable(root, target, name) if name else ("must not be empty", "")
    code: Code = "invalid-value" if not name else "unreadable-file" if os.path.lexists(target) else missing
    if not fault:
        return
    to_come = scope.loading.hooks_may_create and not os.path.lexists(target)
    scope.report(code, fault, _HOOK if to_come else hint, warning=to_come)


def check_text(scope: Scope, text: str) -> None:
    """Note a character that no system takes in a command or the name of a file."""
    if "\0" in text:
        scope.error("invalid-value", "holds a NUL character", "remove it")


def _explain_unreadable(root: Path, target: Path, name: str) -> tuple[str, str]:
    """Return why a file cannot be read, and what to do; two empty texts if it can."""
    try:
        if not os.path.lexists(target):
            return (
                f"there is no file {name!r} in {display_path(root)}",
                "paths are relative to the fixtures directory",
            )
        if not target.exists():
            return f"{name!r} is a link to nothing", ""
        if not is_inside(root, target):
            return f"{name!r} leads outside of {display_path(root)}", "put a copy there instead of a link"
        if target.is_dir():
            return f"{name!r} is a directory", "name its files, or copy all with inputs.context.fixture"
        if not target.is_file():
            return f"{name!r} is no regular file", ""
        if target.stat().st_size > MAX_FIXTURE:
            return f"{name!r} is larger than {MAX_FIXTURE // 2**20} MB", ""
        with target.open("rb"):
            return "", ""
    except OSError as error:
        return f"{name!r} cannot be read ({error.strerror or error})", ""


def _check_repo(scope: Scope, repo: Repo) -> None:
    """Note a repository that is not there, and a commit that git would take for an option."""
    _check_inside(scope.child("dest"), repo.dest)
    if repo.commit.startswith("-") or "\0" in repo.commit:
        scope.child("commit").error("invalid-value", f"{repo.commit!r} is not a commit, branch or tag")
    source = expand_home(repo.source)
    if not any(place.exists() for place in (scope.loading.directory / source, Path.cwd() / source)):
        missing = scope.loading.hooks_may_create
        hint = _HOOK if missing else "paths are relative to the suite's directory, or else to the current one"
        message = f"there is no repository {repo.source!r}"
        scope.child("source").report("missing-repository", message, hint, warning=missing)


def _check_inside(scope: Scope, name: str) -> None:
    try:
        safe_join(scope.loading.directory, name)
    except ValueError as error:
        scope.error("outside-path", str(error))


def _check_context(scope: Scope, inputs: Inputs) -> None:
    if "fixture" not in inputs.context:
        return
    place = scope.child("inputs", "context", "fixture")
    fixture = inputs.context["fixture"]
    if not isinstance(fixture, str) or not fixture.strip():
        place.error("context-fixture", "must be the path of a file or directory beside the suite")
        return
    try:
        target = safe_join(scope.loading.directory, fixture)
    except ValueError as error:
        place.error("context-fixture", str(error))
        return
    if target == scope.loading.directory:
        place.error("context-fixture", "is the suite's own directory", "name a file or directory in it")
    elif not target.exists():
        message = f"there is no {fixture!r} beside the suite"
        place.report("context-fixture", message, warning=scope.loading.hooks_may_create)
    elif not is_inside(scope.loading.directory, target):
        place.error("context-fixture", f"{fixture!r} leads outside of the suite's directory")
    elif not (target.is_file() or target.is_dir()):
        place.error("context-fixture", f"{fixture!r} is neither a file nor a directory")
    else:
        for message in _list_unreadable(target, scope.loading.directory):
            place.error("context-fixture", message, "give yourself the right to read it, or remove it")


def _list_unreadable(target: Path, home: Path) -> Iterator[str]:
    """Yield what of a fixture cannot be read, so that the workspace would lack it."""
    refused: list[OSError] = []
    files = [target] if target.is_file() else []
    for folder, _, names in os.walk(target, onerror=refused.append):
        files += [path for name in names if not (path := Path(folder, name)).is_symlink()]
    for error in refused:
        yield f"the folder {_relative_to(error.filename, home)!r} cannot be read ({error.strerror})"
    for path in files:
        if not os.access(path, os.R_OK):
            yield f"the file {_relative_to(path, home)!r} cannot be read"


def _relative_to(path: str | Path, home: Path) -> str:
    return Path(path).relative_to(home).as_posix()


def _check_prompt_files(scope: Scope, inputs: Inputs) -> None:
    has_files = (
        inputs.files
        or inputs.repos
        or "fixture" in inputs.context
        or scope.loading.file.config.instruction_files
    )
    if "./" in inputs.prompt and not has_files:
        message = "the prompt names files with './', but the task brings none"
        scope.child("inputs", "prompt").warn("missing-file", message, "list them under inputs.files")


def check_templates(scope: Scope, value: Any, known: Collection[str]) -> None:
    """Note unknown variables in a text, or in all texts of a struct, list or mapping."""
    for path, text in iter_texts(value):
        for mistake in find_mistakes(text, known):
            message, hint = mistake.message, ""
            if mistake.severity == "error" and mistake.name in RUN_VARIABLES:
                message = f"`{mistake.name}` is not known before a run"
                hint = 'checks may use .TaskName and .Vars; {{"{{"}} writes two braces'
            scope.child(*path).report("template", message, hint, warning=mistake.severity == "warning")


def iter_texts(value: Any, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield the texts of a value that may hold references, with their places."""
    if isinstance(value, str):
        if "{{" in value:
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from iter_texts(item, (*path, key))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from iter_texts(item, (*path, i))
    elif isinstance(value, msgspec.Struct):
        yield from iter_texts(msgspec.to_builtins(value), path)
