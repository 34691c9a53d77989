"""The real Copilot runtime for tests: where it is, and how `waza run` comes to use it with a scripted model."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.model_server import ModelServer

_UNPACKED = Path(__file__).parents[1] / "runtime" / "cache"


def runtime_path() -> Path:
    """The program of the runtime: `WAZA_TEST_RUNTIME`, else what scripts/runtime.sh unpacked.

    Raises FileNotFoundError if it is missing: a test that needs the runtime must not pass without it.
    """
    named = os.environ.get("WAZA_TEST_RUNTIME")
    places = [Path(named).resolve()] if named else _UNPACKED.rglob("copilot-runtime")
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise FileNotFoundError(f"no Copilot runtime at {named or _UNPACKED}: run `make runtime`")
    return found


def copilot_environment(server: ModelServer, *, key: str = "unused", **extra: str) -> dict[str, str]:
    """The variables with which `waza run` uses the real runtime and asks `server` for its models; `extra` wins."""
    return {
        "COPILOT_CLI_PATH": str(runtime_path()),
        "COPILOT_BASE_URL": server.base_url,
        "COPILOT_WIRE_API": "completions",
        "COPILOT_API_KEY": key,
        "NO_PROXY": "127.0.0.1",  # a proxy of this machine cannot reach the server
        **extra,
    }
