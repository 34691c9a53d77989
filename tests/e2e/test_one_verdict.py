"""One verdict: console, JUnit, Markdown, GitHub comment, JSON and exit code say the same, and never too much."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from signal import SIGINT
from typing import Any

import pytest
from tests.support.dashboard import serving
from tests.support.live import Project
from tests.support.page import Page
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

from waza.results.read import load, open_results
from waza.results.verdict import verdict_of

SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
GATE = "metrics: [{name: order, threshold: 0.9, gate: true}]"
ORDER = (
    "{type: action_sequence, name: order, config: {matching_mode: in_order_match, expected_actions: [view]}}"
)
REPORTS = (
    *("--reporter", "junit:j.xml", "--reporter", "markdown:m.md", "--reporter", "html:h.html"),
    *("-o", "r.json"),
)


class Shown:
    """What every artifact of a run in a directory shows."""

    def __init__(self, ended: Ended, root: Path) -> None:
        self.ended = ended
        self.junit = ET.parse(root / "j.xml").getroot()  # noqa: S314  # our own report
        self.markdown = (root / "m.md").read_text(encoding="utf-8")
        self.html = Page((root / "h.html").read_text(encoding="utf-8"))
        file = next(path for path in (root / "r.json", root / "r_ada.json") if path.exists())
        self.json: dict[str, Any] = strict_json(file.read_bytes())

    def cases(self, tag: str) -> list[str]:
        """The names of JUnit cases that have such a child."""
        return [case.attrib["name"] for case in self.junit.iter("testcase") if case.find(tag) is not None]


def gated(root: Path) -> Path:
    """A suite whose one task passes, and whose gate does not."""
    task = f"inputs: {{prompt: p}}\nmock: {{output: hello, tool_calls: [{{name: view}}, {{name: bash}}]}}\ngraders: [{ORDER}]"
    return mock_suite(root, {"a": task}, GATE)


def test_a_failed_gate_is_in_every_artifact(tmp_path: Path):
    shown = Shown(waza("run", gated(tmp_path), *REPORTS, cwd=tmp_path), tmp_path)
    reason = "gate order: 0.67, at least 0.90 is required"
    assert shown.ended.code == 1
    assert shown.json["summary"]["succeeded"] == 1
    assert shown.json["metadata"]["verdict"] == {"passed": False, "reasons": [reason]}
    assert f"✗ FAILED\n  • {reason}\n" in shown.ended.out
    assert (shown.junit.attrib["tests"], shown.junit.attrib["failures"]) == ("2", "1")
    assert shown.cases("failure") == ["gate order"]
    assert f"**❌ Failed**\n\n- {reason}\n" in shown.markdown
    assert shown.html.after("✗ Failed")[0] == reason
    assert "✓ Passed" not in shown.html.lines
    comment = waza("run", tmp_path / "eval.yaml", "--format", "github-comment", "--no-save", cwd=tmp_path)
    assert comment.code == 1
    assert comment.out.startswith("## Waza Evaluation Results\n\n**❌ Failed, score ")
    assert f"\n- {reason}\n" in comment.out


def test_a_gate_that_passes_is_a_case_of_its_own(tmp_path: Path):
    suite = gated(tmp_path)
    suite.write_text(suite.read_text(encoding="utf-8").replace("0.9", "0.6"), encoding="utf-8")
    shown = Shown(waza("run", suite, *REPORTS, cwd=tmp_path), tmp_path)
    assert shown.ended.code == 0
    assert [case.attrib["name"] for case in shown.junit.iter("testcase")] == ["a", "gate order"]
    assert shown.junit.attrib["failures"] == "0"
    assert "**✅ Passed**" in shown.markdown
    assert "✓ Passed" in shown.html.lines
    assert "✓ PASSED\n" in shown.ended.out


def test_an_interrupted_run_is_green_nowhere(project: Project):
    tasks = {"a": PASSES, "b": "inputs: {prompt: p}\nmock: {output: hello, delay_ms: 100000000}", "c": PASSES}
    suite = mock_suite(project.home, tasks, SAYS)
    with project.started("run", suite, *REPORTS, "-v") as live:
        live.until(lambda: "running: b" in live.err and "[PROMPT]" in live.err.split("running: b")[1])
        live.send(SIGINT)
        ended = live.ended()
    shown = Shown(ended, project.home)
    reason = "the run did not come to its end (cancelled): 2 trials did not run"
    assert ended.code == 130
    assert shown.json["metadata"]["run_status"] == "cancelled"
    assert shown.json["metadata"]["verdict"] == {"passed": False, "reasons": [reason]}
    assert "100" not in ended.out.split("FAILED")[0]
    assert f"✗ FAILED\n  • {reason}\n" in ended.out
    assert shown.cases("error") == ["b", "c", "verdict"]
    assert f"**❌ Failed**\n\n- {reason}\n" in shown.markdown
    assert shown.html.after("✗ Failed")[0] == reason
    assert "✓ Passed" not in shown.html.lines
    assert "| b | ○ cut off |" in shown.markdown


def test_some_trials_of_a_task_are_not_all_of_them(project: Project):
    slow = "inputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: hello, delay_ms: 100000000}]}"
    suite = mock_suite(project.home, {"a": slow}, SAYS, ["trials_per_task: 2"])
    with project.started("run", suite, *REPORTS, "-v") as live:
        live.until(lambda: "Run 2/2" in live.err and "[PROMPT]" in live.err.split("Run 2/2")[1])
        live.send(SIGINT)
        ended = live.ended()
    shown = Shown(ended, project.home)
    assert shown.cases("error") == ["a", "verdict"]
    assert "| a | ○ cut off |" in shown.markdown


def two_skills(root: Path) -> None:
    """Two skills with suites: that of the first passes, that of the second cannot start."""
    for name, hooks in (
        ("ada", ""),
        ("bob", "hooks: {before_run: [{command: exit 7, error_on_fail: true}]}\n"),
    ):
        mock_suite(root / "skills" / name, {"t": PASSES}, f"skill: {name}\n{hooks}{SAYS}")
        write_tree(root, {f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"})


def test_a_suite_that_could_not_start_is_reported_in_every_artifact(tmp_path: Path):
    two_skills(tmp_path)
    shown = Shown(waza("run", *REPORTS, cwd=tmp_path), tmp_path)
    assert shown.ended.code == 2
    assert (tmp_path / "r_ada.json").exists(), "the name says which of the skills it is"
    assert shown.json["metadata"]["verdict"] == {"passed": True, "reasons": []}, "of the run of ada"
    invocation = shown.json["metadata"]["invocation"]
    (reason,) = invocation["verdict"]["reasons"]
    assert reason.startswith("bob on test-model: did not run: ")
    assert [(one["skill"], one["model"]) for one in invocation["not_started"]] == [("bob", "test-model")]
    assert shown.cases("error") == ["bob on test-model"]
    assert "**❌ Failed**" in shown.markdown.split("##")[0]
    assert "| bob on test-model | ❌ not started | - | - |" in shown.markdown
    assert "❌ Not started" in shown.ended.out
    assert shown.html.lines[:3] == ["Waza results", "✗ Failed", reason]
    why = reason.removeprefix("bob on test-model: did not run: ")
    assert f"bob on test-model | not started | | | it did not run: {why}" in shown.html.after("Runs")
    summary = strict_json((tmp_path / "r_summary.json").read_bytes())
    assert summary["verdict"]["passed"] is False
    comment = waza("run", "--format", "github-comment", "--no-save", cwd=tmp_path)
    assert comment.code == 2
    assert comment.out.startswith(
        "## Waza Evaluation Results\n\n**❌ Failed**\n\n- bob on test-model: did not run"
    )


def test_warnings_of_a_suite_stand_in_every_artifact(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, f"oddity: 3\n{SAYS}")
    shown = Shown(waza("run", suite, *REPORTS, cwd=tmp_path), tmp_path)
    assert shown.ended.code == 0
    (warning,) = shown.json["metadata"]["warnings"]
    assert "oddity" in warning
    assert "oddity" in shown.ended.out.split("WARNINGS")[1]
    assert "oddity" in shown.markdown.split("## Warnings")[1]
    assert warning in shown.html.after("Warnings")
    (told,) = shown.junit.iter("system-out")
    assert warning in (told.text or "")
    comment = waza("run", suite, "--format", "github-comment", "--no-save", cwd=tmp_path).out
    assert "oddity" in comment.split("### Warnings")[1]


@pytest.mark.parametrize("form", ["default", "github-comment"])
def test_tasks_of_one_name_are_distinguished(tmp_path: Path, form: str):
    tasks = {name: f"id: {name}\nname: twin\n{PASSES}" for name in "ab"}
    suite = mock_suite(tmp_path, tasks, SAYS)
    ended = waza("run", suite, "--format", form, *REPORTS, cwd=tmp_path)
    shown = Shown(ended, tmp_path)
    assert [case.attrib["name"] for case in shown.junit.iter("testcase")] == ["twin (a)", "twin (b)"]
    assert "twin \\(a\\)" in shown.markdown or "twin (a)" in shown.markdown
    assert "twin (b)" in ended.out
    assert [line.split(" | ")[0] for line in shown.html.after("Tasks")[1:3]] == ["twin (a)", "twin (b)"]


def test_junit_and_html_always_have_the_ids(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": f"id: t-17\nname: greets\n{PASSES}"}, SAYS)
    shown = Shown(waza("run", suite, *REPORTS, cwd=tmp_path), tmp_path)
    (case,) = shown.junit.iter("testcase")
    assert case.attrib["name"] == "greets"
    assert [one.attrib for one in case.iter("property")] == [{"name": "test_id", "value": "t-17"}]
    assert shown.html.after("Tasks")[1].startswith("greets t-17 | passed")


def test_a_regrade_does_not_keep_the_verdict_of_the_run(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, SAYS)
    waza("run", suite, "-o", "r.json", cwd=tmp_path)
    suite.write_text(suite.read_text(encoding="utf-8").replace("[hello]", "[other]"), encoding="utf-8")
    waza("grade", suite, "--results", "r.json", "-o", "again.json", cwd=tmp_path)
    assert strict_json((tmp_path / "r.json").read_bytes())["metadata"]["verdict"]["passed"] is True
    assert strict_json((tmp_path / "again.json").read_bytes())["metadata"]["verdict"]["passed"] is False


def test_a_verdict_that_was_edited_is_believed_nowhere(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES, "b": "inputs: {prompt: p}\nmock: {output: bye}"}, SAYS)
    assert waza("run", suite, "-o", "r.json", cwd=tmp_path).code == 1
    data = strict_json((tmp_path / "r.json").read_bytes())
    data["metadata"]["verdict"] = {"passed": True, "reasons": []}
    write_tree(tmp_path / "edited", {"r.json": json.dumps(data)})
    reasons = [
        "1 of 2 tasks did not pass: 1 failed",
        "the file's verdict is that it passed (metadata.verdict), which the rest of it contradicts",
    ]
    shown = " ".join(waza("show", "edited/r.json", cwd=tmp_path).out.split())
    assert "✗ edited/r.json: failed" in shown
    assert all(f"• {reason}" in shown for reason in reasons)
    verdict = strict_json(waza("show", "edited/r.json", "--json", cwd=tmp_path).out)["runs"][0]["verdict"]
    assert verdict == {"passed": False, "reasons": reasons}
    assert waza("report", "edited/r.json", "-o", "h.html", cwd=tmp_path).code == 0
    assert Page((tmp_path / "h.html").read_text(encoding="utf-8")).after("✗ Failed")[:2] == reasons
    with serving(tmp_path / "edited") as served:
        (run,) = served.data("runs")
        assert run["outcome"] == "failed"
        assert served.data("runs", run["id"], "head")["verdict"] == {"word": "failed", **verdict}


@pytest.mark.parametrize(
    ("edit", "reasons"),
    [
        ({}, ["1 of 2 tasks did not pass: 1 failed"]),
        (
            {"verdict": {"passed": False, "reasons": ["2 of 2 tasks did not pass: 2 errored"]}},
            ["1 of 2 tasks did not pass: 1 failed"],
        ),
        (
            {"verdict": {"passed": True, "reasons": []}, "summary": {"succeeded": 2, "failed": 0}},
            [
                "the file's summary (2 passed, 0 did not) is not that of its tasks (1 passed, 1 did not)",
                "the file's verdict is that it passed (metadata.verdict), which the rest of it contradicts",
            ],
        ),
        (  # as another program writes it
            {"verdict": None, "summary": {"succeeded": 1, "failed": 0}},
            ["the file's summary (1 passed, 0 did not) is not that of its tasks (1 passed, 1 did not)"],
        ),
        ({"verdict": None}, ["1 of 2 tasks did not pass: 1 failed"]),
        ({"verdict": {"passed": "yes"}}, ["1 of 2 tasks did not pass: 1 failed"]),
        (
            {"tasks": "passed", "summary": {"succeeded": 2, "failed": 0}},
            [
                "1 of 2 tasks did not pass: 1 failed",
                "the file's verdict is that it failed (metadata.verdict), which the rest of it contradicts",
            ],
        ),
        (
            {"tasks": "skipped", "verdict": {"passed": True, "reasons": []},
             "summary": {"succeeded": 0, "failed": 0, "skipped": 2}},
            [
                "not graded (--skip-graders)",
                "the file's verdict is that it passed (metadata.verdict), which the rest of it contradicts",
            ],
        ),
    ],
)  # fmt: skip
def test_what_speaks_against_a_file_is_found_out_again(
    failed: dict[str, Any], tmp_path: Path, edit: dict[str, Any], reasons: list[str]
):
    data = json.loads(json.dumps(failed))
    data["summary"] |= edit.get("summary", {})
    if "verdict" in edit:
        data["metadata"]["verdict"] = edit["verdict"]
    for task in data["tasks"]:
        task["status"] = edit.get("tasks", task["status"])
    file = tmp_path / "r.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    for head in (load(file)[0], open_results(file)[0].head):
        assert list(verdict_of(head).reasons) == reasons
        assert not verdict_of(head).passed


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results in which one task of two failed."""
    root = tmp_path_factory.mktemp("failed")
    suite = mock_suite(root, {"a": PASSES, "b": "inputs: {prompt: p}\nmock: {output: bye}"}, SAYS)
    return waza("run", suite, cwd=root).results()


