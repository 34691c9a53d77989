"""What `waza m365 run` does."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from waza.cli.check_options import check_printed, check_resumption
from waza.cli.command_run import CommandRun
from waza.cli.listeners import Listeners
from waza.cli.outputs import (
    JSON,
    CommandResults,
    ReporterOption,
    SkillOutcome,
    check_distinct,
    check_target,
    parse_reporter,
    write_report,
)
from waza.cli.streams import print_notice
from waza.cli.telemetry import TelemetryArguments, open_telemetry
from waza.engine.run import FinishedRun, RunOptions
from waza.engine.run_all import run_one
from waza.errors import EXIT_FAILED, EXIT_OK, SuiteError, UsageError
from waza.executors import SHORT
from waza.kit.json_nodes import dump
from waza.kit.redact import Redactor
from waza.m365.custom.pool import TIMEOUT as TIMEOUT_OF_EVALUATORS
from waza.m365.custom.promptflow_shim import Runtime
from waza.m365.document.read import EvalDocument, find_document, read_document
from waza.m365.evaluators.evaluator_set import EvaluatorSets
from waza.m365.evaluators.resolve import ResolvedEvaluators, resolve
from waza.m365.evaluators.start import start_evaluators
from waza.m365.judges.choose import is_configured, require_judge
from waza.m365.judges.judge_model import LIMIT, JudgeModel
from waza.m365.results.console import TurnLines, write_summary
from waza.m365.results.outcomes import item_outcomes
from waza.m365.results.output import RunFacts, check_format, result_document, write_result
from waza.m365.results.status import status_of
from waza.m365.suite import RECORDED, Agent, make_suite, parse_agent
from waza.model.event import RunEvent, Warned
from waza.model.loaded import Suite
from waza.model.verdict import SharedResources
from waza.plugins import executors_with
from waza.problem import Problem
from waza.report.progress import Progress
from waza.report.show_hint import show_command
from waza.report.terminal import has_colour, is_live
from waza.results.ending import came_to_its_end
from waza.suite.discover import read_target

if TYPE_CHECKING:
    from waza.model.tracing import Tracing

FOLDER = ".evals"
MOST_AT_ONCE = 5
TIMEOUT, ATTEMPTS = "WORKIQ_REQUEST_TIMEOUT_SECS", "WORKIQ_REQUEST_MAX_ATTEMPTS"


_BY_ADDRESS = [name for name, key in SHORT.items() if key == "url"]
_OF_AGENTS = (
    ("--model", "model", executors_with("models")),
    ("--skill", "skill", executors_with("skills")),
    ("--bearer-env", "token_env", _BY_ADDRESS),
    ("--api-key-env", "key_env", _BY_ADDRESS),
)
"""Options that mean something to some agents only, by their names here."""


class DocumentRunArguments(TelemetryArguments, frozen=True, kw_only=True):
    """The options of `waza m365 run`, named as in `waza.cli.m365`."""

    document: Path | None
    agent: str = ""
    model: str = ""
    skill: Path | None = None
    judge: str = ""
    judge_retrieval: bool = False
    judge_timeout: float = LIMIT
    output: tuple[Path, ...] = ()
    reporters: tuple[str, ...] = ()
    concurrency: int = 1
    timeout: float | None = None
    token_env: str = ""
    key_env: str = ""
    load_flow: Runtime = "auto"
    evaluator_timeout: float = TIMEOUT_OF_EVALUATORS
    resume: str | None = None
    retry_errors: bool = False
    no_save: bool = False
    as_json: bool = False
    log_level: str = ""


def run_command(arguments: DocumentRunArguments) -> int:
    """Run a document, print what its evaluators found, write the results; return the exit code."""
    for path in arguments.output:
        check_format(path)
    check_resumption(no_save=arguments.no_save, resume=arguments.resume, retry_errors=arguments.retry_errors)
    _check_installed(arguments.load_flow)
    start_logging(arguments.log_level)
    source = arguments.document or find_document(Path.cwd())
    reporters = [_parse_reporter(text) for text in arguments.reporters]
    check_printed(reporters, ["--json"] if arguments.as_json else [])
    check_distinct(arguments.output, reporters)
    for path in (*arguments.output, *(one.path for one in reporters if one.path and not one.folder)):
        check_target(path, [source])
    document = read_document(source)
    run = _DocumentRun(arguments, document, resolve(document), reporters)
    with open_telemetry(arguments) as run.tracing:
        return asyncio.run(run.go())


def _parse_reporter(text: str) -> ReporterOption:
    reporter = parse_reporter(text)
    if reporter.name == JSON:
        raise UsageError("results of evaluation documents are written as JSON by -o FILE.json and --json")
    if reporter.name == "html":
        raise UsageError("results of evaluation documents are written as HTML by -o FILE.html")
    return reporter


def start_logging(level: str) -> None:
    """Log to stderr from this level on, without secrets; an empty level logs nothing."""
    if level:
        handler = _StderrHandler()
        handler.setFormatter(_RedactingFormatter("%(levelname)s %(name)s: %(message)s"))
        logger = logging.getLogger("waza")  # what others log buries what is wanted
        logger.addHandler(handler)
        logger.setLevel(level.upper())


class _DocumentRun:
    """One call of the command."""

    def __init__(
        self,
        arguments: DocumentRunArguments,
        document: EvalDocument,
        resolved: ResolvedEvaluators,
        reporters: Sequence[ReporterOption],
    ) -> None:
        self.arguments, self.document, self.resolved = arguments, document, resolved
        self.reporters = reporters
        self.call = CommandRun()
        self.project, self.out = self.call.project, self.call.out
        self.timeout = arguments.timeout or _positive(TIMEOUT, 300)
        self.evaluator_sets = EvaluatorSets(
            timeout=arguments.evaluator_timeout,
            runtime=arguments.load_flow,
            entailment=arguments.judge_retrieval,
        )
        self.redactor = Redactor.for_environment(os.environ, arguments.agent)
        self.tracing: Tracing | None = None

    async def go(self) -> int:
        """Run the document."""
        shared = SharedResources(self.evaluator_sets)
        try:
            agent = self._agent()
            await self._prepare()
            judge = self.evaluator_sets.judge.name if self.evaluator_sets.judge else ""
            agent = msgspec.structs.replace(agent, judge=judge, entailment=self.evaluator_sets.entailment)
            run = await self._run(make_suite(self.document, self.resolved.items, agent), shared)
        finally:
            await shared.aclose()
        try:
            return self._finish(run, agent)
        finally:
            if self.project.storage is not None:
                from waza.cli.upload import upload_after_run  # most runs do without it

                interrupted = run.interrupted is not None
                await upload_after_run(self.project, [run.outcome], interrupted=interrupted)
            run.run_directory.close()

    def _agent(self) -> Agent:
        given, defaults = self.arguments, self.project.keys.defaults
        executor, options = parse_agent(given.agent or defaults.engine)
        for flag, asked, users in _OF_AGENTS:
            if getattr(given, asked) and executor not in users:
                raise UsageError(
                    f"{flag} is for the agent {' or '.join(users)}; leave it out, or change --agent"
                )
        if executor in _BY_ADDRESS:
            options |= {"bearer_env": given.token_env, "api_key_env": given.key_env}
            options["attempts"] = min(100, max(1, round(_positive(ATTEMPTS, 4))))
        return Agent(
            executor=executor,
            options=options,
            model=(given.model or defaults.model) if executor in executors_with("models") else "",
            target=read_target(given.skill) if given.skill else None,
            timeout=self.timeout,
            concurrency=min(given.concurrency, MOST_AT_ONCE),
        )

    async def _prepare(self) -> None:
        """Get the evaluators ready, and the judge. Raises SuiteError, JudgeError before anybody is asked."""
        evaluator_set, used = (
            self.evaluator_sets.for_directory(Path.cwd()),
            list(itertools.chain(*self.resolved.items)),
        )
        started = await start_evaluators(self.document, self.resolved, evaluator_set)
        report_problems([*self.document.warnings, *started])
        asking = evaluator_set.names_asking_judge(used)
        self.evaluator_sets.judge = self._judge(asking)
        if asking:
            await self.evaluator_sets.check_judge()
        evaluator_set.check_judge(self.evaluator_sets.judge, used)

    def _judge(self, asking: Sequence[str]) -> JudgeModel | None:
        """Return the judge that some evaluators ask, or that the command line names; None: nobody asks."""
        if not (asking or self.arguments.judge):
            return None
        return require_judge(asking, self.arguments.judge, os.environ, self.arguments.judge_timeout)

    async def _run(self, suite: Suite, shared: SharedResources) -> FinishedRun:
        given = self.arguments
        options = RunOptions(
            project=self.project,
            save=not given.no_save,
            resume=given.resume,
            shared=shared,
            repeat="errors",
            tracing=self.tracing,
        )
        lines = TurnLines(self.document, self.resolved.items, self.redactor.text)
        progress = Progress(
            sys.stderr,
            live=is_live(sys.stderr, os.environ),
            colour=has_colour(sys.stderr, os.environ),
            lines=lines.of,
        )
        listeners = Listeners([progress], self.redactor)
        warnings = _Warnings(listeners.emit)
        if not given.log_level:  # else they are logged
            logging.getLogger("waza").addHandler(warnings)
        try:
            return await run_one(
                suite,
                suite.models[0],
                options,
                listeners.emit,
                self.call.cancellation,
                self.call.resume_hint.start,
            )
        finally:
            logging.getLogger("waza").removeHandler(warnings)
            listeners.close()

    def _finish(self, run: FinishedRun, agent: Agent) -> int:
        """Write the results, sum them up, and return the exit code."""
        evaluators = {
            item.id: own for item, own in zip(self.document.items, self.resolved.items, strict=True)
        }
        found = {  # a record has more than its outcome, and may be large
            task.test_id: item_outcomes(evaluators[task.test_id], task.runs[0])
            for task in run.outcome.tasks()
            if task.runs
        }
        outcomes = [found.get(name) or item_outcomes(own, None) for name, own in evaluators.items()]
        now = datetime.now(UTC)
        card = next((turn.agent for item in outcomes for turn in item if turn.agent), "")
        facts = RunFacts(
            evaluated_at=now,
            agent_name=self.redactor.text(card or self.arguments.agent),
            judge=agent.judge,
            recorded=agent.executor == RECORDED,
        )
        result = result_document(self.document, outcomes, facts)
        paths = self.arguments.output or _new_files(now.astimezone().strftime("%Y-%m-%d_%H-%M-%S"))
        printed = [reporter.name for reporter in self.reporters if reporter.path is None]
        if self.arguments.as_json:
            self.out.json([dump(result).encode()])
        elif not printed:
            write_summary(self.out.line, self.document, outcomes, could_judge=self._could_judge_retrieval())
            if run.run_directory.saved and not run.outcome.verdict.passed:
                self.out.line(f"Why: {show_command(run.run_directory.id)}")
        results = CommandResults(done=(SkillOutcome(skill=self.document.name, outcome=run.outcome),))
        self.call.write(partial(self.call.print_report, name, results) for name in printed)
        self.call.write(
            [partial(self._write, path, result) for path in paths],
            print_notice if self.arguments.as_json or printed else self.out.line,
            "Results",
        )
        self.call.write(partial(write_report, reporter, results) for reporter in self.reporters)
        again = "; nothing is lost: the same command with --resume and another -o writes it"
        self.call.finish(
            complete=came_to_its_end(run.outcome.head),
            hint=again if run.run_directory.temporary is None else "",
        )
        if run.interrupted is not None:
            return run.interrupted
        statuses = {status_of(outcome) for item in outcomes for outcome in item}
        return EXIT_OK if statuses <= {"pass"} else EXIT_FAILED

    def _could_judge_retrieval(self) -> bool:
        """Return whether a judge could decide what search results support, but is not asked."""
        return not self.arguments.judge_retrieval and bool(self.arguments.judge or is_configured(os.environ))

    def _write(self, path: Path, result: dict[str, Any]) -> list[Path]:
        write_result(path, result, self.document.name)
        return [path]


class _RedactingFormatter(logging.Formatter):
    """Removes secrets from what is logged."""

    def __init__(self, form: str) -> None:
        super().__init__(form)
        self._redactor = Redactor.for_environment(os.environ)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return self._redactor.text(super().format(record))


class _StderrHandler(logging.Handler):
    """Prints records on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        print_notice(self.format(record))


