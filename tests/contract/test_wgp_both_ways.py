"""One grader as a program and as a WASM module: a prototype becomes an artifact, and nobody notices."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.wgp import DATA, graded, grader
from wasmtime import wat2wasm

from waza.graders.wgp import Wgp
from waza.model.observation import CommandInvocation, Observation, ToolEvent, WrittenFile
from waza.model.wgp import encode_request
from waza.schemas import schema_of

PROGRAM, MODULE, SOURCE = (DATA / f"brief.{suffix}" for suffix in ("py", "wasm", "wat"))
ESCAPES = 'say "hi" \\ / \b\f\n\r\t \x00\x1f\x7f "output":"x", \u2028 Grüße 🐍 e\u0301'
OUTPUTS = [
    "",
    "It is Lima.",
    ESCAPES,
    "🐍" * 12,
    "🐍" * 13,
    "ü" * 40,
    "x" * 41,
    "half \ud83d pair",
    "y" * 400_000,
]


def both(**config: Any) -> list[Wgp]:
    return [grader(artifact, config=config) for artifact in (PROGRAM, MODULE)]


def test_the_committed_module_is_its_source():
    assert bytes(wat2wasm(SOURCE.read_text(encoding="utf-8"))) == MODULE.read_bytes(), (
        "compile tests/data/wgp/brief.wat again: wat2wasm"
    )


@pytest.mark.parametrize("output", OUTPUTS, ids=range(len(OUTPUTS)))
@pytest.mark.parametrize("config", [{}, {"max": 12}, {"max": 0}], ids=str)
def test_both_say_the_same(output: str, config: dict[str, Any]):
    program, module = (
        graded(one, output=output, prompt='"output":"a prompt"', expected="x\n") for one in both(**config)
    )
    assert program == module
    assert program.details["metrics"] == {"characters": len(output)}
    assert program.passed == (len(output) <= config.get("max", 40))
    assert program.score == float(program.passed)
    assert program.details["log"] == "counted"


def requests() -> list[bytes]:
    call = ToolEvent(turn=1, sequence=1, tool_name="t", args={"a": [1, None, {"b": 1.5}]}, success=True)
    full = Observation(
        task_id="t",
        prompt="p",
        expected={"any": ["thing"]},
        trial=7,
        output="ü",
        tool_events=(call, ToolEvent(turn=1, sequence=2, tool_name="n", args="none", success=False)),
        command_invocations=(CommandInvocation(command="az", exit_code=0, response_index=0),),
        files_written=(WrittenFile(path="a/b ü.txt", sha256="0" * 64),),
    )
    return [encode_request(Observation(), {}), encode_request(full, {"max": 1, "nested": {"x": [1]}}, "/w")]


def test_requests_and_responses_fit_their_schemas():
    asking, answering = (Draft202012Validator(schema_of(f"wgp-{kind}")) for kind in ("request", "response"))
    for request in requests():
        assert list(asking.iter_errors(json.loads(request))) == []
        answer = subprocess.run(
            [sys.executable, PROGRAM], input=request, capture_output=True, check=True
        ).stdout
        assert list(answering.iter_errors(json.loads(answer))) == []


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("request", {"schema": "wgp/2"}),
        ("request", {"config": []}),
        ("request", {"task": {"id": "x"}}),
        ("request", {"context": {"workspace_dir": "", "trial": 0}}),
        (
            "request",
            {"agent": {"output": "", "tool_calls": [], "files_written": [{"path": "a", "sha256": "AB"}]}},
        ),
        ("response", {"schema": "wgp/2"}),
        ("response", {"score": 1.5}),
        ("response", {"score": True}),
        ("response", {"passed": "true"}),
        ("response", {"metrics": {"a": "1"}}),
        ("response", {"evidence": [{"ref": "x"}]}),
    ],
)
def test_the_schemas_refuse_what_waza_refuses(kind: str, changes: dict[str, Any]):
    good = (
        {"schema": "wgp/1", "score": 1, "passed": True} if kind == "response" else json.loads(requests()[0])
    )
    check = Draft202012Validator(schema_of(f"wgp-{kind}"))
    assert check.is_valid({**good, "additions": "of later versions"})
    assert not check.is_valid({**good, **changes})


def test_the_source_lies_beside_the_module():
    assert {path.name for path in Path(DATA).iterdir()} == {"brief.py", "brief.wat", "brief.wasm"}
