"""The evidence of `waza run`: its recorder before the run, the seal of its directory after it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from waza.cli.outputs import CommandResults, make_suffixes
from waza.cli.streams import print_notice
from waza.engine.invocation import Job
from waza.errors import UsageError
from waza.evidence.recorder import Recorder
from waza.evidence.seal import seal_directory
from waza.evidence.workspace_files import pattern_error
from waza.kit.text import pluralize

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments


def check_evidence(arguments: RunArguments, outputs: Collection[Path]) -> None:
    """Raise UsageError, before anything is run, for a directory of evidence that could not be sealed.

    It must be empty, or that of the invocation that is resumed; `outputs` are the other files and folders to be written.
    """
    directory = arguments.snapshot
    if directory is None:
        return
    for pattern in arguments.evidence_files:
        if fault := pattern_error(pattern):
            raise UsageError(f"--evidence-file: {fault}")
    for name in arguments.snapshot_env_allow:
        if not name.strip("*") or "*" in name[:-1]:
            raise UsageError(f"--snapshot-env-allow {name}: write the name of a variable, or PREFIX*")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is not a directory (--snapshot)")
    if arguments.resume is None and directory.is_dir() and any(directory.iterdir()):
        raise UsageError(
            f"{directory} is not empty, and evidence is not mixed with anything else; name a new directory (--snapshot)"
        )
    place = directory.absolute()
    for output in outputs:
        if output != place and (output.is_relative_to(place) or place == output):
            raise UsageError(
                f"{output} would be written among the evidence in {directory}; choose another place"
            )


def make_recorder(arguments: RunArguments, jobs: Sequence[Job], skills: Sequence[str]) -> Recorder | None:
    """Return the recorder of a call with `--snapshot`; `skills` are the names of the jobs' skills."""
    if arguments.snapshot is None:
        return None
    suffixes = make_suffixes([(skill, job.model) for job, skill in zip(jobs, skills, strict=True)])
    return Recorder(
        arguments.snapshot,
        suffixes={(job.suite.path, job.model): suffix for job, suffix in zip(jobs, suffixes, strict=True)},
        env_allow=arguments.snapshot_env_allow,
        patterns=arguments.evidence_files,
    )


def write_seal(recorder: Recorder, results: CommandResults) -> list[Path]:
    """Seal the directory, and print what is not in it; return the path of the seal."""
    path, seal = seal_directory(recorder, [one.outcome for one in results.done], results.not_started)
    for line in seal.missing:
        print_notice(f"warning: not in the evidence: {line}")
    print_notice(
        f"Evidence: {pluralize(len(seal.files), 'snapshot')} in {recorder.directory}, sealed with sha256 {seal.sha256}"
    )
    return [path]
