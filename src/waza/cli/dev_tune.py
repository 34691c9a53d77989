"""What `waza dev --tune` does: it tunes the description of a skill by its trigger tests."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from waza.author.improve.ask import Asker, NotAskedError
from waza.author.improve.description import write_description
from waza.author.improve.split import PARTS, Split, find_seed, split_prompts
from waza.author.improve.tune import (
    TuneRequest,
    Tuning,
    ask_first,
    least_prompts,
    most_candidates,
    part_sizes,
    tune,
    tuning_to_json,
)
from waza.author.improve.tune_measure import TriggerMeasure
from waza.author.improve.tune_record import TuningRecord, describe_earlier
from waza.author.improve.tune_report import split_lines, tuning_lines
from waza.cli.asking import AskArguments, choose_asker, load_suite_of, print_questions, run_asker
from waza.cli.questions import can_ask, confirm
from waza.cli.streams import output_width, print_json, print_line, print_notice
from waza.engine.cancellation import Cancellation
from waza.errors import EXIT_OK, UsageError
from waza.kit.text import pluralize
from waza.model.loaded import Project, Suite, TriggerTests
from waza.model.skill import Target
from waza.problem import display_path
from waza.suite.detect import DetectedSkill
from waza.suite.discover import read_target

if TYPE_CHECKING:
    from waza.cli.dev_command import DevArguments


def tune_skill(found: DetectedSkill, given: DevArguments, project: Project) -> int:
    """Tune the description of a skill, report, write it if that is wanted, and return the exit code."""
    target = read_target(found.definition)
    suite, tests = _find_tests(found, given.executor)
    split = split_prompts(tests, given.seed or 0)
    most = _limit_candidates(tests, split, given.max_iterations or project.keys.dev.maxIterations)
    earlier = tuple(describe_earlier(project.directory, target.name, split))
    request = TuneRequest(
        skill=target.name,
        definition=target.path.read_bytes().decode("utf-8"),
        description=target.description,
        split=split,
        most=most,
        trials=given.trials or 1,
        notes=earlier,
    )
    asking = AskArguments(
        executor=given.executor,
        model=given.model or project.keys.dev.model,
        max_tokens=given.max_tokens,
        show_prompt=given.show_prompt,
    )
    asker = choose_asker(asking, project, suite)
    if given.show_prompt:
        return _preview(request, asker)
    for note in earlier:
        print_notice(f"warning: {note}")
    watcher = _Watcher(TuningRecord(project.directory, target.name))
    measure = TriggerMeasure(suite, target, project, given.trials or 1, Cancellation())
    tuning = run_asker(asker, tune(request, asker, measure, watcher))
    if given.form == "json":
        print_json({**tuning_to_json(tuning), "record": display_path(watcher.record.path)})
    else:
        print_line("\n".join(tuning_lines(tuning, output_width())))
    print_notice(f"Record: {display_path(watcher.record.path)}")
    _apply(tuning, target, auto=given.auto)
    return EXIT_OK


def _find_tests(found: DetectedSkill, executor: str) -> tuple[Suite, TriggerTests]:
    suite = load_suite_of(found, executor)
    if suite is None or suite.trigger_tests is None:
        what = "no suite" if suite is None else "a suite without trigger tests that can be measured"
        raise UsageError(
            f"{found.name} has {what}, and tuning goes by these; waza dev {found.name} --scaffold-triggers writes some"
        )
    target = suite.trigger_target
    if target is None or target.path != found.definition:
        other = f"of {target.name}" if target else "of no skill that is offered"
        raise UsageError(f"the trigger tests of {display_path(suite.path)} are {other}, not of {found.name}")
    return suite, suite.trigger_tests


def _limit_candidates(tests: TriggerTests, split: Split, wanted: int) -> int:
    """Return how many candidates there can be. Raises UsageError where there are too few prompts to say anything."""
    sizes = part_sizes(split)
    most = most_candidates(sizes["validation"], wanted)
    if not most or not min(sizes.values()):
        shown = ", ".join(f"{sizes[part]} in {part}" for part in PARTS)
        least = least_prompts()
        seed = find_seed(tests, least, split.seed + 1)
        other = f", or try --seed {seed}" if seed is not None else ""
        raise UsageError(
            f"there are too few prompts to say anything: {shown}; the validation part needs {least} before a better "
            f"description differs from chance, and no part may be empty. Write some {3 * least + 6} prompts{other}"
        )
    if most < wanted:
        print_notice(
            f"warning: {sizes['validation']} prompts in the validation part can tell "
            f"{pluralize(most, 'candidate')} from chance; no more are tried"
        )
    return most


def _preview(request: TuneRequest, asker: Asker) -> int:
    """Print the parts, what would be run, and the first question."""
    print_line("\n".join(split_lines(request.split, output_width())))
    sizes = part_sizes(request.split)
    each = (sizes["train"] + sizes["validation"]) * request.trials
    at_the_end = 2 * sizes["sealed"] * request.trials
    most = each * (1 + request.most) + at_the_end
    print_line(
        f"\nEach description costs {pluralize(each, 'session')} of the agent; with {pluralize(request.most, 'candidate')} and "
        f"the sealed part {most} at most.\n"
    )
    with suppress(NotAskedError):
        run_asker(asker, ask_first(request, asker))
    print_questions(asker)
    print_notice("what is asked next depends on what is measured")
    return EXIT_OK


class _Watcher:
    """Says on standard error what is measured, and keeps the record."""

    def __init__(self, record: TuningRecord) -> None:
        self.record = record

    def measuring(self, what: str, prompts: int) -> None:
        print_notice(f"Measuring {what} on {pluralize(prompts, 'prompt')}")

    def measured(self, tuning: Tuning) -> None:
        self.record.write(tuning)

    def unseal(self, tuning: Tuning) -> None:
        print_notice(f"Candidate {tuning.chosen} is chosen; the sealed part is read now, once")
        self.record.unseal(tuning)


def _apply(tuning: Tuning, target: Target, *, auto: bool) -> None:
    """Write the chosen description if that is wanted. The sealed part decides nothing."""
    description = tuning.chosen_description
    if description is None:
        return
    sealed = tuning.sealed
    if sealed and (sealed.comparison.mean_difference or 0) <= 0:
        print_notice("warning: on the sealed part the chosen description was not better")
    if not auto and not (can_ask() and confirm("Write it?")):
        print_notice("Nothing was written; --auto writes the chosen description")
        return
    write_description(target.path, description)
    print_notice(f"Written: {display_path(target.path)}")
