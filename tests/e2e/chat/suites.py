"""Suites on the loop with a scripted model: what came of them, and what the models were asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.copilot.suites import Seen, write_suite
from tests.support.model_server import ModelServer, Scripts
from tests.support.program import waza

KEY = "sk-real-key-77c1a90f"


def write(root: Path, tasks: dict[str, Any], name: str = "eval", **keys: Any) -> Path:
    """Write a suite for the executor `chat`."""
    config = {"executor": "chat", **keys.pop("config", {})}
    return write_suite(root, tasks, name, config=config, **keys)


def chat_environment(server: ModelServer, **extra: str) -> dict[str, str]:
    """The variables by which the loop finds a scripted model."""
    return {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY, "COPILOT_BASE_URL": "", **extra}


def run(suite: Path, scripts: Scripts, *flags: str, **env: str) -> Seen:
    """Run a suite that loads; every question to a model must find its script."""
    with ModelServer(scripts) as server:
        ended = waza("run", suite, *flags, cwd=suite.parent, env=chat_environment(server, **env))
    assert ended.code in (0, 1), ended.err
    assert "Traceback" not in ended.err
    assert server.unscripted == []
    return Seen(ended, ended.results(), server)
