"""`load`: from `eval.yaml` to a Suite, or to the list of all mistakes in it and its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.errors import SuiteError, UsageError
from waza.executors import SHORT, TYPES, parse_executor
from waza.kit import yaml
from waza.kit.decode import Decoder, UnknownKeyAdvice, fields_of
from waza.kit.names import did_you_mean
from waza.model.base import Keys
from waza.model.capabilities import EVERYTHING, Capabilities
from waza.model.loaded import Suite
from waza.model.selection import Selection
from waza.model.skill import Target
from waza.model.stop_when import StopWhen
from waza.model.suite import SHORTEST_CANARY, Config, SuiteFile
from waza.model.task import Task
from waza.plugins import find_capabilities
from waza.plugins import list_names as plugin_names
from waza.plugins import load_class as load_plugin
from waza.problem import Problem
from waza.suite import skills
from waza.suite.agent_tools import check_agent_tools
from waza.suite.base_task import make_base_task
from waza.suite.checks import select_metrics, warn_of_caveats, warn_unchecked_tasks
from waza.suite.dataset import read_csv_tasks
from waza.suite.definition import expand_home
from waza.suite.digest import suite_digest, with_digest
from waza.suite.exact_names import check_exact_names
from waza.suite.graders import build_graders, check_names, fill_names
from waza.suite.inputs import check_file, check_templates, check_text
from waza.suite.limits import check_limits
from waza.suite.loading import Loading, LoadOptions
from waza.suite.mock import build_mock_script
from waza.suite.mocks import check_mocks
from waza.suite.packs import read_pack_tasks, with_packs
from waza.suite.prices import find_prices
from waza.suite.project import project_skills
from waza.suite.read import UnknownKeyRule, at, read_document
from waza.suite.select import describe_filters, select_tasks
from waza.suite.servers import check_servers
from waza.suite.shard import take_shard
from waza.suite.target import find_target, find_task_target, forget_targets, with_target_name
from waza.suite.tasks import add_implicit_grader, read_file_tasks, warn_disabled_tasks
from waza.suite.templates import fill_graders
from waza.suite.trigger_tests import has_trigger_tests, lists_neighbours, read_trigger_tests
from waza.suite.version import read_version
from waza.suite.wire import check_wire, with_wire, with_wire_options


def load(path: Path, request: LoadOptions | None = None) -> Suite:
    """Read a suite and everything that it names. Raises SuiteError with every mistake, and every warning.

    `request` holds what the command line asks for; it is applied before anything is checked.
    """
    suite, loading = examine(path, request or LoadOptions())
    warn_disabled_tasks(loading)
    problems = sort_problems(loading)
    if loading.request.warnings_as_errors:
        problems = [msgspec.structs.replace(problem, severity="error") for problem in problems]
    if any(problem.severity == "error" for problem in problems):
        raise SuiteError(problems)
    suite = msgspec.structs.replace(
        suite, warnings=tuple(problems), tasks=tuple(with_digest(task) for task in suite.tasks)
    )
    suite = msgspec.structs.replace(suite, digest=suite_digest(suite))
    shard = loading.request.shard
    return take_shard(suite, shard) if shard else suite


def examine(path: Path, request: LoadOptions) -> tuple[Suite, Loading]:
    """Read a suite as `load` does, and go on in spite of its mistakes, which are in the Loading.

    The Suite lacks what has mistakes. Raises SuiteError where nothing can be read of the suite's own file.
    """
    forget_targets()
    loading = _read_suite(path.absolute(), request)
    return _build_suite(loading), loading


def read_head(path: Path) -> SuiteFile:
    """Return the keys of a suite file as they are written, before anything of it is checked.

    Raises SuiteError where nothing can be read of it.
    """
    return _read_suite(path.absolute(), LoadOptions()).file


def find_tested(path: Path, skill_dir: Path | None = None) -> Target | None:
    """Return the skill or agent that the `skill:` of a suite means, for a suite that is found by `skill_dir`.

    None where nothing is named or found, or the suite has mistakes, which a run of it reports.
    """
    forget_targets()
    try:
        loading = _read_suite(path.absolute(), LoadOptions(skill_dir=skill_dir))
    except SuiteError:
        return None
    wanted = loading.file.skill.strip()
    return find_target(loading.at("skill"), wanted) if wanted else None


def sort_problems(loading: Loading) -> list[Problem]:
    """Return the problems to report of a suite: by file and line, without duplicates."""
    return _drop_consequential_warnings(_sort(loading.problems))


def _read_suite(path: Path, request: LoadOptions) -> Loading:
    document = read_document(path, "suite")
    if isinstance(document, Problem):
        raise SuiteError([document])
    if not isinstance(document.root, yaml.Mapping):
        hint = "start with name:, skill:, config: and tasks:"
        raise SuiteError(
            [
                document.problem(
                    "wrong-type", document.root, (), "is not a suite: a mapping of keys belongs here", hint
                )
            ]
        )
    version, problems = read_version(document)
    keys = UnknownKeyRule(strict=version.scenario, newer=version.newer)
    decoder = Decoder(document, keys.of(document, SuiteFile))
    file, document = decoder.read_partial(SuiteFile)
    loading = Loading(
        path=path,
        document=document,
        request=request,
        version=version,
        keys=keys,
        file=_apply_options(file or SuiteFile(), request),
        problems=[*problems, *decoder.problems],
    )
    loading.fixtures = _fixtures(loading)
    try:
        loading.project_skills = project_skills(loading.directory)
        loading.prices = find_prices(loading.directory)
    except SuiteError as error:
        loading.problems.extend(error.problems)
    return loading


def _sort(problems: Sequence[Problem]) -> list[Problem]:
    """Return problems file by file, in the order of the lines, and each once."""
    files = {file: i for i, file in enumerate(dict.fromkeys(problem.file for problem in problems))}
    once = dict.fromkeys(problems)
    return sorted(once, key=lambda problem: (files[problem.file], problem.line, problem.column))


def _drop_consequential_warnings(problems: Sequence[Problem]) -> list[Problem]:
    """Return problems without warnings at places that have a mistake in them: these may only follow from it."""
    faults = [(problem.file, problem.path) for problem in problems if problem.severity == "error"]

    def echoes(warning: Problem) -> bool:
        below = (f"{warning.path}.", f"{warning.path}[")
        return any(
            file == warning.file and (path == warning.path or path.startswith(below)) for file, path in faults
        )

    return [problem for problem in problems if problem.severity == "error" or not echoes(problem)]


def _apply_options(file: SuiteFile, request: LoadOptions) -> SuiteFile:
    executor, options = parse_executor(request.executor)
    if executor == file.config.executor:
        options = {**file.config.executor_options, **options}
    changes = {
        "executor": executor,
        "judge_model": request.judge_model,
        "trials_per_task": request.trials,
        "timeout_seconds": request.timeout,
        "parallel": request.parallel,
        "workers": request.workers,
    }
    config = msgspec.structs.replace(
        file.config, **{key: value for key, value in changes.items() if value or value is False}
    )
    if request.trials:  # so many, whatever they show
        config = msgspec.structs.replace(config, stop_when=None)
    if executor:
        config = msgspec.structs.replace(config, executor_options=options)
    config = with_wire_options(config, request)
    if config.max_attempts == 0:
        config = msgspec.structs.replace(config, max_attempts=1)
    file = msgspec.structs.replace(file, config=config, baseline=file.baseline or request.baseline)
    if request.skill:
        file = msgspec.structs.replace(file, skill=request.skill)
    return with_packs(file, request) if request.packs else file


def _fixtures(loading: Loading) -> Path:
    if loading.request.context_dir:
        return expand_home(loading.request.context_dir).absolute()
    return loading.directory / "fixtures"


def _build_suite(loading: Loading) -> Suite:
    loading.capabilities = _capabilities(loading)
    loading.skills_off = skills.are_all_disabled(loading)
    loading.file = msgspec.structs.replace(loading.file, graders=fill_names(loading.file.graders))
    _check_config(loading, loading.file.config)
    _check_head(loading)
    loading.graders = build_graders(loading.at("graders"), loading.file.graders)
    check_names(loading.at("graders"), loading.file.graders)
    loading.mock = build_mock_script(loading.at("mock"), loading.file.mock)
    base = _base_task(loading)
    paths = () if loading.skills_off else skills.suite_paths(loading)
    skills.check_required(loading, paths)
    _check_skills(loading)
    packs = loading.request.packs
    if packs:
        tasks = read_pack_tasks(loading, base)
    else:
        tasks = read_csv_tasks(loading, base) if loading.file.tasks_from else read_file_tasks(loading, base)
    if loading.templates:
        tasks = [fill_graders(loading, task) for task in tasks]
    _check_templates(loading, tasks)
    check_agent_tools(loading, tasks)
    check_exact_names(loading, tasks)
    triggers = None if packs else read_trigger_tests(loading)
    metrics = select_metrics(
        loading, tasks, triggers=has_trigger_tests(loading), neighbours=lists_neighbours(loading)
    )
    selected, given = select_tasks(loading, tasks), loading.request
    filters = describe_filters(given.tasks, given.tags, given.expression)
    warn_unchecked_tasks(loading, selected)
    check_limits(loading, selected)
    models = loading.request.models or (loading.file.config.model,)
    file = with_target_name(loading)
    return Suite(
        path=loading.path,
        directory=loading.directory,
        fixtures=loading.fixtures,
        file=msgspec.structs.replace(file, metrics=metrics),
        tasks=tuple(_name_skill(task, file.skill) for task in selected),
        models=tuple(models),
        capabilities=loading.capabilities,
        trigger_tests=triggers.tests if triggers else None,
        trigger_target=triggers.target if triggers else None,
        trigger_neighbours=triggers.neighbours if triggers else (),
        skills_off=loading.skills_off,
        skill_paths=paths,
        disabled_skills=skills.disabled_names(loading, paths),
        filtered=bool(filters),
        selection=Selection(filters=filters, selected=len(selected), of=len(tasks))
        if len(selected) < len(tasks)
        else None,
        packs=tuple(pack.name for pack in packs),
        prices=loading.prices,
    )


def _name_skill(task: Task, skill: str) -> Task:
    """Return a task with the name of the skill under test; a name that is a label alone does not count."""
    return msgspec.structs.replace(
        task, skill=task.target.name if task.target else skill if task.no_skills else ""
    )


def _base_task(loading: Loading) -> Task:
    """Return a task with all that tasks inherit; for CSV suites it is every task but for its row."""
    off = skills.is_task_without_skills(loading, None)
    paths = () if off else skills.suite_paths(loading)
    target = find_task_target(loading) if loading.file.tasks_from and not off else None
    return msgspec.structs.replace(
        make_base_task(loading.file, loading.directory, loading.fixtures),
        skill_paths=paths,
        no_skills=off,
        disabled_skills=skills.disabled_names(loading, paths),
        target=target,
        graders=add_implicit_grader(loading, loading.graders, (), target),
        mock=loading.mock,
        variables=dict(loading.file.inputs),
    )


def _capabilities(loading: Loading) -> Capabilities:
    """Return what the executor can do and see; of one that is not known, everything, and its name is a mistake."""
    name = loading.file.config.executor
    try:
        found = find_capabilities(name)
    except ModuleNotFoundError:
        return EVERYTHING  # what a plugin needs is not installed, which is reported when it is to be started
    except UsageError as error:
        found, message, hint = None, str(error), ""
    else:
        message = f"there is no executor {name!r}"
        hint = _suggest_executor(name) if found is None else ""
    if found is not None:
        return _of_elsewhere(found) if loading.request.elsewhere else with_wire(found, loading.file.config)
    if loading.request.executor:
        loading.problems.append(
            Problem(code="unknown-executor", file="--executor", message=message, hint=hint)
        )
    else:
        loading.at("config", "executor").error("unknown-executor", message, hint)
    return EVERYTHING


def _of_elsewhere(executor: Capabilities) -> Capabilities:
    """Return what can be seen of an agent that ran elsewhere, and what judges it: only the executor's judge is asked."""
    return msgspec.structs.replace(
        EVERYTHING, judge=executor.judge, efforts=executor.efforts, models=executor.models, repeatable=False
    )


