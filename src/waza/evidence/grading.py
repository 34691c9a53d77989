"""Grading by evidence: the files that a snapshot kept take the place of the workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from waza.errors import UsageError
from waza.evidence.json_file import refuse
from waza.evidence.manifest import EVIDENCE, FILES
from waza.evidence.verify import read_snapshot
from waza.graders._workspace_files import normalize_path
from waza.graders.file import File
from waza.kit.files import safe_join
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.result import SuiteResult
from waza.model.task import Task
from waza.problem import display_path

# Graders that look at nothing but the record, which results hold as a whole.
_OF_RECORDS = frozenset({
    "text", "json_schema", "behavior", "action_sequence", "tool_calls", "tool_constraint", "skill_invocation", "trigger",
})  # fmt: skip
_GLOB = frozenset("*?[")


def restore_files(path: Path, suite: Suite, recorded: SuiteResult, task_id: str, directory: Path) -> None:
    """Write the files that a snapshot kept of a workspace into an empty directory, so that graders can look at them.

    Raises SuiteError where the snapshot was changed or is of something else, and UsageError where the task has graders
    whose verdicts need more than these files: partial evidence proves what is there, and not what is absent.
    """
    snapshot = read_snapshot(path)
    _check_origin(path, snapshot, suite, recorded, task_id)
    task = next(task for task in suite.tasks if task.id == task_id)
    files = {str(file["path"]): file for file in snapshot.get(FILES) or ()}
    faults = list(_faults(task, files))
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise UsageError(
            f"{display_path(path)} cannot show what these graders of {task_id!r} need, and nothing was graded:\n{lines}"
        )
    for name, file in files.items():
        target = safe_join(directory, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(str(file["content"]).encode())


def _check_origin(
    path: Path, snapshot: dict[str, Any], suite: Suite, recorded: SuiteResult, task_id: str
) -> None:
    """Raise SuiteError unless the snapshot is of the one trial of the task in these results of this suite."""
    file, manifest = display_path(path), snapshot.get(EVIDENCE)
    if not isinstance(manifest, dict):
        refuse(file, "there is no manifest, so it is no evidence; `waza run --snapshot` writes one", EVIDENCE)
    if task_id not in {task.id for task in suite.tasks}:
        raise UsageError(f"there is no task {task_id!r} in the suite")
    runs = [run for task in recorded.tasks if task.test_id == task_id for run in task.runs]
    if len(runs) != 1:
        count = pluralize(len(runs), "trial")
        raise UsageError(
            f"the results have {count} of the task {task_id!r}; evidence is of one trial, so there must be one"
        )
    origin = manifest["origin"]
    expected = (
        ("evalName", "suite", recorded.eval_name, suite.name),
        ("evalId", "run", origin["eval_id"], recorded.eval_id),
        ("task.testId", "task", origin["task_id"], task_id),
        ("task.arm", "arm", origin["arm"], "main"),
        ("task.runNumber", "trial", origin["run_number"], runs[0].run_number),
        (f"{EVIDENCE}.sha256", "manifest", manifest.get("sha256"), runs[0].evidence.get("sha256")),
    )
    for where, what, found, wanted in expected:
        if found != wanted:
            refuse(file, f"it is of another {what} than what is graded: {found}, not {wanted}", where)
    if runs[0].evidence != manifest:
        refuse(file, "the manifest in the results was changed after it was recorded", EVIDENCE)


def _faults(task: Task, files: dict[str, Any]) -> Iterator[str]:
    """Yield which graders of a task need more than the record and the files that were kept."""
    looks = False
    for built in task.graders:
        if isinstance(built.grader, File):
            looks = True
            yield from (f"{built.spec.name}: {fault}" for fault in _file_faults(built.grader, files))
        elif built.spec.type not in _OF_RECORDS or getattr(built.grader, "reads_workspace", False):
            yield f"{built.spec.name}: a {built.spec.type} grader can look at more than evidence holds"
    if not looks:
        yield "none of them is a file grader; leave --evidence-snapshot out"


def _file_faults(grader: File, files: dict[str, Any]) -> Iterator[str]:
    if grader.must_not_exist:
        yield f"must_not_exist: a file that was not kept may have been there ({', '.join(grader.must_not_exist)})"
    for path in grader.must_exist:
        yield from _path_faults(path, files)
    for entry in grader.content_patterns:
        yield from _path_faults(entry.path, files)
        if entry.must_not_match:
            yield f"must_not_match on {entry.path!r}: only what is there can be shown"
        file = files.get(normalize_path(entry.path))
        if file is None or file["redacted"]:
            why = "its text was redacted" if file else "it was not kept as a file"
            yield f"must_match on {entry.path!r}: {why}"


def _path_faults(path: str, files: dict[str, Any]) -> Iterator[str]:
    name = normalize_path(path)
    if _GLOB & set(path):
        yield f"{path!r} has signs of a pattern, and only literal names can be shown"
    elif name not in files and not any(file.startswith(f"{name}/") for file in files):
        yield f"{path!r} was not kept: run the suite with --evidence-file {path!r}"
