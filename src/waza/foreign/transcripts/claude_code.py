"""Sessions of Claude Code: the files that it keeps, and what `claude -p --output-format stream-json` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from waza.foreign.notes import Notes
from waza.foreign.transcripts.lines import TranscriptLines
from waza.foreign.transcripts.session import (
    SessionBuilder,
    join_texts,
    make_usage,
    moment_ms,
    read_count,
    read_number,
)
from waza.kit.files import is_inside
from waza.kit.text import pluralize
from waza.model.observation import Usage
from waza.model.recording import Recording, SubAgent

AGENT = "Claude Code"
SYNTHETIC = "<synthetic>"  # the model of messages that the program itself writes
INTERRUPTED = "[Request interrupted by user"
_BASE = re.compile(r"Base directory for this skill: (?P<directory>[^\n]+)")
_LOCAL = (
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
)  # of commands that no agent sees run
_SKIPPED = frozenset({
    "api-request", "api-request-end", "api-request-start", "attachment", "cost-state", "file-history-snapshot",
    "last-prompt", "progress", "queue-operation", "stream_event", "summary", "system", "tools-used",
    "rate_limit_event", "result",
})  # fmt: skip


class _Message(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: str | list[Any] = ""
    stop_reason: str | None = None
    usage: dict[str, Any] | None = None


class _Head(msgspec.Struct):
    """What every line has, as far as it has it."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815  # the file format's own spelling, as below
    logicalParentUuid: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    parent_tool_use_id: str | None = None


class _Line(_Head):
    """A message of the user or of the agent."""

    message: _Message = msgspec.field(default_factory=_Message)
    timestamp: str | None = None
    sessionId: str | None = None  # noqa: N815
    session_id: str | None = None
    version: str | None = None
    isMeta: bool | None = None  # noqa: N815
    isSynthetic: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    sourceToolUseID: str | None = None  # noqa: N815
    toolDenialKind: str | None = None  # noqa: N815
    permissionDecision: Any = None  # noqa: N815

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The content as a list of blocks."""
        content = self.message.content
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [one if isinstance(one, dict) else {"type": "text", "text": str(one)} for one in content]


class _Cost(msgspec.Struct):
    """The state of the costs, or the result of a stream: the figures of the session."""

    totalCostUSD: float | None = None  # noqa: N815
    total_cost_usd: float | None = None
    modelUsage: dict[str, dict[str, Any]] = {}  # noqa: N815
    usage: dict[str, Any] | None = None
    subtype: str | None = None
    is_error: bool | None = None
    result: Any = None
    errors: Any = None
    duration_ms: float | None = None
    permission_denials: list[dict[str, Any]] = []


class _Attachment(msgspec.Struct):
    attachment: dict[str, Any] = {}


class _Init(msgspec.Struct):
    session_id: str | None = None
    claude_code_version: str | None = None
    skills: list[Any] | None = None


class _Figures(msgspec.Struct):
    """Tokens: `input` has those of the cache in it."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0

    def largest(self, other: _Figures) -> _Figures:
        """Return the larger one of each figure."""
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return _Figures(*(max(pair) for pair in pairs))

    def __add__(self, other: _Figures) -> _Figures:
        pairs = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return _Figures(*(sum(pair) for pair in pairs))


