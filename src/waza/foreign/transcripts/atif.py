"""Trajectories in ATIF (Agent Trajectory Interchange Format), of any version 1.

What waza knows beyond the format is below `extra.waza` (`waza.foreign.export.atif` writes it), and wins.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec

from waza.errors import WazaError
from waza.foreign.notes import Notes
from waza.foreign.recognize import MAX_FILE
from waza.foreign.transcripts.session import (
    SessionBuilder,
    join_texts,
    make_usage,
    moment_ms,
    read_count,
    read_number,
    skill_of_call,
)
from waza.kit.json_text import read_loose_json
from waza.model.observation import Denial, SkillInvocation, Usage
from waza.model.recording import Recording, SubAgent

PREFIX = "ATIF-v1."
WAZA = "waza"
"""The key below `extra` of what waza adds."""
_COUNTS = {
    "input_tokens": ("prompt_tokens", "total_prompt_tokens"),
    "output_tokens": ("completion_tokens", "total_completion_tokens"),
    "cache_read_tokens": ("cached_tokens", "total_cached_tokens"),
}
_WRITTEN = "cache_creation_input_tokens"

Fields = Mapping[str, Any]


class VerdictAddition(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of a grader, as `extra.waza.verdicts` has it."""

    type: str
    """The type of the grader."""
    score: float
    """From 0 to 1."""
    weight: float
    """How much it counts."""
    passed: bool
    """Whether it passed."""
    feedback: str = ""
    """Why."""


