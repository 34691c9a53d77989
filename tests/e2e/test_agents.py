"""Suites for custom agents: where an agent is found, and the tools it may use as a check on every task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

from waza.errors import SuiteError
from waza.model.loaded import Suite
from waza.suite.load import load
from waza.suite.loading import LoadOptions

NONE = "none"


def agent(tools: str | None = "[view, bash]", name: str = "reviewer") -> str:
    lines = [
        "---",
        f"name: {name}",
        "description: Reviews code",
        *([] if tools is None else [f"tools: {tools}"]),
    ]
    return "\n".join([*lines, "---", "You review code.", ""])


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: d\n---\nDo it.\n"


def task(*calls: str, **keys: Any) -> str:
    """A task whose agent makes these calls; JSON is YAML."""
    mock = {"output": "done", "tool_calls": [{"name": name} for name in calls]}
    return json.dumps({"inputs": {"prompt": "go"}, "mock": mock, **keys})


SAID = {"type": "text", "name": "said", "config": {"contains": ["done"]}}
POLICY = {"type": "tool_constraint", "name": "policy", "config": {"reject_tools": [{"tool": "rm"}]}}
HEAD = "skill: reviewer"


def run(
    root: Path, tasks: Mapping[str, str], *flags: str, head: str = HEAD, config: list[str] | None = None
) -> Ended:
    ended = waza("run", mock_suite(root, tasks, head=head, config=config or []), *flags, cwd=root)
    assert ended.code in (0, 1), ended.err
    assert "Traceback" not in ended.err
    return ended


def checks(ended: Ended) -> dict[str, Any]:
    """The verdicts of each task's first run."""
    return {one["test_id"]: one["runs"][0]["validations"] for one in ended.results()["tasks"]}


# Calls of the agent that declares [view, bash, 'mcp:hub-list', 'custom:Search']: score, tools that may not be.
CALLS: dict[str, tuple[tuple[str, ...], float, list[str]]] = {
    "none": ((), 1, []),
    "declared": (("view", "bash"), 1, []),
    "aliases": (("readFile", "FILEREAD", "read", "runCommand", "builtin:bash"), 1, []),
    "qualified": (("mcp:hub-list", "MCP:hub-list", "custom:search"), 1, []),
    "without-source": (("hub-list", "search"), 1, []),
    "other": (("view", "edit"), 0.5, ["edit"]),
    "only-others": (("edit", "edit", "web_fetch"), 0, ["edit", "web_fetch"]),
    "no-pattern": (("bashful", "bash2", "view"), 1 / 3, ["bashful", "bash2"]),
    "other-server": (("mcp:other-list", "mcp:hub-list"), 0.5, ["mcp:other-list"]),
    "bare-is-no-mcp": (("mcp:view", "custom:bash"), 0, ["mcp:view", "custom:bash"]),
}


def test_an_agents_tools_are_an_upper_bound_on_its_calls(tmp_path: Path) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": agent("[view, bash, 'mcp:hub-list', 'custom:Search']")})
    tasks = {name: task(*calls, graders=[SAID]) for name, (calls, _, _) in CALLS.items()}
    ended = run(
        tmp_path, tasks, head=f"{HEAD}\ngraders: [{{type: text, name: eval, config: {{contains: [done]}}}}]"
    )
    assert ended.code == 1
    for one in ended.results()["tasks"]:
        _, score, strays = CALLS[one["test_id"]]
        validations = one["runs"][0]["validations"]
        assert list(validations) == ["allowed_tools", "eval", "said"]
        found = validations["allowed_tools"]
        assert (found["type"], found["weight"], found["passed"]) == ("tool_constraint", 1, score == 1)
        assert found["score"] == pytest.approx(score, rel=0, abs=1e-9), one["test_id"]
        assert found["details"]["allow_only_declared"] is True
        assert found["details"]["allow_only_violations"] == strays
        assert one["status"] == ("passed" if score == 1 else "failed")
        # It takes part in the score.
        assert one["stats"]["avg_weighted_score"] == pytest.approx((score + 2) / 3, rel=0, abs=1e-9)
        # The mock has no runtime policy.
        assert "tool_policy_mode" not in one["runs"][0]["session_digest"]


@pytest.mark.parametrize(
    ("tools", "verdicts"),
    [
        (None, {"quiet": None, "busy": None}),
        ("[]", {"quiet": True, "busy": False}),
        ("[view]", {"quiet": True, "busy": True}),
        ("[edit]", {"quiet": True, "busy": False}),
    ],
)
def test_tools_absent_empty_or_listed(
    tools: str | None, verdicts: dict[str, bool | None], tmp_path: Path
) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": agent(tools)})
    found = checks(run(tmp_path, {"quiet": task(), "busy": task("view")}))
    assert {name: one.get("allowed_tools", {}).get("passed") for name, one in found.items()} == verdicts


