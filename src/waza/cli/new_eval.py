"""`waza new eval`, step by step: find what is to be evaluated, make the suite, and write it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.author.scaffold import SCENARIOS
from waza.author.scaffold.evaluation import as_suite_file, plan_evaluation, suite_path
from waza.author.scaffold.names import check_suite_name
from waza.author.scaffold.place import AGENT, Place, choose_executor, find_place
from waza.author.scaffold.scenario import Scenario, plan_scenario
from waza.cli.find_targets import find_named, find_targets
from waza.cli.new_command import report_files, report_steps, run_steps, shell, write_all
from waza.cli.questions import ask_choice, can_ask
from waza.cli.schema_files import write_schemas
from waza.cli.streams import print_line
from waza.errors import EXIT_OK, UsageError
from waza.model.skill import Target
from waza.suite.definition import make_absolute, read_definition, require_usable
from waza.suite.project import find_project


class NewEvalArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza new eval`, named as in `waza.cli.new`."""

    name: str
    template: str | None
    context: str
    output: Path | None
    executor: str
    judge: bool
    scenario: bool
    overwrite: bool
    yes: bool


def new_eval(arguments: NewEvalArguments) -> int:
    """Write a suite; return the exit code."""
    asks = can_ask() and not arguments.yes
    if arguments.scenario:
        return _new_scenario(arguments, asks=asks)
    for option, value in (("--template", arguments.template), ("--context", arguments.context)):
        if value:
            raise UsageError(f"{option} is for scenarios; add --scenario")
    if not arguments.name:
        raise UsageError("name the skill or custom agent: waza new eval SKILL; a scenario needs --scenario")
    target = _find(arguments.name)
    place = _place_of(target)
    executor = choose_executor(arguments.executor, place)
    file = suite_path(target, place, _absolute(arguments.output))
    files = plan_evaluation(target, place, executor, file, judge=arguments.judge)
    written = write_all(files, overwrite=arguments.overwrite, asks=asks)
    write_schemas(place.root)
    report_files(f"the suite of {target.name}", written)
    report_steps([(shell("check", target.path), ""), *run_steps(file, executor)])
    return EXIT_OK


def _new_scenario(arguments: NewEvalArguments, *, asks: bool) -> int:
    if arguments.judge:
        raise UsageError("a scenario is graded by the files that are left; leave --judge out")
    template = arguments.template or (
        ask_choice("What is the scenario about?", SCENARIOS, SCENARIOS[0]) if asks else SCENARIOS[0]
    )
    name = check_suite_name(arguments.name or f"{template}-workflow")
    context = _find(arguments.context) if arguments.context else _find_of_name(arguments.name)
    place = _place_of(context) if context else find_place(Path.cwd())
    executor = choose_executor(arguments.executor, place, AGENT)
    output = _absolute(arguments.output) or place.evals / name
    file = as_suite_file(output, place)
    scenario = Scenario(
        name=name, template=template, context=context, place=place, executor=executor, file=file
    )
    files = plan_scenario(scenario)
    written = write_all(files, overwrite=arguments.overwrite, asks=asks)
    write_schemas(place.root)
    report_files(f"the scenario {name}", written)
    if context:
        kind = "skill" if context.kind == "skill" else "custom agent"
        print_line(f"its context is the {kind} {context.name}")
    report_steps(
        [(shell("preflight", file), "says what it needs, and runs nothing"), *run_steps(file, executor)]
    )
    return EXIT_OK


def _absolute(path: Path | None) -> Path | None:
    return make_absolute(path) if path else None


def _find(wanted: str) -> Target:
    """Return the skill or agent that a name or path means. Raises UsageError, SuiteError: there is no such usable one."""
    found = find_targets([wanted], find_project(Path.cwd()))
    if len(found) > 1:
        raise UsageError(
            f"{wanted} holds {len(found)} skills and agents; name one: {', '.join(one.name for one in found)}"
        )
    return require_usable(read_definition(found[0].definition)).target


def _find_of_name(name: str) -> Target | None:
    """Return the skill or agent of the workspace that has a name, if there is one."""
    found = find_named(name, find_project(Path.cwd())) if name else []
    return require_usable(read_definition(found[0].definition)).target if found else None


def _place_of(target: Target) -> Place:
    """Return the place of a suite: that of the current directory, if the skill or agent is there."""
    here = find_place(Path.cwd())
    return here if target.path.is_relative_to(here.root) else find_place(target.directory)
