"""What the scripted agent says and does, seen through a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.model.observation import Event


def test_without_a_script_it_echoes_what_it_was_given(ran, tmp_path: Path):
    long = "ü" * 600  # 1,200 bytes
    files = {
        "fixtures/a.txt": "short\n",
        "fixtures/b.txt": long,
        "fixtures/empty": "",
        "fixtures/c": "x" * 1024,
    }
    write_tree(tmp_path / "suite", files)
    listed = ", ".join(f"{{path: {name}}}" for name in ("a.txt", "b.txt", "empty", "c"))
    text = (
        f"name: Explain\ndescription: a task\ninputs:\n  prompt: what?\n  files: [{listed}]\n"
        "  context: {language: Go, level: 3, more: {deep: [1, true]}}\n"
    )
    output = ran({"t": text, "bare": "inputs: {prompt: p}"}).of("Explain").final_output
    assert output == (
        "Mock response for: what?\nTask: Explain\nDescription: a task\n"
        'Context:\n  language: Go\n  level: 3\n  more: {"deep":[1,true]}\n'
        "Analyzed 4 file(s):\n  - a.txt\nshort\n\n"
        f"  - b.txt\n{'ü' * 512}...(truncated)\n  - empty\n  - c\n{'x' * 1024}"
    )


def test_an_echo_has_no_events_but_its_prompts_and_no_usage(ran):
    run = ran({"t": "inputs: {prompt: p, follow_up_prompts: [q]}"}).of("t")
    assert run.transcript == [Event(type="user.message", content=text) for text in ("p", "q")]
    assert (run.tool_events, run.session_digest.usage) == ([], None)
    assert run.session_digest.session_id.startswith("mock-session-")


def test_a_scripted_turn_makes_the_events_of_a_real_one(ran):
    text = """
inputs: {prompt: p}
mock:
  output: done
  skills: [one, {name: two, path: /skills/two}]
  tool_calls:
    - {name: bash, args: {command: ls}, result: "a\\nb", duration_ms: 40}
    - {name: edit, args: {path: x}, result: {lines: 3}, success: false}
    - {name: view}
  usage: {input_tokens: 120, output_tokens: 30, cache_read_tokens: 5, premium_requests: 0.5}
"""
    run = ran({"t": text}).of("t")
    assert [event.type for event in run.transcript] == [
        "user.message",
        "assistant.turn_start",
        "skill.invoked",
        "skill.invoked",
        "assistant.message",
        *["tool.execution_start", "tool.execution_complete"] * 3,
        "session.idle",
    ]
    calls = [
        (call.tool_name, call.args, call.result, call.success, call.duration_ms) for call in run.tool_events
    ]
    assert calls == [
        ("bash", {"command": "ls"}, "a\nb", True, 40),
        ("edit", {"path": "x"}, {"lines": 3}, False, 0),
        ("view", {}, "", True, 0),
    ]
    assert [(skill.name, skill.path) for skill in run.skill_invocations] == [
        ("one", ""),
        ("two", "/skills/two"),
    ]
    usage = run.session_digest.usage
    assert usage is not None
    assert (usage.turns, usage.input_tokens, usage.output_tokens) == (1, 120, 30)
    assert (usage.cache_read_tokens, usage.premium_requests) == (5, 0.5)


def test_a_tasks_block_replaces_the_suites_key_by_key(ran):
    head = (
        "mock:\n  output: from the suite\n  judge: {j: [{pass: suite}]}\n"
        "graders: [{type: prompt, name: j, config: {prompt: Good?}}]"
    )
    tasks = {
        "none": "inputs: {prompt: p}",
        "turns": "inputs: {prompt: p}\nmock: {turns: [{output: mine}]}",
        "judge": "inputs: {prompt: p}\nmock: {judge: {j: [{fail: mine}]}}",
        "silent": "inputs: {prompt: p}\nmock: {turns: []}",
        "executions": "inputs: {prompt: p}\nmock: {executions: [{output: first}, {judge: {j: [{fail: second}]}}]}",
    }
    done = ran(tasks, head, ["trials_per_task: 2"])
    found = {name: [(run.final_output, run.status) for run in task.runs] for name, task in done.tasks.items()}
    assert found == {
        "none": [("from the suite", "passed")] * 2,
        "turns": [("mine", "passed")] * 2,
        "judge": [("from the suite", "failed")] * 2,
        "silent": [("Mock response for: p\nTask: silent", "passed")] * 2,
        "executions": [("first", "passed"), ("from the suite", "failed")],
    }


def test_its_strings_are_templates(ran, tmp_path: Path):
    text = """