def test_a_constraint_of_ones_own_replaces_the_implicit_one(tmp_path: Path) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": agent()})
    point = {"after_turn": 1, "graders": [POLICY]}
    tasks = {
        "plain": task("edit"),
        "own": task("edit", graders=[POLICY]),  # even one that says nothing about `edit`
        "at-a-checkpoint": task("edit", checkpoints=[point]),
    }
    found = checks(run(tmp_path, tasks))
    assert {name: list(one) for name, one in found.items()} == {
        "plain": ["allowed_tools"],
        "own": ["policy"],
        "at-a-checkpoint": ["allowed_tools"],
    }


def test_a_constraint_of_the_suite_replaces_the_implicit_one_everywhere(tmp_path: Path) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": agent()})
    tasks = {"a": task("edit"), "b": task("edit", graders=[SAID])}
    found = checks(run(tmp_path, tasks, head=f"{HEAD}\ngraders: {json.dumps([POLICY])}"))
    assert {name: list(one) for name, one in found.items()} == {"a": ["policy"], "b": ["policy", "said"]}


def loaded(root: Path, tasks: Mapping[str, str], head: str = HEAD, *config: str, **request: Any) -> Suite:
    return load(mock_suite(root, tasks, head=head, config=config), LoadOptions(**request))


def names(suite: Suite) -> list[list[str]]:
    """The names of the graders of each task, in the order in which they run."""
    return [[grader.spec.name for grader in one.graders] for one in suite.tasks]


def test_the_implicit_grader_runs_between_the_suites_and_the_tasks(tmp_path: Path) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": agent()})
    head = f"{HEAD}\ngraders: {json.dumps([{**SAID, 'name': 'z'}])}"
    tasks = {"a": task(graders=[{**SAID, "name": "a"}])}
    assert names(loaded(tmp_path, tasks, head)) == [["z", "allowed_tools", "a"]]


def test_a_taken_name_gets_a_number(tmp_path: Path) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": agent()})
    taken = {**SAID, "name": "allowed_tools"}
    second = {**SAID, "name": "allowed_tools_2"}
    tasks = {"a": task("edit"), "b": task(graders=[second])}
    ended = run(tmp_path, tasks, head=f"{HEAD}\ngraders: {json.dumps([taken])}")
    assert {name: sorted(one) for name, one in checks(ended).items()} == {
        "a": ["allowed_tools", "allowed_tools_2"],
        "b": ["allowed_tools", "allowed_tools_2", "allowed_tools_3"],
    }
    found = checks(ended)["a"]
    assert (found["allowed_tools"]["type"], found["allowed_tools_2"]["type"]) == ("text", "tool_constraint")
    assert found["allowed_tools_2"]["passed"] is False


def test_tasks_from_a_table_are_held_to_the_tools_too(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "reviewer.agent.md": agent(),
            "rows.csv": "name,prompt\none,go\ntwo,go\n",
            "eval.yaml": "name: s\nskill: reviewer\nconfig: {executor: mock}\ntasks_from: rows.csv\n"
            "mock: {tool_calls: [{name: edit}]}\n",
        },
    )
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 1
    assert [list(one) for one in checks(ended).values()] == [["allowed_tools"], ["allowed_tools"]]


