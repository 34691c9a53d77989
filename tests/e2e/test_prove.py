"""`waza check --prove` and `--integrity`: suites with each fault, a sound one, and suites of strangers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

from waza.problem_codes import EXPLANATIONS

CORPUS = Path(os.environ.get("WAZA_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus") / "suites"
EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = "name: suite\nconfig: {executor: mock}\ntasks: ['tasks/*.yaml']\n"
SOUND = {
    "eval.yaml": f"""{HEAD}canary: 0d6b7a54-canary
graders:
  - type: text
    name: no_apology
    config: {{not_contains: [sorry], regex_not_match: ['(?i)as an ai (model|assistant)']}}
""",
    "tasks/sum.yaml": """id: sum
inputs:
  prompt: Add the numbers of the file and write the sum to sum.txt. {{.Vars.none}} stays out of here.
  files: [{path: numbers.txt, content: "20 and 22"}]
graders:
  - {type: text, name: says_sum, config: {regex_match: ['^The sum is 42\\.$']}}
  - {type: file, name: writes_sum, config: {content_patterns: [{path: sum.txt, must_match: ['^42$']}]}}
  - {type: tool_calls, name: calculates, config: {expect: [{tool: bash, args: {command: {contains: expr}}}]}}
solution:
  output: The sum is 42.
  tool_calls: [{name: bash, args: {command: expr 20 + 22}, result: "42"}]
  files: [{path: sum.txt, content: "42"}]
""".replace(" {{.Vars.none}} stays out of here.", ""),
    "tasks/planet.yaml": """id: planet
inputs: {prompt: Which planet is the largest?}
graders:
  - {type: text, name: names_it, config: {regex_match: ['^It is Jupiter$']}}
solution: {output: It is Jupiter}
""",
}


def check(root: Path, *options: str, code: int = 0) -> dict[str, Any]:
    """Prove the suite in a directory; return the report and, as `only`, its findings in short."""
    ended = waza("check", "eval.yaml", *options, "--format", "json", cwd=root)
    assert ended.code == code, ended.err
    assert not (root / ".waza").exists()
    report: dict[str, Any] = strict_json(ended.out)
    report["only"] = {(one["code"], one["severity"], one["file"], one["line"]) for one in report["findings"]}
    assert {one["code"] for one in report["findings"]} <= EXPLANATIONS.keys()
    return report


def row(report: dict[str, Any], name: str) -> dict[str, Any]:
    rows = [one for one in report["suites"][0]["prove"]["graders"] if one["name"] == name]
    assert len(rows) == 1
    found: dict[str, Any] = rows[0]
    return found


def test_a_sound_suite_has_no_finding(tmp_path):
    write_tree(tmp_path, SOUND)
    report = check(tmp_path, "--prove", "--integrity", "--fail-on", "warning")
    assert report["findings"] == []
    proof = report["suites"][0]["prove"]
    assert {one["name"]: one["share"] for one in proof["graders"]} == dict.fromkeys(
        ("no_apology", "says_sum", "writes_sum", "calculates", "names_it"), 1.0
    )
    assert (proof["tasks"], proof["answers"]) == (2, 2)
    assert {one["name"]: (one["caught"], one["tried"]) for one in proof["agents"]} == dict.fromkeys(
        ("nothing", "empty", "echo", "strings", "other"), (2, 2)
    )
    assert {one["name"]: (one["caught"], one["tried"]) for one in proof["changes"]} == {
        "cut": (2, 2), "shuffled": (2, 2), "number": (1, 1), "negated": (2, 2), "no-calls": (1, 1), "empty-file": (1, 1)
    }  # fmt: skip
    [numbers] = [one for one in proof["changes"] if one["name"] == "number"]
    assert numbers["not_applicable"] == {"the answer has no number": 1}
    assert row(report, "no_apology")["agents"]["nothing"] == {
        "tried": 0,
        "caught": 0,
        "not_applicable": {"it only forbids, and this agent does not do what it forbids": 2},
    }
    assert report["suites"][0]["integrity"]["canary"] == "not shown"


def test_vacuous_graders_are_named(tmp_path):
    """One accepts anything, one asks for what every answer has, and a task is content with nothing."""
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {
            "tasks/planet.yaml": SOUND["tasks/planet.yaml"].replace(
                "solution:",
                "  - {type: text, name: anything, config: {regex_match: ['(?s).*']}}\n"
                "  - {type: code, name: true_of_all, config: {assertions: ['len(output) >= 0']}}\nsolution:",
            ),
            "tasks/idle.yaml": "id: idle\ninputs: {prompt: Do no harm}\n"
            "graders: [{type: text, name: harmless, config: {not_contains: [harmed]}}]\nsolution: {output: I did nothing.}\n",
        },
    )
    report = check(tmp_path, "--prove")
    assert report["only"] == {
        ("never-fails", "warning", "tasks/planet.yaml", 5),
        ("never-fails", "warning", "tasks/planet.yaml", 6),
        ("passes-failing-agent", "error", "tasks/idle.yaml", 1),
        ("unnoticed-change", "warning", "tasks/idle.yaml", 1),
    }
    assert row(report, "anything")["never_fails"]
    assert row(report, "anything")["share"] == 0
    assert row(report, "harmless")["share"] == 1  # it forbids, and one agent does what it forbids
    [idle] = [one["message"] for one in report["findings"] if one["code"] == "passes-failing-agent"]
    assert "nothing (does nothing: no output, no tool calls)" in idle
    [unnoticed] = [one["message"] for one in report["findings"] if one["code"] == "unnoticed-change"]
    assert unnoticed.endswith("the task 'idle' notices when the answer is changed: cut, shuffled, negated")
    failed = waza("check", "eval.yaml", "--prove", "--fail-on", "error", cwd=tmp_path)
    assert failed.code == 1
    assert "anything" in failed.out
    assert "0/8" in failed.out


def test_a_leaked_answer_is_named_where_it_is(tmp_path):
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {
            "eval.yaml": SOUND["eval.yaml"] + "skill: skills/planets/SKILL.md\n",
            "skills/planets/SKILL.md": "---\nname: planets\ndescription: All about planets.\n---\n\n# X\n\nUse the word gigantic.\n",
            "fixtures/notes.txt": "first line\nThe answer is four thousand\n",
            "tasks/leaks.yaml": """id: leaks
