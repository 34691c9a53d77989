"""What a tool of the loop is, and its answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from waza.kit.text import replace_surrogates
from waza.model.observation import SkillInvocation

MOST_TEXT = 50_000
"""Characters of a tool's answer that the model gets."""


class ToolAnswer(msgspec.Struct, frozen=True):
    """What a tool answers."""

    text: str
    """The answer as the model gets it."""
    success: bool = True
    """Whether the call succeeded."""
    skill: SkillInvocation | None = None
    """The skill that the call loaded."""


class ChatTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a model is offered."""

    name: str
    """The name by which the model calls it."""
    identity: str
    """The name by which lists of tools mean it, with its source: `bash`, `mcp:SERVER-TOOL`, `custom:NAME`."""
    description: str
    """What it is for."""
    parameters: dict[str, Any]
    """A JSON Schema of its arguments."""
    run: Callable[[dict[str, Any]], Awaitable[ToolAnswer]]
    """Does what is asked for. An answer of any length may come back; what it raises is an error of the call."""

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as a request has it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


def failed(text: str) -> ToolAnswer:
    """Return the answer of a call that failed."""
    return ToolAnswer(text, success=False)


def cut(text: str) -> str:
    """Return a text as the model gets it: of one that is too long the beginning and the end, with a note between them."""
    text = replace_surrogates(text)
    if len(text) <= MOST_TEXT:
        return text
    half = MOST_TEXT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters are left out ...]\n{text[-half:]}"