class Additions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What waza writes below `extra.waza` of a trajectory: what the format has no place for."""

    run: str = ""
    """The id of the run."""
    suite: str = ""
    """The name of the suite."""
    skill: str = ""
    """The target of the suite."""
    task: str = ""
    """The id of the task."""
    trial: int = 0
    """The number of the trial, from 1."""
    arm: str = "main"
    """The arm."""
    status: str = ""
    """How the trial ended."""
    executor: str = ""
    """The executor."""
    verdicts: dict[str, VerdictAddition] = {}
    """The verdicts, by the names of graders."""
    final_output: str | None = None
    """The output of the trial."""
    usage: Usage | None = None
    """Tokens and requests, as results have them."""
    duration_ms: Annotated[int, msgspec.Meta(ge=0)] | None = None
    """Milliseconds that the agent worked."""
    skill_invocations: list[SkillInvocation] | None = None
    """The skills that the agent invoked."""
    denials: list[Denial] | None = None
    """The calls that its tool policy denied."""
    error: str | None = None
    """What broke the trial."""


def read_trajectory(file: BinaryIO, path: Path, name: str) -> Recording:
    """Read a trajectory. Raises WazaError for what is none."""
    del path
    root = _decode(file.read(MAX_FILE + 1), name)
    notes = Notes()
    agent = _object(root, "agent")
    added = _additions(root, notes, name)
    session = SessionBuilder()
    reader = _Reader(session, name, notes, _text(agent, "model_name"))
    reader.read(_steps(root, name))
    _finish(session, added)
    if root.get("continued_trajectory_ref"):
        notes.add(
            name, "continued_trajectory_ref", "the trajectory goes on in another file, which is not read"
        )
    subs = [one for one in root.get("subagent_trajectories") or () if isinstance(one, Mapping)]
    return Recording(
        file=name,
        form="atif",
        agent=_text(agent, "name"),
        version=_text(agent, "version"),
        session_id=_text(root, "session_id"),
        models=tuple(reader.models),
        turns=session.recorded_turns(),
        duration_ms=session.duration_ms if added.duration_ms is None else added.duration_ms,
        usage=added.usage or _usage(root, name),
        cost_usd=_cost(root, name),
        sub_agents=tuple(_sub_agent(one, name, notes) for one in subs),
        skills_inferred=added.skill_invocations is None,
        notes=tuple(map(str, notes)),
    )


def _decode(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > MAX_FILE:
        raise WazaError(f"{name}: the trajectory is larger than {MAX_FILE >> 20} MB, too much to be graded")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        try:
            root = msgspec.json.decode(data)
        except msgspec.DecodeError:  # halves of surrogate pairs, or numbers that are not finite
            root = read_loose_json(data)
    except (ValueError, RecursionError) as error:
        raise WazaError(f"{name}: the trajectory is not valid JSON: {error}; write it again") from error
    if not isinstance(root, dict) or not str(root.get("schema_version")).startswith(PREFIX):
        raise WazaError(f"{name}: is not a trajectory in ATIF 1 (schema_version: {PREFIX}…)")
    return root


def _steps(root: Fields, name: str) -> list[Fields]:
    steps = root.get("steps")
    if not isinstance(steps, list) or not all(isinstance(step, Mapping) for step in steps):
        raise WazaError(f"{name}: steps: is not a list of objects, so this is not a trajectory in ATIF")
    return steps


class _Reader:
    """Reads the steps of one trajectory."""

    def __init__(self, session: SessionBuilder, name: str, notes: Notes, model: str = "") -> None:
        self.session, self.name, self.notes, self.model = session, name, notes, model
        self.models: dict[str, None] = {}
        self._copied: str | None = None  # the prompt of an earlier part, which was copied

    def read(self, steps: list[Fields]) -> None:
        """Read the steps; those that were copied from an earlier part of the session are not of this one."""
        for number, step in enumerate(steps, 1):
            at, source = moment_ms(step.get("timestamp")), step.get("source")
            if step.get("is_copied_context") is True:
                if source == "user":
                    self._copied = join_texts(step.get("message"))
            elif source == "user":
                self.session.start_turn(join_texts(step.get("message")), at)
            elif source == "agent":
                if not self.session.turns:
                    self.session.start_turn(self._copied, None)
                if at is None:
                    self.session.lose_time()
                self._take_step(step, f"step-{number}", at)
            elif source != "system":
                self.notes.add(
                    self.name, f"steps of the source {str(source)[:40]!r}", "left out: it is not known"
                )

    def _take_step(self, step: Fields, key: str, at: float | None) -> None:
        session = self.session
        model = _text(step, "model_name") or self.model
        if model and step.get("llm_call_count") != 0:
            self.models[model] = None
        if _waza(step).get("message") is not False:
            session.message(key, join_texts(step.get("message")), at)
        results = list(_objects(_object(step, "observation").get("results")))
        for call in _objects(step.get("tool_calls")):
            call_id, name, given = (
                _text(call, "tool_call_id"),
                _text(call, "function_name"),
                call.get("arguments"),
            )
            added = _waza(call)
            given = added.get("arguments", given)
            session.call(call_id, name, given, at)
            result = next((one for one in results if _text(one, "source_call_id") == call_id), None)
            if result is not None:
                results.remove(result)
            success = self._end(call_id, added, result)
            if success is not False and (found := skill_of_call(name, given)):
                session.skill(*found)

    def _end(self, call_id: str, added: Fields, result: Fields | None) -> bool | None:
        """Add the end of a call; where the trajectory has no result, that is not known either."""
        if added.get("ended") is False:
            return False
        extra = _object(result, "extra") if result is not None else {}
        known = _waza(result or {})
        success = known.get("success")
        if not isinstance(success, bool):
            failed = extra.get("is_error")
            success = not failed if isinstance(failed, bool) else None
        content = None if result is None else result.get("content")
        value = known["result"] if "result" in known else None if content is None else join_texts(content)
        self.session.end(call_id, value, success, None, read_number(added, "duration_ms"))
        return success


def _finish(session: SessionBuilder, added: Additions) -> None:
    """End the last turn: a trajectory is written when its agent has ended, in whatever way."""
    if not session.turns:
        return
    if added.final_output is not None and added.final_output != session.output:
        session.message("", added.final_output)
    if added.skill_invocations is not None:
        for turn in session.turns:
            turn.skills.clear()
        session.turn.skills.extend(added.skill_invocations)
    session.turn.denials.extend(added.denials or ())
    session.end_turn()
    if added.error:
        session.fail(added.error)


def _additions(root: Fields, notes: Notes, name: str) -> Additions:
    try:
        added = msgspec.convert(_waza(root), Additions)
    except msgspec.ValidationError as error:
        notes.add(name, "extra.waza", f"left out: {error}")
        return Additions()
    if added.usage and any(count < 0 for count in _counts(added.usage)):
        notes.add(name, "extra.waza.usage", "left out: a count is below 0")
        return msgspec.structs.replace(added, usage=None)
    return added


def _counts(usage: Usage) -> tuple[float, ...]:
    return (
        usage.turns,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.premium_requests,
    )


def _waza(holder: Fields) -> Fields:
    """Return what waza added to something."""
    return _object(_object(holder, "extra"), WAZA)


def _sub_agent(root: Fields, name: str, notes: Notes) -> SubAgent:
    session = SessionBuilder()
    _Reader(session, name, notes).read(_steps(root, name))
    return SubAgent(
        id=_text(root, "trajectory_id") or _text(_object(root, "agent"), "name"),
        calls=session.calls,
        output=session.output,
    )


def _usage(root: Fields, name: str) -> Usage | None:
    """Return the tokens of a trajectory and of its sub-agents: the sums of its steps, or its totals where these are larger."""
    trajectories = list(_with_sub_agents(root))
    found = [one for one in (_own_usage(one, name) for one in trajectories) if one]
    if not found:
        return None
    turns = sum("metrics" in step and bool(step["metrics"]) for step in _own_steps(root, name))
    return make_usage(turns, {key: sum(one[key] for one in found) for key in found[0]})


def _with_sub_agents(root: Fields) -> Iterator[Fields]:
    yield root
    for one in root.get("subagent_trajectories") or ():
        if isinstance(one, Mapping):
            yield from _with_sub_agents(one)


def _own_steps(root: Fields, name: str) -> list[Fields]:
    return [step for step in _steps(root, name) if step.get("is_copied_context") is not True]


def _own_usage(root: Fields, name: str) -> dict[str, float] | None:
    metrics = [_object(step, "metrics") for step in _own_steps(root, name) if step.get("metrics")]
    totals = _object(root, "final_metrics")
    if not metrics and not any(total in totals for _, total in _COUNTS.values()):
        return None
    found: dict[str, float] = {
        key: max(sum(read_count(one, part) for one in metrics), read_count(totals, total))
        for key, (part, total) in _COUNTS.items()
    }
    written = sum(read_count(_object(one, "extra"), _WRITTEN) for one in metrics)
    found["cache_write_tokens"] = max(written, read_count(_object(totals, "extra"), _WRITTEN))
    return found


def _cost(root: Fields, name: str) -> float | None:
    """Return what the trajectory and its sub-agents cost; None where nothing says."""
    found = []
    for one in _with_sub_agents(root):
        steps = [read_number(_object(step, "metrics"), "cost_usd") for step in _own_steps(one, name)]
        known = [cost for cost in steps if cost is not None]
        total = read_number(_object(one, "final_metrics"), "total_cost_usd")
        found += [max(sum(known), total or 0)] if known or total is not None else []
    return sum(found) if found else None


def _object(holder: Fields, key: str) -> Fields:
    found = holder.get(key)
    return found if isinstance(found, Mapping) else {}


def _objects(found: Any) -> Iterator[Fields]:
    yield from (one for one in found if isinstance(one, Mapping)) if isinstance(found, list) else ()


def _text(holder: Fields, key: str) -> str:
    found = holder.get(key)
    return found if isinstance(found, str) else ""
