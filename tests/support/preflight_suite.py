"""A suite with something of everything, and what `waza preflight` reports on it: as JSON, and for people."""

from __future__ import annotations

from typing import Any

RICH = {
    "eval.yaml": """\
name: rich
skill: reviewer
config:
  executor: copilot-sdk
  model: m
  skill_directories: [skills/lint]
  required_skills: [lint]
  mcp_servers: {wiki: {command: touch}, tracker: {command: touch}}
hooks: {before_task: [{command: touch hooked}]}
graders:
  - {type: text, name: words, config: {contains: [done]}}
  - {type: program, name: check, config: {command: touch, args: [graded]}}
mcp_mocks: [{name: tracker, tools: {find: {responses: [{return: 1}]}}}]
command_mocks: [{name: gh, responses: [{args: [], stdout: ok}]}]
tasks: [tasks/*.yaml, none/*.yaml]
""",
    "tasks/a.yaml": """\
id: a
name: First
inputs: {prompt: p, files: [{path: in.txt}], follow_up_prompts: [q]}
graders: [{type: file, name: kept, config: {must_exist: [x]}}]
checkpoints: [{after_turn: 1, graders: [{type: text, name: words, config: {contains: [x]}}]}]
requirements:
  - id: R1
    category: outcome
    description: It says so
    checks: [{scope: eval, grader: words}, {scope: checkpoint, grader: words, after_turn: 1}]
  - {id: R2, category: recovery, description: It recovers}
  - {id: R3, category: quality, description: It is good, checks: [{scope: task, grader: keept}]}
""",
    "tasks/b.yaml": """\
id: b
enabled: false
context_dir: data
inputs: {prompt: p}
requirements: [{id: R1, category: odd, description: d}]
""",
    "fixtures/in.txt": "x",
    "skills/lint/SKILL.md": "---\nname: lint\ndescription: d\n---\nLint.",
    "reviewer.agent.md": "---\nname: reviewer\ndescription: d\ntools: [view]\n---\nReview.",
}


def _need(kind: str, name: str, mode: str, state: str, **more: str) -> dict[str, str]:
    return {"kind": kind, "name": name, "mode": mode, "state": state, **more}


def _diagnostic(
    code: str, problem: str, state: str, severity: str, message: str, remediation: str, **of: str
) -> dict[str, str]:
    source = message.partition(":")[0]
    texts = {"message": message, "remediation": remediation}
    return {
        "code": code,
        "problem": problem,
        "state": state,
        "severity": severity,
        "source": source,
        **of,
        **texts,
    }


