"""Suites on Claude Code with a scripted model. It is in an environment of its own, whose waza runs as a child."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.e2e.copilot.suites import Seen, write_suite
from tests.support.model_server import Call, ModelServer, Scripts
from tests.support.program import waza

_ENVIRONMENT = Path(__file__).parents[2] / ".venv" / "claude"
PYTHON = _ENVIRONMENT / "bin" / "python"
KEY = "sk-ant-real-key-5d20c7"
NEEDS_CLAUDE = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (_ENVIRONMENT / ".installed").exists(),
        reason="there is no environment with Claude Code: run `make claude`",
    ),
]
"""The marks of a test that needs Claude Code."""


def write(root: Path, tasks: Mapping[str, Any], name: str = "eval", **keys: Any) -> Path:
    """Write a suite for the executor `claude`."""
    config = {"executor": "claude", "workers": 2, **keys.pop("config", {})}
    return write_suite(root, tasks, name, config=config, **keys)


def run(suite: Path, scripts: Scripts, *flags: str, code: int | None = None, **env: str) -> Seen:
    """Run a suite that loads; every question to a model must find its script."""
    with ModelServer(scripts) as server:
        own = {
            "ANTHROPIC_BASE_URL": server.base_url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": KEY,
            "COPILOT_BASE_URL": "",
        }
        ended = waza("run", suite, *flags, cwd=suite.parent, env={**own, **env}, python=PYTHON)
    assert ended.code in ((0, 1) if code is None else (code,)), ended.err
    assert "Traceback" not in ended.err
    assert server.unscripted == []
    return Seen(ended, ended.results(), server)


def bash(command: str, **more: Any) -> Call:
    """A command in the agent's shell."""
    return Call("Bash", {"command": command, "description": "works", **more})


def touch(path: Path) -> Call:
    """A command that leaves a file."""
    return bash(f"touch '{path}'")


def living(word: str) -> list[int]:
    """The processes with a word in their command line, after those that end have had a moment."""
    for _ in range(20):
        found = [
            one.pid for one in psutil.process_iter(["cmdline"]) if word in " ".join(one.info["cmdline"] or ())
        ]
        if not found:
            break
        time.sleep(0.05)
    return found
