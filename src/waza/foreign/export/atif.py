"""Trials as trajectories in ATIF 1.8. What the format has no place for goes below `extra.waza`.

`waza.foreign.transcripts.atif` reads them again, with the same tool calls and usage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from waza.foreign.transcripts.atif import WAZA, Additions, VerdictAddition
from waza.model.observation import ANSWER, COMPLETE, FAILURE, MESSAGE, PROMPT, START, Event, ToolEvent, Usage
from waza.model.recording import TranscriptRecord
from waza.model.result import SuiteResult, TaskResult, TrialResult
from waza.model.trial import Arm
from waza.report.conversation import calls_of, result_text
from waza.results.ending import GRADING
from waza.results.outcome import Outcome
from waza.results.transcripts import read_transcript_records

VERSION = "ATIF-v1.8"
_REASONING = "assistant.reasoning"
_UNKNOWN = "unknown"  # the format wants a version of the agent

Document = dict[str, Any]


class Trajectory(msgspec.Struct, frozen=True):
    """A trial as a trajectory."""

    task: str
    """The id of the task."""
    trial: int
    """The number of the trial, from 1."""
    arm: Arm
    """The arm."""
    document: Document
    """The trajectory."""


def make_trajectories(outcome: Outcome) -> Iterator[Trajectory]:
    """Yield a trajectory for each trial of a run, one after another."""
    records = read_transcript_records(outcome.head)
    arms: tuple[tuple[Arm, Iterator[TaskResult]], ...] = (
        ("main", outcome.tasks()),
        ("baseline", outcome.baseline_tasks()),
    )
    for arm, tasks in arms:
        for task in tasks:
            for trial in task.runs:
                record = records.get((task.test_id, trial.run_number))
                document = make_trajectory(outcome.head, task, trial, arm, record)
                yield Trajectory(task.test_id, trial.run_number, arm, document)


def make_trajectory(
    head: SuiteResult,
    task: TaskResult,
    trial: TrialResult,
    arm: Arm = "main",
    record: TranscriptRecord | None = None,
) -> Document:
    """Return a trial as a trajectory. `record` is what it was graded from, if it ran elsewhere."""
    steps = _Steps(trial)
    usage = trial.session_digest.usage or trial.usage
    agent = {
        "name": (record.agent if record else "") or head.config.engine_type or _UNKNOWN,
        "version": (record.version if record else "") or _UNKNOWN,
        "model_name": head.config.model_id or None,
    }
    return _without_nulls(
        {
            "schema_version": VERSION,
            "session_id": trial.session_digest.session_id or None,
            "trajectory_id": f"{head.eval_id}/{arm}/{task.test_id}/{trial.run_number}",
            "agent": _without_nulls(agent),
            "steps": steps.steps,
            "notes": steps.notes,
            "final_metrics": _metrics(usage, len(steps.steps), record),
            "extra": {WAZA: msgspec.to_builtins(_additions(head, task, trial, arm, usage), enc_hook=str)},
        }
    )


def _additions(
    head: SuiteResult, task: TaskResult, trial: TrialResult, arm: Arm, usage: Usage | None
) -> Additions:
    return Additions(
        run=head.eval_id,
        suite=head.eval_name,
        skill=head.skill,
        task=task.test_id,
        trial=trial.run_number,
        arm=arm,
        status=trial.status,
        executor=head.config.engine_type,
        final_output=trial.final_output,
        usage=usage,
        duration_ms=trial.duration_ms or None,
        skill_invocations=list(trial.skill_invocations),
        denials=list(trial.session_digest.tool_policy_denials),
        error=trial.error_msg.partition(GRADING)[0].rstrip("; ") or None,
        verdicts={
            name: VerdictAddition(
                type=one.type, score=one.score, weight=one.weight, passed=one.passed, feedback=one.feedback
            )
            for name, one in (trial.validations or {}).items()
        },
    )


def _metrics(usage: Usage | None, steps: int, record: TranscriptRecord | None) -> Document:
    known: Document = {"total_steps": steps, "total_cost_usd": record.cost_usd if record else None}
    if usage is not None and usage.tokens:
        known |= {
            "total_prompt_tokens": usage.input_tokens,
            "total_completion_tokens": usage.output_tokens,
            "total_cached_tokens": usage.cache_read_tokens,
            "extra": {"cache_creation_input_tokens": usage.cache_write_tokens},
        }
    return _without_nulls(known)


class _Steps:
    """The steps of a trial: prompts, and what the agent wrote with the calls that followed."""

    def __init__(self, trial: TrialResult) -> None:
        self.steps: list[Document] = []
        self._calls = {call.tool_call_id: call for call in calls_of(trial)}
        self._of_calls: dict[str, Document] = {}  # the steps that calls are in
        self._agent: Document | None = None  # the step of the agent at hand
        self._reasoning: list[str] = []
        self._others = Counter[str]()
        for event in trial.transcript:
            self._add(event)
        if not trial.transcript:  # of an older file, or of a trial that broke early
            self._user(trial.prompt)
            for number, call in enumerate(calls_of(trial), 1):
                call_id = call.tool_call_id or f"call-{number}"
                self._start(call_id, call)
                self._end(call_id, call)
        wrote = any(step["message"] for step in self.steps if step["source"] == "agent")
        if trial.final_output and not wrote:
            self._message(trial.final_output)

    @property
    def notes(self) -> str | None:
        """What of the transcript is not in the steps."""
        if not self._others:
            return None
        found = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._others.items()))
        return f"events without a place in a trajectory: {found}"

    def _add(self, event: Event) -> None:
        match event.type:
            case str(kind) if kind == PROMPT:
                self._user(_text(event.content))
            case str(kind) if kind == MESSAGE:
                self._message(_text(event.content) or _text(event.message))
            case str(kind) if kind == ANSWER:
                if _text(event.content) not in [step["message"] for step in self.steps[-1:]]:
                    self._message(_text(event.content))
            case str(kind) if kind == START:
                self._start(event.tool_call_id, self._call(event))
            case str(kind) if kind == COMPLETE and event.tool_call_id in self._of_calls:
                self._end(event.tool_call_id, self._call(event))
            case str(kind) if kind == _REASONING:
                self._reasoning.append(_text(event.content))
            case str(kind) if kind != FAILURE:
                self._others[kind] += 1

    def _call(self, event: Event) -> ToolEvent:
        """Return the call of an event; one that the results do not list is as its events have it."""
        known = self._calls.get(event.tool_call_id)
        return known or ToolEvent(
            turn=1,
            sequence=1,
            tool_name=event.tool_name,
            args=event.arguments,
            result=event.tool_result,
            success=event.success,
        )

    def _user(self, text: str) -> None:
        self._agent = None
        self._step("user", text)

    def _message(self, text: str) -> None:
        self._agent = self._step("agent", text)
        if self._reasoning:
            self._agent["reasoning_content"] = "\n".join(self._reasoning)
            self._reasoning.clear()

    def _step(self, source: str, text: str) -> Document:
        step: Document = {"step_id": len(self.steps) + 1, "source": source, "message": text}
        self.steps.append(step)
        return step

    def _start(self, call_id: str, call: ToolEvent) -> None:
        if self._agent is None:  # the agent called a tool before it wrote anything
            self._agent = self._step("agent", "")
            self._agent["extra"] = {WAZA: {"message": False}}
        step = self._of_calls[call_id] = self._agent
        is_object = isinstance(call.args, dict)
        added = {
            "ended": False,
            "duration_ms": call.duration_ms or None,
            "started_ms": call.started_ms,
            "arguments": None if is_object else call.args,
        }
        step.setdefault("tool_calls", []).append(
            {
                "tool_call_id": call_id,
                "function_name": call.tool_name,
                "arguments": call.args if is_object else {},
                "extra": {WAZA: _without_nulls(added)},
            }
        )

    def _end(self, call_id: str, call: ToolEvent) -> None:
        step = self._of_calls[call_id]
        made = next(one for one in step["tool_calls"] if one["tool_call_id"] == call_id)
        made["extra"][WAZA].pop("ended", None)
        if not made["extra"][WAZA]:
            del made["extra"]
        added: Document = {"success": call.success}
        if call.truncated:
            added |= {"truncated": True, "result_bytes": call.result_bytes}
        if not isinstance(call.result, str):
            added["result"] = call.result
        known = {} if call.success is None else {"is_error": not call.success}
        step.setdefault("observation", {"results": []})["results"].append(
            {
                "source_call_id": call_id,
                "content": result_text(call.result),
                "extra": {**known, WAZA: added},
            }
        )


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value, enc_hook=str).decode()


def _without_nulls(found: Document) -> Document:
    return {key: value for key, value in found.items() if value is not None}
