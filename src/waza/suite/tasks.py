"""From task files to tasks: reading, checking, inheriting what the suite decides."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from waza.graders.base import list_exact_names
from waza.graders.behavior import capabilities_for_limits
from waza.kit.decode import Decoder
from waza.kit.files import read_rooted
from waza.kit.glob import expand
from waza.kit.redact import Redactor
from waza.kit.text import list_first
from waza.model.skill import Target
from waza.model.task import Checkpoint, InputFile, Inputs, Task, TaskFile, TaskInputs
from waza.model.verdict import BuiltGrader
from waza.problem import Problem, display_path
from waza.suite import skills
from waza.suite.checks import NAMED, warn_of_caveats, warn_unscripted_expectations
from waza.suite.definition import expand_home
from waza.suite.graders import build_graders, build_spec, check_names, fill_names, list_names
from waza.suite.inputs import check_file, check_inputs, check_templates
from waza.suite.loading import Loading, Scope, TaskSource
from waza.suite.mock import build_mock_script
from waza.suite.mocks import check_mocks
from waza.suite.policy import implicit_tool_constraint
from waza.suite.read import at, read_document
from waza.suite.requirements import record_requirements
from waza.suite.target import find_task_target
from waza.suite.templates import fill_expected
from waza.suite.trigger_tests import FILE as TRIGGER_TESTS
from waza.suite.trigger_tests import only_trigger_tests


def read_file_tasks(loading: Loading, base: Task) -> list[Task]:
    """Return the tasks of all files that the suite's patterns match, disabled ones left out."""
    tasks: list[Task] = []
    seen: set[str] = set()
    empty: dict[int, str] = {}
    for i, pattern in enumerate(loading.file.tasks):
        if loading.document.is_placeholder("tasks", i):
            continue
        try:
            found = expand(loading.directory, pattern)
        except ValueError as error:
            loading.at("tasks", i).error("invalid-value", str(error))
            continue
        for own in (loading.path, loading.directory / TRIGGER_TESTS):
            if own in found:
                found.remove(own)
                message = f"{own.name!r} is not a task, and is left out"
                loading.at("tasks", i).warn("no-effect", message)
        if not found:
            empty[i] = pattern
        for path in found:
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                tasks += read_task_file(loading, path, base)
    _report_unmatched(loading, empty, nothing=not seen)
    return tasks


def warn_disabled_tasks(loading: Loading) -> None:
    """Warn of tasks that are switched off, so that reports do not pass over them."""
    names = [source.name for source in loading.sources if not source.file.enabled]
    if names:
        what = "1 task is disabled" if len(names) == 1 else f"{len(names)} tasks are disabled"
        message, hint = f"{what}: {list_first(names, NAMED)}", "remove enabled: false to run what it is in"
        loading.at("tasks").warn("disabled-task", message, hint)


def _report_unmatched(loading: Loading, empty: dict[int, str], *, nothing: bool) -> None:
    """Note patterns that match no file. `nothing`: no pattern matches any."""
    hint = "patterns are relative to the suite's directory"
    if nothing and empty:
        message = f"0 tasks selected: no file matches {', '.join(empty.values())}"
        loading.at("tasks").error("unmatched-pattern", message, hint)
    elif nothing and not loading.file.tasks:
        faulty = loading.document.has_error("tasks") or loading.document.has_error("tasks_from")
        if not (faulty or only_trigger_tests(loading)):
            message = "0 tasks selected: the suite names none"
            loading.at("tasks").error("missing-key", message, "add tasks: ['tasks/*.yaml']")
    else:
        for i, pattern in empty.items():
            loading.at("tasks", i).warn("unmatched-pattern", f"no file matches {pattern!r}", hint)


def read_task_file(loading: Loading, path: Path, base: Task) -> list[Task]:
    """Return the tasks of a file: none if it is disabled or cannot be read, several for several triggers."""
    document = read_document(path, "task")
    if isinstance(document, Problem):
        loading.problems.append(document)
        loading.unread.append(document.file)
        return []
    decoder = Decoder(document, loading.keys.of(document, TaskFile))
    file, document = decoder.read_partial(TaskFile)
    loading.problems.extend(decoder.problems)
    if file is None:
        loading.unread.append(document.file)
        return []
    file = _with_names(loading, file)
    if not file.enabled:
        loading.sources.append(TaskSource(path=path, document=document, file=file))
        return []
    scope = Scope(loading, document)
    tasks = _build_tasks(scope, path, _expand_short_form(scope, path, file), base)
    for task in tasks:
        if task.id in loading.ids:
            message = f"the task id {task.id!r} is also used in {loading.ids[task.id]}"
            scope.child("id").error("duplicate-task", message, "give each task its own id")
        loading.ids.setdefault(task.id, f"{document.file}:{at(document, 'id').line}")
    loading.sources.append(TaskSource(path=path, document=document, file=file, tasks=tuple(tasks)))
    return tasks


