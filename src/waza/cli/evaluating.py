"""What `waza m365 run` does."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from waza.cli.outputs import check_target
from waza.cli.streams import tell
from waza.engine.control import Control
from waza.errors import EXIT_FAILED, EXIT_OK, RunError, SuiteError, UsageError
from waza.m365.agents import Agent, AgentOptions, Credentials, agent_of
from waza.m365.case import Judge
from waza.m365.document import EvalDocument, Item, find_document, read_document
from waza.m365.host import EvaluatorHost
from waza.m365.judge import judge_of
from waza.m365.output import RunFacts, check_format, result_document, write_result
from waza.m365.panel import Panel
from waza.m365.resolve import Resolved, resolve
from waza.m365.run import ItemOutcome, run_document
from waza.m365.status import TurnOutcome, error_of, is_error, status_of
from waza.problem import Problem
from waza.report.words import ERROR, FAILED, PASSED, Write, counted, printer
from waza.suite.discover import target_at
from waza.suite.project import find_project

FOLDER = ".evals"
MOST_AT_ONCE = 5
TIMEOUT, ATTEMPTS = "WORKIQ_REQUEST_TIMEOUT_SECS", "WORKIQ_REQUEST_MAX_ATTEMPTS"
_MARKS = {"pass": PASSED, "fail": FAILED, "partial": ERROR, "error": ERROR}


class Arguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza m365 run`, named as in `waza.cli.m365`."""

    document: Path | None
    agent: str = ""
    model: str = ""
    skill: Path | None = None
    judge: str = ""
    output: tuple[Path, ...] = ()
    concurrency: int = 1
    timeout: float | None = None
    token_env: str = ""
    key_env: str = ""
    log_level: str = ""


def run_command(arguments: Arguments) -> int:
    """Run a document, tell what its evaluators say, write the results; return the exit code."""
    for path in arguments.output:
        check_format(path)
    if arguments.log_level:
        level = getattr(logging, arguments.log_level.upper())
        logging.basicConfig(level=level, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    source = arguments.document or find_document(Path.cwd())
    for path in arguments.output:
        check_target(path, [source])
    document = read_document(source)
    resolved = resolve(document)
    _stop_at([*document.warnings, *resolved.problems])
    return asyncio.run(_Run(arguments, document, resolved).go())


class _Run:
    """One call of the command."""

    def __init__(self, arguments: Arguments, document: EvalDocument, resolved: Resolved) -> None:
        self.arguments, self.document, self.resolved = arguments, document, resolved
        self.say = printer(sys.stdout)
        self.host = EvaluatorHost(timeout=self.timeout)
        names = (name for item in resolved.items for turn in item for name in turn)
        self.panel = Panel(names, Path.cwd(), self.host, also=resolved.custom)
        self.control = Control()

    @property
    def timeout(self) -> float:
        """The limit of one request to the agent, in seconds."""
        return self.arguments.timeout or _positive(TIMEOUT, 300)

    async def go(self) -> int:
        """Run the document."""
        agent = self._agent()
        judge: Judge | None = None
        try:
            _stop_at(self.panel.found.problems)
            judge = judge_of(self.arguments.judge, os.environ) if self._wants_judge() else None
            self.panel.check_judge(judge)
            _stop_at(await self.panel.start(judge))
            await agent.start()
            outcomes = await run_document(
                self.document,
                self.resolved.items,
                agent,
                self.panel.make,
                concurrency=min(self.arguments.concurrency, MOST_AT_ONCE),
                tell=self._tell,
                control=self.control,
            )
        finally:
            await agent.aclose()
            await self.host.aclose()
            if judge is not None:
                await judge.aclose()
        return self._finish(outcomes)

    def _wants_judge(self) -> bool:
        return self.panel.needs_judge or bool(self.arguments.judge)

    def _agent(self) -> Agent:
        given, project = self.arguments, find_project(Path.cwd())
        options = AgentOptions(
            project=project,
            timeout=self.timeout,
            model=given.model or project.keys.defaults.model,
            target=target_at(given.skill) if given.skill else None,
            credentials=Credentials(token=_secret(given.token_env), key=_secret(given.key_env)),
            attempts=round(_positive(ATTEMPTS, 4)),
        )
        return agent_of(given.agent or project.keys.defaults.engine, self.document, options)

    def _tell(self, item: Item, turn: int, outcome: TurnOutcome) -> None:
        status, error = status_of(outcome), error_of(outcome)
        where = f"{item.id}, turn {turn + 1}" if item.thread else item.id
        said = [result.error or f"{result.name} {result.score:g}" for result in outcome.results]
        if error and not outcome.results:
            said = [error["message"]]
        tell(f"{_MARKS[status]} {where}: {status}{'; ' if said else ''}{'; '.join(said)}")

    def _finish(self, outcomes: Sequence[ItemOutcome]) -> int:
        now = datetime.now(UTC)
        result = result_document(
            self.document, outcomes, RunFacts(evaluated_at=now, agent_name=self.arguments.agent)
        )
        paths = self.arguments.output or _new_files(now.astimezone().strftime("%Y-%m-%d_%H-%M-%S"))
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_result(path, result)
        statuses = [status_of(outcome) for item in outcomes for outcome in item]
        summarise(self.say, self.document, outcomes)
        for path in paths:
            self.say(f"Results: {path}")
        if self.control.exit_code is not None:
            return self.control.exit_code
        return EXIT_OK if set(statuses) <= {"pass"} else EXIT_FAILED


def _new_files(stamp: str) -> tuple[Path, ...]:
    """Return names of results that no other run has."""
    for number in itertools.count(1):
        stem = stamp if number == 1 else f"{stamp}_{number}"
        paths = tuple(Path(FOLDER, stem + end) for end in (".json", ".html"))
        if not any(path.exists() for path in paths):
            return paths
    raise AssertionError("unreachable: counting does not end")


def summarise(say: Write, document: EvalDocument, outcomes: Sequence[ItemOutcome]) -> None:
    """Say how many turns ended how, and what each evaluator said of all of them."""
    turns = [outcome for item in outcomes for outcome in item]
    statuses = [status_of(outcome) for outcome in turns]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in _MARKS if status in statuses)
    say(f"{document.name}: {counted(len(document.items), 'item')}, {counted(len(turns), 'turn')}: {counts}")
    results = [result for outcome in turns for result in outcome.results]
    for name in dict.fromkeys(result.name for result in results):
        own = [result for result in results if result.name == name]
        broken = sum(map(is_error, own))
        passed = sum(result.passed for result in own if not is_error(result))
        errors = f", {counted(broken, 'error')}" if broken else ""
        say(f"  {name}: {passed} of {len(own)} passed{errors}")


def _stop_at(problems: Sequence[Problem]) -> None:
    """Tell warnings; raise SuiteError with all errors, if there are any."""
    for problem in problems:
        if problem.severity == "warning":
            tell(str(problem))
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise SuiteError(errors)


def _positive(name: str, default: float) -> float:
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 86_400:
        raise UsageError(f"the variable {name} is {text!r}, but must be a number above 0")
    return number


def _secret(name: str) -> str:
    if not name:
        return ""
    value = os.environ.get(name, "")
    if not value:
        raise RunError(f"the variable {name}, which should hold a key for the agent, is not set")
    return value