class _Reader:
    """Reads messages, those of sub-agents apart."""

    def __init__(self) -> None:
        self.main = SessionBuilder()
        self.subs: dict[str, SessionBuilder] = {}
        self.usage: dict[str, _Figures] = {}  # by message
        self.models: dict[str, None] = {}
        self.session_id = self.version = ""
        self.offered: dict[str, None] | None = None
        self.cost = _Cost()
        self._skills: dict[str, str] = {}  # names by their calls, until it is known whether they were loaded
        self._loading: str = ""  # the call of the skill whose text comes next
        self._denied: set[str] = set()

    def sub(self, name: str) -> SessionBuilder:
        """Return the builder of a sub-agent."""
        return self.subs.setdefault(name, SessionBuilder())

    def take(self, line: _Line, sub_agent: str = "") -> None:
        """Take a message, of a sub-agent if one is named."""
        session = self.sub(sub_agent) if sub_agent else self.main
        self.version = line.version or self.version
        if line.type == "assistant":
            self._take_reply(session, line, is_main=not sub_agent)
        else:
            self._take_user(session, line, is_main=not sub_agent)

    def _take_reply(self, session: SessionBuilder, line: _Line, *, is_main: bool) -> None:
        message, at = line.message, moment_ms(line.timestamp)
        text = join_texts([one for one in line.blocks if one.get("type") == "text"])
        if line.isApiErrorMessage:
            session.fail(text or "the model could not be reached")
            return
        if message.model and message.model != SYNTHETIC and is_main:
            self.models[message.model] = None
        session.message(message.id or line.uuid or "", text, at)
        for block in line.blocks:
            if block.get("type") == "tool_use":
                call_id, name, given = (
                    str(block.get("id") or ""),
                    str(block.get("name") or ""),
                    block.get("input"),
                )
                session.call(call_id, name, given, at)
                if is_main and name == "Skill" and isinstance(given, dict):
                    self._skills[call_id] = str(given.get("skill") or given.get("command") or "")
        if message.stop_reason == "tool_use":
            session.expect_calls()
        elif message.stop_reason in ("end_turn", "stop_sequence"):
            session.end_turn()
        if message.usage is not None:
            key = message.id or line.uuid or f"line-{len(self.usage)}"
            self.usage[key] = _figures(message.usage).largest(self.usage.get(key, _Figures()))

    def _take_user(self, session: SessionBuilder, line: _Line, *, is_main: bool) -> None:
        at = moment_ms(line.timestamp)
        results = [block for block in line.blocks if block.get("type") == "tool_result"]
        for block in results:
            self._take_result(session, line, block, at, is_main=is_main)
        if results or line.isCompactSummary:
            return
        text = join_texts([block for block in line.blocks if block.get("type") != "thinking"])
        if line.isMeta or line.isSynthetic:
            if is_main and (found := _BASE.match(text)):
                self._load_skill(found["directory"].strip(), line.sourceToolUseID or self._loading)
            return
        if text.startswith(INTERRUPTED):
            session.fail("the user interrupted the agent")
        elif not text.startswith(_LOCAL):
            session.start_turn(text, at)

    def _take_result(
        self, session: SessionBuilder, line: _Line, block: dict[str, Any], at: float | None, *, is_main: bool
    ) -> None:
        call_id, failed = str(block.get("tool_use_id") or ""), block.get("is_error") is True
        text = join_texts(block.get("content"))
        if not session.end(call_id, text, not failed, at):
            return
        if is_main and call_id in self._skills:
            self._loading = "" if failed else call_id
            if failed:
                del self._skills[call_id]
            else:
                self.main.skill(_skill_name(self._skills[call_id]))
        decision = line.permissionDecision
        rejected = isinstance(decision, dict) and decision.get("decision") == "reject"
        if failed and (line.toolDenialKind or rejected):
            self.deny(call_id, session.tool_of(call_id), line.toolDenialKind or "permission", text)

    def deny(self, call_id: str, tool: str, kind: str, reason: str) -> None:
        """Note a denied call, once."""
        if call_id not in self._denied:
            self._denied.add(call_id)
            self.main.deny(tool, kind, reason)

    def _load_skill(self, directory: str, call_id: str) -> None:
        """Add the path of a skill whose text was loaded; without a call, the user invoked it."""
        separator = "\\" if "\\" in directory and "/" not in directory else "/"
        path = f"{directory.rstrip(separator)}{separator}SKILL.md"
        name = directory.rstrip("/\\").replace("\\", "/").rpartition("/")[2]
        known, self._loading = self._skills.pop(call_id, None), ""
        for turn in reversed(self.main.turns) if known is not None else ():
            for place, skill in enumerate(turn.skills):
                if skill.name == _skill_name(known or "") and not skill.path:
                    turn.skills[place] = msgspec.structs.replace(skill, path=path)
                    return
        self.main.skill(name, path)

    @property
    def figures(self) -> _Figures | None:
        """What the messages used together; None: no message says."""
        if not self.usage:
            return None
        total = _Figures()
        for one in self.usage.values():
            total += one
        return total

    def sub_agents(self) -> tuple[SubAgent, ...]:
        """Return the sub-agents."""
        return tuple(SubAgent(id=name, calls=one.calls, output=one.output) for name, one in self.subs.items())


