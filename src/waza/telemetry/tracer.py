"""Spans and metrics of a run, made of its events as they happen.

`waza.eval` > `waza.task` > `waza.trial` > `waza.attempt` > `waza.turn` > `waza.tool_call`, `waza.model_call`; graders,
judges, hooks and mocks are below what they belong to, and prompts of trigger tests are `waza.trigger`. Attributes follow the conventions of OpenTelemetry for generative
AI (semantic-conventions-genai v0.1.0), and are `waza.*` where these have none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.trace import Tracer

from waza.model.attempt_event import (
    AttemptFinished,
    AttemptStarted,
    CommandCalled,
    GraderFinished,
    GraderStarted,
    JudgeAnswered,
    JudgeAsked,
    McpCalled,
    ModelCalled,
    ToolCallFinished,
    ToolCallStarted,
    TriggerPromptFinished,
    TriggerPromptStarted,
)
from waza.model.event import (
    CheckpointGraded,
    HookRan,
    HookStarted,
    PromptSent,
    ResponseSeen,
    RunEvent,
    RunFinished,
    RunStarted,
    SuiteStarted,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    TrialStarted,
)
from waza.results.figures import figures_of
from waza.telemetry.agent_spans import AgentSpans, broken
from waza.telemetry.grading_spans import GradingSpans, grader_path
from waza.telemetry.measures import Measures
from waza.telemetry.payloads import Attributes, Payloads
from waza.telemetry.run_names import RunNames, attempt_path
from waza.telemetry.span_tree import Path, SpanFault, SpanTree


class RunSpans:
    """The tracer of one run: a listener of all its events."""

    def __init__(
        self, tracer: Tracer, measures: Measures, payloads: Payloads, parent: Context, *, compat: bool
    ) -> None:
        self._tree = SpanTree(tracer, parent)
        self._names = RunNames(measures, payloads, compat=compat)
        agent, grading = AgentSpans(self._tree, self._names), GradingSpans(self._tree, self._names)
        self._agent, self._grading = agent, grading
        self._handlers: dict[type[RunEvent], Callable[[Any], None]] = {
            RunStarted: self._start_run,
            RunFinished: self._finish_run,
            SuiteStarted: self._start_arm,
            TaskStarted: self._start_task,
            TaskFinished: self._finish_task,
            TrialStarted: self._start_trial,
            TrialFinished: self._finish_trial,
            HookStarted: self._start_hook,
            HookRan: self._finish_hook,
            AttemptStarted: agent.start_attempt,
            AttemptFinished: agent.finish_attempt,
            TriggerPromptStarted: agent.start_trigger,
            TriggerPromptFinished: agent.finish_trigger,
            PromptSent: agent.start_turn,
            ResponseSeen: agent.finish_turn,
            ToolCallStarted: agent.start_tool,
            ToolCallFinished: agent.finish_tool,
            ModelCalled: agent.add_model_call,
            CommandCalled: agent.add_command,
            McpCalled: agent.add_mcp,
            CheckpointGraded: self._note_checkpoint,
            GraderStarted: self._start_grader,
            GraderFinished: grading.finish_grader,
            JudgeAsked: grading.start_judge,
            JudgeAnswered: grading.finish_judge,
        }

    def handle(self, event: RunEvent) -> None:
        """Take an event, at the moment it happens."""
        if (handler := self._handlers.get(type(event))) is not None:
            handler(event)

    def environment(self, event: RunEvent) -> Mapping[str, str]:
        """Return `TRACEPARENT` and `TRACESTATE` for the processes of an attempt, a trigger prompt, a grader or a hook that has started."""
        match event:
            case AttemptStarted() | TriggerPromptStarted():
                return self._tree.environment(attempt_path(event))
            case GraderStarted():
                return self._tree.environment(grader_path(event))
            case HookStarted():
                return self._tree.environment(_hook_path(event))
        return {}

    def close(self) -> None:
        """End all spans that are still open: the run was cut off."""
        self._tree.end((), fault=SpanFault("cut_off", "the run was cut off"))

    def _start_run(self, event: RunStarted) -> None:
        self._names.set(event)
        self._tree.begin((), "waza.eval", {**self._names.labels, "waza.eval.run_id": event.run_id})

    def _finish_run(self, event: RunFinished) -> None:
        attributes: Attributes = {"waza.eval.status": event.status}
        if event.verdict:
            attributes["waza.eval.verdict"] = event.verdict
        reason = event.error or ("interrupted" if event.status == "cancelled" else "")
        fault = None if event.status == "complete" else self._names.fault(event.status, reason)
        self._tree.end((), attributes, fault)

    def _start_arm(self, event: SuiteStarted) -> None:
        self._names.arm = event.arm
        if event.resumed and (span := self._tree.span(())) is not None:
            span.set_attribute("waza.eval.resumed_trials", event.resumed)

    def _begin_task(self, task_id: str, name: str) -> None:
        """Start the span of a task, unless a hook before it did."""
        if (task_id,) not in self._tree:
            clean = self._names.payloads.name
            attributes: Attributes = {
                "waza.task.id": clean(task_id),
                "waza.task.name": clean(name),
                "waza.arm": self._names.arm,
            }
            self._tree.begin((task_id,), "waza.task", attributes)

    def _start_task(self, event: TaskStarted) -> None:
        self._begin_task(event.task_id, event.name)

    def _finish_task(self, event: TaskFinished) -> None:
        self._begin_task(event.task_id, event.name)
        attributes: Attributes = {
            "waza.task.status": event.status,
            "waza.task.score": float(event.score),
            "waza.task.cached": event.cached,
        }
        fault = self._names.fault("task", event.note or "a trial broke") if event.status == "error" else None
        self._tree.end((event.task_id,), attributes, fault)

    def _start_trial(self, event: TrialStarted) -> None:
        self._tree.begin((event.task_id, event.trial), "waza.trial", {"waza.trial.number": event.trial})

    def _finish_trial(self, event: TrialFinished) -> None:
        result, names = event.result, self._names
        score = float(figures_of(result, 0).score)
        attributes: Attributes = {
            "waza.trial.status": result.status,
            "waza.trial.score": score,
            "waza.trial.attempts": result.attempts,
        }
        fault = broken(names, result.status, result.error_msg, timed_out=bool(result.timed_out))
        took = self._tree.end((event.task_id, result.run_number), attributes, fault)
        labels = {**names.labels, "waza.arm": names.arm, "waza.trial.status": result.status}
        names.measures.trials.add(1, labels)
        names.measures.trial_seconds.record(took, labels)
        if result.status in ("passed", "failed"):
            names.measures.trial_score.record(score, labels)

    def _start_grader(self, event: GraderStarted) -> None:
        self._grading.start_grader(event, self._agent.latest_turn(attempt_path(event)))

    def _note_checkpoint(self, event: CheckpointGraded) -> None:
        trial = (event.task_id, event.trial)
        attempts = (path for path in self._tree if path[:2] == trial and len(path) == 3)
        if attempt := next(attempts, None):
            self._grading.note_checkpoint(event, attempt)

    def _start_hook(self, event: HookStarted) -> None:
        if event.task_id:
            self._begin_task(event.task_id, event.name)
        attributes: Attributes = {
            "waza.hook.point": event.point,
            **self._names.payloads.attributes("hook.command", event.command),
        }
        self._tree.begin(_hook_path(event), "waza.hook", attributes)

    def _finish_hook(self, event: HookRan) -> None:
        attributes: Attributes = {
            "waza.hook.ok": event.ok,
            **self._names.payloads.attributes("hook.output", event.output),
        }
        fault = None if event.ok else self._names.fault("hook", event.reason)
        self._tree.end(_hook_path(event), attributes, fault)


def _hook_path(event: HookStarted | HookRan) -> Path:
    return (event.task_id or 0, "hook", event.point)