def _suggest_executor(executor: str) -> str:
    """Return which executor is probably meant, and how a file has what follows its name on a command line."""
    name, colon, value = (part.strip() for part in executor.partition(":"))
    if colon and name in SHORT:
        return f"write executor: {name}, and executor_options: {{{SHORT[name]}: {value or '...'}}}"
    return did_you_mean(executor, plugin_names("waza.executors"))


def _check_executor(loading: Loading, config: Config) -> None:
    """Check the options of the executor; one without any to check is not imported, since SDKs take long."""
    if not (config.executor_options or config.executor in SHORT or config.executor not in TYPES):
        return
    try:
        kind = load_plugin("waza.executors", config.executor)
    except ModuleNotFoundError:
        return  # an extra is missing, which is reported when it is to be started
    except UsageError:
        return  # `_capabilities` has reported it
    if kind is not None:
        _check_options(loading, config, getattr(kind, "Options", Keys))


def _check_options(loading: Loading, config: Config, options: type) -> None:
    """Check the options of an executor against those that it has; only a file has places for mistakes."""
    if loading.request.executor:
        try:
            msgspec.convert(config.executor_options, options)
        except msgspec.ValidationError as error:
            short = SHORT.get(config.executor)
            hint = (
                f"write --executor {config.executor}:{short.upper()}"
                if short
                else "name the executor and its options in config of the suite"
            )
            loading.problems.append(
                Problem(code="invalid-value", file="--executor", message=str(error), hint=hint)
            )
        return
    scope = loading.at("config", "executor_options")
    node = scope.node
    if node is None:
        place = at(loading.document, "config", "executor")
        node = yaml.Mapping({}, {}, place.line, place.column)
    known = loading.keys.of(loading.document, SuiteFile)

    def unknown(struct: type, key: str, path: tuple[str | int, ...]) -> UnknownKeyAdvice:
        """Refuse unknown options, but those of a newer version of the format."""
        advice = known(struct, key, path)
        return advice if loading.keys.newer else UnknownKeyAdvice("error", advice.hint)

    decoder = Decoder(loading.document, unknown)
    read = decoder.read(options, node, scope.path)
    loading.problems.extend(decoder.problems)
    if read is not None:
        _keep_options(loading, config, options, read)


