"""Every code of a diagnostic of `waza preflight`: an input that has it, and that nothing is started to find it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.support.program import strict_json, waza, write_tree
from tests.unit.registry._place import MODULE, PROGRAMS, REF, Place
from tests.unit.registry._upstream import Upstream

from waza.model.preflight import Mode, PreflightState, Severity
from waza.preflight import codes, diagnosis

TASK = "id: t\ninputs: {prompt: p}\nexpected: {output_contains: [p]}\n"
MOCK = "config: {executor: mock}\n"
SCENARIO = "schemaVersion: '2.0'\nscenario: A release is made.\n"
AGENT = "---\nname: bot\ndescription: d\ntools: [view]\n---\nHelp."
SKILL = "---\nname: bot\ndescription: d\n---\nHelp."


@dataclass(frozen=True)
class Input:
    """A suite: keys that are added to its head and to its task, further files, and what is done with them."""

    state: PreflightState
    head: str = MOCK
    task: str = TASK
    files: Mapping[str, str] = field(default_factory=dict)
    tasks: str = "tasks: [t.yaml]\n"
    change: Callable[[Path], Any] = lambda _: None
    of_task: bool = False

    def write(self, root: Path) -> None:
        write_tree(
            root, {"eval.yaml": f"name: s\n{self.tasks}{self.head}", "t.yaml": self.task, **self.files}
        )
        self.change(root)


def server(tools: str) -> str:
    return f"{MOCK}mcp_mocks: [{{name: wiki, tools: {tools}}}]\n"


def required(keys: str) -> str:
    return f"{TASK}requirements: [{{id: R, category: quality, description: d, {keys}}}]\n"


def grader(keys: str) -> str:
    return f"{MOCK}graders: [{{{keys}}}]\n"


def trigger_tests(text: str) -> dict[str, str]:
    return {"trigger_tests.yaml": text, "skills/bot/SKILL.md": SKILL}


OF_SKILL = f"{MOCK}skill: bot\n"
WORKTREE = "inputs: {prompt: p, repos: [{type: worktree, source: gone, dest: d}]}"
PROMPTS = "should_trigger_prompts: [{prompt: hello}]\n"
INPUTS: dict[str, Input] = {
    "context.directory": Input("invalid", task=f"{TASK}context_dir: eval.yaml\n", of_task=True),
    "context.fixture": Input("invalid", task="inputs: {prompt: p, context: {fixture: gone}}\n", of_task=True),
    "context.path": Input("invalid", task=f"{TASK}context_dir: gone\n", of_task=True),
    "dependency.live": Input(
        "unresolved", "config: {executor: copilot-sdk, mcp_servers: {wiki: {type: http, url: 'http://127.0.0.1:1'}}}\n"
    ),
    "dependency.mcp_configuration": Input(
        "invalid", "config: {executor: copilot-sdk, mcp_servers: {wiki: {type: http}}}\n"
    ),
    "dependency.repository": Input("invalid", task=f"id: t\n{WORKTREE}\n", of_task=True),
    "eval.configuration": Input("invalid", f"{MOCK}mock: {{output: p, turns: []}}\n"),
    "eval.read": Input("invalid", change=lambda root: (root / "eval.yaml").unlink()),
    "eval.schema": Input("invalid", f"{MOCK}description: [d]\n"),
    "expected.descriptive": Input(
        "verified", task=f"{TASK[:-2]}, outcomes: [{{type: file}}]}}\n", of_task=True
    ),
    "grader.configuration": Input("invalid", grader("type: txet")),
    "grader.execution": Input("unresolved", grader("type: program, config: {command: touch}")),
    "grader.lock": Input("invalid", grader(f"ref: '{REF}#words@v1'")),
    "grader.lock_entry": Input(
        "invalid", grader(f"ref: '{REF}#words@v1'"), files={"waza.lock": "graders: []\n"}
    ),
    "grader.ref": Input("invalid", grader("ref: acme")),
    "grader.result_collision": Input(
        "unresolved",
        grader("type: text, name: words, config: {contains: [x]}"),
        "id: t\ninputs: {prompt: p, follow_up_prompts: [q]}\ncheckpoints: [{after_turn: 1, graders: "
        "[{type: text, name: words, config: {contains: [x]}}]}]\n",
        of_task=True,
    ),
    "hooks.execution": Input("unresolved", f"{MOCK}hooks: {{before_run: [{{command: touch ran}}]}}\n"),
    "instruction.file": Input("invalid", "config: {executor: mock, instruction_files: [gone.md]}\n"),
    "instruction.path": Input("invalid", "config: {executor: mock, instruction_files: [../up.md]}\n"),
    "mock.input_schema": Input("invalid", server("{find: {input_schema: {type: no}, responses: [{return: 1}]}}")),
    "mock.mcp": Input("invalid", server("{find: {}}")),
    "mock.mcp_override": Input(
        "verified",
        "config: {executor: copilot-sdk, mcp_servers: {wiki: {type: http, url: 'http://127.0.0.1:1'}}}\n"
        "mcp_mocks: [{name: wiki, tools: {find: {responses: [{return: 1}]}}}]\n",
    ),
    "requirement.invalid": Input("invalid", task=required("checks: [{grader: g}]"), of_task=True),
    "requirement.references": Input(
        "invalid", task=required("checks: [{scope: task, grader: gone}]"), of_task=True
    ),
    "requirement.uncovered": Input("unresolved", task=required("checks: []"), of_task=True),
    "resource.file": Input("invalid", task="inputs: {prompt: p, files: [{path: gone.txt}]}\n", of_task=True),
    "resource.path": Input("invalid", task="inputs: {prompt: p, files: [{path: ../up.txt}]}\n", of_task=True),
    "runtime.availability": Input("unresolved", "config: {executor: copilot-sdk}\n"),
    "runtime.capability": Input(
        "invalid",
        "config: {executor: a2a, executor_options: {url: 'http://127.0.0.1:1'}}\n"
        "command_mocks: [{name: az, responses: [{args: [], stdout: x}]}]\n",
    ),
    "runtime.executor": Input("invalid", "config: {executor: nobody}\n"),
    "runtime.mcp": Input("unsupported", server("{find: {responses: [{return: 1}]}}")),
    "runtime.tool_boundary": Input("unsupported", OF_SKILL, files={"bot.agent.md": AGENT}),
    "skill.definition": Input("invalid", OF_SKILL, files={"skills/bot/SKILL.md": "---\n- a\n---\n"}),
    "skill.directory": Input("unresolved", "config: {executor: mock, skill_directories: [gone]}\n"),
    "skill.required": Input("invalid", "config: {executor: copilot-sdk, required_skills: [gone]}\n"),
    "skill.target": Input("invalid", "config: {executor: copilot-sdk}\nskill: gone\n"),
    "skills.discovery_disabled": Input("verified", f"{SCENARIO}{MOCK}", of_task=True),
    "task.configuration": Input("invalid", task="id: t\ninputs: {prompt: p, prompt_file: p.md}\n", of_task=True),
    "task.executor": Input(
        "invalid",
        "config: {executor: command, executor_options: {command: cat}}\n",
        "id: t\ninputs: {prompt: p}\nexpected: {behavior: {max_tokens: 5}}\n",
        of_task=True,
    ),
    "task.id": Input(
        "unresolved", tasks="tasks: [t.yaml, u.yaml]\n", files={"u.yaml": "id: t\nenabled: false\n"}, of_task=True
    ),
    "task.read": Input(
        "invalid",
        tasks="tasks: [t.yaml, '*.link']\n",
        change=lambda root: (root / "a.link").symlink_to(root / "gone.yaml"),
    ),
    "task.schema": Input("invalid", task="id: t\ninputs: say hello\n", of_task=True),
    "task.version": Input(
        "invalid",
        "schemaVersion: '1.0'\nconfig: {executor: copilot-sdk}\n",
        f"{TASK}command_mocks: [{{name: az, responses: [{{args: [], stdout: x}}]}}]\n",
        of_task=True,
    ),
    "tasks.csv": Input("invalid", tasks="tasks_from: rows.csv\n", files={"rows.csv": "id,prompt\na\n"}),
    "tasks.empty": Input("invalid", task=f"{TASK}enabled: false\n"),
    "tasks.pattern": Input("invalid", tasks="tasks: [t.yaml, 'gone/*.yaml']\n"),
    "trigger.configuration": Input("invalid", "config: {executor: copilot-sdk}\nskill: bot\n", files=trigger_tests(f"skill: other\n{PROMPTS}")),
    "trigger.read": Input(
        "invalid", OF_SKILL, files=trigger_tests(""), change=lambda root: make_directory(root / "trigger_tests.yaml")
    ),
    "trigger.schema": Input("invalid", OF_SKILL, files=trigger_tests("skill: bot\nshould_trigger_prompts: [hello]\n")),
}  # fmt: skip


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


# Of graders from elsewhere, with a module that is locked and cached: what is changed of that.
REF_INPUTS: dict[str, tuple[PreflightState, Callable[[Place], Any]]] = {
    "grader.cache": ("invalid", lambda place: replace(place, "#words@", "#gone@")),
    "grader.cache_integrity": (
        "invalid",
        lambda place: (place.module / "words.yaml").write_text("{type: text, config: {contains: [mad]}}"),
    ),
    "grader.cache_missing": ("unresolved", lambda place: shutil.rmtree(place.module)),
    "grader.merge": ("invalid", lambda place: place.suite(f"graders: [{{ref: '{REF}#words@v1', type: file}}]")),
    "grader.trust": ("invalid", lambda place: place.suite(f"graders: [{{ref: '{REF}#check@v1'}}]")),
}  # fmt: skip


def replace(place: Place, old: str, new: str) -> None:
    for name in ("eval.yaml", "waza.lock"):
        text = (place.root / name).read_text(encoding="utf-8")
        (place.root / name).write_text(text.replace(old, new), encoding="utf-8")


SPY = """
import json, os, pathlib, sys
seen = []
def spy(event, args):
    if event in ("subprocess.Popen", "os.posix_spawn", "os.system", "os.exec", "os.fork", "os.forkpty", "os.spawn",
                 "pty.spawn", "os.startfile", "_posixsubprocess.fork_exec") or event.startswith("socket."):
        seen.append(event)
