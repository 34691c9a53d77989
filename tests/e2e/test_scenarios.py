"""Suites of schema 2.0: what makes one, what it refuses, and which skills its tasks have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import strict_json, waza, write_tree

HEAD = "schemaVersion: '2.0'\nscenario: A release is made.\nname: s\ntasks: [t.yaml]\n"
MOCK = "config: {executor: mock}\n"
COPILOT = "config: {executor: copilot-sdk}\n"
TASK = "id: t\ninputs: {prompt: p}\nexpected: {output_contains: [p]}\n"
BOT = {"skills/bot/SKILL.md": "---\nname: bot\ndescription: d\n---\nHelp."}

OLDER = """\
adversarial: {packs: [prompt-injection]}
command_mocks: [{name: az, responses: [{args: [], stdout: x}]}]
mcp_mocks: [{name: s, tools: {put: {responses: [{return: 1}]}}}]
"""

# What is written, and how the message about it begins behind its place; "" for a suite that is accepted.
HEADS: dict[str, tuple[str, str]] = {
    "a scenario": (HEAD, ""),
    "a version that is no text": (HEAD.replace("'2.0'", "2.0"), ""),
    "no scenario": (HEAD.replace("A release is made.", "~"), "schemaVersion: version 2.0 is not readable here"),
    "neither": (HEAD.replace("A release is made.", "~").replace("2.0", "1.4"), ""),
    "a blank scenario": (HEAD.replace("A release is made.", "' '"), "scenario: is blank"),
    "an empty scenario": (HEAD.replace("A release is made.", "''"), "scenario: is blank"),
    "a list": (HEAD.replace("A release is made.", "[a]"), "scenario: must be a text, not a list"),
    **{
        f"version {version}": (
            HEAD.replace("'2.0'", version),
            "schemaVersion: a scenario needs schemaVersion: '2.0', written out",
        )
        for version in ("'2.1'", "'3.0'", "'1.4'", "2", "~")
    },
    "no version": (HEAD.replace("schemaVersion: '2.0'\n", ""), "schemaVersion: a scenario needs schemaVersion"),
    "features of versions before": (f"{HEAD}{OLDER}", ""),
    "an unknown key": (f"{HEAD}colour: red\n", "colour: unknown key 'colour'"),
    "an unknown key of a hook": (
        f"{HEAD}hooks: {{before_run: [{{command: 'true', env: x}}]}}\n",
        "hooks.before_run[0].env: unknown key 'env'",
    ),
}  # fmt: skip
TASKS: dict[str, tuple[str, str]] = {
    "an unknown key": (f"{TASK}colour: red\n", "colour: unknown key 'colour'"),
    "an unknown key of inputs": ("inputs: {prompt: p, colour: red}\n", "inputs.colour: unknown key 'colour'"),
    "an unknown key of a requirement": (
        f"{TASK}requirements: [{{id: R, category: quality, description: d, owner: me}}]\n",
        "requirements[0].owner: unknown key 'owner'",
    ),
    "a schemaVersion": (f"{TASK}schemaVersion: '2.0'\n", "schemaVersion: unknown key 'schemaVersion'"),
}
CONFIGS: dict[str, tuple[str, str]] = {
    "an unknown key": ("{executor: mock, colour: red}", "config.colour: unknown key 'colour'"),
    "required skills without anything to look in": (
        "{executor: mock, required_skills: [bot]}",
        "config.required_skills: a scenario without a skill needs config.skill_directories to look in",
    ),
    "required skills in a directory": (
        "{executor: mock, required_skills: [bot], skill_directories: [skills]}",
        "",
    ),
}
CASES = {
    **{f"suite: {name}": (head + MOCK, TASK, starts) for name, (head, starts) in HEADS.items()},
    **{f"task: {name}": (HEAD + MOCK, task, starts) for name, (task, starts) in TASKS.items()},
    **{f"config: {name}": (f"{HEAD}config: {config}\n", TASK, starts) for name, (config, starts) in CONFIGS.items()},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_makes_a_scenario(tmp_path: Path, name: str) -> None:
    suite, task, starts = CASES[name]
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": task, **BOT})
    ended = waza("run", "eval.yaml", "--executor", "mock", "--no-save", cwd=tmp_path)
    errors = [
        line
        for line in ended.err.splitlines()
        if re.match(r"\S+:\d+:\d+: ", line) and ": warning: " not in line
    ]
    told = [line.split(": ", 1)[1] for line in errors]
    assert [line.startswith(starts) for line in told] == ([True] if starts else []), ended.err
    assert ended.code == (2 if starts else 0)


def tool(response: str) -> str:
    return f"{COPILOT}mcp_mocks: [{{name: s, tools: {{put: {{responses: [{response}]}}}}}}]\n"


def program(response: str) -> str:
    return f"{COPILOT}command_mocks: [{{name: az, responses: [{response}]}}]\n"


# Responses, and what is wrong with them; "" for those that are accepted.
OF_TOOLS: dict[str, str] = {
    "{match: {a: 1}, sequence: [{return: 1}, {return: ~}, {error: x, delay_ms: 5}]}": "",
    "{sequence: []}": "sequence: has no step",
    "{sequence: ~}": "sequence: has no step",
    "{sequence: {return: 1}}": "sequence: must be a list",
    "{sequence: [{}]}": "sequence[0]: needs one of: return, error",
    "{sequence: [{delay_ms: 1}]}": "sequence[0]: needs one of: return, error",
    "{sequence: [{return: 1, error: x}]}": "sequence[0]: has both 'return' and 'error'",
    "{sequence: [{error: ' '}]}": "sequence[0].error: must not be empty",
    "{sequence: [{return: 1, delay_ms: ~}]}": "sequence[0].delay_ms: must not be empty",
    "{sequence: [{return: 1, delay_ms: 2.0}]}": "sequence[0].delay_ms: must be a whole number",
    "{sequence: [{return: 1, delay_ms: -1}]}": "sequence[0].delay_ms: is -1",
    "{sequence: [{return: 1, delay_ms: 9300000000000}]}": "sequence[0].delay_ms: is 9300000000000",
    "{sequence: [{return: 1, match: {}}]}": "sequence[0].match: unknown key 'match'",
    "{sequence: [{return: 1, sequence: []}]}": "sequence[0].sequence: unknown key 'sequence'",
    "{sequence: [{return: 1, colour: red}]}": "sequence[0].colour: unknown key 'colour'",
    "{return: ~, sequence: [{return: 1}]}": "return: 'return' cannot be combined with 'sequence'",
    "{error: '', sequence: [{return: 1}]}": "error: 'error' cannot be combined with 'sequence'",
    "{return: 1, delay_ms: 5}": "delay_ms: unknown key 'delay_ms'",
    "{return: 1, colour: red}": "colour: unknown key 'colour'",
}
OF_PROGRAMS: dict[str, str] = {
    "{args: [], sequence: [{stdout: ~}, {stderr: x, exit_code: 1, delay_ms: 1}, {fixture: t.yaml}]}": "",
    "{args: [], sequence: [{delay_ms: 1}]}": "sequence[0]: needs one of: stdout, stderr, exit_code, fixture",
    "{args: [], sequence: [{stdout: x, fixture: t.yaml}]}": "sequence[0]: has both 'stdout' and 'fixture'",
    "{args: [], sequence: [{exit_code: 1.0}]}": "sequence[0].exit_code: must be a whole number",
    "{args: [], sequence: [{exit_code: '1'}]}": "sequence[0].exit_code: must be a whole number",
    "{args: [], sequence: [{exit_code: 256}]}": "sequence[0].exit_code: is 256",
    "{args: [], sequence: [{exit_code: ~}]}": "sequence[0].exit_code: must not be empty",
    "{args: [], sequence: [{stderr: ~}]}": "sequence[0].stderr: must not be empty",
    "{args: [], sequence: [{fixture: ~}]}": "sequence[0].fixture: must not be empty",
    "{args: [], sequence: [{fixture: gone}]}": "sequence[0].fixture: there is no file 'gone'",
    "{args: [], sequence: [{fixture: ../up}]}": "sequence[0].fixture: the path '../up' climbs",
    "{args: [], sequence: [{stdout: x, args: []}]}": "sequence[0].args: unknown key 'args'",
    "{args: [], exit_code: 0, sequence: [{stdout: x}]}": "exit_code: 'exit_code' cannot be combined with 'sequence'",
    "{args: [], fixture: ~, sequence: [{stdout: x}]}": "fixture: 'fixture' cannot be combined with 'sequence'",
    "{args: [], sequence: [{stdout: x, stdout: y}]}": "duplicate key 'stdout'",
}
MOCKS = [
    *(
        (tool(written), "mcp_mocks[0].tools.put.responses[0].", starts)
        for written, starts in OF_TOOLS.items()
    ),
    *(
        (program(written), "command_mocks[0].responses[0].", starts)
        for written, starts in OF_PROGRAMS.items()
    ),
]


def problems(root: Path, suite: str, task: str = TASK, **files: str) -> list[str]:
    """The invalid diagnostics of a suite, without their places."""
    write_tree(root, {"eval.yaml": suite, "t.yaml": task, **files})
    report = strict_json(waza("preflight", "eval.yaml", "--json", cwd=root).out)
    invalid = [one["message"] for one in report["diagnostics"] if one["state"] == "invalid"]
    return [re.sub(r"^\S+:\d+:\d+: ", "", message) for message in invalid]


def test_the_rules_of_sequences(tmp_path: Path) -> None:
    for number, (mocks, place, starts) in enumerate(MOCKS):
        found = problems(tmp_path / str(number), HEAD + mocks)
        duplicate = starts.startswith("duplicate")
        expected = starts if duplicate else place + starts
        assert [message.startswith(expected) for message in found] == ([True] if starts else []), (
            mocks,
            found,
        )


def test_sequences_are_for_scenarios_alone_also_in_tasks_and_fixtures(tmp_path: Path) -> None:
    needs = "'sequence' needs a scenario suite; declare"
    legacy = HEAD.replace("2.0", "1.4").replace("scenario: A release is made.\n", "")
    step = "{args: [], sequence: [{stdout: x}]}"
    of_task = f"{TASK}command_mocks: [{{name: az, responses: [{step}]}}]\n"
    server = f"{COPILOT}mcp_mocks: [{{name: s, fixtures: m}}]\n"
    fixture = {"m/put.json": '{"responses": [{"sequence": [{"return": 1}]}]}'}
    for number, (head, code) in enumerate([(HEAD, False), (legacy, True)]):
        root = tmp_path / str(number)
        found = [
            problems(root / "a", head + program(step)),
            problems(root / "b", head + COPILOT, of_task),
            problems(root / "c", head + server, **fixture),
        ]
        places = ["command_mocks[0].responses[0]", "command_mocks[0].responses[0]", "responses[0]"]
        assert [[needs.partition(";")[0] in one for one in each] for each in found] == [[True] * code] * 3
        assert [
            [one.startswith(f"{place}.sequence") for one in each]
            for place, each in zip(places, found, strict=True)
        ] == [[True] * code] * 3


# --- skills, and what a run says ---


def offered(root: Path) -> bool:
    """Whether the task is offered skills, by preflight."""
    report = strict_json(waza("preflight", "eval.yaml", "--json", cwd=root).out)
    return not [one for one in report["diagnostics"] if one["code"] == "skills.discovery_disabled"]


@pytest.mark.parametrize(
    ("head", "task", "skills"),
    [
        (HEAD, "", False),
        (f"{HEAD}skill: bot\n", "", True),
        (f"{HEAD}skill: bot\n", "skill_directories: []\n", False),
        (HEAD, "skill_directories: [skills]\n", True),
        (HEAD.replace("2.0", "1.4").replace("scenario", "description"), "skill_directories: []\n", True),
    ],
    ids=["nothing", "a skill", "none in the task", "a directory in the task", "an older suite"],
)
def test_no_skill_is_offered_unless_one_is_declared(
    tmp_path: Path, head: str, task: str, skills: bool
) -> None:
    write_tree(tmp_path, {"eval.yaml": head + COPILOT, "t.yaml": TASK + task, **BOT})
    write_tree(tmp_path, {".waza.yaml": "paths: {skills: skills}\n"})
    assert offered(tmp_path) is skills


def test_results_keep_their_version_and_no_answer_is_cached(tmp_path: Path) -> None:
    write_tree(tmp_path, {"eval.yaml": HEAD + MOCK, "t.yaml": TASK})
    ended = waza("run", "eval.yaml", "--cache", "-o", "r.json", cwd=tmp_path)
    results: dict[str, Any] = strict_json((tmp_path / "r.json").read_bytes())
    assert (ended.code, results["schemaVersion"], results["skill"]) == (0, "1.4", "")
    assert "scenario suites are not cached" in ended.err
    assert "cached" not in results["tasks"][0]


# --- the page ---

PAGE = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")


def test_the_example_of_the_page_runs_on_the_mock(tmp_path: Path) -> None:
    files = dict(re.findall(r"^`([^`\n]+\.yaml)`:\n\n```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    write_tree(tmp_path, files)
    asked = waza("preflight", "eval.yaml", "--json", cwd=tmp_path)
    states = {one["code"]: one["state"] for one in strict_json(asked.out)["diagnostics"]}
    assert (asked.code, states) == (
        0,
        {
            "expected.descriptive": "verified",
            "requirement.uncovered": "unresolved",
            "runtime.availability": "unresolved",
            "skills.discovery_disabled": "verified",
        },
    )
    ended = waza("run", "eval.yaml", "--executor", "mock", cwd=tmp_path)
    assert ended.code == 0, ended.out
    (task,) = ended.results()["tasks"]
    calls = [(one["success"], one["result"]) for one in task["runs"][0]["tool_events"]]
    assert calls == [(False, "MCP mock 'store', tool 'put': 503 try again"), (True, '{"stored":true}')]
    assert "3 requirements: 2 recorded pass, 1 unresolved" in waza("show", "--requirements", cwd=tmp_path).out
    once = files["tasks/upload.yaml"].replace("    - {name: store-put, args: {key: report}}\n", "", 1)
    write_tree(tmp_path, {"tasks/upload.yaml": once})
    assert waza("run", "eval.yaml", "--executor", "mock", cwd=tmp_path).code == 1
