"""What the wire of an attempt adds to what its agent reports, turn by turn. Where both disagree, the wire counts."""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from waza.model.observation import (
    COMPLETE,
    MESSAGE,
    START,
    Event,
    ModelUsage,
    OfferedSkill,
    SkillInvocation,
    SkillsOffered,
    Turn,
    Usage,
)
from waza.wire.exchange import Exchange
from waza.wire.reply import ReplyCall

WIRE = "wire.exchange"
"""The type of the events that transcripts have for requests to models."""
_SHOWN = 4000  # characters of a text in a transcript; the texts themselves are mostly instructions that never change
_SKILL_TOOL = "skill"
_TOO_MANY, _SERVER_ERROR = 429, 500


class WantedSkill(msgspec.Struct, frozen=True):
    """The skill under test, as it stands in its file."""

    name: str
    description: str
    body: str = ""


class WireObserver:
    """Completes the turns of one attempt by its exchanges.

    `alone`: the agent reports nothing itself, so that a turn without a request is an error. `differences` say where agent and
    wire disagreed, `models` which models answered, in the words of their servers.
    """

    def __init__(self, exchanges: Sequence[Exchange], skill: WantedSkill | None, *, alone: bool) -> None:
        self._exchanges, self._skill, self._alone = exchanges, skill, alone
        self._taken = 0
        self._main: set[str] = set()  # threads in which the prompts are
        self._first: tuple[str, ...] = ()  # what instructed the agent in the first request of these
        self._later: list[str] = []  # and in those after it
        self.differences: list[str] = []
        self.models: list[str] = []

    def complete(self, prompt: str, turn: Turn) -> Turn:
        """Return a turn with what the wire knows of it."""
        new = list(self._exchanges[self._taken :])
        self._taken += len(new)
        self._look_for_main(prompt, new)
        served = [one.reply.model for one in new if one.reply and one.reply.model]
        self.models = list(dict.fromkeys([*self.models, *served]))
        if not new:
            return self._unseen(turn)
        turn = msgspec.structs.replace(
            turn,
            events=_merge(self._events(turn, new), map(_exchange_event, new)),
            usage=self._usage(turn, new),
            skills_offered=self._offered(turn),
        )
        if self._alone:
            skills = [invoked for one in turn.events if (invoked := _invoked_skill(one))]
            turn = msgspec.structs.replace(turn, skills=tuple(skills))
        return self._with_error(turn, new)

    def _look_for_main(self, prompt: str, new: Sequence[Exchange]) -> None:
        """Note the threads that hold the prompt; of one whose prompt is in no request, as where the agent rewrites it, the first."""
        wanted = prompt.strip()
        found = {one.thread for one in new if any(wanted in text for text in one.texts)}
        self._main |= found or ({new[0].thread} if new and not self._main else set())
        for one in new:
            if one.thread not in self._main:
                continue
            if self._first:
                self._later += one.texts
            else:
                self._first = one.texts

    def _unseen(self, turn: Turn) -> Turn:
        """Return a turn without any request."""
        if self._alone and not turn.error:
            why = (
                "no request of the agent to a model was seen, so that its tool calls are not known: it has to use "
                "OPENAI_BASE_URL or ANTHROPIC_BASE_URL, and the key beside it"
            )
            return msgspec.structs.replace(turn, error=why)
        if not turn.error:
            self._differ("the agent answered without a request to its model on the wire")
        return turn

    def _differ(self, text: str) -> None:
        if text not in self.differences:
            self.differences.append(text)

    def _events(self, turn: Turn, new: Sequence[Exchange]) -> tuple[Event, ...]:
        """Return the events of a turn: those of the agent, with the calls that the model made."""
        calls = {
            call.id: (one, call) for one in new if one.answered and one.reply for call in one.reply.calls
        }
        results = {key: (one, text) for one in new for key, text in one.results.items()}
        if self._alone:
            messages = [
                Event(type=MESSAGE, content=one.reply.text, at_ms=_end(one))
                for one in new
                if one.thread in self._main and one.reply and one.reply.text
            ]
            added = [
                event for key, called in calls.items() for event in _call_events(*called, results.get(key))
            ]
            return _merge(messages, added)
        own = {event.tool_call_id: event for event in turn.events if event.type == START}
        events = [self._agreed(event, calls) for event in turn.events]
        missing = {key: called for key, called in calls.items() if key not in own}
        for _, call in missing.values():
            self._differ(f"the agent does not report its call of {call.name} ({call.id})")
        added = [
            event for key, called in missing.items() for event in _call_events(*called, results.get(key))
        ]
        return _merge((event for event in events if event is not None), added)

    def _agreed(self, event: Event, calls: dict[str, tuple[Exchange, ReplyCall]]) -> Event | None:
        """Return an event of the agent as the wire has it; None for that of a call which no model made."""
        if event.type not in (START, COMPLETE) or not event.tool_call_id:
            return event
        if event.tool_call_id not in calls:
            self._differ(
                f"the agent reports a call of {event.tool_name or event.tool_call_id}, which no model made"
            )
            return None
        call = calls[event.tool_call_id][1]
        if event.type == COMPLETE:
            return event
        if event.tool_name != call.name:
            self._differ(
                f"the agent reports the call {call.id} as {event.tool_name}, the model called {call.name}"
            )
        if event.arguments != call.args:
            self._differ(
                f"the agent reports other arguments of the call {call.id} of {call.name} than the model gave"
            )
        return msgspec.structs.replace(event, tool_name=call.name, arguments=call.args)

    def _usage(self, turn: Turn, new: Sequence[Exchange]) -> Usage | None:
        """Return what the turn cost: what the answers say, with what only the agent knows. Of an answer that does not say, nothing is known."""
        answered = [one for one in new if one.answered]
        own = turn.usage
        if any(one.reply is None or one.reply.usage is None for one in answered):
            return own
        models: dict[str, list[Exchange]] = {}
        for one in new:
            if one.reply is not None and one.reply.usage is not None:
                models.setdefault(one.reply.model or one.model, []).append(one)
        metrics = {name: _model_usage(found) for name, found in models.items()}
        total = Usage(
            turns=own.turns if own else sum(one.thread in self._main for one in answered),
            input_tokens=sum(one.input_tokens for one in metrics.values()),
            output_tokens=sum(one.output_tokens for one in metrics.values()),
            cache_read_tokens=sum(one.cache_read_tokens for one in metrics.values()),
            cache_write_tokens=sum(one.cache_write_tokens for one in metrics.values()),
            premium_requests=own.premium_requests if own else 0,
            ai_credits=own.ai_credits if own else None,
            provider=own.provider if own else "",
            provider_host=own.provider_host if own else "",
            model_metrics=metrics,
        )
        if own is not None and own.tokens and own.tokens != total.tokens:
            self._differ(
                f"the agent reports {own.input_tokens} tokens read and {own.output_tokens} written, the model "
                f"{total.input_tokens} and {total.output_tokens}"
            )
        return total

    def _offered(self, turn: Turn) -> SkillsOffered | None:
        """Return how the skill under test was offered, with what the agent knows of the others."""
        if self._skill is None or not self._first:
            return turn.skills_offered
        name, others = self._skill.name, turn.skills_offered or SkillsOffered(complete=False)
        seen = find_offer(self._skill, self._first, self._later)
        claimed = [one for one in others.skills if one.name == name]
        if others.complete and (seen is None) != (not claimed):
            words = "is not in its requests" if seen is None else "is in its requests"
            self._differ(f"the skill {name} {words}, other than the agent says")
        elif seen is not None and claimed and all(one.form != seen.form for one in claimed):
            self._differ(
                f"the agent says that it was offered the skill {name} as {claimed[0].form}, its requests {seen.form}"
            )
        kept = tuple(one for one in others.skills if one.name != name)
        if seen is None:
            return msgspec.structs.replace(others, skills=kept, absent=(name,))
        path = next((one.path for one in claimed), "")
        return msgspec.structs.replace(others, skills=(*kept, msgspec.structs.replace(seen, path=path)))

    def _with_error(self, turn: Turn, new: Sequence[Exchange]) -> Turn:
        """Return a turn as broken whose last request got no answer, whatever the agent makes of it."""
        last = next((one for one in reversed(new) if one.thread in self._main), new[-1])
        if last.reply is not None and last.reply.refusal:
            self._differ(f"the model refused: {last.reply.refusal}")
        if turn.error or last.answered:
            return turn
        outside = last.ending in ("cut", "silent", "unreachable") or (
            last.status == _TOO_MANY or last.status >= _SERVER_ERROR
        )
        return msgspec.structs.replace(
            turn,
            error=f"the model did not answer: {describe_ending(last)}",
            outside=outside and last.ending != "fault",
        )


