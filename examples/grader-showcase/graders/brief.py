#!/usr/bin/env python3
"""A grader by the protocol WGP/1: a request on stdin, a verdict on stdout. Few words pass."""

import json
import sys

request = json.load(sys.stdin.buffer)
most = request["config"]["most_words"]
words = len(request["agent"]["output"].split())
verdict = {
    "schema": "wgp/1",
    "score": min(1.0, most / max(words, 1)),
    "passed": words <= most,
    "rationale": f"{words} words, {most} are allowed",
}
json.dump(verdict, sys.stdout)
