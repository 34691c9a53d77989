"""The published examples of every grader, run through the program: the same scores and verdicts, to 1e-9."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from tests.support.program import mock_suite, waza, write_tree


@dataclass(frozen=True)
class Example:
    """A grader, the script of the agent (and judge) that it grades, and what it must say."""

    grader: str
    mock: str
    score: float
    passed: bool
    details: dict[str, Any] = field(default_factory=dict)
    prompt: str = "go"

    @property
    def task(self) -> str:
        mock = f"mock:\n{indent(self.mock.strip(), '  ')}\n" if self.mock else ""
        return f"inputs: {{prompt: '{self.prompt}'}}\n{mock}graders:\n{self.grader.strip()}\n"


CODE = r"""
- type: code
  name: g
  config:
    assertions:
      - "'web-01' in output"
      - "len(tool_calls) == 2"
      - "re.search(r'\\d+ regions', output) is not None"
      - "any(r in output for r in ['eu', 'us'])"
"""

TEXT = r"""
- type: text
  name: g
  config:
    contains: ["build ok", "coverage"]
    not_contains: ["panic"]
    contains_cs: ["Build OK"]
    regex_match: ["(?m)^Tests: \\d+ passed$"]
    regex_not_match: ["(?=x)"]        # look-ahead: not RE2
"""

FILE = """
- type: file
  name: g
  config:
    must_exist: ["app/main.py", "README.md"]
    must_not_exist: [".env"]
    content_patterns:
      - path: app/main.py
        must_match: ["^print"]
        must_not_match: ["TODO"]
      - path: docs/guide.md
        must_match: ["^# Guide"]
"""

DIFF = """
- type: diff
  name: g
  config:
    context_dir: golden
    expected_files:
      - path: src/a.txt
        contains: ["+alpha", "-beta", "gamma"]
      - path: src/b.txt
        snapshot: b.txt
"""

JSON_SCHEMA = """
- type: json_schema
  name: g
  config:
    extract_json: {extract}
    schema:
      type: object
      required: [id, tags]
      properties:
        id: {{type: integer}}
        tags: {{type: array, minItems: 1}}
"""

PROMPT = """
- type: prompt
  name: g
  config:
    model: judge-small
    prompt: |
      Look at three aspects: naming, tests, docs. For each one call set_waza_grade_pass or
      set_waza_grade_fail exactly once.
"""

BEHAVIOR = """
- type: behavior
  name: g
  config: {max_tool_calls: 2, max_duration_ms: 60000, required_tools: [edit, bash], forbidden_tools: [web_fetch]}
"""

ACTION_SEQUENCE = """
- type: action_sequence
  name: g
  config: {matching_mode: in_order_match, expected_actions: [view, edit]}
"""

SKILL_INVOCATION = """
- type: skill_invocation
  name: g
  config: {required_skills: [plan, deploy], mode: in_order, allow_extra: false}
"""

FORBIDDEN_SKILL = SKILL_INVOCATION.replace("mode:", "forbidden_skills: [lint], mode:")

PROGRAM = r"""
- type: program
  name: g
  config: {command: bash, args: ["-c", "test -f \"$WAZA_WORKSPACE_DIR/README.md\" && echo found"], timeout: 10}
"""

TOOL_CONSTRAINT = r"""
- type: tool_constraint
  name: g
  config:
    expect_tools: [{tool: "^bash$", command_pattern: "^npm test"}]
    reject_tools: [{tool: bash, command_pattern: 'rm\s+-rf'}]
    allow_only: [{tool: bash, command_pattern: "^npm "}, {tool: fileRead}]
"""

TOOL_CALLS = """
- type: tool_calls
  name: g
  config:
    required_tools: [grep]
    forbidden_tools: [rm]
    min_calls: 2
    max_calls: 3
    expect:
      - tool: search
        args: {query: {regex: "^auth"}, limit: {range: {gte: 1, lte: 50}}}
"""

TRIGGER = """
- type: trigger
  name: g
  config: {{skill_path: skills/csv-cleaner, mode: {mode}}}
