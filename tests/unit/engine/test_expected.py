"""The checks under `expected`: which of them apply to an agent, and when they pass."""

from pathlib import Path
from typing import Any

import pytest

from waza.engine.expected import AgentFacts, expected_checks
from waza.model.capabilities import Capabilities
from waza.model.mock import MockScript, MockTurn
from waza.model.observation import MESSAGE, Event, Observation, SkillInvocation
from waza.model.task import Expected, ExpectedBehavior, Task

REAL = Capabilities(tool_calls=True)
SCRIPTED = Capabilities(scripted=True)


def verdicts(
    expected: Expected,
    observation: Observation | None = None,
    facts: AgentFacts | None = None,
    *,
    enforce: bool = True,
    body_injected: bool = False,
) -> dict[str, tuple[bool, float]]:
    task = Task(id="t", name="t", file="", prompt="p", home=Path(), fixtures=Path(), expected=expected)
    checks = expected_checks(
        task,
        observation or Observation(),
        facts or AgentFacts(REAL, None),
        skill="greeter",
        enforce=enforce,
        body_injected=body_injected,
    )
    return {name: (verdict.passed, verdict.score) for name, _, verdict in checks}


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({"output_contains": ["HELLO", "straße"]}, {"_output_contains": (True, 1.0)}),
        ({"output_contains": ["hello", "bye"]}, {"_output_contains": (False, 0.5)}),
        ({"output_not_contains": ["bye"]}, {"_output_not_contains": (True, 1.0)}),
        ({"output_not_contains": ["bye", "Hello"]}, {"_output_not_contains": (False, 0.5)}),
        ({"output_contains_any": ["bye", "hello"]}, {"_output_contains_any": (True, 1.0)}),
        ({"output_contains_any": ["bye", "later"]}, {"_output_contains_any": (False, 0.0)}),
        ({"outcomes": [{"type": "x"}]}, {}),
        ({}, {}),
    ],
)
def test_texts_of_the_output_ignore_case(expected: dict[str, Any], found: dict[str, Any]):
    assert verdicts(Expected(**expected), Observation(output="Hello, Straße")) == found


def test_the_behavior_of_an_agent_is_checked():
    expected = Expected(behavior=ExpectedBehavior(max_iterations=1, required_tools=["view"]))
    messages = tuple(Event(type=MESSAGE, content=str(n)) for n in range(2))
    assert verdicts(expected, Observation(transcript=messages)) == {"_behavior": (False, 0.0)}
    once = ExpectedBehavior(max_iterations=2)
    assert verdicts(Expected(behavior=once), Observation(transcript=messages)) == {"_behavior": (True, 1.0)}


@pytest.mark.parametrize(
    ("wanted", "invoked", "passed"),
    [(True, "greeter", True), (True, "other", False), (False, "greeter", False), (False, "other", True)],
)
def test_should_trigger_is_about_the_skill_under_test(wanted: bool, invoked: str, passed: bool):
    seen = Observation(skill_invocations=(SkillInvocation(name=invoked),))
    assert verdicts(Expected(should_trigger=wanted), seen) == {"_should_trigger": (passed, float(passed))}


BOTH = Expected(should_trigger=True, behavior=ExpectedBehavior(required_tools=["view"]))


@pytest.mark.parametrize(
    ("facts", "options", "checks"),
    [
        (AgentFacts(REAL, None), {}, {"_behavior", "_should_trigger"}),
        (AgentFacts(REAL, None), {"enforce": False}, set()),
        (AgentFacts(REAL, None), {"body_injected": True}, {"_behavior"}),
        (AgentFacts(SCRIPTED, None), {}, set()),  # it echoes
        (AgentFacts(SCRIPTED, MockScript(turns=(MockTurn(output="x"),))), {}, {"_behavior"}),
        (
            AgentFacts(SCRIPTED, MockScript(turns=(MockTurn(output="x", skills=[]),))),
            {},
            {"_behavior", "_should_trigger"},
        ),
    ],
)
def test_what_an_agent_does_is_only_checked_where_it_is_known(
    facts: AgentFacts, options: dict[str, Any], checks: set[str]
):
    assert set(verdicts(BOTH, facts=facts, **options)) == checks
