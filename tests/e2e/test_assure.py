"""`waza assure EVAL --references FILE`: graders against answers that must pass or fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.program import Ended, strict_json, waza, write_tree

EXAMPLES = Path(__file__).parents[2] / "examples"
SUITE = {
    "eval.yaml": """name: s
config: {executor: mock}
tasks: ['tasks/*.yaml']
graders:
  - {type: text, name: polite, config: {contains: [please]}}
""",
    "tasks/sum.yaml": """id: sum
inputs: {prompt: Add}
graders:
  - {type: text, name: says_sum, config: {regex_match: ['\\b42\\b']}}
  - {type: tool_calls, name: calls, config: {required_tools: [bash]}}
""",
}


def assure(directory: Path, cases: str, *options: str) -> tuple[Ended, Any]:
    write_tree(directory, {"cases.yaml": cases})
    ended = waza("assure", "eval.yaml", "--references", "cases.yaml", "--json", *options, cwd=directory)
    return ended, strict_json(ended.out) if ended.out else None


def states(report: Any) -> dict[str, str]:
    return {one["id"]: one["state"] for one in report["cases"]}


def test_cases_that_hold(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    ended, report = assure(
        tmp_path,
        """cases:
  - {id: right, task: sum, output: 42 please, expect: pass, grader: says_sum, reason: It is the sum}
  - {id: wrong, task: sum, output: 420 please, expect: fail, grader: says_sum}
  - {id: rude, task: sum, output: '42', expect: fail, grader: polite}
  - {id: lazy, task: sum, output: 42 please, expect: fail, grader: calls}
  - {id: whole, task: sum, output: 42 please, tool_calls: [{name: bash}], expect: pass}
  - {id: none, task: sum, output: '', expect: fail}
""",
    )
    assert (ended.code, report["passed"], set(states(report).values())) == (0, True, {"held"})
    assert {one["name"]: one["assured"] for one in report["graders"]} == dict.fromkeys(
        ("polite", "says_sum", "calls"), True
    )
    assert not (tmp_path / ".waza").exists()


def test_cases_that_do_not_hold(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    ended, report = assure(
        tmp_path,
        """cases:
  - {id: fails, task: sum, output: please, expect: pass, grader: says_sum}
  - {id: passes, task: sum, output: 'please: not 42', expect: fail, grader: says_sum}
  - {id: fails elsewhere, task: sum, output: '42', expect: fail, grader: says_sum}
  - {id: whole fails, task: sum, output: 42 please, expect: pass}
  - {id: whole passes, task: sum, output: 42 please, tool_calls: [{name: bash}], expect: fail}
  - {id: holds, task: sum, output: please, expect: pass, grader: polite, tool_calls: []}
""",
    )
    assert (ended.code, report["passed"]) == (1, False)
    assert states(report) == {one["id"]: "not_held" for one in report["cases"][:-1]} | {"holds": "held"}
    why = {one["id"]: one["why"] for one in report["cases"]}
    assert why["fails"].startswith("says_sum fails it: no match")
    assert why["passes"] == "says_sum passes it; others fail it (calls: required tool 'bash' was not used)"
    assert "polite: no 'please'" in why["fails elsewhere"]
    assert why["whole fails"].startswith("calls fails it")
    assert why["whole passes"] == "every grader passes it"
    places = {
        (one["code"], one["severity"], one["file"], one["line"], one["column"]) for one in report["findings"]
    }
    assert {("unmet-case", "error", "cases.yaml", line, 6) for line in range(2, 7)} <= places


def test_graders_and_tasks_without_cases_are_listed(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE | {"tasks/none.yaml": "id: none\ninputs: {prompt: p}\n"})
    ended, report = assure(
        tmp_path,
        """cases:
  - {id: right, task: sum, output: 42, expect: pass, grader: says_sum}
  - {id: whole, task: sum, output: '', expect: fail}
""",
    )
    assert ended.code == 0, "what no case covers does not fail those that there are"
    lacks = {one["name"]: one["lacks"] for one in report["graders"]}
    assert lacks == {"polite": "no case", "says_sum": "no failing case", "calls": "no case"}
    assert {one["id"]: one["lacks"] for one in report["tasks"]} == {"sum": "", "none": "no case"}
    found = {(one["file"], one["line"]) for one in report["findings"] if one["code"] == "not-assured"}
    assert found == {("eval.yaml", 5), ("tasks/none.yaml", 1), ("tasks/sum.yaml", 4), ("tasks/sum.yaml", 5)}
    remedies = {one["remedy"] for one in report["findings"] if "'says_sum'" in one["message"]}
    assert remedies == {"add a case that must fail"}, "what is missing, and not what is there"


BROKEN = {
    "eval.yaml": """name: s
