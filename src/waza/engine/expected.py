"""`expected`: the checks of a task that need no declared grader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from waza.graders.behavior import Behavior, capabilities_for_limits
from waza.kit.text import fold_case
from waza.model.capabilities import Capabilities
from waza.model.mock import MockScript
from waza.model.observation import MESSAGE, Observation
from waza.model.task import ExpectedBehavior, Task
from waza.model.verdict import Helpers, Verdict


class AgentFacts:
    """What can be observed of an agent: that it acts, and which skills it invokes. A scripted one: what its script has."""

    def __init__(
        self,
        capabilities: Capabilities,
        script: MockScript | None,
        unseen: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        scripted = capabilities.scripted
        self.unseen = unseen  # why something is not known, by its capability
        self.acts = bool(script and script.acts) if scripted else True  # what cannot be seen was refused
        self.skills = bool(script and script.lists_skills) if scripted else capabilities.tool_calls


def expected_checks(
    task: Task, observation: Observation, facts: AgentFacts, *, skill: str, enforce: bool, body_injected: bool
) -> Iterator[tuple[str, str, Verdict]]:
    """Yield name, type and verdict of each check. The text checks ignore case.

    `skill` is the name of the one under test, by which invocations are reported; `enforce` is `config.enforce_expected`. An injected skill body needs no invocation, so
    `should_trigger` is only checked without it. A `behavior` without any limit is no check.
    """
    expected, output = task.expected, fold_case(observation.output)
    if expected.output_contains:
        missing = [text for text in expected.output_contains if fold_case(text) not in output]
        notes = [f"the output does not contain {text!r}" for text in missing]
        yield (
            "_output_contains",
            "text",
            Verdict.of_checks(len(expected.output_contains), notes, {"contains": expected.output_contains}),
        )
    if expected.output_not_contains:
        found = [text for text in expected.output_not_contains if fold_case(text) in output]
        notes = [f"the output contains {text!r}" for text in found]
        yield (
            "_output_not_contains",
            "text",
            Verdict.of_checks(
                len(expected.output_not_contains), notes, {"not_contains": expected.output_not_contains}
            ),
        )
    if expected.output_contains_any:
        hit = any(fold_case(text) in output for text in expected.output_contains_any)
        notes = [] if hit else [f"the output contains none of {expected.output_contains_any}"]
        yield "_output_contains_any", "text", Verdict.of_checks(1, notes, {})
    if enforce and expected.behavior and facts.acts and expected.behavior.checks:
        verdict = _refuse(capabilities_for_limits(expected.behavior), facts)
        yield "_behavior", "behavior", verdict or _behavior(expected.behavior, observation)
    if enforce and expected.should_trigger is not None and facts.skills and not body_injected and skill:
        yield (
            "_should_trigger",
            "skill_invocation",
            _refuse({"tool_calls": ""}, facts)
            or _should_trigger(skill, observation, wanted=expected.should_trigger),
        )


def _refuse(needed: Mapping[str, str], facts: AgentFacts) -> Verdict | None:
    """Return the verdict of a check that looks at what is not known, or None."""
    reasons = [f"{key}: {facts.unseen[one]}" for one, key in needed.items() if one in facts.unseen]
    return Verdict.errored("; ".join(reasons)) if reasons else None


def _behavior(limits: ExpectedBehavior, observation: Observation) -> Verdict:
    grader = Behavior(
        max_tool_calls=limits.max_tool_calls,
        max_tokens=limits.max_tokens,
        max_duration_ms=limits.max_response_time_ms,
        required_tools=limits.required_tools,
        forbidden_tools=limits.forbidden_tools,
    )
    verdict = grader.grade(observation, Helpers())
    if not (limits.max_iterations and observation.has_session):
        return verdict
    messages = sum(event.type == MESSAGE for event in observation.transcript)
    failures = list(verdict.details["failures"])
    if messages > limits.max_iterations:
        failures.append(f"{messages} assistant messages, at most {limits.max_iterations} allowed")
    details = {**verdict.details, "max_iterations": limits.max_iterations, "iterations": messages}
    return Verdict.of_checks(limits.checks, failures, details)


def _should_trigger(name: str, observation: Observation, *, wanted: bool) -> Verdict:
    fired = any(skill.name == name for skill in observation.skill_invocations)
    word = "was" if fired else "was not"
    notes = [] if fired == wanted else [f"the skill {name!r} {word} invoked"]
    return Verdict.of_checks(1, notes, {"skill": name, "should_trigger": wanted})
