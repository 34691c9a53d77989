"""The scripted model: what a plain HTTP client gets, and that the real runtime understands it."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from copilot import CopilotClient, PermissionHandler, RuntimeConnection
from tests.support.model_server import Call, ModelServer, Reply, Scripts, Usage
from tests.support.runtime import copilot_environment, runtime_path

LIMIT = 30  # seconds; what hangs fails its test
CHAT, RESPONSES = "/chat/completions", "/responses"
FORMS = [(path, stream) for path in (CHAT, RESPONSES) for stream in (False, True)]
CUT = {"reason": "max_output_tokens"}
NAMES = ["chat", "chat-stream", "responses", "responses-stream"]
every_form = pytest.mark.parametrize(("path", "stream"), FORMS, ids=NAMES)


def post(server, path, *items, stream=False, **body):
    """Ask the model; an item is a pair of role and text, or an item of the format."""
    said = [{"role": item[0], "content": item[1]} if isinstance(item, tuple) else item for item in items]
    key = "messages" if path == CHAT else "input"
    with httpx.Client(trust_env=False, timeout=LIMIT) as client:
        return client.post(server.base_url + path, json={"model": "m", "stream": stream, key: said, **body})


def events(response):
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def read_chat(response, stream):
    """What the model said and what it cost: reasoning, text, calls, finish, input and cached tokens."""
    answer = joined(response) if stream else response.json()
    choice, usage = answer["choices"][0], answer["usage"]
    message = choice["message"]
    functions = [call["function"] for call in message.get("tool_calls", [])]
    made = [(function["name"], json.loads(function["arguments"])) for function in functions]
    said = message.get("reasoning_content", ""), message["content"] or ""
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return *said, made, choice["finish_reason"], usage["prompt_tokens"], cached


def joined(response):
    """The answer that the chunks of a stream make together."""
    assert response.text.endswith("data: [DONE]\n\n")
    *chunks, last = events(response)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    message = {key: "".join(d.get(key, "") for d in deltas) for key in ("reasoning_content", "content")}
    calls: list[dict[str, Any]] = []
    for part in (call for delta in deltas for call in delta.get("tool_calls", [])):
        if "id" in part:
            calls.append({"function": dict(part["function"])})
        else:
            calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    finish = chunks[-1]["choices"][0]["finish_reason"]
    choice = {"message": {**message, "tool_calls": calls}, "finish_reason": finish}
    return {"choices": [choice], "usage": last["usage"]}


def read_responses(response, stream):
    """As `read_chat`; the finish is the status and why the response is incomplete."""
    if stream:
        told = events(response)
        assert [event["sequence_number"] for event in told] == list(range(len(told)))
        answer = told[-1]["response"]
        assert told[-1]["type"] == f"response.{answer['status']}"
        for index, item in enumerate(answer["output"]):
            pieces = [
                event["delta"] for event in told if event.get("output_index") == index and "delta" in event
            ]
            assert "".join(pieces) == (
                item.get("arguments") or (item.get("content") or item["summary"])[0]["text"]
            )
    else:
        answer = response.json()
    texts = {"reasoning": "", "message": ""}
    made = []
    for item in answer["output"]:
        if item["type"] == "function_call":
            made.append((item["name"], json.loads(item["arguments"])))
        else:
            texts[item["type"]] += (item.get("content") or item["summary"])[0]["text"]
    finish, usage = (answer["status"], answer["incomplete_details"]), answer["usage"]
    cached = usage["input_tokens_details"]["cached_tokens"]
    return texts["reasoning"], texts["message"], made, finish, usage["input_tokens"], cached


@every_form
def test_a_reply_arrives_whole_in_either_format(path, stream):
    calls = [Call("view", {"path": "a ü.txt"}), Call("bash", {"command": "ls -l"})]
    reply = Reply("  Two words\n", calls, reasoning="Let me see.", usage=Usage(input=7, cached=3))
    scripts = [("go", [reply]), ("stop", [Reply("cut", finish="length")])]
    read = read_chat if path == CHAT else read_responses
    made = [(call.name, call.args) for call in calls]
    with ModelServer(scripts) as server:
        first = read(post(server, path, ("user", "please go"), stream=stream), stream)
        second = read(post(server, path, ("user", "stop"), stream=stream), stream)
    whole, cut = ("tool_calls", "length") if path == CHAT else (("completed", None), ("incomplete", CUT))
    assert first == ("Let me see.", "  Two words\n", made, whole, 7, 3)
    assert second == ("", "cut", [], cut, 1000, 100)


# Two answers after the question, with tool results and notes of the runtime in the user's role between.
STAMP = "<current_datetime>2026-01-02T03:04:05.678+00:00</current_datetime>\n\n"
CHAT_TALK = [
    ("system", "Be kind."),
    ("user", "old question"),
    ("assistant", "old answer"),
    ("user", STAMP + "the question"),
    {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}, {"id": "2"}]},
    {"role": "tool", "tool_call_id": "1", "content": "one"},
    {"role": "tool", "tool_call_id": "2", "content": [{"type": "text", "text": "two"}]},
    ("user", "<skill-context>old question</skill-context>"),
    ("assistant", "so far"),
    ("user", "Please continue."),
]
RESPONSES_TALK = [
    ("user", "old question"),
    ("assistant", "old answer"),
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": STAMP + "the question"}]},
    {"type": "reasoning", "summary": []},
    {"type": "function_call", "call_id": "1", "name": "view", "arguments": "{}"},
    {"type": "function_call", "call_id": "2", "name": "view", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "1", "output": "one"},
    {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "two"}]},
    ("user", "<skill-context>old question</skill-context>"),
    ("assistant", [{"type": "output_text", "text": "so far"}]),
    ("user", "Please continue."),
]


@pytest.mark.parametrize(
    ("path", "talk", "body"),
    [(CHAT, CHAT_TALK, {}), (RESPONSES, RESPONSES_TALK, {"instructions": "Be kind."})],
    ids=["chat", "responses"],
)
def test_a_turn_is_read_from_the_request_alone(path, talk, body):
    tools = [
        {"type": "function", "function": {"name": "view"}}
        if path == CHAT
        else {"type": "function", "name": "view"},
        {"type": "custom", "custom": {"name": "patch"}}
        if path == CHAT
        else {"type": "custom", "name": "patch"},
    ]
    seen = []

    def third(turn):
        seen.append(turn)
        return Reply("2")

    scripts: Scripts = {
        "old question": [Reply("the old script")],
        "question": [Reply("0"), Reply("1"), third],
    }
    with ModelServer(scripts) as server:
        for _ in range(2):
            assert "the old script" in post(server, path, ("user", "old question")).text
            post(server, path, *talk, tools=tools, **body)
        assert server.tools_of(server.requests[1]) == ["view", "patch"]
        assert server.prompts() == ["old question"] * 2
        assert server.unscripted == []
    turn, repeated = seen
    assert turn == repeated
    assert (turn.user, turn.step, turn.system) == ("the question", 2, "Be kind.")
    assert turn.tool_results == ["one", "two"]
    assert turn.tools == ["view", "patch"]
    assert turn.body["model"] == "m"


def test_steps_go_on_and_the_last_one_lasts():
    talk: list[Any] = [("user", "go")]
    with ModelServer({"go": [Reply("first"), Reply("second")]}) as server:
        for expected in ("first", "second", "second"):
            text = post(server, CHAT, *talk).json()["choices"][0]["message"]["content"]
            assert text == expected
            talk += [("assistant", text), {"role": "tool", "tool_call_id": "1", "content": "x"}]
        assert server.prompts() == ["go"]
        assert [request.turn and request.turn.step for request in server.requests] == [0, 1, 2]


def test_the_first_script_that_fits_is_taken_and_others_are_named():
    with ModelServer([("grade", [Reply("judge")]), ("hello", [Reply("agent")])]) as server:
        assert "judge" in post(server, CHAT, ("system", "S"), ("user", "grade: hello")).text
        assert "agent" in post(server, RESPONSES, ("user", "hello"), instructions="T").text
        assert "no script for: what else" in post(server, CHAT, ("user", "what else")).text
        assert post(server, CHAT).status_code == 200
        assert server.unscripted == ["what else", ""]
        assert server.prompts() == ["grade: hello", "hello", "what else", ""]
        assert server.systems() == ["S", "T", "", ""]


def test_everything_that_arrives_is_recorded():
    with ModelServer(models=["one", "two"]) as server, httpx.Client(trust_env=False) as client:
        listed = client.get(server.base_url + "/models", headers={"Authorization": "Bearer k"}).json()
        assert [model["id"] for model in listed["data"]] == ["one", "two"]
        assert client.put(server.base_url + "/elsewhere?a=1", content="no JSON").status_code == 404
        assert client.post(server.base_url + CHAT, content="[]").status_code == 404
        models, put, listing = server.requests
    assert models.headers["authorization"] == "Bearer k"
    assert (put.method, put.path, put.body) == ("PUT", "/v1/elsewhere?a=1", "no JSON")
    assert (listing.body, listing.turn, server.tools_of(listing)) == ([], None, [])


@every_form
def test_errors_are_sent_as_scripted(path, stream):
    limit = Reply(status=429, body={"error": {"message": "slow down"}}, headers={"Retry-After": "1"})
    scripts = {"limit": [limit], "fail": [Reply(status=500)], "junk": [Reply(body="<html>")]}
    with ModelServer(scripts) as server:
        answers = [post(server, path, ("user", prompt), stream=stream) for prompt in scripts]
    assert [answer.status_code for answer in answers] == [429, 500, 200]
    assert answers[0].headers["Retry-After"] == "1"
    assert answers[0].json() == {"error": {"message": "slow down"}}
    assert answers[1].json()["error"]["message"] == "scripted error"
    assert answers[2].text == "<html>"


@every_form
def test_a_dropped_reply_breaks_off_half_way(path, stream):
    body = {"stream": stream, "messages" if path == CHAT else "input": [{"role": "user", "content": "go"}]}
    arrived = b""
    with ModelServer({"go": [Reply("a few words to send", drop=True)]}) as server:
        client = httpx.Client(trust_env=False, timeout=LIMIT)
        with client, client.stream("POST", server.base_url + path, json=body) as response:
            assert response.status_code == 200
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete"):  # noqa: PT012  # keeps what came
                for part in response.iter_bytes():
                    arrived += part
    assert (b"few" in arrived) is stream
    assert b"send" not in arrived


@every_form
def test_a_reply_hangs_until_the_server_closes(path, stream):
    with ThreadPoolExecutor() as pool:
        with ModelServer({"go": [Reply(hang=True)]}) as server:
            waiting = pool.submit(post, server, path, ("user", "go"), stream=stream)
            assert server.hanging.wait(LIMIT)
            assert not waiting.done()
        with pytest.raises(httpx.RemoteProtocolError, match="without sending"):
            waiting.result(LIMIT)


@pytest.mark.parametrize(
    "reply", [Reply(hang=True), Reply(delay=300), Reply("a b", chunk_delay=300)], ids=repr
)
def test_a_client_may_leave_before_the_end_of_a_reply(reply):
    asked = threading.Event()

    def step(turn):
        asked.set()
        return reply

    body = {"stream": True, "messages": [{"role": "user", "content": "go"}]}
    with ModelServer({"go": [step]}) as server:
        connection = HTTPConnection(urlsplit(server.base_url).netloc)
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        assert asked.wait(LIMIT)
        if reply.text:
            assert connection.getresponse().readline().startswith(b"data: ")
        connection.close()
        assert "no script" in post(server, CHAT, ("user", "next")).text


def test_requests_are_answered_at_the_same_time():
    together = threading.Barrier(8, timeout=LIMIT)

    def step(turn):
        together.wait()
        return Reply(f"answer to {turn.user}")

    with ModelServer({"": [step]}) as server, ThreadPoolExecutor(8) as pool:
        prompts = [f"question {number}" for number in range(8)]
        answers = pool.map(lambda prompt: post(server, CHAT, ("user", prompt)).text, prompts)
        for prompt, answer in zip(prompts, answers, strict=True):
            assert f"answer to {prompt}" in answer
        assert sorted(server.prompts()) == prompts


def test_a_step_that_fails_fails_the_test():
    def step(turn):
        assert turn.user == "something else"

    answers = []
    with pytest.raises(AssertionError, match="something else"), ModelServer({"go": [step]}) as server:
        answers.append(post(server, CHAT, ("user", "go")))
    assert answers[0].status_code == 400
    assert "a step of the script failed" in answers[0].json()["error"]["message"]


def test_a_missing_runtime_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("WAZA_TEST_RUNTIME", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="nothing: run `make runtime`"):
        runtime_path()


def test_the_environment_of_a_run_leads_to_the_server():
    with ModelServer() as server:
        environment = copilot_environment(server, key="k", COPILOT_WIRE_API="responses")
    assert environment["COPILOT_BASE_URL"] == server.base_url
    assert environment["COPILOT_API_KEY"] == "k"
    assert environment["COPILOT_WIRE_API"] == "responses"
    assert os.access(environment["COPILOT_CLI_PATH"], os.X_OK)


@pytest.mark.slow
def test_the_real_runtime_works_on_it_in_either_format(tmp_path):
    scripts: Scripts = {
        "Count": [
            Reply("Looking.", [Call("view", {"path": str(tmp_path / "hello.txt")})], reasoning="Let me see."),
            lambda turn: Reply(f"The tool said {turn.tool_results[-1]}", usage=Usage(input=77)),
        ]
    }
    (tmp_path / "hello.txt").write_text("two wörds\n", encoding="utf-8")
    with ModelServer(scripts) as server:
        with warnings.catch_warnings():
            # The SDK leaves the pipes of the runtime to the garbage collector.
            warnings.simplefilter("ignore", ResourceWarning)
            seen = asyncio.run(sessions(server, tmp_path))
            gc.collect()
        assert len(seen) == len(FORMS)
        for (path, stream), (content, kinds, used) in zip(FORMS, seen, strict=True):
            assert "two wörds" in content, (path, stream)
            assert kinds.count("tool.execution_complete") == 1
            assert "assistant.reasoning" in kinds
            assert ("assistant.message_delta" in kinds) is stream
            assert used == [1000, 77]
        assert server.prompts() == ["Count the words"] * len(FORMS)
        assert server.unscripted == []
        assert [request.path for request in server.requests] == [
            f"/v1{path}" for path, _ in FORMS for _ in "12"
        ]
        assert "view" in server.tools_of(server.requests[0])
        assert all("Copilot" in system for system in server.systems())


async def sessions(server, work):
    """Ask the same in each wire format; the last message, the kinds of events, and the input tokens of each."""
    seen = []
    client = CopilotClient(
        connection=RuntimeConnection.for_stdio(path=str(runtime_path())),
        use_logged_in_user=False,
        base_directory=str(work / "state"),
        working_directory=str(work),
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(work),
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_DISABLE_KEYTAR": "1",
            "COPILOT_DISABLE_LOGIN_SHELL_ENV": "1",
        },
    )
    async with client:
        for path, stream in FORMS:
            told: list[Any] = []
            session = await client.create_session(
                model="test-model",
                working_directory=str(work),
                streaming=stream,
                provider={
                    "type": "openai",
                    "wire_api": "completions" if path == CHAT else "responses",
                    "base_url": server.base_url,
                    "api_key": "unused",
                },
                on_permission_request=PermissionHandler.approve_all,
                on_event=told.append,
            )
            answer: Any = await session.send_and_wait("Count the words", timeout=LIMIT)
            await session.disconnect()
            kinds = [event.type.value for event in told]
            used = [event.data.input_tokens for event in told if event.type.value == "assistant.usage"]
            seen.append((answer.data.content, kinds, used))
    return seen