def _with_names(loading: Loading, file: TaskFile) -> TaskFile:
    graders = fill_names(file.graders, list_names(loading, loading.file.graders))
    points = [msgspec.structs.replace(point, graders=fill_names(point.graders)) for point in file.checkpoints]
    return msgspec.structs.replace(file, graders=graders, checkpoints=points)


def _expand_short_form(scope: Scope, path: Path, file: TaskFile) -> TaskFile:
    """Return the task with its defaults filled in, the prompt read from its file, the short form resolved."""
    own_id = file.id if file.id.strip() else ""
    name = file.name or own_id or path.stem
    inputs = file.inputs
    if file.triggers:
        if inputs.prompt or inputs.prompt_file:
            scope.child("triggers").error(
                "conflicting-keys",
                "cannot be combined with a prompt",
                "keep either triggers or inputs.prompt",
            )
        inputs = msgspec.structs.replace(inputs, prompt=file.triggers[0])
    if file.fixtures:
        files = [*inputs.files, *(InputFile(path=fixture) for fixture in file.fixtures)]
        inputs = msgspec.structs.replace(inputs, files=files)
    inputs = _with_prompt_file(scope, path, inputs)
    if not inputs.prompt.strip():
        scope.child("inputs").warn("missing-key", "the prompt is empty", "write inputs.prompt")
    return msgspec.structs.replace(file, id=own_id or name, name=name, inputs=inputs)


def _with_prompt_file(scope: Scope, path: Path, inputs: Inputs) -> Inputs:
    if not inputs.prompt_file:
        return inputs
    where = scope.child("inputs", "prompt_file")
    if inputs.prompt:
        where.error("conflicting-keys", "cannot be combined with 'prompt'", "keep one of them")
        return inputs
    try:
        text = read_rooted(path.parent, inputs.prompt_file).decode("utf-8-sig")
    except FileNotFoundError:
        hint = "paths are relative to the task file"
        where.error("missing-file", f"there is no file {inputs.prompt_file!r}", hint)
    except UnicodeDecodeError:
        where.error("unreadable-file", f"{inputs.prompt_file!r} is not UTF-8 text", "save it as UTF-8")
    except ValueError as error:
        where.error("outside-path", str(error))
    except OSError as error:
        where.error("unreadable-file", f"{inputs.prompt_file!r} cannot be read ({error.strerror})")
    else:
        return msgspec.structs.replace(inputs, prompt=text)
    return inputs


def _build_tasks(scope: Scope, path: Path, file: TaskFile, base: Task) -> list[Task]:
    fixtures = _find_fixtures(scope, file)
    _check_task(scope, file, fixtures, base)
    off = skills.is_task_without_skills(scope.loading, file.skill_directories)
    paths = () if off else skills.task_paths(scope.loading, file.skill_directories, base.skill_paths)
    target = None if off else find_task_target(scope.loading, file.skill_directories or ())
    _check_expected(scope, file, target)
    own = build_graders(scope.child("graders"), file.graders)
    check_names(scope.child("graders"), file.graders, list_names(scope.loading, scope.loading.file.graders))
    asked = scope.loading.request.timeout
    task = msgspec.structs.replace(
        base,
        id=file.id,
        name=file.name,
        file=display_path(path),
        prompt=file.inputs.prompt,
        description=file.description,
        expected_outcome=file.expected_outcome,
        golden=file.golden,
        tags=tuple(file.tags),
        timeout=asked or file.timeout_seconds or base.timeout,
        first_event_timeout=base.first_event_timeout
        if file.first_event_timeout_seconds is None
        else file.first_event_timeout_seconds,
        fixtures=fixtures,
        inputs=_without_prompts(file.inputs),
        follow_ups=tuple(file.inputs.follow_up_prompts),
        instruction_files=(*base.instruction_files, *file.instruction_files),
        skill_paths=paths,
        no_skills=off,
        disabled_skills=skills.disabled_names(scope.loading, paths),
        target=target,
        expected=file.expected,
        graders=add_implicit_grader(
            scope.loading, _without_overridden(scope.loading, base.graders, file), own, target
        ),
        checkpoints=_build_checkpoints(scope, file),
        requirements=record_requirements(scope.loading, scope.document, file),
        command_mocks=base.command_mocks if file.command_mocks is None else tuple(file.command_mocks),
        mcp_mocks=base.mcp_mocks if file.mcp_mocks is None else tuple(file.mcp_mocks),
    )
    own_mock = build_mock_script(scope.child("mock"), file.mock)
    solution = build_mock_script(scope.child("solution"), file.solution)
    task = msgspec.structs.replace(
        task, mock=own_mock.over(base.mock) if own_mock else base.mock, solution=solution
    )
    warn_unscripted_expectations(scope, task)
    return [
        _with_expected(scope, _number_task(task, number, prompt))
        for number, prompt in enumerate(file.triggers or [task.prompt], 1)
    ]