# Files and settings; how the target is found: by its description, or not at all.
PLACES: dict[str, tuple[dict[str, str], dict[str, Any], str | None]] = {
    "current-directory": ({"work/x.agent.md": agent()}, {}, "work/x.agent.md"),
    "below-it": ({"work/tools/x.agent.md": agent()}, {}, "work/tools/x.agent.md"),
    "agents": ({"work/agents/x.agent.md": agent()}, {}, "work/agents/x.agent.md"),
    "below-agents": ({"work/agents/team/x.agent.md": agent()}, {}, "work/agents/team/x.agent.md"),
    "skills": ({"work/skills/reviewer/x.agent.md": agent()}, {}, "work/skills/reviewer/x.agent.md"),
    "context-dir": ({"ctx/x.agent.md": agent()}, {"context_dir": "../ctx"}, "ctx/x.agent.md"),
    "no-context-dir": ({"ctx/x.agent.md": agent()}, {}, None),
    "skill-directory": (
        {"lib/x.agent.md": agent()},
        {"config": ["skill_directories: [../lib]"]},
        "lib/x.agent.md",
    ),
    "beside-the-suite": ({"suite/x.agent.md": agent()}, {}, "suite/x.agent.md"),
    "by-file-name": (
        {"work/reviewer.agent.md": "---\ndescription: d\ntools: [view]\n---\nx\n"},
        {},
        "work/reviewer.agent.md",
    ),
    "in-any-case": ({"work/x.agent.md": agent(name="Reviewer")}, {}, "work/x.agent.md"),
    "too-deep": ({"work/a/b/x.agent.md": agent()}, {}, None),
    "hidden": ({"work/.hidden/x.agent.md": agent(), "work/node_modules/y.agent.md": agent()}, {}, None),
    "of-github": ({"work/.github/agents/x.agent.md": agent()}, {}, "work/.github/agents/x.agent.md"),
    "of-claude": (
        {"suite/.claude/skills/reviewer/SKILL.md": skill("reviewer")},
        {},
        "suite/.claude/skills/reviewer/SKILL.md",
    ),
    "of-another-name": ({"work/x.agent.md": agent(name="other")}, {}, None),
    "one-of-several": (
        {
            "work/a.agent.md": agent(name="other"),
            "work/b.agent.md": agent(),
            "work/c.agent.md": agent(name="third"),
        },
        {},
        "work/b.agent.md",
    ),
    "the-current-directory-is-last": (
        {"work/agents/x.agent.md": agent(), "suite/x.agent.md": agent()},
        {},
        "suite/x.agent.md",
    ),
    "listed-before-the-suites-own": (
        {"lib/x.agent.md": agent(), "suite/x.agent.md": agent()},
        {"config": ["skill_directories: [../lib]"]},
        "lib/x.agent.md",
    ),
    "found-by-before-the-suites-own": (
        {"lib/x.agent.md": agent(), "suite/x.agent.md": agent()},
        {"skill_dir": "lib"},
        "lib/x.agent.md",
    ),
    "the-suites-own-before-the-context": (
        {"ctx/x.agent.md": agent(), "suite/x.agent.md": agent()},
        {"context_dir": "../ctx"},
        "suite/x.agent.md",
    ),
    "the-context-before-the-current-directory": (
        {"ctx/x.agent.md": agent(), "work/x.agent.md": agent()},
        {"context_dir": "../ctx"},
        "ctx/x.agent.md",
    ),
    "in-a-parent-of-the-project": (
        {"agents/x.agent.md": agent(), ".git/HEAD": "", "work/x.agent.md": agent()},
        {},
        "agents/x.agent.md",
    ),
    "not-above-the-project": ({"agents/x.agent.md": agent(), "suite/.git/HEAD": ""}, {}, None),
    "skills-of-the-project": (
        {
            ".waza.yaml": "paths: {skills: deep/own}",
            "deep/own/x.agent.md": agent(),
        },
        {},
        "deep/own/x.agent.md",
    ),
    "skill-beside-it": (
        {"work/x.agent.md": agent(), "work/SKILL.md": skill("reviewer")},
        {},
        "work/SKILL.md",
    ),
    "hidden-by-a-skill": ({"work/x.agent.md": agent(), "work/SKILL.md": skill("other")}, {}, None),
    "switched-off": ({"work/x.agent.md": agent()}, {"no_skills": True}, None),
    "all-disabled": ({"work/x.agent.md": agent()}, {"config": ["disabled_skills: ['*']"]}, None),
    "none-listed": ({"work/x.agent.md": agent()}, {"config": ["skill_directories: [none]"]}, None),
    "directory-disabled": (
        {"lib/x.agent.md": agent()},
        {"config": ["skill_directories: [../lib]", "disabled_skills: [lib]"]},
        None,
    ),
    "other-directory-disabled": (
        {"lib/x.agent.md": agent()},
        {"config": ["skill_directories: [../lib]", "disabled_skills: [li]"]},
        "lib/x.agent.md",
    ),
}


@pytest.mark.parametrize("name", PLACES)
def test_where_an_agent_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, asked, place = PLACES[name]
    write_tree(tmp_path, {**files, "work/.keep": ""})
    monkeypatch.chdir(tmp_path / "work")
    request = {key: value for key, value in asked.items() if key != "config"}
    if "skill_dir" in request:
        request["skill_dir"] = tmp_path / request["skill_dir"]
    suite = loaded(tmp_path / "suite", {"a": task()}, HEAD, *asked.get("config", ()), **request)
    target = suite.tasks[0].target
    found = target and target.path.relative_to(tmp_path).as_posix()
    assert found == place
    implied = ["allowed_tools"] if place and place.endswith(".agent.md") else []
    assert names(suite) == [implied]


def test_a_task_looks_for_its_agent_in_its_own_directories(tmp_path: Path) -> None:
    files = {
        "lib/one/x.agent.md": agent("[view]"),
        "lib/two/x.agent.md": agent("[edit]"),
        "lib/three/SKILL.md": skill("reviewer"),
    }
    write_tree(tmp_path, files)
    tasks = {
        "inherits": task("view"),
        "own": task("view", skill_directories=["lib/two"]),
        "skill": task("view", skill_directories=["lib/three"]),
    }
    ended = run(tmp_path, tasks, config=["skill_directories: [lib/one]"])
    found = {name: one.get("allowed_tools", {}).get("passed") for name, one in checks(ended).items()}
    assert found == {"inherits": True, "own": False, "skill": None}


