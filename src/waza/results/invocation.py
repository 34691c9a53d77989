"""Invocation: all results of one call of the program, with what was to run and did not."""

from __future__ import annotations

import msgspec

from waza.model.result import SuiteResult
from waza.results.outcome import Outcome
from waza.results.verdict import NotStarted, RunVerdict, overall


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What one call of the program did: an outcome for each suite and model that ran, and those that did not."""

    outcomes: tuple[Outcome, ...]
    not_started: tuple[NotStarted, ...] = ()

    @property
    def verdict(self) -> RunVerdict:
        """The verdict over all of it."""
        named = [(name_of(outcome.head), outcome.verdict) for outcome in self.outcomes]
        return overall(named, self.not_started)


def name_of(head: SuiteResult) -> str:
    """Return what tells the results of one suite and model apart from the others."""
    name, model = head.skill or head.eval_name, head.config.model_id
    return f"{name} on {model}" if model else name