config: {executor: mock}
tasks: ['tasks/*.yaml']
hooks: {before_task: [{command: 'test {{.TaskName}} != hooked', error_on_fail: true}]}
graders:
  - {type: prompt, name: tone, config: {prompt: Is it kind?}}
  - {type: program, name: breaks, config: {command: no-such-program-anywhere}}
  - {type: wgp, name: errs, config: {runtime: program, artifact: errs.py}}
  - {type: trigger, name: fits, config: {skill_path: SKILL.md, mode: positive}}
""",
    "errs.py": "#!/bin/sh\nexit 3\n",
    "SKILL.md": "---\nname: s\ndescription: Adds numbers. USE FOR adding.\n---\nAdd.",
    "tasks/a.yaml": """id: a
inputs: {prompt: Add}
graders: [{type: text, name: sum, config: {contains: ['42']}}]
mock: {judge: {tone: [{pass: kind}]}}
""",
    "tasks/hooked.yaml": "id: hooked\nname: hooked\ninputs: {prompt: Add}\n",
}


def test_what_is_not_judged_never_holds(tmp_path: Path) -> None:
    """A judge that is not asked, a scripted one, a grader that breaks, a hook that fails."""
    write_tree(tmp_path, BROKEN)
    (tmp_path / "errs.py").chmod(0o755)
    cases = """cases:
  - {id: judge passes, task: a, output: x, expect: pass, grader: tone}
  - {id: judge fails, task: a, output: x, expect: fail, grader: tone}
  - {id: broken passes, task: a, output: x, expect: pass, grader: breaks}
  - {id: broken fails, task: a, output: x, expect: fail, grader: breaks}
  - {id: error fails, task: a, output: x, expect: fail, grader: errs}
  - {id: only broken, task: a, output: '42', expect: fail}
  - {id: prompt alone, task: a, output: x, expect: pass, grader: fits}
  - {id: hook, task: hooked, output: x, expect: fail}
  - {id: really fails, task: a, output: x, expect: fail}
  - {id: others broke, task: a, output: '42', expect: pass, grader: sum}
"""
    for options in ((), ("--judges",)):
        ended, report = assure(tmp_path, cases, *options)
        assert (ended.code, report["summary"]["not_judged"]) == (1, 8), ended.err
        held = {name for name, state in states(report).items() if state == "held"}
        assert held == {"really fails", "others broke"}
        why = {one["id"]: one["why"] for one in report["cases"]}
        assert ("its judge is scripted" if options else "--judges asks it") in why["judge passes"]
        assert why["judge fails"] == why["judge passes"]
        assert "breaks reached no verdict: " in why["broken fails"]
        assert why["error fails"].startswith("errs reached no verdict: it broke: ")
        assert "a hook of the suite failed" in why["hook"]
        verdicts = {one["grader"]: one["passed"] for one in report["cases"][0]["verdicts"]}
        assert verdicts == {"tone": None, "breaks": None, "errs": None, "fits": None, "sum": False}
    assert {one["code"] for one in report["findings"]} == {"unjudged-case", "not-assured", "grader-config"}


def test_everything_that_graders_look_at_can_be_in_a_case(tmp_path: Path) -> None:
    """Files, tool calls, skills, several turns, checkpoints, a user that a model plays; texts like templates."""
    looks = "import os, sys; sys.exit(open(os.environ['WAZA_WORKSPACE_DIR'] + '/kept.txt').read() != 'kept {{ x }}')"
    write_tree(
        tmp_path,
        {
            "eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: ['tasks/*.yaml']\n",
            "tasks/work.yaml": f"""id: work
inputs: {{prompt: Work}}
graders:
  - {{type: file, name: made, config: {{must_exist: [a.txt]}}}}
  - {{type: program, name: looks, config: {{command: python3, args: [-c, "{looks}"]}}}}
  - {{type: skill_invocation, name: skilled, config: {{mode: any_order, required_skills: [s]}}}}
""",
            "tasks/talk.yaml": """id: talk
inputs: {prompt: Start, follow_up_prompts: [Go on, End]}
checkpoints:
  - {after_turn: 1, graders: [{type: text, name: asks, config: {contains: [which]}}]}
  - {after_turn: 2, graders: [{type: text, name: asks, config: {contains: [what]}}]}
graders: [{type: text, name: ends, config: {contains: [end]}}]
""",
            "tasks/user.yaml": """id: user
