"""Every artifact says the same of what happened: what was not measured, not run, cut off, or went wrong on the way."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from signal import SIGINT
from typing import Any

import pytest
from tests.support.live import Project
from tests.support.page import Page
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
FAILS = "inputs: {prompt: p}\nmock: {output: nothing}"
WAITS = "inputs: {prompt: p}\nmock: {output: hello, delay_ms: 100000000}"
REPORTS = (
    *("--reporter", "junit:j.xml", "--reporter", "markdown:m.md", "--reporter", "html:h.html"),
    *("-o", "r.json"),
)


def junit(root: Path) -> ET.Element:
    return ET.parse(root / "j.xml").getroot()  # noqa: S314  # our own report


def markdown(root: Path) -> str:
    return (root / "m.md").read_text(encoding="utf-8")


def html(root: Path) -> Page:
    return Page((root / "h.html").read_text(encoding="utf-8"))


def comment(root: Path, *args: str | Path) -> str:
    return waza("run", *args, "--format", "github-comment", "--no-save", cwd=root).out


def results(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = strict_json(file.read_bytes())
    return found


def case(root: Path, name: str) -> ET.Element:
    (found,) = [one for one in junit(root).iter("testcase") if one.attrib["name"] == name]
    return found


def child(element: ET.Element, tag: str) -> ET.Element:
    found = element.find(tag)
    assert found is not None, ET.tostring(element)
    return found


def skills(root: Path, *with_suite: str, without: tuple[str, ...] = ()) -> None:
    for name in with_suite:
        mock_suite(root / "skills" / name, {"t": PASSES}, f"skill: {name}\n{SAYS}")
    for name in (*with_suite, *without):
        write_tree(root, {f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"})


def test_a_ratio_of_no_cases_is_shown_nowhere_and_its_gate_does_not_pass(tmp_path: Path):
    head = (
        "metrics: [{name: trigger_precision, threshold: 0.1, gate: true}]\nmock: {triggers: {say hi: false}}"
    )
    suite = mock_suite(tmp_path, {"a": PASSES}, f"{head}\n{SAYS}")
    write_tree(tmp_path, {"trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: say hi}]\n"})
    ended = waza("run", suite, *REPORTS, cwd=tmp_path)
    assert ended.code == 1
    found, reason = results(tmp_path / "r.json"), "gate trigger_precision: no data"
    assert "precision" not in found["trigger_metrics"]
    assert found["trigger_metrics"]["recall"] == 0
    assert found["metrics"] == {}
    assert found["metadata"]["verdict"]["reasons"] == [reason]
    assert "Precision:" not in ended.out
    assert "✗ trigger_precision: no data\n" in ended.out
    assert f"✗ FAILED\n  • {reason}\n" in ended.out
    failure = child(case(tmp_path, "gate trigger_precision"), "failure")
    assert failure.attrib["message"] == reason
    assert '"say hi" should trigger: it did not trigger' in (failure.text or "")
    assert "| Gate trigger\\_precision | failed: no data |" in markdown(tmp_path)
    assert "\n- gate trigger\\_precision: no data\n" in comment(tmp_path, suite)
    assert reason in html(tmp_path).lines
    assert "trigger_precision | failed | no data" in html(tmp_path).after("Gates")
    assert not any(line.startswith("Precision") for line in html(tmp_path).lines)


@pytest.mark.parametrize("args", [(), ("--discover", ".")])
@pytest.mark.parametrize("names", [("ada",), ("ada", "bob")])
def test_a_skill_without_a_suite_is_in_every_artifact(
    tmp_path: Path, args: tuple[str, ...], names: tuple[str, ...]
):
    skills(tmp_path, *names, without=("cy",))
    each = [part for kind in ("junit", "html", "markdown") for part in ("--reporter", f"{kind}:each/")]
    ended = waza("run", *args, *REPORTS, *each, cwd=tmp_path)
    assert ended.code == 0, "only with --strict it is an error"
    row = next(line for line in ended.out.split("MULTI-SKILL RUN SUMMARY")[1].splitlines() if "cy" in line)
    assert row.split() == ["cy", "○", "No", "suite", "-", "-"]
    assert (
        child(case(tmp_path, "cy"), "skipped").attrib["message"] == "it has no suite: nothing of it was run"
    )
    of_cy = {path.suffix: path.read_text("utf-8") for path in (tmp_path / "each").glob("cy_*")}
    assert sorted(of_cy) == [".html", ".md", ".xml"]
    assert "<title>Waza results: not graded</title>" in of_cy[".html"]
    assert of_cy[".md"].startswith("# Waza results\n\n**⚠ Not graded**\n")
    assert "assed" not in of_cy[".md"].partition("| Suite")[0]
    assert "| cy | ○ no suite | - | - |\n" in markdown(tmp_path)
    assert "| cy | ○ no suite | - | - |\n" in comment(tmp_path, *args)
    assert "cy | no suite | | | it has no suite: nothing of it was run" in html(tmp_path).after("Runs")
    file = tmp_path / ("r.json" if names == ("ada",) else "r_ada.json")
    assert results(file)["metadata"]["invocation"]["without_suite"] == ["cy"]
    if len(names) > 1:
        assert results(tmp_path / "r_summary.json")["without_suite"] == ["cy"]
    strict = waza("run", *args, "--strict", cwd=tmp_path)
    assert (strict.code, strict.out) == (2, "")
    assert "skills without a suite: cy; nothing was run (--strict)" in strict.err


def test_cases_of_two_models_have_classes_of_their_own(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, f"skill: greeter\n{SAYS}")
    for models, classes in ((("m",), ["greeter"]), (("m", "n"), ["greeter on m", "greeter on n"])):
        waza("run", suite, *(f"--model={model}" for model in models), *REPORTS, cwd=tmp_path)
        assert [one.attrib["classname"] for one in junit(tmp_path).iter("testcase")] == classes
        headings = [text for text in html(tmp_path).text.get("h2", []) if text.startswith("greeter on ")]
        assert headings == (classes if len(models) > 1 else [])
        assert ("Models of greeter" in html(tmp_path).lines) == (len(models) > 1)


def test_classes_do_not_hang_on_which_models_could_start(project: Project):
    suite = mock_suite(project.home, {"a": WAITS}, f"skill: greeter\n{SAYS}")
    with project.started("run", suite, "--model", "m", "--model", "n", *REPORTS, "-v") as live:
        live.until(lambda: "[PROMPT]" in live.err)
        live.send(SIGINT)
        assert live.ended().code == 130
    root = project.home
    assert case(root, "a").attrib["classname"] == "greeter on m"
    assert child(case(root, "greeter on n"), "error").attrib["type"] == "NotStarted"
    runs = html(root).after("Runs")
    assert runs[1].startswith("greeter on m | failed | 0 of 0")
    assert runs[2] == "greeter on n | not started | | | it did not run: interrupted"
    assert "Models of greeter" not in runs, "what is cut off cannot be compared"


def test_trials_are_counted_of_those_that_were_planned(project: Project):
    task = "inputs: {prompt: p}\nmock: {executions: [{output: bad}, {output: hello, delay_ms: 100000000}]}"
    suite = mock_suite(project.home, {"a": task}, SAYS, ["trials_per_task: 2"])
    with project.started("run", suite, *REPORTS, "-v") as live:
        live.until(lambda: "Run 2/2" in live.err and "[PROMPT]" in live.err.split("Run 2/2")[1])
        live.send(SIGINT)
        ended = live.ended()
    root = project.home
    assert "in the output [trial 1 of 2]" in ended.out
    assert (child(case(root, "a"), "failure").text or "").startswith("Trial 1/2 (failed)\n")
    assert "- Trial 1/2 (failed)" in markdown(root)
    assert "Trial 1 of 2 failed" in html(root).after("Failures")
    assert "1 of 2 trials did not run." in html(root).after("Failures")


def test_suites_of_one_name_are_distinguished_by_the_skills_that_they_were_found_by(tmp_path: Path):
    skills(tmp_path, "ada", "bob")
    for name in ("ada", "bob"):
        mock_suite(tmp_path / "skills" / name, {"t": PASSES if name == "ada" else FAILS}, SAYS)
    assert waza("run", *REPORTS, cwd=tmp_path).code == 1
    reason = "bob on test-model: 1 of 1 task did not pass: 1 failed"
    assert results(tmp_path / "r_ada.json")["metadata"]["invocation"]["verdict"]["reasons"] == [reason]
    classes = [one.attrib["classname"] for one in junit(tmp_path).iter("testcase")]
    assert classes == ["ada on test-model", "bob on test-model"]
    assert "| ada on test-model | ✅ passed | 1 of 1 |" in markdown(tmp_path)
    assert "| bob on test-model | ❌ failed | 0 of 1 |" in markdown(tmp_path)
    runs = html(tmp_path).after("Runs")
    assert runs[1:3] == [
        "ada on test-model | passed | 1 of 1 | 1.00",
        "bob on test-model | failed | 0 of 1 | 0.00",
    ]
    assert [line for line in runs[3:] if line in ("ada on test-model", "bob on test-model")] == [
        "ada on test-model",
        "bob on test-model",
    ]
    headings = [line for line in markdown(tmp_path).splitlines() if line.startswith("## ")]
    assert headings == ["## ada on test-model", "## bob on test-model"]


def misfiring(tmp_path: Path) -> None:
    """A task of three trials, of which the first passes, and two trigger tests that fail."""
    task = "inputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: bad}, {error: it fell over}]}"
    head = f"mock: {{triggers: {{say hi: false, say no: true}}}}\n{SAYS}"
    suite = mock_suite(tmp_path, {"a": task}, head, ["trials_per_task: 3"])
    prompts = "should_trigger_prompts: [{prompt: say hi}]\nshould_not_trigger_prompts: [{prompt: say no}]"
    write_tree(tmp_path, {"trigger_tests.yaml": f"skill: s\n{prompts}\n"})
    assert waza("run", suite, *REPORTS, cwd=tmp_path).code == 1


def test_junit_names_the_trials_that_did_not_pass_and_the_prompts_that_misfired(tmp_path: Path):
    misfiring(tmp_path)
    lines = (child(case(tmp_path, "a"), "failure").text or "").splitlines()
    assert lines[0] == "Trial 2/3 (failed)"
    assert lines[1].startswith("[FAIL] says (text): score=0.00")
    assert lines[2:4] == ["Trial 3/3 (error)", "[ERROR] it fell over"]
    (told,) = junit(tmp_path).iter("system-out")
    assert [line for line in (told.text or "").splitlines() if line.startswith("trigger test")] == [
        'trigger test: ✗ "say hi" should trigger: it did not trigger',
        'trigger test: ✗ "say no" should not trigger: it triggered',
    ]


def test_html_names_the_trials_that_did_not_pass_and_the_prompts_that_misfired(tmp_path: Path):
    misfiring(tmp_path)
    lines = html(tmp_path).after("Failures")
    trials = [line for line in lines if line.startswith("Trial ")]
    assert trials == ["Trial 2 of 3 failed", "Trial 3 of 3 error"]
    assert "it fell over" in lines
    assert [line for line in html(tmp_path).after("Trigger tests") if " trigger: " in line] == [
        '✗ "say hi" should trigger: it did not trigger',
        '✗ "say no" should not trigger: it triggered',
    ]


def interrupted(project: Project, *more: str) -> Ended:
    """A run of `a`, which passes its first trial and hangs in its second, and `b`, which does not start."""
    half = "inputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: hello, delay_ms: 100000000}]}"
    suite = mock_suite(project.home, {"a": half, "b": PASSES}, SAYS, ["trials_per_task: 2"])
    with project.started("run", suite, *REPORTS, "--interpret", "-v", *more) as live:
        live.until(lambda: "Run 2/2" in live.err and "[PROMPT]" in live.err.split("Run 2/2")[1])
        live.send(SIGINT)
        return live.ended()


def test_a_task_that_was_cut_off_is_called_so_in_every_artifact(project: Project):
    ended = interrupted(project)
    root = project.home
    assert ended.code == 130
    half, none = results(root / "r.json")["tasks"]
    assert (half["status"], half["missing_trials"], len(half["runs"])) == ("skipped", 1, 1)
    assert (none["status"], none["missing_trials"], none["runs"]) == ("skipped", 2, [])
    assert results(root / "r.json")["summary"]["succeeded"] == 0
    assert [line.split()[2:4] for line in ended.out.splitlines() if line.startswith(("○ a ", "○ b "))][
        :2
    ] == [
        ["cut", "off"],
        ["cut", "off"],
    ]
    assert "Cut off:            2\n" in ended.out
    assert "Succeeded:          0\n" in ended.out
    assert "not known; 0 of 1 task that ran passed, 2 cut off\n" in ended.out
    meaning = ended.out.split("INTERPRETATION")[1]
    assert "2 tasks: 0 passed, 0 failed, 0 errors, 2 cut off.\n" in meaning
    assert "○ a [cut off]" in meaning
    assert "Cut off: 1 of 2 trials did not run; nothing can be said of its steadiness.\n" in meaning
    messages = {name: child(case(root, name), "error").attrib["message"] for name in "ab"}
    assert messages == {
        "a": "cut off: 1 of 2 trials did not run",
        "b": "cut off: 2 of 2 trials did not run",
    }
    assert "| Tasks | 1: 0 passed, 0 failed, 0 errors, 2 cut off |" in markdown(root)
    assert "| a | ○ cut off |" in markdown(root)
    assert "| b | ○ cut off |" in markdown(root)
    assert html(root).after("Tasks")[1:3] == [
        "a | cut off 1 of 2 trials did not run | 1.00 | 1 of 2 | 0s",
        "b | cut off 2 of 2 trials did not run | - | 0 of 2 | -",
    ]
    assert "2 cut off" in html(root).lines
    (rate,) = [line for line in html(root).lines if line.startswith("Task success rate")]
    assert rate == "Task success rate | not known; 0 of 1 task that ran passed, 2 cut off"


def test_a_task_that_fail_fast_kept_from_starting_is_called_so_in_every_artifact(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": FAILS, "b": PASSES}, SAYS, ["fail_fast: true"])
    ended = waza("run", suite, *REPORTS, "--interpret", "--session-dir", "log", cwd=tmp_path)
    assert ended.code == 1
    task = results(tmp_path / "r.json")["tasks"][1]
    assert (task["status"], task["missing_trials"]) == ("skipped", 1)
    assert "○ b [cut off]" in ended.out.split("INTERPRETATION")[1]
    assert child(case(tmp_path, "b"), "skipped").attrib["message"] == "cut off: 1 of 1 trial did not run"
    assert "| b | ○ cut off |" in markdown(tmp_path)
    assert "1 failed, 0 errors, 1 cut off" in markdown(tmp_path)
    assert "| b | 0.00 | ○ cut off | - |" in comment(tmp_path, suite)
    assert "1 cut off" in html(tmp_path).lines
    assert html(tmp_path).after("Tasks")[2].startswith("b | cut off")
    lines = session_log(tmp_path / "log")
    assert [line["data"]["message"] for line in lines if line["type"] == "error"] == [
        "stopped: fail_fast: a task did not pass"
    ]
    assert lines[-1]["data"]["cut_off"] is True


def session_log(directory: Path) -> list[dict[str, Any]]:
    (file,) = directory.iterdir()
    return [strict_json(line) for line in file.read_bytes().splitlines()]


def test_the_session_log_of_a_run_that_was_cut_off_has_its_end(project: Project):
    interrupted(project, "--session-dir", "log")
    last = session_log(project.home / "log")[-1]
    assert last["type"] == "session_complete"
    assert (last["data"]["cut_off"], last["data"]["passed"], last["data"]["skipped"]) == (True, 0, 2)


def test_what_went_wrong_without_the_skills_is_in_every_artifact(tmp_path: Path):
    hook = (
        "hooks: {before_task: [{command: 'test -e first || { touch first; exit 3; }', error_on_fail: true}]}"
    )
    skills(tmp_path, without=("ada",))
    suite = mock_suite(
        tmp_path, {"t": PASSES}, f"skill: ada\n{hook}\n{SAYS}", ["skill_directories: [skills]"]
    )
    ended = waza("run", suite, "--baseline", *REPORTS, cwd=tmp_path)
    assert ended.code == 1
    lines = ended.out.split("SKILL IMPACT")[1].splitlines()
    (miss,) = [line for line in lines if line.startswith("⚠ t, with")]
    assert "skills: error" in miss
    told = miss.split(":")[0]
    assert told in markdown(tmp_path).split("## Skill impact")[1]
    assert told in (child(case(tmp_path, "gate baseline"), "failure").text or "")
    assert any(line.startswith(told) for line in html(tmp_path).after("Skill impact"))
    (tmp_path / "first").unlink()
    assert told in comment(tmp_path, suite, "--baseline").split("### Skill Impact")[1]


def test_why_a_judge_reached_no_verdict_is_reported_once_a_trial(tmp_path: Path):
    graders = "graders: [{type: prompt, name: tone, config: {prompt: Is it kind?}}]"
    suite = mock_suite(tmp_path, {"a": f"inputs: {{prompt: p}}\nmock: {{output: hello}}\n{graders}"})
    ended = waza("run", suite, *REPORTS, cwd=tmp_path)
    assert ended.code == 1
    (run,) = results(tmp_path / "r.json")["tasks"][0]["runs"]
    why = run["validations"]["tone"]["details"]["error"]
    assert run["error_msg"] == f"running graders: tone: {why}"
    assert markdown(tmp_path).count(why) == 1
    assert comment(tmp_path, suite).count(why) == 1
    assert (child(case(tmp_path, "a"), "error").text or "").count(why) == 1
    assert "\n".join(html(tmp_path).lines).count(why) == 1


def test_a_results_file_tells_the_verdict_of_its_run_from_that_of_the_invocation(tmp_path: Path):
    skills(tmp_path, "ada", "bob")
    mock_suite(tmp_path / "skills" / "bob", {"t": FAILS}, f"skill: bob\n{SAYS}")
    assert waza("run", *REPORTS, cwd=tmp_path).code == 1
    passed, failed = {"passed": True, "reasons": []}, "1 of 1 task did not pass: 1 failed"
    metadata = {name: results(tmp_path / f"r_{name}.json")["metadata"] for name in ("ada", "bob")}
    assert metadata["ada"]["verdict"] == passed
    assert metadata["bob"]["verdict"] == {"passed": False, "reasons": [failed]}
    whole = {"passed": False, "reasons": [f"bob on test-model: {failed}"]}
    assert [one["invocation"] for one in metadata.values()] == [{"verdict": whole}, {"verdict": whole}]
    assert results(tmp_path / "r_summary.json")["verdict"] == whole
    assert html(tmp_path).lines[:3] == ["Waza results", "✗ Failed", f"bob on test-model: {failed}"]
    for file in (tmp_path / ".waza" / "runs").glob("*/results.json"):
        own = results(file)
        assert own["metadata"]["verdict"] == metadata[own["skill"]]["verdict"]
        assert "invocation" not in own["metadata"], "it is the file of the run alone"


def test_results_that_are_graded_again_are_of_no_invocation(tmp_path: Path):
    suite = mock_suite(tmp_path, {"a": PASSES}, SAYS)
    waza("run", suite, "-o", "r.json", cwd=tmp_path)
    assert "invocation" in results(tmp_path / "r.json")["metadata"]
    waza("grade", suite, "--results", "r.json", "-o", "again.json", cwd=tmp_path)
    assert "invocation" not in results(tmp_path / "again.json")["metadata"]


@pytest.mark.parametrize(
    ("args", "filters"), [(("-k", "a or zeta"), "-k 'a or zeta'"), (("--task", "a*"), "--task 'a*'")]
)
def test_a_part_of_a_suite_is_called_so_in_every_artifact(
    tmp_path: Path, args: tuple[str, ...], filters: str
):
    suite = mock_suite(tmp_path, {"alpha": PASSES, "zeta": PASSES, "bin": FAILS}, SAYS)
    if "--task" in args:
        mock_suite(tmp_path, {"alpha": PASSES, "azeta": PASSES, "bin": FAILS}, SAYS)
        (tmp_path / "tasks" / "zeta.yaml").unlink()
    ended = waza("run", suite, *args, *REPORTS, "--session-dir", "log", cwd=tmp_path)
    assert ended.code == 0
    part = f"only 2 of 3 tasks chosen: {filters}"
    metadata = results(tmp_path / "r.json")["metadata"]
    assert metadata["selection"] == {"filters": [filters], "selected": 2, "of": 3}
    assert f"⚠ {part}\n" in ended.out
    (told,) = junit(tmp_path).iter("system-out")
    assert f"warning: {part}" in (told.text or "").splitlines()
    assert part.replace("*", "\\*") in markdown(tmp_path)
    assert part.replace("*", "\\*") in comment(tmp_path, suite, *args)
    assert part in html(tmp_path).after("Warnings")
    assert part in waza("show", cwd=tmp_path).out.splitlines()
    selection = metadata["selection"]
    (start,) = [line for line in session_log(tmp_path / "log") if line["type"] == "session_start"]
    assert sorted(start["data"]["selected"]) == sorted(
        task["test_id"] for task in results(tmp_path / "r.json")["tasks"]
    )
    (shown,) = strict_json(waza("show", "--json", cwd=tmp_path).out)["runs"]
    assert shown["selection"] == selection
    rows = strict_json(f"[{','.join(waza('export', '-f', 'jsonl', cwd=tmp_path).out.splitlines())}]")
    assert {row["selection"] for row in rows} == {filters}
    sealed = waza("run", suite, *args, "--snapshot", "kept", "--no-save", cwd=tmp_path)
    assert (sealed.code, results(tmp_path / "kept" / "evidence.json")["runs"][0]["selection"]) == (
        0,
        selection,
    )
    waza("run", suite, "-o", "whole.json", "--no-save", cwd=tmp_path)
    assert f"r.json: {part}" in waza("compare", "r.json", "whole.json", cwd=tmp_path).err
    noise = waza("noise", "r.json", "r.json", "--json", cwd=tmp_path)
    assert f"r.json: {part}; a gate over the whole suite has other chances" in noise.out.replace(
        "\\u0027", "'"
    )
    waza("report", "-o", "again.html", cwd=tmp_path)
    assert part in (tmp_path / "again.html").read_text("utf-8").replace("&#39;", "'").replace("&#x27;", "'")


def test_what_chooses_all_tasks_is_a_whole_run(tmp_path: Path):
    suite = mock_suite(tmp_path, {"alpha": PASSES, "zeta": PASSES}, SAYS)
    ended = waza("run", suite, "-k", "alpha or zeta", *REPORTS, cwd=tmp_path)
    assert (ended.code, "chosen" in ended.out + ended.err) == (0, False)
    assert "selection" not in results(tmp_path / "r.json")["metadata"]
