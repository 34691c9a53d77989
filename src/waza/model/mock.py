"""The script of the mock executor: what a deterministic agent says and does.

A `mock` block is in a task, or in the suite as a default for its tasks. Only `executor: mock` reads it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from waza.model.base import Keys, NonBlank, NonNegative


class ScriptedCall(Keys, frozen=True, kw_only=True):
    """A tool call that the scripted agent makes."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    """The name of the tool."""
    args: dict[str, Any] = {}
    """The arguments of the call."""
    result: Any = None
    """What the tool answers. Left out together with `success`: what `mcp_mocks` or `command_mocks` answer to the call
    (`SERVER-TOOL`, or a shell with the command line of one mocked program), else an empty text."""
    success: bool | None = None
    """Whether the call succeeds. Default: yes, unless a mock answers and says otherwise."""
    duration_ms: NonNegative = 0
    """How long the call takes by the record, in milliseconds. Nothing waits."""

    @property
    def is_open(self) -> bool:
        """Whether the script leaves it to mocks to answer the call."""
        return self.result is None and self.success is None


class ScriptedSkill(Keys, frozen=True, kw_only=True):
    """A skill that the scripted agent invokes."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    """The name of the skill."""
    path: str = ""
    """The path of its `SKILL.md`, relative to the suite."""


class ScriptedOffer(Keys, frozen=True, kw_only=True):
    """A skill that the scripted agent was offered."""

    strict_keys: ClassVar[bool] = True
    name: NonBlank
    """The name of the skill."""
    form: Literal["full", "name"] = "full"
    """`full`: with its description. `name`: by its name alone."""
    path: str = ""
    """The path of its `SKILL.md`, relative to the suite. Left out: it is the skill of the suite that has this name."""


class ScriptedFile(Keys, frozen=True, kw_only=True):
    """A file that the scripted agent writes; `path` stays inside the workspace."""

    strict_keys: ClassVar[bool] = True
    path: NonBlank
    """The path in the workspace."""
    content: str = ""
    """The content of the file."""


class ScriptedUsage(Keys, frozen=True, kw_only=True):
    """Tokens that a scripted turn reports."""

    strict_keys: ClassVar[bool] = True
    input_tokens: NonNegative = 0
    """Tokens that the model read."""
    output_tokens: NonNegative = 0
    """Tokens that the model wrote."""
    cache_read_tokens: NonNegative = 0
    """Tokens that were read from the provider's cache."""
    cache_write_tokens: NonNegative = 0
    """Tokens that were written to the provider's cache."""
    premium_requests: float = 0
    """Premium requests that GitHub Copilot would charge."""
    ai_credits: float | None = None
    """AI credits that GitHub Copilot would charge. Left out: none are reported."""


class MockTurn(Keys, frozen=True, kw_only=True):
    """One turn of the scripted agent. `citations` and `diagnostics` have the form of evaluation documents.

    `throttled`: the `error` is that the agent takes no requests for now.
    """

    strict_keys: ClassVar[bool] = True
    output: str = ""
    """What the agent answers."""
    tool_calls: list[ScriptedCall] = []
    """The tool calls that it makes, in this order."""
    skills: list[ScriptedSkill | str] | None = None
    """The skills that it invokes: names, or `{name, path}`. An empty list: it invokes none. Left out: the
    script does not say."""
    skills_offered: list[ScriptedOffer | str] | None = None
    """The skills that it was offered: names, or `{name, form, path}`. An empty list: none. Left out: the script does not
    say, so that it is not known."""
    files: list[ScriptedFile] = []
    """Files that it writes to the workspace."""
    delete: list[str] = []
    """Files that it removes from the workspace."""
    usage: ScriptedUsage | None = None
    """Tokens that the turn reports. Left out: none are reported."""
    citations: list[dict[str, Any]] = []
    """Citations of the answer, in the form of evaluation documents."""
    diagnostics: dict[str, Any] = {}
    """What the agent's platform says of the answer, in the form of evaluation documents."""
    delay_ms: NonNegative = 0
    """Milliseconds to wait before the answer."""
    error: str | None = None
    """The turn ends in this error of the executor."""
    throttled: bool = False
    """The `error` is that the agent takes no requests for now."""


