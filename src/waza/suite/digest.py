"""Digests of everything that can change a verdict: the keys of resume and of the result cache.

Templates are digested before they are rendered, so that a timestamp does not change them.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.files import inside, safe_join
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.verdict import BuiltGrader
from waza.version import __version__

_SUITE_DIRECTORY = re.compile(r"""["']?\$\{?WAZA_SUITE_DIR\b\}?["']?""")
_WORDS = re.compile(r"[^\s\"'`;&|<>()$=]+")
_SCRIPTS = {".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd"}
_SKIPPED = {".git", "node_modules", "vendor", "__pycache__", ".venv"}
# Settings that order work but change no verdict.
_ORDERING = {"parallel", "workers", "fail_fast", "group_by", "model", "stop_after_errors"}


def suite_digest(suite: Suite) -> str:
    """Return the digest of a suite with its tasks, as hex."""
    head = {
        "version": __version__,
        "name": suite.file.name,
        "skill": suite.file.skill,
        "config": _config(suite),
        "metrics": suite.file.metrics,
        "hooks": suite.file.hooks,
        "baseline": suite.file.baseline,
        "programs": _programs(suite),
        "triggers": [
            suite.trigger_tests,
            suite.trigger_target and suite.trigger_target.name,
            suite.trigger_script,
        ],
    }
    digest = hashlib.sha256(_encoded(head))
    for task in suite.tasks:
        digest.update(task.digest.encode())
    return digest.hexdigest()


def cache_key(suite: Suite, task: Task, model: str, arm: str, inputs: Sequence[str] = ()) -> str:
    """Return the key under which the result of a task is cached, as hex.

    `inputs` are digests of what its graders may read besides the files that they name.
    """
    own = [
        __version__,
        suite.file.name,
        suite.file.skill,
        model,
        arm,
        _config(suite),
        suite.file.hooks,
        _programs(suite),
        [repo.commit for repo in task.inputs.repos],
        list(inputs),
        task.digest,
    ]
    return hashlib.sha256(_encoded(own)).hexdigest()


def digested(task: Task) -> Task:
    """Return the task with its digest, if it has none yet."""
    return task if task.digest else msgspec.structs.replace(task, digest=task_digest(task))


def task_digest(task: Task) -> str:
    """Return the digest of a task: its keys and the contents of all files that it brings, as hex."""
    digest = hashlib.sha256(_keys(task))
    for path in _files(task):
        digest.update(str(path.name).encode("utf-8", "surrogateescape") + b"\0" + content(path))
    for directory in _directories(task):
        digest.update(_tree(directory) if directory.is_dir() else content(directory))
    return digest.hexdigest()


def row_digest(task: Task, common: str) -> str:
    """Return the digest of a CSV task: its columns, and `common`, the digest of all that rows share."""
    own = _encoded([common, task.id, task.name, task.prompt, task.variables])
    return hashlib.sha256(own).hexdigest()


def with_graders(digest: str, graders: Iterable[BuiltGrader]) -> str:
    """Return the digest of a CSV task whose graders name other files than those of its neighbours."""
    own = _encoded([digest, [_grader(grader) for grader in graders]])
    return hashlib.sha256(own).hexdigest()


def _keys(task: Task) -> bytes:
    graders = [*task.graders, *(grader for point in task.checkpoints for grader in point.graders)]
    return _encoded(
        {
            "task": [
                task.id,
                task.name,
                task.prompt,
                task.description,
                task.expected_outcome,
                task.variables,
                task.verbatim,
            ],
            "limits": [task.timeout, task.first_event_timeout],
            "inputs": [task.inputs, task.follow_ups, task.instruction_files],
            "expected": task.expected,
            "graders": [_grader(grader) for grader in graders],
            "checkpoints": [[point.after_turn, point.stop] for point in task.checkpoints],
            "mocks": [task.command_mocks, task.mcp_mocks, task.mock],
            "skills": [task.no_skills, _skills(task)],
        }
    )


def _config(suite: Suite) -> dict[str, Any]:
    config = msgspec.to_builtins(suite.file.config)
    return {key: value for key, value in config.items() if key not in _ORDERING}


def _programs(suite: Suite) -> list[str]:
    """Return the contents of programs that the commands of hooks and of the agent name; other files are data."""
    places = [
        (hook.command, suite.directory / hook.working_directory)
        for point in msgspec.structs.astuple(suite.file.hooks)
        for hook in point
    ]
    command = suite.file.config.executor_options.get("command")
    if isinstance(command, str):
        places += [(command, suite.directory), (command, Path.cwd())]
    return [content(file).hex() for command, base in places for file in _named_programs(command, base, suite)]


def _named_programs(command: str, base: Path, suite: Suite) -> Iterator[Path]:
    text = _SUITE_DIRECTORY.sub(lambda _: str(suite.directory), command)
    for word in sorted(set(_WORDS.findall(text))):
        path = base / word
        if len(word) < 1024 and path.is_file() and (path.suffix in _SCRIPTS or os.access(path, os.X_OK)):
            yield path


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=str, order="sorted")


