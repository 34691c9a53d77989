"""The agent engines of waza: a table of names, so that listing them imports nothing."""

from __future__ import annotations

TYPES = {
    "copilot-sdk": "waza.executors.copilot:CopilotExecutor",  # needs the extra `copilot`
    "mock": "waza.executors.mock:MockExecutor",
}