def find_offer(skill: WantedSkill, first: Iterable[str], later: Iterable[str]) -> OfferedSkill | None:
    """Return how a skill stands in what instructs an agent: with its description or its text, by its name, or not at all (None).

    Its text in the `first` request is an offer; in a `later` one it came since the agent asked for it.
    """
    wanted, body = _flat(skill.description), _flat(skill.body)
    begins = [_flat(html.unescape(text)) for text in first]
    goes_on = [_flat(html.unescape(text)) for text in later]
    if body and any(body in text for text in begins):
        return OfferedSkill(name=skill.name, form="full", loaded=True)
    loaded = bool(body) and any(body in text for text in goes_on)
    lists = [text for text in (*begins, *goes_on) if not (body and body in text) and _names(text, skill.name)]
    if lists:
        full = bool(wanted) and any(wanted in text for text in lists)
        return OfferedSkill(name=skill.name, form="full" if full else "name", loaded=loaded)
    return OfferedSkill(name=skill.name, form="full", loaded=True) if loaded else None


def _flat(text: str) -> str:
    return " ".join(text.split())


def _names(text: str, name: str) -> bool:
    """Return whether a text lists a skill by its name: as an element, as a line of a list, or in a row of names.

    Lines are joined by blanks here.
    """
    marks = (f"<name>{name}</name>", f"- {name}:", f"- {name} ", f":{name}:")
    if any(mark in f"{text} " for mark in marks):
        return True
    # As in "Additional skills available (invoke by name): one, two", where a list is too long.
    row = rf"\bskills [^:<]{{0,60}}: (?:[^\s,<]+, )*{re.escape(name)}(?=[,\s<]|$)"
    return re.search(row, text, re.IGNORECASE) is not None