def _keep_options(loading: Loading, config: Config, options: type, read: Keys) -> None:
    """Keep the options as they were read: a number for a text is a text, and unknown ones are left out."""
    written = {field.key for field in fields_of(options)} & config.executor_options.keys()
    plain = msgspec.to_builtins(read, str_keys=True)
    kept = {key: plain[key] for key in config.executor_options if key in written}
    loading.file = msgspec.structs.replace(
        loading.file, config=msgspec.structs.replace(config, executor_options=kept)
    )


def _check_config(loading: Loading, config: Config) -> None:
    _check_executor(loading, config)
    for key in ("reasoning_effort", "judge_reasoning_effort"):
        if getattr(config, key):
            loading.at("config", key).require("efforts")
    if (
        config.reasoning_effort
        and not (config.model or loading.request.models)
        and loading.capabilities.efforts
    ):
        message = "an effort needs a model that is named"
        hint = "set config.model; `waza models` lists them"
        loading.at("config", "reasoning_effort").error("missing-key", message, hint)
    check_wire(loading)
    if config.mcp_servers:
        loading.at("config", "mcp_servers").require("mcp", lenient=True)
        loading.file = msgspec.structs.replace(
            loading.file,
            config=msgspec.structs.replace(loading.file.config, mcp_servers=check_servers(loading)),
        )
    _check_stop_when(loading)
    distinct = sorted({*loading.request.models})
    if len(distinct) > 1 and not (loading.capabilities.models or loading.capabilities.scripted):
        message = (
            f"the executor {config.executor!r} does not choose the model, so the agent is the same for each"
        )
        loading.problems.append(
            Problem(
                code="no-effect",
                file="--model",
                message=message,
                hint="do not compare them",
                severity="warning",
            )
        )
    twins = sorted({model for model in loading.request.models if loading.request.models.count(model) > 1})
    for model in twins:
        loading.problems.append(
            Problem(code="duplicate-name", file="--model", message=f"duplicate model {model!r}")
        )
    if config.group_by not in ("", "model", "skill", "tags", "task_id"):
        message = f"{config.group_by!r} is not a dimension; tasks are not grouped"
        hint = "use model, skill, tags or task_id"
        loading.at("config", "group_by").warn("invalid-value", message, hint)
    skills.check_directories(loading.at("config", "skill_directories"), config.skill_directories)
    skills.check_disabled(loading)
    for i, name in enumerate(config.instruction_files):
        check_file(
            loading.at("config", "instruction_files", i), loading.fixtures, name, "missing-instructions"
        )