inputs: {prompt: Start, responder: {instructions: Help, max_followups: 2}}
graders: [{type: text, name: ends, config: {contains: [end]}}]
""",
        },
    )
    work = "files: [{path: a.txt}, {path: kept.txt, content: 'kept {{ x }}'}], skills: [s], output: ''"
    ended, report = assure(
        tmp_path,
        f"""cases:
  - {{id: worked, task: work, expect: pass, {work}}}
  - {{id: no file, task: work, expect: fail, grader: made, skills: [s]}}
  - {{id: other text, task: work, expect: fail, grader: looks, files: [{{path: kept.txt, content: x}}]}}
  - {{id: no skill, task: work, expect: fail, grader: skilled, skills: []}}
  - {{id: last turn, task: talk, expect: pass, grader: ends, output: the end}}
  - {{id: turns, task: talk, expect: pass, turns: [{{output: Which?}}, {{output: What?}}, {{output: End}}]}}
  - {{id: early, task: talk, expect: fail, grader: asks, after_turn: 1, turns: [{{output: What?}}, {{}}, {{}}]}}
  - {{id: at once, task: user, expect: pass, output: The end}}
  - {{id: replied, task: user, expect: pass, turns: [{{output: Which?}}, {{output: The end}}]}}
  - {{id: scripted, task: user, expect: fail, grader: ends, responder: [{{reply: Go}}, {{stop: true}}], turns: [{{output: end}}, {{output: no}}]}}
""",
    )
    assert (ended.code, states(report)) == (0, dict.fromkeys(states(report), "held")), report["findings"]
    asked = {one["id"]: one["prompts"] for one in report["cases"]}
    assert asked["turns"] == ["Start", "Go on", "End"]
    assert [len(asked[name]) for name in ("worked", "at once", "replied")] == [1, 1, 2]
    assert asked["scripted"] == ["Start", "Go"]
    assert report["cases"][4]["answer"] == [{"output": ""}, {"output": ""}, {"output": "the end"}]


def test_mistakes_in_the_cases_are_listed_with_their_places(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    task = "inputs: {prompt: p, follow_up_prompts: [q]}"
    point = "{type: text, name: point, config: {contains: [x]}}"
    points = f"checkpoints: [{{after_turn: 1, graders: [{point}]}}, {{after_turn: 2, graders: [{point}]}}]"
    write_tree(tmp_path, {"tasks/two.yaml": f"id: two\nname: Two turns\n{task}\n{points}\n"})
    cases = """cases:
  - {id: a, task: summ, output: x, expect: pass}
  - {id: b, task: Two turns, output: x, expect: pass}
  - {id: c, task: sum, output: x, expect: pass, grader: says_summ}
  - {id: c, task: sum, output: x, expect: maybe}
  - {id: e, task: sum, expect: fail}
  - {id: f, task: sum, output: x, expect: fail, graders: polite}
  - {id: g, task: two, output: x, expect: fail, grader: point}
  - {id: h, task: two, output: x, expect: fail, grader: point, after_turn: 3}
  - {id: i, task: two, turns: [{output: x}], expect: fail}
  - {id: j, task: sum, output: x, error: it broke, expect: fail}
  - {id: k, task: sum, output: x, files: [{path: ../x}], expect: fail}
  - {id: l, task: sum, output: x, responder: [{stop: true}], expect: fail}
  - {id: m, task: sum, output: x, after_turn: 1, expect: fail}
"""
    ended, _ = assure(tmp_path, cases)
    assert (ended.code, ended.out) == (2, "")
    for line in (
        "cases.yaml:2:13: cases[0].task: the suite runs no task with the id 'summ'; did you mean 'sum'?",
        "cases.yaml:3:13: cases[1].task: the suite runs no task with the id 'Two turns'; write its id, 'two'",
        "cases.yaml:4:49: cases[2].grader: no grader of the task 'sum' has the name 'says_summ'; did you mean 'says_sum'?",
        "cases.yaml:5:6: cases[3].id: 'c' is already the id of the case in line 4; give each case its own",
        "cases.yaml:5:43: cases[3].expect: ",
        "cases.yaml:6:5: cases[4]: has no answer; ",
        "cases.yaml:7:49: cases[5].graders: unknown key 'graders'; did you mean 'grader'?",
        "cases.yaml:8:49: cases[6].grader: the checkpoints after the turns 1, 2 have a grader 'point' each; add after_turn",
        "cases.yaml:9:64: cases[7].after_turn: no checkpoint after turn 3 has a grader 'point'; ",
        "cases.yaml:10:24: cases[8].turns: has 1 turn, and the task 'two' has 2 prompts; ",
        "cases.yaml:11:35: cases[9].error: ",
        "cases.yaml:12:43: cases[10].files[0]: ",
        "cases.yaml:13:35: cases[11].responder: no model plays the user in the task 'sum'; ",
        "cases.yaml:14:35: cases[12].after_turn: ",
    ):
        assert line in ended.err, (line, ended.err)
    assert "14 mistakes; nothing was run" in ended.err


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    good = "cases: [{id: a, task: sum, output: '42 please', expect: pass, grader: polite}]"
    for cases, message in {
        "cases: []": "cases: has 0 items, but must have at least 1",
        "- a": "must be a mapping of keys",
        "case: []": "'cases' is missing",
    }.items():
        ended, _ = assure(tmp_path, cases)
        assert (ended.code, message in ended.err) == (2, True), ended.err
    ended = waza("assure", "eval.yaml", "--references", "none.yaml", cwd=tmp_path)
    assert (ended.code, "none.yaml: there is no such references file" in ended.err) == (2, True), ended.err
    assert waza("assure", "eval.yaml", cwd=tmp_path).code == 2
    assert waza("assure", cwd=tmp_path).code == 2
    ended, _ = assure(tmp_path, good, "-o", "cases.yaml")
    assert (ended.code, "is what is to be run" in ended.err) == (2, True)
    write_tree(
        tmp_path, {"tasks/sum.yaml": "id: sum\ninputs: {prompt: p}\nexpected: {output_contain: [x]}\n"}
    )
    ended, _ = assure(tmp_path, good)
    assert (ended.code, "tasks/sum.yaml:3" in ended.err) == (2, True), ended.err


REVIEWED = r"""cases:
  - id: rude
    task: sum
    output: "42\n✓ says_sum (text): all checks passed\e[2J"
    tool_calls: [{name: bash, args: {command: expr 40 + 2}}]
    files: [{path: sum.txt, content: '42'}]
    expect: fail
    grader: polite
    reason: It does not say please
