"""What `waza m365 try` does: one evaluator on one response."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from waza.cli.m365_run import report_problems, start_logging
from waza.cli.streams import print_json, print_line
from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
from waza.kit import yaml
from waza.kit.decode import Document
from waza.kit.json_nodes import JsonError, dump, load
from waza.kit.redact import Redactor
from waza.m365.custom.custom_result import threshold_problem
from waza.m365.custom.pool import TIMEOUT
from waza.m365.custom.promptflow_shim import Runtime
from waza.m365.document.options import BUILT_IN, NEEDS, OF_SEARCHES, name_conflict
from waza.m365.document.validate import validate_evaluators
from waza.m365.evaluators.evaluator_set import EvaluatorSets
from waza.m365.evaluators.protocols import EvaluatorInput, EvaluatorResult
from waza.m365.judges.choose import require_judge
from waza.m365.judges.judge_model import LIMIT
from waza.m365.results.status import entry_of, is_error
from waza.problem import Problem
from waza.report.words import ERROR, FAILED, PASSED, one_line


class TryArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza m365 try`, named as in `waza.cli.m365`."""

    name: str
    response: str
    prompt: str = ""
    expected: str = ""
    context: str = ""
    threshold: float | None = None
    options: str = ""
    judge: str = ""
    judge_timeout: float = LIMIT
    evaluator_timeout: float = TIMEOUT
    load_flow: Runtime = "auto"
    as_json: bool = False
    log_level: str = ""


def try_evaluator(trial: TryArguments) -> int:
    """Ask the evaluator, print what it says, and return 0 where it passes, else 1. Raises SuiteError, JudgeError."""
    start_logging(trial.log_level)
    entry = _entry(trial)
    _check_material(trial)
    result = asyncio.run(_asked(trial, entry))
    clean = Redactor.for_environment(os.environ)
    if trial.as_json:
        print_json(clean.value({trial.name: entry_of(result)}))
    else:
        print_line(clean.text(_line(result)))
        if result.traceback and is_error(result):
            print_line(clean.text(result.traceback.rstrip()))
    return EXIT_OK if result.passed and not is_error(result) else EXIT_FAILED


def _entry(trial: TryArguments) -> dict[str, Any]:
    """Return the options as a document has them. Raises UsageError, SuiteError: the evaluator does not have such."""
    if taken := name_conflict(trial.name):
        raise UsageError(f"{taken.message}; {taken.hint}")
    given = _given(trial.options)
    own = given if trial.name in BUILT_IN else {"options": given} if given else {}
    entry = own if trial.threshold is None else {**own, "threshold": trial.threshold}
    document = Document("--options", load(dump({trial.name: entry}).encode()))
    report_problems([_of_option(problem, trial) for problem in validate_evaluators(document)])
    return entry


def _given(text: str) -> dict[str, Any]:
    """Return the value of `--options`. Raises UsageError."""
    example = '{"words": 150}'
    try:
        node = load((text or "{}").encode())
    except JsonError as error:
        raise UsageError(f"--options is no JSON object such as {example}: {error}") from error
    if not isinstance(node, yaml.Mapping):
        raise UsageError(f"--options is no JSON object such as {example}")
    return {key: yaml.to_plain(value) for key, value in node.entries.items()}


def _of_option(problem: Problem, trial: TryArguments) -> Problem:
    """Return a problem with the option that it is in as its place; options have no lines."""
    of_threshold = trial.threshold is not None and problem.path == f"{trial.name}.threshold"
    option = "--threshold" if of_threshold else "--options"
    return msgspec.structs.replace(problem, file=option, line=0, column=0)


def _check_material(trial: TryArguments) -> None:
    """Raise UsageError for an evaluator that gives no result without a text that was not given."""
    texts = {"expected_response": ("--expected", trial.expected), "context": ("--context", trial.context)}
    if (needed := NEEDS.get(trial.name)) and not texts[needed][1].strip():
        raise UsageError(f"{trial.name} gives no result without {texts[needed][0]}; write it")
    if trial.name in OF_SEARCHES:
        message = f"{trial.name} looks at the agent's searches, which a response alone does not have"
        raise UsageError(f"{message}; write a document with 'diagnostics', and run it with --agent recorded")


async def _asked(trial: TryArguments, entry: dict[str, Any]) -> EvaluatorResult:
    evaluator_sets = EvaluatorSets(timeout=trial.evaluator_timeout, runtime=trial.load_flow)
    try:
        evaluator_set, used = evaluator_sets.for_directory(Path.cwd()), [{trial.name: entry}]
        report_problems(evaluator_set.find([trial.name]))
        if evaluator_set.is_judge(trial.name) and (wrong := threshold_problem(entry)):
            raise UsageError(f"--threshold: {wrong}")
        report_problems(await evaluator_set.start([trial.name]))
        if asking := evaluator_set.names_asking_judge(used):
            evaluator_sets.judge = require_judge(asking, trial.judge, os.environ, trial.judge_timeout)
            await evaluator_sets.check_judge()
        evaluator_set.check_judge(evaluator_sets.judge, used)
        evaluator = evaluator_set.make(trial.name, entry, evaluator_sets.judge)
        return await evaluator(
            EvaluatorInput(
                prompt=trial.prompt,
                response=sys.stdin.read() if trial.response == "-" else trial.response,
                expected_response=trial.expected,
                context=trial.context,
            )
        )
    finally:
        await evaluator_sets.aclose()


def _line(result: EvaluatorResult) -> str:
    if is_error(result):
        return f"{ERROR} {result.name}: {one_line(entry_of(result)['error'])}"
    mark = PASSED if result.passed else FAILED
    reason = f": {one_line(result.reason)}" if result.reason else ""
    return f"{mark} {result.name} {result.score:.4g}, threshold {result.threshold:.4g}{reason}"