def describe_ending(exchange: Exchange) -> str:
    """Return how a request ended that got no whole answer, in a few words."""
    reply = exchange.reply
    why = exchange.note or (reply.error if reply else "")
    status = f"status {exchange.status}" if exchange.status >= 400 else ""  # HTTP errors begin at 400
    return ", ".join(filter(None, [status, why])) or f"the answer ended early ({exchange.ending})"


def exchange_usage(exchange: Exchange) -> Usage | None:
    """Return what a request cost; None: its answer does not say."""
    if exchange.reply is None or exchange.reply.usage is None:
        return None
    used = _model_usage([exchange])
    return Usage(
        turns=0,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
        premium_requests=0,
        model_metrics={exchange.reply.model or exchange.model: used},
    )


def _model_usage(exchanges: Sequence[Exchange]) -> ModelUsage:
    tokens = [one.reply.usage for one in exchanges if one.reply is not None and one.reply.usage is not None]
    return ModelUsage(
        input_tokens=sum(one.input for one in tokens),
        output_tokens=sum(one.output for one in tokens),
        cache_read_tokens=sum(one.cache_read for one in tokens),
        cache_write_tokens=sum(one.cache_write for one in tokens),
        request_count=len(exchanges),
        request_cost=0,
    )


def _end(exchange: Exchange) -> float:
    return exchange.at_ms + exchange.duration_ms


def _call_events(exchange: Exchange, call: ReplyCall, result: tuple[Exchange, str] | None) -> list[Event]:
    """Return the start of a call, and its end where its result came; whether it succeeded is not on the wire."""
    start = Event(
        type=START, tool_call_id=call.id, tool_name=call.name, arguments=call.args, at_ms=_end(exchange)
    )
    if result is None:
        return [start]
    later, text = result
    return [start, Event(type=COMPLETE, tool_call_id=call.id, tool_result=text, at_ms=later.at_ms)]


def _exchange_event(exchange: Exchange) -> Event:
    reply = exchange.reply
    details: dict[str, Any] = {
        "request": exchange.number,
        "api": exchange.api,
        "thread": exchange.thread,
        "model": exchange.model,
        "status": exchange.status,
        "ending": exchange.ending,
        "tools": len(exchange.tools),
        "texts": [
            one if len(one) <= _SHOWN else f"{one[:_SHOWN]} ... ({len(one):,} characters)"
            for one in exchange.texts
        ],
        "duration_ms": exchange.duration_ms,
    }
    if reply is not None:
        details |= {"model_served": reply.model, "stop": reply.stop, "answer": reply.text}
        details["calls"] = [call.id for call in reply.calls]
        if reply.usage is not None:
            details["usage"] = msgspec.to_builtins(reply.usage)
        details |= {
            key: value for key, value in (("refusal", reply.refusal), ("error", reply.error)) if value
        }
    if exchange.note:
        details["note"] = exchange.note
    return Event(type=WIRE, message=details, at_ms=exchange.at_ms)


def _invoked_skill(event: Event) -> SkillInvocation | None:
    """Return the skill that a call of the tool for skills names, as agents have it."""
    if event.type != START or event.tool_name.lower() != _SKILL_TOOL or not isinstance(event.arguments, dict):
        return None
    name = event.arguments.get("skill") or event.arguments.get("name")
    return SkillInvocation(name=name) if isinstance(name, str) and name else None


def _merge(events: Iterable[Event], added: Iterable[Event]) -> tuple[Event, ...]:
    """Return events with others among them by time. The first ones keep their order; those without a time stay where they are."""
    merged: list[Event] = []
    later = deque(sorted(added, key=lambda event: event.at_ms or 0))
    for event in events:
        while later and event.at_ms is not None and (later[0].at_ms or 0) < event.at_ms:
            merged.append(later.popleft())
        merged.append(event)
    return (*merged, *later)
