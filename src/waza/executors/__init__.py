"""The agent engines of waza: a table of names, so that listing them imports nothing."""

from __future__ import annotations

from typing import Any

TYPES = {
    "a2a": "waza.executors.a2a:A2AExecutor",
    "command": "waza.executors.command:CommandExecutor",
    "copilot-sdk": "waza.executors.copilot:CopilotExecutor",
    "mock": "waza.executors.mock:MockExecutor",
}

# What to install for those that need more: the extra, and what it brings.
EXTRAS = {"a2a": ("m365", "the A2A SDK"), "copilot-sdk": ("copilot", "the GitHub Copilot SDK")}

# Those that answer, and nothing else: nobody can ask them for verdicts, they report no calls of tools and skills,
# and what stands behind them is not known.
ANSWER_ONLY = ("a2a", "command")

# What stands after the colon where a command line names an executor, as in `command:python bot.py`.
SHORT = {"a2a": "url", "command": "command"}


def named(text: str) -> tuple[str, dict[str, Any]]:
    """Return the executor that a command line means, and its options: `a2a:URL`, `command:CMD`, or a bare name."""
    name, colon, value = text.partition(":")
    if colon and name in SHORT and value.strip():
        return name, {SHORT[name]: value.strip()}
    return text, {}
