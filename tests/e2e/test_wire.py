"""Agents whose models waza sees on the wire: `executor: command` with a program that asks a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.model_server import Call, ModelServer, Reply, Usage
from tests.support.program import Ended, waza, write_tree

KEY = "sk-real-key-5b1e77aa90"
SKILL = "---\nname: tidy\ndescription: Tidies up what lies around.\n---\nPut things where they belong.\n"

AGENT = '''
"""A loop as anybody would write it: asks the model, runs its commands, until it has an answer."""
import json, os, subprocess, sys, urllib.request

system = os.environ.get("SYSTEM", "You are an agent.")
messages = [{"role": "system", "content": system}, {"role": "user", "content": sys.stdin.read()}]
print(json.dumps(dict(os.environ)), file=open(os.environ["WAZA_SUITE_DIR"] + "/environment.json", "w"))
for _ in range(9):
    body = {"model": "test-model", "messages": messages, "stream": STREAM}
    if STREAM:
        body["stream_options"] = {"include_usage": True}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as error:
        print("Sorry, it did not work:", error.code)
        sys.exit(0)
    message = {"role": "assistant", "content": "", "tool_calls": []}
    if STREAM:
        for line in text.splitlines():
            if not line.startswith("data: {"):
                continue
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                message["content"] += delta.get("content") or ""
                for part in delta.get("tool_calls") or []:
                    if part.get("id"):
                        message["tool_calls"].append({**part, "function": {"name": "", "arguments": ""}})
                    call = message["tool_calls"][-1]["function"]
                    call["name"] += part["function"].get("name") or ""
                    call["arguments"] += part["function"].get("arguments") or ""
    else:
        message |= {k: v for k, v in json.loads(text)["choices"][0]["message"].items() if v}
    messages.append(message)
    if not message["tool_calls"]:
        print(message["content"])
        break
    for call in message["tool_calls"]:
        args = json.loads(call["function"]["arguments"])
        done = subprocess.run(args.get("command", "true"), shell=True, capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
'''
SCRIPT = [
    Reply("I look.", calls=[Call("bash", {"command": "echo found-it"})], usage=Usage(100, 7, 40)),
    lambda turn: Reply(f"The tool said {turn.tool_results[-1].strip()}.", usage=Usage(150, 9, 60)),
]
GRADERS = """
graders:
  - {type: text, name: said, config: {contains: [found-it]}}
  - {type: tool_calls, name: looked, config: {required_tools: [bash]}}
