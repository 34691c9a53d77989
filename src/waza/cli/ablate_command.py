"""What `waza ablate` does with its options."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from waza.author.ablate.ablate import AblateRequest, ablate
from waza.author.ablate.ablation import RunOfSkill
from waza.author.ablate.copies import find_ablated
from waza.author.ablate.parts import choose_parts, find_parts
from waza.author.ablate.size import describe_size, notes_before, size_of
from waza.author.ablate.text import print_ablation, print_parts
from waza.author.tokens.count import choose_counter
from waza.cli.choose_suites import choose_suite
from waza.cli.open_project import open_project
from waza.cli.questions import may_spend
from waza.cli.streams import make_output_draw, print_json, print_line, print_notice, print_problems
from waza.engine.cancellation import Cancellation
from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
from waza.kit.files import is_inside
from waza.model.skill import Target
from waza.problem import display_path
from waza.report.words import one_line
from waza.suite.definition import make_absolute
from waza.suite.load import load
from waza.suite.loading import LoadOptions


class AblateArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of the command. `margin` is a score."""

    target: str
    level: int | None
    sections: tuple[str, ...]
    margin: float
    trials: int | None
    model: str
    executor: str
    directory: Path | None
    yes: bool
    dry_run: bool
    as_json: bool


def ablate_command(given: AblateArguments) -> int:
    """Announce what it takes, run, report, and return the exit code."""
    project = open_project()
    chosen = choose_suite(given.target, project)
    models = (given.model,) if given.model else ()
    options = LoadOptions(
        executor=given.executor, models=models, trials=given.trials, skill_dir=chosen.skill_dir
    )
    suite = load(chosen.path, options)
    print_problems(suite.warnings)
    target, counter = find_ablated(suite), choose_counter()
    directory = _directory(given.directory, target)
    found = find_parts(target, counter, given.level)
    parts = choose_parts(found, given.sections)
    if not parts:
        raise UsageError(f"{display_path(target.path)} has no section or file that can be left out")
    size, notes = size_of(suite, target, len(parts)), list(notes_before(suite, len(parts)))
    if given.dry_run and given.as_json:
        shown = [{**msgspec.structs.asdict(one), "text": None} for one in parts]
        for one in shown:
            del one["text"]  # the whole skill, but for the part
        print_json({"size": size, "parts": shown, "fixed": found.fixed, "notes": notes})
        return EXIT_OK
    if given.dry_run:
        print_parts(parts, found.fixed, make_output_draw(), counter.name)
        print_line(f"\n{describe_size(size)}")
    else:
        print_notice(describe_size(size))
    for note in notes:
        print_notice(f"note: {note}")
    if given.dry_run:
        return EXIT_OK
    if not may_spend("Start?", yes=given.yes):
        print_notice("Nothing was run")
        return EXIT_OK
    request = AblateRequest(
        suite=suite,
        target=target,
        found=found,
        parts=parts,
        tokenizer=counter.name,
        project=project,
        margin=given.margin,
        directory=directory,
        notes=notes,
    )
    ablation = asyncio.run(ablate(request, _Watcher(), Cancellation()))
    if given.as_json:
        print_json(ablation)
    else:
        print_ablation(ablation, make_output_draw())
    if directory is not None:
        print_notice(f"The runs are in {display_path(directory)}")
    return EXIT_OK if ablation.is_complete else EXIT_FAILED


def _directory(given: Path | None, target: Target) -> Path | None:
    """Return where runs are kept. Raises UsageError for what is part of the skill, which would be copied into itself."""
    if given is None:
        return None
    directory = make_absolute(given)
    if target.kind == "skill" and is_inside(target.directory, directory):
        raise UsageError(
            f"--dir: {display_path(directory)} is in the skill itself; name a directory elsewhere"
        )
    return directory


class _Watcher:
    """Says on standard error how far it is."""

    def running(self, number: int, of: int, what: str) -> None:
        print_notice(f"Run {number} of {of}: {one_line(what)}")

    def finished(self, run: RunOfSkill) -> None:
        broke = f", {run.errors} broke" if run.errors else ""
        print_notice(f"  {run.passed} of {run.trials} trials passed{broke}")

    def warn(self, message: str) -> None:
        print_notice(f"warning: {message}")
