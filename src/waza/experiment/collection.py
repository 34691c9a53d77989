"""What was collected so far: measured tasks by block and arm, what the rule says of them, and what is still wanted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.experiment.ledger import Collected, LedgerLine
from waza.experiment.plan import ARMS, ArmName, ExperimentPlan
from waza.experiment.rules import Ruling, rule_on
from waza.kit.os_errors import describe_os_error
from waza.model.result import SuiteResult
from waza.problem import Problem, display_path
from waza.results.comparison.measured import MeasuredTask, measure
from waza.results.comparison.pairs import pair_tasks
from waza.results.invocation_lines import RUNS
from waza.results.journal_lines import JOURNAL, RESULTS
from waza.results.read import load

PLAN = "plan.json"
Key = tuple[int, ArmName]


class Collection(msgspec.Struct, frozen=True):
    """The results of the plan so far, by block (counted from 0) and arm."""

    plan: ExperimentPlan
    results: dict[Key, SuiteResult]

    def measured(self, arm: ArmName) -> list[MeasuredTask]:
        """Return what was measured in an arm, block by block."""
        return [
            task for block in range(len(self.plan.blocks)) if (block, arm) in self.results
            for task in measure(self.results[block, arm].tasks)
        ]  # fmt: skip

    def is_measured(self, key: Key) -> bool:
        """Return whether every trial of an arm of a block has a verdict."""
        result = self.results.get(key)
        if result is None:
            return False
        done = {
            task.test_id: [run.status in ("passed", "failed") for run in task.runs] for task in result.tasks
        }
        wanted = self.plan.blocks[key[0]].tasks
        return all(len(done.get(task, ())) == self.plan.trials and all(done[task]) for task in wanted)

    @property
    def ruling(self) -> Ruling:
        """What the rule says of the blocks from the first to the last before one that is not whole."""
        units = list[list[float]]()
        for number in range(len(self.plan.blocks)):
            if not all(self.is_measured((number, arm)) for arm in ARMS):
                break
            a, b = (measure(self.results[number, arm].tasks) for arm in ARMS)
            units.append(pair_tasks(a, b, "score").differences)
        if self.plan.rule.kind == "fixed" and len(units) < len(self.plan.blocks):
            return Ruling(outcome="inconclusive", units=len(units), evidence={})
        return rule_on(self.plan.rule, units)

    def wanted(self) -> list[Key]:
        """Return what is still to be collected, in order: of blocks after the decision, those with golden tasks."""
        ruling = self.ruling
        last = ruling.units if ruling.outcome != "inconclusive" else len(self.plan.blocks)
        golden = set(self.plan.golden)
        return [
            (number, arm)
            for number, block in enumerate(self.plan.blocks)
            if number < last or golden & set(block.tasks)
            for arm in block.order
            if not self.is_measured((number, arm))
        ]

    def golden_failures(self) -> list[str]:
        """Return the golden tasks that the candidate has not passed."""
        passed = {
            task.test_id
            for (_, arm), result in self.results.items()
            if arm == "candidate"
            for task in result.tasks
            if task.status == "passed"
        }
        return [task for task in self.plan.golden if task not in passed]


def read_collection(directory: Path, plan: ExperimentPlan, lines: Iterable[LedgerLine]) -> Collection:
    """Return the results that a ledger names. Raises SuiteError for each file that is not as it was collected."""
    problems = list[Problem]()
    results = dict[Key, SuiteResult]()
    for key, one in latest(lines).items():
        run = directory / RUNS / one.run
        changed = [*_changed(run / RESULTS, one.results), *_changed(run / JOURNAL, one.journal)]
        problems += changed
        if not changed:
            results[key] = load(run / RESULTS)[0]
    if problems:
        raise SuiteError(problems)
    return Collection(plan, results)


def latest(lines: Iterable[LedgerLine]) -> dict[Key, Collected]:
    """Return the last record of each arm of each block."""
    return {(one.block, one.arm): one for line in lines if (one := line.collected)}


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, as hex. Raises OSError."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _changed(path: Path, digest: str) -> list[Problem]:
    try:
        message = "" if digest_of(path) == digest else "is not as it was collected"
    except OSError as error:
        message = f"cannot be read: {describe_os_error(error)}"
    hint = "get an unchanged copy, or collect again"
    return [Problem(code="evidence", file=display_path(path), message=message, hint=hint)] if message else []
