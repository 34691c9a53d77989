"""Suites as pytest collects and runs them: a task is a test, or each of its trials, and the gates of a suite are one.

Each task is run once in a session, as a run of its own, by whichever test needs it first: its own, one of its trials, or
the gates, which need all of them. What it came to is kept in files that the workers of pytest-xdist share.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from waza.api import run as run_suite
from waza.engine.plan import make_plan
from waza.errors import WazaError
from waza.kit.directory_lock import lock_directory
from waza.kit.files import write_atomic
from waza.kit.tempdirs import ProcessTempdir
from waza.kit.text import pluralize
from waza.kit.unsafe_text import escape_unsafe
from waza.model.loaded import Suite
from waza.model.pass_rule import describe_rule
from waza.model.result import SuiteResult, TaskResult, TrialResult
from waza.model.suite import LimitKeys
from waza.model.task import Task
from waza.problem import display_path
from waza.report.trial_page import TrialPage, TrialView, cause
from waza.report.view import RunView
from waza.results.assemble import Fold, Triggers
from waza.results.ending import COMPLETE, run_status
from waza.results.outcome import Outcome
from waza.results.verdict import gating, tasks_reason, verdict_of
from waza.results.write import encode
from waza.suite.load import load
from waza.suite.loading import LoadOptions
from waza.suite.project import find_project

_WIDTH = 100  # columns of what failed tests show
_END = 30  # lines of a conversation that failed tests show


class WazaWarning(pytest.PytestWarning):
    """A warning about a suite or its run."""


class SuitePlugin:
    """Collects the suites below `roots` (absolute paths), or all with `--waza`. It has what their tests share.

    `names` are those of the files of suites.
    """

    def __init__(self, config: pytest.Config, roots: Sequence[str], names: Sequence[str]) -> None:
        self.config, self.roots = config, [Path(root) for root in roots]
        self.project = find_project(config.invocation_params.dir)
        self._names = {*names, self.project.keys.files.evalFile}
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._own = ProcessTempdir("pytest") if worker is None else None
        self.results = self._own.path if self._own else Path(worker["waza_results"]) if worker else Path()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist which suites are collected, and where results are shared."""
        node.workerinput["waza_roots"] = list(map(str, self.roots))
        node.workerinput["waza_results"] = str(self.results)

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Return the collector of a suite."""
        named = parent.session.isinitpath(file_path)
        if file_path.suffix not in (".yaml", ".yml") or not (named or file_path.name in self._names):
            return None
        if self.config.option.waza or any(file_path.is_relative_to(root) for root in self.roots):
            return SuiteCollector.from_parent(parent, path=file_path, plugin=self)
        return None

    def pytest_unconfigure(self) -> None:
        """Remove the results."""
        if self._own:
            self._own.remove()

    def options(self) -> LoadOptions:
        """Return what the command line asks of suites, and `.waza.yaml` where it does not."""
        given, defaults = self.config.option, self.project.keys.defaults
        return LoadOptions(
            executor=given.waza_executor,
            models=tuple(given.waza_model),
            judge_model=given.waza_judge_model or defaults.judgeModel,
            trials=given.waza_trials,
            timeout=given.waza_timeout,
            parallel=defaults.parallel or None,
            workers=defaults.workers,
            baseline=given.waza_baseline,
            no_skills=given.waza_no_skills,
            context_dir=given.waza_context_dir,
            warnings_as_errors=given.waza_warnings_as_errors,
        )


class ModelRun:
    """A suite on one model: the results of its tasks, each of which is run when it is first asked for."""

    def __init__(self, suite: Suite, model: str, results: Path) -> None:
        self.suite, self.model = suite, model
        key = hashlib.sha256(f"{suite.path}\0{model}".encode("utf-8", "surrogateescape")).hexdigest()
        self._results = results / key
        # Metrics are figures over the whole suite: of a part they have other values, or none.
        self._part = msgspec.structs.replace(suite, file=msgspec.structs.replace(suite.file, metrics=[]))

    @property
    def has_gates(self) -> bool:
        """Whether the suite has conditions on the run as a whole, or trigger tests."""
        file = self.suite.file
        return bool(file.baseline or self.suite.trigger_tests or any(map(gating, file.metrics)))

    def run_task(self, task: Task) -> SuiteResult:
        """Return the results of one task. Raises WazaError where it could not be run."""
        return self._run(
            f"task {task.id}", msgspec.structs.replace(self._part, tasks=(task,), trigger_tests=None)
        )

    def run_triggers(self) -> SuiteResult | None:
        """Return the results of the trigger tests; None without any. Raises WazaError where they could not be run."""
        if self.suite.trigger_tests is None:
            return None
        return self._run("trigger tests", msgspec.structs.replace(self._part, tasks=()))

    def run_whole(self) -> SuiteResult:
        """Return the results of the suite without its tasks: figures, metrics, gates and the verdict over all of it.

        They are of the trials of all tasks, added up as those of one run are.
        """
        fold = Fold(self.suite, self.model, [one.arm for one in make_plan(self.suite, self.model).arms])
        statuses, started = [], []
        for task in self.suite.tasks:
            part = self.run_task(task)
            _add(fold, "main", part.tasks)
            if part.baseline_outcome is not None:
                _add(fold, "baseline", part.baseline_outcome.tasks)
            statuses.append(run_status(part))
            started.append(part.timestamp)
        triggers = None
        if (found := self.run_triggers()) is not None:
            triggers = Triggers(
                found.trigger_metrics, tuple(found.trigger_results), matrix=found.trigger_matrix
            )
            statuses.append(run_status(found))
            started.append(found.timestamp)
        status = next((one for one in statuses if one != COMPLETE), COMPLETE)
        outcome, _ = fold.outcome(
            _NoReader(),
            run_id="",
            timestamp=min(started),
            triggers=triggers,
            metadata={"run_status": status},
        )
        return outcome.head

    def _run(self, what: str, part: Suite) -> SuiteResult:
        place = self._results / hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()
        place.mkdir(parents=True, exist_ok=True)
        with lock_directory(place):
            file = place / "results.json"
            if not file.exists():
                write_atomic(file, encode(Outcome.of(self._run_part(part))))
            return msgspec.json.decode(file.read_bytes(), type=SuiteResult)

    def _run_part(self, part: Suite) -> SuiteResult:
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as errors they would break trials
            (result,) = run_suite(msgspec.structs.replace(part, models=(self.model,)))
        if run_status(result) == "cancelled":
            raise KeyboardInterrupt
        return result


def _add(fold: Fold, arm: Any, tasks: Sequence[TaskResult]) -> None:
    for task in tasks:
        if task.error_msg and not task.runs:
            fold.stop(arm, task.test_id, task.error_msg)
        for trial in task.runs:
            fold.add(arm, task.test_id, trial, 0, cached=task.cached)


class _NoReader:
    """Reads no trial: the verdict over a run is one over its figures."""

    def read_trial(self, offset: int) -> TrialResult:
        raise LookupError(offset)

    def read_encoded(self, offset: int) -> msgspec.Raw:
        raise LookupError(offset)


class SuiteCollector(pytest.File):
    """The file of a suite; its tests are those of each model."""

    def __init__(self, *, plugin: SuitePlugin, **given: Any) -> None:
        super().__init__(**given)
        self.plugin = plugin

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests of the suite. Mistakes in its files are errors of the collection, each with its place."""
        try:
            suite = load(self.path, self.plugin.options())
        except WazaError as error:
            raise self.CollectError(str(error)) from None
        for warning in (*map(str, suite.warnings), *self._notes(suite)):
            self.warn(WazaWarning(warning))
        if self.config.option.waza_per_trial and suite.file.config.stop_when:
            raise self.CollectError(
                f"{display_path(self.path)}: --waza-per-trial needs to know how many trials a task has, "
                "which config.stop_when leaves open; leave one of the two out"
            )
        ids = {task.id for task in suite.tasks}
        for model in suite.models:
            run = ModelRun(suite, model, self.plugin.results)
            label = model if len(suite.models) > 1 else ""
            for task in suite.tasks:
                trials = range(1, suite.file.config.trials_per_task + 1)
                for number in trials if self.config.option.waza_per_trial else (None,):
                    name = _name(task.id, label, "" if number is None else f"trial {number}")
                    yield TaskItem.from_parent(self, name=name, run=run, task=task, trial=number)
            if run.has_gates:
                gates = "gates" if "gates" not in ids else "gates of the suite"
                yield GatesItem.from_parent(self, name=_name(gates, label), run=run)

    def _notes(self, suite: Suite) -> Iterator[str]:
        """Yield what of a suite holds for each of its tests, where `waza run` holds all of them to it."""
        config = suite.file.config
        if config.limits is not None and msgspec.structs.replace(config.limits, trial=None) != LimitKeys():
            yield (
                f"{display_path(self.path)}: config.limits of a run hold for each test by itself, not for all of "
                "them together; waza run holds the whole suite to them"
            )
        if config.fail_fast:
            yield f"{display_path(self.path)}: config.fail_fast has no effect here; use pytest -x"


