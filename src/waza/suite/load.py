"""`load`: from `eval.yaml` to a Suite, or to the list of all mistakes in it and its tasks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.kit import yaml
from waza.kit.decode import Decoder
from waza.model.loaded import Suite
from waza.model.suite import Config, SuiteFile
from waza.model.task import Task
from waza.plugins import load as load_plugin
from waza.plugins import names as plugin_names
from waza.problem import Problem
from waza.suite import skills
from waza.suite.dataset import csv_tasks
from waza.suite.digest import suite_digest
from waza.suite.graders import build_graders, duplicate_names
from waza.suite.inputs import check_file, check_templates
from waza.suite.loading import Loading, Request
from waza.suite.mock import mock_script
from waza.suite.mocks import check_mocks
from waza.suite.read import Keys, read_document
from waza.suite.select import select
from waza.suite.tasks import file_tasks, with_implicit
from waza.suite.trigger_tests import trigger_tests
from waza.suite.version import suite_version

COPILOT = "copilot-sdk"  # a known name also where its extra is not installed
_MOCK_IGNORES = ("reasoning_effort", "judge_reasoning_effort", "mcp_servers")


def load(path: Path, request: Request | None = None) -> Suite:
    """Read a suite and everything that it names. Raises SuiteError with every mistake.

    `request` holds what the command line asks for; it is applied before anything is checked.
    """
    skills.forget_targets()
    loading = _start(path.absolute(), request or Request())
    suite = _load(loading)
    errors = [problem for problem in loading.problems if problem.severity == "error"]
    if errors:
        raise SuiteError(errors)
    suite = msgspec.structs.replace(suite, warnings=tuple(loading.problems))
    return msgspec.structs.replace(suite, digest=suite_digest(suite))


def _start(path: Path, request: Request) -> Loading:
    document = read_document(path, "suite")
    if isinstance(document, Problem):
        raise SuiteError([document])
    if not isinstance(document.root, yaml.Mapping):
        hint = "start with name:, skill:, config: and tasks:"
        raise SuiteError(
            [document.problem(document.root, (), "is no suite: a mapping of keys belongs here", hint)]
        )
    version, problems = suite_version(document)
    keys = Keys(strict=version.scenario, newer=version.newer)
    if version.newer:
        message = (
            f"schemaVersion {version.major}.{version.minor} is newer than this version of waza reads in full"
        )
        problems.append(
            document.problem(
                document.root, ("schemaVersion",), message, "unknown keys are ignored", "warning"
            )
        )
    decoder = Decoder(document, keys.of(document, SuiteFile))
    file = decoder.read(SuiteFile)
    problems += decoder.problems
    if file is None:
        if any(problem.severity == "error" for problem in problems):
            _raise_with_tasks(
                Loading(path=path, document=document, request=request, version=version, keys=keys), problems
            )
        file = SuiteFile()
    loading = Loading(
        path=path,
        document=document,
        request=request,
        version=version,
        keys=keys,
        file=_overridden(file, request),
        problems=problems,
    )
    loading.fixtures = _fixtures(loading)
    return loading


def _raise_with_tasks(loading: Loading, problems: list[Problem]) -> None:
    """Raise the mistakes of a suite that cannot be read, and those of its task files besides."""
    decoder = Decoder(loading.document, loading.keys.of(loading.document, SuiteFile))
    node = (
        loading.document.root.entries.get("tasks")
        if isinstance(loading.document.root, yaml.Mapping)
        else None
    )
    patterns = decoder.read(list[str], node) if isinstance(node, yaml.Sequence) else None
    loading.problems = list(problems)
    if patterns:
        loading.file = SuiteFile(tasks=patterns)
        loading.fixtures = _fixtures(loading)
        loading.skills_off = True
        file_tasks(loading, _base_task(loading))
    raise SuiteError([problem for problem in loading.problems if problem.severity == "error"])


def _overridden(file: SuiteFile, request: Request) -> SuiteFile:
    changes = {
        "executor": request.executor,
        "judge_model": request.judge_model,
        "trials_per_task": request.trials,
        "timeout_seconds": request.timeout,
        "parallel": request.parallel,
        "workers": request.workers,
    }
    config = msgspec.structs.replace(file.config, **{key: value for key, value in changes.items() if value})
    if config.max_attempts == 0:
        config = msgspec.structs.replace(config, max_attempts=1)
    return msgspec.structs.replace(file, config=config, baseline=file.baseline or request.baseline)


def _fixtures(loading: Loading) -> Path:
    if loading.request.context_dir:
        return Path(loading.request.context_dir).expanduser().absolute()
    return loading.directory / "fixtures"


def _load(loading: Loading) -> Suite:
    loading.skills_off = skills.all_disabled(loading)
    _check_config(loading, loading.file.config)
    _check_head(loading)
    loading.graders = build_graders(loading, loading.document, loading.file.graders, ("graders",))
    duplicate_names(loading, loading.document, loading.graders, ("graders",))
    loading.mock = mock_script(loading, loading.document, loading.file.mock)
    base = _base_task(loading)
    skills.check_required(loading, () if loading.skills_off else skills.suite_paths(loading))
    tasks = csv_tasks(loading, base) if loading.file.tasks_from else file_tasks(loading, base)
    _check_twins(loading, tasks)
    models = loading.request.models or (loading.file.config.model,)
    return Suite(
        path=loading.path,
        directory=loading.directory,
        fixtures=loading.fixtures,
        file=loading.file,
        tasks=tuple(select(loading, tasks)),
        models=tuple(models),
        trigger_tests=trigger_tests(loading),
        skills_off=loading.skills_off,
        skill_paths=() if loading.skills_off else skills.suite_paths(loading),
        filtered=bool(loading.request.tasks or loading.request.tags),
    )


def _base_task(loading: Loading) -> Task:
    """Return a task with all that tasks inherit; for CSV suites it is every task but for its row."""
    config = loading.file.config
    off = skills.task_skills_off(loading, None)
    paths = () if off else skills.suite_paths(loading)
    target = skills.target(loading, paths) if loading.file.tasks_from and not off else None
    return Task(
        id="",
        name="",
        file="",
        prompt="",
        timeout=config.timeout_seconds,
        first_event_timeout=config.first_event_timeout_seconds,
        home=loading.directory,
        fixtures=loading.fixtures,
        instruction_files=tuple(config.instruction_files),
        skill_paths=paths,
        no_skills=off,
        target=target,
        graders=with_implicit(loading.graders, (), target),
        command_mocks=tuple(loading.file.command_mocks or ()),
        mcp_mocks=tuple(loading.file.mcp_mocks or ()),
        mock=loading.mock,
        variables=dict(loading.file.inputs),
    )


def _check_config(loading: Loading, config: Config) -> None:
    if config.executor != COPILOT and load_plugin("waza.executors", config.executor) is None:
        known = {*plugin_names("waza.executors"), COPILOT}
        hint = f"executors: {', '.join(sorted(known))}"
        where = ("config", "executor") if not loading.request.executor else ("--executor",)
        loading.say(loading.document, where, f"there is no executor {config.executor!r}", hint)
    for effort, model in (("reasoning_effort", config.model), ("judge_reasoning_effort", "")):
        _check_effort(loading, config, effort, model)
    if loading.request.executor == "mock":
        _note_ignored(loading)
    twins = sorted({model for model in loading.request.models if loading.request.models.count(model) > 1})
    for model in twins:
        loading.problems.append(Problem(file="--model", message=f"{model!r} is given twice"))
    if config.group_by not in ("", "model", "skill", "tags", "task_id"):
        message = f"{config.group_by!r} is no dimension; tasks are not grouped"
        hint = "use model, skill, tags or task_id"
        loading.say(loading.document, ("config", "group_by"), message, hint, warning=True)
    for i, name in enumerate(config.instruction_files):
        check_file(loading, loading.document, loading.fixtures, name, ("config", "instruction_files", i))


def _check_effort(loading: Loading, config: Config, key: str, model: str) -> None:
    if not getattr(config, key):
        return
    if config.executor != COPILOT and not loading.request.executor:
        message = f"{key} needs executor: {COPILOT}, not {config.executor!r}"
        loading.say(loading.document, ("config", key), message, "remove it, or change the executor")
    elif (
        key == "reasoning_effort" and not model and not loading.request.models and config.executor == COPILOT
    ):
        message = "an effort needs a model that is named"
        loading.say(loading.document, ("config", key), message, "set config.model; `waza models` lists them")


def _note_ignored(loading: Loading) -> None:
    ignored: list[tuple[str, ...]] = [
        ("config", key) for key in _MOCK_IGNORES if getattr(loading.file.config, key)
    ]
    ignored += [(key,) for key in ("mcp_mocks", "command_mocks") if getattr(loading.file, key)]
    for path in ignored:
        message = f"{path[-1]} has no effect with --executor mock"
        loading.say(loading.document, path, message, warning=True)


def _check_head(loading: Loading) -> None:
    file = loading.file
    check_mocks(loading, loading.document, file.mcp_mocks, file.command_mocks)
    known = {f"Vars.{key}": "" for key in file.inputs}
    for point in ("before_run", "after_run", "before_task", "after_task"):
        for i, hook in enumerate(getattr(file.hooks, point)):
            where = ("hooks", point, i, "command")
            check_templates(loading, loading.document, hook.command, known, where)
            if "\0" in hook.command:
                loading.say(loading.document, where, "holds a NUL character")
    if file.adversarial is not None and not loading.version.at_least("1.2"):
        loading.say(loading.document, ("adversarial",), "adversarial needs schemaVersion 1.2 or newer")
    no_skill_source = not file.skill and not file.config.skill_directories
    if loading.version.scenario and file.config.required_skills and no_skill_source:
        message = "a scenario without a skill needs config.skill_directories to look in"
        loading.say(loading.document, ("config", "required_skills"), message)
    pairwise = any(
        grader.config and grader.config.get("mode") == "pairwise"
        for grader in file.graders
        if grader.type == "prompt"
    )
    if pairwise and not file.baseline:
        message = "pairwise graders compare with a run without skills; without --baseline they judge the output alone"
        loading.say(loading.document, ("graders",), message, warning=True)


def _check_twins(loading: Loading, tasks: list[Task]) -> None:
    first: dict[str, Task] = {}
    for task in tasks:
        other = first.setdefault(task.id, task)
        if other is not task:
            message = f"the task id {task.id!r} stands in {other.file} too"
            loading.problems.append(
                Problem(file=task.file, path="id", message=message, hint="give each task its own id")
            )
