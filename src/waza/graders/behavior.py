"""`behavior`: limits on how many calls, tokens and milliseconds the agent may take, and on its tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from waza.graders.base import ConfigMistake, ExactName, Grader, GraderLocation, list_exact_names
from waza.model.base import NonBlank, NonNegative
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

# What to say of a limit that looks as if it allowed nothing.
NO_LIMIT = ("0 is no limit", "to allow no tool at all, use a tool_constraint grader with allow_only: []")
_NEEDS = {
    "max_tool_calls": "tool_calls",
    "required_tools": "tool_calls",
    "forbidden_tools": "tool_calls",
    "max_tokens": "usage",
    "max_duration_ms": "duration",
    "max_response_time_ms": "duration",
}


def capabilities_for_limits(limits: msgspec.Struct) -> dict[str, str]:
    """Return the capabilities that limits on behaviour look at, each with the key of one that does.

    Those of the grader and of `expected.behavior` are the same but for the time.
    """
    return {capability: key for key, capability in _NEEDS.items() if getattr(limits, key, None)}


class Behavior(Grader, frozen=True, kw_only=True):
    """Limits on what the agent did: one check for each limit that is set and for each tool that is listed.

    Limits are inclusive.
    """

    max_tool_calls: NonNegative | None = None
    """Tool calls at most. 0: no limit."""
    max_tokens: NonNegative = 0
    """Input and output tokens at most. 0: no limit. Without reported usage the check passes."""
    max_duration_ms: NonNegative = 0
    """Milliseconds that the agent may work, over all turns. 0: no limit."""
    required_tools: list[NonBlank] = []
    """Tools that must be called at least once, by their exact names."""
    forbidden_tools: list[NonBlank] = []
    """Tools that must not be called, by their exact names."""

    def required_capabilities(self) -> Mapping[str, str]:
        """Say which limits look at reported calls, tokens and times."""
        return capabilities_for_limits(self)

    def exact_names(self) -> Iterator[ExactName]:
        """Say which names are compared letter by letter."""
        return list_exact_names(
            "tool", required_tools=self.required_tools, forbidden_tools=self.forbidden_tools
        )

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader that would check nothing."""
        del location
        if not (
            self.max_tool_calls
            or self.max_tokens
            or self.max_duration_ms
            or self.required_tools
            or self.forbidden_tools
        ):
            yield ConfigMistake(
                message="checks nothing",
                hint="set max_tool_calls, max_tokens, max_duration_ms, required_tools or forbidden_tools",
            )
        elif self.max_tool_calls == 0:
            message, hint = NO_LIMIT
            yield ConfigMistake(path=("max_tool_calls",), message=message, hint=hint, warning=True)

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare what the agent did with the limits."""
        del helpers
        if not observation.has_session:
            return Verdict.failed("no session was recorded, so nothing can be counted")
        used, tokens = observation.tools_used, observation.tokens
        limits = [
            ("tool calls", len(used), self.max_tool_calls),
            ("tokens", tokens or 0, self.max_tokens),
            ("ms", observation.duration_ms, self.max_duration_ms),
        ]
        failures = [
            f"{n} {what}, at most {limit} allowed" for what, n, limit in limits if limit and n > limit
        ]
        failures += [
            f"required tool {tool!r} was not used" for tool in self.required_tools if tool not in used
        ]
        failures += [f"forbidden tool {tool!r} was used" for tool in self.forbidden_tools if tool in used]
        enabled = sum(1 for _, _, limit in limits if limit)
        details = {
            **msgspec.structs.asdict(self),
            "max_tool_calls": self.max_tool_calls or 0,
            "tool_call_count": len(used),
            "tools_used": used,
            "actual_duration": observation.duration_ms,
            **({} if tokens is None else {"tokens_total": tokens}),
        }
        checks = enabled + len(self.required_tools) + len(self.forbidden_tools)
        return Verdict.of_checks(checks, failures, details)
