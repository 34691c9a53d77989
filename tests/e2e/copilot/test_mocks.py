"""Mocked MCP servers and programs as a real agent meets them: what it gets, and what is recorded of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, calls_then_fine, run, task, tools_server, write_suite
from tests.support.model_server import Call, Reply, Scripts
from tests.support.program import waza, write_tree

pytestmark = pytest.mark.slow

NUMBER = {"type": "object", "properties": {"id": {"type": "integer"}}}
CRM = {
    "name": "crm",
    "tools": {
        "find": {
            "description": "Finds a customer.",
            "input_schema": NUMBER,
            "responses": [
                {"match": {"id": 1}, "return": {"name": "Ada", "b": [1, 2]}},
                {"match_regex": {"id": "^9+$"}, "return": "all nines"},
                {"match_schema": {"required": ["mail"]}, "return": "by mail"},
                {"match": {"id": 5}, "error": "the quota is used up"},
            ],
        }
    },
}
HANDS = {"name": "hands", "tools": {"touch": {"responses": [{"return": "mocked hands"}]}}}
FINDS: list[dict[str, Any]] = [{"id": 1}, {"id": 999}, {"mail": "a@b.c"}, {"id": 5}, {"id": 1, "more": True}]

AZ = {
    "name": "az",
    "responses": [
        {"args": ["account", "show"], "stdout": {"name": "prod"}},
        {"args_regex": ["login", "--token", ".*"], "stdout": "logged in\n"},
    ],
}
KUBECTL = {
    "name": "kubectl",
    "responses": [
        {"args_regex": ["get", "p.*"], "stdout": "pod-1 Running\n"},
        {"args": ["delete", "pod"], "stderr": "forbidden\n", "exit_code": 3},
    ],
}
GIT = {"name": "git", "responses": [{"args": ["status"], "stdout": "git is mocked\n"}]}
LOGIN = "az login --token hunter2-and-more"
BOTH = f"az account show; kubectl get pods && kubectl delete pod; echo code $?; {LOGIN}"
ASSERTIONS = [
    "[call['command'] for call in command_invocations] == ['az', 'kubectl', 'kubectl', 'az']",
    "[call['exit_code'] for call in command_invocations] == [0, 0, 3, 0]",
    "'hunter2' not in str(command_invocations)",
]


def az(answer: str, **keys: Any) -> list[dict[str, Any]]:
    return [{"name": "az", "responses": [{"args": ["account", "show"], "stdout": answer}], **keys}]


def crm(answer: str) -> list[dict[str, Any]]:
    return [{"name": "crm", "tools": {"find": {"responses": [{"return": answer}]}}}]


def bash(command: str) -> Call:
    """A command whose two outputs come in their order."""
    return Call("bash", {"command": f"{{ {command}; }} 2>&1", "description": "works"})


SHOW = "az account show; echo code $?"
TASKS: dict[str, dict[str, Any]] = {
    "FIND": {},
    "SAME-NAME": {},
    "OTHER-CRM": {"mcp_mocks": crm("another crm")},
    "THIRD-CRM": {"mcp_mocks": crm("a third crm")},
    "NO-MCP": {"mcp_mocks": []},
    "BOTH": {"graders": [{"type": "code", "name": "calls", "config": {"assertions": ASSERTIONS}}]},
    "AZ-ONE": {"command_mocks": az("one ")},
    "AZ-TWO": {"command_mocks": az("two ", expect_calls=1)},
    "TOO-FEW": {"command_mocks": az("once ", expect_calls=2)},
    "UNMATCHED": {},
    "NO-MOCKS": {"command_mocks": []},
    "GIT": {},
    "SHELLS": {},
}
SCRIPTS: Scripts = {
    "FIND": calls_then_fine(*(Call("crm-find", arguments) for arguments in FINDS)),
    "SAME-NAME": calls_then_fine(Call("hands-touch", {"path": "x"})),
    "OTHER-CRM": calls_then_fine(Call("crm-find", {"id": 1})),
    "THIRD-CRM": calls_then_fine(Call("crm-find", {"id": 1})),
    "NO-MCP": calls_then_fine(Call("hands-look", {})),
    "BOTH": calls_then_fine(bash(BOTH)),
    "AZ-ONE": calls_then_fine(bash(SHOW)),
    "AZ-TWO": calls_then_fine(bash(SHOW)),
    "TOO-FEW": calls_then_fine(bash(SHOW)),
    "UNMATCHED": calls_then_fine(bash("az nonsense; echo code $?")),
    "NO-MOCKS": calls_then_fine(bash(SHOW)),
    "GIT": calls_then_fine(bash("git status; git log; echo code $?")),
    "SHELLS": calls_then_fine(bash("az account show; bash -lc 'az account show'; sh -lc 'az account show'")),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    root = tmp_path_factory.mktemp("mocks")
    real = "#!/bin/sh\necho the real one\n"
    # A home whose login shells find another az first, and a PATH that has one as well.
    write_tree(root, {"home/.bash_profile": f"export PATH={root}/bin:$PATH\n", "bin/az": real})
    (root / "bin/az").chmod(0o755)
    tasks = {name: task(name, **keys) for name, keys in TASKS.items()}
    suite = write_suite(
        root / "project",
        tasks,
        mcp_mocks=[CRM, HANDS],
        command_mocks=[AZ, KUBECTL, GIT],
        config={"mcp_servers": tools_server(root)},
    )
    path = f"{root}/bin{os.pathsep}{os.environ['PATH']}"
    return run(suite, SCRIPTS, "-v", HOME=str(root / "home"), PATH=path)


def results(seen: Seen, name: str) -> list[str]:
    """What the tools of a task told the agent, in the order of the calls."""
    return [event["result"]["content"] for event in seen.run(name)["tool_events"]]


def servers(seen: Seen, name: str) -> set[str]:
    """The tools of MCP servers that a task's agent was offered."""
    return {tool for turn in seen.asked(name) for tool in turn.tools if tool.startswith(("crm-", "hands-"))}


