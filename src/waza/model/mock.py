"""The script of the mock executor: what a deterministic agent says and does.

A `mock` block stands in a task, or in the suite as a default for its tasks. Only `executor: mock` reads it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from waza.model.base import Keys, NonBlank, NonNegative


class ScriptedCall(Keys, frozen=True, kw_only=True):
    """A tool call that the scripted agent makes."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    args: dict[str, Any] = {}
    result: Any = ""
    success: bool = True
    duration_ms: NonNegative = 0


class ScriptedSkill(Keys, frozen=True, kw_only=True):
    """A skill that the scripted agent invokes."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    path: str = ""


class ScriptedFile(Keys, frozen=True, kw_only=True):
    """A file that the scripted agent writes; `path` stays inside the workspace."""

    strict_keys: ClassVar[bool] = True
    path: NonBlank
    content: str = ""


class ScriptedUsage(Keys, frozen=True, kw_only=True):
    """Tokens that a scripted turn reports."""

    strict_keys: ClassVar[bool] = True
    input_tokens: NonNegative = 0
    output_tokens: NonNegative = 0
    cache_read_tokens: NonNegative = 0
    cache_write_tokens: NonNegative = 0
    premium_requests: float = 0


class MockTurn(Keys, frozen=True, kw_only=True):
    """One turn of the scripted agent. `citations` and `diagnostics` have the form of evaluation documents.

    `throttled`: the `error` is that the agent takes no requests for now.
    """

    strict_keys: ClassVar[bool] = True
    output: str = ""
    tool_calls: list[ScriptedCall] = []
    skills: list[ScriptedSkill | str] | None = None
    files: list[ScriptedFile] = []
    delete: list[str] = []
    usage: ScriptedUsage | None = None
    citations: list[dict[str, Any]] = []
    diagnostics: dict[str, Any] = {}
    delay_ms: NonNegative = 0
    error: str | None = None
    throttled: bool = False


class JudgeStep(Keys, frozen=True, kw_only=True, rename={"passes": "pass"}):
    """One thing a scripted judge does: give a verdict, name a winner, reply with text, or break."""

    strict_keys: ClassVar[bool] = True
    passes: str | None = None  # the key is `pass`, which is no name in Python
    fail: str | None = None
    winner: Literal["A", "B", "tie"] | None = None
    magnitude: Literal["much-better", "slightly-better", "equal"] = "slightly-better"
    reasoning: str = ""
    reply: str | None = None
    error: str | None = None


class ResponderStep(Keys, frozen=True, kw_only=True):
    """One decision of the scripted responder: exactly one of the three keys."""

    strict_keys: ClassVar[bool] = True
    reply: str | None = None
    stop: bool = False
    abstain: str | None = None


class MockBlock(MockTurn, frozen=True, kw_only=True):
    """The `mock` block: turns (or the keys of one turn), judge, responder, executions."""

    turns: list[MockTurn] | None = None
    judge: dict[str, list[JudgeStep]] | None = None
    responder: list[ResponderStep] | None = None
    executions: list[MockBlock] | None = None


class SuiteMockBlock(MockBlock, frozen=True, kw_only=True):
    """The `mock` block of a suite: also, by prompt of its trigger tests, whether the skill is invoked."""

    triggers: dict[str, bool] | None = None


class MockScript(msgspec.Struct, frozen=True, kw_only=True):
    """A `mock` block made plain: the short form is one turn; None means that the key is not there.

    Entry k of `executions` overlays the script for the k-th execution of a task.
    """

    turns: tuple[MockTurn, ...] | None = None
    judge: dict[str, list[JudgeStep]] | None = None
    responder: tuple[ResponderStep, ...] | None = None
    executions: tuple[MockScript, ...] = ()

    def over(self, below: MockScript | None) -> MockScript:
        """Return this script laid over `below`, key by key."""
        if below is None:
            return self
        return MockScript(
            turns=below.turns if self.turns is None else self.turns,
            judge=below.judge if self.judge is None else self.judge,
            responder=below.responder if self.responder is None else self.responder,
            executions=self.executions or below.executions,
        )

    @property
    def acts(self) -> bool:
        """Whether it says what the agent does; without a turn it echoes."""
        return bool(self.turns)

    @property
    def says_skills(self) -> bool:
        """Whether it says which skills are invoked; an empty list says that none is."""
        return any(turn.skills is not None for turn in self.turns or ())

    def without_judge(self) -> MockScript:
        """Return what the script says of the agent and the user alone."""
        executions = tuple(script.without_judge() for script in self.executions)
        return msgspec.structs.replace(self, judge=None, executions=executions)

    def execution(self, number: int) -> MockScript:
        """Return the script of the execution with this number, counted from 0."""
        if not self.executions:
            return self
        return self.executions[number % len(self.executions)].over(self)
