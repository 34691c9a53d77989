"""`tool_calls`: which tools were called, how often, and with which arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from waza.graders.argument import Matcher, check_matchers, check_pattern, find_mismatch
from waza.graders.base import ConfigMistake, ExactName, Grader, GraderLocation, list_exact_names
from waza.kit.pattern import compile_pattern
from waza.model.base import Keys, NonBlank, NonNegative
from waza.model.observation import Observation, ToolEvent
from waza.model.verdict import Helpers, Verdict


class ExpectedCall(Keys, frozen=True, kw_only=True, omit_defaults=True):
    """A call that is expected once at least: `tool` is a pattern, without regard to case, `args` are matchers."""

    strict_keys: ClassVar[bool] = True

    tool: NonBlank
    """A pattern (RE2) that is found in the name of the tool, ignoring case."""
    args: dict[str, Matcher] = {}
    """Matchers, by the name of the argument. All must hold on the same call."""


class ToolCalls(Grader, frozen=True, kw_only=True):
    """The tool calls of the agent: which, how many, and with which arguments.

    One check for each listed tool, each bound and each expected call. The bounds are inclusive. An expected call shows that such a call was made, not that all are such.
    """

    required_tools: list[NonBlank] = []
    """Tools that must be called at least once, by their exact names."""
    forbidden_tools: list[NonBlank] = []
    """Tools that must not be called, by their exact names."""
    min_calls: NonNegative | None = None
    """Tool calls at least."""
    max_calls: NonNegative | None = None
    """Tool calls at most. 0 allows none."""
    expect: list[ExpectedCall] = []
    """Calls of each of which there must be at least one."""

    def required_capabilities(self) -> Mapping[str, str]:
        """Say that it judges by reported calls."""
        return {"tool_calls": ""}

    def exact_names(self) -> Iterator[ExactName]:
        """Say which names are compared letter by letter."""
        return list_exact_names(
            "tool", required_tools=self.required_tools, forbidden_tools=self.forbidden_tools
        )

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader that would check nothing, bounds that exclude each other, unusable patterns."""
        del location
        lists = self.required_tools or self.forbidden_tools or self.expect
        if not (lists or self.min_calls or self.max_calls is not None):
            yield ConfigMistake(
                message="checks nothing",
                hint="set required_tools, forbidden_tools, min_calls, max_calls or expect",
            )
        if self.max_calls is not None and (self.min_calls or 0) > self.max_calls:
            yield ConfigMistake(
                path=("min_calls",), message=f"is {self.min_calls}, more than max_calls {self.max_calls}"
            )
        for index, expected in enumerate(self.expect):
            yield from check_pattern(expected.tool, ("expect", index, "tool"))
            yield from check_matchers(expected.args, ("expect", index, "args"))

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare the calls of the session with the config."""
        del helpers
        if not observation.has_session:
            return Verdict.failed("no session was recorded, so no tool call is known")
        found = [_search(expected, observation.tool_events) for expected in self.expect]
        failures = [
            *self._name_failures(observation.tools_used),
            *self._bound_failures(len(observation.tool_events)),
            *(f"expected call of {row['tool']!r}: {row['reason']}" for row in found if "reason" in row),
        ]
        bounds = (self.min_calls is not None) + (self.max_calls is not None)
        checks = len(self.required_tools) + len(self.forbidden_tools) + bounds + len(self.expect)
        details = {
            "total_calls": len(observation.tool_events),
            "unique_tools": sorted(set(observation.tools_used)),
            "passed_checks": checks - len(failures),
            "total_checks": checks,
            "expect": found,
        }
        return Verdict.of_checks(checks, failures, details)

    def _name_failures(self, used: list[str]) -> Iterator[str]:
        names = set(used)
        for tool in self.required_tools:
            if tool not in names:
                yield f"required tool {tool!r} was not used"
        for tool in self.forbidden_tools:
            if tool in names:
                yield f"forbidden tool {tool!r} was used"

    def _bound_failures(self, calls: int) -> Iterator[str]:
        if self.min_calls is not None and calls < self.min_calls:
            yield f"{calls} tool calls, at least {self.min_calls} expected"
        if self.max_calls is not None and calls > self.max_calls:
            yield f"{calls} tool calls, at most {self.max_calls} allowed"


def _search(expected: ExpectedCall, calls: tuple[ToolEvent, ...]) -> dict[str, Any]:
    """Return the row of `details.expect`: the call that was found, or the reason why no call was found."""
    row: dict[str, Any] = msgspec.to_builtins(expected)
    pattern = compile_pattern(expected.tool, ignore_case=True)
    reason = "no call with that name"
    for index, call in enumerate(calls):
        if not pattern.search(call.tool_name):
            continue
        reason = find_mismatch(expected.args, call)
        if not reason:
            return {
                **row,
                "matched_call_index": call.sequence - 1,
                "matched_tool_event_index": index,
                "matched_call_id": call.tool_call_id,
            }
    return {**row, "reason": reason}
