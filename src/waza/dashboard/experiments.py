"""Experiments below the root: their plans, how far they are, and what they come to."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.dashboard.catalogue import Catalogue
from waza.dashboard.file_cache import FileCache
from waza.dashboard.pages import ArmPage, ExperimentPage, ReleaseCollection
from waza.dashboard.run_pages import named_values
from waza.errors import WazaError
from waza.experiment.collection import PLAN, read_collection
from waza.experiment.decide import decide
from waza.experiment.ledger import LEDGER, read_ledger
from waza.experiment.plan import ARMS, ExperimentPlan, PlannedArm, read_plan
from waza.kit.os_errors import describe_error
from waza.results.invocation_lines import RUNS
from waza.results.journal_lines import JOURNAL, RESULTS


class Experiments:
    """The experiments below the root; each is read again only when its plan, its ledger or its runs have changed."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._known = FileCache[ExperimentPage]()

    def pages(self) -> list[ExperimentPage]:
        """Return all experiments, the newest first."""
        with self._lock:
            found = [self._page(path) for path in self._catalogue.files("plan")]
        return sorted(found, key=lambda one: one.created, reverse=True)

    def collections(self) -> list[ReleaseCollection]:
        """Return the same in short."""
        return [
            ReleaseCollection(
                path=one.path,
                decision=one.outcome,
                error=one.error or ("" if one.outcome else "it is not collected as a whole yet"),
            )
            for one in self.pages()
        ]

    def _page(self, path: Path) -> ExperimentPage:
        folder = path.parent
        runs = sorted((folder / RUNS).glob("*")) if path.name == PLAN else ()
        others = [folder / LEDGER, *(run / name for run in runs for name in (JOURNAL, RESULTS))]
        try:
            return self._known.get(path, lambda: _make(self._catalogue.name(folder), path), others)
        except (WazaError, OSError) as error:
            return _broken(self._catalogue.name(path), error)


def _broken(path: str, error: Exception) -> ExperimentPage:
    return ExperimentPage(
        path=path,
        created="",
        baseline=None,
        candidate=None,
        rule=[],
        allowed=[],
        runs_planned=0,
        runs_collected=0,
        runs_wanted=0,
        outcome=None,
        reason="",
        comparison="",
        golden_failures=[],
        error=describe_error(error),
    )


def _make(name: str, path: Path) -> ExperimentPage:
    sealed = read_plan(path)
    plan = sealed.plan
    page = msgspec.structs.replace(
        _broken(name, WazaError()),
        created=plan.created,
        baseline=_arm(plan.baseline),
        candidate=_arm(plan.candidate),
        rule=named_values(_rule(plan)),
        allowed=plan.allowed,
        runs_planned=len(plan.blocks) * len(ARMS),
        runs_wanted=len(plan.blocks) * len(ARMS),
    )
    directory = path.parent
    if path.name != PLAN or not (directory / LEDGER).is_file():
        return page
    try:
        found = read_collection(directory, plan, read_ledger(directory / LEDGER, sealed.seal))
        wanted = len(found.wanted())
        page = msgspec.structs.replace(page, runs_collected=len(found.results), runs_wanted=wanted)
        if wanted:
            return page
        decision = decide(directory)
    except WazaError as error:
        return msgspec.structs.replace(page, error=str(error))
    return msgspec.structs.replace(
        page,
        outcome=decision.outcome,
        reason=decision.reason,
        comparison=decision.comparison.sentence,
        golden_failures=decision.golden_failures,
    )


def _arm(arm: PlannedArm) -> ArmPage:
    return ArmPage(suite=arm.suite, model=arm.model, engine=arm.executor, without_skills=arm.without_skills)


def _rule(plan: ExperimentPlan) -> Sequence[tuple[str, str]]:
    rule = plan.rule
    tasks = sum(len(block.tasks) for block in plan.blocks)
    return [
        ("Rule", rule.kind),
        ("Alpha", f"{rule.alpha:g}"),
        ("Tolerated loss", f"{rule.tolerated_loss:g}"),
        ("Tasks", str(tasks)),
        ("Blocks", str(len(plan.blocks))),
        ("Trials", str(plan.trials)),
        ("Golden tasks", ", ".join(plan.golden) or "none"),
        ("Written by", f"waza {plan.waza}"),
    ]
