"""What waza says of itself: each statement, and the test that proves it. Those that no other test proves are proved here."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

E2E = Path(__file__).parent

# A statement, and the tests that prove it: `test_name` of this file, or `file.py::test_name` beside it.
PROOFS: dict[str, tuple[str, ...]] = {
    "workflows, skills and custom agents are evaluated": ("test_what_can_be_evaluated",),
    "what is to be observed comes first; no SKILL.md is needed": ("test_what_can_be_evaluated",),
    # --- the path of a learner ---
    "an empty directory, a preflight without an agent, a trial on the mock and its record need no account and cost nothing": (
        "test_the_first_steps_need_no_account_and_cost_nothing",
        "test_learning_path.py::test_the_quick_start_runs_and_then_fails",
    ),
    "a trial on the mock shows that the suite works, and nothing about an agent": (
        "test_the_first_steps_need_no_account_and_cost_nothing",
    ),
    "before a real agent runs, what it needs is named": ("test_doctor.py::test_without_a_runtime",),
    "scenarios start from a repository, an installed program or an MCP server": (
        "test_new_eval.py::test_a_scenario_passes_preflight_runs_on_the_mock_and_can_fail",
        "copilot/test_scenarios.py::test_a_template_passes_a_right_agent_and_fails_a_wrong_one",
    ),
    "a scenario may have a skill or custom agent": (
        "test_new_eval.py::test_a_scenario_may_have_a_skill_or_custom_agent_as_its_context",
    ),
    "checks are tried with answers that are wrong on purpose": (
        "test_learning_path.py::test_an_example_of_an_outcome_passes_and_fails_for_the_wrong_answer",
    ),
    "regressions are gated": ("test_gate.py::test_the_pass_rate_may_fall_by_the_limit",),
    "evidence can be checked elsewhere": (
        "test_evidence.py::test_digests_are_those_of_canonical_json_and_can_be_computed_elsewhere",
    ),
    "graders are held against answers that people know, without an agent or a network": (
        "test_assure.py::test_cases_that_hold",
        "test_assure.py::test_everything_that_graders_look_at_can_be_in_a_case",
    ),
    "comparisons can be controlled": ("test_experiment.py::test_a_changed_plan_is_refused_with_the_place",),
    # --- suite, task, trial and attempt ---
    "a suite chooses task files, settings and graders": ("test_a_suite_chooses_and_a_task_asks",),
    "a task has a prompt, inputs, what is expected, follow-ups and checkpoints": ("test_a_suite_chooses_and_a_task_asks",),
    "repeated trials are results of their own": ("test_trials_are_results_and_attempts_are_not",),
    "attempts are executions within a trial, and add none": ("test_trials_are_results_and_attempts_are_not",),
    "a scenario has the version 2.0; tasks, results and older suites keep 1.x": (
        "test_scenarios.py::test_what_makes_a_scenario",
        "test_scenarios.py::test_results_keep_their_version_and_no_answer_is_cached",
    ),
    "a skill or custom agent is no check": ("test_a_skill_is_no_check",),
    "of several attempts the last one is kept, with their number; a later success replaces a failure": (
        "test_trials_are_results_and_attempts_are_not",
    ),
    "outputs and verdicts of earlier attempts are not kept": ("test_trials_are_results_and_attempts_are_not",),
    "evidence says that earlier attempts are not preserved": (
        "test_evidence.py::test_retries_are_not_preserved_and_the_manifest_says_so",
    ),
    "what discarded attempts used is counted": ("test_trials_are_results_and_attempts_are_not",),
    "discarding an attempt undoes nothing that it did elsewhere": ("test_workspaces_are_copies_and_no_sandbox",),
    # --- executors and dependencies ---
    "the mock gives the same answers every time": ("test_dependencies_change_what_is_seen_and_not_who_runs",),
    "copilot-sdk runs a real agent": ("copilot/test_usage.py::test_turns_add_up_and_no_turn_is_counted_twice",),
    "mocked dependencies change what an agent sees, not which executor runs": (
        "test_dependencies_change_what_is_seen_and_not_who_runs",
    ),
    "a real agent that meets mocks uses tokens": ("copilot/test_mocks.py::test_an_agent_that_meets_mocks_uses_tokens",),
    "the template for programs uses the git that is installed; the one for MCP needs nothing": (
        "test_what_the_templates_need",
    ),
    # --- requirements ---
    "requirements name behaviour, and their checks the graders that observe it": (
        "test_requirements.py::test_states_follow_from_the_results_file_alone_and_change_no_status",
    ),
    "what is missing, was not assessed or broke is no success": (
        "test_requirements.py::test_each_trial_counts_and_one_that_broke_is_no_pass",
        "test_requirements.py::test_what_was_not_graded_and_what_did_not_run_is_unresolved",
    ),
    "expected.outcomes describe, and only coverage counts them": (
        "test_coverage.py::test_described_outcomes_are_counted_and_cover_nothing",
    ),
    "files, tool calls and sequences of actions can be asserted": ("test_what_can_be_asserted",),
    "what is outside of the workspace needs a look of its own": ("test_workspaces_are_copies_and_no_sandbox",),
    # --- state ---
    "every attempt gets a copy of the fixtures, and the originals stay": (
        "test_workspace.py::test_each_attempt_and_trial_has_a_fresh_one_and_originals_stay",
    ),
    "that is no sandbox": ("test_workspaces_are_copies_and_no_sandbox",),
    "files at the end do not show what was done and undone": ("test_files_at_the_end_do_not_show_what_was_undone",),
    "a tool policy holds the agent's client to its tools": (
        "copilot/test_policy.py::test_a_call_outside_the_list_is_denied_before_it_runs",
    ),
    # --- what a graded result is ---
    "a preflight starts neither the agent nor graders": ("test_preflight_codes.py::test_nothing_is_started_and_nobody_is_asked",),
    "snapshots keep what was observed": ("test_evidence.py::test_a_snapshot_holds_what_was_observed_of_a_trial",),
    "a replay checks that the record agrees with itself, and runs neither agent nor graders": (
        "test_a_replay_runs_nothing",
        "test_replay.py::test_a_changed_snapshot_is_refused_with_the_place",
    ),
    "a snapshot is no history of attempts": ("test_evidence.py::test_retries_are_not_preserved_and_the_manifest_says_so",),
    "that all of finitely many cases hold says nothing about other answers, and approves no release": (
        "test_assure.py::test_what_cases_do_not_show",
    ),
    "a gate compares results, whatever they are of": ("test_gate.py::test_runs_of_our_own",),
    "an experiment admits what was collected for it, and no earlier results": (
        "test_experiment.py::test_results_of_earlier_runs_are_never_admitted",
        "test_experiment.py::test_trials_without_a_verdict_are_not_admitted",
    ),
    "calibration is apart, asks a judge, and only with consent": (
        "test_calibrate.py::test_nobody_is_asked_without_consent",
        "test_calibrate.py::test_simulated_judges_are_corrected_to_the_truth",
    ),
    "sequences of faults are steps that the suite has written, and reach no real dependency": (
        "test_fault_sequences.py::test_each_call_takes_one_step_and_each_trial_begins_again",
        "copilot/test_mocks.py::test_sequences_answer_once_a_step_and_again_for_every_trial",
    ),
}  # fmt: skip


def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("statement", PROOFS)
def test_a_statement_has_a_proof(statement: str) -> None:
    for proof in PROOFS[statement]:
        file, _, name = proof.rpartition("::")
        assert name in functions_of(E2E / (file or Path(__file__).name)), proof


PASSES = "inputs: {prompt: p}\nexpected: {output_contains: [done]}\nmock: {output: done}\n"


def test_what_can_be_evaluated(tmp_path: Path) -> None:
    heads = {
        "workflow": "schemaVersion: '2.0'\nscenario: A release is made.",
        "skill": "skill: bot",
        "agent": "skill: reviewer",
    }
    write_tree(
        tmp_path,
        {
            "skills/bot/SKILL.md": "---\nname: bot\ndescription: d\n---\nHelp.",
            "reviewer.agent.md": "---\nname: reviewer\ndescription: d\n---\nReview.",
            ".waza.yaml": "{}",
        },
    )
    for name, head in heads.items():
        mock_suite(tmp_path / name, {"t": PASSES}, head)
        ended = waza("run", f"{name}/eval.yaml", "-o", f"{name}.json", cwd=tmp_path)
        assert ended.code == 0, ended.err
    tested = {name: strict_json((tmp_path / f"{name}.json").read_bytes())["skill"] for name in heads}
    assert tested == {"workflow": "", "skill": "bot", "agent": "reviewer"}


CREDENTIALS = ("GITHUB_TOKEN", "GH_TOKEN", "COPILOT_GITHUB_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def test_the_first_steps_need_no_account_and_cost_nothing(tmp_path: Path) -> None:
    nobody = {"HOME": str(tmp_path / "home"), **dict.fromkeys(CREDENTIALS, "")}

    def step(*args: str) -> Ended:
        ended = waza(*args, cwd=tmp_path, env=nobody)
        assert ended.code == 0, ended.err
        return ended

    made = step("new", "eval", "work", "--scenario")
    assert "shows that the suite works, and nothing about an agent" in made.out
    step("preflight", "evals/work/eval.yaml")
    assert not (tmp_path / ".waza/runs").exists()
    step("run", "evals/work/eval.yaml", "--executor", "mock", "-o", "r.json")
    results = strict_json((tmp_path / "r.json").read_bytes())
    assert results["config"]["engine_type"] == "mock"
    assert {key: value for key, value in results["summary"]["usage"].items() if value} == {"turns": 1}
    assert "evaluation_usage" not in results
    assert (
        "report.md" in step("show", "r.json", "--requirements").out + step("show", "r.json", "work-001").out
    )


def test_a_suite_chooses_and_a_task_asks(tmp_path: Path) -> None:
    task = """
