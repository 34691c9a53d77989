"""SessionBuilder: what a transcript says of a session, piece by piece, becomes the turns of a recording."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waza.foreign.transcripts.lines import TranscriptLines
from waza.kit.moments import read_moment
from waza.model.observation import (
    COMPLETE,
    MESSAGE,
    PROMPT,
    START,
    Denial,
    Event,
    SkillInvocation,
    ToolEvent,
    Turn,
    Usage,
    tool_events,
)
from waza.model.recording import RecordedTurn
from waza.model.skill import canonical_tool

UNFINISHED = "the transcript ends before the agent had answered"
# A command that shows a file, and the SKILL.md that it shows. One that writes, such as `sed -i`, shows none.
_SHOWN = re.compile(
    r"\b(?:bat|cat|head|less|more|nl|sed(?!\s+(?:-\S+\s+)*?(?:-i|--in-place))|tail|Get-Content|gc|type)\s"
    r"[^|;&<>\n]*?(?P<path>[^\s'\"`|;&<>()]*?(?P<name>[^\s'\"`|;&<>()/\\]+)[/\\]SKILL\.md)\b"
)
_SKILL_FILE = re.compile(r"(?:.*[/\\])?(?P<name>[^/\\]+)[/\\]SKILL\.md\Z", re.DOTALL)

_LARGEST = 2.0**53  # what is no smaller is neither a count nor a time that anything took

_READERS = frozenset({"read_file", "open_file", "view_file", "get_file", "cat"})
_PATHS = ("path", "file_path", "filePath", "filename", "file")


class _Turn(msgspec.Struct):
    prompt: str | None
    at: float | None
    events: list[Event] = []
    skills: list[SkillInvocation] = []
    denials: list[Denial] = []
    last_at: float | None = None
    duration_ms: int | None = None
    ended: bool = False
    expects_calls: bool = False
    error: str = ""


class SessionBuilder:
    """Collects one session, or the part of it that is a sub-agent's. Times are in milliseconds since the Unix epoch."""

    def __init__(self) -> None:
        self.turns: list[_Turn] = []
        self.messages = 0  # replies of the model
        self._places: dict[str, tuple[_Turn, int]] = {}  # of messages, by their keys
        self._open: dict[
            str, list[tuple[str, _Turn, float | None]]
        ] = {}  # calls without an end, by their ids
        self._names: dict[str, str] = {}  # of the tools of calls, by their ids
        self._taken: set[str] = set()  # ids of calls
        self._first_at: float | None = None

    @property
    def turn(self) -> _Turn:
        """The turn at hand; one whose prompt is not known where there is none yet."""
        return self.turns[-1] if self.turns else self.start_turn(None, None)

    def _going_on(self) -> _Turn:
        """Return the turn at hand, in which the agent does something: it has not answered, nor is it broken."""
        turn = self.turn
        turn.ended, turn.error = False, ""
        return turn

    def start_turn(self, prompt: str | None, at: float | None) -> _Turn:
        """Begin a turn. None: the transcript does not have its prompt."""
        turn = _Turn(prompt=prompt, at=at, last_at=at)
        self.turns.append(turn)
        self._note(at)
        if prompt is not None:
            turn.events.append(Event(type=PROMPT, content=prompt, started_ms=self._since_start(at)))
        return turn

    def message(self, key: str, text: str = "", at: float | None = None) -> None:
        """Add a reply of the model, or a further part of it: the parts of one reply have the same key."""
        if key and key in self._places:
            turn, place = self._places[key]
            if text:
                known = turn.events[place]
                whole = f"{known.content}\n{text}" if known.content else text
                turn.events[place] = msgspec.structs.replace(known, content=whole)
            self._note(at)
            return
        turn = self._going_on()
        turn.expects_calls = False
        self._places[key] = (turn, len(turn.events))
        turn.events.append(Event(type=MESSAGE, content=text, at_ms=at))
        self.messages += 1
        self._note(at)

    def call(self, call_id: str, name: str, arguments: Any, at: float | None = None) -> None:
        """Add a call of a tool. Two calls may have the same id: the later one gets another one."""
        turn = self._going_on()
        unique = wanted = call_id or f"call-{len(self._taken) + 1}"
        count = 1
        while unique in self._taken:
            count += 1
            unique = f"{wanted}~{count}"
        self._taken.add(unique)
        self._names[call_id] = name
        self._open.setdefault(call_id, []).append((unique, turn, at))
        turn.events.append(
            Event(
                type=START,
                tool_call_id=unique,
                tool_name=name or "(without a name)",
                arguments=arguments,
                at_ms=at,
                started_ms=self._since_start(at),
            )
        )
        self._note(at)

    def end(
        self,
        call_id: str,
        result: Any,
        success: bool | None,
        at: float | None = None,
        took_ms: float | None = None,
    ) -> bool:
        """Add the end of a call, the earliest open one of its id. Return False where there is none.

        `success` None: it is not known. `took_ms` wins over the difference of times.
        """
        waiting = self._open.get(call_id)
        if not waiting:
            return False
        unique, turn, started = waiting.pop(0)
        self._note(at)
        if took_ms is not None:
            at = (started or 0) + took_ms
            if started is None:
                self._time_start(turn, unique)
        turn.events.append(
            Event(type=COMPLETE, tool_call_id=unique, tool_result=result, success=success, at_ms=at)
        )
        return True

    def _time_start(self, turn: _Turn, unique: str) -> None:
        """Give a call whose time is not known the time 0: of it and that of its end only the difference counts."""
        for place, event in enumerate(turn.events):
            if event.type == START and event.tool_call_id == unique:
                turn.events[place] = msgspec.structs.replace(event, at_ms=0)

    def is_open(self, call_id: str) -> bool:
        """Tell whether a call with this id has no end yet."""
        return bool(self._open.get(call_id))

    def tool_of(self, call_id: str) -> str:
        """Return the name of the tool of a call; an empty text where there is no such call."""
        return self._names.get(call_id, "")

    def skill(self, name: str, path: str = "") -> None:
        """Add that the agent invoked a skill."""
        self.turn.skills.append(SkillInvocation(name=name, path=path))

    def skill_once(self, name: str, path: str) -> None:
        """Add it unless this turn has it: a skill is loaded by its user, and its file read again."""
        if all(known.name != name for known in self.turn.skills):
            self.skill(name, path)

    def deny(self, tool: str, kind: str, reason: str) -> None:
        """Add that a call was denied."""
        self.turn.denials.append(Denial(tool=tool, kind=kind, reason=reason))

    def fail(self, reason: str) -> None:
        """Note what broke the turn at hand, unless the agent goes on in it."""
        self.turn.error = reason

    def expect_calls(self) -> None:
        """Note that the reply at hand calls tools, whether or not these calls follow."""
        self.turn.expects_calls = True

    def end_turn(self, duration_ms: float | None = None) -> None:
        """Note that the agent has answered, and how long it took."""
        self.turn.ended = True
        if duration_ms is not None and 0 <= duration_ms < _LARGEST:
            self.turn.duration_ms = round(duration_ms)

    def _note(self, at: float | None) -> None:
        if at is not None:
            self._first_at = at if self._first_at is None else self._first_at
            turn = self.turns[-1] if self.turns else None
            if turn is not None:
                turn.at = at if turn.at is None else turn.at
                turn.last_at = max(at, turn.last_at or at)

    def lose_time(self) -> None:
        """Note that something happened at a time that is not known, so that it is not known how long the turn took so far."""
        self.turn.last_at = None

    def _since_start(self, at: float | None) -> int | None:
        return None if at is None or self._first_at is None else max(0, round(at - self._first_at))

    @property
    def calls(self) -> tuple[ToolEvent, ...]:
        """The tool calls of all turns."""
        return tool_events(event for turn in self.turns for event in turn.events)

    @property
    def output(self) -> str:
        """The last text that was written in the turn at hand."""
        return _output(self.turns[-1]) if self.turns else ""

    @property
    def duration_ms(self) -> int | None:
        """Milliseconds that all turns took; None where that is not known of one of them."""
        took = [_took(turn) for turn in self.turns]
        return sum(took) if all(took) else None

    def recorded_turns(
        self, lines: TranscriptLines | None = None, *, says_end: bool = False
    ) -> tuple[RecordedTurn, ...]:
        """Return the turns. The last one has an error where the agent had not answered, or parts of the file are lost.

        `says_end`: the form says when a turn ends, so that a text without that is not an answer.
        """
        last = len(self.turns) - 1
        return tuple(
            _recorded(turn, _why_unanswered(turn, lines, says_end=says_end) if i == last else "")
            for i, turn in enumerate(self.turns)
        )


