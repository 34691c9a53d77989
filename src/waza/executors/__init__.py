"""The agent engines of waza: a table of names, so that listing them imports nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from waza.model.capabilities import Capabilities

TYPES = {
    "a2a": "waza.executors.a2a:A2AExecutor",
    "chat": "waza.executors.chat:ChatExecutor",
    "claude": "waza.executors.claude:ClaudeExecutor",
    "command": "waza.executors.command:CommandExecutor",
    "copilot-sdk": "waza.executors.copilot:CopilotExecutor",
    "mock": "waza.executors.mock:MockExecutor",
}

# What to install for those that need more: the extra, and what it brings.
EXTRAS = {
    "a2a": ("m365", "the A2A SDK"),
    "chat": ("chat", "httpx, and mcp for MCP servers"),
    "claude": ("claude", "the SDK of Claude Code"),
    "copilot-sdk": ("copilot", "the GitHub Copilot SDK"),
}

# What an agent can do and be seen doing whose every step waza follows.
_AGENT = Capabilities(
    judge=True,
    skills=True,
    tool_policy=True,
    tool_calls=True,
    mcp=True,
    command_mocks=True,
    usage=True,
    efforts=True,
    models=True,
    repeatable=True,
    wire=True,
    idle_timeout=120,
)

# What each can do and see. They are not in the classes, so that a suite is checked without importing an SDK.
CAPABILITIES = {
    "a2a": Capabilities(),
    "chat": msgspec.structs.replace(_AGENT, server_variables="openai"),
    "claude": msgspec.structs.replace(_AGENT, server_variables="anthropic"),
    "command": Capabilities(skills=True, command_mocks=True, local_program=True, wire=True),
    "copilot-sdk": _AGENT,
    "mock": Capabilities(judge=True, tool_calls=True, usage=True, repeatable=True, scripted=True),
}

# What follows the colon where a command line names an executor, as in `command:python bot.py`.
SHORT = {"a2a": "url", "command": "command"}


def parse_executor(text: str) -> tuple[str, dict[str, Any]]:
    """Return the executor that a command line means, and its options: `a2a:URL`, `command:CMD`, or a bare name."""
    name, colon, value = text.partition(":")
    if colon and name in SHORT and value.strip():
        return name, {SHORT[name]: value.strip()}
    return text, {}
