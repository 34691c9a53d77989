"""Digests of everything that can change a verdict: the keys of resume and of the result cache.

Templates are digested before they are rendered, so that a timestamp does not change them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.files import safe_join
from waza.kit.tree_digest import digest_file, digest_tree
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.model.verdict import BuiltGrader
from waza.version import __version__

_SUITE_DIRECTORY = re.compile(r"""["']?\$\{?WAZA_SUITE_DIR\b\}?["']?""")
_WORDS = re.compile(r"[^\s\"'`;&|<>()$=]+")
_SCRIPTS = {".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".bat", ".cmd"}
_SKIPPED = {".git", "node_modules", "vendor", "__pycache__", ".venv"}
# Settings of parts that `digest_parts` tells apart.
_OF_SKILLS = (
    "skill_directories", "required_skills", "disabled_skills", "skill_required", "inject_skill_body",
)  # fmt: skip
_OF_EXECUTOR = ("executor", "executor_options", "reasoning_effort", "isolation")
_OF_JUDGE = ("judge_model", "judge_reasoning_effort", "judge_timeout_seconds")
# Settings that order work but change no verdict.
_ORDERING = {
    "parallel", "workers", "fail_fast", "group_by", "model", "stop_after_errors", "error_retries", "limits",
}  # fmt: skip


def suite_digest(suite: Suite) -> str:
    """Return the digest of a suite with its tasks, as hex."""
    head = {
        "version": __version__,
        "name": suite.file.name,
        "skill": suite.file.skill,
        "config": _digested_config(suite),
        "metrics": suite.file.metrics,
        "hooks": suite.file.hooks,
        "baseline": suite.file.baseline,
        "programs": _digest_programs(suite),
        "triggers": [
            suite.trigger_tests,
            suite.trigger_target and suite.trigger_target.name,
            suite.trigger_script,
            [[one.name, _digest_tree(one.directory).hex()] for one in suite.trigger_neighbours],
        ],
    }
    digest = hashlib.sha256(_encode(head))
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
        _digested_config(suite),
        suite.file.hooks,
        _digest_programs(suite),
        [repo.commit for repo in task.inputs.repos],
        list(inputs),
        task.digest,
    ]
    return hashlib.sha256(_encode(own)).hexdigest()


def with_digest(task: Task) -> Task:
    """Return the task with its digest, if it has none yet."""
    return task if task.digest else msgspec.structs.replace(task, digest=task_digest(task))


def task_digest(task: Task) -> str:
    """Return the digest of a task: its keys and the contents of all files that it brings, as hex."""
    digest = hashlib.sha256(_encode_task(task))
    for line in _digest_files(task):
        digest.update(line)
    return digest.hexdigest()


def _digest_files(task: Task) -> Iterator[bytes]:
    """Yield the name and the digest of each file that a task brings."""
    for path in _iter_files(task):
        yield str(path.name).encode("utf-8", "surrogateescape") + b"\0" + digest_file(path)
    for directory in _iter_directories(task):
        for path, what in sorted(digest_tree(directory, limited=False).items()):
            yield _name(path, directory) + b"\0" + what


def row_digest(task: Task, common: str) -> str:
    """Return the digest of a CSV task: its columns, and `common`, the digest of all that rows share."""
    own = _encode([common, task.id, task.name, task.prompt, task.variables])
    return hashlib.sha256(own).hexdigest()


def digest_with_graders(digest: str, graders: Iterable[BuiltGrader]) -> str:
    """Return the digest of a CSV task whose graders name other files than those of its neighbours."""
    own = _encode([digest, [_digest_grader(grader) for grader in graders]])
    return hashlib.sha256(own).hexdigest()


def _encode_task(task: Task) -> bytes:
    return _encode(_task_parts(task))


def _task_parts(task: Task) -> dict[str, Any]:
    return {
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
        "graders": [_digest_grader(grader) for grader in task.all_graders],
        "checkpoints": [[point.after_turn, point.stop] for point in task.checkpoints],
        "mocks": [task.command_mocks, task.mcp_mocks, task.mock],
        "skills": [task.no_skills, _digest_skills(task)],
    }


def digest_parts(suite: Suite, model: str) -> dict[str, str]:
    """Return digests of all that may change a verdict, by what people call the parts."""
    config = _digested_config(suite)
    skills, executor, judge = (
        {key: config.pop(key) for key in keys} for keys in (_OF_SKILLS, _OF_EXECUTOR, _OF_JUDGE)
    )
    keys = [_task_parts(task) for task in suite.tasks]
    files = [hashlib.sha256(b"".join(_digest_files(task))).hexdigest() for task in suite.tasks]
    parts = {
        "model": model,
        "executor": [executor, _digest_programs(suite)],
        "judge": judge,
        "skills": [suite.file.skill, skills, [one["skills"] for one in keys]],
        "config": config,
        "hooks": suite.file.hooks,
        "tasks": [[one["task"], one["limits"]] for one in keys],
        "inputs": [[one["inputs"] for one in keys], files],
        "mocks": [one["mocks"] for one in keys],
        "graders": [[one["graders"], one["expected"], one["checkpoints"]] for one in keys],
    }
    return {part: hashlib.sha256(_encode(value)).hexdigest() for part, value in parts.items()}


def _digested_config(suite: Suite) -> dict[str, Any]:
    config = msgspec.to_builtins(suite.file.config)
    return {key: value for key, value in config.items() if key not in _ORDERING}


def _digest_programs(suite: Suite) -> list[str]:
    return [digest_file(file).hex() for file in program_files(suite)]


def program_files(suite: Suite) -> list[Path]:
    """Return the programs that the commands of hooks and of the agent name; other files in them are data."""
    places = [
        (hook.command, suite.directory / hook.working_directory)
        for point in msgspec.structs.astuple(suite.file.hooks)
        for hook in point
    ]
    command = suite.file.config.executor_options.get("command")
    if isinstance(command, str):
        places += [(command, suite.directory), (command, Path.cwd())]
    return [file for command, base in places for file in _find_programs(command, base, suite)]


def _find_programs(command: str, base: Path, suite: Suite) -> Iterator[Path]:
    text = _SUITE_DIRECTORY.sub(lambda _: str(suite.directory), command)
    for word in sorted(set(_WORDS.findall(text))):
        path = base / word
        if len(word) < 1024 and path.is_file() and (path.suffix in _SCRIPTS or os.access(path, os.X_OK)):
            yield path


def _encode(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=str, order="sorted")


def _digest_grader(grader: BuiltGrader) -> list[Any]:
    """Return what a grader depends on: its spec, and every file that its resolved paths name."""
    spec = grader.spec
    contents = [digest_file(path).hex() for path in grader_files(grader)]
    own = getattr(grader.grader, "extra_digest", "")
    arms = ["only_with_skills"] if spec.only_with_skills else []
    return [spec.type, spec.name, spec.weight, spec.config, spec.module, contents, own, *arms]


def grader_files(grader: BuiltGrader) -> list[Path]:
    """Return the files that the resolved paths of a grader name: programs, schemas, rubrics, snapshots."""
    return sorted(set(_iter_paths(msgspec.to_builtins(grader.grader, enc_hook=str))))


def _iter_paths(value: Any) -> Iterator[Path]:
    if isinstance(value, str):
        if len(value) < 4096 and "\0" not in value and os.path.isabs(value):  # noqa: PTH117  # cheaper than a Path for each text
            path = Path(value)
            if path.is_file():
                yield path
            elif path.is_dir():
                yield from (found for found in (path / "SKILL.md",) if found.is_file())
    elif isinstance(value, dict):
        for item in value.values():
            yield from _iter_paths(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_paths(item)


def read_roots(grader: BuiltGrader) -> list[Path]:
    """Return the files that a grader names, and the files and folders that it may read besides."""
    reads = getattr(grader.grader, "extra_files", list)
    module = [grader.module] if grader.module else []
    return list(dict.fromkeys([*grader_files(grader), *reads(), *module]))


def input_paths(task: Task) -> list[Path]:
    """Return the files and folders that a task brings: into its workspaces, and for its mocks to answer with."""
    return list(dict.fromkeys([*_iter_files(task), *_iter_directories(task)]))


def _iter_files(task: Task) -> Iterator[Path]:
    for file in task.inputs.files:
        if file.content is None and file.path:
            yield safe_join(task.fixtures, file.path)
    for name in task.instruction_files:
        yield safe_join(task.fixtures, name)
    for response in (response for mock in task.command_mocks for response in mock.responses):
        for output in (response, *(response.sequence or ())):
            if output.fixture:
                yield safe_join(task.home, output.fixture)


def _iter_directories(task: Task) -> Iterator[Path]:
    fixture = task.inputs.context.get("fixture")
    if fixture:
        yield safe_join(task.home, fixture)
    for mock in task.mcp_mocks:
        if mock.fixtures:
            yield task.home / mock.fixtures


def _digest_skills(task: Task) -> list[str]:
    found = [_digest_tree(path).hex() for path in task.skill_paths]
    if task.target is not None:
        found.append(digest_file(task.target.path).hex())
    return found


def folder_digest(root: Path, exclude: Collection[Path] = ()) -> str:
    """Return the digest of a file, or of all that is below a folder but `exclude`, as hex. Raises TreeTooLargeError."""
    digest = hashlib.sha256()
    for path, what in sorted(digest_tree(root, exclude).items()):
        digest.update(_name(path, root) + b"\0" + what)
    return digest.hexdigest()


def _digest_tree(root: Path) -> bytes:
    digest = hashlib.sha256()
    for directory, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in _SKIPPED)
        for file in sorted(files):
            path = Path(directory, file)
            digest.update(_name(path, root) + b"\0" + digest_file(path))
    return digest.digest()


def _name(path: Path, root: Path) -> bytes:
    return str(path.relative_to(root)).encode("utf-8", "surrogateescape")
