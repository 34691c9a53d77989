"""`action_sequence`: whether the agent called the expected tools, in the expected order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import msgspec

from waza.graders.base import ExactName, Grader, list_exact_names
from waza.kit.stats import f1
from waza.model.base import NonBlank
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


class ActionSequence(Grader, frozen=True, kw_only=True):
    """The names of the tools that the agent called, in order. Passed by the mode, scored by F1.

    The score does not depend on the mode.
    """

    matching_mode: Literal["exact_match", "in_order_match", "any_order_match"]
    """`exact_match`: these calls and no others, in this order. `in_order_match`: in this order, others may be
    between. `any_order_match`: each at least as often as it is listed."""
    expected_actions: Annotated[list[NonBlank], msgspec.Meta(min_length=1)]
    """Exact names of tools. A name may be listed several times."""

    def required_capabilities(self) -> Mapping[str, str]:
        """Say that it judges by reported calls."""
        return {"tool_calls": ""}

    def exact_names(self) -> Iterator[ExactName]:
        """Say which names are compared letter by letter."""
        return list_exact_names("tool", expected_actions=self.expected_actions)

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare the calls of the session with the expected actions."""
        del helpers
        if not observation.has_session:
            return Verdict.failed("no session was recorded, so no action is known")
        actual = observation.tools_used
        precision, recall, score = f1(self.expected_actions, actual)
        fault = sequence_mismatch(self.matching_mode.removesuffix("_match"), self.expected_actions, actual)
        return Verdict(
            score=score,
            passed=not fault,
            feedback=fault or f"the actions match ({self.matching_mode})",
            details={
                "matching_mode": self.matching_mode,
                "expected_actions": self.expected_actions,
                "actual_actions": actual,
                "precision": precision,
                "recall": recall,
                "f1": score,
            },
        )


def sequence_mismatch(mode: str, expected: Sequence[str], actual: Sequence[str]) -> str:
    """Return why `actual` is not what `mode` (exact, in_order, any_order) wants, or an empty text."""
    short = Counter(expected) - Counter(actual)
    if short:
        missing = [name if count == 1 else f"{name} ({count} times)" for name, count in short.items()]
        return f"missing: {', '.join(missing)}"
    if mode == "in_order":
        return _order_fault(expected, actual)
    if mode == "exact" and list(expected) != list(actual):
        return _exact_fault(expected, actual)
    return ""


def _order_fault(expected: Sequence[str], actual: Sequence[str]) -> str:
    rest = iter(actual)
    for number, name in enumerate(expected, 1):
        if name not in rest:  # looking for a name uses the iterator up to it
            return f"out of order: no {name!r} (number {number} of those expected) after those before it"
    return ""


def _exact_fault(expected: Sequence[str], actual: Sequence[str]) -> str:
    # Nothing is missing here, so `actual` differs somewhere or goes on longer.
    number = next(
        (i for i, (want, got) in enumerate(zip(expected, actual, strict=False)) if want != got), len(expected)
    )
    wanted = repr(expected[number]) if number < len(expected) else "no more"
    return f"number {number + 1} is {actual[number]!r}, expected {wanted}"