class _Warnings(logging.Handler):
    """Emits warnings as events of a run, so that they are printed above the bar."""

    def __init__(self, emit_event: Callable[[RunEvent], None]) -> None:
        super().__init__(logging.WARNING)
        self._emit_event = emit_event

    def emit(self, record: logging.LogRecord) -> None:
        """Emit a record as an event."""
        self._emit_event(Warned(message=record.getMessage()))


def _new_files(stamp: str) -> tuple[Path, ...]:
    """Return names of results that no other run has."""
    for number in itertools.count(1):
        stem = stamp if number == 1 else f"{stamp}_{number}"
        paths = tuple(Path(FOLDER, stem + end) for end in (".json", ".html"))
        if not any(path.exists() for path in paths):
            return paths
    raise AssertionError("unreachable: counting does not end")


def report_problems(problems: Sequence[Problem]) -> None:
    """Print warnings; raise SuiteError with all errors, if there are any."""
    for problem in problems:
        if problem.severity == "warning":
            print_notice(str(problem))
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise SuiteError(errors)


def _check_installed(runtime: Runtime) -> None:
    """Raise UsageError when the real promptflow is wanted and not there."""
    if runtime == "promptflow" and not (find_spec("promptflow") and find_spec("promptflow.client")):
        raise UsageError(
            "--load-flow promptflow: promptflow is not installed; "
            "run pip install 'waza[promptflow]', or leave the option out"
        )


def _positive(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 86_400:
        print_notice(
            f"warning: the variable {name} is {text!r}, which is not a number above 0; {default:g} is used"
        )
        return default
    return number
