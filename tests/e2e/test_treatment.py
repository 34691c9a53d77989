"""Whether arms were what they claim: what trials record of skills, and what is made of a difference where they were not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

GREETER = "---\nname: greeter\ndescription: Greets people.\n---\nGreet.\n"
TWIN = {"twins/greeter/SKILL.md": GREETER}
GOOD = "output: yes, skills_offered: [greeter, other]"
TASK = "inputs: {prompt: go}\nexpected: {output_contains: [yes]}\n"
BARE = "without_skills: {output: no, skills_offered: [other]}"
NOT_OFFERED = "in 1 of 1 trial with skills the agent was not offered the skill greeter"
BROKEN = {
    "deleted": ("output: yes, skills_offered: [other]", BARE, NOT_OFFERED),
    "hidden by a twin": (
        "output: yes, skills_offered: [{name: greeter, path: twins/greeter/SKILL.md}]",
        BARE,
        f"{NOT_OFFERED} (another skill of its name was in its place)",
    ),
    "cut from a full listing": (
        "output: yes, skills_offered: [{name: greeter, form: name}, other]",
        BARE,
        "in 1 of 1 trial with skills the agent was offered the skill greeter by its name alone",
    ),
    "offered without skills": (
        GOOD,
        "without_skills: {output: no, skills_offered: [greeter]}",
        "in 1 of 1 trial without skills the agent was offered the skill greeter",
    ),
}


def call(root: Path, script: str, *flags: str, head: str = "skill: greeter") -> Ended:
    """Run a suite of one task whose agent follows a script."""
    write_tree(root, {"skills/greeter/SKILL.md": GREETER, **TWIN})
    tasks = {"a": f"{TASK}mock: {{{script}}}\n"}
    suite = mock_suite(root, tasks, head=head, config=["skill_directories: [skills]"])
    ended = waza("run", suite, *flags, cwd=root)
    assert ended.code in (0, 1), ended.err
    return ended


def reach(results: dict[str, Any]) -> tuple[Any, ...]:
    """What the first trial of results says of skills."""
    trial = results["tasks"][0]["runs"][0]
    return tuple(trial.get(key) for key in ("skill_offered", "skill_loaded", "other_skills_offered"))


# --- what trials record ---


def test_a_script_that_says_nothing_of_skills_leaves_it_unknown(tmp_path: Path) -> None:
    assert reach(call(tmp_path, "output: yes").results()) == ("unknown", None, None)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("skills: [greeter]", ("unknown", True, None)),
        ("skills: [another]", ("unknown", False, None)),
        ("skills: [{name: greeter, path: skills/greeter/SKILL.md}]", ("unknown", True, None)),
        ("skills: [{name: greeter, path: twins/greeter/SKILL.md}]", ("unknown", False, None)),
        ("skills_offered: []", ("absent", None, [])),
        ("skills_offered: [other, greeter, more]", ("full", None, ["more", "other"])),
        ("skills_offered: [{name: greeter, form: name}]", ("name", None, [])),
        ("skills_offered: [{name: greeter, path: skills/greeter/SKILL.md}]", ("full", None, [])),
        ("skills_offered: [{name: greeter, path: twins/greeter/SKILL.md}]", ("absent", None, ["greeter"])),
    ],
)
def test_a_script_says_what_was_offered_and_loaded(
    script: str, expected: tuple[Any, ...], tmp_path: Path
) -> None:
    assert reach(call(tmp_path, f"output: yes, {script}").results()) == expected


def test_without_a_skill_under_test_there_is_nothing_to_say_of_one(tmp_path: Path) -> None:
    results = call(tmp_path, "output: yes, skills_offered: [greeter]", head="").results()
    assert reach(results) == (None, None, ["greeter"])
    assert "treatment" not in results["metadata"]


def test_a_run_whose_agent_was_not_offered_the_skill_is_warned_of(tmp_path: Path) -> None:
    ended = call(tmp_path, "output: yes, skills_offered: []")
    assert (ended.code, ended.results()["metadata"]["treatment"]["state"]) == (0, "not_as_claimed")
    assert NOT_OFFERED in ended.out
    ended = call(tmp_path / "off", "output: yes, skills_offered: []", "--no-skills")
    assert "not offered" not in ended.out
    assert ended.results()["metadata"]["treatment"] == {
        "state": "as_claimed",
        "reasons": [],
        "with_skills": {},
        "without_skills": {"absent": 1},
    }


def test_a_program_is_known_to_have_the_skill_only_where_it_is_in_its_prompt(tmp_path: Path) -> None:
    for system, expected in (("prompt", ("full", True)), ("file", ("unknown", None))):
        root = tmp_path / system
        write_tree(root, {"skills/greeter/SKILL.md": GREETER})
        options = f"executor_options: {{command: 'cat; echo yes', system: {system}}}"
        config = ["skill_directories: [skills]", options]
        suite = mock_suite(root, {"a": TASK}, head="skill: greeter", config=config)
        suite.write_text(suite.read_text().replace("executor: mock", "executor: command"))
        ended = waza("run", suite, "--baseline", cwd=root)
        results = ended.results()
        assert reach(results)[:2] == expected
        assert results["baseline_outcome"]["tasks"][0]["runs"][0]["skill_offered"] == "unknown"
        assert "Doubt: it is not known whether the agent was offered the skill greeter" in ended.out


# --- A/B runs ---


def test_a_difference_between_arms_that_are_what_they_claim_is_measured(tmp_path: Path) -> None:
    ended = call(tmp_path, f"{GOOD}, {BARE}", "--baseline")
    results = ended.results()
    assert ended.code == 0, ended.out
    assert results["metadata"]["treatment"] == {
        "state": "as_claimed",
        "reasons": [],
        "with_skills": {"full": 1},
        "without_skills": {"absent": 1},
    }
    assert results["tasks"][0]["skill_impact"]["delta"] == 1
    assert "not known whether" not in ended.out


@pytest.mark.parametrize("name", BROKEN)
def test_a_difference_between_arms_that_are_not_what_they_claim_is_refused(name: str, tmp_path: Path) -> None:
    script, without, reason = BROKEN[name]
    reports = [
        "--reporter",
        "junit:junit.xml",
        "--reporter",
        "html:report.html",
        "--reporter",
        "markdown:r.md",
    ]
    ended = call(tmp_path, f"{script}, {without}", "--baseline", *reports)
    assert ended.code == 1, ended.out
    results = ended.results()
    assert results["metadata"]["treatment"]["reasons"] == [reason]
    assert results["metadata"]["verdict"]["reasons"] == [f"gate baseline: not measured: {reason}"]
    assert "skill_impact" not in results["tasks"][0]
    assert f"Not measured: {reason}" in " ".join(ended.out.split())
    assert "IMPROVED" not in ended.out
    for file in ("junit.xml", "report.html", "r.md"):
        text = (tmp_path / file).read_text()
        assert f"ot measured: {reason}" in text.replace("&#x27;", "'").replace("\\", ""), file
        assert "positive" not in text, file


def test_a_file_cannot_state_that_its_arms_were_what_they_claim(tmp_path: Path) -> None:
    script, without, reason = BROKEN["deleted"]
    results = call(tmp_path, f"{script}, {without}", "--baseline").results()
    results["metadata"]["treatment"] = {"state": "as_claimed"}
    results["metadata"]["verdict"] = {"passed": True, "reasons": []}
    (tmp_path / "forged.json").write_text(json.dumps(results))
    shown = waza("show", "forged.json", cwd=tmp_path)
    assert f"gate baseline: not measured: {reason}" in " ".join(shown.out.split())


def test_trials_that_broke_say_nothing_of_their_arm(tmp_path: Path) -> None:
    script = "executions: [{output: yes, skills_offered: [greeter]}, {error: gone, skills_offered: []}], without_skills: "
    results = call(tmp_path, f"{script}{{skills_offered: []}}", "--baseline", "--trials", "2").results()
    assert results["metadata"]["treatment"]["with_skills"] == {"full": 1}


def test_skills_without_a_name_are_about_all_that_are_offered(tmp_path: Path) -> None:
    script = "output: yes, skills_offered: [], without_skills: {skills_offered: [greeter]}"
    results = call(tmp_path, script, "--baseline", head="").results()
    assert results["metadata"]["treatment"]["reasons"] == [
        "in 1 of 1 trial with skills the agent was not offered any",
        "in 1 of 1 trial without skills the agent was offered some",
    ]


# --- several runs ---


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Results of one suite whose agent was offered the skill, was not, and of which it is not known."""
    for name, script in (("sound", GOOD), ("broken", BROKEN["deleted"][0]), ("dim", "output: yes")):
        ended = call(tmp_path, script, "-o", f"{name}.json")
        assert ended.code == 0
    return tmp_path


