"""`waza run --watch`: run suites, and again those that saved files touch. Each round is a run like any other."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from waza.cli.check_options import list_outputs
from waza.cli.choose_suites import Chosen
from waza.cli.command_run import CommandRun
from waza.cli.outputs import ReporterOption
from waza.cli.run_command import Round, RunArguments, choose_round, run_round
from waza.cli.streams import print_notice
from waza.errors import EXIT_ERROR, EXIT_FAILED, EXIT_OK, SuiteError, UsageError, WazaError
from waza.kit.file_watch import Snapshot, changed_files, take_snapshot, wait_for_changes
from waza.kit.text import list_first, pluralize
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.words import one_line
from waza.suite.loading import LoadOptions
from waza.suite.parts import SuiteParts, list_settings, map_changes, read_parts

_NAMED = 3  # files that a line names
_TOO_OFTEN = 3  # rounds one after another in which a file changed: the run writes it


def watch(call: CommandRun, arguments: RunArguments, reporters: Sequence[ReporterOption]) -> int:
    """Run suites round by round until Ctrl-C; return the exit code of the last round.

    Raises UsageError if there are no suites at first, or if rounds would ask a real agent everything again.
    """
    watched = _Watched(arguments, reporters)
    current = choose_round(arguments, call.project, print_notice)
    watched.look(current, call.project)
    _check_cost(watched.parts, arguments)
    before, code = watched.snapshot(), EXIT_OK
    while True:
        if current.suites:
            code = _run(call, arguments, reporters, current)
            if code not in (EXIT_OK, EXIT_FAILED, EXIT_ERROR):
                return code
            watched.leave_out_own(changed_files(before, watched.snapshot()))
        count = pluralize(len(watched.suites), "suite")
        print_notice(f"\nWatching {count}: what a saved file touches runs again; Ctrl-C ends")
        try:
            before, changed = watched.wait(before)
        except KeyboardInterrupt:
            print_notice("No longer watching")
            return code
        try:
            call = CommandRun()
            everything = choose_round(arguments, call.project, _say_nothing)
        except WazaError as error:
            print_notice(f"{_describe(changed)}\nError: {error}")
            current = Round([])
            continue
        watched.look(everything, call.project)
        current = watched.touched_round(changed, everything, call.project)


def _check_cost(parts: Sequence[SuiteParts], arguments: RunArguments) -> None:
    asking = [one for one in parts if not one.scripted]
    if asking and not arguments.cache:
        raise UsageError(
            f"--watch would ask the agent of {display_path(asking[0].path)} everything again in each round; "
            "leave --no-cache out, or use --executor mock"
        )


def _run(
    call: CommandRun, arguments: RunArguments, reporters: Sequence[ReporterOption], current: Round
) -> int:
    """Run a round. What is wrong with files is printed, and can be mended while they are watched."""
    try:
        return run_round(call, arguments, reporters, current)
    except SuiteError as error:
        print_notice(error.listing)
    except WazaError as error:
        print_notice(f"Error: {error}")
    return EXIT_ERROR


class _Watched:
    """The suites that are watched, and the files that they are made of."""

    def __init__(self, arguments: RunArguments, reporters: Sequence[ReporterOption]) -> None:
        self.suites: list[Chosen] = []
        self.parts: list[SuiteParts] = []
        self._arguments = arguments
        self._roots: set[Path] = set()
        self._ignored = set(list_outputs(arguments, reporters))
        self._own: dict[Path, int] = {}  # files that changed while a round ran, with the number of rounds

    def look(self, everything: Round, project: Project) -> None:
        """Take over which suites there are, and what these are made of now."""
        given = self._arguments
        self.suites = list(everything.suites)
        self.parts = [
            read_parts(
                one.path,
                LoadOptions(executor=given.executor, context_dir=given.context_dir, skill_dir=one.skill_dir),
                one.source,
            )
            for one in self.suites
        ]
        self._roots = {root for parts in self.parts for root in parts.roots}
        self._roots |= {_real(parts.path.parent) for parts in self.parts}
        self._roots |= {path for parts in self.parts for path in list_settings(parts.path, project)}
        if not given.targets:  # there may be new ones
            names = (project.keys.paths.evals, project.keys.paths.skills)
            self._roots |= {_real(top / name) for top in (Path.cwd(), project.directory) for name in names}

    def snapshot(self) -> Snapshot:
        """Return the files as they are now."""
        return take_snapshot(self._roots, self._ignored)

    def wait(self, before: Snapshot) -> tuple[Snapshot, list[Path]]:
        """Wait until files were saved; return how all are then, and which were saved."""
        known = {path: state for path, state in before.items() if path not in self._ignored}
        now = wait_for_changes(self._roots, self._ignored, known)
        return now, sorted({_real(path.parent) / path.name for path in changed_files(known, now)})

    def leave_out_own(self, changed: Sequence[Path]) -> None:
        """Stop watching files that change in every round, since the run itself writes them."""
        self._own = {path: self._own.get(path, 0) + 1 for path in changed}
        for path, rounds in self._own.items():
            if rounds == _TOO_OFTEN:
                self._ignored.add(path)
                print_notice(f"{display_path(path)} is written in every round, so it is no longer watched")

    def touched_round(self, changed: Sequence[Path], everything: Round, project: Project) -> Round:
        """Return the round of the suites that saved files touch."""
        found = map_changes(self.parts, changed, project).suites
        print_notice(f"{_describe(changed)}{'' if found else ', of which no suite is made'}")
        touched = [one for one, parts in zip(self.suites, self.parts, strict=True) if parts.path in found]
        untouched = [one for one in self.suites if one not in touched]
        return everything.only(touched, [(one.label, "nothing of it was saved") for one in untouched])


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _describe(changed: Sequence[Path]) -> str:
    return f"\nSaved: {list_first([one_line(display_path(path)) for path in changed], _NAMED)}"


def _say_nothing(line: str) -> None:
    del line  # it was said at first