RICH_REPORT: dict[str, Any] = {
    "kind": "waza.preflight",
    "schemaVersion": "1.0",
    "source": "eval.yaml",
    "executor": "copilot-sdk",
    "complete": False,
    "tasks": [
        {
            "id": "a",
            "name": "First",
            "source": "tasks/a.yaml",
            "enabled": True,
            "context_dir": "fixtures",
            "requirements": [
                {
                    "id": "R1",
                    "category": "outcome",
                    "description": "It says so",
                    "state": "verified",
                    "meaning": "each of its 2 checks names one grader",
                    "checks": [
                        {"scope": "eval", "grader": "words"},
                        {"scope": "checkpoint", "grader": "words", "after_turn": 1},
                    ],
                },
                {
                    "id": "R2",
                    "category": "recovery",
                    "description": "It recovers",
                    "state": "unresolved",
                    "meaning": "no check covers it",
                    "checks": [],
                },
                {
                    "id": "R3",
                    "category": "quality",
                    "description": "It is good",
                    "state": "invalid",
                    "meaning": "there is no grader 'keept' in scope task",
                    "checks": [{"scope": "task", "grader": "keept"}],
                },
            ],
        },
        {
            "id": "b",
            "name": "b",
            "source": "tasks/b.yaml",
            "enabled": False,
            "context_dir": "data",
            "requirements": [
                {
                    "id": "R1",
                    "category": "odd",
                    "description": "d",
                    "state": "invalid",
                    "meaning": "'odd' is not a category; no check covers it",
                    "checks": [],
                }
            ],
        },
    ],
    "capabilities": [
        {
            "name": "task_execution",
            "state": "unresolved",
            "meaning": "tasks are given to an agent, which was not started",
        },
        {"name": "mcp_servers", "state": "unresolved", "meaning": "a live MCP server was not asked"},
        {
            "name": "command_mocks",
            "state": "verified",
            "meaning": "the agent finds the mocked programs first",
        },
        {
            "name": "runtime_tool_boundary",
            "state": "unresolved",
            "meaning": "the agent is held to its tools in a run",
        },
    ],
    "dependencies": [
        _need("executor", "copilot-sdk", "live", "unresolved"),
        _need("mcp_server", "wiki", "live", "unresolved"),
        _need("agent", "reviewer", "local", "verified"),
        _need("skill_directory", "skills/lint", "local", "verified"),
        _need("skill", "lint", "local", "verified"),
        _need("hook", "before_task[0]", "subprocess", "unresolved"),
        _need("mcp_server", "tracker", "mocked", "verified"),
        _need("command", "gh", "mocked", "verified"),
        _need("program", "touch", "subprocess", "unresolved"),
        _need("fixture", "in.txt", "local", "verified", task_id="a"),
    ],
    "diagnostics": [
        _diagnostic(
            "dependency.live",
            "unconfirmed-server",
            "unresolved",
            "info",
            "eval.yaml: whether the MCP server 'wiki' answers is known only in a run",
            "mock it with mcp_mocks, or make sure that it is available",
        ),
        _diagnostic(
            "grader.execution",
            "unconfirmed-program",
            "unresolved",
            "info",
            "eval.yaml: a grader runs the program 'touch', and whether it works is known only in a run",
            "make sure that it is available; `waza grade` tries it on recorded results",
        ),
        _diagnostic(
            "hooks.execution",
            "unconfirmed-hook",
            "unresolved",
            "info",
            "eval.yaml: what the hook before_task[0] does is known only in a run",
            "make sure that its program is available",
        ),
        _diagnostic(
            "mock.mcp_override",
            "mocked-server",
            "verified",
            "info",
            "eval.yaml:13:14: mcp_mocks[0].name: 'tracker' takes the place of the configured server of this name",
            "rename the mock if tasks are to use the server",
        ),
        _diagnostic(
            "runtime.availability",
            "unconfirmed-executor",
            "unresolved",
            "info",
            "eval.yaml: whether the executor 'copilot-sdk' can be started is known only in a run",
            "`waza doctor` says what real agents need; `waza run --executor mock` does without",
        ),
        _diagnostic(
            "tasks.pattern",
            "unmatched-pattern",
            "invalid",
            "error",
            "eval.yaml:15:23: tasks[1]: no file matches 'none/*.yaml'",
            "patterns are relative to the suite's directory",
        ),
        _diagnostic(
            "grader.result_collision",
            "grader-collision",
            "unresolved",
            "warning",
            "tasks/a.yaml:5:41: checkpoints[0].graders[0]: "
            "the grader name 'words' is used in several scopes of the task: eval, checkpoint",
            "give each its own name, so that their results can be distinguished",
            task_id="a",
        ),
        _diagnostic(
            "requirement.uncovered",
            "uncovered-requirement",
            "unresolved",
            "warning",
            "tasks/a.yaml:11:5: requirements[1].checks: no check covers it",
            "add checks: [{scope: task, grader: NAME}]; expected.outcomes is no check",
            task_id="a",
            requirement_id="R2",
        ),
        _diagnostic(
            "requirement.references",
            "requirement-reference",
            "invalid",
            "error",
            "tasks/a.yaml:12:81: requirements[2].checks[0].grader: there is no grader 'keept' in scope task",
            "did you mean 'kept'?",
            task_id="a",
            requirement_id="R3",
        ),
    ],
}
RICH_LINES = """\
Preflight of eval.yaml
Executor: copilot-sdk

Tasks
  First (tasks/a.yaml)
    ✓ R1 (outcome): It says so
        words (eval), words (checkpoint after turn 1): each of its 2 checks names one grader
    ⚠ unresolved R2 (recovery): It recovers
        no check covers it
    ✗ invalid R3 (quality): It is good
        keept (task): there is no grader 'keept' in scope task
  b (tasks/b.yaml, disabled)
    ✗ invalid R1 (odd): d
        'odd' is not a category; no check covers it

Capabilities
  ⚠ unresolved task_execution: tasks are given to an agent, which was not started
  ⚠ unresolved mcp_servers: a live MCP server was not asked
  ✓ command_mocks: the agent finds the mocked programs first
  ⚠ unresolved runtime_tool_boundary: the agent is held to its tools in a run

Dependencies
  ⚠ unresolved executor copilot-sdk (live)
  ⚠ unresolved mcp_server wiki (live)
  ✓ agent reviewer (local)
  ✓ skill_directory skills/lint (local)
  ✓ skill lint (local)
  ⚠ unresolved hook before_task[0] (subprocess)
  ✓ mcp_server tracker (mocked)
  ✓ command gh (mocked)
  ⚠ unresolved program touch (subprocess)
  ✓ fixture in.txt (local, task a)

Diagnostics
"""
RICH_END = """\
  ✗ invalid requirement.references, task a, requirement R3
      tasks/a.yaml:12:81: requirements[2].checks[0].grader: there is no grader 'keept' in scope task
      did you mean 'kept'?

Not complete: 6 unresolved, 2 invalid.
"""
