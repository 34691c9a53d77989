"""Collecting what a plan asks for: fresh runs of both arms, block by block, in the order of the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from waza.engine.cancellation import Cancellation
from waza.engine.run import RunOptions
from waza.engine.run_all import run_one
from waza.errors import UsageError, WazaError
from waza.experiment.arms import LoadedArm
from waza.experiment.collection import PLAN, Collection, Key, digest_of, read_collection
from waza.experiment.ledger import LEDGER, Collected, Ended, Ledger, LedgerLine, Started, open_ledger
from waza.experiment.plan import ArmName, ExperimentPlan, SealedPlan, differing_parts
from waza.kit.files import write_atomic
from waza.kit.text import pluralize
from waza.model.event import RunEvent, Warned
from waza.model.loaded import Project
from waza.model.result import SuiteResult
from waza.results.ending import came_to_its_end
from waza.results.journal_lines import JOURNAL
from waza.results.read import load
from waza.version import __version__

Say = Callable[[str], None]


def check_arms(sealed: SealedPlan, arms: Mapping[ArmName, LoadedArm]) -> None:
    """Raise UsageError where an arm, or waza, is not as the plan has it."""
    if sealed.plan.waza != __version__:
        raise UsageError(f"the plan is of waza {sealed.plan.waza}, this is {__version__}; write a new plan")
    for name, arm in arms.items():
        if changed := differing_parts(sealed.plan.arm(name), arm.plan):
            raise UsageError(
                f"the {name} changed since the plan was sealed ({', '.join(changed)}); change it back, or write a new plan"
            )


def prepare(directory: Path, text: bytes, *, resume: bool) -> None:
    """Make the directory of a collection with a copy of its plan. Raises UsageError where another one is there."""
    copy = directory / PLAN
    if resume:
        if not copy.is_file():
            raise UsageError(f"there is no collection in {directory} to go on with; leave --resume out")
        if copy.read_bytes() != text:
            raise UsageError(
                f"{directory} is the collection of another plan; name its plan, or another directory"
            )
    elif directory.exists():
        raise UsageError(f"{directory} exists; go on with --resume, or name a new directory")
    else:
        directory.mkdir(parents=True)
        write_atomic(copy, text)


async def collect(
    sealed: SealedPlan, arms: Mapping[ArmName, LoadedArm], directory: Path, project: Project, say: Say
) -> int | None:
    """Run what is still wanted; return the exit code of the signal that interrupted it, else None.

    Raises WazaError where a run did not come to its end, and SuiteError where what is there was changed.
    """
    ledger = open_ledger(directory / LEDGER, sealed.seal)
    try:
        return await _Collector(sealed.plan, arms, directory, project, say, ledger).collect()
    finally:
        ledger.close()


class _Collector:
    """A collection while it goes on."""

    def __init__(
        self,
        plan: ExperimentPlan,
        arms: Mapping[ArmName, LoadedArm],
        directory: Path,
        project: Project,
        say: Say,
        ledger: Ledger,
    ) -> None:
        self.plan, self.arms, self.directory, self.say, self.ledger = plan, arms, directory, say, ledger
        self.project = msgspec.structs.replace(project, directory=directory)
        self.cancellation = Cancellation()

    async def collect(self) -> int | None:
        found = read_collection(self.directory, self.plan, self.ledger.lines)
        tried = set[Key]()
        while wanted := [key for key in found.wanted() if key not in tried]:
            key = wanted[0]
            tried.add(key)
            result = await self._run(key)
            if result is None:
                return self.cancellation.exit_code
            found = Collection(self.plan, {**found.results, key: result})
        if broken := found.wanted():
            raise WazaError(
                f"{pluralize(len(broken), 'run')} with trials that have no verdict; go on with --resume to repeat them"
            )
        if not any(line.ended for line in self.ledger.lines):
            early = self.plan.rule.kind == "sequential" and found.ruling.outcome != "inconclusive"
            self.ledger.append(
                LedgerLine(ended=Ended(why="the rule decided" if early else "all is collected"))
            )
        return None

    async def _run(self, key: Key) -> SuiteResult | None:
        """Run an arm of a block, or go on with it; return its results, or None where a signal ended it."""
        number, name = key
        block, arm = self.plan.blocks[number], self.arms[name]
        self.say(f"block {number + 1} of {len(self.plan.blocks)}, {name}: {', '.join(block.tasks)}")
        earlier = [
            one.invocation
            for line in self.ledger.lines
            if (one := line.started) and (one.block, one.arm) == key
        ]
        options = RunOptions(
            project=self.project,
            resume=earlier[-1] if earlier else None,
            repeat="errors" if earlier else "outside",
        )
        done = await run_one(
            arm.only(block.tasks),
            arm.model,
            options,
            self._show,
            self.cancellation,
            partial(self._started, key),
        )
        with closing(done.run_directory):
            saved = done.run_directory.saved
            if done.interrupted is not None:
                return None
            run = done.run_directory.id
        if saved is None or not came_to_its_end(done.outcome.head):
            raise WazaError(f"{run} did not come to its end; go on with --resume")
        collected = Collected(
            block=number,
            arm=name,
            run=run,
            results=digest_of(saved),
            journal=digest_of(saved.with_name(JOURNAL)),
        )
        self.ledger.append(LedgerLine(collected=collected))
        return load(saved)[0]

    def _started(self, key: Key, invocation: str) -> None:
        if not any(one.invocation == invocation for line in self.ledger.lines if (one := line.started)):
            self.ledger.append(LedgerLine(started=Started(block=key[0], arm=key[1], invocation=invocation)))

    def _show(self, event: RunEvent) -> None:
        if isinstance(event, Warned):
            self.say(event.message)
