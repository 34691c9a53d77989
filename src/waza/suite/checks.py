"""What of a suite judges: expectations, metrics, and tasks that nothing judges at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from waza.graders.behavior import NO_LIMIT
from waza.kit import yaml
from waza.kit.decode import Document
from waza.kit.names import did_you_mean
from waza.kit.text import list_first
from waza.model.suite import BEHAVIOURAL, METRICS, Metric
from waza.model.task import Expected, ExpectedBehavior, Task
from waza.registry.cache import MODULE_CODES
from waza.suite.graders import list_names
from waza.suite.loading import Loading, Scope
from waza.suite.policy import NAME as ALLOWED_TOOLS
from waza.suite.read import child

_TEXTS = ("output_contains", "output_not_contains", "output_contains_any")
_EXPECTED = (*_TEXTS, "behavior", "should_trigger")
NAMED = 10  # tasks in a message


def check_expected(scope: Scope, expected: Expected) -> None:
    """Note expectations of a task that would check nothing."""
    for key in _TEXTS:
        for i, text in enumerate(getattr(expected, key)):
            if not text:
                scope.child("expected", key, i).error(
                    "empty-check", "must not be empty", "every text holds the empty one"
                )
    limits, behavior = expected.behavior, scope.child("expected", "behavior")
    if limits is None or behavior.has_error:
        return
    if behavior.keys and not limits.checks:
        keys = ", ".join(ExpectedBehavior.__struct_fields__)
        behavior.error("empty-check", "checks nothing", f"set one of {keys}; 0 is no limit")
    elif limits.max_tool_calls == 0:
        behavior.child("max_tool_calls").warn("empty-check", *NO_LIMIT)


def warn_unchecked_tasks(loading: Loading, tasks: Iterable[Task]) -> None:
    """Warn of tasks that pass whatever the agent does."""
    names = [task.id for task in tasks if not _has_check(loading, task)]
    if not names or loading.errors():
        return  # a check may be among the mistakes
    what = "1 task has" if len(names) == 1 else f"{len(names)} tasks have"
    message = (
        f"{what} no check: {list_first(names, NAMED)}; without one a task passes whatever the agent does"
    )
    loading.at("graders").warn("unchecked-task", message, "add graders, or expected: to the task")


def warn_of_caveats(scope: Scope, caveats: Sequence[str]) -> None:
    """Report what results do not show, as its author has written it."""
    for i, sentence in enumerate(caveats):
        scope.child("caveats", i).warn("caveat", sentence)


def warn_unscripted_expectations(scope: Scope, task: Task) -> None:
    """Warn of expectations of an agent's behaviour that its script says nothing of, so that they are not checked."""
    config, expected = scope.loading.file.config, task.expected
    if not (config.enforce_expected and scope.loading.capabilities.scripted):
        return
    acts, skills = _find_observable(scope.loading, task)
    if expected.behavior is not None and expected.behavior.checks and not acts:
        message, hint = "is not checked: the script has no turn", "add turns to mock"
        scope.child("expected", "behavior").warn("not-checked", message, hint)
    if expected.should_trigger is not None and not config.inject_skill_body and not skills:
        message = "is not checked: the script does not say which skills are invoked"
        hint = "add skills to a turn of mock; an empty list says that none is"
        scope.child("expected", "should_trigger").warn("not-checked", message, hint)


def _find_observable(loading: Loading, task: Task) -> tuple[bool, bool]:
    """Return whether it is known what the agent of a task does, and which skills it invokes."""
    if not loading.capabilities.scripted:
        return True, loading.capabilities.tool_calls
    mock = task.mock
    scripts = [mock.execution(i) for i in range(len(mock.executions) or 1)] if mock else []
    return any(script.acts for script in scripts), any(script.lists_skills for script in scripts)


