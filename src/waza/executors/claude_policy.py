"""Which tools Claude Code may use: what it is offered, and a hook before each call.

Claude Code lets a call run whose hook raises, unless the hook is registered as one that blocks then. This one is, and nothing escapes from
it. Where there is a list of tools, the rules of Claude Code deny all others as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from waza.executors._tool_list import ToolList, authorises
from waza.model.observation import Denial
from waza.model.skill import server_prefix

MCP = "mcp__"
OWN_SERVER = "waza"
"""The server with the tools of a question."""
BUILTIN = (
    "Bash", "BashOutput", "Edit", "Glob", "Grep", "KillShell", "NotebookEdit", "Read", "Skill", "Task", "TodoWrite", "WebFetch",
    "WebSearch", "Write",
)  # fmt: skip
"""The tools of Claude Code that a list may grant."""
# What tools are called in lists, where that is not their own name in another case.
_NAMES = {"WebFetch": "fetch", "WebSearch": "web_search", "Agent": "task"}


class ClaudePolicy:
    """The policy of one session. `denials` has each call that was not allowed, once.

    `servers` maps the names of MCP servers to the names of their tools that may be used; `["*"]` are all.
    """

    def __init__(self, tools: ToolList, servers: Mapping[str, Sequence[str]]) -> None:
        self.declared, self.reason = tools.declared, tools.reason
        self._servers = servers
        self._denied: dict[str, Denial] = {}

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The calls that were denied, in order."""
        return tuple(self._denied.values())

    @property
    def granted(self) -> list[str] | None:
        """The tools of Claude Code that the session has; None: all."""
        if self.declared is None:
            return None
        return [name for name in BUILTIN if self._grants(name)]

    def options(self, hook_matcher: Callable[..., Any]) -> dict[str, Any]:
        """Return the options of a session that enforce the policy. `hook_matcher` is the SDK's."""
        options: dict[str, Any] = {
            "hooks": {"PreToolUse": [hook_matcher(hooks=[self.before_tool], on_failure="block")]}
        }
        granted = self.granted
        if granted is None:
            return {**options, "permission_mode": "bypassPermissions"}
        servers = [f"{MCP}{name}" for name in self._servers]
        return {
            **options,
            "permission_mode": "dontAsk",
            "tools": granted,
            "allowed_tools": [*granted, *servers],
        }

    async def before_tool(self, call: Any, call_id: Any, context: Any) -> dict[str, Any]:
        """Answer the hook of the SDK: nothing, or that a call is denied, and why."""
        del context
        try:
            reason = self.check(call["tool_name"], str(call_id or call.get("tool_use_id") or ""))
        except Exception as error:  # noqa: BLE001 - whatever goes wrong here must deny, for the call would run
            reason = self._deny("", "unknown", f"the policy could not be checked ({type(error).__name__})")
        if not reason:
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "deny",
                "permissionDecisionReason": reason,
            }
        }

    def check(self, tool: str, call_id: str) -> str:
        """Return why a call is denied, or nothing. What the list of tools does not allow is noted, once for each call."""
        if self.declared is not None and not self._grants(tool):
            return self._deny(call_id, tool, self.reason.format(tool=repr(tool)))
        if tool.startswith(MCP) and not self._is_wanted(tool):
            return f"config.mcp_servers does not list the tool {tool!r} of this server"
        return ""

    def note(self, call_id: str, tool: str) -> None:
        """Note a call that Claude Code denied itself."""
        if call_id not in self._denied:
            self._deny(call_id, tool, f"Claude Code denied {tool!r}")

    def _deny(self, call_id: str, tool: str, reason: str) -> str:
        key = call_id or f"{len(self._denied)}"
        self._denied.setdefault(key, Denial(tool=tool, kind="tool", reason=reason))
        return reason

    def _grants(self, tool: str) -> bool:
        names = self._identities(tool)
        return any(authorises(declared, name) for declared in self.declared or () for name in names)

    def _identities(self, tool: str) -> tuple[str, ...]:
        """Return what a tool is called in lists, with its source."""
        for server in self._servers:
            prefix = mcp_prefix(server)
            if tool.startswith(prefix):
                own = tool.removeprefix(prefix)
                if server == OWN_SERVER:
                    return (f"custom:{own}",)
                return (f"mcp:{server_prefix(server)}{own}",)
        if tool.startswith(MCP):
            return ()
        return (_NAMES.get(tool, tool),)

    def _is_wanted(self, tool: str) -> bool:
        for server, wanted in self._servers.items():
            prefix = mcp_prefix(server)
            if tool.startswith(prefix):
                return "*" in wanted or tool.removeprefix(prefix) in wanted
        return False


def mcp_prefix(server: str) -> str:
    """Return how the names of a server's tools begin: as Claude Code has them."""
    safe = "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in server)
    return f"{MCP}{safe}__"