def _why_unanswered(turn: _Turn, lines: TranscriptLines | None, *, says_end: bool) -> str:
    """Return why there is no answer to the last prompt that counts, or nothing."""
    event = turn.events[-1] if turn.events else None
    is_text = event is not None and event.type == MESSAGE and bool(event.content)
    wrote = is_text and not turn.expects_calls and not says_end
    is_torn = lines is not None and lines.is_torn
    answered = turn.ended or (wrote and not is_torn)
    damage = lines.damage if lines is not None else ""
    return "; ".join(filter(None, (turn.error or ("" if answered else UNFINISHED), damage)))


def _took(turn: _Turn) -> int:
    """Return how many milliseconds a turn took; 0: that is not known."""
    if turn.duration_ms is not None:
        return turn.duration_ms
    return 0 if turn.at is None or turn.last_at is None else round(turn.last_at - turn.at)


def _recorded(turn: _Turn, error: str) -> RecordedTurn:
    took, events = _took(turn), turn.events
    if took and events and events[0].type == PROMPT:
        events = [msgspec.structs.replace(events[0], duration_ms=took), *events[1:]]
    return RecordedTurn(
        prompt=turn.prompt,
        turn=Turn(
            output=_output(turn),
            events=tuple(events),
            skills=tuple(turn.skills),
            denials=tuple(turn.denials),
            duration_ms=took,
            error=error,
        ),
    )


