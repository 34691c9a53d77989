"""`--reporter html:PATH`: what the page of a run shows, in which order, and that text of others stays text."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from tests.support.page import Page
from tests.support.program import Ended, mock_suite, waza, write_tree

SAYS = "{type: text, name: says, config: {contains: [hello]}}"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
FAILS = "inputs: {prompt: p}\nmock: {output: nothing}"
HOSTILE = (
    "</p></td></table></script><script>pwned = 1</script><img src=x onerror=pwned=1> <b>&amp; \\e[31m\\u202e"
)


def page(root: Path, name: str = "h.html") -> Page:
    return Page((root / name).read_text(encoding="utf-8"))


def run(root: Path, tasks: dict[str, str], head: str = "", config: list[str] | None = None) -> Ended:
    suite = mock_suite(root, tasks, f"{head}\ngraders: [{SAYS}]", config or [])
    return waza("run", suite, "--reporter", "html:h.html", cwd=root)


def test_the_verdict_is_first_then_what_failed_then_all_tasks(tmp_path: Path):
    bad = "inputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: bad}, {error: it fell over}]}"
    ended = run(tmp_path, {"good": PASSES, "bad": bad}, config=["trials_per_task: 3"])
    assert ended.code == 1
    lines = page(tmp_path).lines
    assert lines[0] == "suite"
    places = [
        lines.index(line)
        for line in (
            "✗ Failed",
            "1 of 2 tasks did not pass: 1 failed",
            "Failures",
            "Trial 2 of 3 failed",
            "Trial 3 of 3 error",
            "it fell over",
            "Tasks",
            "Figures",
        )
    ]
    assert places == sorted(places)
    assert "says text | failed | 0.00 | no 'hello' in the output" in lines
    assert [line.split(" | ")[:4] for line in page(tmp_path).after("Tasks")[:3]] == [
        ["Task", "Status", "Score", "Trials passed"],
        ["bad", "failed flaky", "0.33", "1 of 3"],
        ["good", "passed", "1.00", "3 of 3"],
    ]
    assert "Task success rate | 50.0% (1 of 2 tasks)" in lines


def test_what_graders_wanted_and_found_and_at_which_turn(tmp_path: Path):
    behavior = "{type: tool_constraint, name: tools, config: {expect_tools: [{tool: ^view$}]}}"
    task = (
        "inputs: {prompt: p, follow_up_prompts: [q]}\nmock: {turns: [{output: one}, {output: hello}]}\n"
        "checkpoints: [{after_turn: 1, graders: [{type: text, name: midway, config: {contains: [two]}}]}]\n"
        f"graders: [{behavior}]"
    )
    run(tmp_path, {"a": task})
    lines = page(tmp_path).after("Failures")
    assert "midway text, after turn 1 | failed | 0.00 | no 'two' in the output" in lines
    (tools,) = [line for line in lines if line.startswith("tools tool_constraint | failed")]
    assert "expected: " in tools
    assert "says text | passed | 1.00 | all checks passed" in lines
    assert lines[lines.index("Output") + 1] == "hello"


def test_one_file_that_loads_and_runs_nothing_of_others(tmp_path: Path):
    says = f'name: "1 {HOSTILE}"\ninputs: {{prompt: p}}\nmock: {{output: "{HOSTILE}"}}'
    breaks = f'name: "2 {HOSTILE}"\ninputs: {{prompt: p}}\nmock: {{error: "{HOSTILE}"}}'
    ended = run(tmp_path, {"a": says, "b": breaks})
    assert ended.code == 1
    text = (tmp_path / "h.html").read_text(encoding="utf-8")
    found = Page(text)
    assert found.open == []
    (script,) = found.text["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert {"http-equiv": "Content-Security-Policy", "content": policy} in found.all("meta")
    names = {name for _, attributes in found.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "href", "action"}
    assert not {tag for tag, _ in found.elements} & {"img", "iframe", "link", "a", "object", "base"}
    assert all(part not in found.text["style"][0] for part in ("url(", "@import"))
    assert not {"\x1b", "\u202e"} & set(text)
    seen = HOSTILE.replace("\\e", "\\x1b")
    assert found.lines.count(seen) >= 2, "the output and the error"


def test_a_huge_output_is_shortened_and_its_length_stated(tmp_path: Path):
    command = 'python3 -c "print(chr(120) * 1000000)"'
    suite = write_tree(
        tmp_path,
        {
            "eval.yaml": f"name: big\nconfig: {{executor: command, executor_options: {{command: '{command}'}}}}\n"
            f"tasks: [t.yaml]\ngraders: [{SAYS}]\n",
            "t.yaml": "id: t\nname: t\ninputs: {prompt: p}\n",
        },
    )
    ended = waza("run", suite / "eval.yaml", "--reporter", "html:h.html", cwd=tmp_path)
    assert ended.code == 1, ended.err
    assert "Output, without the middle of its 1,000,000 characters" in page(tmp_path).lines
    assert (tmp_path / "h.html").stat().st_size < 50_000


def test_a_directory_gets_a_page_for_each_suite_and_model(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES, "b": FAILS}, f"skill: s\ngraders: [{SAYS}]")
    models = ("--model", "x", "--model", "y")
    waza("run", suite, *models, "--reporter", "html:out/", "--reporter", "html:all.html", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s_x.html", "s_y.html"]
    assert "Model x" in page(tmp_path, "out/s_x.html").lines
    whole = page(tmp_path, "all.html")
    assert whole.after("Runs")[:3] == [
        "Suite | Verdict | Tasks passed | Score",
        "s on x | failed | 1 of 2 | 0.50",
        "s on y | failed | 1 of 2 | 0.50",
    ]
    table = whole.after("Models of s")
    assert table[0].startswith("Model | Score | Success | Duration")
    assert [line.split(" | ")[:3] for line in table[1:3]] == [["x", "0.50", "50.0%"], ["y", "0.50", "50.0%"]]
    targets = {one["href"] for one in whole.all("a")}
    assert targets == {"#run-1", "#run-2"} == {f"#{one['id']}" for one in whole.all("h2") if "id" in one}


def test_a_recommended_model_is_shown(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, f"skill: s\ngraders: [{SAYS}]")
    flags = ("--model", "x", "--model", "y", "--recommend", "--reporter", "html:h.html")
    waza("run", suite, *flags, cwd=tmp_path)
    assert page(tmp_path).after("Recommendation")[:2] == [
        "Model | none",
        "Reason | there is no difference between the models that these trials can show",
    ]


def test_skills_gates_triggers_and_usage(tmp_path: Path):
    head = (
        "skill: s\nmetrics: [{name: says, threshold: 0.9, gate: true}, {name: trigger_f1, threshold: 0.1}]\n"
        "mock: {triggers: {say hi: false}}"
    )
    suite = mock_suite(tmp_path, {"a": PASSES, "b": FAILS}, f"{head}\ngraders: [{SAYS}]")
    write_tree(
        tmp_path,
        {
            "trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: say hi}]\n",
            "SKILL.md": "---\nname: s\ndescription: d\n---\nb\n",
        },
    )
    ended = waza("run", suite, "--baseline", "--reporter", "html:h.html", cwd=tmp_path)
    assert ended.code == 1, ended.err
    found = page(tmp_path)
    assert '✗ "say hi" should trigger: it did not trigger' in found.after("Trigger tests")
    assert "Accuracy | 0.0%" in found.after("Trigger tests")
    assert found.after("Skill impact")[:4] == [
        "With skills | 50.0%",
        "Without skills | 50.0%",
        "Delta | +0.0 pp",
        "Verdict | neutral: the skills change nothing in how many tasks pass",
    ]
    assert "a | neutral | 100.0% | 100.0% | +0.0 pp" in found.after("Skill impact")
    gates = found.after("Gates")
    assert "says | failed | 0.50, at least 0.90 is required" in gates
    assert "baseline | failed | success rate 50.0% with skills, 50.0% without" in gates
    assert any(line.startswith("Turns | ") for line in found.after("Usage"))


def test_what_was_not_graded_is_not_green(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, f"graders: [{SAYS}]")
    ended = waza("run", suite, "--skip-graders", "--reporter", "html:h.html", cwd=tmp_path)
    assert ended.code == 0
    found = page(tmp_path)
    assert "○ Not graded" in found.lines
    assert "1 skipped" in found.lines
    assert found.all("title") == [{}]
    assert found.text["title"] == ["suite: not graded"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["eval.yaml", "--reporter", "html"], "the reporter html needs a file: html:PATH"),
        (["eval.yaml", "-o", "r.xml"], "r.xml: results are written as JSON; use --reporter junit:FILE"),
        (
            ["evals.json", "--reporter", "html:h.html"],
            "results of evaluation documents are written as HTML by -o FILE.html",
        ),
    ],
)
def test_what_is_refused_names_the_way(tmp_path: Path, args: list[str], message: str):
    mock_suite(tmp_path, {"a": PASSES}, f"graders: [{SAYS}]")
    write_tree(
        tmp_path,
        {"evals.json": '{"schemaVersion": "1.4.0", "items": [{"prompt": "p", "response": "r"}]}'},
    )
    ended = waza("run", *args, cwd=tmp_path)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert not (tmp_path / ".waza").exists()