def test_a_run_that_was_not_graded_is_passed_nowhere(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, SAYS)
    shown = Shown(waza("run", suite, "--skip-graders", *REPORTS, cwd=tmp_path), tmp_path)
    assert shown.ended.code == 0
    reason = "not graded (--skip-graders)"
    assert shown.json["metadata"]["verdict"] == {"passed": False, "reasons": [reason]}
    assert f"○ NOT GRADED\n  • {reason}\n" in shown.ended.out
    assert "**⚠ Not graded**" in shown.markdown
    assert shown.html.after("○ Not graded")[0] == reason
    assert shown.cases("skipped") == ["a", "verdict"]
    gated = mock_suite(
        tmp_path / "gated", {"a": PASSES}, f"{SAYS}\nmetrics: [{{name: says, threshold: 1, gate: true}}]"
    )
    assert waza("run", gated, "--skip-graders", cwd=tmp_path / "gated").code == 1


def test_a_gate_without_data_does_not_pass_and_neither_does_grading_again(tmp_path: Path):
    tasks = {"a": PASSES, "b": f"{PASSES}\ngraders: [{ORDER}]"}
    suite = mock_suite(tmp_path, tasks, f"{SAYS}\n{GATE}")
    ended = waza("run", suite, "--task", "a", "-o", "r.json", cwd=tmp_path)
    assert ended.code == 1
    (reason,) = ended.results()["metadata"]["verdict"]["reasons"]
    assert reason == "gate order: no data"
    graded = waza("grade", suite, "--results", "r.json", "--task", "a", "--fail", cwd=tmp_path)
    assert (graded.code, strict_json(graded.out)["passed"]) == (1, False)