sys.addaudithook(spy)
from waza.preflight.inventory import inventory
from waza.suite.loading import LoadOptions
import msgspec
found = {}
for name in sys.argv[1:]:
    os.chdir(name)
    found[pathlib.Path(name).name] = msgspec.to_builtins(inventory(pathlib.Path("eval.yaml"), LoadOptions()))
print(json.dumps({"found": found, "started": seen}))
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The reports of all inputs, made in one process that notes what it starts and which sockets it uses."""
    root = tmp_path_factory.mktemp("inputs")
    for code, one in INPUTS.items():
        one.write(root / code)
    upstream = Upstream.of(tmp_path_factory.mktemp("hosts"), MODULE, PROGRAMS)
    locked = Place(tmp_path_factory.mktemp("locked"), upstream)
    locked.suite(f"graders: [{{ref: '{REF}#check@v1'}}, {{ref: '{REF}#words@v1'}}]")
    locked.waza("get")
    locked.suite(f"graders: [{{ref: '{REF}#words@v1'}}]")
    for code, (_, change) in REF_INPUTS.items():
        shutil.copytree(locked.root, root / code)
        change(Place(root / code, upstream))
    directories = [str(root / code) for code in (*INPUTS, *REF_INPUTS)]
    done = [
        subprocess.run(
            [sys.executable, "-c", SPY, *part],
            env={**os.environ, "PATH": "", "WAZA_MODULE_CACHE": cache},
            capture_output=True,
            text=True,
            check=False,
        )
        for part, cache in (
            (directories[: len(INPUTS)], str(root / "no-cache")),
            *(([directory], f"{directory}/cache") for directory in directories[len(INPUTS) :]),
        )
    ]
    assert [one.stderr for one in done] == [""] * len(done)
    parts = [strict_json(one.stdout) for one in done]
    return {
        "found": {code: report for part in parts for code, report in part["found"].items()},
        "started": [event for part in parts for event in part["started"]],
        "root": root,
    }


@pytest.mark.parametrize("code", [*INPUTS, *REF_INPUTS])
def test_a_code_has_an_input(traced: dict[str, Any], code: str) -> None:
    state = INPUTS[code].state if code in INPUTS else REF_INPUTS[code][0]
    found = [one for one in traced["found"][code]["diagnostics"] if one["code"] == code]
    assert [one["state"] for one in found] == [state] * len(found) != []
    of_task = code in INPUTS and INPUTS[code].of_task
    for one in found:
        assert one["severity"] in get_args(Severity)
        assert one["message"].startswith(one["source"])
        assert one["remediation"]
        assert one.get("task_id", "") == ("t" if of_task else ""), one
    invalid = [one for one in traced["found"][code]["diagnostics"] if one["state"] == "invalid"]
    assert {one["code"] for one in invalid} <= {code, *BESIDES.get(code, ())}


# What is wrong as well where a code has to have something else wrong first.
BESIDES = {"trigger.configuration": {"skill.target"}}


def test_there_is_an_input_for_every_code() -> None:
    assert {*INPUTS, *REF_INPUTS} == set(codes.DIAGNOSTICS)


def test_the_codes_are_those_that_diagnostics_can_have() -> None:
    levels = {
        f"{level}.{part}"
        for level in ("eval", "task", "trigger")
        for part in ("read", "schema", "configuration")
    }
    made = {*diagnosis._CODES.values(), *diagnosis._TASK_CODES.values(), *diagnosis._PARTS.values(), *levels}
    assert set(codes.DIAGNOSTICS) == made | {"instruction.path", "mock.input_schema"}


def test_nothing_is_started_and_nobody_is_asked(traced: dict[str, Any]) -> None:
    assert traced["started"] == []
    root: Path = traced["root"]
    assert not [
        path for path in root.rglob("*") if path.name in (".waza", "ran") and path.parent.parent == root
    ]


@pytest.mark.parametrize(
    ("executor", "expected"),
    [
        ("mock", {"runtime.mcp": "unsupported", "runtime.capability": "unsupported"}),
        ("copilot-sdk", {"runtime.availability": "unresolved"}),
        ("command:cat", {"runtime.availability": "unresolved", "runtime.mcp": "invalid"}),
        ("nobody", {"runtime.availability": "unresolved", "runtime.executor": "invalid"}),
    ],
)
def test_executors_of_the_command_line(tmp_path: Path, executor: str, expected: dict[str, str]) -> None:
    head = f"""{SCENARIO}config: {{executor: a2a, executor_options: {{url: 'http://127.0.0.1:1'}}}}
