"""`waza run --changed-since REF`: which of the suites that were chosen the changes since a commit touch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from waza.cli.choose_suites import Chosen
from waza.cli.streams import print_notice
from waza.errors import UsageError
from waza.kit.git import GitError, changes_since, find_work_tree
from waza.kit.text import list_first, pluralize
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.words import one_line
from waza.suite.loading import LoadOptions
from waza.suite.parts import map_changes, read_parts
from waza.suite.project import FILE as PROJECT_FILE

_NAMED = 3  # files that a line names


class ChangedSuites(msgspec.Struct, frozen=True):
    """The suites that changes touch, and the others. `since` is the commit, in words."""

    touched: list[Chosen]
    untouched: list[Chosen]
    since: str


def choose_changed(
    chosen: Sequence[Chosen], since: str, context_dir: str, project: Project, written: Collection[Path] = ()
) -> ChangedSuites:
    """Return which suites the changes since a commit touch, and say what touches them. Raises UsageError without git.

    What waza itself writes is no change: `written` are files and folders of this run.
    """
    top = find_work_tree(Path.cwd() / PROJECT_FILE)
    if top is None:
        raise UsageError("--changed-since needs a git repository, and the current directory is in none")
    commit, dots, end = since.partition("..")
    if dots and end.strip(".") not in ("", "HEAD"):
        raise UsageError(
            f"--changed-since {since}: only what is checked out can be run; name the commit before, {commit}"
        )
    try:
        changes = asyncio.run(changes_since(top, commit))
    except GitError as error:
        raise UsageError(f"--changed-since {since}: {error}") from error
    own = {Path(os.path.realpath(path)) for path in (*written, project.directory / ".waza")}
    paths = [path for path in changes.paths if own.isdisjoint((path, *path.parents))]
    parts = [
        read_parts(one.path, LoadOptions(context_dir=context_dir, skill_dir=one.skill_dir), one.source)
        for one in chosen
    ]
    found = map_changes(parts, paths, project)
    since = since if changes.commit.startswith(commit) else f"{since} ({changes.commit[:7]})"
    print_notice(f"Changed since {since}: {pluralize(len(paths), 'file')}")
    for path, files in found.suites.items():
        print_notice(f"  {display_path(path)}: {_list(files)}")
    if found.outside:
        print_notice(f"  outside of these suites: {_list(found.outside)}")
    return ChangedSuites(
        [one for one in chosen if one.path in found.suites],
        [one for one in chosen if one.path not in found.suites],
        since,
    )


def _list(files: Sequence[Path]) -> str:
    return list_first([one_line(display_path(file)) for file in files], _NAMED)