def _without_prompts(inputs: Inputs) -> TaskInputs:
    """Return the inputs of a task apart from its prompts, which are fields of the task itself."""
    return TaskInputs(
        context=inputs.context,
        files=inputs.files,
        repos=inputs.repos,
        workdir=inputs.workdir,
        environment=inputs.environment,
        responder=inputs.responder,
    )


def _without_overridden(
    loading: Loading, inherited: tuple[BuiltGrader, ...], file: TaskFile
) -> tuple[BuiltGrader, ...]:
    """Return the suite's graders without those that the task replaces."""
    names = list_names(loading, file.graders)
    replaced = {name for name, entry in zip(names, file.graders, strict=True) if entry.override}
    return tuple(grader for grader in inherited if grader.spec.name not in replaced)


def _with_expected(scope: Scope, task: Task) -> Task:
    expected = fill_expected(scope, task.expected, task)
    return msgspec.structs.replace(task, expected=expected)


def add_implicit_grader(
    loading: Loading,
    inherited: tuple[BuiltGrader, ...],
    own: tuple[BuiltGrader, ...],
    target: Target | None,
) -> tuple[BuiltGrader, ...]:
    """Return the graders of a task in their order, with the one that an agent's `tools:` implies.

    It is left out with an executor that reports no calls: it would pass whatever the agent does.
    """
    declared = [*inherited, *own]
    has_constraint = any(grader.spec.type == "tool_constraint" for grader in declared)
    names = {grader.spec.name for grader in declared}
    spec = implicit_tool_constraint(target, names, has_constraint)
    if spec is None or not loading.capabilities.tool_calls:
        return tuple(declared)
    from waza.graders.base import GraderLocation

    return (*inherited, build_spec(spec, GraderLocation()), *own)


def _number_task(task: Task, number: int, prompt: str) -> Task:
    """Return the task for one of several triggers: the second is `<name>-2`."""
    if number > 1:
        task = msgspec.structs.replace(
            task, id=f"{task.id}-{number}", name=f"{task.name}-{number}", prompt=prompt
        )
    return task


def fixtures_directory(loading: Loading, file: TaskFile) -> Path:
    """Return the fixtures directory of a task, which need not be there."""
    if not file.context_dir:
        return loading.fixtures
    given = expand_home(file.context_dir.replace("\\", "/"))
    here, beside = Path.cwd() / given, loading.directory / given
    return here if here.is_dir() else beside


def _find_fixtures(scope: Scope, file: TaskFile) -> Path:
    chosen = fixtures_directory(scope.loading, file)
    if file.context_dir and not chosen.is_dir() and not scope.loading.hooks_may_create:
        hint = "paths are relative to the current directory, or else to the suite's"
        if chosen.exists():
            message = f"{file.context_dir!r} is a file; name the directory that holds the fixtures"
            scope.child("context_dir").error("not-a-directory", message, hint)
        else:
            message = f"there is no directory {file.context_dir!r}"
            scope.child("context_dir").error("missing-context-dir", message, hint)
    return chosen


_SHORTEST_KEY = 16  # characters; a shorter text has the shape of no key


