"""Creating the workspace of an attempt, and removing it.

Nothing is copied wholesale: a workspace holds what the task names, in this order: git worktrees, the context
fixture, `inputs.files`, instruction files. A later file replaces an earlier one at the same path.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from waza.errors import ExecutorError
from waza.kit.files import is_inside, safe_join
from waza.model.agent import AttemptWorkspace, Instruction, Resource
from waza.model.task import Repo, Task
from waza.workspace.run_tempdir import RunTempdir

HEAD_BYTES = 1025  # bytes of a resource that are kept for showing it: one more than the mock executor shows


EXECUTABLE = 0o111  # the bits of a mode that a copy keeps


class WorkspaceFile(msgspec.Struct, frozen=True):
    """A file to be put at `path` of the workspace: from `source`, else with `content`."""

    path: str
    source: Path | None = None
    content: bytes = b""


async def open_workspace(tempdir: RunTempdir, task: Task, *, wanted: bool) -> AttemptWorkspace:
    """Create the workspace of an attempt. Without files, and unless `wanted`, there is no workspace at all.

    Raises ExecutorError if an input is missing or leads outside of its directory.
    """
    try:
        items = list_files(task)
        instructions = [
            WorkspaceFile(name, _find_source(task.fixtures, name))
            for name in dict.fromkeys(task.instruction_files)
        ]
    except (OSError, ValueError) as error:
        raise ExecutorError(f"the workspace cannot be made: {error}") from error
    if not (wanted or items or instructions or task.inputs.repos):
        return AttemptWorkspace(workspace=None, workdir=None, environment=task.inputs.environment)
    root = tempdir.new_directory(task.id)
    try:
        return await _fill(tempdir, root, task, items, instructions)
    except (OSError, ValueError) as error:
        await tempdir.remove_directory(root)
        raise ExecutorError(f"the workspace cannot be made: {error}") from error
    except BaseException:
        await tempdir.remove_directory(root)
        raise


async def _fill(
    tempdir: RunTempdir,
    root: Path,
    task: Task,
    items: Sequence[WorkspaceFile],
    instructions: Sequence[WorkspaceFile],
) -> AttemptWorkspace:
    for repo in task.inputs.repos:
        target = _resolve_inside(root, repo.dest)
        await tempdir.add_worktree(
            find_repository(task, repo), target, repo.commit or None, filters=repo.filters
        )
    resources = [_put(root, item) for item in [*items, *instructions]]
    return AttemptWorkspace(
        workspace=root,
        workdir=_resolve_inside(root, task.inputs.workdir),
        resources=tuple({resource.path: resource for resource in resources}.values()),
        instructions=tuple(_read_instruction(root, item) for item in instructions),
        environment=task.inputs.environment,
    )


def find_repository(task: Task, repo: Repo) -> Path:
    """Return where a repository is: beside the suite if it is there, else from the current directory."""
    source = Path(repo.source).expanduser()
    beside = task.home / source
    return beside if beside.exists() else source.absolute()


async def close_workspace(tempdir: RunTempdir, place: AttemptWorkspace) -> None:
    """Remove the workspace of an attempt, unless workspaces are kept."""
    if place.workspace is not None:
        await tempdir.remove_directory(place.workspace)


def list_files(task: Task) -> list[WorkspaceFile]:
    """Return the files and folders that a task puts into its workspaces, but for repositories and instruction files.

    Raises OSError or ValueError for one that is missing or leads outside of its directory.
    """
    return [*_find_fixture_files(task), *_find_files(task)]


def _find_fixture_files(task: Task) -> Iterator[WorkspaceFile]:
    """Yield the files of `inputs.context.fixture`, sorted by path; links inside are skipped."""
    name = task.inputs.context.get("fixture")
    if not name:
        return
    source = safe_join(task.home, name)
    if not source.exists():
        raise FileNotFoundError(f"there is no fixture {name!r} beside the suite")
    if not is_inside(task.home, source):
        raise ValueError(f"the fixture {name!r} leads outside of the suite's directory")
    if source.is_file():
        yield WorkspaceFile(source.name, source)
        return
    for path in sorted(_walk_regular_files(source)):
        yield WorkspaceFile(path.relative_to(source).as_posix(), path)


def _walk_regular_files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory, followlinks=False, onerror=_raise):
        for name in names:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _raise(error: OSError) -> NoReturn:
    raise error  # os.walk leaves out in silence what it cannot read


def _find_files(task: Task) -> Iterable[WorkspaceFile]:
    for file in task.inputs.files:
        if not file.path:
            continue
        if file.content is None:
            yield WorkspaceFile(file.path, _find_source(task.fixtures, file.path))
        else:
            yield WorkspaceFile(file.path, content=file.content.encode("utf-8", "surrogatepass"))


def _find_source(root: Path, name: str) -> Path:
    path = safe_join(root, name)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {name!r} in {root}")
    if not is_inside(root, path):
        raise ValueError(f"{name!r} leads outside of {root}")
    return path


def _put(root: Path, item: WorkspaceFile) -> Resource:
    """Write one file; a link at its place is replaced."""
    target = safe_join(root, item.path)
    if not is_inside(root, target.parent):
        raise _make_escape_error(item.path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        target.unlink()
    if item.source is None:
        target.write_bytes(item.content)
    else:
        shutil.copyfile(item.source, target)
        target.chmod(target.stat().st_mode | (item.source.stat().st_mode & EXECUTABLE))
    with target.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    return Resource(target.relative_to(root).as_posix(), target.stat().st_size, head)


def _read_instruction(root: Path, item: WorkspaceFile) -> Instruction:
    return Instruction(item.path, safe_join(root, item.path).read_text(encoding="utf-8", errors="replace"))


def _resolve_inside(root: Path, name: str) -> Path:
    """Return a place in the workspace. Links in a worktree must not lead out of it."""
    path = safe_join(root, name)
    if not is_inside(root, path):
        raise _make_escape_error(name)
    return path


def _make_escape_error(name: str) -> ValueError:
    return ValueError(f"{name!r} leads outside of the workspace")
