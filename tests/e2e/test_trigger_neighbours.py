"""`neighbours` of trigger tests: other skills beside the tested one, and which was invoked where which was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_trigger_tests import GREETER, obedient_environment
from tests.support.program import mock_suite, waza, write_tree

from waza.errors import SuiteError
from waza.suite.load import load

NAMED = "---\nname: {}\ndescription: d\n---\nDo.\n"
SKILLS = {
    "skills/greeter/SKILL.md": GREETER,
    "skills/notes/SKILL.md": NAMED.format("notes"),
    "elsewhere/sums/SKILL.md": NAMED.format("sums"),
}
TESTS = """
skill: greeter
neighbours: [notes, elsewhere/sums]
should_trigger_prompts: [{prompt: a}, {prompt: b}, {prompt: c}, {prompt: d}]
should_not_trigger_prompts:
  - {prompt: e, expect: notes}
  - {prompt: f, expect: notes, confidence: medium}
  - {prompt: g, expect: none}
  - {prompt: h, expect: none}
  - {prompt: i}
  - {prompt: j}
"""
SCRIPT = """
mock:
  triggers: {a: true, b: notes, c: [greeter, notes], d: none, e: notes, f: greeter, g: false, h: sums, i: sums, j: true}
"""


def suite_of(root: Path, tests: str = TESTS, head: str = SCRIPT) -> Path:
    write_tree(root, {**SKILLS, "trigger_tests.yaml": tests})
    return mock_suite(root, {"a": "inputs: {prompt: p}"}, head)


def row(expected: str, *counts: int, several: int = 0, errors: int = 0) -> dict[str, Any]:
    """Return a row by how often the tested skill, the neighbours and none were invoked."""
    greeter, notes, sums, none = counts
    invoked = {"greeter": greeter, "notes": notes, "sums": sums}
    return {"expected": expected, "invoked": invoked, "none": none, "several": several, "errors": errors}


def test_every_report_shows_which_skill_was_invoked_where_which_was_expected(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path, head=SCRIPT + "metrics: [{name: trigger_routing, threshold: 0.5, gate: true}]\n"
    )
    reports = ("--reporter", "markdown:m.md", "--reporter", "html:r.html", "--reporter", "junit:j.xml")
    ended = waza("run", suite, *reports, cwd=tmp_path)
    result = ended.results()
    assert result["trigger_matrix"] == {
        "skill": "greeter",
        "neighbours": ["notes", "sums"],
        "rows": [
            row("greeter", 1, 1, 0, 1, several=1),
            row("notes", 1, 1, 0, 0),
            row("sums", 0, 0, 0, 0),
            row("none", 0, 0, 1, 1),
            row("", 1, 0, 1, 0),
        ],
    }
    found = {one["prompt"]: one for one in result["trigger_results"]}
    assert {prompt: one["invoked_skills"] for prompt, one in found.items()} == {
        "a": ["greeter"], "b": ["notes"], "c": ["greeter", "notes"], "d": [], "e": ["notes"],
        "f": ["greeter"], "g": [], "h": ["sums"], "i": ["sums"], "j": ["greeter"],
    }  # fmt: skip
    assert [one.get("expected_skill") for one in found.values()] == [
        *["greeter"] * 4, "notes", "notes", "none", "none", None, None,
    ]  # fmt: skip
    metrics = result["trigger_metrics"]  # whether the tested skill fires is counted as without neighbours
    assert (metrics["true_positives"], metrics["false_negatives"]) == (2, 2)
    assert (metrics["true_negatives"], metrics["false_positives"]) == (4, 2)
    assert metrics["routing"] == round(4 / 9.5, 4)  # a, e, g and i
    assert ended.code == 1
    assert result["metrics"]["trigger_routing"]["passed"] is False
    assert any("trigger_routing" in reason for reason in result["metadata"]["verdict"]["reasons"])
    lines = [line.split() for line in ended.out.splitlines()]
    titles = ["Expected", "/", "invoked", "greeter", "notes", "sums", "none", "several", "skills"]
    assert titles in lines
    assert ["any", "but", "greeter", "1", "0", "1", "0", "0"] in lines
    assert '✗ "b" should invoke greeter: it invoked notes' in ended.out
    assert '✗ "c" should invoke greeter: it invoked greeter, notes' in ended.out
    assert '✗ "h" should invoke no skill: it invoked sums' in ended.out
    assert '✗ "j" should not invoke greeter: it invoked greeter' in ended.out
    assert '"i"' not in ended.out
    text = (tmp_path / "m.md").read_text(encoding="utf-8")
    assert "| Expected / invoked | greeter | notes | sums | none | several skills |" in text
    assert "| notes | 1 | 1 | 0 | 0 | 0 |" in text
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Skills invoked, by the skill expected" in page
    assert "several skills" in page
    shown = waza("show", cwd=tmp_path).out
    assert "SKILLS INVOKED" in shown
    assert titles in [line.split() for line in shown.splitlines()]
    assert waza("report", "-o", "run.html", cwd=tmp_path).code == 0
    assert (
        '"triggerMatrix":{"titles":["Expected / invoked","greeter","notes","sums","none","several skills"]'
        in (tmp_path / "run.html").read_text(encoding="utf-8")
    )
    comment = waza("run", suite, "--format", "github-comment", cwd=tmp_path).out
    assert "| notes | 1 | 1 | 0 | 0 | 0 |" in comment


def test_tests_without_neighbours_are_reported_as_before(tmp_path: Path) -> None:
    tests = (
        "skill: greeter\nshould_trigger_prompts: [{prompt: a}]\nshould_not_trigger_prompts: [{prompt: b}]\n"
    )
    ended = waza("run", suite_of(tmp_path, tests, "mock: {triggers: {a: false, b: false}}"), cwd=tmp_path)
    result = ended.results()
    assert "trigger_matrix" not in result
    assert "routing" not in result["trigger_metrics"]
    assert not any("expected_skill" in one for one in result["trigger_results"])
    assert "Expected / invoked" not in ended.out
    assert '✗ "a" should trigger: it did not trigger' in ended.out


def test_neighbours_are_offered_beside_the_tested_skill_and_errors_are_apart(tmp_path: Path) -> None:
    tests = """
