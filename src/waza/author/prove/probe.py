"""Probe: a scripted agent that is put before the graders of one task. Its texts are plain, whatever they look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from waza.engine.trial import template_variables
from waza.kit.template import fill, quote
from waza.model.mock import MockScript, MockTurn, ResponderStep
from waza.model.task import Task

Aspect = Literal["output", "calls", "skills", "files"]
"""What a grader can look at."""
EVERYTHING: frozenset[Aspect] = frozenset(("output", "calls", "skills", "files"))

Kind = Literal["answer", "agent", "excess", "change"]
"""`answer`: an answer that should pass. `agent`: an agent that should fail. `excess`: one that does what graders forbid.
`change`: a passing answer with a change that should make it fail."""

_REPLY = "Go on."
_BRACES = '{{"{{"}}'  # what a script renders as two braces


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """A scripted agent with a name. `touches` is what differs from a right answer."""

    name: str
    kind: Kind
    script: MockScript
    touches: frozenset[Aspect] = EVERYTHING


def count_turns(task: Task) -> int:
    """Return how many turns a task has; where a model plays the user, as many as its checkpoints need."""
    if task.inputs.responder is None:
        return 1 + len(task.follow_ups)
    last = max((point.after_turn for point in task.checkpoints), default=1)
    return min(last, 1 + task.inputs.responder.max_followups)


def make_script(task: Task, turns: Sequence[MockTurn]) -> MockScript:
    """Return the script of an agent with these turns; where a model plays the user, it replies between them."""
    replies = [ResponderStep(reply=_REPLY)] * (len(turns) - 1)
    user = (*replies, ResponderStep(stop=True)) if task.inputs.responder else None
    return MockScript(turns=tuple(turns), responder=user)


def render_prompts(task: Task) -> tuple[str, ...]:
    """Return the prompts of a task as agents get them, one a turn. Raises TemplateError for an unknown variable."""
    prompts = (task.prompt, *task.follow_ups)
    if task.inputs.responder is not None:
        prompts += (_REPLY,) * (count_turns(task) - 1)
    return prompts if task.verbatim else tuple(fill(prompts, _variables(task)))


def render_script(task: Task, script: MockScript) -> MockScript:
    """Return what a script plays in the first execution of a task. Raises TemplateError for an unknown variable."""
    first = script.execution(0)
    return first if task.verbatim else fill(first, _variables(task))


def as_template(task: Task, script: MockScript) -> MockScript:
    """Return a script that renders as this one, whose texts are plain."""
    quoted: MockScript = script if task.verbatim else _quote(script)
    return quoted


def _variables(task: Task) -> dict[str, str]:
    return template_variables(task, "prove", 1, 1)


def _quote(value: Any) -> Any:
    if isinstance(value, str):
        return quote(value, _BRACES) if "{{" in value else value
    if isinstance(value, dict):
        return {key: _quote(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_quote(item) for item in value)
    if isinstance(value, msgspec.Struct):
        changes = {name: _quote(getattr(value, name)) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **changes)
    return value
