"""Spans made of events: those that no scripted agent brings about, such as calls reported as they happen."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.unit.report.factory import run

from waza.model.attempt_event import (
    AttemptFinished,
    AttemptStarted,
    GraderStarted,
    JudgeAnswered,
    JudgeAsked,
    McpCalled,
    ModelCalled,
    ToolCallFinished,
    ToolCallStarted,
)
from waza.model.event import (
    HookRan,
    HookStarted,
    PromptSent,
    ResponseSeen,
    RunEvent,
    RunFinished,
    RunStarted,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    TrialStarted,
)
from waza.model.observation import ModelCall, ModelUsage, ToolEvent, Usage
from waza.telemetry.measures import Measures
from waza.telemetry.payloads import Payloads
from waza.telemetry.span_tree import ci_context
from waza.telemetry.tracer import RunSpans

RUN = RunStarted(suite="s", path="p", skill="", executor="copilot-sdk", model="m", run_id="r")
TASK: dict[str, Any] = {"task_id": "t", "name": "T"}
ATTEMPT: dict[str, Any] = {**TASK, "trial": 1, "attempt": 1}
TURN: dict[str, Any] = {**ATTEMPT, "turn": 1}
BEFORE: list[RunEvent] = [
    RUN,
    TaskStarted(**TASK, index=1, total=1),
    TrialStarted(**TASK, trial=1, trials=1),
    AttemptStarted(**ATTEMPT, attempts=1, agent="helper"),
    PromptSent(**TURN, text="hi"),
]


class Traced:
    """A tracer whose spans stay here."""

    def __init__(self, environ: dict[str, str] | None = None, *, included: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = RunSpans(
            provider.get_tracer("test"),
            Measures(MeterProvider(shutdown_on_exit=False).get_meter("test")),
            Payloads(lambda value: value, included=included, compat=False),
            ci_context(environ or {}),
            compat=False,
        )

    def take(self, *events: RunEvent) -> None:
        for event in events:
            self.tracer.handle(event)

    def spans(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]

    def only(self, name: str) -> ReadableSpan:
        (found,) = self.spans(name)
        return found


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_calls_that_are_reported_as_they_happen_have_their_own_times() -> None:
    traced = Traced()
    traced.take(
        *BEFORE,
        ToolCallStarted(**TURN, call_id="a", tool="view", args={"path": "x"}),
        ModelCalled(**TURN, call=ModelCall(model="m-2", duration_ms=10**9, input_tokens=5, output_tokens=1)),
        ToolCallFinished(**TURN, call_id="a", tool="view", success=True, result="y"),
        ToolCallStarted(**TURN, call_id="b", tool="bash"),
        ResponseSeen(
            **TURN,
            text="yes",
            calls=(
                ToolEvent(turn=1, sequence=1, tool_call_id="a", tool_name="view", success=True),
                ToolEvent(turn=1, sequence=2, tool_call_id="b", tool_name="bash", success=False),
            ),
            usage=Usage(
                turns=1,
                input_tokens=5,
                output_tokens=1,
                cache_read_tokens=0,
                cache_write_tokens=0,
                premium_requests=1,
            ),
        ),
    )
    turn, model = traced.only("waza.turn"), traced.only("waza.model_call")
    calls = traced.spans("waza.tool_call")
    assert [attributes(call)["gen_ai.tool.call.id"] for call in calls] == ["a", "b"]
    assert "waza.time.estimated" not in attributes(calls[0]) | attributes(model)
    assert attributes(model)["gen_ai.response.model"] == "m-2"
    for span in (*calls, model):
        assert span.parent is not None
        assert span.parent.span_id == turn.context.span_id
        assert turn.start_time <= span.start_time <= span.end_time <= turn.end_time  # type: ignore[operator]  # as above
    cut = calls[1]
    assert (attributes(cut)["error.type"], cut.status.description) == ("cut_off", "it did not end")
    found = attributes(turn)
    assert found["gen_ai.provider.name"] == "github.copilot"
    assert found["gen_ai.agent.name"] == "helper"
    assert found["waza.usage.premium_requests"] == 1


def test_usage_by_model_makes_a_span_for_each() -> None:
    traced = Traced()
    part = ModelUsage(
        input_tokens=2,
        output_tokens=1,
        cache_read_tokens=0,
        cache_write_tokens=4,
        request_count=3,
        request_cost=1,
    )
    usage = Usage(
        turns=1,
        input_tokens=4,
        output_tokens=2,
        cache_read_tokens=0,
        cache_write_tokens=8,
        premium_requests=2,
        model_metrics={"a": part, "b": part},
    )
    traced.take(*BEFORE, ResponseSeen(**TURN, text="yes", usage=usage))
    models = [attributes(span) for span in traced.spans("waza.model_call")]
    assert [one["gen_ai.response.model"] for one in models] == ["a", "b"]
    assert {one["gen_ai.usage.cache_write.input_tokens"] for one in models} == {4}
    assert {one["waza.usage.premium_requests"] for one in models} == {3}
    assert all(one["waza.time.estimated"] for one in models)


def test_what_is_open_when_a_run_is_cut_off_ends_as_an_error() -> None:
    traced = Traced()
    traced.take(
        *BEFORE,
        GraderStarted(**ATTEMPT, grader="g", type="text"),
        JudgeAsked(**ATTEMPT, number=1, asker="g", question="?"),
    )
    traced.tracer.close()
    spans = traced.exporter.get_finished_spans()
    assert (spans[0].name, spans[-1].name) == ("waza.judge", "waza.eval")
    assert {span.status.description for span in spans} == {"the run was cut off"}
    assert {attributes(span)["error.type"] for span in spans} == {"cut_off"}
    judge, grader = traced.only("waza.judge"), traced.only("waza.grader")
    assert judge.parent is not None
    assert judge.parent.span_id == grader.context.span_id


def test_the_responder_and_mocks_are_below_the_attempt_and_the_turn() -> None:
    traced = Traced(included=True)
    traced.take(
        *BEFORE,
        McpCalled(
            **TURN,
            server="tickets",
            tool="find",
            args={"id": 1},
            result={"isError": True},
            error=True,
            duration_ms=2,
        ),
        ResponseSeen(**TURN, text="", error="no time", timed_out=True),
        JudgeAsked(**ATTEMPT, number=1, asker="responder", question="?"),
        JudgeAnswered(**ATTEMPT, number=1, asker="responder", error="it broke", calls=("responder_stop",)),
        AttemptFinished(
            **ATTEMPT, result=msgspec.structs.replace(run(1, "error"), error_msg="no time", timed_out=True)
        ),
        TrialFinished(**TASK, trials=1, result=msgspec.structs.replace(run(1, "error"), error_msg="no time")),
        TaskFinished(**TASK, index=1, total=1, status="error", score=0, duration_ms=1, note="a hook failed"),
        RunFinished(status="stopped", error="the server is gone", verdict="failed"),
    )
    mcp, judge, attempt = traced.only("waza.mcp_call"), traced.only("waza.judge"), traced.only("waza.attempt")
    assert attributes(mcp)["waza.mcp.server"] == "tickets"
    assert attributes(mcp)["gen_ai.tool.call.arguments"] == '{"id":1}'
    assert mcp.parent is not None
    assert mcp.parent.span_id == traced.only("waza.turn").context.span_id
    assert judge.parent is not None
    assert judge.parent.span_id == attempt.context.span_id
    types = {
        span.name: (attributes(span).get("error.type"), span.status.description)
        for span in traced.exporter.get_finished_spans()
    }
    assert types == {
        "waza.mcp_call": ("tool_error", "the answer is an error"),
        "waza.turn": ("timeout", "no time"),
        "waza.judge": ("judge", "it broke"),
        "waza.attempt": ("timeout", "no time"),
        "waza.trial": ("executor", "no time"),
        "waza.task": ("task", "a hook failed"),
        "waza.eval": ("stopped", "the server is gone"),
    }


@pytest.mark.parametrize(
    "parent", ["", "nonsense", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"]
)
def test_children_continue_the_trace_of_a_job_or_start_one(
    parent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACESTATE", "of=another")
    traced = Traced({"TRACEPARENT": parent, "TRACESTATE": "ci=1"})
    hook = HookStarted(point="before_run", command="x")
    traced.take(RUN, hook)
    environment = traced.tracer.environment(hook)
    own = parent.startswith("00-")
    assert (environment["TRACEPARENT"].split("-")[1] == "0af7651916cd43dd8448eb211c80319c") is own
    sampled = int(environment["TRACEPARENT"][-2:], 16) & 1
    assert bool(sampled) is not own  # what is not sampled stays so
    assert environment["TRACESTATE"] == ("ci=1" if own else "")
    traced.take(HookRan(point="before_run", command="x", output="", ok=True))
    assert traced.tracer.environment(hook) == {}
