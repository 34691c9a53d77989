"""`waza grade --transcript`: what ran elsewhere is graded by what its transcript shows, and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support import sessions
from tests.support.program import Ended, mock_suite, newest_results, strict_json, waza, write_tree
from tests.support.sessions import FORMS, OUTPUT, PROMPT, SKILL, write_lines

COUNT = f"""
inputs: {{prompt: '{PROMPT}'}}
expected:
  should_trigger: true
  behavior: {{max_tokens: 1000, max_tool_calls: 3}}
graders:
  - {{type: text, name: says, config: {{contains: ['3 rows']}}}}
  - {{type: skill_invocation, name: skill, config: {{required_skills: [{SKILL}], mode: any_order}}}}
  - {{type: code, name: calls, config: {{assertions: ['len(tool_calls) == 3', '"3 rows.csv" in str(tool_calls[2])']}}}}
  - {{type: prompt, name: judged, config: {{prompt: ok?}}}}
mock: {{judge: {{judged: [{{pass: fine}}]}}}}
"""
OTHER = "inputs: {prompt: something else}\ngraders: [{type: text, name: says, config: {contains: [x]}}]"


def suite(root: Path, task: str = COUNT, head: str = "", **more: str) -> Path:
    skill = f"skill: {SKILL}\n{head}"
    write_tree(
        root, {f"{SKILL}/SKILL.md": f"---\nname: {SKILL}\ndescription: counts rows\n---\nCount well.\n"}
    )
    return mock_suite(root, {"count": task, **more}, skill, [f"skill_directories: [{SKILL}]"])


def transcript(root: Path, form: str = "claude-code", name: str = "") -> str:
    return write_lines(root / (name or f"{form}.jsonl"), FORMS[form]()).name


def grade(root: Path, *args: str | Path) -> Ended:
    return waza("grade", "eval.yaml", *args, cwd=root)


def verdicts(results: dict[str, Any], task: int = 0, run: int = 0) -> dict[str, bool]:
    found = results["tasks"][task]["runs"][run]["validations"]
    return {name: one["passed"] for name, one in found.items()}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_graded(tmp_path: Path, form: str):
    """Times of a session are not in `codex exec --json`; outcomes of calls are not in ATIF."""
    suite(tmp_path)
    ended = grade(tmp_path, "--transcript", transcript(tmp_path, form), "-v", "--fail")
    assert ended.code == 0, ended.err
    said = strict_json(ended.out)
    assert (said["passed"], list(said["tasks"])) == (True, ["count"])
    assert said["tasks"]["count"]["grader_averages"] == dict.fromkeys(
        ("_behavior", "_should_trigger", "calls", "judged", "says", "skill"), 1
    )
    results = newest_results(tmp_path)
    assert results["config"]["engine_type"] == "transcript"
    assert results["metadata"]["verdict"]["passed"] is True
    (seen,) = results["metadata"]["transcripts"]
    assert (seen["task"], seen["trial"], seen["form"]) == ("count", 1, form)
    models = {
        "codex-exec": [],
        "codex-rollout": ["m-codex"],
        "copilot-events": ["m-copilot"],
        "atif": ["m-atif"],
    }
    assert seen.get("models", []) == models.get(form, ["m-claude"])
    assert results["config"]["model_id"] == ", ".join(models.get(form, ["m-claude"]))
    assert ("duration" in seen["unseen"]) is (form == "codex-exec")
    assert results["tasks"][0]["runs"][0].get("duration_unknown", False) is (form == "codex-exec")
    run = results["tasks"][0]["runs"][0]
    assert (run["status"], run["prompt"], run["final_output"]) == ("passed", PROMPT, OUTPUT)
    assert run["session_digest"]["session_id"] == "s-1"
    assert run["session_digest"]["usage"]["input_tokens"] == 64
    assert [call["success"] for call in run["tool_events"]] == [True, False, None if form == "atif" else True]
    assert run["session_digest"].get("tool_policy_mode") is None
    inferred = "they are inferred from calls that show a SKILL.md"
    assert (inferred in ended.err) is (form in ("atif", "codex-exec", "codex-rollout"))


def test_it_is_a_run_like_any_other(tmp_path: Path):
    """It can be shown, exported, compared, reported and graded again; it cannot be resumed."""
    suite(tmp_path)
    files = {"-o": "out.json", "--reporter": "junit:out.xml"}
    options = [word for pair in files.items() for word in pair]
    ended = grade(tmp_path, "--transcript", transcript(tmp_path), *options, "--json")
    assert ended.code == 0, ended.err
    printed = strict_json(ended.out)
    assert printed["tasks"] == strict_json((tmp_path / "out.json").read_bytes())["tasks"]
    assert 'name="engine" value="transcript"' in (tmp_path / "out.xml").read_text(encoding="utf-8")
    name = printed["eval_id"]
    assert f"Kept: waza show {name}\n" in ended.err
    shown = waza("show", "--", name, "count", cwd=tmp_path)
    assert shown.code == 0
    assert OUTPUT in shown.out
    again = grade(tmp_path, "--results", "out.json")
    assert again.code == 0
    averages = strict_json(again.out)["tasks"]["count"]["grader_averages"]
    assert averages == dict.fromkeys(("_behavior", "_should_trigger", "calls", "judged", "says", "skill"), 1)
    resumed = waza("run", "eval.yaml", f"--resume={name}", cwd=tmp_path)
    assert (resumed.code, resumed.out) == (2, "")
    assert (
        "grade them again: waza grade EVAL.YAML --transcript FILE" in resumed.err
        or "model changed" in resumed.err
    )
    fresh = waza("run", "eval.yaml", "--resume", cwd=tmp_path)
    assert "there is no earlier run of these suites and models" in fresh.err
    unsaved = grade(tmp_path, "--transcript", "claude-code.jsonl", "--no-save")
    assert "Kept" not in unsaved.err
    assert len(list((tmp_path / ".waza/runs").iterdir())) == 2


def test_what_a_transcript_does_not_show_is_an_error_and_never_a_pass(tmp_path: Path):
    graders = """
