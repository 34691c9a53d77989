"""The inputs of a task: files that must be there, paths that must stay inside, prompts that name variables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.decode import Document
from waza.kit.files import inside, safe_join
from waza.kit.template import check
from waza.model.task import Inputs
from waza.suite.loading import Loading

MAX_FIXTURE = 256 * 1024 * 1024  # bytes; a larger file is a mistake more often than an input


def check_inputs(loading: Loading, document: Document, inputs: Inputs, fixtures: Path) -> None:
    """Note every input that cannot be read or leaves its place; a hook may still create missing ones."""
    for i, file in enumerate(inputs.files):
        where = ("inputs", "files", i)
        if file.content is None and file.path:
            check_file(loading, document, fixtures, file.path, (*where, "path"))
        elif file.path:
            _stays_inside(loading, document, file.path, (*where, "path"))
    for i, repo in enumerate(inputs.repos):
        if repo.dest:
            _stays_inside(loading, document, repo.dest, ("inputs", "repos", i, "dest"))
        if repo.commit.startswith("-"):
            loading.say(
                document, ("inputs", "repos", i, "commit"), f"{repo.commit!r} is no commit, branch or tag"
            )
    if inputs.workdir:
        _stays_inside(loading, document, inputs.workdir, ("inputs", "workdir"))
    for name, value in inputs.environment.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            loading.say(
                document, ("inputs", "environment", name), f"{name!r} cannot be set in an environment"
            )
    _check_context(loading, document, inputs)
    _guard_prompt(loading, document, inputs)


def check_file(
    loading: Loading, document: Document, root: Path, name: str, path: tuple[str | int, ...]
) -> None:
    """Note a file below `root` that cannot be read."""
    try:
        target = safe_join(root, name)
    except ValueError as error:
        loading.say(document, path, f"{name!r}: {error}")
        return
    problem = _unreadable(root, target, name)
    if problem:
        missing = not target.exists() and loading.hooks_may_create
        hint = (
            "a before_run hook may create it" if missing else "paths are relative to the fixtures directory"
        )
        loading.say(document, path, problem, hint, warning=missing)


def _unreadable(root: Path, target: Path, name: str) -> str:
    try:
        if not target.exists():
            return f"there is no file {name!r} in {root}"
        if not inside(root, target):
            return f"{name!r} leads outside of {root}"
        if target.is_dir():
            return f"{name!r} is a directory; name its files, or use inputs.context.fixture"
        if target.stat().st_size > MAX_FIXTURE:
            return f"{name!r} is larger than {MAX_FIXTURE // 2**20} MB"
        with target.open("rb"):
            return ""
    except OSError as error:
        return f"{name!r} cannot be read ({error.strerror or error})"


def _stays_inside(loading: Loading, document: Document, name: str, path: tuple[str | int, ...]) -> None:
    try:
        safe_join(loading.directory, name)
    except ValueError as error:
        loading.say(document, path, f"{name!r}: {error}")


def _check_context(loading: Loading, document: Document, inputs: Inputs) -> None:
    if "fixture" not in inputs.context:
        return
    path = ("inputs", "context", "fixture")
    fixture = inputs.context["fixture"]
    if not isinstance(fixture, str) or not fixture.strip():
        loading.say(document, path, "must be the path of a file or directory beside the suite")
        return
    try:
        target = safe_join(loading.directory, fixture)
    except ValueError as error:
        loading.say(document, path, f"{fixture!r}: {error}")
        return
    if target == loading.directory:
        loading.say(document, path, "is the suite's own directory", "name a file or directory in it")
    elif not target.exists():
        message = f"there is no {fixture!r} beside the suite"
        loading.say(document, path, message, warning=loading.hooks_may_create)
    elif not inside(loading.directory, target):
        loading.say(document, path, f"{fixture!r} leads outside of the suite's directory")


def _guard_prompt(loading: Loading, document: Document, inputs: Inputs) -> None:
    has_files = (
        inputs.files or inputs.repos or "fixture" in inputs.context or loading.file.config.instruction_files
    )
    if "./" in inputs.prompt and not has_files:
        message = "the prompt names files with './', but the task brings none"
        loading.say(document, ("inputs", "prompt"), message, "list them under inputs.files", warning=True)


def check_templates(
    loading: Loading,
    document: Document,
    value: Any,
    known: dict[str, str],
    path: tuple[str | int, ...],
) -> None:
    """Note unknown variables in a text, or in all texts of a struct, list or mapping."""
    for where, text in _texts(value, path):
        for mistake in check(text, known):
            loading.say(document, where, mistake.message, warning=mistake.severity == "warning")


def _texts(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, str):
        if "{{" in value:
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _texts(item, (*path, i))
    elif isinstance(value, msgspec.Struct):
        yield from _texts(msgspec.to_builtins(value), path)
