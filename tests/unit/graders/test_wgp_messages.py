from __future__ import annotations

import json
from typing import Any

import pytest

from waza.model.observation import CommandInvocation, Observation, ToolEvent, WrittenFile
from waza.model.wgp import MAX_RESPONSE, Evidence, Response, decode_response, encode_request

GOOD = {"schema": "wgp/1", "score": 0.83, "passed": True}
DIGEST = "ab" * 32


def said(**fields: Any) -> bytes:
    return json.dumps({**GOOD, **fields}).encode()


def test_documented_request():
    seen = Observation(
        task_id="task-42",
        prompt="the prompt",
        expected="the answer",
        trial=3,
        output="It is Lima.",
        tool_events=(
            ToolEvent(
                turn=1, sequence=1, tool_name="view", args={"path": "a", "n": [1.5, None]}, success=True
            ),
            ToolEvent(turn=1, sequence=2, tool_name="stop", success=False),
        ),
        files_written=(WrittenFile(path="src/a.py", sha256=DIGEST),),
        command_invocations=(CommandInvocation(command="az", args=["x"], exit_code=1, response_index=-1),),
    )
    assert json.loads(encode_request(seen, {"min": 1}, "/tmp/w1")) == {
        "schema": "wgp/1",
        "task": {"id": "task-42", "input": "the prompt", "expected": "the answer"},
        "agent": {
            "output": "It is Lima.",
            "tool_calls": [
                {"name": "view", "arguments": {"path": "a", "n": [1.5, None]}},
                {"name": "stop", "arguments": {}},
            ],
            "files_written": [{"path": "src/a.py", "sha256": DIGEST}],
            "command_invocations": [{"command": "az", "args": ["x"], "exit_code": 1, "response_index": -1}],
        },
        "config": {"min": 1},
        "context": {"workspace_dir": "/tmp/w1", "trial": 3},
    }


def test_request_of_nothing():
    request = json.loads(encode_request(Observation(), {}))
    assert request["task"] == {"id": "", "input": "", "expected": None}
    assert request["agent"] == {
        "output": "",
        "tool_calls": [],
        "files_written": [],
        "command_invocations": [],
    }
    assert request["context"] == {"workspace_dir": "", "trial": 1}


def test_a_request_is_utf_8_whatever_the_agent_answered():
    args = {"half \udc00": ["\ud800"], "big": 2**70, "nan": float("nan")}
    call = ToolEvent(turn=1, sequence=1, tool_name="t", args=args, success=True)
    data = encode_request(Observation(output="Grüße 🐍 \ud800", tool_events=(call,)), {"x": "ü"})
    assert "Grüße 🐍 ?" in data.decode()
    agent = json.loads(data)["agent"]
    assert agent["tool_calls"][0]["arguments"] == {"half ?": ["?"], "big": 2**70, "nan": None}


def test_documented_response():
    data = said(
        rationale="Found 3 of 4 expected facts; missed citation for claim #2.",
        evidence=[{"kind": "span", "ref": "agent.output[120..180]"}, {"kind": "note", "text": "ignored"}],
        metrics={"fact_recall": 0.75, "fact_precision": 1},
        additions={"of": "later versions"},
    )
    assert decode_response(b" \n" + data + b"\r\n\t") == Response(
        schema="wgp/1",
        score=0.83,
        passed=True,
        rationale="Found 3 of 4 expected facts; missed citation for claim #2.",
        evidence=[Evidence(kind="span", ref="agent.output[120..180]"), Evidence(kind="note")],
        metrics={"fact_recall": 0.75, "fact_precision": 1.0},
    )


@pytest.mark.parametrize("score", [0, 1, 0.0, 1.0, 1e-300, 5e-1])
def test_scores_from_0_to_1_with_the_verdict_as_given(score: float):
    for passed in (True, False):
        found = decode_response(said(score=score, passed=passed))
        assert (found.score, found.passed, type(found.score)) == (score, passed, float)


def test_a_byte_order_mark_is_no_fault():
    assert decode_response(b"\xef\xbb\xbf" + said()).passed


def test_the_largest_response():
    room = MAX_RESPONSE - len(said(rationale=""))
    assert len(decode_response(said(rationale="x" * room)).rationale) == room
    with pytest.raises(ValueError, match="larger than 1,048,576 bytes"):
        decode_response(said(rationale="x" * (room + 1)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the response is empty"),
        (b" \n", "the response is empty"),
        (b"fine!", "is not JSON"),
        (b'{"schema":', "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b'{"schema":"wgp/1","rationale":"\xff"}', "is not JSON"),
        (said() + said(), "more than one JSON document"),
        (said() + b"\n[]", "more than one JSON document"),
        (said() + b" done", "more than one JSON document"),
        (said() + b"\0", "more than one JSON document"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[]", "not an object"),
        (b"0.9", "not an object"),
        (b'"wgp/1"', "not an object"),
        (b"{}", "no field 'schema'"),
        (said(schema=None), "no field 'schema'"),
        (said(schema="wgp/2"), "the response speaks 'wgp/2', waza speaks 'wgp/1'"),
        (said(schema="wgp/1.1"), "'wgp/1.1', waza speaks 'wgp/1'"),
        (said(schema=1), "'int', waza speaks 'wgp/1'"),
        (b'{"schema":"wgp/1","passed":true}', "in the response there is no field 'score'"),
        (b'{"schema":"wgp/1","score":1}', "in the response there is no field 'passed'"),
        (said().replace(b"0.83", b"NaN"), "is not JSON"),
        (said().replace(b"0.83", b"Infinity"), "is not JSON"),
        (said().replace(b"0.83", b"-Infinity"), "is not JSON"),
        (said().replace(b"0.83", b"1e999"), "is not JSON"),
        (said(score=1.5), "'score' cannot be used: expected a number <= 1.0"),
        (said(score=-0.001), "'score' cannot be used: expected a number >= 0.0"),
        (said(score=7), "'score' cannot be used: expected a number <= 1.0"),
        (said(score="0.9"), "'score' cannot be used: expected a number, got a text"),
        (said(score=True), "'score' cannot be used: expected a number, got true or false"),
        (said(score=None), "'score' cannot be used: expected a number, got null"),
        (said(passed="false"), "'passed' cannot be used: expected true or false, got a text"),
        (said(passed=1), "'passed' cannot be used: expected true or false, got a whole number"),
        (said(rationale=["x"]), "'rationale' cannot be used: expected a text, got a list"),
        (said(rationale=None), "'rationale' cannot be used: expected a text, got null"),
        (said(evidence={}), "'evidence' cannot be used: expected a list, got an object"),
        (said(evidence=["x"]), "'evidence[0]' cannot be used: expected an object, got a text"),
        (said(evidence=[{"ref": "x"}]), "'evidence[0]' cannot be used: there is no field 'kind'"),
        (said(evidence=[{"kind": "x", "ref": 1}]), "'evidence[0].ref' cannot be used"),
        (said(metrics=[1]), "'metrics' cannot be used: expected an object, got a list"),
        (said(metrics={"a": "1"}), "'metrics[...]' cannot be used: expected a number, got a text"),
        (said(metrics={"a": True}), "'metrics[...]' cannot be used: expected a number, got true or false"),
        (b'{"metrics":{"a":NaN},' + said()[1:], "is not JSON"),
    ],
)  # fmt: skip
def test_whatever_is_wrong_is_reported_in_a_sentence(data: bytes, message: str):
    with pytest.raises(ValueError) as caught:
        decode_response(data)
    assert message in str(caught.value)
    assert type(caught.value) is ValueError
    assert "`" not in str(caught.value)
    assert len(str(caught.value)) < 200
