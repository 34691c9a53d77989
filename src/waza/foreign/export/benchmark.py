"""A run as the benchmark of Agent Skills evals: `benchmark.json`, and the gradings of its trials."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from waza.foreign.agent_skills import stated
from waza.kit.stats import mean
from waza.kit.text import pluralize
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.trial import Arm
from waza.report.transcripts import slug
from waza.results.outcome import Outcome

CONFIGURATIONS: dict[Arm, str] = {"main": "with_skill", "baseline": "without_skill"}
_FIGURES = ("pass_rate", "time_seconds", "tokens")
_DECIMALS = {"pass_rate": 2, "time_seconds": 1, "tokens": 0}
_NUMBERED = re.compile(r"(?:eval-)?([0-9]{1,9})")

Json = dict[str, Any]


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark, and its other files by their paths beside `benchmark.json`."""

    document: Json
    files: dict[str, Json]


def make_benchmark(outcome: Outcome) -> Benchmark:
    """Return a run as a benchmark. What waza does not know, such as the tokens of a trial, is null there."""
    arms: list[tuple[Arm, list[TaskResult]]] = [("main", list(outcome.tasks()))]
    if outcome.head.baseline_outcome is not None:
        arms.append(("baseline", list(outcome.baseline_tasks())))
    numbers = _number(arms[0][1])
    runs, files = list[Json](), dict[str, Json]()
    measured: dict[str, list[Json]] = {CONFIGURATIONS[arm]: [] for arm, _ in arms}
    for task in arms[0][1]:
        number = numbers[task.test_id]
        folder = f"eval-{slug(task.test_id.removeprefix('eval-'))}"
        files[f"{folder}/eval_metadata.json"] = _eval_metadata(task, number)
        for arm, tasks in arms:
            same = next((one for one in tasks if one.test_id == task.test_id), None)
            for trial in same.runs if same else ():
                runs.append(_run(task, trial, number, CONFIGURATIONS[arm]))
                if _is_measured(trial):
                    measured[CONFIGURATIONS[arm]].append(runs[-1]["result"])
                home = f"{folder}/{CONFIGURATIONS[arm]}/run-{trial.run_number}"
                files |= {f"{home}/grading.json": _grading(trial), f"{home}/timing.json": _timing(trial)}
    document = {
        "metadata": _metadata(outcome.head, list(numbers.values())),
        "runs": runs,
        "run_summary": _summary(measured),
        "notes": list(_notes(outcome, len(runs) - sum(map(len, measured.values())))),
    }
    return Benchmark(document=document, files=files)


def _number(tasks: Sequence[TaskResult]) -> dict[str, int]:
    """Return the numbers of tasks: those in their ids where all have one, else their places."""
    found = [_NUMBERED.fullmatch(task.test_id) for task in tasks]
    numbers = [int(one[1]) for one in found if one]
    if len(numbers) < len(tasks) or len(set(numbers)) < len(numbers):
        numbers = list(range(1, len(tasks) + 1))
    return {task.test_id: number for task, number in zip(tasks, numbers, strict=True)}


def _metadata(head: SuiteResult, numbers: list[int]) -> Json:
    return {
        "skill_name": head.skill,
        "skill_path": "",  # results do not know it
        "executor_model": head.config.model_id,
        "analyzer_model": head.config.judge_model or head.config.model_id,
        "timestamp": head.timestamp,
        "evals_run": numbers,
        "runs_per_configuration": head.config.runs_per_test,
    }


def _eval_metadata(task: TaskResult, number: int) -> Json:
    first = next(iter(task.runs), None)
    return {
        "eval_id": number,
        "eval_name": task.display_name,
        "prompt": first.prompt if first else "",
        "assertions": [one["text"] for one in _expectations(first)] if first else [],
    }


def _run(task: TaskResult, trial: TrialResult, number: int, configuration: str) -> Json:
    counts = _counts(trial)
    return {
        "eval_id": number,
        "configuration": configuration,
        "run_number": trial.run_number,
        "result": {
            "pass_rate": counts["pass_rate"],
            "passed": counts["passed"],
            "failed": counts["failed"],
            "total": counts["total"],
            "time_seconds": _seconds(trial),
            "tokens": _tokens(trial),
            "tool_calls": trial.session_digest.tool_call_count,
            "errors": _errors(trial),
        },
        "expectations": list(_expectations(trial)),
        "notes": [trial.error_msg] if trial.error_msg else [],
        "eval_name": task.display_name,
    }