name: The Task
inputs: {prompt: p}
mock:
  output: "{{.Vars.x}} {{.TaskName}} {{.Iteration}}.{{.Attempt}} {{ .Other }} {{.JobID}}"
  tool_calls: [{name: t, args: {deep: ["{{.Vars.x}}"]}, result: {r: "{{.Vars.x}}"}}]
  files: [{path: "{{.Vars.x}}.txt", content: "{{.Vars.x}}"}]
graders:
  - {type: file, name: f, config: {must_exist: [value.txt], content_patterns: [{path: value.txt, must_match: ['^value$']}]}}
  - {type: text, name: never, config: {contains: [impossible]}}
"""
    done = ran({"t": text}, "inputs: {x: value}", ["trials_per_task: 2", "max_attempts: 2"])
    run_id = done.head.eval_id
    outputs = [run.final_output for run in done.tasks["The Task"].runs]
    assert outputs == [f"value The Task {n}.2 {{{{ .Other }}}} {run_id}" for n in (1, 2)]
    run = done.of("The Task")
    assert (run.tool_events[0].args, run.tool_events[0].result) == ({"deep": ["value"]}, {"r": "value"})
    assert run.validations is not None
    assert run.validations["f"].passed


def test_a_judge_without_a_script_is_an_error_that_names_the_grader(ran):
    grader = "{type: prompt, name: tone, config: {prompt: Polite?}}"
    done = ran(
        {
            "missing": f"inputs: {{prompt: p}}\nmock: {{output: x}}\ngraders: [{grader}]",
            "other": f"inputs: {{prompt: p}}\nmock: {{output: x, judge: {{other: [{{pass: y}}]}}}}\ngraders: [{grader}]",
            "silent": f"inputs: {{prompt: p}}\nmock: {{output: x, judge: {{tone: []}}}}\ngraders: [{grader}]",
        }
    )
    for name in ("missing", "other"):
        assert done.of(name).status == "error"
        assert "tone" in done.of(name).error_msg
        assert "mock.judge.tone" in done.of(name).error_msg
    assert done.of("silent").status == "failed"  # no verdict is a failure, not an error


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("{outptu: x}", "outptu"),
        ("{output: x, turns: [{output: y}]}", "cannot be combined with 'turns'"),
        ("{turns: [{outptu: y}]}", "outptu"),
        ("{tool_calls: [{args: {}}]}", "name"),
        ("{tool_calls: [{name: x, arg: {}}]}", "arg"),
        ("{judge: {g: [{pass: a, fail: b}]}}", "one of: pass, fail, winner, reply, error"),
        ("{judge: {g: [{}]}}", "one of: pass, fail, winner, reply, error"),
        ("{judge: {g: [{winner: C}]}}", "winner"),
        ("{responder: [{reply: a, stop: true}]}", "one of: reply, stop: true, abstain"),
        ("{responder: [{}]}", "one of: reply, stop: true, abstain"),
        ("{executions: [{outptu: x}]}", "outptu"),
        ("{files: [{path: ../x}]}", "climbs"),
        ("{delete: [/etc/passwd]}", "absolute"),
        ("{delay_ms: -1}", "delay_ms"),
        ("{output: '{{.Vars.none}}'}", "there is no variable `Vars.none`"),
    ],
)
def test_mistakes_in_a_script_are_found_before_anything_runs(ran, block, why):
    with pytest.raises(SuiteError) as caught:
        ran({"t": f"inputs: {{prompt: p}}\nmock: {block}"})
    assert any(why in str(problem) for problem in caught.value.problems)
    assert all("t.yaml:2" in str(problem) for problem in caught.value.problems)