"""


def run(
    root: Path,
    *flags: str,
    wire: str | None = "auto",
    script: Any = SCRIPT,
    graders: str = GRADERS,
    config: str = "",
    stream: bool = False,
    agent: str = AGENT,
    env: dict[str, str] | None = None,
    code: int = 0,
) -> tuple[Ended, dict[str, Any], ModelServer]:
    """Run one task on the agent; return how the call ended, the trial, and the server."""
    line = f"  wire: {wire}\n" if wire else ""
    suite = (
        f"name: wired\nskill: tidy\nconfig:\n  executor: command\n{line}{config}  skill_directories: [skills]\n"
        "  executor_options: {command: 'python3 \"$WAZA_SUITE_DIR/agent.py\"'}\n"
        f"tasks: [task.yaml]\n{graders}"
    )
    write_tree(
        root,
        {
            "eval.yaml": suite,
            "task.yaml": "id: a\ninputs: {prompt: Look around}\n",
            "agent.py": f"STREAM = {stream}\n{agent}",
            "skills/tidy/SKILL.md": SKILL,
        },
    )
    with ModelServer({"Look around": script}) as server:
        known = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
        ended = waza("run", "eval.yaml", *flags, cwd=root, env={**known, **(env or {})})
    assert ended.code == code, ended.err + ended.out
    runs = ended.results()["tasks"][0]["runs"] if code in (0, 1) else [{}]
    return ended, runs[0], server


@pytest.mark.parametrize("stream", [False, True])
def test_the_calls_and_tokens_of_any_agent_are_seen(tmp_path: Path, stream: bool) -> None:
    _, trial, server = run(tmp_path, stream=stream)
    assert (trial["status"], trial["final_output"]) == ("passed", "The tool said found-it.")
    [call] = trial["tool_events"]
    assert (call["tool_name"], call["args"]) == ("bash", {"command": "echo found-it"})
    assert call["result"].strip() == "found-it"
    usage = trial["session_digest"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_tokens"]) == (250, 16, 100)
    assert usage["model_metrics"]["test-model"]["request_count"] == 2
    assert trial["models_served"] == ["test-model"]
    assert "wire_differences" not in trial
    exchanges = [event["message"] for event in trial["transcript"] if event["type"] == "wire.exchange"]
    assert [one["ending"] for one in exchanges] == ["whole", "whole"]
    assert exchanges[0]["texts"][1].startswith("Look around")
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}


def test_the_agent_never_has_the_key(tmp_path: Path) -> None:
    run(tmp_path, env={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_AUTH_TOKEN": KEY})
    seen = (tmp_path / "environment.json").read_text()
    assert KEY not in seen
    given = json.loads(seen)
    assert given["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")
    assert given["ANTHROPIC_API_KEY"] == given["OPENAI_API_KEY"] != KEY
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in written


@pytest.mark.parametrize(
    ("system", "offered", "loaded"),
    [
        ("You have skills:\n- tidy: Tidies up what\n  lies around.\n- other: No.", "full", None),
        ("<skill><name>tidy</name><description>Tidies up</description></skill>", "name", None),
        ("You have no skills, so be tidy.", "absent", None),
        ("More skills (invoke by name): other, tidy\n</skills>", "name", None),
        ("More skills (invoke by name): other, tidy-up", "absent", None),
        ("Base directory: /x\n\nPut things where they belong.\n", "full", True),
    ],
)
def test_how_the_skill_was_offered_is_seen(
    tmp_path: Path, system: str, offered: str, loaded: bool | None
) -> None:
    _, trial, _ = run(tmp_path, env={"SYSTEM": system})
    assert trial["skill_offered"] == offered
    assert trial.get("skill_loaded") is (loaded or False)
    assert "other_skills_offered" not in trial


def test_an_agent_that_goes_around_the_wire_is_an_error(tmp_path: Path) -> None:
    _, trial, _ = run(tmp_path, agent='print("found-it, believe me")\n', code=1)
    assert trial["status"] == "error"
    assert "no request of the agent to a model was seen" in trial["error_msg"]


def test_an_error_of_the_model_is_no_answer_of_the_agent(tmp_path: Path) -> None:
    _, trial, _ = run(tmp_path, script=[Reply(status=500)], graders="", code=1)
    assert (trial["status"], trial["final_output"]) == ("error", "Sorry, it did not work: 500")
    assert "the model did not answer: status 500" in trial["error_msg"]


def test_faults_are_injected(tmp_path: Path) -> None:
    wire = "{mode: auto, faults: [{request: 2, status: 429, retry_after: 1}]}"
    _, trial, server = run(tmp_path, wire=wire, code=1)
    assert trial["status"] == "error"
    assert "injected: status 429" in trial["error_msg"]
    assert len(server.requests) == 1


# Goes round in circles until it is told to stop.
CIRCLES = [Reply("I look.", calls=[Call("bash", {"command": "echo found-it"})], usage=Usage(100, 20))]


@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ("trial: {max_total_tokens: 300}", "limits.trial.max_total_tokens is met: 360 of 300 tokens used"),
        ("trial: {max_cost: 0.5}", "limits.trial.max_cost is met: 0.6 of 0.5 used"),
        ("max_total_tokens: 240", "limits.max_total_tokens is met: 240 of 240 tokens used"),
    ],
)
def test_limits_stop_an_agent_within_a_turn_and_before_its_next_request(
    tmp_path: Path, limits: str, used: str
) -> None:
    prices = "prices: {models: {test-model: {input: 1000, output: 5000}}}\n"  # 0.2 a request
    write_tree(tmp_path, {".waza.yaml": prices})
    config = f"  model: test-model\n  limits: {{{limits}}}\n"
    ended, trial, server = run(tmp_path, script=CIRCLES, config=config, code=1)
    assert trial["status"] == "error"
    assert used in trial["error_msg"]
    assert used in trial["final_output"]  # which is what the agent was answered
    assert len(server.requests) == (2 if "240" in used else 3)
    metadata = ended.results()["metadata"]
    of_run = "trial" not in limits
    assert metadata["run_status"] == ("limit" if of_run else "complete")
    assert (used in metadata.get("limit", "")) is of_run


def test_the_tokens_of_requests_are_counted_once(tmp_path: Path) -> None:
    config = "  limits: {max_total_tokens: 266}\n"
    ended, trial, _ = run(tmp_path, config=config)
    assert trial["session_digest"]["usage"]["input_tokens"] == 250
    assert trial["session_digest"]["usage"]["output_tokens"] == 16
    assert ended.results()["metadata"]["run_status"] == "complete"
    config = "  limits: {max_total_tokens: 265}\n"
    over, trial, _ = run(tmp_path / "over", config=config, code=1)
    assert trial["status"] == "passed"
    assert "266 of 265 tokens used" in over.results()["metadata"]["limit"]


def test_without_a_wire_nothing_is_known_of_tools(tmp_path: Path) -> None:
    ended, _, server = run(tmp_path, wire="off", code=2)
    assert "needs reports of tool calls, which the executor 'command' does not offer" in ended.err
    assert server.requests == []
    _, trial, _ = run(
        tmp_path / "text", wire="off", graders="graders: [{type: text, config: {contains: [found]}}]\n"
    )
    assert "tool_events" not in trial
    assert "models_served" not in trial


def test_a_wire_that_was_named_needs_a_server(tmp_path: Path) -> None:
    ended, _, _ = run(tmp_path, env={"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}, code=2)
    assert "config.wire needs the key of a model server: set OPENAI_API_KEY" in ended.err


@pytest.mark.parametrize(
    ("wire", "says"),
    [
        ("{mode: auto, fault: []}", "unknown key 'fault'"),
        ("record-all", "auto"),
        ("{faults: [{request: 1}]}", "needs one of 'status', 'stall' and 'truncate'"),
        ("{faults: [{request: 1, stall: 3, retry_after: 1}]}", "goes with 'status' only"),
        ("{mode: 'off', faults: [{request: 1, status: 500}]}", "has no effect while the wire is off"),
    ],
)
def test_mistakes_in_wires_are_refused(tmp_path: Path, wire: str, says: str) -> None:
    ended, _, _ = run(tmp_path, wire=wire, code=2)
    assert "eval.yaml:5:" in ended.err
    assert says in ended.err


def test_an_executor_without_a_model_server_has_no_wire(tmp_path: Path) -> None:
    ended, _, _ = run(tmp_path, "--executor", "a2a:http://127.0.0.1:9", graders="", code=2)
    assert "needs a model server by its address, which the executor 'a2a' does not offer" in ended.err