graders:
  - {type: file, name: files, config: {must_not_exist: [nothing.txt]}}
  - {type: program, name: program, config: {command: 'true'}}
  - {type: behavior, name: time, config: {max_duration_ms: 100000}}
  - {type: behavior, name: tokens, config: {max_tokens: 100000}}
  - {type: code, name: clock, config: {assertions: ['duration_ms < 100000']}}
  - {type: code, name: mocks, config: {assertions: ['len(command_invocations) == 0']}}
  - {type: code, name: outcome, config: {assertions: ["not any(call['success'] == False for call in tool_calls[2:])"]}}
  - {type: prompt, name: asks, config: {prompt: ok?, continue_session: true}}
  - {type: text, name: says, config: {contains: ['3 rows']}}
expected: {behavior: {max_response_time_ms: 100000}}
"""
    suite(tmp_path, f"inputs: {{prompt: '{PROMPT}'}}\n{graders}mock: {{judge: {{asks: [{{pass: x}}]}}}}")
    root = sessions.atif()
    for step in root["steps"]:
        step.pop("timestamp", None)
        step.pop("metrics", None)
    (tmp_path / "t.json").write_text(json.dumps(root), encoding="utf-8")
    ended = grade(tmp_path, "--transcript", "t.json", "-v", "--fail")
    assert ended.code == 1
    results = newest_results(tmp_path)
    run = results["tasks"][0]["runs"][0]
    assert run["status"] == "error"
    assert {name for name, passed in verdicts(results).items() if passed} == {"says"}
    why = {name: one["details"].get("error", "") for name, one in run["validations"].items()}
    assert "name a directory with --workspace DIR" in why["files"]
    assert "name a directory with --workspace DIR" in why["program"]
    assert why["time"] == "max_duration_ms: the transcript does not say how long the agent worked"
    assert why["_behavior"] == "max_response_time_ms: the transcript does not say how long the agent worked"
    assert why["clock"] == "assertions: the transcript does not say how long the agent worked"
    assert why["tokens"] == "max_tokens: the transcript does not say how many tokens were used"
    assert why["mocks"] == "assertions: no program was mocked where the agent ran"
    assert "which is not known of 1 of 3 (bash)" in why["outcome"]
    assert "ran elsewhere and cannot be continued" in why["asks"]
    assert all(name in run["error_msg"] for name in set(why) - {"says"})
    assert "whether 1 tool call succeeded is not recorded, and not assumed" in ended.err
    rows = waza("export", "--format", "jsonl", cwd=tmp_path)
    assert strict_json(rows.out)["duration_ms"] is None
    assert "duration: not recorded" in waza("show", results["eval_id"], "count", cwd=tmp_path).out
    # The same from the results file: what was not known is not known later either.
    name = results["eval_id"]
    again = grade(tmp_path, "--results", tmp_path / ".waza/runs" / name / "results.json", "-o", "again.json")
    assert again.code == 0
    second = strict_json((tmp_path / "again.json").read_bytes())
    assert verdicts(second) == verdicts(results)


def test_files_are_looked_for_in_the_workspace_that_is_named(tmp_path: Path):
    file = "graders: [{type: file, name: files, config: {must_exist: [rows.csv]}}]"
    suite(tmp_path, f"inputs: {{prompt: '{PROMPT}'}}\n{file}")
    write_tree(tmp_path, {"work/rows.csv": "a\nb\nc\n", "bare/x": ""})
    one = transcript(tmp_path)
    assert grade(tmp_path, "--transcript", one, "--workspace", "work", "--fail").code == 0
    assert grade(tmp_path, "--transcript", one, "--workspace", "bare", "--fail").code == 1
    several = grade(tmp_path, "--transcript", one, "--transcript", one, "--workspace", "work")
    assert (several.code, several.out) == (2, "")
    assert "--workspace holds the files of one session, and there are 2 transcripts" in several.err


def test_the_task_is_the_one_with_the_prompt_or_the_one_that_is_named(tmp_path: Path):
    suite(tmp_path, other=OTHER)
    one, stream = transcript(tmp_path), transcript(tmp_path, "claude-stream")
    found = grade(tmp_path, "--transcript", one, "--transcript", transcript(tmp_path, "copilot-events"))
    assert found.code == 0, found.err
    results = newest_results(tmp_path)
    assert [(task["test_id"], len(task["runs"])) for task in results["tasks"]] == [("count", 2)]
    assert results["config"]["runs_per_test"] == 2
    assert results["config"]["model_id"] == "m-claude, m-copilot"
    assert "several models, whose trials count alike: m-claude, m-copilot" in found.err
    assert "without a transcript, and left out: 1 task: other" in found.err
    assert results["metadata"]["selection"]["of"] == 2
    named = grade(tmp_path, "--transcript", one, "--task", "other", "--fail")
    assert named.code == 1
    assert "other, trial 1 (claude-code.jsonl): its prompt is not the one of the task" in named.err
    unknown = grade(tmp_path, "--transcript", stream)
    assert (unknown.code, unknown.out) == (2, "")
    assert "claude-stream.jsonl: the transcript does not have its prompt" in unknown.err
    assert "name it with --task ID; tasks: count, other" in unknown.err
    write_tree(
        tmp_path,
        {
            "tasks/twin.yaml": COUNT,
            "elsewhere.jsonl": (tmp_path / one).read_text(encoding="utf-8").replace(PROMPT, "?"),
        },
    )
    twins = grade(tmp_path, "--transcript", one)
    assert (
        "claude-code.jsonl: 2 tasks have the prompt of the transcript; name the task with --task ID; tasks: count, twin"
        in twins.err
    )
    none = grade(tmp_path, "--transcript", "elsewhere.jsonl")
    assert "elsewhere.jsonl: no task has the prompt of the transcript" in none.err
    assert (
        "there is no task 'nope' in the suite; tasks: "
        in grade(tmp_path, "--transcript", one, "--task", "nope").err
    )


def test_wrong_options(tmp_path: Path):
    suite(tmp_path)
    one = transcript(tmp_path)
    write_tree(tmp_path, {"no.jsonl": "{}\n"})
    cases = [
        ([], "say which results to grade: --results FILE, or --transcript FILE"),
        (["--results", "r.json", "--transcript", one], "--results FILE, not both"),
        (["--transcript", one, "--evidence-snapshot", "s.json"], "--evidence-snapshot is of a run of waza"),
        (["--transcript", "no.jsonl"], "no.jsonl: is not a transcript that waza knows; give "),
        (["--transcript", "none.jsonl"], "none.jsonl: cannot be read: No such file or directory"),
        (["--transcript", one, "-o", one], "is what is to be run"),
    ]  # fmt: skip
    for words, said in cases:
        ended = grade(tmp_path, *words)
        assert (ended.code, ended.out) == (2, ""), words
        assert said in ended.err
        assert "Traceback" not in ended.err


def test_sessions_that_did_not_end_are_errors_with_their_verdicts(tmp_path: Path):
    """A verdict on a part of a session is shown, and never makes its trial pass."""
    graders = "graders: [{type: tool_calls, name: none, config: {forbidden_tools: [Write]}}, {type: prompt, name: judged, config: {prompt: ok?}}]"
    suite(
        tmp_path, f"inputs: {{prompt: '{PROMPT}'}}\n{graders}\nmock: {{judge: {{judged: [{{pass: fine}}]}}}}"
    )
    write_lines(tmp_path / "torn.jsonl", [*sessions.claude_code()[:-1], '{"type":"assist'], end="")
    ended = grade(tmp_path, "--transcript", "torn.jsonl", "--fail")
    assert ended.code == 1
    run = newest_results(tmp_path)["tasks"][0]["runs"][0]
    assert run["status"] == "error"
    assert run["error_msg"] == "the transcript ends before the agent had answered"
    assert verdicts(newest_results(tmp_path)) == {"none": True, "judged": False}, (
        "no judge is asked about half a session"
    )
    assert "torn.jsonl:12: the last line: it is cut off" in ended.err
    assert any("it is cut off" in one for one in newest_results(tmp_path)["metadata"]["warnings"])


def test_turns_checkpoints_and_what_the_suite_does_besides(tmp_path: Path):
    task = f"""
