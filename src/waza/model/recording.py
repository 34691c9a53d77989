"""Recording: a session of an agent that ran elsewhere, as far as its transcript shows it."""

from __future__ import annotations

from itertools import chain

import msgspec

from waza.model.observation import Denial, SkillInvocation, ToolEvent, Turn, Usage, tool_events


class RecordedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt and what it led to."""

    prompt: str | None
    """The prompt; None: the transcript does not have it."""
    turn: Turn
    """What the agent did. Its usage is that of the whole recording, which has it."""


class SubAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that the agent called. What it did is not the agent's doing, and is kept apart."""

    id: str
    """Its id, or that of the call that started it."""
    calls: tuple[ToolEvent, ...] = ()
    """Its tool calls, as far as they are known."""
    output: str = ""
    """The last text that it wrote."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A session of an agent, as its transcript shows it. What is None is not known, and never assumed to be 0."""

    file: str
    """The file, as messages name it."""
    form: str
    """The form of the transcript, such as `atif` or `codex-rollout`."""
    agent: str
    """The name of the agent; empty: not known."""
    version: str = ""
    """The version of the agent; empty: not known."""
    session_id: str = ""
    """The id of the session; empty: not known."""
    models: tuple[str, ...] = ()
    """The models of the agent, in the order in which they were first seen."""
    turns: tuple[RecordedTurn, ...] = ()
    """The turns, in order."""
    duration_ms: int | None = None
    """Milliseconds that the agent worked, over all turns."""
    usage: Usage | None = None
    """Tokens of the session, those of sub-agents included."""
    cost_usd: float | None = None
    """What it cost, in US dollars."""
    offered_skills: tuple[str, ...] | None = None
    """The names of the skills that the agent could invoke."""
    sub_agents: tuple[SubAgent, ...] = ()
    """The agents that the agent called."""
    skills_inferred: bool = False
    """Invocations of skills are inferred from calls that read a `SKILL.md`: the form does not record them."""
    notes: tuple[str, ...] = ()
    """What could not be read, or is not part of the session, each in one sentence."""

    @property
    def prompts(self) -> tuple[str | None, ...]:
        """The prompts of the turns."""
        return tuple(one.prompt for one in self.turns)

    @property
    def tool_events(self) -> tuple[ToolEvent, ...]:
        """The tool calls of all turns."""
        return tool_events(chain.from_iterable(one.turn.events for one in self.turns))

    @property
    def skill_invocations(self) -> tuple[SkillInvocation, ...]:
        """The skills that the agent invoked."""
        return tuple(chain.from_iterable(one.turn.skills for one in self.turns))

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The calls that somebody or something denied."""
        return tuple(chain.from_iterable(one.turn.denials for one in self.turns))

    @property
    def final_output(self) -> str:
        """The answer to the last prompt."""
        return self.turns[-1].turn.output if self.turns else ""

    @property
    def error(self) -> str:
        """Why there is no answer to the last prompt; empty: there is one."""
        return self.turns[-1].turn.error if self.turns else ""


class TranscriptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a trial was graded from that ran elsewhere: an entry of `metadata.transcripts` of results."""

    task: str
    """The id of the task."""
    trial: int
    """The number of the trial, from 1."""
    file: str
    """The transcript, as its path was given."""
    form: str
    """The form of the transcript."""
    agent: str
    """The name of the agent; empty: not known."""
    version: str = ""
    """The version of the agent."""
    session_id: str = ""
    """The id of the session."""
    models: list[str] = []
    """The models of the agent, as they were seen."""
    cost_usd: float | None = None
    """What the session cost, in US dollars."""
    offered_skills: list[str] | None = None
    """The skills that the agent could invoke."""
    sub_agents: dict[str, int] = {}
    """The agents that the agent called, by their ids, with the numbers of their tool calls. No grader looks at these."""
    skills_inferred: bool = False
    """Invocations of skills are inferred from calls that show a `SKILL.md`."""
    unseen: dict[str, str] = {}
    """What the transcript does not show, and why, by the capability of executors that reports it."""
    notes: list[str] = []
    """What could not be read, or is not part of the session."""