def commands(seen: Seen, name: str) -> list[tuple[Any, ...]]:
    found = seen.run(name).get("command_invocations", [])
    return [(one["command"], one["args"], one["exit_code"], one["response_index"]) for one in found]


def test_every_task_but_one_passes(seen: Seen):
    statuses = {name: seen.run(name)["status"] for name in TASKS}
    assert statuses == {**dict.fromkeys(TASKS, "passed"), "TOO-FEW": "error"}


def test_a_mocked_server_answers_by_value_pattern_and_schema_and_says_what_is_missing(seen: Seen):
    found = results(seen, "FIND")
    assert found[:3] == ['{"b":[1,2],"name":"Ada"}', '"all nines"', '"by mail"']
    assert found[3].endswith("MCP mock 'crm', tool 'find': the quota is used up")
    assert "no response matches the arguments of this call; add a fixture for them" in found[4]
    events = seen.run("FIND")["tool_events"]
    assert [(event["tool_name"], event["args"]) for event in events] == [("crm-find", args) for args in FINDS]
    assert [event["success"] for event in events] == [True, True, True, False, False]
    assert seen.asked("FIND")[-1].tool_results[0] == found[0], "the agent is told the same"


def test_a_mock_takes_the_place_of_a_server_of_its_name(seen: Seen):
    assert results(seen, "SAME-NAME") == ['"mocked hands"']
    assert servers(seen, "SAME-NAME") == {"crm-find", "hands-touch"}


def test_the_mocks_of_a_task_replace_those_of_the_suite(seen: Seen):
    assert results(seen, "OTHER-CRM") == ['"another crm"']
    assert results(seen, "THIRD-CRM") == ['"a third crm"'], "at the same time, by the same name"
    assert servers(seen, "OTHER-CRM") == {"crm-find", "hands-touch", "hands-look"}, "hands is the real one"
    assert results(seen, "NO-MCP") == ["done: look"]
    assert servers(seen, "NO-MCP") == {"hands-touch", "hands-look"}


def test_mocked_programs_are_called_recorded_and_shown_without_secrets(seen: Seen):
    assert results(seen, "BOTH")[0].startswith('{"name":"prod"}pod-1 Running\nforbidden\ncode 3\nlogged in\n')
    hidden = ["login", "[REDACTED]", "[REDACTED]"]
    assert commands(seen, "BOTH") == [
        ("az", ["account", "show"], 0, 0),
        ("kubectl", ["get", "pods"], 0, 0),
        ("kubectl", ["delete", "pod"], 3, 1),
        ("az", hidden, 0, 1),
    ]
    shown = [
        line.split("[COMMAND] ")[1] for line in seen.ended.err.splitlines() if "BOTH | [COMMAND]" in line
    ]
    assert shown == [
        "az account show -> exit 0",
        "kubectl get pods -> exit 0",
        "kubectl delete pod -> exit 3",
        "az login '[REDACTED]' '[REDACTED]' -> exit 0",
    ]


def test_code_assertions_see_the_calls(seen: Seen):
    assert seen.run("BOTH")["validations"]["calls"]["passed"] is True