def read_session(file: BinaryIO, path: Path, name: str) -> Recording:
    """Read a session file, with those of its sub-agents in the folder beside it."""
    notes, reader = Notes(), _Reader()
    lines = TranscriptLines(file, name, notes)
    kept, parents = (
        list[_Line](),
        dict[str, _Head](),
    )  # the latter: what leads from each line to the one before it
    for data in lines:
        head = lines.decode(data, _Head)
        if head is None or (head.uuid and head.uuid in parents):
            continue  # damaged; or copied once more, when the session was resumed
        if head.uuid and not head.isSidechain:
            parents[head.uuid] = head
        if head.type in ("user", "assistant"):
            if (line := lines.decode(data, _Line)) is not None:
                lines.hold(data)
                kept.append(line)
        else:
            _take_other(reader, head.type, data, lines)
    chosen = list(_choose(kept, _branch(parents)))
    if left := len(kept) - len(chosen):
        notes.add(name, pluralize(left, "message"), "left out: the session was rewound to before them")
    for line in chosen:
        reader.session_id = line.sessionId or reader.session_id  # the last one: a resumed session has another
        reader.take(line, (line.agentId or "sub-agent") if line.isSidechain else "")
    _read_sub_agents(reader, path, name, notes)
    return _recording(reader, lines, notes, "claude-code")


def _take_other(reader: _Reader, kind: str, data: bytes, lines: TranscriptLines) -> None:
    """Take a line of a session file that is not a message."""
    if kind == "attachment":
        found = lines.decode(data, _Attachment)
        names = found.attachment.get("names") if found else None
        if found and found.attachment.get("type") == "skill_listing" and isinstance(names, list):
            reader.offered = {**(reader.offered or {}), **dict.fromkeys(map(str, names))}
    elif kind == "cost-state":
        reader.cost = lines.decode(data, _Cost) or reader.cost
    elif kind not in _SKIPPED:
        lines.unknown(kind)


def _branch(parents: dict[str, _Head]) -> set[str]:
    """Return the ids of the lines that lead to the last one: what a rewind left is not among them."""
    order = list(parents)
    places = {uuid: place for place, uuid in enumerate(order)}
    found, at = set[str](), order[-1] if order else None
    while at is not None and at not in found:
        found.add(at)
        line = parents[at]
        before = line.parentUuid or line.logicalParentUuid
        compacted = before is None and line.subtype == "compact_boundary"
        if compacted or (before is not None and before not in parents):
            # The line before is lost, or not named: the one before it in the file takes its place.
            before = order[places[at] - 1] if places[at] else None
        at = before
    return found


def _choose(lines: Iterable[_Line], branch: set[str]) -> Iterator[_Line]:
    """Yield the lines of a branch, and those that belong to its messages: parallel calls and their results fork."""
    lines = list(lines)
    messages = {line.message.id for line in lines if line.uuid in branch and line.message.id}
    calls = {
        str(block.get("id"))
        for line in lines
        if line.type == "assistant" and (line.uuid in branch or line.message.id in messages)
        for block in line.blocks
        if block.get("type") == "tool_use"
    }
    for line in lines:
        results = {
            str(block.get("tool_use_id")) for block in line.blocks if block.get("type") == "tool_result"
        }
        if (
            line.isSidechain
            or line.uuid is None
            or line.uuid in branch
            or line.message.id in messages
            or results & calls
            or (line.isMeta and line.sourceToolUseID in calls)
        ):
            yield line


def _read_sub_agents(reader: _Reader, path: Path, name: str, notes: Notes) -> None:
    folder = path.with_suffix("") / "subagents"
    for file in sorted(folder.glob("agent-*.jsonl")) if folder.is_dir() else ():
        if not is_inside(path.parent, file):
            notes.add(name, file.name, "left out: the link leads out of the folder of the session")
            continue
        with file.open("rb") as opened:
            lines = TranscriptLines(opened, f"{name}: {file.name}", notes)
            for data in lines:
                head = lines.decode(data, _Head)
                line = lines.decode(data, _Line) if head and head.type in ("user", "assistant") else None
                if line is not None:
                    lines.hold(data)
                    reader.take(line, line.agentId or file.stem.removeprefix("agent-"))


def read_stream(file: BinaryIO, path: Path, name: str) -> Recording:
    """Read what `claude -p --output-format stream-json --verbose` printed; it does not have the prompt."""
    del path
    notes, stream = Notes(), _Stream()
    lines = TranscriptLines(file, name, notes)
    for data in lines:
        if (head := lines.decode(data, _Head)) is not None:
            stream.take(head, data, lines)
    stream.reader.usage.clear()  # the figures of messages are those of their starts
    return _recording(stream.reader, lines, notes, "claude-stream")


