"""`--otel-exporter`: spans and metrics of whole runs, as a collector gets them."""

from __future__ import annotations

import json
import signal
import socket
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from tests.support.collector import METRICS, TRACES, Collector, Seen, collecting
from tests.support.documents import document
from tests.support.documents import run as run_document
from tests.support.live import Project
from tests.support.program import newest_results, waza, write_tree

TRACE, JOB = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
IN_JOB = {"TRACEPARENT": f"00-{TRACE}-{JOB}-01", "TRACESTATE": "ci=42"}
SECRET = "ghp_" + "a1B2c3D4e5" * 4
TASK = """
id: t
inputs: {prompt: hi, follow_up_prompts: [more]}
graders:
  - {type: text, name: words, weight: 2, config: {contains: ["yes"]}}
  - {type: prompt, name: review, config: {prompt: Look.}}
checkpoints:
  - {after_turn: 1, graders: [{type: text, name: early, config: {contains: [ye]}}]}
mock:
  executions:
    - turns: [{output: ye, delay_ms: 40}, {output: "no"}]
      judge: {review: [{pass: fine}]}
    - turns:
        - output: ye
          delay_ms: 40
          tool_calls:
            - {name: view, args: {path: x}, result: y, duration_ms: 5}
            - {name: bash, args: {command: ls}, result: z, success: false, duration_ms: 10}
        - {output: "yes", usage: {input_tokens: 7, output_tokens: 3, cache_read_tokens: 2}}
      judge: {review: [{pass: fine}]}
"""
BROKEN = "id: broken\ninputs: {prompt: hi}\nmock: {turns: [{output: x, error: it fell over}]}\n"
HOOKS = "hooks: {before_run: [{command: exit 0}], after_task: [{command: exit 3}]}"


def suite(root: Path, *, config: str = "", tasks: dict[str, str] | None = None, head: str = HOOKS) -> Path:
    text = f"name: s\n{head}\nconfig: {{executor: mock, model: m1{config}}}\ntasks: ['tasks/*.yaml']\n"
    files = {f"tasks/{name}.yaml": task for name, task in (tasks or {"t": TASK}).items()}
    return write_tree(root, {"eval.yaml": text, **files})


def evaluations(span: Seen) -> list[tuple[str, float | None, str | None]]:
    prefix = "gen_ai.evaluation."
    return [
        (data[f"{prefix}name"], data.get(f"{prefix}score.value"), data.get(f"{prefix}score.label"))
        for name, data in span.events
        if name == f"{prefix}result"
    ]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Collector:
    """What arrives of a run on two models, with two trials at the same time, retries, and a task that breaks."""
    root = suite(
        tmp_path_factory.mktemp("run"),
        config=", trials_per_task: 2, max_attempts: 2, parallel: true, workers: 2",
        tasks={"t": TASK, "broken": BROKEN},
    )
    with collecting() as collector:
        ended = waza(
            *("run", "eval.yaml", "--model", "m1", "--model", "m2", "--otel-exporter", "otlp"),
            *("--otel-endpoint", f"127.0.0.1:{collector.port}", "--otel-headers", "x-team=k1,x-other=k2"),
            cwd=root,
            env=IN_JOB,
        )
        assert ended.code == 1, ended.err
        assert "telemetry" not in ended.err
        assert "x-team=k1" not in ended.err  # in the command that resumes
    return collector


def test_every_span_is_below_the_one_it_belongs_to(seen: Collector) -> None:
    above = {
        "waza.task": {"waza.eval"},
        "waza.trial": {"waza.task"},
        "waza.attempt": {"waza.trial"},
        "waza.turn": {"waza.attempt"},
        "waza.tool_call": {"waza.turn"},
        "waza.model_call": {"waza.turn"},
        "waza.grader": {"waza.attempt"},
        "waza.judge": {"waza.grader"},
        "waza.hook": {"waza.eval", "waza.task"},
    }
    assert {span.name for span in seen.spans} == {"waza.eval", *above}
    for span in seen.spans:
        if span.name != "waza.eval":
            assert seen.parent(span).name in above[span.name]
    counts = {name: len(seen.named(name)) for name in above}
    # For each model: 2 tasks, 2 trials of each; the attempts of t are repeated, those that break are not.
    assert (counts["waza.task"], counts["waza.trial"], counts["waza.attempt"]) == (4, 8, 12)
    assert (counts["waza.turn"], counts["waza.grader"], counts["waza.judge"]) == (20, 24, 8)


