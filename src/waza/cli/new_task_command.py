"""`waza new task`, step by step: find the suite, look at what an agent did, and write the task."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from waza.author.scaffold.from_prompt import PromptRequest, find_suite_of, make_task, prepare, run_once
from waza.author.scaffold.from_run import FailedTrial, choose_trial, fails_on_mock, make_regression
from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.place import find_place
from waza.author.scaffold.task_file import is_task_of
from waza.cli.new_command import report_files, report_steps, shell, write_all
from waza.cli.open_results import find_runs, load_run
from waza.cli.questions import can_ask
from waza.cli.schema_files import write_schemas
from waza.cli.streams import print_notice
from waza.errors import EXIT_OK, UsageError
from waza.kit.names import did_you_mean
from waza.model.event import RunEvent, Warned
from waza.model.result import SuiteResult, TaskResult
from waza.problem import display_path
from waza.results.invocation_lines import RUNS
from waza.results.journal_lines import has_header, read_header
from waza.suite.definition import make_absolute
from waza.suite.project import find_project

_IN_NO_SUITE = "no suite has it among its tasks; put it into the tasks of one to run it"


class FromPromptArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza new task from-prompt`, named as in `waza.cli.new_task`."""

    prompt: str
    path: Path
    executor: str
    model: str
    timeout: int | None
    testname: str
    tags: str
    files: tuple[str, ...]
    suite: Path | None
    root: Path
    script: Path | None
    overwrite: bool


def from_prompt(arguments: FromPromptArguments) -> int:
    """Run the prompt and write the task; return the exit code."""
    if not arguments.prompt.strip():
        raise UsageError("the prompt is empty; write what the agent is to be asked")
    place = find_place(make_absolute(arguments.root))
    file = make_absolute(arguments.path)
    if file.is_dir() or file.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{arguments.path} is not the path of a task file; name one that ends in .yaml")
    _refuse_taken(file, overwrite=arguments.overwrite)
    suite = make_absolute(arguments.suite) if arguments.suite else find_suite_of(file, place)
    request = PromptRequest(
        prompt=arguments.prompt,
        name=arguments.testname.strip(),
        tags=tuple(tag.strip() for tag in arguments.tags.split(",") if tag.strip()),
        files=arguments.files,
        executor=arguments.executor,
        model=arguments.model,
        timeout=arguments.timeout,
        script=arguments.script,
    )
    with prepare(request, suite, place) as prepared:
        if prepared.echoes:
            print_notice(
                "note: the mock has no script, so it repeats the prompt; give it one with --script FILE"
            )
        print_notice(f"running the prompt once on {prepared.suite.file.config.executor}")
        observed = asyncio.run(run_once(prepared, find_project(place.root), _report))
        text = make_task(request, prepared.task, observed, file, place)
    files = NewFiles()
    files.add(file, text)
    written = write_all(files, overwrite=arguments.overwrite, asks=can_ask())
    write_schemas(place.root)
    report_files(f"the task {prepared.task}", written)
    print_notice("its graders are inferred from one answer: read them, and correct what need not be so")
    if suite is None or not is_task_of(file, prepared.loading):
        print_notice(_IN_NO_SUITE)
        return EXIT_OK
    report_steps(
        [(shell("run", suite, "--task", prepared.task, "--executor", "mock"), "plays what was seen")]
    )
    return EXIT_OK


def _refuse_taken(file: Path, *, overwrite: bool) -> None:
    """Raise UsageError for a file that is there already, before an agent has cost anything."""
    if file.exists() and not overwrite and not can_ask():
        raise UsageError(f"{file} is there already; overwrite it with --overwrite")


def _report(event: RunEvent) -> None:
    if isinstance(event, Warned):
        print_notice(event.message)


class FromRunArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza new task from-run`, named as in `waza.cli.new_task`."""

    results: str
    task: str
    trial: int | None
    suite: Path | None
    output: Path | None
    overwrite: bool


def from_run(arguments: FromRunArguments) -> int:
    """Make the regression task; return the exit code."""
    project = find_project(Path.cwd()).directory
    failed = _find_failed(arguments, project)
    suite = _find_suite(failed, arguments.suite, project)
    output = make_absolute(arguments.output) if arguments.output else None
    made = make_regression(failed, suite, output)
    files = NewFiles()
    files.add(made.file, made.text)
    written = write_all(files, overwrite=arguments.overwrite, asks=can_ask())
    write_schemas(made.place.root)
    report_files(f"the task {made.id}", written)
    if made.earlier:
        print_notice(
            f"note: {display_path(made.earlier)} was made of the same trial; one of the two is enough"
        )
    if made.left_out:
        print_notice(
            f"note: it has the graders that did not pass; without those that passed ({', '.join(made.left_out)}) its score is "
            "lower than that of the trial"
        )
    if made.suite is None:
        print_notice(_IN_NO_SUITE)
        return EXIT_OK
    if not asyncio.run(fails_on_mock(made.id, made.suite, find_project(made.place.root))):
        print_notice(
            "on the mock it does not fail: results do not have all that was there, such as files that the agent left; "
            "complete its script (`mock`) so that the graders are seen to fail"
        )
    command = shell("run", made.suite, "--task", made.id, "--executor", "mock")
    report_steps([(command, "fails by what did not pass in the run; an agent has to do better")])
    return EXIT_OK


def _find_failed(arguments: FromRunArguments, project: Path) -> FailedTrial:
    """Return the failed trial that is meant. Raises UsageError if there is no such one, or several runs have the task."""
    found: list[tuple[str, SuiteResult, TaskResult]] = []
    known: set[str] = set()
    for saved in find_runs(arguments.results, project).runs:
        head = load_run(saved)
        known |= {task.test_id for task in head.tasks}
        found += [
            (head.eval_id, head, task)
            for task in head.tasks
            if arguments.task in (task.test_id, task.display_name)
        ]
    if not found:
        raise UsageError(
            f"there is no task {arguments.task!r} in {arguments.results}; {did_you_mean(arguments.task, known)}"
        )
    if len(found) > 1:
        runs = ", ".join(run for run, _, _ in found)
        raise UsageError(f"{len(found)} runs have the task {arguments.task!r}; name one: {runs}")
    run, head, task = found[0]
    return choose_trial(run, head, task, arguments.trial)


def _find_suite(failed: FailedTrial, given: Path | None, project: Path) -> Path:
    """Return the suite that a run was of: the one given, else that which the journal of the run names."""
    if given is not None:
        return make_absolute(given)
    directory = project / RUNS / failed.run
    named = Path(read_header(directory).suite) if has_header(directory) else None
    if named is None or not named.is_file():
        where = f"{named} is not there any more" if named else "the results do not say where it is"
        raise UsageError(f"name the suite of the run with --suite: {where}")
    return named