def test_the_gate_never_passes_a_run_that_did_not_measure_its_skill(files: Path) -> None:
    for baseline, current, name in (("sound", "broken", "current"), ("broken", "sound", "baseline")):
        flags = ["--baseline", f"{baseline}.json", "--current", f"{current}.json", "--format", "json"]
        ended = waza("gate", *flags, cwd=files)
        report = json.loads(ended.out)
        assert (ended.code, report["outcome"]) == (1, "incomplete")
        assert f"{name}: not measured: {NOT_OFFERED}" in report["errors"]
        assert (report["pass_rate_delta"], report["regression_pct"]) == (None, None)
        for form in ("human", "markdown"):
            shown = waza("gate", *flags[:-1], form, cwd=files).out
            assert "n/a (not measured)" in shown
            assert re.search(r"Regression:? +n/a", shown)


def test_the_gate_says_once_that_it_is_not_known(files: Path) -> None:
    ended = call(files, "output: yes", "-o", "dim2.json")
    ended = waza("gate", "--baseline", "dim.json", "--current", "dim2.json", "--format", "json", cwd=files)
    known = [one for one in json.loads(ended.out)["warnings"] if "not known whether" in one]
    assert ended.code == 0
    assert known == [
        "baseline and current: it is not known whether the agent was offered the skill greeter, in 1 of 1 trial"
    ]