inputs: {{prompt: '{PROMPT}', follow_up_prompts: [And now?]}}
graders: [{{type: text, name: says, config: {{contains: [Four]}}}}, {{type: tool_calls, name: named, config: {{forbidden_tools: [bash]}}}}]
checkpoints:
  - after_turn: 1
    graders: [{{type: text, name: early, config: {{contains: ['3 rows']}}}}, {{type: behavior, name: cost, config: {{max_tokens: 9}}}}]
  - {{after_turn: 3, graders: [{{type: text, name: late, config: {{contains: [x]}}}}]}}
command_mocks: [{{name: gh, expect_calls: 1, responses: [{{args: [], stdout: x}}]}}]
"""
    suite(tmp_path, task.replace("  - {after_turn: 3", "  - {after_turn: 2"), "baseline: true")
    lines = [
        *sessions.claude_code(),
        sessions.claude_user("n1", "r5", "And now?", 8),
        sessions.claude_reply("n2", "n1", "n", sessions.text_block("Four"), 9),
    ]
    write_lines(tmp_path / "two.jsonl", lines)
    ended = grade(tmp_path, "--transcript", "two.jsonl", "-v")
    assert ended.code == 0, ended.err
    results = newest_results(tmp_path)
    run = results["tasks"][0]["runs"][0]
    assert (run["final_output"], verdicts(results)) == ("Four", {"says": True, "named": True})
    first, second = run["checkpoints"]
    assert (first["status"], {name: one["passed"] for name, one in first["validations"].items()}) == (
        "error", {"early": True, "cost": False},
    )  # fmt: skip
    assert (second["after_turn"], second["status"]) == (2, "failed")
    assert "names the tool 'bash', which this agent calls 'Bash'" in ended.err
    assert "there is no comparison with a run without skills" in ended.err
    assert "how often mocked programs were called is not known" in run["error_msg"]
    short = grade(tmp_path, "--transcript", transcript(tmp_path))
    assert "it has 1 turn, and the task 2" in short.err
    missed = newest_results(tmp_path)["tasks"][0]["runs"][0]["checkpoints"][1]
    assert (missed["after_turn"], missed["status"]) == (2, "error")
    assert "the transcript has only 1 turn" in missed["validations"]["late"]["feedback"]


def test_skills_that_were_not_offered_and_sub_agents_are_named(tmp_path: Path):
    suite(tmp_path)
    text = "\n".join(map(json.dumps, sessions.claude_code())).replace(
        f'"names": ["{SKILL}"]', '"names": ["other"]'
    )
    inner = {"isSidechain": True, "agentId": "helper"}
    sub = [
        sessions.claude_user("s1", None, "Count", 1, **inner),
        sessions.claude_reply(
            "s2", "s1", "sm", sessions.tool_use("sc", "Bash", {"command": "rm"}), 1, **inner
        ),
    ]
    write_lines(tmp_path / "t.jsonl", [*sub, text])
    ended = grade(tmp_path, "--transcript", "t.jsonl")
    assert f"the skill '{SKILL}' was not offered to the agent" in ended.err
    assert "1 sub-agent made 1 tool call, which are not the agent's own: no grader looks at them" in ended.err
    assert newest_results(tmp_path)["metadata"]["transcripts"][0]["sub_agents"] == {"helper": 1}


def test_secrets_and_hostile_text_of_transcripts(tmp_path: Path):
    suite(tmp_path)
    secret = "ghp_" + "a1B2" * 9
    text = "\n".join(map(json.dumps, sessions.claude_code())).replace(
        "3 rows.csv", f"{secret} \\u001b[31m 3 rows.csv"
    )
    write_lines(tmp_path / "t.jsonl", [text])
    ended = grade(tmp_path, "--transcript", "t.jsonl", "-v", "-o", "out.json")
    assert ended.code == 0, ended.err
    written = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert secret not in written + ended.out + ended.err
    assert "\x1b" not in ended.out + ended.err
    assert not any(
        secret in path.read_text(encoding="utf-8") for path in (tmp_path / ".waza").rglob("*.*json")
    )


Change = Callable[[list[dict[str, Any]]], object]
LIMITS = f"""
inputs: {{prompt: '{PROMPT}'}}
graders:
  - {{type: behavior, name: tokens, config: {{max_tokens: 10}}}}
  - {{type: behavior, name: time, config: {{max_duration_ms: 10}}}}
