"""The keys of a file of reference cases (`waza assure EVAL --references FILE`)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

from waza.model.base import Count, Keys, NonBlank
from waza.model.mock import MockTurn, ResponderStep

Expectation = Literal["pass", "fail"]


class ReferenceCase(MockTurn, frozen=True, kw_only=True):
    """An answer of a task, and what graders are expected to make of it. All texts are plain, and no templates."""

    strict_keys: ClassVar[bool] = True
    id: NonBlank
    """The name of the case, which no other case has."""
    task: NonBlank
    """The id of the task that the answer is for."""
    expect: Expectation
    """Whether the answer must pass or fail."""
    grader: str = ""
    """The grader that must say so. Left out: every grader of the task must pass, or at least one must fail."""
    after_turn: Count | None = None
    """The turn of the checkpoint that has the grader. Left out: the grader is one of the task or suite, or the name says
    which one is meant."""
    reason: str = ""
    """Why, in words for people. It is shown, and not compared with anything."""
    turns: list[MockTurn] | None = None
    """The turns of the answer, instead of the keys of one. Of an answer without them all but the last turn are silent."""
    responder: list[ResponderStep] | None = None
    """What the user says between turns, for a task with `inputs.responder`. Left out: as many replies as there are
    turns."""


class References(Keys, frozen=True, kw_only=True):
    """The keys of the file."""

    strict_keys: ClassVar[bool] = True
    cases: Annotated[list[ReferenceCase], msgspec.Meta(min_length=1)]
    """The cases."""