def test_mocks_of_one_name_do_not_mix(seen: Seen):
    assert results(seen, "AZ-ONE")[0].startswith("one code 0\n")
    assert results(seen, "AZ-TWO")[0].startswith("two code 0\n")
    once = [("az", ["account", "show"], 0, 0)]
    assert commands(seen, "AZ-ONE") == commands(seen, "AZ-TWO") == once


def test_another_number_of_calls_than_expected_is_an_error(seen: Seen):
    run = seen.run("TOO-FEW")
    assert run["error_msg"] == "command mock 'az': expected 2 call(s), got 1"
    assert run["validations"]["said"]["passed"] is True, "it is graded all the same"


def test_a_call_that_no_response_matches_gets_an_error(seen: Seen):
    said = results(seen, "UNMATCHED")[0]
    assert said.startswith("waza: no response of the command mock 'az' matches this call: nonsense")
    assert "code 127" in said
    assert commands(seen, "UNMATCHED") == [("az", ["nonsense"], 127, -1)]


def test_an_empty_list_means_the_real_program(seen: Seen):
    assert results(seen, "NO-MOCKS")[0].startswith("the real one\ncode 0\n")
    assert commands(seen, "NO-MOCKS") == []


def test_a_mocked_git_does_not_record_what_the_runtime_asks_git(seen: Seen):
    assert results(seen, "GIT")[0].startswith("git is mocked\n")
    assert commands(seen, "GIT") == [("git", ["status"], 0, 0), ("git", ["log"], 127, -1)]


def test_login_shells_find_the_mock_too(seen: Seen):
    assert results(seen, "SHELLS")[0].startswith('{"name":"prod"}' * 3)
    assert len(commands(seen, "SHELLS")) == 3


def test_an_agent_that_meets_mocks_uses_tokens(seen: Seen):
    usage = seen.run("FIND")["session_digest"]["usage"]
    assert usage["input_tokens"] > 0


# --- sequences ---

BUSY = {
    "name": "shop",
    "tools": {
        "buy": {
            "responses": [
                {"match": {"n": 1}, "sequence": [{"error": "busy", "delay_ms": 200}, {"return": "bought"}]},
                {"return": "nothing to buy"},
            ]
        }
    },
}
FLAKY = {
    "name": "az",
    "responses": [
        {
            "args": ["up"],
            "sequence": [
                {"stderr": "try again\n", "exit_code": 7},
                {"stdout": "up\n", "delay_ms": 200},
            ],
        }
    ],
}
UP = "for n in 1 2 3; do az up; echo code $?; done"


def test_sequences_answer_once_a_step_and_again_for_every_trial(tmp_path: Path):
    once = Call("shop-buy", {"n": 1})
    buy = [Reply(calls=[once]), Reply(calls=[once, Call("shop-buy", {"n": 2})]), *calls_then_fine(once)]
    suite = write_suite(
        tmp_path,
        {"BUY": task("BUY"), "UP": task("UP")},
        schemaVersion="2.0",
        scenario="A shop that is busy at first.",
        mcp_mocks=[BUSY],
        command_mocks=[FLAKY],
        config={"trials_per_task": 2},
    )
    seen = run(suite, {"BUY": buy, "UP": calls_then_fine(bash(UP))})
    for number in (1, 2):
        bought = seen.run("BUY", number)["tool_events"]
        said = [event["result"]["content"].removeprefix("MCP server 'shop': ") for event in bought]
        place = "MCP mock 'shop', tool 'buy': "
        assert said == [f"{place}busy", '"bought"', '"nothing to buy"', f"{place}fault sequence exhausted"]
        assert bought[0]["duration_ms"] >= 200
        (up,) = seen.run("UP", number)["tool_events"]
        exhausted = "waza: command mock 'az': fault sequence exhausted"
        assert up["result"]["content"].startswith(f"try again\ncode 7\nup\ncode 0\n{exhausted}\ncode 127\n")
        assert up["duration_ms"] >= 200
        calls = seen.run("UP", number)["command_invocations"]
        assert [(call["exit_code"], call["response_index"]) for call in calls] == [(7, 0), (0, 0), (127, 0)]
        assert [call.get("exhausted", False) for call in calls] == [False, False, True]
    pages = [" ".join(waza("show", name, cwd=tmp_path).out.split()) for name in ("UP", "BUY")]
    assert "• mocked program: az up -> exit 127 (the sequence is exhausted)" in pages[0]
    assert "• mocked server: shop-buy" in pages[1]
    assert pages[1].count("fault sequence exhausted") == 2, "among the causes, and in the conversation"
