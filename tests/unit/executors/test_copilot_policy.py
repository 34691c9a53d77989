"""The tool policy apart from the runtime: what a list allows, and that everything else, and every mishap, is denied."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from copilot.rpc import PermissionDecisionApproveOnce, PermissionDecisionReject
from copilot.session_events import (
    PermissionRequestCustomTool,
    PermissionRequestExtensionEnvAccess,
    PermissionRequestExtensionManagement,
    PermissionRequestExtensionPermissionAccess,
    PermissionRequestHook,
    PermissionRequestMcp,
    PermissionRequestMemory,
    PermissionRequestRead,
    PermissionRequestShell,
    PermissionRequestUrl,
    PermissionRequestWorkflow,
    PermissionRequestWrite,
    WorkflowPermissionOperation,
)

from waza.executors.copilot_policy import ToolPolicy, agent_policy, requested_tool
from waza.model.skill import Target


def policy(*tools: str, kind: Any = "agent", omitted: bool = False) -> ToolPolicy:
    return agent_policy(
        Target(kind=kind, name="a", path=Path("a.agent.md"), tools=None if omitted else tuple(tools))
    )


def workflow(name: str) -> PermissionRequestWorkflow:
    return PermissionRequestWorkflow(
        approval_key="k",
        can_persist_approval=False,
        description="d",
        name=name,
        operation=WorkflowPermissionOperation.RUN,
        phases=[],
    )


def mcp(server: str, tool: str) -> PermissionRequestMcp:
    return PermissionRequestMcp(read_only=True, server_name=server, tool_name=tool, tool_title=tool)


SHELL = PermissionRequestShell(
    can_offer_session_approval=False,
    commands=[],
    full_command_text="ls",
    has_write_file_redirection=False,
    intention="i",
    possible_paths=[],
    possible_urls=[],
)
EXTENSIONS = [
    PermissionRequestExtensionManagement(operation="install"),
    PermissionRequestExtensionPermissionAccess(capabilities=["x"], extension_name="e"),
    PermissionRequestExtensionEnvAccess(environment_variables=["X"], extension_name="e"),
]
# A request of every kind, and the declared name that allows it; no other name does.
TYPED: dict[str, tuple[Any, str]] = {
    "shell": (SHELL, "bash"),
    "write": (
        PermissionRequestWrite(can_offer_session_approval=False, diff="", file_name="f", intention="i"),
        "write",
    ),
    "read": (PermissionRequestRead(intention="i", path="p"), "read"),
    "url": (PermissionRequestUrl(intention="i", url="http://x"), "fetch"),
    "memory": (PermissionRequestMemory(fact="f"), "memory"),
    "mcp": (mcp("hub", "list"), "mcp:hub-list"),
    "mcp-as-the-runtime-names-it": (mcp("hub", "hub-list"), "mcp:hub-list"),
    "mcp-of-a-server-with-blanks": (mcp("my.hub x", "my-hub-x-list"), "mcp:my-hub-x-list"),
    "custom-tool": (
        PermissionRequestCustomTool(tool_description="d", tool_name="CodeSearch"),
        "custom:CodeSearch",
    ),
    "hook": (PermissionRequestHook(tool_name="edit"), "write"),
    "workflow": (workflow("Deploy"), "deploy"),
    "workflow-unnamed": (workflow(""), "task"),
    "workflow-blank": (workflow(" "), "task"),
}
RAW: dict[str, tuple[Any, str]] = {
    "shell": ({"kind": "shell", "fullCommandText": "ls"}, "bash"),
    "write": ({"kind": "write", "fileName": "f"}, "write"),
    "read": ({"kind": "read", "path": "p"}, "read"),
    "url": ({"kind": "url", "url": "http://x"}, "fetch"),
    "memory": ({"kind": "memory"}, "memory"),
    "mcp": ({"kind": "mcp", "serverName": "hub", "toolName": "list"}, "mcp:hub-list"),
    "custom-tool": ({"kind": "custom-tool", "toolName": "CodeSearch"}, "custom:CodeSearch"),
    "hook": ({"kind": "hook", "toolName": "edit"}, "write"),
    "workflow": ({"kind": "workflow", "name": "Deploy"}, "deploy"),
    "workflow-unnamed": ({"kind": "workflow"}, "task"),
    "factory": ({"kind": "factory", "name": "Deploy", "phases": []}, "deploy"),
    "factory-unnamed": ({"kind": "factory"}, "task"),
    "factory-in-json": (
        SimpleNamespace(kind="factory", raw='{"kind": "factory", "name": "Deploy"}'),
        "deploy",
    ),
    "factory-in-bytes": (SimpleNamespace(kind="factory", raw=b'{"kind": "factory", "name": ""}'), "task"),
}
KNOWN = {**{f"typed-{name}": case for name, case in TYPED.items()}, **{f"raw-{n}": c for n, c in RAW.items()}}
NAMES = sorted({name for _, name in KNOWN.values()})


def decide(rules: ToolPolicy, request: Any) -> Any:
    return rules.permission_handler()(request, {"session_id": "s"})


def allowed(rules: ToolPolicy, request: Any) -> bool:
    """Whether a request is approved; a denial is recorded and told, an approval is neither."""
    before = len(rules.denials)
    decision = decide(rules, request)
    approved = isinstance(decision, PermissionDecisionApproveOnce)
    assert len(rules.denials) - before == (not approved)
    if not approved:
        assert isinstance(decision, PermissionDecisionReject)
        assert decision.feedback is not None
        assert decision.feedback.startswith("Denied: ")
        assert rules.denials[-1].reason in decision.feedback
    return approved


@pytest.mark.parametrize(("request_", "name"), KNOWN.values(), ids=KNOWN)
def test_a_known_kind_is_allowed_by_its_own_name_and_by_no_other(request_: Any, name: str):
    assert [one for one in NAMES if allowed(policy(one), request_)] == [name]
    assert allowed(policy(*NAMES), request_)
    assert allowed(policy(f" {name.upper()} "), request_)
    assert not allowed(policy("*", "mcp:*", "custom:*", name[:-1] + "*"), request_)


@pytest.mark.parametrize(("request_", "name"), KNOWN.values(), ids=KNOWN)
def test_an_empty_list_has_its_own_reason(request_: Any, name: str):
    rules = policy()
    assert not allowed(rules, request_)
    assert rules.denials[-1].reason == "the agent declares tools: [], so no tool is allowed"
    assert rules.denials[-1].tool == requested_tool(request_)


@pytest.mark.parametrize("request_", [*[one for one, _ in KNOWN.values()], *EXTENSIONS, {"kind": "new"}])
def test_an_agent_without_a_list_and_a_skill_deny_nothing(request_: Any):
    assert allowed(policy(omitted=True), request_)
    assert allowed(policy(kind="skill", omitted=True), request_)
    assert allowed(agent_policy(None), request_)


class Hostile:
    """A request that raises whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


class HostileMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("iter")

    def __len__(self) -> int:
        raise RuntimeError("len")


UNKNOWN: dict[str, Any] = {
    "extension-management": EXTENSIONS[0],
    "extension-permissions": EXTENSIONS[1],
    "extension-environment": EXTENSIONS[2],
    "new-kind": {"kind": "quantum", "toolName": "bash", "name": "bash"},
    "new-kind-typed": SimpleNamespace(kind="quantum", tool_name="bash"),
    "no-kind": {"toolName": "bash"},
    "kind-of-another-type": {"kind": 7},
    "other-case": {"kind": "Shell"},
    "nothing": None,
    "text": "bash",
    "list": ["shell"],
    "mcp-without-server": {"kind": "mcp", "toolName": "list"},
    "mcp-without-tool": mcp("hub", " "),
    "custom-without-name": {"kind": "custom-tool"},
    "hook-without-name": {"kind": "hook", "toolName": 3},
    "factory-without-payload": SimpleNamespace(kind="factory"),
    "factory-no-json": SimpleNamespace(kind="factory", raw="{"),
    "factory-no-utf8": SimpleNamespace(kind="factory", raw=b"\xff"),
    "factory-no-object": SimpleNamespace(kind="factory", raw="[]"),
    "factory-of-another-kind": SimpleNamespace(kind="factory", raw='{"kind": "workflow", "name": "bash"}'),
    "factory-without-kind": SimpleNamespace(kind="factory", raw='{"name": "bash"}'),
    "factory-numbered": {"kind": "factory", "name": 7},
    "factory-misshapen": {"kind": "factory", "name": "bash", "phases": "all"},
    "raises": Hostile(),
    "raises-as-mapping": HostileMapping(),
}


