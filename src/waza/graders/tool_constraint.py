"""`tool_constraint`: tool calls that must happen, must not happen, or are the only ones allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from waza.graders.argument import Matcher, arguments, as_text, check_matchers, check_pattern, find_mismatch
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.pattern import compile_pattern
from waza.model.base import Keys, NonBlank
from waza.model.observation import Observation, ToolEvent
from waza.model.skill import allows
from waza.model.verdict import Helpers, Verdict


class ToolSpec(Keys, frozen=True, kw_only=True):
    """Calls of a tool, narrowed down by patterns (without regard to case) and matchers on arguments.

    Everything must hold on the same call. An argument that is an empty text counts as absent for a pattern.
    """

    strict_keys: ClassVar[bool] = True

    tool: NonBlank
    """The tool: a pattern (RE2, ignoring case) in `expect_tools` and `reject_tools`, a name in `allow_only`."""
    command_pattern: str = ""
    """A pattern (RE2, ignoring case) that is found in the argument `command`."""
    path_pattern: str = ""
    """A pattern (RE2, ignoring case) that is found in the argument `path`."""
    skill_pattern: str = ""
    """A pattern (RE2, ignoring case) that is found in the argument `skill`."""
    args: dict[str, Matcher] = {}
    """Matchers, by the name of the argument."""

    @property
    def patterns(self) -> dict[str, str]:
        """The patterns that are given, by the name of the argument they look at."""
        every = {"command": self.command_pattern, "path": self.path_pattern, "skill": self.skill_pattern}
        return {argument: pattern for argument, pattern in every.items() if pattern}

    @property
    def label(self) -> str:
        """The spec in few words, for people."""
        conditions = [f"{argument} ~ {pattern}" for argument, pattern in self.patterns.items()]
        conditions += [f"args.{name}" for name in sorted(self.args)]
        return f"{self.tool.strip()} ({', '.join(conditions)})" if conditions else self.tool.strip()

    def check(self, path: tuple[str | int, ...]) -> Iterator[ConfigMistake]:
        """Yield the patterns and matchers that cannot be used. The tool's name is not looked at."""
        for argument, pattern in self.patterns.items():
            yield from check_pattern(pattern, (*path, f"{argument}_pattern"))
        yield from check_matchers(self.args, (*path, "args"))

    def names(self, call: ToolEvent) -> bool:
        """Tell whether the call's tool matches `tool` as a pattern."""
        return compile_pattern(self.tool.strip(), ignore_case=True).search(call.tool_name)

    def allows(self, call: ToolEvent) -> bool:
        """Return whether `tool`, as a name with its aliases, means the call's tool, and all else holds."""
        return allows(self.tool, call.tool_name) and self.holds(call)

    def holds(self, call: ToolEvent) -> bool:
        """Tell whether the call's arguments satisfy all patterns and matchers."""
        given = arguments(call)
        for argument, pattern in self.patterns.items():
            text = as_text(given.get(argument))
            if not text or not compile_pattern(pattern, ignore_case=True).search(text):
                return False
        return not find_mismatch(self.args, call)


class ToolConstraint(Grader, frozen=True, kw_only=True):
    """What tool calls may and must look like.

    One check for each expected and each rejected spec, and with `allow_only` one for each call. In `expect_tools` and `reject_tools` the tool is a pattern (`bash` also means `bashful`; write `^bash$`
    for the one). In `allow_only` it is a name, with the aliases of built-in tools; an empty list allows none.
    """

    expect_tools: list[ToolSpec] = []
    """Calls of each of which there must be at least one."""
    reject_tools: list[ToolSpec] = []
    """Calls that must not be made."""
    allow_only: list[ToolSpec] | None = None
    """Calls that may be made; any other fails. An empty list allows none."""

    def required_capabilities(self) -> Mapping[str, str]:
        """Say that it judges by reported calls."""
        return {"tool_calls": ""}

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader that would check nothing, and patterns and matchers that cannot be used."""
        del location
        if not (self.expect_tools or self.reject_tools or self.allow_only is not None):
            yield ConfigMistake(
                message="checks nothing",
                hint="set expect_tools, reject_tools or allow_only ('allow_only: []' allows no call)",
            )
        for key in ("expect_tools", "reject_tools"):
            for index, spec in enumerate(getattr(self, key)):
                yield from check_pattern(spec.tool.strip(), (key, index, "tool"))
                yield from spec.check((key, index))
        for index, spec in enumerate(self.allow_only or []):
            yield from spec.check(("allow_only", index))

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare the calls of the session with the specs."""
        del helpers
        if not observation.has_session:
            return Verdict.failed("no session was recorded, so no tool call is known")
        calls = observation.tool_events
        missing = [spec.label for spec in self.expect_tools if not _any(spec, calls)]
        rejected = [spec.label for spec in self.reject_tools if _any(spec, calls)]
        strays = self._strays(observation)
        failures = [f"expected but not called: {label}" for label in missing]
        failures += [f"called but rejected: {label}" for label in rejected]
        failures += [f"not allowed: {name} ({count} of {len(calls)} calls)" for name, count in strays.items()]
        total = len(self.expect_tools) + len(self.reject_tools)
        if self.allow_only is not None:
            total += max(1, len(calls))
        failed = len(missing) + len(rejected) + strays.total()
        return Verdict(
            score=(total - failed) / total if total else 1.0,
            passed=not failed,
            feedback="; ".join(failures) or "all checks passed",
            details={**self._details(observation, strays), "failures": failures},
        )

    def _strays(self, observation: Observation) -> Counter[str]:
        """Count the calls that no entry of `allow_only` allows, by tool, in the order they were observation.

        A call that the agent's policy denied is never an allowed one, whatever its name looks like.
        """
        allowed = self.allow_only
        if allowed is None:
            return Counter()
        denied = {denial.tool for denial in observation.denials}
        return Counter(
            call.tool_name
            for call in observation.tool_events
            if call.tool_name in denied or not any(spec.allows(call) for spec in allowed)
        )

    def _details(self, observation: Observation, strays: Counter[str]) -> dict[str, Any]:
        details: dict[str, Any] = {
            "expect_tools": [spec.label for spec in self.expect_tools],
            "reject_tools": [spec.label for spec in self.reject_tools],
            "tools_used": observation.tools_used,
        }
        if self.allow_only is not None:
            details["allow_only"] = [spec.label for spec in self.allow_only]
            details["allow_only_declared"] = True
            details["allow_only_violations"] = list(strays)
        if observation.usage is not None:
            details["tokens_total"] = observation.tokens
            details["total_turns"] = observation.usage.turns
        return details


def _any(spec: ToolSpec, calls: tuple[ToolEvent, ...]) -> bool:
    return any(spec.names(call) and spec.holds(call) for call in calls)
