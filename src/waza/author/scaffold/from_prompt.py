"""`waza new task from-prompt`: run an agent once, and make a task of what it did."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.author.one_run import finished_run
from waza.author.scaffold.observed import INFERRED, infer_graders, read_written, script_turns, written_files
from waza.author.scaffold.place import Place
from waza.author.scaffold.task_file import as_task_file
from waza.engine.run import FinishedRun, RunOptions
from waza.errors import RunError, SuiteError, UsageError
from waza.kit.decode import Decoder
from waza.kit.files import safe_join
from waza.kit.names import unused_name
from waza.model.event import RunEvent
from waza.model.loaded import Project, Suite
from waza.model.mock import MockBlock, MockScript
from waza.model.result import TrialResult
from waza.model.task import InputFile, Task, TaskInputs
from waza.problem import Problem, display_path
from waza.suite.base_task import make_base_task
from waza.suite.definition import make_absolute
from waza.suite.detect import EVAL_FILE, detect_in
from waza.suite.load import examine
from waza.suite.loading import Loading, LoadOptions, Scope
from waza.suite.mock import build_mock_script
from waza.suite.read import read_document
from waza.suite.target import find_task_target

DEFAULT_NAME = "auto-generated-test"
_ABOUT_TASKS = ("unmatched-pattern", "no-task")  # mistakes of a suite that still has to get its first task


class PromptRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be run once.

    `name` is the id of the task, if a certain one is wanted. `files` are fixtures of the suite; `script` is a file with
    what the mock does. `executor` and `model` are those of the command line; empty: what the suite says.
    """

    prompt: str
    name: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    executor: str = ""
    model: str = ""
    timeout: int | None = None
    script: Path | None = None


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen: the trial, the files that the agent wrote, and who it was."""

    trial: TrialResult
    written: dict[str, str]
    executor: str
    model: str


def find_suite_of(task: Path, place: Place) -> Path | None:
    """Return the suite that a task file would belong to: in its directory, or in that above."""
    names = dict.fromkeys((place.eval_file, EVAL_FILE))
    places = (directory / name for directory in (task.parent, task.parent.parent) for name in names)
    return next((path for path in places if path.is_file()), None)


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A suite with the one task that is to be run; `task` is its id."""

    suite: Suite
    task: str
    loading: Loading
    """What was read of the suite, its patterns of task files included."""
    echoes: bool
    """Its executor is the mock without a script, which repeats what it is given."""


@contextmanager
def prepare(request: PromptRequest, suite: Path | None, place: Place) -> Iterator[Prepared]:
    """Give the suite with the prompt as its only task; without a suite, one whose agent has all skills of the project.

    Raises SuiteError for a suite that cannot be used, and UsageError for what does not fit it.
    """
    with tempfile.TemporaryDirectory(prefix="waza-new-") as temporary:
        yield _prepare(suite or _write_suite(Path(temporary), place), request)


async def run_once(prepared: Prepared, project: Project, emit: Callable[[RunEvent], None]) -> Observed:
    """Run the prompt once. Raises RunError if the agent gave no answer."""
    suite = prepared.suite
    options = RunOptions(project=project, save=False, keep_workspace=True, skip_graders=True)
    async with finished_run(suite, options, emit) as done:
        return _read(done, suite)


def _write_suite(directory: Path, place: Place) -> Path:
    """Write a suite whose agent has all skills of a project; return its file."""
    found = detect_in(place.root, place.skills)
    config: dict[str, Any] = {
        "inject_skill_body": False,
        "skill_directories": sorted({str(one.directory) for one in found}),
    }
    if place.engine:
        config["executor"] = place.engine
    config["model"] = place.keys.defaults.model
    path = directory / EVAL_FILE
    path.write_text(
        json.dumps({"name": "from-prompt", "config": config, "tasks": ["*.none"]}), encoding="utf-8"
    )
    return path


def _prepare(path: Path, request: PromptRequest) -> Prepared:
    suite, loading = examine(
        path,
        LoadOptions(
            executor=request.executor,
            models=(request.model,) if request.model else (),
            timeout=request.timeout,
            trials=1,
        ),
    )
    if request.script and not suite.capabilities.scripted:
        name = suite.file.config.executor
        raise UsageError(f"--script is for the mock, and the executor is {name}; add --executor mock")
    script = _read_script(request.script, loading) if request.script else loading.mock
    target = None if suite.skills_off else find_task_target(loading)
    _refuse_mistakes(loading)
    task = msgspec.structs.replace(
        make_base_task(suite.file, suite.directory, suite.fixtures),
        id=_choose_name(request, loading),
        prompt=request.prompt,
        inputs=TaskInputs(files=[InputFile(path=name) for name in request.files]),
        skill_paths=suite.skill_paths,
        no_skills=suite.skills_off,
        disabled_skills=suite.disabled_skills,
        target=target,
        mock=script,
        variables=dict(loading.file.inputs),
    )
    task = msgspec.structs.replace(task, name=task.id)
    _check_files(task)
    config = msgspec.structs.replace(suite.file.config, max_attempts=1)
    file = msgspec.structs.replace(suite.file, baseline=False, metrics=[], config=config)
    ready = msgspec.structs.replace(suite, tasks=(task,), trigger_tests=None, trigger_target=None, file=file)
    echoes = suite.capabilities.scripted and not (script and script.acts)
    return Prepared(suite=ready, task=task.id, loading=loading, echoes=echoes)


