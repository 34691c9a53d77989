"""Graders that speak WGP/1, good and bad ones: as programs, and as WASM modules written in WAT."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from wasmtime import wat2wasm

from waza.graders.base import GraderLocation
from waza.graders.wgp import Wgp
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

DATA = Path(__file__).parents[1] / "data" / "wgp"
RESPONSE = {"schema": "wgp/1", "score": 0.5, "passed": True}
IMPORTS = """
  (import "waza_host" "waza_host_read_input" (func $read (param i32 i32) (result i32)))
  (import "waza_host" "waza_host_write_result" (func $write (param i32 i32)))
  (import "waza_host" "waza_host_log" (func $log (param i32 i32)))
"""


def response(**fields: Any) -> str:
    """The text of a good response, with some of its fields changed."""
    return json.dumps({**RESPONSE, **fields})


def program(path: Path, body: str) -> Path:
    """Write a Python program; what it prints is its answer, `request` is the text that it was sent."""
    head = f"#!{sys.executable} -S\nimport os, sys, time\nrequest = sys.stdin.read()\n"
    path.write_text(head + body + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def module(path: Path, body: str, *, answer: str = "", parts: str = "", imports: str = IMPORTS) -> Path:
    """Write a module whose `grade` is the body; `answer` lies at 1024, and `$length` is its length.

    `parts` are further definitions. Without an answer there is a good one.
    """
    data = (answer or response()).encode()
    escaped = "".join(f"\\{byte:02x}" for byte in data)
    wat = f"""(module {imports}
      (memory (export "memory") 1)
      (global $length i32 (i32.const {len(data)}))
      (data (i32.const 1024) "{escaped}")
      {parts}
      (func (export "grade") (result i32) {body} (i32.const 0)))"""
    path.write_bytes(wat2wasm(wat))
    return path


ANSWERS = "(call $write (i32.const 1024) (global.get $length))"
LOOPS = "(loop $for_ever (br $for_ever))"


def grader(artifact: Path, **config: Any) -> Wgp:
    """A grader ready to be asked, its artifact as it was checked."""
    runtime = "wasm" if artifact.suffix == ".wasm" else "program"
    made = msgspec.convert({"runtime": runtime, "artifact": str(artifact), **config}, Wgp)
    around = GraderLocation()
    assert list(made.check(around)) == []
    return made.resolve_paths(around)


def graded(asked: Wgp, **seen: Any) -> Verdict:
    """The verdict on an observation."""
    return asyncio.run(asked.grade(Observation(**seen), Helpers()))
