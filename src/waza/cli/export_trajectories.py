"""`waza export --format atif`: one trajectory for each trial, printed or as files of a directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.cli.open_results import open_run
from waza.cli.outputs import file_name_part
from waza.cli.streams import print_json, print_notice
from waza.errors import EXIT_OK, UsageError
from waza.foreign.export.atif import Trajectory, make_trajectories
from waza.kit.files import write_atomic
from waza.kit.names import unused_name
from waza.kit.text import pluralize

if TYPE_CHECKING:
    from waza.results.saved import SavedRun

SUFFIX = ".trajectory.json"


def export_trajectories(runs: Sequence[SavedRun], output: Path | None) -> int:
    """Write a trajectory for each trial of runs; return the exit code.

    Raises UsageError where several trials have no directory to go to, and for one that holds files already.
    """
    found = _trajectories(runs)
    if output is not None and (output.is_dir() or not output.suffix):
        count = _write_all(found, output, several=len(runs) > 1)
        print_notice(f"{output}: {pluralize(count, 'file')} of {pluralize(len(runs), 'run')}")
        return EXIT_OK
    first, second = next(found, None), next(found, None)
    if first is None:
        raise UsageError("there is no trial to export")
    if second is not None:
        raise UsageError(
            "there are several trials, and each is a file of its own; name a directory: -o trajectories"
        )
    if output is None:
        print_json(first[1].document)
    else:
        write_atomic(output, _encoded(first[1]))
        print_notice(f"{output}: 1 trial of {pluralize(len(runs), 'run')}")
    return EXIT_OK


def _trajectories(runs: Sequence[SavedRun]) -> Iterator[tuple[str, Trajectory]]:
    """Yield the trajectories of runs with the ids of these; results are read one task at a time."""
    for run in runs:
        outcome = open_run(run)
        for trajectory in make_trajectories(outcome):
            yield outcome.head.eval_id, trajectory


def _write_all(found: Iterator[tuple[str, Trajectory]], directory: Path, *, several: bool) -> int:
    """Write files into a directory, of several runs into one each; return how many."""
    if directory.is_dir() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty; name another directory with -o")
    taken = set[str]()
    for run, one in found:
        arm = "" if one.arm == "main" else f"-{one.arm}"
        name = f"{file_name_part(one.task)}-{one.trial}{arm}"
        if several:
            name = f"{file_name_part(run)}/{name}"
        name = unused_name(name.casefold(), taken) if name.casefold() in taken else name
        taken.add(name.casefold())
        write_atomic(directory / f"{name}{SUFFIX}", _encoded(one))
    if not taken:
        raise UsageError("there is no trial to export")
    return len(taken)


def _encoded(one: Trajectory) -> bytes:
    return msgspec.json.format(msgspec.json.encode(one.document, enc_hook=str), indent=2) + b"\n"
