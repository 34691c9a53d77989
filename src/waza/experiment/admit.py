"""Admission: whether a collection is what its plan asked for. Only then does it decide anything."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from waza.errors import SuiteError
from waza.experiment.collection import PLAN, Collection, Key, latest, read_collection
from waza.experiment.ledger import LEDGER, LedgerLine, read_ledger
from waza.experiment.plan import ExperimentPlan, SealedPlan, read_plan
from waza.kit.text import pluralize
from waza.model.result import SuiteResult
from waza.problem import Problem, display_path
from waza.results.ending import came_to_its_end
from waza.results.invocation_lines import RUNS
from waza.results.journal_lines import RESULTS
from waza.results.treatment import NOT_MEASURED, treatment_of


def admit(directory: Path) -> tuple[SealedPlan, Collection]:
    """Return the plan and the collection in a directory. Raises SuiteError with every reason against admitting it."""
    sealed = read_plan(directory / PLAN)
    lines = read_ledger(directory / LEDGER, sealed.seal)
    found = read_collection(directory, sealed.plan, lines)
    places = {key: directory / RUNS / one.run / RESULTS for key, one in latest(lines).items()}
    problems = [
        _problem(places[key], path, message)
        for key, result in found.results.items()
        for path, message in _faults(sealed.plan, key, result)
    ]
    problems += [_problem(directory / LEDGER, "", message) for message in _incomplete(found, lines)]
    problems += [_problem(directory / LEDGER, "", message) for message in _unlike(found)]
    if problems:
        raise SuiteError(problems)
    return sealed, found


def _problem(path: Path, place: str, message: str) -> Problem:
    return Problem(code="evidence", file=display_path(path), path=place, message=message)


def _incomplete(found: Collection, lines: list[LedgerLine]) -> Iterator[str]:
    hint = "go on with `waza experiment collect --resume`"
    if wanted := found.wanted():
        yield f"{pluralize(len(wanted), 'run')} of the plan are missing, or have trials without a verdict; {hint}"
    elif not any(line.ended for line in lines):
        yield f"the collection has not ended; {hint}"


def _faults(plan: ExperimentPlan, key: Key, result: SuiteResult) -> Iterator[tuple[str, str]]:
    """Yield what of a run is not as planned: the place in its results file, and the fault."""
    number, name = key
    arm = plan.arm(name)
    if not came_to_its_end(result):
        yield "metadata.run_status", "the run did not come to its end"
    if result.metadata.get("waza_version") != plan.waza:
        yield "metadata.waza_version", f"the run is of another version of waza than the plan ({plan.waza})"
    if result.config.model_id != arm.model:
        yield (
            "config.model_id",
            f"the run is on another model than the plan has it ({arm.model or 'the default'})",
        )
    if result.config.engine_type != arm.executor:
        yield "config.engine_type", f"the run is on another executor than the plan has it ({arm.executor})"
    if datetime.fromisoformat(result.timestamp) < datetime.fromisoformat(plan.created):
        yield "timestamp", "the run began before the plan was written"
    if sorted(task.test_id for task in result.tasks) != sorted(plan.blocks[number].tasks):
        yield "tasks", "the tasks are not those of the plan"
    yield from _skill_faults(result, f"the {name}" if not arm.skills else "")
    for task in result.tasks:
        if task.cached:
            yield f"tasks.{task.test_id}", "the answers are from the cache, not fresh"


def _skill_faults(result: SuiteResult, without: str) -> Iterator[tuple[str, str]]:
    """Yield where the agent was not offered what the arm claims; `without` is the arm, if that is offered no skills."""
    if (treatment := treatment_of(result)) and treatment.contradiction:
        yield "tasks", f"{NOT_MEASURED}: {treatment.contradiction}"
    for task in result.tasks:
        if without and any(run.skill_invocations for run in task.runs):
            yield f"tasks.{task.test_id}", f"the agent invoked a skill, and {without} is offered none"


def _unlike(found: Collection) -> Iterator[str]:
    """Yield where the model that was served is not the same throughout."""
    served = {
        key: tuple(sorted(result.metadata.get("agent", {}).get("models_served") or ()))
        for key, result in found.results.items()
    }
    for name in ("baseline", "candidate"):
        own = {models for (_, arm), models in served.items() if arm == name and models}
        if len(own) > 1:
            listed = " and ".join(sorted(", ".join(models) for models in own))
            yield f"the {name} was served by different models in its runs: {listed}"
    every = {models for models in served.values() if models}
    if len(every) > 1 and "model" not in found.plan.allowed:
        yield "the two arms were served by different models, which --allow-change does not name"