def _output(turn: _Turn) -> str:
    texts = (event.content for event in reversed(turn.events) if event.type == MESSAGE)
    return next((text for text in texts if text), "")


def moment_ms(text: Any) -> float | None:
    """Return the time of a timestamp, in milliseconds since the Unix epoch; None where it is not one."""
    found = read_moment(text) if isinstance(text, str) else None
    return None if found is None else found.timestamp() * 1000


def read_number(fields: Any, key: str) -> float | None:
    """Return a number that something has by a key, if it is one that can be: not below 0, and not huge; else None."""
    found = fields.get(key) if isinstance(fields, Mapping) else None
    if not isinstance(found, int | float) or isinstance(found, bool):
        return None
    return float(found) if 0 <= found < _LARGEST else None


def read_count(fields: Any, key: str) -> float:
    """Return a whole number by a key, 0 where there is none; infinity for what is not a count.

    So sums and maxima with it are infinite as well, and `make_usage` sees that they are not known.
    """
    if not isinstance(fields, Mapping) or fields.get(key) is None:
        return 0
    found = read_number(fields, key)
    return math.inf if found is None else math.floor(found)


def make_usage(turns: int, counts: Mapping[str, float]) -> Usage | None:
    """Return the usage of a session by counts of `read_count`, which have the names of its fields.

    None where one of them is not known, or no token was read or written, which no turn of a model can do.
    """
    if not all(map(math.isfinite, counts.values())):
        return None
    usage = Usage(
        turns=turns,
        input_tokens=int(counts["input_tokens"]),
        output_tokens=int(counts["output_tokens"]),
        cache_read_tokens=int(counts["cache_read_tokens"]),
        cache_write_tokens=int(counts["cache_write_tokens"]),
        premium_requests=0,
    )
    return usage if usage.tokens else None


def join_texts(content: Any, *, kinds: Sequence[str] = ("text", "input_text", "output_text", "Text")) -> str:
    """Return the texts of a message or a result, which is a text or a list of parts; of other parts their kind."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return msgspec.json.encode(content, enc_hook=str).decode()
    found = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            kind = str(part.get("type") or "part")
            found.append(str(part.get("text") or "") if kind in kinds else f"[{kind}]")
    return "\n".join(found)


def skill_of_call(tool: str, arguments: Any) -> tuple[str, str] | None:
    """Return the name and the path of the skill that a call loads, where no form says so: by its tool, or its `SKILL.md`."""
    if not isinstance(arguments, Mapping):
        return None
    name = arguments.get("skill")
    if tool.lower() == "skill" and isinstance(name, str) and name:
        return name, ""
    if tool.lower() in _READERS or canonical_tool(tool) == canonical_tool("view"):
        paths = (arguments.get(key) for key in _PATHS)
        return next(
            (found for path in paths if isinstance(path, str) and (found := skill_of_path(path))), None
        )
    for key in ("command", "cmd"):
        given = arguments.get(key)
        text = " ".join(map(str, given)) if isinstance(given, list) else given
        if isinstance(text, str) and (shown := _SHOWN.search(text)):
            return shown["name"], shown["path"]
    return None


def skill_of_path(path: str) -> tuple[str, str] | None:
    """Return the name and the path of the skill that a path of a `SKILL.md` is of."""
    found = _SKILL_FILE.fullmatch(path)
    return (found["name"], path) if found else None