command_mocks: [{{name: az, responses: [{{args: [], stdout: x}}]}}]
mcp_mocks: [{{name: wiki, tools: {{find: {{responses: [{{return: 1}}]}}}}}}]
"""
    Input("invalid", head).write(tmp_path)
    asked = waza("preflight", "eval.yaml", "--executor", executor, "--json", cwd=tmp_path)
    report = strict_json(asked.out)
    told = {one["code"]: one["state"] for one in report["diagnostics"] if one["state"] != "verified"}
    if executor == "nobody":
        told.pop("runtime.availability", None)
        expected = {"runtime.executor": "invalid"}
    assert told == expected
    assert (asked.code, report["executor"]) == (
        int("invalid" in expected.values()),
        executor.partition(":")[0],
    )
    needs = {(one["kind"], one["name"]): one["state"] for one in report["dependencies"]}
    states = {"mock": ("unsupported", "unsupported"), "copilot-sdk": ("verified", "verified")}
    if executor in states:
        assert (needs["command", "az"], needs["mcp_server", "wiki"]) == states[executor]
    assert all(one["mode"] in get_args(Mode) for one in report["dependencies"])


@pytest.mark.parametrize("code", codes.DIAGNOSTICS)
def test_a_code_is_explained(code: str) -> None:
    explanation = codes.DIAGNOSTICS[code]
    assert explanation.meaning.endswith(".")
    assert explanation.remedy.endswith(".")
    assert explanation.example.strip()


def test_explain_knows_the_codes_of_diagnostics(tmp_path: Path) -> None:
    ended = waza("explain", "tasks.pattern", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    meaning, remedy, example = codes.DIAGNOSTICS["tasks.pattern"]
    assert ended.out == f"{meaning}\n\nWhat to do: {remedy}\n\nExample: {example}\n"
    assert "did you mean 'tasks.pattern'?" in waza("explain", "task.pattern", cwd=tmp_path).err
    assert json.dumps(list(codes.DIAGNOSTICS)) == json.dumps(sorted(codes.DIAGNOSTICS))
