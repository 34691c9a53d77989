"""Which tools an agent or a judge may use, by the names that people declare. Executors enforce it, each in its way."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waza.model.agent import READING, JudgeQuestion
from waza.model.skill import Target, allowed_by, allows

# Tools that are of no use without each other. Which of the writing ones there are depends on the model.
_TOGETHER = (
    ("bash", "read_bash", "write_bash", "stop_bash", "list_bash"),
    ("write", "create", "apply_patch"),
)


class ToolList(msgspec.Struct, frozen=True):
    """The tools that a session may use."""

    declared: Sequence[str] | None
    """Their names, as they were declared; None: all."""
    reason: str
    """Why another one is denied, with `{tool}` in it."""


def agent_tools(target: Target | None) -> ToolList:
    """Return the tools of an agent's session: those that a custom agent lists under `tools:`, else all."""
    declared = target.tools if target is not None and target.kind == "agent" else None
    if declared is not None and not declared:
        return ToolList(declared, "the agent declares tools: [], so no tool is allowed")
    return ToolList(declared, "the agent's tools: list does not allow {tool}")


def judge_tools(question: JudgeQuestion, agent: Sequence[str] | None, *, continues: bool) -> ToolList:
    """Return the tools of a judge's or responder's session: the question's own, and those that it may use.

    Where it `continues` the session of an agent, the list of the `agent` holds (None: all), and the judge only reads.
    """
    custom = [f"custom:{tool.name}" for tool in question.tools]
    if continues:
        reading = [name for name in READING if agent is None or allowed_by(agent, name)]
        return ToolList(
            [*reading, *custom], "a judge in the agent's session only reads; {tool} is not allowed"
        )
    groups = (group for group in _TOGETHER if any(allowed_by(question.may_use, name) for name in group))
    usable = dict.fromkeys([*question.may_use, *(name for group in groups for name in group)])
    return ToolList([*usable, *custom], "config.tools of the judge's grader does not allow {tool}")


def authorises(declared: str, identity: str) -> bool:
    """Return whether a declared name means an identity whose source is known: prefixes must be equal."""
    builtin = ":" not in declared.strip().lower().removeprefix("builtin:")
    return allows(declared, identity) and (builtin or ":" in identity)