class _Stream:
    """Reads the lines of a stream."""

    def __init__(self) -> None:
        self.reader = _Reader()
        self.answered = False  # there is a result, and nothing after it

    def take(self, head: _Head, data: bytes, lines: TranscriptLines) -> None:
        """Take a line."""
        if head.type == "system" and head.subtype == "init":
            if (found := lines.decode(data, _Init)) is not None:
                self._begin(found)
        elif head.type in ("user", "assistant"):
            if (line := lines.decode(data, _Line)) is not None:
                lines.hold(data)
                self._take_message(line)
        elif head.type == "result":
            if (cost := lines.decode(data, _Cost)) is not None:
                self._end(cost)
        elif head.type not in _SKIPPED:
            lines.unknown(head.type)

    def _begin(self, found: _Init) -> None:
        self.reader.session_id = found.session_id or self.reader.session_id
        self.reader.version = found.claude_code_version or self.reader.version
        if found.skills is not None:
            self.reader.offered = dict.fromkeys(map(str, found.skills))

    def _take_message(self, line: _Line) -> None:
        sub_agent = line.parent_tool_use_id or ""
        if self.answered and not sub_agent and line.type == "assistant":
            self.reader.main.start_turn(None, None)
        self.answered = self.answered and bool(sub_agent)
        self.reader.take(line, sub_agent)

    def _end(self, result: _Cost) -> None:
        session, self.answered, self.reader.cost = self.reader.main, True, result
        text = result.result if isinstance(result.result, str) else ""
        failed = bool(result.is_error) or (result.subtype or "success") != "success"
        if text and not failed and text != session.output:
            session.message("", text)
        session.end_turn(result.duration_ms)
        for denied in result.permission_denials:
            call_id, tool = str(denied.get("tool_use_id") or ""), str(denied.get("tool_name") or "")
            self.reader.deny(call_id, tool, "permission", "the call was not permitted")
        if failed:
            session.fail(f"the session ended with {result.subtype or 'an error'}{': ' if text else ''}{text}")


def _recording(reader: _Reader, lines: TranscriptLines, notes: Notes, form: str) -> Recording:
    cost, offered = reader.cost, reader.offered
    turns = max(reader.main.messages, 1)
    figures = _totals(cost)
    if (counted := reader.figures) is not None:
        figures = counted if figures is None else figures.largest(counted)
    return Recording(
        file=lines.name,
        form=form,
        agent=AGENT,
        version=reader.version,
        session_id=reader.session_id,
        models=tuple(reader.models),
        turns=reader.main.recorded_turns(lines, says_end=form == "claude-stream"),
        duration_ms=reader.main.duration_ms,
        usage=None if figures is None else _usage(figures, turns),
        cost_usd=_cost_usd(cost),
        offered_skills=None if offered is None else tuple(offered),
        sub_agents=reader.sub_agents(),
        notes=tuple(map(str, notes)),
    )


def _usage(figures: _Figures, turns: int) -> Usage | None:
    counts = {
        "input_tokens": figures.input,
        "output_tokens": figures.output,
        "cache_read_tokens": figures.cache_read,
        "cache_write_tokens": figures.cache_write,
    }
    return make_usage(turns, counts)


def _cost_usd(cost: _Cost) -> float | None:
    given = {"usd": cost.total_cost_usd if cost.totalCostUSD is None else cost.totalCostUSD}
    return read_number(given, "usd")


def _totals(cost: _Cost) -> _Figures | None:
    """Return the figures that the session gives of itself, those of sub-agents included where it has them."""
    if not cost.modelUsage:
        return _figures(cost.usage) if cost.usage is not None else None
    total = _Figures()
    for used in cost.modelUsage.values():
        read, write = read_count(used, "cacheReadInputTokens"), read_count(used, "cacheCreationInputTokens")
        total += _Figures(
            read_count(used, "inputTokens") + read + write, read_count(used, "outputTokens"), read, write
        )
    return total


def _figures(usage: dict[str, Any]) -> _Figures:
    read, write = (
        read_count(usage, "cache_read_input_tokens"),
        read_count(usage, "cache_creation_input_tokens"),
    )
    return _Figures(
        read_count(usage, "input_tokens") + read + write, read_count(usage, "output_tokens"), read, write
    )


def _skill_name(name: str) -> str:
    """Return the name of a skill; one of a plugin has that of the plugin before it."""
    return name.rpartition(":")[2]