@pytest.mark.parametrize("flags", [("--no-skills",), ("--context-dir", "ctx")])
def test_flags_decide_on_the_implicit_grader(flags: tuple[str, ...], tmp_path: Path) -> None:
    place = "ctx" if "--context-dir" in flags else "agents"
    write_tree(tmp_path, {f"{place}/x.agent.md": agent()})
    found = checks(run(tmp_path, {"a": task("edit")}, *flags))["a"]
    assert list(found) == (["allowed_tools"] if "--context-dir" in flags else [])


# An agent file, and what is said about it.
MALFORMED = {
    "never-closed": ("---\nname: reviewer\ntools: [view]\n", "---"),
    "no-yaml": ("---\nname: [reviewer\n---\nx\n", "agent.md:"),
    "tools-text": ("---\ndescription: d\nname: reviewer\ntools: view\n---\nx\n", "tools"),
    "tools-null": ("---\ndescription: d\nname: reviewer\ntools:\n---\nx\n", "all tools or none"),
    "tools-number": ("---\ndescription: d\nname: reviewer\ntools: [1]\n---\nx\n", "not the name of a tool"),
    "tools-empty-name": ("---\ndescription: d\nname: reviewer\ntools: ['']\n---\nx\n", "tools"),
    "tools-twice": ("---\nname: reviewer\ntools: [view]\ntools: []\n---\nx\n", "tools"),
    "tools-misspelt": ("---\ndescription: d\ntols: []\n---\nx\n", "unknown key 'tols'"),
    "name-list": ("---\ndescription: d\nname: [reviewer]\n---\nx\n", "name"),
    "no-description": ("---\nname: reviewer\n---\nx\n", "has no description"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_agent_is_refused(name: str, tmp_path: Path) -> None:
    content, words = MALFORMED[name]
    write_tree(tmp_path, {"reviewer.agent.md": content})
    suite = mock_suite(tmp_path, {"a": task(), "b": task()}, head=HEAD)
    with pytest.raises(SuiteError) as raised:
        load(suite)
    assert words in str(raised.value)
    [problem] = raised.value.problems  # once, not once a task
    assert problem.file.endswith("reviewer.agent.md")


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_neighbour_is_warned_of(name: str, tmp_path: Path) -> None:
    content, words = MALFORMED[name]
    content = content.replace("reviewer", "another")
    write_tree(tmp_path, {"reviewer.agent.md": agent(), "neighbour.agent.md": content})
    suite = load(mock_suite(tmp_path, {"a": task(), "b": task()}, head=HEAD))
    assert names(suite) == [["allowed_tools"], ["allowed_tools"]]
    [warning] = suite.warnings
    assert warning.file.endswith("neighbour.agent.md")
    assert words in str(warning)


def test_a_malformed_agent_ends_the_command_before_anything_runs(tmp_path: Path) -> None:
    write_tree(tmp_path, {"agents/reviewer.agent.md": MALFORMED["tools-text"][0]})
    suite = mock_suite(tmp_path, {"a": task()}, head=HEAD)
    ended = waza("run", suite, cwd=tmp_path)
    assert ended.code == 2
    assert "reviewer.agent.md:4" in ended.err
    assert "Traceback" not in ended.err
    assert not (tmp_path / ".waza").exists()
    # Without skills nobody looks at it.
    assert waza("run", suite, "--no-skills", cwd=tmp_path).code == 0


FULL = """---
name: reviewer
description: |
  A specialised agent.
  It flags suspicious patterns.
model: some-model
tools:
  - codeSearch
  - fileRead
  - runCommand
mcp-servers:
  - url: "sse://tools.example.com"
    name: "compliance-checker"
  - plain
handoffs:
  - name: legal-review
    when: "sensitive issues found"
  - performance-analyst
agents:
  - name: code-analyzer
    scope: "dependency analysis"
  - other
unknown: {anything: goes}
---
# Review

Body.
"""


def test_the_documented_frontmatter_is_accepted(tmp_path: Path) -> None:
    write_tree(tmp_path, {"reviewer.agent.md": FULL, "fixtures/a.py": "x = 1\n"})
    short_form = "name: injection\ntriggers: [Review this, Review that]\nfixtures: [a.py]\nexpected_outcome: |\n  - Finds it\n"
    suite = loaded(tmp_path, {"a": short_form})
    target = suite.tasks[0].target
    assert target is not None
    assert (target.name, target.tools) == ("reviewer", ("codeSearch", "fileRead", "runCommand"))
    assert target.instructions == f"Base directory for this skill: {tmp_path}\n\n# Review\n\nBody.\n"
    assert suite.file.config.model == "test-model"  # the agent's own is informational
    assert names(suite) == [["allowed_tools"], ["allowed_tools"]]
