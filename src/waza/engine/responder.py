"""The responder: a model that plays the user and decides whether to reply, stop or abstain."""

from __future__ import annotations

import msgspec

from waza.model.agent import Interview, JudgeAnswer, JudgeQuestion, JudgeToolCall, Tool
from waza.model.observation import Usage
from waza.model.task import Responder

REPLY, STOP, ABSTAIN = "responder_reply", "responder_stop", "responder_abstain"


def _text_argument(name: str, meaning: str) -> dict[str, object]:
    properties = {name: {"type": "string", "minLength": 1, "description": meaning}}
    return {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}


TOOLS = (
    Tool(
        name=REPLY,
        description="Answer the agent as the user, so that it can go on.",
        parameters=_text_argument("answer", "what the user says"),
    ),
    Tool(
        name=STOP,
        description="The agent has done what the user wanted; end the conversation.",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
    ),
    Tool(
        name=ABSTAIN,
        description="The brief does not say enough to answer; give up.",
        parameters=_text_argument("reason", "what the brief does not say"),
    ),
)


class Decision(msgspec.Struct, frozen=True):
    """What the responder decided: exactly one of reply, stop, abstain; or why there is no decision."""

    reply: str = ""
    stop: bool = False
    abstain: str = ""
    error: str = ""


class ResponderSession:
    """A conversation with the responder, which lasts as long as the agent's own."""

    def __init__(
        self, interview: Interview, brief: Responder, model: str, effort: str, timeout: float
    ) -> None:
        self.interview, self.brief = interview, brief
        self.model, self.effort, self.timeout = brief.model or model, effort, timeout
        self.usages: list[Usage | None] = []
        self.first = True

    @property
    def max_replies(self) -> int:
        """How many replies there may be."""
        return self.brief.max_followups

    async def decide(self, output: str) -> Decision:
        """Show the responder the last output of the agent, and return its decision."""
        question = JudgeQuestion(
            asker="responder",
            text=self._text(output),
            tools=TOOLS,
            model=self.model,
            effort=self.effort,
            timeout=self.timeout,
        )
        self.first = False
        answer = await self.interview.ask(question)
        self.usages.append(answer.usage)
        return _decision(answer)

    def _text(self, output: str) -> str:
        brief = f"{self.brief.instructions}\n\n" if self.first else ""
        role = "You play the user in a conversation with an agent. " if self.first else ""
        return (
            f"{brief}{role}The agent said:\n\n{output}\n\n"
            f"Call exactly one tool: {REPLY} to answer as the user, {STOP} when the agent has finished, "
            f"{ABSTAIN} when you cannot answer from this brief."
        )


def _decision(answer: JudgeAnswer) -> Decision:
    """Read a decision. It counts even if the turn broke afterwards; two of them, or none, are an error."""
    calls = [call for call in answer.calls if call.name in (REPLY, STOP, ABSTAIN)]
    if len(calls) > 1:
        return Decision(
            error=f"{len(calls)} decisions instead of one: {', '.join(call.name for call in calls)}"
        )
    if not calls:
        return Decision(error=answer.error or "no decision: none of the three tools was called")
    return _read(calls[0])


def _read(call: JudgeToolCall) -> Decision:
    if call.name == STOP:
        return Decision(stop=True)
    key = "answer" if call.name == REPLY else "reason"
    text = call.args.get(key)
    if not isinstance(text, str) or not text.strip():
        return Decision(error=f"{call.name} was called without {key!r}")
    return Decision(reply=text) if call.name == REPLY else Decision(abstain=text)
