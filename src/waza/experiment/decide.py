"""The decision on an admitted collection, by the rule of its plan."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import EXIT_FAILED, EXIT_OK, EXIT_UNDECIDED
from waza.experiment.admit import admit
from waza.experiment.plan import ArmName
from waza.experiment.rules import CONDITIONS, Outcome, Rule, Ruling
from waza.results.comparison.comparison import Comparison
from waza.results.comparison.conclude import Measured, compare_measured
from waza.results.treatment import Treatment, treatment_of

EXIT_CODES: dict[Outcome, int] = {"pass": EXIT_OK, "fail": EXIT_FAILED, "inconclusive": EXIT_UNDECIDED}


class ExperimentDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What an experiment comes to. `outcome` is what the rule says, unless a golden task failed."""

    outcome: Outcome
    reason: str
    """Why, in a sentence."""
    plan: str
    """The seal of the plan."""
    ruling: Ruling
    """What the rule says."""
    golden_failures: list[str]
    """Golden tasks that the candidate did not pass."""
    conditions: str
    """Under which the error rate of the rule holds."""
    comparison: Comparison
    """The candidate against the baseline, by all that was collected; it decides nothing."""
    treatment: Treatment | None
    """Whether the arms were what they claim, as far as their trials show it; null where no skill is under test."""

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 inconclusive."""
        return EXIT_CODES[self.outcome]


def decide(directory: Path) -> ExperimentDecision:
    """Decide on the collection in a directory. Raises SuiteError with every reason why it is not admitted."""
    sealed, found = admit(directory)
    ruling, failures = found.ruling, found.golden_failures()
    a, b = (Measured(_shown(name), found.measured(name)) for name in ("baseline", "candidate"))
    outcome: Outcome = "fail" if failures else ruling.outcome
    return ExperimentDecision(
        outcome=outcome,
        reason=f"golden tasks did not pass: {', '.join(failures)}"
        if failures
        else _reason(sealed.plan.rule, ruling),
        plan=sealed.seal,
        ruling=ruling,
        golden_failures=failures,
        conditions=CONDITIONS[sealed.plan.rule.kind],
        comparison=compare_measured([(a, b)])[0],
        treatment=treatment_of(*found.results.values()),
    )


def _shown(name: ArmName) -> str:
    return f"the {name}"


def _reason(rule: Rule, ruling: Ruling) -> str:
    shown = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in ruling.evidence.items())
    tolerant = rule.tolerated_loss > 0
    words = {
        "pass": "the candidate is not worse than the plan tolerates"
        if tolerant
        else "the candidate is better",
        "fail": "the candidate is worse than the plan tolerates" if tolerant else "the candidate is worse",
        "inconclusive": "the rule cannot tell",
    }
    return f"{words[ruling.outcome]} ({ruling.units} units; {shown})"