def test_a_comparison_with_a_run_that_did_not_measure_its_skill_is_refused(files: Path) -> None:
    ended = waza("compare", "sound.json", "broken.json", "--format", "json", cwd=files)
    found = json.loads(ended.out)["comparison"]
    assert found["sentence"] == f"not measured: broken.json: {NOT_OFFERED}"
    assert (found["n"], found["mean_difference"], found["metrics"]) == (0, None, {})
    whole = json.loads(ended.out)
    assert whole["not_measured"] == found["sentence"]
    deltas = ("aggregate_score_delta", "success_rate_delta", "duration_delta_ms", "normalized_gain")
    assert [whole[key] for key in deltas] == [None] * 4
    (task,) = whole["task_deltas"]
    assert (task["scores"], task["score_delta"], task["pass_rate_delta"]) == ([1, 1], None, None)
    table = waza("compare", "sound.json", "broken.json", cwd=files).out
    assert "No deltas: not measured: broken.json" in " ".join(table.split())
    rows = [line.split() for line in table.splitlines()]
    assert [row[-1] for row in rows if row[:1] in (["Duration"], ["Normalized"])] == ["n/a"] * 2
    assert waza("compare", "sound.json", "broken.json", "--fail-if-worse", cwd=files).code == 2
    doubted = waza("compare", "sound.json", "dim.json", cwd=files)
    assert "warning: dim.json: it is not known whether the agent was offered the skill greeter" in doubted.err
    assert "not measured" not in doubted.out


def experiment(root: Path, script: str) -> Ended:
    """Plan, collect and decide an experiment with a skill and without it."""
    tasks = f"{TASK}mock: {{{script}}}\n"
    write_tree(root, {"skills/greeter/SKILL.md": GREETER})
    mock_suite(
        root, dict.fromkeys("abc", tasks), head="skill: greeter", config=["skill_directories: [skills]"]
    )
    flags = ["--candidate-eval", "eval.yaml", "--baseline-without-skills", "--allow-change", "skills"]
    rule = ["--rule", "sequential", "--alpha", "0.4", "--trials", "1", "--tolerated-loss", "0.9"]
    ended = waza("experiment", "plan", *flags, *rule, "-o", "plan.json", cwd=root)
    assert ended.code == 0, ended.err
    ended = waza("experiment", "collect", "plan.json", "-o", "found", cwd=root)
    assert ended.code == 0, ended.err
    return waza("experiment", "decide", "found", cwd=root)


def test_an_experiment_does_not_admit_runs_that_are_not_what_their_arms_claim(tmp_path: Path) -> None:
    ended = experiment(tmp_path, "output: yes, skills_offered: [greeter]")
    assert ended.code == 2
    assert "not measured: in 1 of 1 trial without skills the agent was offered the skill greeter" in ended.err


def test_an_experiment_says_that_it_is_not_known(tmp_path: Path) -> None:
    ended = experiment(tmp_path, "output: yes")
    assert ended.code in (0, 3), ended.err
    doubt = "Doubt: it is not known whether the agent was offered the skill greeter, in 6 of 6 trials"
    assert doubt in " ".join(ended.out.split())