def _check_stop_when(loading: Loading) -> None:
    """Check `stop_when`, and fill in what it leaves out."""
    config = loading.file.config
    rule = config.stop_rule
    if rule is None:
        return
    scope = loading.at("config", "stop_when")
    least, most = rule.min_trials, rule.max_trials
    if least >= most:
        hint = "set max_trials, or trials_per_task, above the fewest trials"
        scope.error("invalid-value", f"decides nothing: at least {least} and at most {most} trials", hint)
    stop_when = StopWhen(min_trials=least, max_trials=most, ci_half_width=rule.ci_half_width)
    config = msgspec.structs.replace(config, trials_per_task=most, stop_when=stop_when)
    loading.file = msgspec.structs.replace(loading.file, config=config)


def _check_skills(loading: Loading) -> None:
    """Note what needs an executor that hands skills to its agent; a scripted one has no agent."""
    if loading.capabilities.scripted or loading.skills_off:
        return
    config = loading.file.config
    if config.required_skills:
        loading.at("config", "required_skills").require("skills")
    if loading.request.baseline and (lack := loading.lack("skills", "leave it out")):
        loading.problems.append(
            Problem(code=lack.code, file="--baseline", message=lack.message, hint=lack.hint)
        )
    elif loading.file.baseline:
        loading.at("baseline").require("skills")
    if config.skill_directories and not loading.capabilities.skills:
        message = f"has no effect with the executor {config.executor!r}, which hands no skills to its agent"
        loading.at("config", "skill_directories").warn("capability", message)