"""


def _set_counts(value: Any) -> Change:
    """Return what writes a value in the place of every count of tokens."""

    def change(found: Any) -> None:
        for key, one in list(found.items()) if isinstance(found, dict) else enumerate(found):
            if isinstance(one, dict | list):
                change(one)
            elif "token" in str(key).lower() and isinstance(one, int):
                found[key] = value

    return change


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [-5, 0, "9000", 10**25, None], ids=str)
def test_figures_that_are_none_are_not_known(tmp_path: Path, form: str, value: Any):
    """No limit is kept by a count that cannot be: a negative one, a text, one of nothing."""
    suite(tmp_path, LIMITS)
    lines = FORMS[form]()
    _set_counts(value)(lines)
    write_lines(tmp_path / "t.jsonl", lines)
    assert grade(tmp_path, "--transcript", "t.jsonl", "--fail").code == 1
    run = newest_results(tmp_path)["tasks"][0]["runs"][0]
    assert run["validations"]["tokens"]["feedback"].endswith("does not say how many tokens were used")
    assert "usage" not in run["session_digest"]


@pytest.mark.parametrize("took", [-1000, 1e300], ids=str)
def test_no_session_took_less_than_no_time(tmp_path: Path, took: float):
    suite(tmp_path, LIMITS)
    lines = FORMS["claude-stream"]()
    lines[-1] |= {"duration_ms": took, "total_cost_usd": -5.0}
    write_lines(tmp_path / "t.jsonl", lines)
    assert grade(tmp_path, "--transcript", "t.jsonl", "--fail").code == 1
    results = newest_results(tmp_path)
    run = results["tasks"][0]["runs"][0]
    assert run["validations"]["time"]["feedback"].endswith("does not say how long the agent worked")
    assert "cost_usd" not in results["metadata"]["transcripts"][0]
