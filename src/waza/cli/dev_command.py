"""What `waza dev` does with its options."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

import msgspec

from waza.author.check.report import Level, TargetReport
from waza.author.check.run import CheckOptions, check_targets
from waza.author.check.source import Source
from waza.author.improve.advice import advice_lines, advise_skill
from waza.author.improve.ask import NotAskedError
from waza.author.improve.levels import (
    LEVELS,
    Proposal,
    RaisedLevel,
    change_lines,
    level_of,
    raise_level,
    summary_lines,
)
from waza.author.improve.trigger_file import write_trigger_file
from waza.author.tokens.count import choose_counter
from waza.cli.asking import AskArguments, choose_asker, load_suite_of, print_questions, run_asker
from waza.cli.find_targets import find_targets
from waza.cli.open_project import open_project
from waza.cli.questions import confirm
from waza.cli.streams import output_width, print_line, print_notice
from waza.errors import EXIT_OK, UsageError, WazaError
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.words import FAILED, one_line
from waza.suite.detect import DetectedSkill, describe_definition
from waza.suite.locate import find_suite_of

_SHOWN = 10  # findings between two changes


class DevArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments and options of the command."""

    skills: tuple[str, ...]
    target: str | None
    max_iterations: int | None
    auto: bool
    everything: bool
    level: str | None
    scaffold_triggers: bool
    copilot: bool
    tune: bool
    trials: int | None
    seed: int | None
    executor: str
    model: str
    form: str
    max_tokens: int
    show_prompt: bool


def run_dev(given: DevArguments) -> int:
    """Do what was asked of each skill, and return the exit code."""
    _check(given)
    project = open_project()
    targets = _choose(given, project)
    if given.scaffold_triggers:
        for target in targets:
            path = write_trigger_file(target, find_suite_of(target))
            print_line(f"Written: {display_path(path)}")
        return EXIT_OK
    if given.copilot:
        for target in targets:
            _advise(target, given, project)
        return EXIT_OK
    if given.tune:
        from waza.cli.dev_tune import tune_skill

        if len(targets) > 1:
            raise UsageError("--tune is for one skill; name it")
        return tune_skill(targets[0], given, project)
    return _raise_levels(targets, given, project)


_OF_LOOP = ("target", "max_iterations", "auto")
_OF_MODEL = ("model", "executor", "show_prompt")
_OF_TUNING = ("trials", "seed")
_USED: Mapping[str, Sequence[str]] = {
    "--copilot": _OF_MODEL,
    "--tune": (*_OF_MODEL, *_OF_TUNING, "max_iterations", "auto", "form"),
    "--scaffold-triggers": (),
    "": _OF_LOOP,
}
"""The options that each mode takes besides the skills; without a flag the level is raised."""


def _check(given: DevArguments) -> None:
    if given.everything and given.skills:
        raise UsageError("--all is all skills; leave the names out")
    if given.level and not given.everything:
        raise UsageError("--filter is for --all; give both")
    flags = (
        ("--copilot", given.copilot),
        ("--tune", given.tune),
        ("--scaffold-triggers", given.scaffold_triggers),
    )
    modes = [flag for flag, value in flags if value]
    if len(modes) > 1:
        raise UsageError(f"{modes[0]} and {modes[1]} are two things to do; give one of them")
    mode = modes[0] if modes else ""
    for name in (*_OF_LOOP, *_OF_MODEL, *_OF_TUNING, "form"):
        value = getattr(given, name)
        if name in _USED[mode] or value in (None, False, "", "text"):
            continue
        flag = "--format" if name == "form" else f"--{name.replace('_', '-')}"
        users = [other or "raising levels" for other, names in _USED.items() if name in names]
        raise UsageError(f"{flag} is for {' and for '.join(users)}; leave it out")


def _choose(given: DevArguments, project: Project) -> list[DetectedSkill]:
    """Return the skills that are meant: by name or path, all, or the only one around."""
    found = [one for one in find_targets(given.skills, project) if one.is_skill]
    if given.level:
        found = [one for one in found if level_of(_check_one(one)) == _level(given.level)]
    if not found:
        raise UsageError("there is no such skill" + (f" of the level {given.level}" if given.level else ""))
    if len(found) > 1 and not (given.skills or given.everything):
        names = ", ".join(one.name for one in found)
        raise UsageError(f"there are several skills ({names}); name one, or use --all")
    return found


def _level(name: str) -> Level:
    return next(level for level in LEVELS if level.lower() == name)


def _check_one(target: DetectedSkill) -> TargetReport:
    now = describe_definition(target.definition, target.root, target.owner)  # the name may be another one
    options = CheckOptions(counter=choose_counter(), offline=True)
    return check_targets([now], options).targets[0]


def _raise_levels(targets: Sequence[DetectedSkill], given: DevArguments, project: Project) -> int:
    goal = _level(given.target or project.keys.dev.target)
    most = given.max_iterations or project.keys.dev.maxIterations
    around = {one.name for one in _list_around(project)}
    changes: list[RaisedLevel] = []
    failures: dict[str, str] = {}
    for target in targets:
        try:
            others = sorted(around - {target.name})
            loop = _TerminalLoop(target, auto=given.auto)
            changes.append(raise_level(target.definition, others, goal, most, loop))
        except WazaError as error:
            if len(targets) == 1:
                raise
            print_notice(f"Error: {target.name}: {error}")
            failures[target.name] = str(error)
        else:
            print_line("\n".join(["", *change_lines(changes[-1], output_width())]))
    if len(targets) > 1:
        print_line("\n".join(["", *summary_lines(changes, failures, output_width())]))
    return EXIT_OK


def _list_around(project: Project) -> list[DetectedSkill]:
    try:
        return find_targets((), project)
    except UsageError:
        return []  # the skill was named by a path


class _TerminalLoop:
    """Shows what happens to a skill, and asks a person, or nobody with `auto`."""

    def __init__(self, target: DetectedSkill, *, auto: bool) -> None:
        self._target, self._auto = target, auto
        self._number = 0

    def check(self) -> TargetReport:
        return _check_one(self._target)

    def show(self, report: TargetReport) -> None:
        lines = [f"{one_line(report.name)}: {level_of(report)} ({report.counted})"]
        errors = [one for one in report.findings if one.severity == "error"]
        lines += [f"  {FAILED} {one.code}: {one_line(one.message, 200)}" for one in errors[:_SHOWN]]
        print_line("\n".join(lines))

    def confirm(self, proposal: Proposal, before: str) -> bool:
        self._number += 1
        print_line(f"\nChange {self._number}: {proposal.what}")
        print_line("\n".join(_diff(before, proposal.description)))
        if self._auto:
            return True
        return confirm("Write it?")


def _diff(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(_sentences(before), _sentences(after))
    return [line for line in lines if not line.startswith("?")]


def _sentences(text: str) -> list[str]:
    return text.replace(". ", ".\n").split("\n")


def _advise(target: DetectedSkill, given: DevArguments, project: Project) -> None:
    suite = load_suite_of(target, given.executor)
    asking = AskArguments(
        executor=given.executor,
        model=given.model or project.keys.dev.model,
        max_tokens=given.max_tokens,
        show_prompt=given.show_prompt,
    )
    asker = choose_asker(asking, project, suite)
    report = _check_one(target)
    tests = suite.trigger_tests if suite else None
    try:
        advice = run_asker(asker, advise_skill(Source(target.definition), report, tests, asker))
    except NotAskedError:
        print_questions(asker)
        return
    print_line("\n".join(advice_lines(target.name, level_of(report), asker.name, report, advice)))