def _check_head(loading: Loading) -> None:
    file = loading.file
    warn_of_caveats(loading.at(), file.caveats)
    check_mocks(loading.at(), file.mcp_mocks, file.command_mocks)
    for point, hooks in msgspec.structs.asdict(file.hooks).items():
        for i, hook in enumerate(hooks):
            for key in ("command", "working_directory"):
                check_text(loading.at("hooks", point, i, key), getattr(hook, key))
    if file.canary and len(file.canary) < SHORTEST_CANARY:
        message = f"has fewer than {SHORTEST_CANARY} characters, so that an answer may contain it by chance"
        loading.at("canary").error("invalid-value", message, "write a random id")
    if file.adversarial is not None and not loading.version.at_least("1.2"):
        loading.at("adversarial").error("version", "needs schemaVersion 1.2 or newer")
    if file.tasks and file.tasks_from:
        loading.at("tasks").warn("no-effect", "has no effect beside tasks_from")
    if file.range and not file.tasks_from:
        loading.at("range").warn("no-effect", "has no effect without tasks_from")


def _check_templates(loading: Loading, tasks: Sequence[Task]) -> None:
    """Note unknown variables in what belongs to all tasks: hooks, and the suite's mock."""
    columns = tasks[0].variables if tasks else ()
    if loading.file.tasks_from and not tasks:
        return  # there are mistakes in the file whose columns are variables, or no rows
    hooks = loading.file.hooks
    for point in ("before_run", "after_run", "before_task", "after_task"):
        known = loading.variables(*(columns if point.endswith("task") else ()))
        for i, hook in enumerate(getattr(hooks, point)):
            where = loading.at("hooks", point, i, "command")
            check_templates(where, hook.command, known)
            from waza.kit.shell_template import find_unsafe_references  # most suites have no hooks

            for wrong in find_unsafe_references(hook.command):
                message = f"`{wrong.text}` {wrong.why}"
                where.report("template", message, warning=wrong.severity == "warning")
    check_templates(loading.at("mock"), loading.file.mock, loading.variables(*columns))