"""

CSV_CLEANER = """---
name: csv-cleaner
description: 'Cleans CSV exports. USE FOR: "clean a csv file", "remove duplicate rows". DO NOT USE FOR: drawing charts.'
---
# Steps
Load the file and drop blank rows.
"""

RECORD = 'Here you go: {"id": 7, "tags": ["x"]} thanks'
EMPTY_TAGS = 'Here you go: {"id": 7, "tags": []} thanks'
FOOTNOTE = 'See [1]. {"id": 7, "tags": ["x"]}'

EXAMPLES: dict[str, Example] = {
    # One call, so the second assertion is false. The output names neither region, so the fourth is false as
    # well: the published score of 0.5 holds although here a generator sees the names (there it raised).
    "code": Example(
        CODE,
        "output: Deployed web-01 in 3 regions.\ntool_calls: [{name: bash}]",
        0.5,
        False,
        {"total_assertions": 4, "passed_assertions": 2},
    ),
    # With a region in the output the generator is true, since it sees `output`; 0.5 if it did not.
    "code-generator-sees-names": Example(
        CODE, "output: Deployed web-01 in 3 regions of eu.\ntool_calls: [{name: bash}]", 0.75, False
    ),
    "text": Example(
        TEXT,
        'output: "Build OK\\nTests: 41 passed\\n"',
        4 / 6,
        False,
        {
            "contains": ["build ok", "coverage"],
            "not_contains": ["panic"],
            "contains_cs": ["Build OK"],
            "not_contains_cs": [],
            "regex_match": ["(?m)^Tests: \\d+ passed$"],
            "regex_not_match": ["(?=x)"],
        },
    ),
    "file": Example(FILE, "files: [{path: app/main.py, content: \"print('hi')\\n\"}]", 5 / 8, False),
    "diff": Example(
        DIFF,
        'files: [{path: src/a.txt, content: "alpha\\nbeta\\n"}, {path: src/b.txt, content: "same\\r\\n"}]',
        4 / 6,
        False,
        {"snapshot_updates": []},
    ),
    "json-found": Example(JSON_SCHEMA.format(extract="true"), f"output: '{RECORD}'", 1, True),
    "json-empty-tags": Example(JSON_SCHEMA.format(extract="true"), f"output: '{EMPTY_TAGS}'", 0, False),
    "json-two-values": Example(JSON_SCHEMA.format(extract="true"), f"output: '{FOOTNOTE}'", 0, False),
    "json-plain-1": Example(JSON_SCHEMA.format(extract="false"), f"output: '{RECORD}'", 0, False),
    "json-plain-2": Example(JSON_SCHEMA.format(extract="false"), f"output: '{EMPTY_TAGS}'", 0, False),
    "json-plain-3": Example(JSON_SCHEMA.format(extract="false"), f"output: '{FOOTNOTE}'", 0, False),
    "prompt-two-of-three": Example(
        PROMPT,
        "output: done\njudge: {g: [{pass: naming}, {pass: tests}, {fail: docs}]}",
        2 / 3,
        False,
        {"failures": "docs"},
    ),
    "prompt-one-pass": Example(PROMPT, "output: done\njudge: {g: [{pass: naming}]}", 1, True),
    "prompt-no-call": Example(PROMPT, "output: done\njudge: {g: []}", 0, False),
    "behavior": Example(BEHAVIOR, "tool_calls: [{name: view}, {name: edit}, {name: edit}]", 0.6, False),
    "action-sequence": Example(
        ACTION_SEQUENCE,
        "tool_calls: [{name: view}, {name: bash}, {name: edit}, {name: view}]",
        2 / 3,
        True,
        {"precision": 0.5, "recall": 1.0},
    ),
    "skill-invocation": Example(
        SKILL_INVOCATION, "skills: [plan, lint, deploy]", 0.64, True, {"forbidden_violations": []}
    ),
    "skill-invocation-forbidden": Example(
        FORBIDDEN_SKILL, "skills: [plan, lint, deploy]", 0, False, {"forbidden_violations": ["lint"]}
    ),
    "program-found": Example(
        PROGRAM, "files: [{path: README.md, content: x}]", 1, True, {"stdout": "found", "stderr": ""}
    ),
    "program-absent": Example(PROGRAM, "output: nothing", 0, False, {"exit_error": "exit status 1"}),
    # `view` is allowed through its alias `fileRead`; without aliases it would be 0.6.
    "tool-constraint": Example(
        TOOL_CONSTRAINT,
        "tool_calls: [{name: view, args: {path: a.py}}, {name: bash, args: {command: npm test}}, "
        "{name: bash, args: {command: ls}}]",
        0.8,
        False,
        {"allow_only_declared": True, "allow_only_violations": ["bash"]},
    ),
    "tool-calls": Example(
        TOOL_CALLS,
        "tool_calls: [{name: grep}, {name: mcp-search, args: {query: auth flow, limit: 100}}]",
        0.8,
        False,
        {"total_calls": 2, "unique_tools": ["grep", "mcp-search"], "passed_checks": 4, "total_checks": 5},
    ),
}

PROMPTS = {  # prompt: score, score of the best phrase
    "Please remove duplicate entries from my csv rows": (1.0, 1.0),
    "Please load exports for analysis": (0.5, 0.0),
    "Draw charts of CSV data": (1 / 3, 1 / 3),
    "Write a poem about autumn": (0.0, 0.0),
}
for row, (text, (score, phrase)) in enumerate(PROMPTS.items(), 1):
    for mode in ("positive", "negative"):
        EXAMPLES[f"trigger-{row}-{mode}"] = Example(
            TRIGGER.format(mode=mode),
            "",
            score,
            (score >= 0.6) == (mode == "positive"),
            {"phrase_score": pytest.approx(phrase, abs=1e-9), "keyword_count": 14, "threshold": 0.6},
            text,
        )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One suite with a task for each example; its runs by task."""
    root = tmp_path_factory.mktemp("conformance")
    write_tree(root, {"golden/b.txt": "same\r\n", "skills/csv-cleaner/SKILL.md": CSV_CLEANER})
    suite = mock_suite(root, {name: f"id: {name}\n{one.task}" for name, one in EXAMPLES.items()})
    ended = waza("run", suite, cwd=root)
    assert ended.code == 1, ended.err
    return {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_its_published_verdict(name: str, runs: dict[str, Any]) -> None:
    wanted, run = EXAMPLES[name], runs[name]
    found = run["validations"]["g"]
    assert found["score"] == pytest.approx(wanted.score, rel=0, abs=1e-9)
    assert found["passed"] is wanted.passed
    assert run["status"] == ("passed" if wanted.passed else "failed")
    assert {key: found["details"][key] for key in wanted.details} == wanted.details
    assert found["type"] == wanted.grader.split()[2]


def test_feedback_names_what_is_wrong(runs: dict[str, Any]) -> None:
    wanted = {
        "code": ["len(tool_calls) == 2", "any(r in output"],
        "text": ["coverage", "(?=x)"],
        "file": ["README.md", "docs/guide.md"],
        "diff": ["beta", "gamma"],
        "json-two-values": ["JSON"],
        "prompt-two-of-three": ["docs"],
        "prompt-no-call": ["no verdict"],
        "behavior": ["3 tool calls", "bash"],
        "skill-invocation-forbidden": ["lint"],
        "program-found": ["found"],
        "program-absent": ["exit status 1"],
        "tool-constraint": ["bash (1 of 3"],
        "tool-calls": ["limit"],
    }
    for name, words in wanted.items():
        feedback = runs[name]["validations"]["g"]["feedback"]
        assert [word for word in words if word not in feedback] == [], f"{name}: {feedback}"


def nulls(value: Any, path: str = "") -> Iterator[str]:
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from nulls(item, f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from nulls(item, f"{path}[{i}]")


def test_details_hold_no_null_and_types_are_filled(runs: dict[str, Any]) -> None:
    found = {name: run["validations"]["g"] for name, run in runs.items()}
    assert [where for name, one in found.items() for where in nulls(one.get("details", {}), name)] == []
    assert all(one["type"] for one in found.values())


def test_weights_and_scores_of_the_worked_aggregate(tmp_path: Path) -> None:
    graders = """
- {type: text, name: half, weight: 1, config: {contains: [hello, goodbye]}}
- {type: file, name: whole, weight: 3, config: {must_exist: [a.txt]}}
"""
    one = Example(graders, "output: hello\nfiles: [{path: a.txt, content: x}]", 0, passed=False)
    ended = waza("run", mock_suite(tmp_path, {"a": one.task}), cwd=tmp_path)
    assert ended.code == 1
    task = ended.results()["tasks"][0]
    assert (task["stats"]["avg_score"], task["stats"]["avg_weighted_score"]) == (0.75, 0.875)
    assert task["status"] == task["runs"][0]["status"] == "failed"
    summary = ended.results()["summary"]
    assert (summary["aggregate_score"], summary["weighted_score"]) == (0.75, 0.875)


PAIRWISE = """
- type: prompt
  name: better_than_plain
  config: {mode: pairwise, model: judge-small, prompt: "Prefer the answer that is correct and shorter."}
"""

# Script of the two passes: score, passed, winner, consistent. In pass 1 A is the output without skills.
PAIRS: dict[str, tuple[str, float, bool, str, bool]] = {
    "skill": ("{winner: B, magnitude: much-better, reasoning: short}, {winner: A}", 1, True, "skill", True),
    "position": ("{winner: A}, {winner: A}", 0.5, True, "tie", False),
    "baseline": ("{winner: A}, {winner: B}", 0, False, "baseline", True),
    "both-tie": ("{winner: tie}, {winner: tie}", 0.5, True, "tie", True),
    "no-call": ("", 0.5, True, "tie", True),
}


def test_pairwise_judging_compares_with_the_arm_without_skills(tmp_path: Path) -> None:
    tasks = {
        name: Example(PAIRWISE, f"output: hi\njudge: {{better_than_plain: [{steps}]}}", 0, passed=False).task
        for name, (steps, *_) in PAIRS.items()
    }
    suite = mock_suite(tmp_path, tasks, config=["skill_directories: [skills]"])
    write_tree(tmp_path, {"skills/greeter/SKILL.md": "---\nname: greeter\ndescription: d\n---\nGreet.\n"})
    ended = waza("run", suite, "--baseline", cwd=tmp_path)
    for task in ended.results()["tasks"]:
        _, score, passed, winner, consistent = PAIRS[task["test_id"]]
        found = task["runs"][0]["validations"]["better_than_plain"]
        assert (found["score"], found["passed"]) == (score, passed), task["test_id"]
        assert task["runs"][0]["status"] == ("passed" if passed else "failed")
        pairwise = found["details"]["pairwise"]
        assert (pairwise["winner"], pairwise["position_consistent"]) == (winner, consistent)
        assert task["skill_impact"]["pairwise"] == pairwise
        assert found["details"]["mode"] == "pairwise"
        if task["test_id"] == "skill":  # magnitude and reasoning of pass 1
            assert (pairwise["magnitude"], pairwise["reasoning"]) == ("much-better", "short")
        if winner == "tie":
            assert pairwise["magnitude"] == "equal"