inputs:
  prompt: |
    Which planet is it?
    (It is Saturn.)
  files: [{path: notes.txt}]
expected: {output_contains: [saturn]}
graders:
  - {type: text, name: thousands, config: {contains: [four thousand]}}
  - {type: text, name: gigantic, config: {regex_match: ['(?i)gigantic']}}
  - {type: text, name: not_there, config: {contains: [seven]}}
solution: {output: Saturn is gigantic and seven times four thousand}
""",
        },
    )
    report = check(tmp_path, "--integrity")
    assert report["only"] == {
        ("leaked-answer", "warning", "tasks/leaks.yaml", 5),
        ("leaked-answer", "warning", "fixtures/notes.txt", 2),
        ("leaked-answer", "warning", "skills/planets/SKILL.md", 8),
    }
    assert report["suites"][0]["integrity"]["given"] == ["fixtures/notes.txt"]


def test_a_solution_must_pass_every_grader(tmp_path):
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {
            "tasks/planet.yaml": SOUND["tasks/planet.yaml"].replace(
                "output: It is Jupiter", "output: It is Mars"
            )
        },
    )
    report = check(tmp_path, "--prove")
    assert ("failing-solution", "error", "tasks/planet.yaml", 5) in report["only"]
    [failing] = [one["message"] for one in report["findings"] if one["code"] == "failing-solution"]
    assert "names_it: no match for the pattern" in failing
    assert report["suites"][0]["prove"]["answers"] == 1
    write_tree(tmp_path, {"tasks/planet.yaml": "id: planet\ninputs: {prompt: P}\nsolution: {outptu: x}\n"})
    refused = waza("run", "eval.yaml", cwd=tmp_path)
    assert refused.code == 2
    assert (
        "tasks/planet.yaml:3:12: solution.outptu: unknown key 'outptu'; did you mean 'output'?" in refused.err
    )


def test_what_cannot_be_proved_is_reported(tmp_path):
    """Judges and programs are not asked, and a file that is missing keeps nothing else from being proved."""
    write_tree(tmp_path, SOUND)
    program = "import pathlib, sys\npathlib.Path(__file__).with_name('asked').touch()\nsys.exit(0)\n"
    write_tree(
        tmp_path,
        {
            "grade.py": program,
            "tasks/more.yaml": """id: more