def _has_check(loading: Loading, task: Task) -> bool:
    if task.graders or task.checkpoints:
        return True
    config, expected = loading.file.config, task.expected
    acts, skills = _find_observable(loading, task)
    enforced = config.enforce_expected and (
        (expected.behavior is not None and expected.behavior.checks and acts)
        or (expected.should_trigger is not None and not config.inject_skill_body and skills)
    )
    counted = any(mock.expect_calls is not None for mock in task.command_mocks)
    texts = any(getattr(expected, key) for key in _TEXTS)
    return bool(texts or enforced or counted)


def select_metrics(
    loading: Loading, tasks: Sequence[Task], *, triggers: bool, neighbours: bool
) -> list[Metric]:
    """Return the metrics that can have data, and say of the others why they have none.

    `triggers`: there are trigger tests, `neighbours`: with neighbours. A metric without data cannot gate, so that is an error where it should.
    """
    known: list[Metric] = []
    names = set(_grader_names(loading, tasks))
    kinds = set(_grader_types(loading, tasks))
    for i, metric in enumerate(loading.file.metrics):
        if not metric.enabled:
            continue
        why, hint = _explain_no_data(metric.name, names, kinds, triggers=triggers, neighbours=neighbours)
        if any(metric.name == other.name for other in known):
            why, hint = f"there is another metric {metric.name!r}, which counts", "keep one of them"
        if not why:
            known.append(metric)
        elif not _data_may_be_unread(loading, metric.name):
            loading.at("metrics", i, "name").report("metric", why, hint, warning=not metric.gate)
    return known


def _data_may_be_unread(loading: Loading, metric: str) -> bool:
    """Return whether a mistake may keep what gives a metric its data from being known."""
    if metric in METRICS and metric != "behavior_quality":
        return False
    made = metric.startswith("_") or metric == ALLOWED_TOOLS  # by expectations and by agents
    documents = [loading.document, *(source.document for source in loading.sources)]
    unknown = (
        loading.unread
        or any(problem.code in MODULE_CODES for problem in loading.problems)
        or any(map(_hides_graders, documents))
    )
    return bool(unknown or (made and loading.errors()))


def _hides_graders(document: Document) -> bool:
    """Return whether names or types of graders are among the mistakes of a document."""
    graders = child(document.root, "graders")
    count = len(graders.items) if isinstance(graders, yaml.Sequence) else 0
    return any(
        document.is_placeholder("graders", i, key) for i in range(count) for key in ("type", "name", "ref")
    ) or document.is_placeholder("graders")


def _explain_no_data(
    name: str, names: set[str], kinds: set[str], *, triggers: bool, neighbours: bool
) -> tuple[str, str]:
    """Return why a metric has no data, and what to do; two empty texts if it can have some."""
    if name not in METRICS and name not in names:
        return f"there is no metric {name!r}, so it is left out", did_you_mean(
            name, {*METRICS, *(own for own in names if own and not own.startswith("_"))}
        )
    if name.startswith("trigger_") and name in METRICS and not triggers:
        return f"the metric {name!r} has no data", "it takes trigger_tests.yaml beside the suite"
    if name == "trigger_routing" and not neighbours:
        return f"the metric {name!r} has no data", "it takes neighbours in trigger_tests.yaml"
    if name == "behavior_quality" and not kinds.intersection(BEHAVIOURAL):
        return (
            f"the metric {name!r} has no data",
            f"it is the mean of graders of type {', '.join(BEHAVIOURAL)}",
        )
    return "", ""


def _grader_types(loading: Loading, tasks: Iterable[Task]) -> Iterator[str]:
    lists = [loading.file.graders, *(source.file.graders for source in loading.sources)]
    yield from (entry.type for entries in lists for entry in entries)
    yield from (grader.spec.type for task in tasks for grader in task.graders)


def _grader_names(loading: Loading, tasks: Iterable[Task]) -> Iterator[str]:
    yield from list_names(loading, loading.file.graders)
    for source in loading.sources:
        yield from list_names(loading, source.file.graders)
    for task in tasks:
        yield from (grader.spec.name for grader in task.graders)
        yield from (f"_{key}" for key in _EXPECTED if getattr(task.expected, key) not in (None, []))
