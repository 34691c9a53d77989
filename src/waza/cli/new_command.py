"""`waza new`, step by step: ask what is missing, make the files, write them, and say how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from waza.author.scaffold.agent import agent_file, plan_agent
from waza.author.scaffold.names import check_agent_name, check_skill_name
from waza.author.scaffold.new_files import NewFiles, Written, list_paths
from waza.author.scaffold.place import MOCK, NewExecutor, Place, choose_executor, find_place
from waza.author.scaffold.project import ABOUT_SOURCE, WORKFLOW
from waza.author.scaffold.skill import plan_skill, skill_file
from waza.author.scaffold.skill_text import SkillText, check_description, complete, text_of
from waza.author.scaffold.target import TargetPlan, is_kept, unusable
from waza.cli.questions import ask_text, ask_yes, can_ask
from waza.cli.schema_files import write_schemas
from waza.cli.streams import print_line, print_notice
from waza.errors import EXIT_OK, UsageError
from waza.kit.text import pluralize
from waza.problem import display_path
from waza.suite.definition import make_absolute, read_definition
from waza.suite.detect import describe_definition
from waza.suite.locate import SuiteLocator
from waza.suite.project import find_project


class NewSkillArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza new skill`, named as in `waza.cli.new`."""

    name: str
    description: str
    triggers: tuple[str, ...]
    anti_triggers: tuple[str, ...]
    executor: str
    output_dir: Path
    template: str
    judge: bool
    overwrite: bool
    yes: bool


def new_skill(arguments: NewSkillArguments) -> int:
    """Write a skill with its suite; return the exit code."""
    if arguments.template:
        print_notice(f"note: --template {arguments.template} has no effect yet")
    asks = can_ask() and not arguments.yes
    name = _name(arguments.name, "skill", check_skill_name, asks=asks)
    place = find_place(make_absolute(arguments.output_dir))
    executor = choose_executor(arguments.executor, place)
    definition = skill_file(place, name)
    if is_kept(definition):
        text, judge = text_of(read_definition(definition).target), arguments.judge
    else:
        _confirm_replacing(definition, overwrite=arguments.overwrite, asks=asks)
        text, judge = _describe(name, arguments, asks=asks)
    return _finish(f"the skill {name}", plan_skill(name, text, place, executor, judge=judge), place, executor)


class NewAgentArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza new agent`, named as in `waza.cli.new`."""

    name: str
    description: str
    executor: str
    output_dir: Path
    judge: bool
    overwrite: bool
    yes: bool


def new_agent(arguments: NewAgentArguments) -> int:
    """Write a custom agent with its suite; return the exit code."""
    asks = can_ask() and not arguments.yes
    name = _name(arguments.name, "agent", check_agent_name, asks=asks)
    place = find_place(make_absolute(arguments.output_dir))
    executor = choose_executor(arguments.executor, place)
    definition, what, judge, target = agent_file(place, name), arguments.description, arguments.judge, name
    if is_kept(definition):
        target = read_definition(definition).target.name
    else:
        _confirm_replacing(definition, overwrite=arguments.overwrite, asks=asks)
        usual = (
            f"Reads files and says what is in them, for work on {name.replace('-', ' ')}. Changes nothing."
        )
        what = what or (ask_text("What does it do, in a sentence?", usual) if asks else usual)
        judge = judge or (asks and ask_yes("Shall a model judge the first task as well?"))
    plan = plan_agent(name, check_description(what), place, executor, target=target, judge=judge)
    return _finish(f"the agent {name}", plan, place, executor)


def _finish(what: str, plan: TargetPlan, place: Place, executor: NewExecutor) -> int:
    elsewhere = _find_suite(plan.definition, place) if plan.definition in plan.kept else None
    if elsewhere and elsewhere != plan.suite:
        report_files(what, Written(), [plan.definition, elsewhere])
        report_steps(check_and_run(plan.definition, elsewhere, executor))
        return EXIT_OK
    written = plan.files.write(overwrite=True)  # what is to be kept is not among them
    write_schemas(place.root)
    report_files(what, written, plan.kept)
    if any(path.match(WORKFLOW) for path in plan.files):
        print_notice(f"note: {ABOUT_SOURCE}")
    report_steps(check_and_run(plan.definition, plan.suite, executor))
    return EXIT_OK


def _find_suite(definition: Path, place: Place) -> Path | None:
    """Return the suite that a skill or agent has already, wherever it is."""
    return SuiteLocator(find_project(place.root)).locate(describe_definition(definition, place.root))


def _name(given: str, what: str, check: Callable[[str], str], *, asks: bool) -> str:
    """Return the name of what is to be made; on a terminal, one that is missing or not valid is asked for."""
    if given:
        return check(given)
    if not asks:
        raise UsageError(f"name the {what}: waza new {what} NAME (on a terminal you are asked for it)")
    while True:
        try:
            return check(ask_text(f"Name of the {what}"))
        except UsageError as error:
            print_notice(str(error))


def _describe(name: str, arguments: NewSkillArguments, *, asks: bool) -> tuple[SkillText, bool]:
    """Return what a new skill says of itself, and whether a judge is wanted: what options do not say is asked for."""
    given = SkillText(
        name=name,
        what=arguments.description,
        triggers=arguments.triggers,
        anti_triggers=arguments.anti_triggers,
    )
    if not asks:
        return complete(given), arguments.judge
    usual = complete(given)
    answered = SkillText(
        name=name,
        what=given.what or ask_text("What does it do, in a sentence?", usual.what),
        triggers=given.triggers
        or (ask_text("What is it for? Phrases, with commas", ", ".join(usual.triggers)),),
        anti_triggers=given.anti_triggers
        or (ask_text("What is it not for? Phrases, with commas", ", ".join(usual.anti_triggers)),),
    )
    return complete(answered), arguments.judge or ask_yes("Shall a model judge the first task as well?")


def _confirm_replacing(definition: Path, *, overwrite: bool, asks: bool) -> None:
    """Raise UsageError for a definition that cannot be read, and that nobody wants to be replaced."""
    why = unusable(definition)
    if not why or overwrite:
        return
    if asks:
        print_notice(why)
    if not (asks and ask_yes(f"Replace {display_path(definition)}?")):
        raise UsageError(f"{why}; correct it, or replace the file with --overwrite; nothing was changed")


def write_all(files: NewFiles, *, overwrite: bool, asks: bool) -> Written:
    """Write files; on a terminal, ask before others are overwritten. Return what became of them. Raises UsageError if they must not be."""
    taken = files.conflicts()
    if taken and not overwrite and asks:
        overwrite = ask_yes(f"Overwrite {list_paths(taken)}?")
    if taken and not overwrite:
        verb = "is" if len(taken) == 1 else "are"
        raise UsageError(
            f"{list_paths(taken)} {verb} there already; overwrite with --overwrite; nothing was changed"
        )
    return files.write(overwrite=overwrite)


def report_files(what: str, written: Written, kept: Sequence[Path] = ()) -> None:
    """Print which files are new, which were replaced and which were there and stayed, and a line about all."""
    same = (*kept, *written.unchanged)
    for word, paths in (("kept", same), ("replaced", written.replaced), ("new", written.new)):
        for path in paths:
            print_line(f"  {word:<8}  {display_path(path)}")
    new, replaced = len(written.new), len(written.replaced)
    if replaced:
        counts = f"{pluralize(replaced, 'file')} replaced, {new} new, {len(same)} kept"
        print_line(f"{what} was written: {counts}")
    elif not new:
        print_line(f"{what} is there already; no file was changed")
    elif same:
        print_line(f"{what} was completed by {pluralize(new, 'file')}")
    else:
        print_line(f"{what} was written: {pluralize(new, 'file')}")


def report_steps(steps: Iterable[tuple[str, str]]) -> None:
    """Print commands to go on with, and what each is for."""
    print_line("next:")
    for command, what in steps:
        print_line(f"  {command}  # {what}" if what else f"  {command}")


def check_and_run(definition: Path, suite: Path, executor: NewExecutor) -> Iterator[tuple[str, str]]:
    """Yield the commands that check a skill or agent and run its suite."""
    yield shell("check", definition), ""
    yield from run_steps(suite, executor)


def run_steps(suite: Path, executor: NewExecutor) -> Iterator[tuple[str, str]]:
    """Yield the commands that run a suite: on the mock, then with a real agent."""
    on_mock = "plays scripts: shows that the suite works, and nothing about an agent"
    if executor.name == MOCK:
        yield shell("run", suite), on_mock
        yield shell("run", suite, "--executor", "copilot-sdk"), "a real agent"
    else:
        yield shell("run", suite, "--executor", MOCK), on_mock
        yield shell("run", suite), f"with {executor.name}"


def shell(*words: str | Path) -> str:
    """Return a command line of waza; paths are as they are shown to people."""
    return shlex.join(["waza", *(display_path(one) if isinstance(one, Path) else one for one in words)])
