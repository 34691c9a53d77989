"""Suites that users were shown run on the mock as they were shown, with the files around them that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree
from tests.unit.registry._place import Place
from tests.unit.registry._upstream import Upstream, manifest

AGENT = """---
name: security-reviewer
description: |
  A specialized agent that reviews code for security vulnerabilities,
  compliance issues, and best practices.

model: claude-opus-4.6
tools:
  - codeSearch
  - fileRead
  - fileWrite
  - runCommand

mcp-servers:
  - url: "sse://internal-tools.example.com"
    name: "compliance-checker"

handoffs:
  - name: legal-review
    when: "sensitive compliance issues found"

agents:
  - name: code-analyzer
    scope: "async dependency analysis"
---

# Security Review Agent

You are an expert security reviewer.
"""
OF_AGENT = """
name: security-agent-eval
description: Evaluate the security-reviewer agent
skill: security-reviewer  # Resolves to security-reviewer.agent.md

version: "1.0"

config:
  model: claude-sonnet-4.6
  timeout_seconds: 300
  trials_per_task: 1

graders:
  - type: text
    name: identifies_vulnerability
    config:
      regex_match:
        - "(?i)(vulnerability|bug|issue)"
        - "(?i)(risk level|severity)"

  - type: code
    name: suggests_fix
    config:
      assertions:
        - "output_length > 200"

tasks:
  - "tasks/*.yaml"
"""
OWN_POLICY = """
  - type: tool_constraint
    name: my_tool_policy
    config:
      allow_only:                       # Stricter than agent declares
        - tool: codeSearch
        - tool: fileRead
      reject_tools:
        - tool: fileDelete
        - tool: runCommand

tasks:"""
SHORT_TASK = """
name: injection-detection
description: Agent identifies SQL injection vulnerabilities

triggers:
  - "Review this Python code for security issues"

fixtures:
  - vulnerable-sql.py

expected_outcome: |
  - Identifies the SQL injection vulnerability on line 8
  - Explains the risk
  - Suggests parameterized queries as mitigation
"""
CALLS = """
mock:
  output: "{risk}"
  tool_calls: [{{name: codeSearch, args: {{query: execute}}}}, {{name: runCommand, args: {{command: bandit}}}}]
"""
RISK = "Risk Level: High. Issue: SQL injection on line 8. " + "Use parameterized queries. " * 10


def run(root: Path, files: dict[str, str], *flags: str) -> Ended:
    write_tree(root, files)
    return waza("run", "eval.yaml", "-o", "results.json", *flags, cwd=root)


def validations(root: Path) -> dict[str, Any]:
    (task,) = strict_json((root / "results.json").read_bytes())["tasks"]
    return {name: found["passed"] for name, found in task["runs"][0]["validations"].items()}


@pytest.fixture
def agent_suite() -> dict[str, str]:
    return {
        "eval.yaml": OF_AGENT,
        "security-reviewer.agent.md": AGENT,
        "tasks/01.yaml": SHORT_TASK + CALLS.format(risk=RISK),
        "fixtures/vulnerable-sql.py": "query = 'select ' + name\n",
    }


def test_a_custom_agent_gets_a_grader_of_the_tools_that_it_declares(
    tmp_path: Path, agent_suite: dict[str, str]
):
    ended = run(tmp_path, agent_suite, "--executor", "mock")
    assert ended.code == 0, ended.out + ended.err
    assert validations(tmp_path) == {
        "identifies_vulnerability": True,
        "suggests_fix": True,
        "allowed_tools": True,
    }


def test_a_tool_constraint_of_the_suite_replaces_that_of_the_agent(
    tmp_path: Path, agent_suite: dict[str, str]
):
    agent_suite["eval.yaml"] = OF_AGENT.replace("\ntasks:", OWN_POLICY)
    assert run(tmp_path, agent_suite, "--executor", "mock").code == 1
    assert validations(tmp_path) == {
        "identifies_vulnerability": True,
        "suggests_fix": True,
        "my_tool_policy": False,  # runCommand is more than it allows
    }


RESPONDER = """
inputs:
  prompt: "Add a new agent to my application"
  responder:
    model: gpt-4o          # optional; defaults to config.model
    instructions: |
      The agent you want is "research-agent" with system instructions
      "Search the web and summarise findings", tools web_search + url_fetch,
      and no handoffs. Answer the skill's questions consistently with this.
      If you genuinely can't infer an answer, abstain.
    max_followups: 8
mock:
  turns: [{output: "Which tools?"}, {output: "Added research-agent"}]
  responder: [{reply: "web_search and url_fetch"}, {stop: true}]
graders: [{type: text, name: added, config: {contains: ["research-agent"]}}]
"""
SMALL = """
name: my-eval
skill: my-skill
schemaVersion: "1.2"
version: "1.0"

config:
  trials_per_task: 3
  max_attempts: 3
  timeout_seconds: 300
  parallel: false
  executor: mock
  model: claude-sonnet-4-20250514
  group_by: model
  instruction_files:
    - .github/instructions/project.instructions.md

inputs:
  api_version: v2

tasks:
  - "tasks/*.yaml"