def _refuse_mistakes(loading: Loading) -> None:
    """Raise SuiteError for mistakes of the suite itself; those of its tasks do not matter here."""
    own = [one for one in loading.problems if one.file in (loading.document.file, "--executor")]
    errors = [one for one in own if one.severity == "error" and one.code not in _ABOUT_TASKS]
    if errors:
        raise SuiteError(errors)


def _choose_name(request: PromptRequest, loading: Loading) -> str:
    """Return the id of the task. Raises UsageError for a wanted one that another task of the suite has."""
    if request.name in loading.ids:
        raise UsageError(
            f"the task id {request.name!r} is used in {loading.ids[request.name]}; choose another --testname"
        )
    return request.name or unused_name(DEFAULT_NAME, loading.ids)


def _check_files(task: Task) -> None:
    for file in task.inputs.files:
        try:
            safe_join(task.fixtures, file.path)
        except ValueError as error:
            raise UsageError(f"--file: {error}") from error
        if not (task.fixtures / file.path).is_file():
            raise UsageError(
                f"there is no file {file.path!r} in {display_path(task.fixtures)}; --file names fixtures of the suite"
            )


def _read_script(path: Path, loading: Loading) -> MockScript | None:
    """Return what a file has the mock do: the keys of a `mock` block. Raises SuiteError."""
    document = read_document(make_absolute(path), "mock script")
    if isinstance(document, Problem):
        raise SuiteError([document])
    decoder = Decoder(document)
    block = decoder.read(MockBlock)
    before = len(loading.problems)
    script = build_mock_script(Scope(loading, document), block)
    problems = [*decoder.problems, *loading.problems[before:]]
    if any(one.severity == "error" for one in problems):
        raise SuiteError(problems)
    return script


def _read(done: FinishedRun, suite: Suite) -> Observed:
    tasks = list(done.outcome.tasks())
    trials = [trial for task in tasks for trial in task.runs]
    if done.interrupted is not None:
        interrupted = RunError("interrupted; nothing was written")
        interrupted.exit_code = done.interrupted
        raise interrupted
    if not trials or trials[0].status == "error":
        why = (
            trials[0].error_msg if trials else next((task.error_msg for task in tasks), "no trial of it ran")
        )
        raise RunError(f"the agent gave no answer: {why}; nothing was written")
    trial = trials[0]
    workspace = Path(trial.workspace_dir) if trial.workspace_dir else None
    (task,) = suite.tasks
    given = {file.path: (task.fixtures / file.path).read_bytes() for file in task.inputs.files}
    given |= {name: (task.fixtures / name).read_bytes() for name in task.instruction_files}
    return Observed(
        trial=trial,
        written=read_written(workspace, given),
        executor=suite.file.config.executor,
        model=done.outcome.head.config.model_id,
    )


def make_task(request: PromptRequest, task: str, observed: Observed, file: Path, place: Place) -> str:
    """Return the text of the task file; `task` is its id. Raises UsageError where the agent did nothing that could be held."""
    graders = infer_graders(observed.trial, observed.written)
    if not graders:
        raise UsageError("the agent answered nothing and did nothing; nothing was written")
    who = f"{observed.executor}{f' ({observed.model})' if observed.model else ''}"
    inputs: dict[str, Any] = {"prompt": request.prompt}
    if request.files:
        inputs["files"] = [{"path": name} for name in request.files]
    keys = {
        "id": task,
        "tags": list(dict.fromkeys([INFERRED, *request.tags])),
        "caveats": ["graders are inferred from one answer of an agent, which nobody has reviewed"],
        "inputs": inputs,
        "graders": graders,
        "mock": script_turns(observed.trial, [written_files(observed.written)])[0],
    }
    return as_task_file(keys, file, place, _explain(who))


def _explain(who: str) -> list[str]:
    day = datetime.now(UTC).date().isoformat()
    return [
        f"Made by `waza new task from-prompt` on {day} of one answer of {who}.",
        "The graders are INFERRED: they hold what the agent did that once, not what is right. Keep of each what must",
        "hold, correct the rest, and then remove `caveats`, which says so in every report, and the tag.",
        "`mock` is what was seen, so that the task runs without an agent.",
    ]