def _grading(trial: TrialResult) -> Json:
    digest, usage = trial.session_digest, trial.session_digest.usage or trial.usage
    seconds = _seconds(trial)
    return {
        "expectations": list(_expectations(trial)),
        "summary": _counts(trial),
        "execution_metrics": {
            "tool_calls": dict(Counter(call.name for call in digest.tool_calls)),
            "total_tool_calls": digest.tool_call_count,
            "total_steps": usage.turns if usage else None,
            "errors_encountered": _errors(trial),
            "output_chars": len(trial.final_output),
            "transcript_chars": len(msgspec.json.encode(trial.transcript).decode()),
        },
        "timing": {"executor_duration_seconds": seconds, "total_duration_seconds": seconds},
    }


def _timing(trial: TrialResult) -> Json:
    known = _seconds(trial) is not None
    return {
        "total_tokens": _tokens(trial),
        "duration_ms": trial.duration_ms if known else None,
        "total_duration_seconds": _seconds(trial),
    }


def _expectations(trial: TrialResult) -> Iterator[Json]:
    for name, one in (trial.validations or {}).items():
        yield {"text": _statement(name, one), "passed": one.passed, "evidence": one.feedback}


def _statement(name: str, one: Validation) -> str:
    """Return what a grader states: the statement that a judge was asked about, else its name."""
    asked = one.details.get("prompt")
    return (stated(asked) if isinstance(asked, str) else "") or name


def _counts(trial: TrialResult) -> Json:
    verdicts = list((trial.validations or {}).values())
    passed, total = sum(one.passed for one in verdicts), len(verdicts)
    rate = passed / total if total else 0.0
    return {"passed": passed, "failed": total - passed, "total": total, "pass_rate": rate}


def _seconds(trial: TrialResult) -> float | None:
    return None if trial.duration_unknown else trial.duration_ms / 1000


def _tokens(trial: TrialResult) -> int | None:
    usage = trial.session_digest.usage or trial.usage
    return usage.tokens or None if usage else None


def _errors(trial: TrialResult) -> int:
    return max(len(trial.session_digest.errors or ()), int(trial.status == "error"))


def _is_measured(trial: TrialResult) -> bool:
    return trial.status in ("passed", "failed") and bool(trial.validations)


def _summary(measured: dict[str, list[Json]]) -> Json:
    """Return the figures of each configuration over its measured runs, and the first less the second."""
    found = {
        configuration: {key: _spread([result[key] for result in results]) for key in _FIGURES}
        for configuration, results in measured.items()
    }
    if len(found) == 1:
        return found
    first, second = found.values()
    delta = {key: _difference(first[key], second[key], _DECIMALS[key]) for key in _FIGURES}
    return {**found, "delta": delta}


def _spread(values: Sequence[float | None]) -> Json:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return dict.fromkeys(("mean", "stddev", "min", "max"))
    centre = mean(known)
    squares = math.fsum((value - centre) ** 2 for value in known)
    deviation = math.sqrt(squares / (len(known) - 1)) if len(known) > 1 else 0.0
    return {
        "mean": round(centre, 4),
        "stddev": round(deviation, 4),
        "min": round(min(known), 4),
        "max": round(max(known), 4),
    }


def _difference(first: Json, second: Json, decimals: int) -> str | None:
    if first["mean"] is None or second["mean"] is None:
        return None
    return f"{first['mean'] - second['mean']:+.{decimals}f}"


def _notes(outcome: Outcome, left: int) -> Iterator[str]:
    verdict, head = outcome.verdict, outcome.head
    yield f"waza: {head.eval_name}: {'; '.join([verdict.word, *verdict.reasons])}"
    warnings = head.metadata.get("warnings")
    yield from map(str, warnings if isinstance(warnings, list) else ())
    if left:
        yield f"{pluralize(left, 'run')} broke or had nothing to check, and count in no mean"
