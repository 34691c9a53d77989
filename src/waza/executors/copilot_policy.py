"""Which tools a custom agent or a judge may use, enforced before they run: filter, hook, permission handler.

All three fail closed. The runtime lets a tool run when a pre-tool hook raises, so nothing may escape from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from copilot.rpc import PermissionDecisionApproveOnce, PermissionDecisionReject

from waza.executors._tool_list import agent_tools, authorises, judge_tools
from waza.model.agent import JudgeQuestion
from waza.model.mocks import SHELLS
from waza.model.observation import COMPLETE, START, Denial, Event
from waza.model.skill import Target, allowed_by, allows, canonical_tool, server_prefix

# What an alias group is called among the runtime's own tools.
_NATIVE = {
    "read": "builtin:view",
    "write": "builtin:edit",
    "bash": "builtin:bash",
    "fetch": "builtin:web_fetch",
}
LAUNCHER = "task"  # what an unnamed workflow or a sub-agent launch goes by

Hook = Callable[[Mapping[str, Any], Mapping[str, str]], Awaitable[dict[str, Any] | None]]


class ToolPolicy:
    """The policy of one session. `denials` grows with every call that was not allowed.

    `declared` are the tools that may be used, None for all; `reason` is that of a denial, with `{tool}` in it.
    `servers` are the MCP servers of the session: only a qualified name grants a tool of theirs.
    """

    def __init__(self, declared: Sequence[str] | None, reason: str, servers: Collection[str] = ()) -> None:
        self.declared, self.reason = declared, reason
        self.servers = tuple(server_prefix(name).lower() for name in servers)
        self.denials: list[Denial] = []

    @property
    def available_tools(self) -> list[str] | None:
        """The runtime's native filter: None for all tools, else the declared ones by the runtime's names.

        The runtime takes a star for every tool; an agent's list grants nothing by patterns.
        """
        if self.declared is None:
            return None
        return sorted({native for name in self.declared if "*" not in name for native in _native(name)})

    def check_tool(self, name: str) -> str:
        """Return why a tool may not be used, or nothing; a refusal is noted."""
        if self.declared is None or self._grants(name):
            return ""
        return self._deny(name, "tool", self.reason.format(tool=repr(name)))

    def _grants(self, name: str) -> bool:
        """Tell whether the list grants a tool that goes by this name, which does not tell where it comes from."""
        served = self._is_served(name)
        declared = [
            entry for entry in self.declared or () if not served or entry.strip().lower().startswith("mcp:")
        ]
        return allowed_by(declared, name)

    def _is_served(self, name: str) -> bool:
        return name.strip().lower().startswith(self.servers)

    def note_hidden(self, events: Iterable[Event]) -> None:
        """Note as denied the calls of tools that the runtime hid although the list seems to grant them.

        A name of another source or another case looks like the tool's, and does not let it through the filter.
        """
        if self.declared is None:
            return
        called: dict[str, str] = {}
        for event in events:
            if event.type == START:
                called[event.tool_call_id] = event.tool_name
            name = called.get(event.tool_call_id, "") if event.type == COMPLETE else ""
            let_through = f"builtin:{name}" in (self.available_tools or ()) and not self._is_served(name)
            if name and not let_through and _is_missing(name, event.tool_result):
                self._deny(name, "tool", f"no name in the agent's tools: list means {name!r}")

    def check_permission(self, request: Any) -> str:
        """Return why a permission request is refused, or nothing. A list allows no kind that nobody knows."""
        if self.declared is None:
            return ""
        kind = permission_kind(request)
        identity = requested_tool(request)
        if identity is None:
            return self._deny(
                kind or "unknown", kind or "unknown", f"permission requests of kind {kind!r} are not known"
            )
        # What a hook asks for comes without its source, as in transcripts.
        matches = allows if kind == "hook" else authorises
        if any(matches(declared, identity) for declared in self.declared):
            return ""
        return self._deny(identity, kind, self.reason.format(tool=repr(identity)))

    def _deny(self, tool: str, kind: str, reason: str) -> str:
        self.denials.append(Denial(tool=tool, kind=kind, reason=reason))
        return reason

    def options(self, mock_token: str = "") -> dict[str, Any]:
        """Return the options of a session that enforce the policy."""
        options: dict[str, Any] = {"on_permission_request": self.permission_handler()}
        if self.available_tools is not None:
            options["available_tools"] = self.available_tools
        hook = self.hook(mock_token)
        return options if hook is None else {**options, "hooks": {"on_pre_tool_use": hook}}

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
                return PermissionDecisionReject(feedback=f"Denied: {refused}")
            return PermissionDecisionApproveOnce()

        return decide


def agent_policy(target: Target | None, servers: Collection[str] = ()) -> ToolPolicy:
    """Return the policy of an agent's session with these MCP servers: the `tools:` list of a custom agent, else none."""
    tools = agent_tools(target)
    return ToolPolicy(tools.declared, tools.reason, servers)


def judge_policy(question: JudgeQuestion, agent: ToolPolicy | None) -> ToolPolicy:
    """Return the policy of a judge's or responder's session: the question's own tools, and those it may use.

    `agent` is the policy of the session in which the judge goes on: it holds there too, and the judge only reads.
    """
    tools = judge_tools(question, agent.declared if agent else None, continues=agent is not None)
    return ToolPolicy(tools.declared, tools.reason)


def _is_missing(tool: str, result: Any) -> bool:
    """Tell whether the runtime answered that a tool is not there, which it says of those that it hides, too."""
    error = result.get("error") if isinstance(result, Mapping) else None
    message = error.get("message") if isinstance(error, Mapping) else None
    return isinstance(message, str) and message.startswith(f"Tool '{tool}' does not exist")


def _refusal(reason: str) -> dict[str, Any]:
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


def _tool_of(call: Mapping[str, Any]) -> str:
    name = call["toolName"]
    if not isinstance(name, str) or not name:
        raise TypeError("a call without the name of a tool")
    return name


def _native(declared: str) -> tuple[str, ...]:
    """Return what the runtime's filter calls a tool. It minds the case of names, which a list need not."""
    name = declared.strip()
    if name.lower().startswith(("mcp:", "custom:", "builtin:")):
        return (name,)
    tool = canonical_tool(name)
    return (_NATIVE[tool],) if tool in _NATIVE else (f"builtin:{name}", f"builtin:{name.lower()}")


def _with_session(tool: str, token: str) -> str:
    if tool == "powershell":
        return f"$env:WAZA_MOCK_SESSION = '{token}'; "
    return f"export WAZA_MOCK_SESSION='{token}'; "


def permission_kind(request: Any) -> str:
    """Return the kind of a permission request, typed or raw."""
    kind = request.get("kind") if isinstance(request, Mapping) else getattr(request, "kind", "")
    return str(getattr(kind, "value", kind) or "")


def requested_tool(request: Any) -> str | None:
    """Return the tool that a permission request is about, by its source; None for kinds that are not known."""
    match permission_kind(request):
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
    return f"mcp:{tool}" if tool.startswith(server_prefix(server)) else f"mcp:{server}-{tool}"


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
