"""`waza run --suggest`: what to change, by what did not pass; never another verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.program import Ended, newest_results, strict_json, waza, write_tree

SECRET = "ghp_" + "a1B2" * 9
SUITE = {
    "name": "review",
    "skill": "review",
    "config": {"executor": "mock", "model": "m"},
    "graders": [{"type": "text", "name": "names-it", "config": {"contains": ["bug"]}}],
    "tasks": ["tasks/*.yaml"],
}
TASKS: dict[str, str | bytes] = {
    "skills/review/SKILL.md": "---\nname: review\ndescription: Reviews.\n---\n# Look closely\n",
    "skills/review/references/how.md": "Step by step.\n",
    "skills/review/logo.png": b"\x89PNG\xff",
    "tasks/bad.yaml": "{id: bad, inputs: {prompt: Review it}, mock: {output: 'all fine, ``` no', tool_calls: [{name: view}]}}",
    "tasks/good.yaml": "{id: good, inputs: {prompt: Review that}, mock: {output: a bug}}",
}


def run(workspace: Path, *options: str, suite: object = SUITE) -> Ended:
    write_tree(workspace, {**TASKS, "eval.yaml": json.dumps(suite)})
    return waza("run", "eval.yaml", "--suggest", *options, cwd=workspace)


def with_answer(*steps: object) -> dict[str, object]:
    return {**SUITE, "mock": {"judge": {"suggest_changes": list(steps)}}}


def test_a_scripted_agent_gets_what_the_counts_say(tmp_path):
    done = run(tmp_path)
    assert done.code == 1
    assert "SUGGESTIONS FOR review" in done.out
    report = done.results()["metadata"]["suggestion_report"]
    assert report.splitlines() == [
        "## Findings",
        "",
        "- 1 task of 2 did not pass.",
        "- The grader names-it did not pass in 1 task.",
        "",
        "## Changes",
        "",
        "- None: a scripted agent says nothing about the skill. Run the suite with a real agent.",
    ]
    assert report in done.out


def test_a_model_is_asked_with_all_that_is_known(tmp_path):
    answer = f"## Findings\n\nToken {SECRET}.\n\n## Changes\n\nLook twice."
    done = run(tmp_path, "-o", "out.json", "--transcript-dir", "t", suite=with_answer({"reply": answer}))
    assert done.code == 1
    report = strict_json((tmp_path / "out.json").read_bytes())["metadata"]["suggestion_report"]
    assert report == newest_results(tmp_path)["metadata"]["suggestion_report"]
    assert "Look twice." in report
    assert SECRET not in report + done.out
    assert "Look twice." in done.out
    (written,) = (tmp_path / "t").glob("suggestions-review-*.json")
    transcript = strict_json(written.read_bytes())
    question = transcript["question"]
    assert transcript["answer"] == report
    for part in (
        "# Look closely",
        "## references/how.md",
        "not shown\n\n````\nlogo.png",
        "{id: bad, inputs:",
        "grader names-it (text) did not pass, score 0:",
        "tool view: done",
        "all fine, ``` no",
        "## Grader text",
    ):
        assert part in question
    assert "What happened in good" not in question


def test_nobody_is_asked_where_everything_passed(tmp_path):
    suite = {**with_answer({"error": "somebody came"}), "tasks": ["tasks/good.yaml"]}
    done = run(tmp_path, suite=suite)
    assert (done.code, "somebody came" in done.err) == (0, False)
    assert "suggestion_report" not in done.results()["metadata"]


def test_trigger_prompts_with_the_wrong_outcome_are_failures(tmp_path):
    suite = {**SUITE, "tasks": ["tasks/good.yaml"], "mock": {"triggers": {"Review this": False}}}
    write_tree(
        tmp_path, {"trigger_tests.yaml": "{skill: review, should_trigger_prompts: [{prompt: Review this}]}"}
    )
    done = run(tmp_path, suite=suite)
    report = done.results()["metadata"]["suggestion_report"]
    assert "- 1 of 1 prompts of the trigger tests had the wrong outcome." in report


@pytest.mark.parametrize("step", [{"error": "the judge is ill"}, {"reply": " "}])
def test_no_answer_changes_nothing(tmp_path, step):
    done = run(tmp_path, "--json", suite=with_answer(step))
    assert done.code == 1
    assert "Error: no suggestions for review: " in done.err
    assert "suggestion_report" not in strict_json(done.out)["metadata"]


def test_it_is_in_what_is_printed_as_json(tmp_path):
    done = run(tmp_path, "--json", suite=with_answer({"reply": "## Findings\n\nNothing."}))
    assert strict_json(done.out)["metadata"]["suggestion_report"].startswith("## Findings")


def test_a_preview_asks_nobody(tmp_path):
    done = run(tmp_path, "--show-prompt", suite=with_answer({"error": "somebody came"}))
    assert (done.code, "somebody came" in done.err) == (1, False)
    assert "== question 1 (suggest_changes), " in done.err
    assert "1 question to mock (m), " in done.err
    assert "suggestion_report" not in done.results()["metadata"]
    alone = waza("run", "eval.yaml", "--show-prompt", cwd=tmp_path)
    assert (alone.code, "--show-prompt shows what --suggest would ask" in alone.err) == (2, True)
