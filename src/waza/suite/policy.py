"""The tool constraint that an agent's own frontmatter puts on every task that evaluates it."""

from __future__ import annotations

from collections.abc import Collection

from waza.kit.names import unused_name
from waza.model.skill import Target
from waza.model.verdict import GraderSpec

NAME = "allowed_tools"


def implicit_tool_constraint(
    target: Target | None, taken_names: Collection[str], has_tool_constraint: bool
) -> GraderSpec | None:
    """Return the grader that holds a task to the tools its agent declares, or None.

    There is one for an agent with a `tools` key (an empty list denies every tool) unless a `tool_constraint`
    is among the graders of the suite or the task. `taken_names` are the names of those graders: a taken
    name gets the first free number behind it.
    """
    if target is None or target.kind != "agent" or target.tools is None or has_tool_constraint:
        return None
    return GraderSpec(
        type="tool_constraint",
        name=unused_name(NAME, taken_names, "_"),
        config={"allow_only": [{"tool": tool} for tool in target.tools]},
        implicit=True,
    )