def test_times_are_those_at_which_it_happened(seen: Collector) -> None:
    for span in seen.spans:
        assert span.start <= span.end
        if span.name != "waza.eval":
            parent = seen.parent(span)
            assert parent.start <= span.start
            assert span.end <= parent.end
    delayed = [span for span in seen.named("waza.turn") if span.attributes["waza.turn.number"] == 1]
    slow = [span for span in delayed if seen.parent(span).error is None]
    assert len(slow) == 8
    assert all(span.end - span.start >= 35e6 for span in slow)
    for attempt in seen.named("waza.attempt"):
        inside = [span for span in seen.spans if span.parent == attempt.id]
        ordered = sorted(inside, key=lambda span: span.start)
        assert all(one.end <= other.start for one, other in pairwise(ordered))
    calls = [span for span in seen.named("waza.tool_call") if span.attributes["gen_ai.tool.name"] == "view"]
    assert {span.end - span.start for span in calls} == {5_000_000}
    # Trials ran at the same time.
    trials = [span for span in seen.named("waza.trial") if span.error is None]
    assert any(a.start < b.end and b.start < a.end for a in trials for b in trials if a is not b)


def test_statuses_and_descriptions(seen: Collector) -> None:
    errors = {(span.name, span.error) for span in seen.spans if span.error is not None}
    assert errors == {
        ("waza.turn", "it fell over"),
        ("waza.attempt", "it fell over"),
        ("waza.trial", "it fell over"),
        ("waza.task", "a trial broke"),
        ("waza.tool_call", "the call failed"),
        ("waza.hook", "exit status 3"),
    }
    failed = [
        span for span in seen.named("waza.attempt") if span.attributes["waza.attempt.status"] == "failed"
    ]
    assert len(failed) == 4  # which is no error
    for name in ("waza.turn", "waza.attempt", "waza.trial"):
        types = {span.attributes["error.type"] for span in seen.named(name) if span.error is not None}
        assert types == {"executor"}
    runs = [
        (span.attributes["waza.eval.status"], span.attributes["waza.eval.verdict"])
        for span in seen.named("waza.eval")
    ]
    assert runs == [("complete", "failed")] * 2


def test_the_trace_of_a_job_goes_on(seen: Collector) -> None:
    assert {span.trace for span in seen.spans} == {TRACE}
    assert {span.parent for span in seen.named("waza.eval")} == {JOB}
    assert {span.state for span in seen.spans} == {"ci=42"}


def test_attributes_of_the_conventions(seen: Collector) -> None:
    evals = [span.attributes for span in seen.named("waza.eval")]
    assert {one["gen_ai.request.model"] for one in evals} == {"m1", "m2"}
    assert all(one["waza.eval.run_id"].startswith("run-") for one in evals)
    turns = [span.attributes for span in seen.named("waza.turn")]
    for one in turns:
        assert one["gen_ai.operation.name"] == "invoke_agent"
        assert one["gen_ai.provider.name"] == "mock"
        assert one["gen_ai.conversation.id"].startswith("mock-session-")
    assert {(one["waza.turn.number"], one["waza.turn.kind"]) for one in turns} == {
        (1, "initial"),
        (2, "follow_up"),
    }
    (model, *others) = [span.attributes for span in seen.named("waza.model_call")]
    assert (model["gen_ai.usage.input_tokens"], model["gen_ai.usage.output_tokens"]) == (7, 3)
    assert model["gen_ai.usage.cache_read.input_tokens"] == 2
    assert model["waza.time.estimated"] is True
    assert len(others) == 3
    call = seen.named("waza.tool_call")[0].attributes
    assert (call["gen_ai.operation.name"], call["gen_ai.tool.name"]) == ("execute_tool", "view")
    assert call["gen_ai.tool.call.id"] == "call-1-1"
    numbers = {
        (span.attributes["waza.trial.number"], span.attributes["waza.attempt.number"])
        for span in seen.named("waza.attempt")
    }
    assert numbers == {(trial, attempt) for trial in (1, 2) for attempt in (1, 2)}
    assert {span.attributes["waza.trial.number"] for span in seen.named("waza.trial")} == {1, 2}
    judge = seen.named("waza.judge")[0].attributes
    assert (judge["gen_ai.operation.name"], judge["waza.judge.asker"]) == ("chat", "review")
    old = {"gen_ai.system", "gen_ai.prompt", "gen_ai.completion", "gen_ai.usage.cache_read_tokens"}
    assert not [span for span in seen.spans if span.attributes.keys() & old]


