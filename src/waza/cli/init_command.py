"""`waza init`, step by step: ask what is to be where, write it, and give suites to skills that have none."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import msgspec

from waza.author.scaffold.evaluation import plan_evaluation, suite_path
from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import AGENT, MOCK, Place, choose_executor, find_place
from waza.author.scaffold.project import (
    HOOKS,
    SOURCE,
    WORKFLOW,
    ProjectRequest,
    check_path,
    detect_paths,
    plan_project,
)
from waza.cli.new_command import NewSkillArguments, new_skill, report_files, report_steps
from waza.cli.questions import ask_choice, ask_text, ask_yes, can_ask
from waza.cli.schema_files import write_schemas
from waza.cli.streams import print_line, print_notice
from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
from waza.kit.text import pluralize
from waza.model.loaded import Paths
from waza.problem import display_path
from waza.report.words import one_line
from waza.suite.definition import make_absolute, read_definition
from waza.suite.detect import DetectedSkill, detect_in
from waza.suite.locate import SuiteLocator
from waza.suite.project import FILE, find_project


class InitArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza init`, named as in `waza.cli.init`."""

    directory: Path
    skills_dir: str
    evals_dir: str
    results_dir: str
    engine: str
    model: str
    source: str
    workflow: bool
    hooks: bool
    no_skill: bool
    no_evals: bool
    yes: bool


def init(arguments: InitArguments) -> int:
    """Make a project, or complete it; return the exit code."""
    root = make_absolute(arguments.directory)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{arguments.directory} is not a directory")
    asks = can_ask() and not arguments.yes
    request = _request(arguments, root, asks=asks)
    plan = plan_project(request)
    for directory in plan.directories:
        directory.mkdir(parents=True, exist_ok=True)
    written = plan.files.write(overwrite=True)  # what is there already is not among them
    write_schemas(root)
    for directory in plan.directories:
        print_line(f"  {'new':<8}  {display_path(directory)}/")
    report_files("the project", written, plan.kept)
    for note in plan.notes:
        print_notice(f"note: {note}")
    left_out = _complete_suites(root, arguments, asks=asks)
    ending = EXIT_FAILED if left_out else EXIT_OK
    if asks and not arguments.no_skill and ask_yes("Start a skill?"):
        return _start_skill(root) or ending
    report_steps([("waza new skill NAME", "a skill with its suite"), ("waza check", ""), ("waza run", "")])
    if left_out:
        print_notice(f"still without a suite: {', '.join(left_out)}; the notes say why")
    return ending


def _request(arguments: InitArguments, root: Path, *, asks: bool) -> ProjectRequest:
    """Return what the project is to have: by options, by what is there, by answers, by defaults."""
    known = find_project(root)
    there = known.found and known.directory == root
    options = {
        name: check_path(f"--{name}-dir", given)
        for name, given in (
            ("skills", arguments.skills_dir),
            ("evals", arguments.evals_dir),
            ("results", arguments.results_dir),
        )
        if given
    }
    paths = known.keys.paths if there else detect_paths(root) if root.is_dir() else Paths()
    given = msgspec.structs.replace(paths, **options)
    if there and given != paths:
        raise UsageError(f"{display_path(root / FILE)} is there already; change the paths in it")
    engine, model = arguments.engine, arguments.model or known.keys.defaults.model
    if not there and asks:
        given = _ask_for_paths(given, options)
        engine = engine or ask_choice("Which executor do new suites have?", (MOCK, AGENT), MOCK)
        if engine == AGENT and not arguments.model:
            model = ask_text("Which model?", model)
    if engine:
        choose_executor(engine, Place(root=root, skills=root))
    if not there and not asks:
        names = f"skills: {given.skills}, suites: {given.evals}, results: {given.results}"
        print_notice(f"executor of new suites: {engine or MOCK}, model: {model}, {names}")
    if there and (arguments.engine or arguments.model):
        print_notice(
            f"note: {display_path(root / FILE)} is there already and was kept, without --engine and --model; "
            "change `defaults` in it"
        )
    source = arguments.source or SOURCE
    return ProjectRequest(
        root=root,
        paths=given,
        engine=engine,
        model=model,
        workflow=arguments.workflow
        or _wants(root / WORKFLOW, "a workflow for GitHub that runs the suites", asks=asks),
        hooks=arguments.hooks or _wants(root / HOOKS, "hooks for pre-commit", asks=asks),
        source=source,
    )


def _wants(file: Path, what: str, *, asks: bool) -> bool:
    """Return whether a file is wanted that nobody asked for yet; one that is there is kept anyway."""
    return asks and not file.exists() and ask_yes(f"Write {what}?")


def _ask_for_paths(paths: Paths, options: Collection[str]) -> Paths:
    """Return the paths with answers in the place of those that no option gives."""
    answers = {
        name: check_path(f"directory of {what}", ask_text(f"Directory of {what}", getattr(paths, name)))
        for name, what in (("skills", "skills"), ("evals", "suites"), ("results", "results"))
        if name not in options
    }
    return msgspec.structs.replace(paths, **answers)


def _complete_suites(root: Path, arguments: InitArguments, *, asks: bool) -> list[str]:
    """List the skills and agents of the project with their suites, and write what is missing of suites.

    Returns the names of those whose suites cannot be written.
    """
    place = find_place(root)
    found = {one.definition: one for one in detect_in(root, place.skills)}
    locator = SuiteLocator(find_project(root))
    missing: list[DetectedSkill] = []
    for one in found.values():
        suite = locator.locate(one)
        if suite is None:
            missing.append(one)
        print_line(f"  {one.name}: {display_path(suite) if suite else 'no suite'}")
    if not missing or arguments.no_evals:
        return []
    if asks and not ask_yes(f"Write {pluralize(len(missing), 'suite')} for those without?", default=True):
        return []
    left_out: list[str] = []
    for one in missing:
        files = _files_of_suite(one, place)
        if files is None:
            left_out.append(one.name)
            continue
        kept = files.conflicts()
        report_files(f"the suite of {one.name}", files.without(kept).write(), kept)
    return left_out


def _files_of_suite(one: DetectedSkill, place: Place) -> NewFiles | None:
    """Return the files of the suite of a skill or agent; None for one that cannot be used, or whose place is taken."""
    definition = read_definition(one.definition)
    if not definition.is_fit:
        why = next(str(problem) for problem in definition.problems if problem.severity == "error")
        print_notice(f"note: no suite for {one.name}: {one_line(why, 300)}")
        return None
    try:
        file = suite_path(definition.target, place, None)
    except UsageError as error:
        print_notice(f"note: no suite for {one.name}: {error}")
        return None
    if os.path.lexists(file):
        print_notice(
            f"note: no suite for {one.name}: {display_path(file)} is there already and is not its suite"
        )
        return None
    return plan_evaluation(definition.target, place, choose_executor("", place), file)


def _start_skill(root: Path) -> int:
    return new_skill(
        NewSkillArguments(
            name="",
            description="",
            triggers=(),
            anti_triggers=(),
            executor="",
            output_dir=root,
            template="",
            judge=False,
            overwrite=False,
            yes=False,
        )
    )
