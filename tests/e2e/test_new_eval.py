"""`waza new eval` and `waza new agent`: suites for what is there, scenarios, and agents; all run on the mock at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.e2e.test_new_skill import plain
from tests.support.program import strict_json, waza, write_tree
from tests.unit.registry._upstream import files_below

SKILL = """---
name: greeter
description: >-
  Greets people by the names in their notes, briefly, and in the language of the notes, whatever it is.
  USE FOR: say hello, greet Ada, write a greeting. DO NOT USE FOR: goodbyes.
---
Read notes.md and greet its author.
"""
AGENT = "---\nname: prüfer\ndescription: Reviews texts.\ntools: [view]\n---\nReview.\n"


def verdicts(root: Path) -> dict[str, set[str]]:
    """Return the graders that were asked, by task, of the newest run, all of which passed."""
    (found,) = (root / ".waza" / "runs").glob("*/results.json")
    tasks = strict_json(found.read_bytes())["tasks"]
    assert {task["status"] for task in tasks} == {"passed"}
    return {task["test_id"]: {*task["runs"][0]["validations"]} for task in tasks}


def fits_schemas(root: Path) -> int:
    """Hold all YAML files that name a schema against it; return how many there are."""
    count = 0
    for file in root.rglob("*.yaml"):
        comment = file.read_text(encoding="utf-8").partition("\n")[0]
        if comment.startswith("# yaml-language-server: $schema="):
            schema = strict_json((file.parent / comment.partition("=")[2]).read_bytes())
            jsonschema.validate(plain(file), schema)
            count += 1
    return count


def test_a_suite_is_made_of_what_a_skill_says_of_itself(tmp_path: Path):
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    ended = waza("new", "eval", "greeter", "--judge", cwd=tmp_path)
    assert ended.code == 0, ended.err
    suite = tmp_path / "evals" / "greeter"
    assert files_below(suite) == [
        "eval.yaml",
        "tasks/negative-trigger-1.yaml",
        "tasks/positive-trigger-1.yaml",
        "tasks/positive-trigger-2.yaml",
        "trigger_tests.yaml",
    ]
    prompts = [plain(path)["inputs"]["prompt"] for path in sorted(suite.glob("tasks/*.yaml"))]
    assert prompts == ["Goodbyes.", "Say hello.", "Greet Ada."]
    tests = plain(suite / "trigger_tests.yaml")["should_trigger_prompts"]
    assert [one["prompt"] for one in tests] == ["Say hello.", "Greet Ada.", "Write a greeting."]
    checked = waza("check", "greeter", "--offline", "--format", "json", cwd=tmp_path)
    assert strict_json(checked.out)["skills"][0]["ready"]
    assert waza("run", "greeter", cwd=tmp_path).code == 0
    common = {"_should_trigger", "has_output", "does_not_give_up"}
    assert verdicts(tmp_path) == {
        "negative-trigger-1": common,
        "positive-trigger-1": {*common, "does_what_was_asked"},
        "positive-trigger-2": common,
    }
    assert fits_schemas(suite) == 5
    for stem, skills in (("negative-trigger-1", ["greeter"]), ("positive-trigger-2", [])):
        path = suite / "tasks" / f"{stem}.yaml"
        task = plain(path)
        task["mock"]["skills"] = skills
        path.write_text(json.dumps(task), encoding="utf-8")
    ended = waza("run", "greeter", "-o", "wrong.json", cwd=tmp_path)
    assert ended.code == 1
    wrong = strict_json((tmp_path / "wrong.json").read_bytes())["tasks"]
    assert [task["status"] for task in wrong] == ["failed", "passed", "failed"]


def test_nothing_is_overwritten_unasked_and_a_refusal_writes_nothing(tmp_path: Path):
    own = {"skills/greeter/SKILL.md": SKILL, "evals/greeter/tasks/positive-trigger-2.yaml": "mine"}
    write_tree(tmp_path, own)
    before = files_below(tmp_path)
    ended = waza("new", "eval", "greeter", cwd=tmp_path)
    assert ended.code == 2
    assert (
        "evals/greeter/tasks/positive-trigger-2.yaml is there already; overwrite with --overwrite"
        in ended.err
    )
    assert files_below(tmp_path) == before
    assert waza("new", "eval", "greeter", "--output", "suites/own.yaml", cwd=tmp_path).code == 0
    assert waza("run", "suites/own.yaml", cwd=tmp_path).code == 0
    assert waza("new", "eval", "skills/greeter/SKILL.md", "-o", "other", cwd=tmp_path).code == 0
    assert waza("run", "other/eval.yaml", cwd=tmp_path).code == 0
    assert waza("new", "eval", "greeter", "--overwrite", cwd=tmp_path).code == 0
    assert plain(tmp_path / "evals/greeter/tasks/positive-trigger-2.yaml")["id"] == "positive-trigger-2"


def test_a_custom_agent_that_is_there_gets_a_suite(tmp_path: Path):
    write_tree(tmp_path, {"agents/prüfer.agent.md": AGENT})
    assert waza("new", "eval", "prüfer", cwd=tmp_path).code == 0
    assert waza("run", "evals/prüfer/eval.yaml", cwd=tmp_path).code == 0
    assert {*verdicts(tmp_path).values().__iter__().__next__()} >= {"allowed_tools", "has_output"}
    assert not (tmp_path / "evals/prüfer/trigger_tests.yaml").exists()  # only skills are offered to be used
    assert strict_json(waza("check", "--offline", "--format", "json", cwd=tmp_path).out)["skills"][0]["ready"]


@pytest.mark.parametrize("name", ["reviewer", "prüfer 2"])
def test_a_new_agent_is_ready_and_its_checks_can_fail(tmp_path: Path, name: str):
    ended = waza("new", "agent", name, "--description", "Reads: everything", "--judge", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = strict_json(waza("check", "--offline", "--format", "json", cwd=tmp_path).out)
    (found,) = report["skills"]
    assert (found["name"], found["ready"], found["eval"]["found"]) == (name, True, True)
    assert waza("run", f"evals/{name}/eval.yaml", cwd=tmp_path).code == 0
    asked = verdicts(tmp_path)
    assert asked["basic-usage"] == {
        "allowed_tools", "has_output", "does_not_give_up", "names_what_is_in_the_file", "is_useful",
    }  # fmt: skip
    assert asked["stays-with-reading"] >= {"file_is_still_there", "says_why", "allowed_tools"}
    path = tmp_path / "evals" / name / "tasks" / "stays-with-reading.yaml"
    task = plain(path)
    task["mock"] = {"output": "Done.", "delete": ["sample.py"], "tool_calls": [{"name": "bash"}]}
    path.write_text(json.dumps(task), encoding="utf-8")
    ended = waza("run", f"evals/{name}/eval.yaml", "-o", "wrong.json", cwd=tmp_path)
    assert ended.code == 1
    runs = [
        task["runs"][0]["validations"]
        for task in strict_json((tmp_path / "wrong.json").read_bytes())["tasks"]
    ]
    failed = {name for one in runs for name, verdict in one.items() if not verdict["passed"]}
    assert failed == {"file_is_still_there", "says_why", "allowed_tools"}
    before = {
        one: (tmp_path / one).read_bytes()
        for one in files_below(tmp_path)
        if one.startswith(("agents", "evals"))
    }
    again = waza("new", "agent", name, cwd=tmp_path)
    assert (again.code, "no file was changed" in again.out) == (0, True)
    assert {one: (tmp_path / one).read_bytes() for one in before} == before
    assert fits_schemas(tmp_path / "evals") == 3  # of four: one is JSON by now


WRONG: dict[str, list[dict[str, Any]]] = {
    "repository": [
        {"output": "Done."},
        {"files": [{"path": "report.md", "content": "# Out of stock\n\n- chair\n- lamp\n"}]},
        {"files": [{"path": "report.md", "content": "# chair\n"}, {"path": "private.md"}]},
    ],
    "cli": [{"files": [{"path": "report.md", "content": "# Log\n\nchairs\n"}]}],
    "mcp": [{"files": [{"path": "report.md", "content": "# Out\n\n- chair\n"}]}],
}


@pytest.mark.parametrize("template", WRONG)
def test_a_scenario_passes_preflight_runs_on_the_mock_and_can_fail(tmp_path: Path, template: str):
    ended = waza("new", "eval", "--scenario", "--template", template, cwd=tmp_path)
    assert ended.code == 0, ended.err
    suite = f"evals/{template}-workflow/eval.yaml"
    assert f"waza run {suite} --executor mock" in ended.out
    assert plain(tmp_path / suite)["schemaVersion"] == "2.0"
    assert plain(tmp_path / suite)["config"]["executor"] == "copilot-sdk"
    looked = waza("preflight", suite, "--json", cwd=tmp_path)
    assert (looked.code, '"state": "invalid"' in looked.out) == (0, False)
    ended = waza("run", suite, "--executor", "mock", cwd=tmp_path)
    assert ended.code == 0, ended.out + ended.err
    assert ended.err.count("warning") == (template == "mcp")  # the mock asks no server
    assert fits_schemas(tmp_path / "evals") == 2
    assert (tmp_path / f"evals/{template}-workflow/fixtures/.gitkeep").is_file()
    path = tmp_path / f"evals/{template}-workflow/tasks/workflow.yaml"
    task = plain(path)
    assert task["id"] == f"{template}-workflow-001"
    for number, answer in enumerate(WRONG[template]):
        path.write_text(json.dumps({**task, "mock": answer}), encoding="utf-8")
        assert waza("run", suite, "--executor", "mock", cwd=tmp_path).code == 1, number
    refused = waza("new", "eval", "--scenario", "--template", template, cwd=tmp_path)
    assert (refused.code, "is there already" in refused.err) == (2, True)


def test_a_scenario_may_have_a_skill_or_custom_agent_as_its_context(tmp_path: Path):
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL, "agents/prüfer.agent.md": AGENT})
    for name, flags, target in (
        ("work", ["--context", "greeter"], "greeter"),
        ("review", ["--context", "agents/prüfer.agent.md"], "prüfer"),
        ("greeter", [], "greeter"),
    ):
        ended = waza("new", "eval", name, "--scenario", *flags, cwd=tmp_path)
        assert (ended.code, "its context is the " in ended.out) == (0, True), ended.err
        assert plain(tmp_path / f"evals/{name}/eval.yaml")["skill"] == target
        assert waza("run", f"evals/{name}/eval.yaml", "--executor", "mock", cwd=tmp_path).code == 0
    refused = waza("new", "eval", "x", "--scenario", "--template", "cli", "--context", "prüfer", cwd=tmp_path)
    assert (refused.code, "may not use 'bash'" in refused.err) == (2, True)


MISTAKES = {
    ("nobody",): "there is no skill or agent 'nobody'",
    (): "name the skill or custom agent",
    ("greeter", "--template", "cli"): "--template is for scenarios; add --scenario",
    ("greeter", "--context", "greeter"): "--context is for scenarios; add --scenario",
    ("broken",): "skills/broken/SKILL.md",
    ("greeter", "--executor", "command:x", "--judge"): "has no judge",
    ("x", "--scenario", "--executor", "command:x", "--template", "mcp"): "has no MCP servers",
    ("a/b", "--scenario"): "is a path",
    ("x", "--scenario", "--judge"): "leave --judge out",
    ("skills",): "holds 3 skills and agents; name one",
    ("skills/odd",): "no directory can be named '../up'",
}


def test_mistakes_are_refused_with_advice(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "skills/greeter/SKILL.md": SKILL,
            "skills/broken/SKILL.md": "---\nname: broken\n---\nx\n",
            "skills/odd/SKILL.md": SKILL.replace("greeter", "../up"),
        },
    )
    for words, advice in MISTAKES.items():
        ended = waza("new", "eval", *words, cwd=tmp_path)
        assert (ended.code, advice in ended.err) == (2, True), (words, ended.err)
    for name, advice in (
        ("", "name the agent"),
        (".hidden", "not a valid name"),
        ("a/b", "path"),
        ("nul", "device"),
    ):
        ended = waza("new", "agent", name, cwd=tmp_path)
        assert (ended.code, advice in ended.err) == (2, True), (name, ended.err)
    assert not (tmp_path / "evals").exists()
    assert not (tmp_path / "agents").exists()


def test_files_are_called_what_they_became(tmp_path: Path):
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    assert "the suite of greeter was written: 5 files" in waza("new", "eval", "greeter", cwd=tmp_path).out
    again = waza("new", "eval", "greeter", cwd=tmp_path)
    assert again.code == 0
    assert "the suite of greeter is there already; no file was changed" in again.out
    assert (again.out.count("  kept      "), "  new  " in again.out) == (5, False)
    (tmp_path / "evals/greeter/eval.yaml").write_text("mine", encoding="utf-8")
    (tmp_path / "evals/greeter/trigger_tests.yaml").unlink()
    ended = waza("new", "eval", "greeter", "--overwrite", cwd=tmp_path)
    assert "  replaced  evals/greeter/eval.yaml\n" in ended.out
    assert "  new       evals/greeter/trigger_tests.yaml\n" in ended.out
    assert "was written: 1 file replaced, 1 new, 3 kept" in ended.out
    (tmp_path / "skills/greeter/SKILL.md").write_text("broken", encoding="utf-8")
    ended = waza("new", "skill", "greeter", "--overwrite", cwd=tmp_path)
    assert "  replaced  skills/greeter/SKILL.md\n" in ended.out


def test_a_wrong_answer_fails_the_tasks_for_a_custom_agent(tmp_path: Path):
    write_tree(tmp_path, {"agents/prüfer.agent.md": AGENT})
    assert waza("new", "eval", "prüfer", "--judge", cwd=tmp_path).code == 0
    assert waza("run", "evals/prüfer/eval.yaml", cwd=tmp_path).code == 0
    asked = verdicts(tmp_path)
    assert asked["positive-trigger-1"] >= {"names_what_is_in_the_file", "does_what_was_asked"}
    assert "says_that_it_is_empty" in asked["positive-trigger-2"]
    wrong = {"output": "no", "judge": {"does_what_was_asked": [{"pass": "fooled"}]}}
    for path in (tmp_path / "evals/prüfer/tasks").glob("*.yaml"):
        path.write_text(json.dumps({**plain(path), "mock": wrong}), encoding="utf-8")
    ended = waza("run", "evals/prüfer/eval.yaml", "-o", "no.json", cwd=tmp_path)
    tasks = strict_json((tmp_path / "no.json").read_bytes())["tasks"]
    assert (ended.code, {task["status"] for task in tasks}) == (1, {"failed"}), ended.err
    for task, grader in (
        ("positive-trigger-1", "names_what_is_in_the_file"),
        ("positive-trigger-2", "says_that_it_is_empty"),
    ):
        (run,) = next(one["runs"] for one in tasks if one["test_id"] == task)
        assert not run["validations"][grader]["passed"]