"""
SKILL = "---\nname: my-skill\ndescription: Adds agents.\n---\nAdd what is asked for.\n"
INSTRUCTIONS = {"fixtures/.github/instructions/project.instructions.md": "Be brief.\n"}


def test_a_responder_that_plays_the_user_stops_the_conversation(tmp_path: Path):
    files = {"eval.yaml": SMALL, "tasks/a.yaml": RESPONDER, "my-skill/SKILL.md": SKILL, **INSTRUCTIONS}
    ended = run(tmp_path, files)
    assert ended.code == 0, ended.out + ended.err
    (task,) = strict_json((tmp_path / "results.json").read_bytes())["tasks"]
    assert [one["responder"]["outcome"] for one in task["runs"]] == ["stopped"] * 3
    assert task["runs"][0]["final_output"] == "Added research-agent"


WHOLE = """
name: my-eval
skill: my-skill
schemaVersion: "1.2"
version: "1.0"
config:
  trials_per_task: 3
  max_attempts: 3          # Retry failed graders up to 3 times (default: 1, no retries)
  timeout_seconds: 300
  parallel: false
  executor: copilot-sdk   # required when using reasoning_effort/judge_reasoning_effort
  model: claude-sonnet-4-20250514
  reasoning_effort: high  # Optional; copilot-sdk task/responder sessions only
  judge_model: gpt-5-mini
  judge_reasoning_effort: low # Optional default for prompt graders
  group_by: model          # Group results by model (or other dimension)
  instruction_files:
    - .github/instructions/project.instructions.md
# Custom input variables available as {{.Vars.key}} in tasks and hooks
inputs:
  api_version: v2
  environment: production
  max_retries: 3
hooks:
  before_run:
    - command: "echo 'Starting evaluation'"
      working_directory: "."
      exit_codes: [0]
      error_on_fail: false
  after_run:
    - command: "echo 'Evaluation complete'"
      working_directory: "."
      exit_codes: [0]
      error_on_fail: false
  before_task:
    - command: "echo 'Running task: {{.TaskName}}'"
      working_directory: "."
      exit_codes: [0]
      error_on_fail: false
  after_task:
    - command: "echo 'Task {{.TaskName}} completed'"
      working_directory: "."
      exit_codes: [0]
      error_on_fail: false
mcp_mocks:
  - name: github
    tools:
      list_issues:
        input_schema:
          type: object
          required: [owner, repo]
        responses:
          - match:
              owner: microsoft
              repo: waza
            return:
              issues:
                - number: 363
                  title: MCP server mocks for hermetic eval
          - match_regex:
              repo: "^waza-.*"
            return:
              issues: []
graders:
  - ref: github.com/waza-evals/fact#words@v1.0.0
    name: factuality_strict
    weight: 2.0
    config:
      contains: [v2]
  - type: text
    name: pattern_check
    config:
      regex_match: ["\\\\d+ tests passed"]
  - type: behavior
    name: efficiency
    config:
      max_tool_calls: 20
      max_duration_ms: 300000
  - type: action_sequence
    name: workflow_check
    config:
      matching_mode: in_order_match
      expected_actions: ["bash", "edit", "report_progress"]
# Task definitions: glob patterns or CSV dataset
tasks:
  - "tasks/*.yaml"
# Optional: Generate tasks from CSV dataset
tasks_from: ./test-cases.csv
range: [1, 10]
mock:
  output: "{{.Vars.api_version}}: 12 tests passed"
  tool_calls: [{name: bash}, {name: edit}, {name: report_progress}]
"""
MODULE = {
    "waza.registry.yaml": manifest("words"),
    "words.yaml": "{type: text, config: {contains: [anything]}}",
}


def test_the_whole_form_of_a_suite_runs_with_a_dataset_hooks_and_a_remote_grader(tmp_path: Path):
    upstream = Upstream(tmp_path / "hosts", "waza-evals/fact")
    upstream.commit(MODULE, tag="v1.0.0")
    place = Place(tmp_path / "project", upstream)
    rows = "".join(f"case {n},Add agent {n}\n" for n in range(1, 13))
    files = {
        "eval.yaml": WHOLE,
        "test-cases.csv": f"name,prompt\n{rows}",
        "tasks/a.yaml": "{id: a, inputs: {prompt: p}}",
        "my-skill/SKILL.md": SKILL,
        **INSTRUCTIONS,
    }
    write_tree(place.root, files)
    assert place.waza("get", "eval.yaml").code == 0
    ended = place.waza("run", "eval.yaml", "-v", "--executor", "mock", "-o", "results.json")
    assert ended.code == 0, ended.out + ended.err
    results = strict_json((place.root / "results.json").read_bytes())
    assert [task["test_id"] for task in results["tasks"]] == [f"case {n}" for n in range(1, 11)]
    for task in results["tasks"]:
        for one in task["runs"]:
            found = {name: check["passed"] for name, check in one["validations"].items()}
            assert found == dict.fromkeys(
                ("factuality_strict", "pattern_check", "efficiency", "workflow_check"), True
            )
    assert ended.err.count("Running task: case 1\n") + ended.out.count("Running task: case 1\n") == 1