@pytest.mark.parametrize("request_", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_unknown_malformed_or_raises_is_denied(request_: Any):
    odd = ("quantum", "shell", "unknown", "factory", "7", "mcp:-list", "mcp:hub-", "custom:", "")
    assert not allowed(policy(*NAMES, *odd), request_)
    assert not allowed(policy(), request_)


def test_the_kind_of_a_denial_is_recorded_as_given():
    rules = policy("read")
    for request in (
        UNKNOWN["new-kind"],
        SHELL,
        mcp("hub", "list"),
        {"kind": "factory", "name": 7},
        Hostile(),
    ):
        assert not allowed(rules, request)
    assert [(one.tool, one.kind) for one in rules.denials] == [
        ("quantum", "quantum"),
        ("bash", "shell"),
        ("mcp:hub-list", "mcp"),
        ("factory", "factory"),
        ("unknown", "unknown"),
    ]


# A declared name, an observed bare name, and a permission request with its source: does the name stand for each?
SOURCES: dict[str, tuple[str, str, bool, Any, bool]] = {
    "custom-needs-its-prefix": (
        "CodeSearch", "CodeSearch", True, {"kind": "custom-tool", "toolName": "CodeSearch"}, False,
    ),
    "mcp-needs-its-prefix": ("github-list_issues", "github-list_issues", True, mcp("github", "list_issues"), False),
    "custom": ("custom:CodeSearch", "codesearch", True, TYPED["custom-tool"][0], True),
    "mcp": ("mcp:github-list_issues", "github-list_issues", True, mcp("github", "list_issues"), True),
    "other-server": ("mcp:github-list_issues", "gitlab-list_issues", False, mcp("gitlab", "list_issues"), False),
    "other-tool": ("mcp:github-list_issues", "github-list_pulls", False, mcp("github", "list_pulls"), False),
    "custom-is-no-builtin": ("custom:bash", "bash", True, SHELL, False),
    "mcp-is-no-custom": ("mcp:CodeSearch", "CodeSearch", True, TYPED["custom-tool"][0], False),
    "custom-has-no-aliases": ("custom:view", "read", False, TYPED["read"][0], False),
    "builtin": ("Builtin:Bash", "bash", True, SHELL, True),
    "alias": ("runCommand", "bash", True, SHELL, True),
    "a-hook-tells-no-source": ("mcp:github-list", "github-list", True, PermissionRequestHook(tool_name="github-list"), True),
    "task-starts-no-named-workflow": ("task", "task", True, workflow("Deploy"), False),
    "a-workflow-is-no-custom-tool": ("custom:Deploy", "Deploy", True, workflow("Deploy"), False),
}  # fmt: skip


@pytest.mark.parametrize("case", SOURCES.values(), ids=SOURCES)
def test_sources_are_kept_apart_where_they_are_known(case: tuple[str, str, bool, Any, bool]):
    declared, bare, seen, request, asked = case
    assert (policy(declared).check_tool(bare) == "") is seen
    assert allowed(policy(declared), request) is asked


FILTERS: dict[str, tuple[list[str], list[str]]] = {
    "aliases": (["fileRead", "writeFile", "runCommand", "web_fetch"], ["builtin:bash", "builtin:edit", "builtin:view", "builtin:web_fetch"]),
    "canonical": (["read", "write", "bash", "fetch"], ["builtin:bash", "builtin:edit", "builtin:view", "builtin:web_fetch"]),
    "once": (["view", "READ", " readFile "], ["builtin:view"]),
    "bare": (["grep", "codeSearch"], ["builtin:codeSearch", "builtin:codesearch", "builtin:grep"]),
    "qualified": (["mcp:Hub-List", "custom:CodeSearch", "builtin:glob"], ["builtin:glob", "custom:CodeSearch", "mcp:Hub-List"]),
    "patterns": (["*", "mcp:*", "builtin:*", "custom:*", "ba*"], []),
    "nothing": ([], []),
}  # fmt: skip


@pytest.mark.parametrize(("tools", "expected"), FILTERS.values(), ids=FILTERS)
def test_the_native_filter_names_tools_as_the_runtime_does(tools: list[str], expected: list[str]):
    assert policy(*tools).available_tools == expected


def test_without_a_list_there_is_neither_filter_nor_hook():
    for rules in (policy(omitted=True), agent_policy(None)):
        assert rules.available_tools is None
        assert rules.hook("") is None
    assert policy().hook("") is not None


def answer(rules: ToolPolicy, call: Any, token: str = "") -> dict[str, Any] | None:
    hook = rules.hook(token)
    assert hook is not None
    return asyncio.run(hook(call, {}))  # type: ignore[arg-type]  # a hook is a coroutine function


def test_the_hook_denies_what_is_not_declared_and_leaves_the_rest_to_the_permission_handler():
    rules = policy("fileRead")
    assert answer(rules, {"toolName": "view", "toolArgs": {}}) is None
    denied = answer(rules, {"toolName": "bash", "toolArgs": {"command": "ls"}})
    assert denied is not None
    assert denied["permissionDecision"] == "deny"
    assert "'bash'" in denied["permissionDecisionReason"]
    assert [(one.tool, one.kind, one.reason) for one in rules.denials] == [
        ("bash", "tool", denied["permissionDecisionReason"])
    ]


NONSENSE: dict[str, Any] = {
    "nothing": None,
    "text": "view",
    "number": 7,
    "list": ["view"],
    "no-name": {"toolArgs": {}},
    "empty-name": {"toolName": ""},
    "number-as-name": {"toolName": 7},
    "list-as-name": {"toolName": ["view"]},
    "raises": Hostile(),
    "raises-as-mapping": HostileMapping(),
}


@pytest.mark.parametrize("call", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("token", ["", "mock-session"])
def test_a_hook_that_cannot_tell_denies(call: Any, token: str):
    rules = policy("view", "7", "unknown")
    denied = answer(rules, call, token)
    assert denied is not None
    assert denied["permissionDecision"] == "deny"
    assert (rules.denials[0].tool, rules.denials[0].kind) == ("unknown", "tool")


class Unreadable(dict[str, Any]):
    """A call whose name can be read, but nothing else."""

    def get(self, key: str, default: Any = None) -> Any:
        raise RuntimeError(key)


def test_a_hook_that_breaks_after_the_check_denies_and_names_the_tool():
    rules = policy("bash")
    denied = answer(rules, Unreadable(toolName="bash"), "mock-session")
    assert denied is not None
    assert denied["permissionDecision"] == "deny"
    assert [(one.tool, one.reason) for one in rules.denials] == [
        ("bash", "the policy could not be checked (RuntimeError)")
    ]


def test_the_policy_comes_before_the_session_of_mocked_programs():
    call = {"toolName": "bash", "toolArgs": {"command": "git log", "description": "d"}}
    denied = answer(policy("view"), call, "t1")
    assert denied is not None
    assert denied["permissionDecision"] == "deny"
    modified = answer(policy("bash"), call, "t1")
    assert modified == {
        "modifiedArgs": {"command": "export WAZA_MOCK_SESSION='t1'; git log", "description": "d"}
    }
    for unrestricted in (policy(omitted=True), agent_policy(None)):
        assert answer(unrestricted, call, "t1") == modified
    assert answer(policy("bash"), {"toolName": "bash", "toolArgs": {"command": 7}}, "t1") is None
    assert json.dumps(call) == json.dumps(
        {"toolName": "bash", "toolArgs": {"command": "git log", "description": "d"}}
    )
