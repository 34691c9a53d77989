"""Which tools a custom agent may use, enforced before they run: filter, pre-tool hook, permission handler.

All three fail closed. The runtime lets a tool run when a pre-tool hook raises, so nothing may escape from it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import msgspec
from copilot.rpc import PermissionDecisionApproveOnce, PermissionDecisionReject

from waza.model.observation import Denial
from waza.model.skill import Target, allowed_by, allows, canonical_tool

# What an alias group is called among the runtime's own tools.
_NATIVE = {
    "read": "builtin:view",
    "write": "builtin:edit",
    "bash": "builtin:bash",
    "fetch": "builtin:web_fetch",
}
# Shell tools, into whose command the session of mocked programs is written.
SHELLS = frozenset({"bash", "powershell", "local_shell"})
LAUNCHER = "task"  # what an unnamed workflow or a sub-agent launch goes by
_OTHER = re.compile(r"[^A-Za-z0-9_-]")  # what the runtime replaces in the names of servers

Hook = Callable[[Mapping[str, Any], Mapping[str, str]], Awaitable[dict[str, Any] | None]]


class ToolPolicy:
    """The policy of one session. `denials` grows with every call that was not allowed."""

    def __init__(self, target: Target | None) -> None:
        self.mode = target.policy if target else None
        self.declared = target.tools if target and target.tools is not None else None
        self.denials: list[Denial] = []

    @property
    def available_tools(self) -> list[str] | None:
        """The runtime's native filter: None for all tools, else the declared ones by the runtime's names.

        The runtime takes a star for every tool; an agent's list grants nothing by patterns.
        """
        if self.declared is None:
            return None
        return sorted({_native(name) for name in self.declared if "*" not in name})

    def check_tool(self, name: str) -> str:
        """Return why a tool may not be used, or nothing; a refusal is noted."""
        if self.declared is None or allowed_by(self.declared, name):
            return ""
        return self._deny(name, "tool", f"the agent's tools: list does not allow {name!r}")

    def check_permission(self, request: Any) -> str:
        """Return why a permission request is refused, or nothing. A list allows no kind that nobody knows."""
        if self.declared is None:
            return ""
        kind = kind_of(request)
        identity = identity_of(request)
        if identity is None:
            return self._deny(
                kind or "unknown", kind or "unknown", f"permission requests of kind {kind!r} are not known"
            )
        if not self.declared:
            return self._deny(identity, kind, "the agent declares tools: [], so no tool is allowed")
        # What a hook asks for comes without its source, as in transcripts.
        matches = allows if kind == "hook" else _authorises
        if any(matches(declared, identity) for declared in self.declared):
            return ""
        return self._deny(identity, kind, f"the agent's tools: list does not allow {identity!r}")

    def _deny(self, tool: str, kind: str, reason: str) -> str:
        self.denials.append(Denial(tool=tool, kind=kind, reason=reason))
        return reason

    def hook(self, mock_token: str) -> Hook | None:
        """Return the pre-tool hook: the policy first, then the session of mocked programs; None if neither applies."""
        if self.declared is None and not mock_token:
            return None

        async def before_tool(
            call: Mapping[str, Any], invocation: Mapping[str, str]
        ) -> dict[str, Any] | None:
            del invocation
            name = "unknown"
            try:
                name = _tool_of(call)
                return self._before(name, call, mock_token)
            except Exception as error:  # noqa: BLE001 - whatever goes wrong here must deny, for the runtime would allow
                return _refusal(
                    self._deny(name, "tool", f"the policy could not be checked ({type(error).__name__})")
                )

        return before_tool

    def _before(self, name: str, call: Mapping[str, Any], mock_token: str) -> dict[str, Any] | None:
        refused = self.check_tool(name)
        if refused:
            return _refusal(refused)
        args = call.get("toolArgs")
        if (
            mock_token
            and name in SHELLS
            and isinstance(args, Mapping)
            and isinstance(args.get("command"), str)
        ):
            return {"modifiedArgs": {**args, "command": _with_session(name, mock_token) + args["command"]}}
        return None

    def permission_handler(self) -> Callable[[Any, Any], Any]:
        """Return the permission handler: refuses what the policy refuses, approves the rest once."""

        def decide(request: Any, invocation: Any) -> Any:
            del invocation
            try:
                refused = self.check_permission(request)
            except Exception as error:  # noqa: BLE001 - fail closed, whatever the request looks like
                refused = self._deny(
                    "unknown", "unknown", f"the policy could not be checked ({type(error).__name__})"
                )
            if refused:
                return PermissionDecisionReject(
                    feedback=f"Denied by the tool policy of the .agent.md: {refused}"
                )
            return PermissionDecisionApproveOnce()

        return decide


def approve(request: Any, invocation: Any) -> Any:
    """Approve once: for sessions without a policy (judges, responders)."""
    del request, invocation
    return PermissionDecisionApproveOnce()


def _refusal(reason: str) -> dict[str, Any]:
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def _tool_of(call: Mapping[str, Any]) -> str:
    name = call["toolName"]
    if not isinstance(name, str) or not name:
        raise TypeError("a call without the name of a tool")
    return name


def _native(declared: str) -> str:
    name = declared.strip()
    if name.lower().startswith(("mcp:", "custom:", "builtin:")):
        return name
    return _NATIVE.get(canonical_tool(name), f"builtin:{name}")


def _with_session(tool: str, token: str) -> str:
    if tool == "powershell":
        return f"$env:WAZA_MOCK_SESSION = '{token}'; "
    return f"export WAZA_MOCK_SESSION='{token}'; "


def _authorises(declared: str, identity: str) -> bool:
    """Tell whether a declared name stands for an identity whose source is known: prefixes must agree."""
    builtin = ":" not in declared.strip().lower().removeprefix("builtin:")
    return allows(declared, identity) and (builtin or ":" in identity)


def kind_of(request: Any) -> str:
    """Return the kind of a permission request, typed or raw."""
    kind = request.get("kind") if isinstance(request, Mapping) else getattr(request, "kind", "")
    return str(getattr(kind, "value", kind) or "")


def identity_of(request: Any) -> str | None:
    """Return the tool that a permission request is about, by its source; None for kinds that are not known."""
    match kind_of(request):
        case "shell":
            return "bash"
        case "write" | "read" as kind:
            return kind
        case "url":
            return "fetch"
        case "memory":
            return "memory"
        case "mcp":
            return _mcp(
                _field(request, "server_name", "serverName"), _field(request, "tool_name", "toolName")
            )
        case "custom-tool":
            name = _field(request, "tool_name", "toolName")
            return f"custom:{name}" if name else None
        case "hook":
            return _field(request, "tool_name", "toolName") or None
        case "workflow":
            return _field(request, "name", "name") or LAUNCHER
        case "factory":
            return _legacy(request)
        case _:
            return None


def _field(request: Any, attribute: str, key: str) -> str:
    value = request.get(key) if isinstance(request, Mapping) else getattr(request, attribute, "")
    return value.strip() if isinstance(value, str) else ""


def _mcp(server: str, tool: str) -> str | None:
    """Return the identity of a server's tool. The runtime has put the server's name before the tool's already."""
    if not server or not tool:
        return None
    prefix = _OTHER.sub("-", server)
    return f"mcp:{tool}" if tool.startswith(f"{prefix}-") else f"mcp:{server}-{tool}"


class _OldWorkflow(msgspec.Struct, rename="camel"):
    """A request of the legacy kind has the fields of a workflow. Those that are there must be of their type."""

    kind: Literal["factory"]
    name: str = ""
    description: str = ""
    operation: str = ""
    approval_key: str = ""
    can_persist_approval: bool = False
    phases: list[dict[str, Any]] = []


def _legacy(request: Any) -> str | None:
    """Return what a raw request of the legacy kind goes by; None if it is malformed."""
    raw = request if isinstance(request, Mapping) else getattr(request, "raw", None)
    try:
        known = (
            msgspec.json.decode(raw, type=_OldWorkflow)
            if isinstance(raw, str | bytes)
            else msgspec.convert(raw, _OldWorkflow)
        )
    except msgspec.MsgspecError:
        return None
    return known.name.strip() or LAUNCHER