def _grader(grader: BuiltGrader) -> list[Any]:
    """Return what a grader depends on: its spec, and every file that its placed paths name."""
    spec = grader.spec
    contents = [content(path).hex() for path in grader_files(grader)]
    own = getattr(grader.grader, "hangs_on", "")
    return [spec.type, spec.name, spec.weight, spec.config, spec.module, contents, own]


def grader_files(grader: BuiltGrader) -> list[Path]:
    """Return the files that the placed paths of a grader name: programs, schemas, rubrics, snapshots."""
    return sorted(set(_paths(msgspec.to_builtins(grader.grader, enc_hook=str))))


def _paths(value: Any) -> Iterator[Path]:
    if isinstance(value, str):
        if len(value) < 4096 and "\0" not in value and os.path.isabs(value):  # noqa: PTH117  # cheaper than a Path for each text
            path = Path(value)
            if path.is_file():
                yield path
            elif path.is_dir():
                yield from (found for found in (path / "SKILL.md",) if found.is_file())
    elif isinstance(value, dict):
        for item in value.values():
            yield from _paths(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item)


def copied_files(task: Task) -> list[Path]:
    """Return the files that a task brings into its workspaces; a fixture that is a folder with all that is in it."""
    named = [
        safe_join(task.fixtures, file.path)
        for file in task.inputs.files
        if file.content is None and file.path
    ]
    named += [safe_join(task.fixtures, name) for name in task.instruction_files]
    fixture = task.inputs.context.get("fixture")
    root = safe_join(task.home, fixture) if fixture else None
    below = [root] if root and root.is_file() else _below(root) if root else ()
    return [*named, *(path for path in below if not _is_results(path))]


def read_files(grader: BuiltGrader, within: Path) -> list[Path]:
    """Return the files that a grader may read besides those that it names: below `within`, as `folder_digest` does."""
    reads = getattr(grader.grader, "reads", list)
    roots = [] if grader.spec.module else [root for root in reads() if inside(within, root)]
    return [
        path
        for root in roots
        for path in ([root] if root.is_file() else _below(root))
        if not _is_results(path)
    ]


def _below(root: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _SKIPPED and not name.startswith(".")]
        yield from (Path(directory, file) for file in files if not file.startswith("."))


def _files(task: Task) -> Iterator[Path]:
    for file in task.inputs.files:
        if file.content is None and file.path:
            yield safe_join(task.fixtures, file.path)
    for name in task.instruction_files:
        yield safe_join(task.fixtures, name)
    for response in (response for mock in task.command_mocks for response in mock.responses):
        for output in (response, *(response.sequence or ())):
            if output.fixture:
                yield safe_join(task.home, output.fixture)


def _directories(task: Task) -> Iterator[Path]:
    fixture = task.inputs.context.get("fixture")
    if fixture:
        yield safe_join(task.home, fixture)
    for mock in task.mcp_mocks:
        if mock.fixtures:
            yield task.home / mock.fixtures


def _skills(task: Task) -> list[str]:
    found = [_tree(path).hex() for path in task.skill_paths]
    if task.target is not None:
        found.append(content(task.target.path).hex())
    return found


def folder_digest(root: Path, besides: Path) -> str:
    """Return the digest of a file, or of what a program in this folder may read, as hex.

    Left out are `besides`, what is hidden, what package managers and Python put there, and results of waza, which
    may be written into the same folder.
    """
    if root.is_file():
        return content(root).hex()
    digest = hashlib.sha256()
    for directory, names, files in os.walk(root):
        names[:] = sorted(
            name
            for name in names
            if name not in _SKIPPED and not name.startswith(".") and Path(directory, name) != besides
        )
        for path in (Path(directory, file) for file in sorted(files) if not file.startswith(".")):
            if not _is_results(path):
                name = str(path.relative_to(root)).encode("utf-8", "surrogateescape")
                digest.update(name + b"\0" + content(path))
    return digest.hexdigest()


def _is_results(path: Path) -> bool:
    """Tell a results file, by how waza begins it, and a session log."""
    if path.suffix == ".ndjson":
        return path.name.startswith("session-")
    if path.suffix != ".json" or not path.is_file():
        return False
    with path.open("rb") as stream:
        start = stream.read(200)
    return start.startswith(b'{\n  "schemaVersion": ') and b'"eval_id": ' in start


def _tree(root: Path) -> bytes:
    digest = hashlib.sha256()
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        for file in sorted(files):
            path = Path(directory, file)
            digest.update(
                str(path.relative_to(root)).encode("utf-8", "surrogateescape") + b"\0" + content(path)
            )
    return digest.digest()


def content(path: Path) -> bytes:
    """Return the digest of a file, or what stands for one that cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return b"missing"
    if not stat.S_ISREG(status.st_mode):
        return b"no regular file"  # to open a pipe would wait for its writer
    runs = b"x" if status.st_mode & stat.S_IXUSR else b""
    return _hashed(str(path), status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size) + runs


@lru_cache(maxsize=4096)
def _hashed(path: str, *_as_it_was: int) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError:
        return b"unreadable"