skill: greeter
neighbours: [notes, ./elsewhere/sums]
should_trigger_prompts: [{prompt: fire}, {prompt: both}, {prompt: late}]
should_not_trigger_prompts: [{prompt: raise, expect: none}, {prompt: shout, expect: none}, {prompt: break}]
"""
    call = ("run", suite_of(tmp_path, tests, head=""), "--executor", "obedient")
    environment = obedient_environment(tmp_path)
    ended = waza(*call, cwd=tmp_path, env=environment)
    result = ended.results()
    offered = json.loads(result["trigger_results"][0]["final_output"])["skills"]
    assert offered[-3:] == ["greeter", "notes", "sums"]
    rows = {one["expected"]: one for one in result["trigger_matrix"]["rows"]}
    assert rows["greeter"] == row("greeter", 1, 0, 0, 0, several=1, errors=1)
    assert rows["none"]["invoked"] == {"greeter": 0, "notes": 0, "sums": 0, "GREETER": 1}
    assert (rows["none"]["errors"], rows[""]["errors"]) == (1, 1)
    assert "another skill" in ended.out
    assert "no answer" in ended.out
    resumed = waza(*call, "--resume", cwd=tmp_path, env=environment)
    assert resumed.results()["trigger_matrix"] == result["trigger_matrix"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("notes,", "note,", "trigger_tests.yaml:3:14: neighbours[0]: no skill or agent 'note' was found"),
        (
            "elsewhere/sums",
            "elsewhere/sum",
            "trigger_tests.yaml:3:21: neighbours[1]: there is no 'elsewhere/sum'",
        ),
        ("notes,", "greeter,", "neighbours[0]: 'greeter' is the name of more than one skill here"),
        (
            "notes, elsewhere/sums",
            "notes, skills/notes",
            "neighbours[1]: 'notes' is the name of more than one",
        ),
        ("notes,", "helper,", "neighbours[0]: 'helper' can never be invoked: it is a custom agent"),
        ("notes,", "none,", "neighbours[0]: 'none' means no skill"),
        ("notes,", "'',", "neighbours[0]"),
        (
            "e, expect: notes",
            "e, expect: note",
            "'note' is neither the tested skill nor one of its neighbours",
        ),
        ("e, expect: notes", "e, expect: greeter", "'greeter' does not fit should_not_trigger_prompts"),
        ("{prompt: a}", "{prompt: a, expect: none}", "'none' does not fit should_trigger_prompts"),
        ("neighbours: [notes, elsewhere/sums]", "", "expect: has no effect without neighbours"),
        ("neighbours:", "neighbors:", "unknown key 'neighbors'"),
    ],
)
def test_mistakes_in_neighbours_and_expectations_have_places(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    agent = "---\nname: helper\ndescription: d\n---\nHelp.\n"
    write_tree(tmp_path, {"helper.agent.md": agent, "skills/none/SKILL.md": NAMED.format("none")})
    assert old in TESTS
    with pytest.raises(SuiteError) as raised:
        load(suite_of(tmp_path, TESTS.replace(old, new, 1)))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (SCRIPT.replace("b: notes", "b: note"), "mock.triggers.b: 'note' is neither the tested skill nor one of"),
        (SCRIPT + "config: {disabled_skills: [notes]}", "'notes' is to be offered, and config.disabled_skills"),
        (SCRIPT + "config: {executor: command, executor_options: {command: x}}", "the executor 'command' does not offer"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_suite_is_refused(head: str, words: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {**SKILLS, "trigger_tests.yaml": TESTS})
    suite = tmp_path / "eval.yaml"
    config = "" if "config:" in head else "config: {executor: mock}\n"
    suite.write_text(
        f"name: s\nskill: greeter\n{config}{head}\n".replace("config: {d", "config: {executor: mock, d")
    )
    with pytest.raises(SuiteError) as raised:
        load(suite)
    assert words in str(raised.value)


def test_without_a_script_neighbours_are_found_all_the_same_and_nothing_is_measured(tmp_path: Path) -> None:
    ended = waza("run", suite_of(tmp_path, head=""), cwd=tmp_path)
    assert "warning: not measured: " in ended.err
    assert "trigger_matrix" not in ended.results()
    with pytest.raises(SuiteError) as raised:
        load(suite_of(tmp_path, TESTS.replace("notes,", "note,"), head=""))
    assert "no skill or agent 'note' was found" in str(raised.value)


def test_the_metric_of_routing_needs_neighbours(tmp_path: Path) -> None:
    tests = "skill: greeter\nshould_trigger_prompts: [{prompt: a}]\n"
    head = "mock: {triggers: {a: true}}\nmetrics: [{name: trigger_routing, gate: true}]"
    with pytest.raises(SuiteError) as raised:
        load(suite_of(tmp_path, tests, head))
    assert "it takes neighbours in trigger_tests.yaml" in str(raised.value)


def test_a_neighbour_that_changes_makes_another_suite_and_is_a_dependency(tmp_path: Path) -> None:
    suite = suite_of(tmp_path)
    before = load(suite).digest
    found = json.loads(waza("preflight", suite, "--format", "json", cwd=tmp_path).out)
    text = json.dumps(found)
    assert '"sums"' in text
    write_tree(tmp_path, {"elsewhere/sums/SKILL.md": NAMED.format("sums") + "More.\n"})
    assert load(suite).digest != before