def _check_secrets(scope: Scope, file: TaskFile) -> None:
    """Refuse ids, names and tags that give a secret away: they are in file names, results and reports as they are."""
    names = [(("id",), file.id), (("name",), file.name)] if file.inputs.environment else []
    tags = [(("tags", i), tag) for i, tag in enumerate(file.tags)]
    suspects = names + (tags if names else [one for one in tags if len(one[1]) >= _SHORTEST_KEY])
    if not suspects:
        return  # the rule costs the compilation of patterns
    redactor = Redactor.for_environment(file.inputs.environment)
    for path, value in suspects:
        if redactor.text(value or "") != (value or ""):
            message = "looks like a secret or holds one of inputs.environment, and is shown in every report"
            scope.child(*path).error("invalid-value", message, "choose another one")


def _check_task(scope: Scope, file: TaskFile, fixtures: Path, base: Task) -> None:
    check_inputs(scope, file, fixtures)
    _check_secrets(scope, file)
    warn_of_caveats(scope, file.caveats)
    skills.check_directories(scope.child("skill_directories"), file.skill_directories or ())
    for i, name in enumerate(file.instruction_files):
        check_file(scope.child("instruction_files", i), fixtures, name, "missing-instructions")
    for name in base.instruction_files:
        if fixtures != scope.loading.fixtures:
            check_file(scope.child("context_dir"), fixtures, name, "missing-instructions")
    check_mocks(scope, file.mcp_mocks, file.command_mocks)
    known = scope.loading.variables()
    check_templates(scope.child("inputs", "prompt"), file.inputs.prompt, known)
    check_templates(scope.child("inputs", "follow_up_prompts"), file.inputs.follow_up_prompts, known)
    check_templates(scope.child("triggers"), file.triggers, known)
    check_templates(scope.child("mock"), file.mock, known)
    check_templates(scope.child("solution"), file.solution, known)
    if file.inputs.responder:
        scope.child("inputs", "responder").require("judge", "use follow_up_prompts")
    if file.inputs.responder and file.inputs.follow_up_prompts:
        message = "cannot be combined with follow_up_prompts"
        scope.child("inputs", "responder").error(
            "conflicting-keys", message, "keep one way to go on with the conversation"
        )


def _check_expected(scope: Scope, file: TaskFile, target: Target | None) -> None:
    """Note what is expected of an agent's behaviour and can never be seen."""
    expected, config = file.expected, scope.loading.file.config
    if expected.should_trigger and target and target.why_it_never_fires:
        message = f"{target.name!r} can never be invoked: {target.why_it_never_fires}"
        scope.child("expected", "should_trigger").warn("never-invoked", message, "drop the key")
    if expected.should_trigger is not None and config.enforce_expected and config.inject_skill_body:
        message = "is not checked: the body of the skill is injected, so it need not be invoked"
        hint = "set config.inject_skill_body: false, or drop the key"
        scope.child("expected", "should_trigger").warn("not-checked", message, hint)
    if not config.enforce_expected:
        return
    if limits := expected.behavior:
        lists = {"required_tools": limits.required_tools, "forbidden_tools": limits.forbidden_tools}
        for name in list_exact_names("tool", **lists):
            scope.child("expected", "behavior", *name.path).compare_exactly(name)
    if scope.loading.capabilities.scripted:
        return
    if expected.behavior:
        for capability, key in capabilities_for_limits(expected.behavior).items():
            scope.child("expected", "behavior", key).require(capability)
    if expected.should_trigger is not None and not config.inject_skill_body and scope.loading.file.skill:
        scope.child("expected", "should_trigger").require("tool_calls")


def _build_checkpoints(scope: Scope, file: TaskFile) -> tuple[Checkpoint, ...]:
    checkpoints, turns = [], set()
    last = None if file.inputs.responder else 1 + len(file.inputs.follow_up_prompts)
    for i, entry in enumerate(file.checkpoints):
        place = scope.child("checkpoints", i)
        if entry.after_turn in turns:
            place.child("after_turn").error(
                "duplicate-name", f"turn {entry.after_turn} has a checkpoint already"
            )
        if last is not None and entry.after_turn > last:
            turns_there = "1 turn" if last == 1 else f"{last} turns"
            message = f"is {entry.after_turn}, but the task has only {turns_there}"
            place.child("after_turn").error(
                "invalid-value", message, "add follow_up_prompts, or name an earlier turn"
            )
        turns.add(entry.after_turn)
        graders = build_graders(place.child("graders"), entry.graders)
        check_names(place.child("graders"), entry.graders)
        checkpoints.append(
            Checkpoint(after_turn=entry.after_turn, graders=graders, stop=entry.on_failure == "stop")
        )
    return tuple(checkpoints)