inputs: {prompt: first, follow_up_prompts: [second], files: [{path: a.txt, content: x}]}
expected: {output_contains: [done]}
checkpoints: [{after_turn: 1, graders: [{type: text, name: early, config: {contains: [yes]}}]}]
mock: {turns: [{output: 'yes'}, {output: done}]}
"""
    graders = "graders: [{type: file, name: there, config: {must_exist: [a.txt]}}]"
    mock_suite(tmp_path, {"chosen": task}, graders, ["trials_per_task: 2"])
    write_tree(tmp_path, {"other/left.yaml": PASSES})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    (found,) = ended.results()["tasks"]
    assert (ended.code, found["test_id"], len(found["runs"])) == (0, "chosen", 2)
    for run in found["runs"]:
        assert run["validations"].keys() == {"there", "_output_contains"}
        assert [(point["after_turn"], point["status"]) for point in run["checkpoints"]] == [(1, "passed")]


def test_trials_are_results_and_attempts_are_not(tmp_path: Path) -> None:
    usage = "usage: {input_tokens: 100, output_tokens: 10}"
    script = f"{{executions: [{{output: first failure, {usage}}}, {{output: done, {usage}}}]}}"
    task = f"inputs: {{prompt: p}}\nexpected: {{output_contains: [done]}}\nmock: {script}\n"
    mock_suite(tmp_path, {"t": task}, "", ["trials_per_task: 2", "max_attempts: 2"])
    ended = waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path)
    text = (tmp_path / "r.json").read_text(encoding="utf-8")
    results = strict_json(text)
    runs = results["tasks"][0]["runs"]
    assert (ended.code, [run["run_number"] for run in runs]) == (0, [1, 2])
    assert {(run["attempts"], run["status"], run["final_output"]) for run in runs} == {(2, "passed", "done")}
    assert [one["status"] for one in runs[0]["attempt_history"]] == ["failed"]
    assert "first failure" not in text
    assert "no 'done' in the output" not in text
    assert results["summary"]["usage"]["input_tokens"] == 400, "of two attempts in each of two trials"


def test_a_skill_is_no_check(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"bot/SKILL.md": "---\nname: bot\ndescription: d\ntools: [view]\n---\nAlways be right."}
    )
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}\nmock: {output: wrong}"}, "skill: bot")
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert "has no check" in ended.err
    assert ended.results()["tasks"][0]["runs"][0]["validations"] == {}


def test_workspaces_are_copies_and_no_sandbox(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    agent = f"echo here >> a.txt; echo an attempt >> '{outside}'; cat a.txt"
    config = {"executor": "command", "executor_options": {"command": agent}, "max_attempts": 2}
    receipt = {
        "type": "program",
        "name": "receipt",
        "config": {"command": "test", "args": ["!", "-e", str(outside)]},
    }
    file = {
        "type": "file",
        "name": "kept",
        "config": {"content_patterns": [{"path": "a.txt", "must_match": ["^here\n$"]}]},
    }
    suite = {"name": "s", "config": config, "tasks": ["t.yaml"], "graders": [file, receipt]}
    task = {"id": "t", "inputs": {"prompt": "p", "files": [{"path": "a.txt"}]}}
    write_tree(tmp_path, {"eval.yaml": json.dumps(suite), "t.yaml": json.dumps(task), "fixtures/a.txt": ""})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    (run,) = ended.results()["tasks"][0]["runs"]
    assert (tmp_path / "fixtures/a.txt").read_bytes() == b""
    assert outside.read_text(encoding="utf-8") == "an attempt\nan attempt\n", (
        "nothing holds it, nothing undoes it"
    )
    passed = {name: one["passed"] for name, one in run["validations"].items()}
    assert (run["attempts"], passed) == (2, {"kept": True, "receipt": False})


def test_dependencies_change_what_is_seen_and_not_who_runs(tmp_path: Path) -> None:
    script = "mock: {output: done, tool_calls: [{name: store-put, args: {}}]}"
    found: dict[str, list[Any]] = {}
    for name, head in {
        "plain": "",
        "mocked": "schemaVersion: '1.1'\nmcp_mocks: [{name: store, tools: {put: {responses: [{return: kept}]}}}]",
    }.items():
        mock_suite(tmp_path / name, {"t": f"inputs: {{prompt: p}}\n{script}\n"}, head)
        for _ in range(2):
            ended = waza("run", "eval.yaml", "-o", "r.json", cwd=tmp_path / name)
            assert ended.code == 0, ended.err
            results = strict_json((tmp_path / name / "r.json").read_bytes())
            (run,) = results["tasks"][0]["runs"]
            seen = [event["result"] for event in run["tool_events"]]
            found.setdefault(name, []).append((results["config"]["engine_type"], run["final_output"], seen))
    assert found == {"plain": [("mock", "done", [""])] * 2, "mocked": [("mock", "done", ['"kept"'])] * 2}


def test_what_the_templates_need(tmp_path: Path) -> None:
    needs = {}
    for template in ("cli", "mcp"):
        waza("new", "eval", template, "--scenario", "--template", template, cwd=tmp_path)
        asked = waza("preflight", f"evals/{template}/eval.yaml", "--json", cwd=tmp_path)
        report = strict_json(asked.out)
        needs[template] = [
            (one["kind"], one["mode"]) for one in report["dependencies"] if one["kind"] != "executor"
        ]
    assert needs == {"cli": [], "mcp": [("mcp_server", "mocked")]}
    task = (tmp_path / "evals/cli/tasks/workflow.yaml").read_text(encoding="utf-8")
    assert "git commit" in task
    assert "command_mocks" not in task


def test_what_can_be_asserted(tmp_path: Path) -> None:
    graders = """graders:
  - {type: file, name: file, config: {must_exist: [a.txt]}}
  - {type: tool_calls, name: calls, config: {required_tools: [create]}}
  - {type: action_sequence, name: order, config: {matching_mode: in_order_match, expected_actions: [view, create]}}