def _name(first: str, *more: str) -> str:
    rest = ", ".join(filter(None, more))
    return escape_unsafe(f"{first}[{rest}]" if rest else first)


class _RunItem(pytest.Item):
    """A test that needs something of the run of a suite. It is run in the setup, where what breaks is an error."""

    def __init__(self, *, run: ModelRun, **given: Any) -> None:
        super().__init__(**given)
        self.run = run
        self.add_marker("waza")
        self.extra_keyword_matches.update(filter(None, (run.suite.name, run.suite.file.skill, run.model)))

    def measure(self) -> None:
        """Run what is needed. Raises WazaError where it cannot be run."""
        raise NotImplementedError

    def setup(self) -> None:
        """Run what is needed; what breaks is an error of the test, and no failure."""
        if self.config.getoption("setuponly", default=False):
            return
        try:
            self.measure()
        except WazaError as error:
            _fail(str(error))

    def _warn_of(self, result: SuiteResult) -> None:
        known = {str(one) for one in self.run.suite.warnings}
        for message in result.metadata.get("warnings", ()):
            if message not in known:
                self.warn(WazaWarning(f"{self.name}: {message}"))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the test is written, and what it is called."""
        return self.path, 0, f"{self.run.suite.name}: {self.name}"


class TaskItem(_RunItem):
    """A task, or one of its trials, as a test."""

    def __init__(self, *, task: Task, trial: int | None, **given: Any) -> None:
        super().__init__(**given)
        self.task, self.trial = task, trial
        self.extra_keyword_matches.update((task.name, *task.tags))
        self._result: TaskResult | None = None
        self._head: SuiteResult | None = None

    def measure(self) -> None:
        """Run the task, unless it was run before. A task without a verdict is an error."""
        head = self.run.run_task(self.task)
        (result,) = head.tasks
        self._head, self._result = head, result
        self._warn_of(head)
        trials = self._trials()
        if result.missing_trials or not trials:
            if result.status == "skipped" and not result.missing_trials:
                pytest.skip(result.error_msg or "it was not graded")
            missing = pluralize(result.missing_trials, "trial")
            _fail(result.error_msg or f"{missing} did not run ({run_status(head)})")
        broken = [one for one in trials if one.status == "error"]
        if broken and (self.trial is not None or result.status == "error"):
            _fail(self._describe(broken))
        if all(one.status == "skipped" for one in trials):
            pytest.skip("it was not graded")

    def runtest(self) -> None:
        """Fail unless the task, or the trial, passed."""
        if self._result is None:
            return
        bad = [one for one in self._trials() if one.status != "passed"]
        passed = not bad if self.trial is not None else self._result.status == "passed"
        if passed:
            return
        if self.trial is not None and self._result.status == "passed":
            config = self.run.suite.file.config
            rule = describe_rule(config.pass_rule, config.trials_per_task)
            pytest.xfail(f"the task passed all the same: {rule}")
        if self.run.suite.file.baseline:
            pytest.xfail(f"the gates decide by a comparison with the baseline: {self._headline(bad)}")
        _fail(self._describe(bad))

    def _trials(self) -> list[TrialResult]:
        runs = self._result.runs if self._result else []
        return [one for one in runs if self.trial in (None, one.run_number)]

    def _headline(self, bad: Sequence[TrialResult]) -> str:
        of = len(self._trials())
        counts = f" ({len(bad)} of {of} trials did not pass)" if of > 1 else ""
        return f"{cause(bad[0]) or 'it was not graded'}{counts}"

    def _describe(self, bad: Sequence[TrialResult]) -> str:
        """Return what the first bad trial shows: the verdicts against it, and how its conversation ended."""
        head, task = self._head, self._result
        if head is None or task is None:
            return self.name
        view = TrialView(run=self.run.suite.path.name, head=head, arm="main", task=task, trial=bad[0])
        (_, why), *others = TrialPage(view, _WIDTH).sections()
        lines = [self._headline(bad), *why]
        for found in (found for title, found in others if title == "CONVERSATION"):
            cut = ["..."] if len(found) > _END else []
            lines += ["", "The end of its conversation:", *cut, *found[-_END:]]
        return "\n".join(map(escape_unsafe, lines))


class GatesItem(_RunItem):
    """What a suite requires of a run as a whole, as a test: its gates, and that all of it was run."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._head: SuiteResult | None = None

    def measure(self) -> None:
        """Run the trigger tests, and those tasks that no other test has run."""
        self._head = self.run.run_whole()
        self._warn_of(self._head)

    def runtest(self) -> None:
        """Fail with what speaks against the run, but for tasks that did not pass, which are tests of their own."""
        if self._head is None:
            return
        view = RunView.of(Outcome.of(self._head), self.run.suite.name)
        tasks = tasks_reason(self._head)
        reasons = [reason for reason in verdict_of(self._head).reasons if reason != tasks]
        if reasons:
            lines = [*reasons, *view.trigger_failures]
            _fail("\n".join(map(escape_unsafe, lines)))


def _fail(text: str) -> None:
    pytest.fail(text, pytrace=False)