class JudgeStep(Keys, frozen=True, kw_only=True, rename={"passes": "pass"}):
    """One thing a scripted judge does: give a verdict, name a winner, reply with text, or break."""

    strict_keys: ClassVar[bool] = True
    passes: str | None = None  # the key is `pass`, which is no name in Python
    """The judge passes, with this reason."""
    fail: str | None = None
    """The judge fails, with this reason."""
    winner: Literal["A", "B", "tie"] | None = None
    """Which of two outputs the judge prefers, in a pairwise comparison."""
    magnitude: Literal["much-better", "slightly-better", "equal"] = "slightly-better"
    """How much better the winner is."""
    reasoning: str = ""
    """Why it is better."""
    reply: str | None = None
    """The judge replies with this text and gives no verdict."""
    error: str | None = None
    """The judge's turn ends in this error."""
    usage: ScriptedUsage | None = None
    """Tokens that the judge reports. Left out: none are reported."""


class ResponderStep(Keys, frozen=True, kw_only=True):
    """One decision of the scripted responder: exactly one of the three keys."""

    strict_keys: ClassVar[bool] = True
    reply: str | None = None
    """The responder replies with this text."""
    stop: bool = False
    """The responder is content and ends the conversation."""
    abstain: str | None = None
    """The responder cannot answer, for this reason."""


class MockBlock(MockTurn, frozen=True, kw_only=True):
    """The `mock` block: turns (or the keys of one turn), judge, responder, executions."""

    turns: list[MockTurn] | None = None
    """The turns, in order. Past the last one, the agent echoes."""
    judge: dict[str, list[JudgeStep]] | None = None
    """What judges do, by the name of the grader."""
    responder: list[ResponderStep] | None = None
    """What the responder does, in order."""
    executions: list[MockBlock] | None = None
    """Scripts for the executions of a task, used in turn by trial and attempt. Each overlays this one."""
    without_skills: MockBlock | None = None
    """The script for an agent without skills (`--baseline`, `--no-skills`), which overlays this one. Left out: it is the
    same."""


class SuiteMockBlock(MockBlock, frozen=True, kw_only=True):
    """The `mock` block of a suite: also, by prompt of its trigger tests, which skill is invoked."""

    triggers: dict[str, bool | str | list[str]] | None = None
    """By prompt of the trigger tests, whether the agent invokes the skill; where it has neighbours, also the name of the
    skill that it invokes, several names, or `none`."""


NO_SKILL = "none"
"""The word for no skill in expectations and scripts of trigger tests."""


def scripted_skills(found: bool | str | list[str], tested: str) -> tuple[str, ...]:
    """Return the names of the skills that an entry of `mock.triggers` invokes; `tested` is the tested skill."""
    if isinstance(found, bool):
        return (tested,) if found else ()
    names = [found] if isinstance(found, str) else found
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip() != NO_SKILL))


class MockScript(msgspec.Struct, frozen=True, kw_only=True):
    """A `mock` block made plain: the short form is one turn; None means that the key is not there.

    Entry k of `executions` overlays the script for the k-th execution of a task, `without_skills` the whole of it for an
    agent without skills.
    """

    turns: tuple[MockTurn, ...] | None = None
    judge: dict[str, list[JudgeStep]] | None = None
    responder: tuple[ResponderStep, ...] | None = None
    executions: tuple[MockScript, ...] = ()
    without_skills: MockScript | None = None

    def over(self, below: MockScript | None) -> MockScript:
        """Return this script laid over `below`, key by key."""
        if below is None:
            return self
        return MockScript(
            turns=below.turns if self.turns is None else self.turns,
            judge=below.judge if self.judge is None else self.judge,
            responder=below.responder if self.responder is None else self.responder,
            executions=self.executions or below.executions,
            without_skills=self.without_skills or below.without_skills,
        )

    @property
    def acts(self) -> bool:
        """Whether it says what the agent does; without a turn it echoes."""
        return bool(self.turns)

    @property
    def asks_mocks(self) -> bool:
        """Whether it has calls that mocked servers and programs may answer."""
        return any(call.is_open for turn in self.turns or () for call in turn.tool_calls)

    @property
    def lists_skills(self) -> bool:
        """Whether it lists which skills are invoked; an empty list says that none is."""
        return any(turn.skills is not None for turn in self.turns or ())

    def without_judge(self) -> MockScript:
        """Return what the script says of the agent and the user alone."""
        executions = tuple(script.without_judge() for script in self.executions)
        without = self.without_skills.without_judge() if self.without_skills else None
        return msgspec.structs.replace(self, judge=None, executions=executions, without_skills=without)

    def execution(self, number: int) -> MockScript:
        """Return the script of the execution with this number, counted from 0."""
        if not self.executions:
            return self
        return self.executions[number % len(self.executions)].over(self)
