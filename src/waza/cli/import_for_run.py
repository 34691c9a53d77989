"""Suites of other tools where `waza run` is given one: imported into the project, and run from there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from waza.errors import UsageError, WazaError
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.words import Write

if TYPE_CHECKING:
    from waza.foreign.recognize import Kind

_SUITES = (".yaml", ".yml")


def recognize_foreign(path: Path) -> Kind | None:
    """Return which suite of another tool a file or directory is, or None.

    Raises UsageError for a file that is known to be something else than a suite.
    """
    if path.suffix.lower() in _SUITES and path.is_file() and b"schema_version" not in path.read_bytes():
        return None  # of nearly every run, so nothing is imported for it
    from waza.foreign.recognize import NAMES, SUITES, recognize

    kind = recognize(path)
    if kind in SUITES:
        return kind
    if kind in (None, "suite", "m365-document"):  # commands say themselves what to do with a document
        return None
    raise UsageError(f"{path} is {NAMES[kind]}, and not a suite")


def import_for_run(path: Path, kind: Kind, project: Project, say: Write) -> list[Path]:
    """Return the suites that another tool's come to, in the project's `.waza/imported`.

    The directory is named by its content, so that the same evals are the same suite: for resuming, for the cache and
    in the history. Raises UsageError where it was changed since, SuiteError for mistakes in what is imported.
    """
    from waza.foreign.imported import digest_of, read_files, write_files
    from waza.foreign.importing import ImportOptions, import_suites
    from waza.foreign.recognize import NAMES
    from waza.kit.git import ignore_in_git
    from waza.report.transcripts import slug

    imported = import_suites(path, ImportOptions())
    home = project.directory / ".waza"
    # Paths in the suites are relative, so they are the same wherever this directory is called.
    files = imported.render(home / "imported" / "any")
    digest = digest_of(files)
    target = home / "imported" / f"{slug(imported.name)}-{digest[:12]}"
    if not target.exists():
        try:
            write_files(target, files)
        except WazaError:
            if not target.exists():  # another run may have been faster
                raise
        ignore_in_git(home)
    if digest_of(read_files(target)) != digest:
        raise UsageError(
            f"{display_path(target)} was changed since it was imported; delete it to have it imported again. "
            f"To work on the suite, write one of your own: waza import {shlex.quote(display_path(path))} -o DIR"
        )
    say(f"{path} is {NAMES[kind]}; imported into {display_path(target)}")
    for note in imported.notes:
        if not note.unchecked:  # the others are warnings of the suites
            say(f"note: {note}")
    return [target / name for name in imported.suite_files()]