inputs: {prompt: Say hello, files: [{path: missing.txt}]}
graders:
  - {type: prompt, name: judged, config: {prompt: Is it kind?}}
  - {type: program, name: script, config: {command: python3, args: [grade.py]}}
  - {type: text, name: greets, config: {contains: [good morning]}}
solution: {output: Good morning}
""",
        },
    )
    report = check(tmp_path, "--prove")
    assert not (tmp_path / "asked").exists()
    assert {one[:3] for one in report["only"]} == {
        ("missing-file", "error", "tasks/more.yaml"),
        ("not-proved", "note", "tasks/more.yaml"),
        ("unnoticed-change", "note", "tasks/more.yaml"),
    }
    assert "judge" in row(report, "judged")["reason"]
    assert "program" in row(report, "script")["reason"]
    assert row(report, "greets")["proved"]
    assert row(report, "greets")["caught"] == 7  # nothing, empty, echo, strings, other, cut, shuffled
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "missing.txt").write_text("there\n")
    report = check(tmp_path, "--prove", "--programs")
    assert (tmp_path / "asked").exists()
    assert row(report, "script")["never_fails"]


def test_graders_that_keep_files_are_proved_by_an_agent_that_removes_them(tmp_path):
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {
            "fixtures/code.py": "x = 1\n",
            "tasks/planet.yaml": """id: planet
inputs: {prompt: Which planet is it?, files: [{path: code.py}]}
graders:
  - {type: text, name: names_it, config: {regex_match: ['^It is Jupiter$']}}
  - {type: file, name: code_stays, config: {must_exist: [code.py], content_patterns: [{path: code.py, must_match: [x]}]}}
  - {type: diff, name: code_is_the_same, config: {expected_files: [{path: code.py, snapshot: fixtures/code.py}]}}
solution: {output: It is Jupiter}
""",
        },
    )
    report = check(tmp_path, "--prove", "--integrity")
    assert report["only"] == set()
    for name in ("code_stays", "code_is_the_same"):
        assert (row(report, name)["tried"], row(report, name)["caught"]) == (1, 1)


def test_a_proof_does_not_rewrite_snapshots(tmp_path):
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {
            "kept.txt": "as it is\n",
            "tasks/files.yaml": """id: files
inputs: {prompt: Write}
graders:
  - type: diff
    name: snapshot
    config: {update_snapshots: true, expected_files: [{path: out.txt, snapshot: kept.txt}]}
solution: {output: Done, files: [{path: out.txt, content: other}]}
""",
        },
    )
    report = check(tmp_path, "--prove", "--integrity")
    assert (tmp_path / "kept.txt").read_text() == "as it is\n"
    assert "rewrites" in row(report, "snapshot")["reason"]


def test_files_of_graders_are_compared_after_the_run(tmp_path):
    """A grader's program that rewrites what another grader reads is found out, where programs are asked."""
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {
            "kept.txt": "as it is\n",
            "rewrite.py": "import pathlib\npathlib.Path(__file__).with_name('kept.txt').write_text('other')\n",
            "tasks/files.yaml": """id: files
inputs: {prompt: Write}
graders:
  - {type: program, name: rewrites, config: {command: python3, args: [rewrite.py]}}
  - {type: diff, name: snapshot, config: {expected_files: [{path: out.txt, snapshot: kept.txt}]}}
solution: {output: Done, files: [{path: out.txt, content: "as it is\n"}]}
""",
        },
    )
    assert check(tmp_path, "--integrity")["only"] == set()
    report = check(tmp_path, "--integrity", "--programs")
    assert ("changed-grader", "error", "tasks/files.yaml", 5) in report["only"]
    assert report["suites"][0]["integrity"]["grader_files"] >= 2


