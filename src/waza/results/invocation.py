"""Invocation: all results of one call of the program, with what was to run and did not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from waza.model.result import SuiteResult
from waza.results.ending import WITHOUT_SUITE
from waza.results.outcome import Outcome
from waza.results.verdict import NotStarted, RunVerdict, overall_verdict, run_name

INVOCATION = "invocation"  # the key in the metadata of results files


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A suite that was found and, by what was asked for, not run."""

    skill: str
    """The suite, by its skill if it has one."""
    why: str
    """Why: what was asked for, and that nothing of it was run."""


class InvocationResults(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of `waza run` did."""

    outcomes: tuple[Outcome, ...]
    """The results of each suite and model that ran, in their order."""
    skills: tuple[str, ...] = ()
    """What the suites of the outcomes were found by; empty: they are called what they call themselves."""
    not_started: tuple[NotStarted, ...] = ()
    """What was to run and did not. None of it passed."""
    without_suite: tuple[str, ...] = ()
    """Skills that were found and have no suite. They keep nothing from passing."""
    left_out: tuple[LeftOut, ...] = ()
    """Suites that were found and, by what was asked for, not run. They keep nothing from passing."""

    @property
    def named(self) -> list[tuple[str, Outcome]]:
        """Each outcome with what tells it apart from the others: skill and model, and the suite where a skill has several."""
        results = [outcome.head for outcome in self.outcomes]
        skills = self.skills or [suite_name(result) for result in results]
        suites = {(skill, result.eval_name) for skill, result in zip(skills, results, strict=True)}
        count = Counter(skill for skill, _ in suites)
        names = [
            run_name(f"{skill} ({result.eval_name})" if count[skill] > 1 else skill, result.config.model_id)
            for skill, result in zip(skills, results, strict=True)
        ]
        return list(zip(names, self.outcomes, strict=True))

    @property
    def single(self) -> bool:
        """Whether one outcome is all that there is to tell."""
        return len(self.outcomes) == 1 and not (self.not_started or self.without_suite or self.left_out)

    @property
    def verdict(self) -> RunVerdict:
        """The verdict over all of it."""
        return overall_verdict(
            [(name, outcome.verdict) for name, outcome in self.named],
            self.not_started,
            [
                *((name, WITHOUT_SUITE) for name in self.without_suite),
                *((one.skill, one.why) for one in self.left_out),
            ],
        )

    def as_metadata(self) -> dict[str, Any]:
        """Return it as `metadata.invocation` of results files: the verdict over all of it, and what did not run."""
        found = {
            "verdict": self.verdict,
            "not_started": [
                {"skill": one.skill, "model": one.model, "why": one.why} for one in self.not_started
            ],
            "without_suite": self.without_suite,
            "left_out": self.left_out,
        }
        return {key: msgspec.to_builtins(value) for key, value in found.items() if value}


def suite_name(head: SuiteResult) -> str:
    """Return what a suite is called: after its skill, if it has one."""
    return head.skill or head.eval_name