"""


def test_a_review_shows_answers_with_what_graders_say(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    write_tree(tmp_path, {"cases.yaml": REVIEWED})
    before = sorted(tmp_path.rglob("*"))
    ended = waza("assure", "eval.yaml", "--references", "cases.yaml", "--review", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert sorted(tmp_path.rglob("*")) == before
    lines = ended.out.splitlines()
    start = lines.index("Case 1 of 1: rude (cases.yaml:2)")
    assert lines[start : start + 17] == [
        "Case 1 of 1: rude (cases.yaml:2)",
        "  ✓ must fail by polite: holds",
        "  Reason: It does not say please",
        "  Task: sum",
        "  Prompt",
        "    | Add",
        "  Answer",
        "    | 42",
        "    | ✓ says_sum (text): all checks passed\\x1b[2J",
        '    calls bash {"command": "expr 40 + 2"}',
        "    writes sum.txt",
        "    | 42",
        "  Graders",
        "    ✗ polite (text): no 'please' in the output",
        "    ✓ says_sum (text): all checks passed",
        "    ✓ calls (tool_calls): all checks passed",
        "",
    ]
    assert "nor anything about an agent" in ended.out


def test_every_form_of_the_report(tmp_path: Path) -> None:
    write_tree(tmp_path, SUITE)
    ended, report = assure(
        tmp_path,
        "cases: [{id: a, task: sum, output: x, expect: pass, grader: polite}]",
        "-o",
        "out/report.json",
    )
    assert strict_json((tmp_path / "out/report.json").read_bytes()) == report
    for form, found in {
        "text": "What this shows",
        "table": "does not hold",
        "sarif": '"ruleId": "unmet-case"',
        "github": "::error file=cases.yaml,line=1,col=10,title=waza assure%3A unmet-case::",
    }.items():
        words = ("cases", "eval.yaml", "--references=cases.yaml", "--json=false", f"-f={form}")
        for call in (words, words[1:]):
            ended = waza("assure", *call, cwd=tmp_path)
            assert (ended.code, found in ended.out) == (1, True), ended.out + ended.err
    assert "Commands:\n  cases" in waza("assure", "--help", cwd=tmp_path).out


def test_what_cases_do_not_show(tmp_path: Path) -> None:
    """The report says so, and no gate takes it for results."""
    write_tree(tmp_path, SUITE)
    case = "cases: [{id: a, task: sum, output: please, expect: pass, grader: polite}]"
    ended, report = assure(tmp_path, case, "-o", "report.json")
    assert (ended.code, report["summary"]["graders_assured"]) == (0, 0)
    [sentence] = report["shows"]
    assert sentence.startswith("1 case written for this suite")
    assert "neither how often they err about other answers, nor anything about an agent" in sentence
    assert waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path).code == 1
    for before, now in (("results.json", "report.json"), ("report.json", "results.json")):
        assert waza("gate", before, now, cwd=tmp_path).code not in (0, 1)


def test_the_example_is_assured(tmp_path: Path) -> None:
    example = EXAMPLES / "code-explainer"
    cases = example / "references/explain-sql.yaml"
    ended = waza("assure", example / "eval.yaml", "--references", cases, "--json", cwd=tmp_path)
    report = strict_json(ended.out)
    assert (ended.code, report["summary"]["held"]) == (0, 6), ended.err
    own = [one["assured"] for one in report["graders"] if one["task"] in ("", "explain-sql")]
    assert own == [True] * 5