def test_integrity_of_agents_canaries_and_judges(tmp_path):
    """Agents of `command` know the suite, answers show a canary, and one judge is asked in the agent's session."""
    write_tree(tmp_path, SOUND)
    command = "{executor: command, executor_options: {command: cat}}"
    write_tree(
        tmp_path,
        {
            "eval.yaml": SOUND["eval.yaml"].replace("{executor: mock}", command),
            "tasks/sum.yaml": "id: sum\ninputs: {prompt: Add}\nexpected: {output_contains: [nothing]}\n"
            "mock: {output: 'nothing but 0d6b7a54-canary'}\n",
        },
    )
    report = check(tmp_path, "--integrity")
    assert report["only"] == {
        ("readable-suite", "warning", "eval.yaml", 2),
        ("canary", "error", "tasks/sum.yaml", 4),
    }
    assert report["suites"][0]["integrity"]["suite_dir"] is True
    ran = waza("run", "eval.yaml", "--executor", "mock", cwd=tmp_path)
    assert "sum: the agent shows the canary of the suite" in ran.err
    assert any("canary" in warning for warning in ran.results()["metadata"]["warnings"])
    shutil.rmtree(tmp_path / ".waza")
    write_tree(
        tmp_path,
        {
            "eval.yaml": SOUND["eval.yaml"].replace("0d6b7a54-canary", "short"),
            "tasks/sum.yaml": """id: sum
inputs: {prompt: Add}
graders:
  - {type: prompt, name: fenced, config: {prompt: Is it right?}}
  - {type: prompt, name: in_session, config: {prompt: Is it right?, continue_session: true}}
""",
        },
    )
    report = check(tmp_path, "--integrity")
    assert report["only"] == {
        ("invalid-value", "error", "eval.yaml", 4),
        ("judge-injection", "warning", "tasks/sum.yaml", 5),
    }
    judges = {one["name"]: (one["held"], one["tried"]) for one in report["suites"][0]["integrity"]["judges"]}
    assert judges == {"fenced": (2, 2), "in_session": (2, 2)}


def test_conversations_and_datasets(tmp_path):
    """Follow-ups, checkpoints and a user that a model plays; rows with their own answers; texts like templates."""
    write_tree(
        tmp_path / "talk",
        {
            "eval.yaml": HEAD,
            "tasks/talk.yaml": """id: talk
inputs: {prompt: 'Start {{ x }}', responder: {instructions: Help, max_followups: 3}}
checkpoints:
  - {after_turn: 1, on_failure: stop, graders: [{type: text, name: asks, config: {contains: [which one]}}]}
  - {after_turn: 2, graders: [{type: text, name: asks_again, config: {contains: [and then]}}]}
graders: [{type: text, name: ends, config: {contains: ['{{ done }}']}}]
solution:
  turns: [{output: Which one?}, {output: And then?}, {output: 'It is {{ done }}'}]
  responder: [{reply: This}, {reply: That}, {stop: true}]
""",
        },
    )
    report = check(tmp_path / "talk", "--prove")
    assert {
        one["name"]: one["caught"] >= 4 for one in report["suites"][0]["prove"]["graders"]
    } == dict.fromkeys(("asks", "asks_again", "ends"), True)
    assert report["suites"][0]["prove"]["answers"] == 1
    write_tree(
        tmp_path / "rows",
        {
            "eval.yaml": HEAD.replace("tasks: ['tasks/*.yaml']", "tasks_from: rows.csv")
            + "graders: [{type: text, name: right, config: {contains: ['{{.Vars.answer}}']}}]\n"
            "mock: {output: 'It is {{.Vars.answer}}'}\n",
            "rows.csv": "id,prompt,answer\na,Say A,alpha\nb,Say beta,beta\n",
        },
    )
    report = check(tmp_path / "rows", "--prove", "--integrity")
    assert report["only"] == {
        ("unnoticed-change", "note", "eval.yaml", 1),
        ("leaked-answer", "warning", "rows.csv", 3),
        ("passes-failing-agent", "warning", "eval.yaml", 1),
    }
    [unnoticed] = [one["message"] for one in report["findings"] if one["code"] == "unnoticed-change"]
    assert "2 tasks ('row-1', 'row-2')" in unnoticed
    [other] = [one for one in report["suites"][0]["prove"]["agents"] if one["name"] == "other"]
    assert (other["tried"], other["caught"]) == (2, 2)  # each row has an answer of its own