def test_each_evaluation_is_an_event_with_a_link_to_what_it_judged(seen: Collector) -> None:
    graders = seen.named("waza.grader")
    found = {evaluation for span in graders for evaluation in evaluations(span)}
    assert found == {
        ("early", 1.0, "pass"),
        ("words", 0.0, "fail"),
        ("words", 1.0, "pass"),
        ("review", 1.0, "pass"),
    }
    by_id = {span.id: span for span in seen.spans}
    for span in graders:
        (judged,) = span.links
        turn = by_id[judged].attributes["waza.turn.number"]
        assert turn == (1 if span.attributes["waza.grader.name"] == "early" else 2)
        assert by_id[judged].parent == span.parent


def test_texts_are_left_out_but_for_their_digests(seen: Collector) -> None:
    turn = seen.named("waza.turn")[0].attributes
    assert turn["waza.prompt.sha256"] == sha256(b"hi").hexdigest()
    assert turn["waza.prompt.length"] == 2
    call = seen.named("waza.tool_call")[0].attributes
    assert call["waza.tool.arguments.sha256"] == sha256(b'{"path":"x"}').hexdigest()
    assert call["waza.tool.result.length"] == 1
    texts = {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.call.arguments"}
    assert not [span for span in seen.spans if span.attributes.keys() & texts]
    assert not [
        data for span in seen.spans for _, data in span.events if "gen_ai.evaluation.explanation" in data
    ]


def test_metrics_arrive_beside_the_spans(seen: Collector) -> None:
    assert {path for path, _ in seen.requests} == {TRACES, METRICS}
    assert {headers["x-team"] + headers["x-other"] for _, headers in seen.requests} == {"k1k2"}
    assert seen.resources[0]["service.name"] == "waza"

    def total(name: str, **labels: Any) -> float:
        return sum(value for data, value in seen.points[name] if labels.items() <= data.items())

    assert total("waza.trials", **{"waza.trial.status": "passed"}) == 4
    assert total("waza.trials", **{"waza.trial.status": "error", "gen_ai.request.model": "m2"}) == 2
    assert total("waza.attempts") == 12
    assert total("waza.trial.score") == 4
    assert total("gen_ai.client.token.usage", **{"gen_ai.token.type": "input"}) == 28
    assert total("gen_ai.client.inference.usage.output_tokens") == 12
    assert total("waza.trial.duration") > 0.3
    turns = sum(span.end - span.start for span in seen.named("waza.turn")) / 1e9
    assert total("gen_ai.invoke_agent.duration") == pytest.approx(turns, abs=0.001)


AGENT = """
import os, subprocess, sys
print("TRACE", os.environ.get("TRACEPARENT", "none"), os.environ.get("TRACESTATE", "none"))
print(subprocess.run(["tickets", "list"], capture_output=True, text=True).stdout)
"""
CHECK = "import os, sys\nopen(sys.argv[1], 'a').write(os.environ.get('TRACEPARENT', 'none') + chr(10))\n"


def agent_suite(root: Path) -> Path:
    config = 'executor: command, executor_options: {command: "python3 \\"$WAZA_SUITE_DIR/agent.py\\""}'
    task = f"""
id: t
inputs: {{prompt: "the key is {SECRET}"}}
command_mocks: [{{name: tickets, responses: [{{args: [list], stdout: none}}]}}]
graders:
  - {{type: program, name: trace, config: {{command: python3, args: [check.py, seen.txt]}}}}
  - {{type: text, name: words, config: {{contains: [TRACE]}}}}
"""
    hook = "hooks: {before_task: [{command: 'python3 check.py hook.txt'}]}"
    files = {"eval.yaml": f"name: s\n{hook}\nconfig: {{{config}}}\ntasks: [t.yaml]\n", "t.yaml": task}
    return write_tree(root, {**files, "agent.py": AGENT, "check.py": CHECK})


def in_file(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spans_by_name(path: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in in_file(path):
        if "name" in line:
            found.setdefault(line["name"], []).append(line)
    return found


def id_of(span: dict[str, Any]) -> str:
    return f"00-{span['context']['trace_id'][2:]}-{span['context']['span_id'][2:]}"


def test_agents_hooks_and_programs_continue_the_trace(tmp_path: Path) -> None:
    root = agent_suite(tmp_path)
    write_tree(root, {"spans.ndjson": "of an earlier run\n"})
    ended = waza("run", "eval.yaml", "--otel-exporter", "file", "--otel-file", "spans.ndjson", cwd=root)
    assert ended.code == 0, ended.err
    spans = spans_by_name(root / "spans.ndjson")
    (attempt,), (hook,), (eval_span,) = spans["waza.attempt"], spans["waza.hook"], spans["waza.eval"]
    (run,) = newest_results(root)["tasks"][0]["runs"]
    word, parent, state = run["final_output"].splitlines()[0].split()
    assert (word, parent.rpartition("-")[0], state) == ("TRACE", id_of(attempt), "none")
    assert (root / "hook.txt").read_text().rpartition("-")[0] == id_of(hook)
    (grader,) = (one for one in spans["waza.grader"] if one["attributes"]["waza.grader.name"] == "trace")
    assert (root / "seen.txt").read_text().rpartition("-")[0] == id_of(grader)
    assert eval_span["parent_id"] is None
    (call,) = spans["waza.command_call"]
    assert call["attributes"]["process.executable.name"] == "tickets"
    assert call["attributes"]["process.exit.code"] == 0
    assert call["parent_id"] == spans["waza.turn"][0]["context"]["span_id"]
    assert in_file(root / "spans.ndjson")[-1].keys() == {"resource_metrics"}
    assert SECRET not in (root / "spans.ndjson").read_text()


def test_without_telemetry_the_trace_of_a_job_is_handed_on_as_it_is(tmp_path: Path) -> None:
    root = agent_suite(tmp_path)
    assert waza("run", "eval.yaml", cwd=root, env=IN_JOB).code == 0
    (run,) = newest_results(root)["tasks"][0]["runs"]
    assert run["final_output"].splitlines()[0] == f"TRACE {IN_JOB['TRACEPARENT']} ci=42"
    assert (root / "seen.txt").read_text() == f"{IN_JOB['TRACEPARENT']}\n"


def test_payloads_are_redacted_and_old_names_are_beside_the_new_ones(tmp_path: Path) -> None:
    task = f"""
id: t
inputs: {{prompt: "the key is {SECRET}"}}
graders: [{{type: text, name: words, config: {{contains: [nothing]}}}}]
mock:
  turns:
    - output: "I saw {SECRET}"
      usage: {{input_tokens: 5, output_tokens: 2, cache_read_tokens: 1}}
      tool_calls: [{{name: bash, args: {{command: "echo {SECRET}"}}, result: "{SECRET}"}}]
"""
    root = suite(tmp_path, tasks={"t": task}, head="")
    flags = ("--otel-include-payloads", "--otel-compat", "--otel-file", "o.ndjson")
    ended = waza("run", "eval.yaml", "--otel-exporter", "file", *flags, cwd=root)
    assert ended.code == 1
    assert SECRET not in (root / "o.ndjson").read_text()
    spans = spans_by_name(root / "o.ndjson")
    turn = spans["waza.turn"][0]["attributes"]
    (message,) = json.loads(turn["gen_ai.input.messages"])
    assert message["role"] == "user"
    assert message["parts"][0]["content"].startswith("the key is ")
    assert turn["gen_ai.prompt"].startswith("the key is ")
    assert turn["gen_ai.completion"].startswith("I saw ")
    assert json.loads(turn["gen_ai.output.messages"])[0]["finish_reason"] == "stop"
    assert (turn["gen_ai.system"], turn["gen_ai.usage.cache_read_tokens"]) == ("mock", 1)
    assert "waza.prompt.sha256" not in turn
    call = spans["waza.tool_call"][0]["attributes"]
    for name in ("gen_ai.tool.call.arguments", "gen_ai.tool.arguments"):
        assert json.loads(call[name])["command"].startswith("echo ")
    assert call["gen_ai.tool.call.result"] == call["gen_ai.tool.result"]
    (event,) = spans["waza.grader"][0]["events"]
    assert "nothing" in event["attributes"]["gen_ai.evaluation.explanation"]


def test_stdout_is_left_to_json_and_spans_go_to_stderr(tmp_path: Path) -> None:
    root = suite(tmp_path, tasks={"t": "inputs: {prompt: hi}\n"}, head="")
    ended = waza("run", "eval.yaml", "--json", "--otel-exporter", "stdout", cwd=root)
    assert json.loads(ended.out)["eval_name"] == "s"
    names = [json.loads(line).get("name") for line in ended.err.splitlines() if line.startswith("{")]
    assert names == ["waza.turn", "waza.attempt", "waza.trial", "waza.task", "waza.eval", None]


@pytest.mark.parametrize("answer", ["refused", "500", pytest.param("hangs", marks=pytest.mark.slow)])
def test_a_broken_collector_changes_nothing_but_a_warning(tmp_path: Path, answer: str) -> None:
    root = suite(tmp_path, tasks={"t": "inputs: {prompt: hi}\n"}, head="")
    with collecting(status=500, hanging=answer == "hangs") as collector:
        port = collector.port
        if answer == "refused":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        endpoint = f"http://user:{SECRET}@127.0.0.1:{port}/v1/traces"
        env = {"OTEL_EXPORTER_OTLP_TIMEOUT": "1"} if answer != "hangs" else {}
        ended = waza(
            "run", "eval.yaml", "--otel-exporter", "otlp", "--otel-endpoint", endpoint, cwd=root, env=env
        )
    assert ended.code == 0
    (warning,) = [line for line in ended.err.splitlines() if "telemetry" in line]
    assert f"5 of 5 spans and metrics did not reach the collector 127.0.0.1:{port}" in warning
    assert "Traceback" not in ended.err
    assert SECRET not in ended.err
    assert newest_results(root)["metadata"]["verdict"]["passed"] is True
    if answer != "refused":
        assert {path for path, _ in collector.requests} == {TRACES, METRICS}


@pytest.mark.parametrize(
    ("status", "header", "why"),
    [
        (302, "Location", "it answered 302, a redirect"),
        (200, "Content-Type", "a page of HTML, so it is no collector"),
    ],
)
def test_what_is_no_answer_of_a_collector_is_no_success(
    tmp_path: Path, status: int, header: str, why: str
) -> None:
    root = suite(tmp_path, tasks={"t": "inputs: {prompt: hi}\n"}, head="")
    with collecting() as other:
        headers = {
            header: {"Location": f"{other.url}/v1/traces", "Content-Type": "text/html; charset=utf-8"}[header]
        }
        with collecting(status=status, headers=headers) as collector:
            flags = ("--otel-endpoint", collector.url, "--otel-headers", f"x-key={SECRET}")
            ended = waza("run", "eval.yaml", "--otel-exporter", "otlp", *flags, cwd=root)
    (warning,) = [line for line in ended.err.splitlines() if "telemetry" in line]
    assert "5 of 5 spans and metrics did not reach the collector" in warning
    assert why in warning
    assert (ended.code, other.requests) == (0, [])


def test_what_a_collector_refuses_of_what_arrived_is_a_warning(tmp_path: Path) -> None:
    root = suite(tmp_path, tasks={"t": "inputs: {prompt: hi}\n"}, head="")
    why = "too many\nattributes \x1b[31m"
    spans = ExportTraceServiceResponse()
    spans.partial_success.rejected_spans, spans.partial_success.error_message = 2, why
    points = {"partialSuccess": {"rejectedDataPoints": "3"}, "new": 1}
    only_said = ExportTraceServiceResponse()
    only_said.partial_success.error_message = "send fewer"
    flags = ("--otel-exporter", "otlp", "--otel-endpoint")
    cases = [
        ({TRACES: spans.SerializeToString()}, {}, "refused 2 of 5 spans: too many attributes \\x1b[31m"),
        (
            {METRICS: json.dumps(points).encode()},
            {"Content-Type": "application/json"},
            "refused 3 data points: it does not say why",
        ),
        ({TRACES: only_said.SerializeToString()}, {}, "took all spans, with a warning: send fewer"),
        ({TRACES: b"\xff no message"}, {}, ""),
    ]
    for answers, headers, warning in cases:
        with collecting(answers=answers, headers=headers) as collector:
            ended = waza("run", "eval.yaml", *flags, collector.url, cwd=root)
        assert (ended.code, len(collector.spans)) == (0, 5)
        said = [line for line in ended.err.splitlines() if "telemetry" in line]
        target = f"the collector 127.0.0.1:{collector.port}"
        whole = f"telemetry: {target} {warning}; the results are whole"
        assert len(said) == bool(warning)
        assert all(whole in line for line in said)


def test_waiting_for_a_collector_can_be_interrupted(project: Project) -> None:
    suite(project.home, tasks={"t": "inputs: {prompt: hi}\n"}, head="")
    with collecting(hanging=True) as collector:
        flags = ("--otel-exporter", "otlp", "--otel-endpoint", collector.url)
        with project.started("run", "eval.yaml", *flags) as run:
            run.until(lambda: METRICS in {path for path, _ in collector.requests})  # the run is over
            run.send(signal.SIGINT)
            ended = run.ended()
    assert ended.code == 0
    assert "waiting for it was interrupted; the results are whole" in ended.err


def test_a_run_that_is_interrupted_and_resumed(project: Project) -> None:
    slow = "id: b\ninputs: {prompt: hi}\nmock: {turns: [{output: never, delay_ms: 600000}]}\n"
    suite(
        project.home,
        config=", timeout_seconds: 900",
        tasks={"a": "inputs: {prompt: hi}\n", "b": slow},
        head="",
    )
    with collecting() as collector:
        flags, env = ("--otel-exporter", "otlp"), {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        with project.started("run", "eval.yaml", *flags, env=env) as run:
            run.until(lambda: len(project.finished()) == 1)
            run.send(signal.SIGINT)
            assert run.process.wait(60) == 130
        assert "telemetry" not in run.err
        (cut,) = collector.named("waza.eval")
        assert (cut.error, cut.attributes["error.type"]) == ("interrupted", "cancelled")
        (turn,) = [span for span in collector.named("waza.turn") if span.error is not None]
        assert turn.attributes["error.type"] == "cut_off"
        collector.spans.clear()
        log = ("--session-log", "--session-dir", "logs")
        with project.started("run", "eval.yaml", "--resume", *flags, *log, env=env) as again:
            again.until(
                lambda: any("turn_start" in path.read_text() for path in (project.home / "logs").glob("*"))
            )
            again.send(signal.SIGINT)
            assert again.process.wait(60) == 130
        (resumed,) = collector.named("waza.eval")
        assert resumed.attributes["waza.eval.resumed_trials"] == 1
        assert resumed.attributes["waza.eval.run_id"] == cut.attributes["waza.eval.run_id"]
        assert [span.attributes["waza.task.id"] for span in collector.named("waza.task")] == ["b"]


def test_recorded_results_that_are_graded_again(tmp_path: Path) -> None:
    root = suite(tmp_path, config=", trials_per_task: 2", head="")
    waza("run", "eval.yaml", "-o", "r.json", cwd=root)
    flags = ("--otel-exporter", "file", "--otel-file", "g.ndjson")
    ended = waza("grade", "eval.yaml", "--results", "r.json", *flags, cwd=root)
    assert ended.code == 0, ended.err
    spans = spans_by_name(root / "g.ndjson")
    assert {name: len(found) for name, found in spans.items()} == {
        "waza.eval": 1,
        "waza.task": 1,
        "waza.trial": 2,
        "waza.grader": 4,
        "waza.judge": 2,
    }
    trials = {span["context"]["span_id"] for span in spans["waza.trial"]}
    assert {span["parent_id"] for span in spans["waza.grader"]} == trials


def test_tasks_from_the_cache_have_no_turns(tmp_path: Path) -> None:
    asked = TASK.replace("id: t\n", "id: asked\n")
    plain = "id: plain\ninputs: {prompt: hi}\ngraders: [{type: text, name: w, config: {contains: [hi]}}]\n"
    root = suite(tmp_path, config=", max_attempts: 2", tasks={"asked": asked, "plain": plain}, head="")
    assert waza("run", "eval.yaml", "--cache", cwd=root).code == 0
    flags = ("--otel-exporter", "file", "--otel-file", "spans.ndjson")
    ended = waza("run", "eval.yaml", "--cache", *flags, cwd=root)
    assert ended.code == 0, ended.err
    spans = spans_by_name(root / "spans.ndjson")
    assert {name: len(found) for name, found in spans.items()} == {
        "waza.eval": 1,
        "waza.task": 2,
        "waza.trial": 1,
        "waza.grader": 1,
        "waza.judge": 1,  # the judge is asked again
    }
    assert all(span["attributes"]["waza.task.cached"] for span in spans["waza.task"])
    assert spans["waza.grader"][0]["parent_id"] == spans["waza.trial"][0]["context"]["span_id"]


def test_a_trace_that_is_not_sampled_is_a_warning(tmp_path: Path) -> None:
    root = suite(tmp_path, tasks={"t": "inputs: {prompt: hi}\n"}, head="")
    flags = ("--otel-exporter", "file", "--otel-file", "spans.ndjson")
    ended = waza("run", "eval.yaml", *flags, cwd=root, env={"TRACEPARENT": f"00-{TRACE}-{JOB}-00"})
    assert ended.code == 0
    assert "telemetry: no spans were sent" in ended.err
    assert spans_by_name(root / "spans.ndjson") == {}


def test_evaluation_documents(tmp_path: Path) -> None:
    ended, _ = run_document(
        tmp_path,
        document({"prompt": "hi", "expected_response": "hi"}),
        *("--agent", "command:cat; echo $TRACEPARENT >> seen.txt"),
        *("--otel-exporter", "file", "--otel-file", "spans.ndjson"),
    )
    assert ended.code in (0, 1), ended.err
    spans = spans_by_name(tmp_path / "spans.ndjson")
    (attempt,) = spans["waza.attempt"]
    assert (tmp_path / "seen.txt").read_text().rpartition("-")[0] == id_of(attempt)
    assert len(spans["waza.turn"]) == 1
    assert spans["waza.grader"]


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    root = suite(tmp_path)
    ended = waza("run", "eval.yaml", "--otel-exporter", "file", cwd=root)
    assert (ended.code, "--otel-file FILE" in ended.err) == (2, True)
    ended = waza("run", "eval.yaml", "--otel-exporter", "file", "--otel-file", "no/dir.ndjson", cwd=root)
    assert ended.code == 2
    assert "no/dir.ndjson cannot be written" in ended.err
    assert not (root / ".waza").exists()
