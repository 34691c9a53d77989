#!/usr/bin/env python3
"""A WGP/1 grader as a program: the output has at most `config.max` characters (40 without it)."""

import json
import sys

request = json.load(sys.stdin.buffer)
characters = len(request["agent"]["output"])
most = request["config"].get("max", 40)
passed = characters <= most
print("counted", file=sys.stderr)
json.dump(
    {
        "schema": "wgp/1",
        "score": 1.0 if passed else 0.0,
        "passed": passed,
        "rationale": f"{characters} characters, at most {most} allowed",
        "evidence": [{"kind": "span", "ref": f"agent.output[0..{characters}]"}],
        "metrics": {"characters": characters},
    },
    sys.stdout,
)