@pytest.mark.parametrize("form", ["text", "table", "sarif", "github"])
def test_every_form_of_the_report(tmp_path, form):
    write_tree(tmp_path, SOUND)
    write_tree(
        tmp_path,
        {"tasks/planet.yaml": "id: planet\ninputs: {prompt: P}\nexpected: {output_not_contains: [x]}\n"},
    )
    ended: Ended = waza("check", "eval.yaml", "--prove", "--integrity", "--format", form, cwd=tmp_path)
    assert ended.code == 0
    if form == "sarif":
        results = strict_json(ended.out)["runs"][0]["results"]
        assert {one["ruleId"] for one in results} == {"passes-failing-agent", "missing-solution"}
    elif form == "github":
        assert (
            "::error file=tasks/planet.yaml,line=1,col=1,title=waza check%3A passes-failing-agent::"
            in ended.out
        )
    else:
        assert "sum: says_sum" in ended.out
        assert ("Findings" in ended.out) == (form == "text")


def test_usage(tmp_path):
    write_tree(tmp_path, SOUND)
    for options in (["--programs"], ["--prove", "--fix"]):
        assert waza("check", "eval.yaml", *options, cwd=tmp_path).code == 2
    write_tree(tmp_path, {"eval.yaml": "- not a suite\n"})
    ended = waza("check", "eval.yaml", "--prove", "--format", "json", cwd=tmp_path)
    assert ended.code == 2
    assert [one["code"] for one in strict_json(ended.out)["findings"]] == ["wrong-type"]


def test_a_skill_is_proved_by_its_suite():
    ended = waza("check", "code-explainer", "--prove", "--format", "json", cwd=EXAMPLES / "code-explainer")
    [suite] = strict_json(ended.out)["suites"]
    assert suite["prove"]["answers"] == 4
    assert not [one for one in suite["findings"] if one["code"] == "never-fails"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there are no suites in {CORPUS}")
def test_suites_of_strangers(tmp_path):
    """None of them breaks the proof, although the files that they name are not there."""
    suites = sorted(CORPUS.rglob("eval.yaml"))
    copy = tmp_path / "corpus"
    shutil.copytree(CORPUS, copy, copy_function=shutil.copyfile)
    names = [copy / path.relative_to(CORPUS) for path in suites]
    ended = waza("check", *names, "--prove", "--integrity", "--format", "json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    report = strict_json(ended.out)
    assert len(report["suites"]) == len(suites)
    proofs = [one["prove"] for one in report["suites"]]
    assert sum(one["tasks"] for one in proofs) >= 90
    assert sum(grader["proved"] for one in proofs for grader in one["graders"]) >= 150
    assert not [
        grader for one in proofs for grader in one["graders"] if grader["proved"] and not grader["tried"]
    ]


def test_without_a_target_all_suites_of_the_workspace_are_proved_also_second_ones_of_a_skill(
    tmp_path: Path,
) -> None:
    vacuous = """name: second
skill: sums
config: {executor: mock}
graders: [{type: text, name: anything, config: {regex_match: ['.*']}}]
tasks: ['tasks/*.yaml']
"""
    write_tree(
        tmp_path,
        {
            ".waza.yaml": "{}\n",
            "skills/sums/SKILL.md": "---\nname: sums\ndescription: Adds numbers.\n---\nAdd.\n",
            **{f"evals/sums/{path}": text for path, text in SOUND.items()},
            "evals/second/eval.yaml": vacuous,
            "evals/second/tasks/a.yaml": "id: a\ninputs: {prompt: Add.}\n",
        },
    )
    ended = waza("check", "--prove", "--fail-on", "warning", "--format", "json", cwd=tmp_path)
    report = strict_json(ended.out)
    assert [one["name"] for one in report["suites"]] == ["suite", "second"]
    assert ("never-fails", str(Path("evals/second/eval.yaml"))) in {
        (one["code"], one["file"]) for one in report["findings"]
    }
    assert ended.code == 1