"""
    right = "{output: done, tool_calls: [{name: view}, {name: create}], files: [{path: a.txt}]}"
    wrong = "{output: done, tool_calls: [{name: view}]}"
    tasks = {
        name: f"inputs: {{prompt: p}}\nmock: {script}\n" for name, script in {"r": right, "w": wrong}.items()
    }
    mock_suite(tmp_path, tasks, graders)
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    passed = {
        task["test_id"]: {one["passed"] for one in task["runs"][0]["validations"].values()}
        for task in ended.results()["tasks"]
    }
    assert passed == {"r": {True}, "w": {False}}


def test_files_at_the_end_do_not_show_what_was_undone(tmp_path: Path) -> None:
    task = """
inputs: {prompt: p, follow_up_prompts: [clean up]}
graders:
  - {type: file, name: at the end, config: {must_not_exist: [secret.txt]}}
  - {type: tool_calls, name: on the way, config: {forbidden_tools: [create]}}
checkpoints: [{after_turn: 1, graders: [{type: file, name: in between, config: {must_not_exist: [secret.txt]}}]}]
mock:
  turns:
    - {output: a, files: [{path: secret.txt}], tool_calls: [{name: create}]}
    - {output: b, delete: [secret.txt]}
"""
    mock_suite(tmp_path, {"t": task})
    (run,) = waza("run", "eval.yaml", cwd=tmp_path).results()["tasks"][0]["runs"]
    passed = {name: one["passed"] for name, one in run["validations"].items()}
    assert passed == {"at the end": True, "on the way": False}
    assert [point["status"] for point in run["checkpoints"]] == ["failed"]


def test_a_replay_runs_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    grader = f"graders: [{{type: program, name: marks, config: {{command: touch, args: ['{marker}']}}}}]"
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}\nmock: {output: done}"}, grader)
    assert waza("run", "eval.yaml", "--snapshot", "ev", cwd=tmp_path).code == 0
    marker.unlink()
    (snapshot,) = (tmp_path / "ev").glob("t-*.json")
    assert waza("replay", snapshot, cwd=tmp_path).code == 0
    assert not marker.exists()
