"""`waza report`, and `-o report.html` of `waza run`: what the one file holds, how large it is, and what is left out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.live import Project
from tests.support.page import Page
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

from waza.dashboard.static_files import FOLDER, INDEX

SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
FAILS = "inputs: {prompt: p}\nmock: {output: nothing, usage: {input_tokens: 30, output_tokens: 4}}"
SOMETIMES = "inputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: bad}, {error: it fell over}]}"
HOSTILE = "</script><script>pwned=1</script><!-- <img src=x onerror=pwned=1>\\u2028\\u2029&amp;"

with_pages = pytest.mark.skipif(
    not (FOLDER / INDEX).is_file(), reason="the pages are not built: `make dashboard`"
)


def embedded(file: Path) -> dict[str, Any]:
    """The data in a report."""
    text = file.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="waza-data">(.*?)</script>', text, re.DOTALL)
    found: dict[str, Any] = strict_json(data)
    return found


def only(values: dict[str, Any]) -> Any:
    (value,) = values.values()
    return value


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    tasks = {"good": PASSES, "bad": FAILS, "sometimes": SOMETIMES}
    return mock_suite(tmp_path, tasks, SAYS, ["trials_per_task: 3"])


def run(suite: Path, *args: str) -> Ended:
    ended = waza("run", suite, *args, cwd=suite.parent)
    assert ended.code in (0, 1), ended.err
    return ended


@with_pages
def test_the_newest_run_with_every_trial_in_one_file(suite: Path):
    run(suite)
    ended = waza("report", cwd=suite.parent)
    assert (ended.code, ended.out) == (0, "")
    assert re.search(r"^report.html: 1 run, 0\.\d MB$", ended.err, re.MULTILINE)
    data = embedded(suite.parent / "report.html")
    (head,) = data["heads"]
    assert (head["run"]["spec"], head["verdict"]["word"], head["run"]["passCount"]) == ("suite", "failed", 1)
    assert head["run"]["tokens"] == 3 * 34
    assert [task["id"] for task in data["tasks"][head["run"]["id"]]] == ["bad", "good", "sometimes"]
    trials = [(one["task"], one["number"], one["status"]) for one in only(data["trials"])]
    assert trials == [
        *(("bad", number, "failed") for number in (1, 2, 3)),
        *(("sometimes", 2, "failed"), ("sometimes", 3, "error")),
        *(("good", number, "passed") for number in (1, 2, 3)),
        ("sometimes", 1, "passed"),
    ]
    page = Page((suite.parent / "report.html").read_text(encoding="utf-8"))
    assert "✗ Failed" in page.lines
    assert page.after("Tasks")[1].startswith("bad | failed")


@with_pages
def test_it_is_below_400_kb_besides_its_data_and_runs_one_script_by_its_hash(suite: Path):
    run(suite)
    waza("report", "-o", "r.html", cwd=suite.parent)
    text = (suite.parent / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    data, script = page.text["script"]
    assert len(text.encode()) - len(data.encode()) < 400_000
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv")]
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "href", "action"}
    assert all("url(" not in style and "@import" not in style for style in page.text["style"])


@with_pages
def test_o_of_a_run_writes_the_same_report(suite: Path):
    ended = run(suite, "-o", "run.html")
    assert "Written: run.html" in ended.err
    waza("report", "-o", "report.html", cwd=suite.parent)
    assert embedded(suite.parent / "run.html") == embedded(suite.parent / "report.html")
    run(suite, "-o", "unsaved.HTM", "--no-save")
    unsaved = embedded(suite.parent / "unsaved.HTM")
    assert len(only(unsaved["trials"])) == 9
    assert unsaved["heads"][0]["verdict"] == embedded(suite.parent / "run.html")["heads"][0]["verdict"]


@with_pages
def test_several_runs_and_what_did_not_start(tmp_path: Path):
    for name, head in (
        ("fine", SAYS),
        ("broken", "hooks: {before_run: [{command: exit 7, error_on_fail: true}]}"),
    ):
        mock_suite(tmp_path / "skills" / name, {"t": PASSES}, f"skill: {name}\n{head}")
        write_tree(tmp_path / "skills" / name, {"SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"})
    waza("run", "--model", "x", "--model", "y", "-o", "run.html", cwd=tmp_path)
    (invocation,) = (tmp_path / ".waza" / "invocations").glob("*.ndjson")
    ended = waza("report", invocation.stem, "-o", "report.html", cwd=tmp_path)
    assert (ended.code, "2 runs" in ended.err) == (0, True)
    for name in ("run.html", "report.html"):
        data = embedded(tmp_path / name)
        assert [head["run"]["model"] for head in data["heads"]] == ["x", "y"]
        for head in data["heads"]:
            assert [one["name"] for one in head["notStarted"]] == ["broken on x", "broken on y"]
        page = Page((tmp_path / name).read_text(encoding="utf-8"))
        assert page.lines[:2] == ["Waza results", "✗ Failed"]
        assert sum(line.startswith("broken on") and "not started" in line for line in page.lines) == 2
        assert len([one for one in page.all("div") if "data-overview" in one]) == 2


@with_pages
def test_what_is_left_out_of_a_huge_run_is_said_and_what_failed_comes_first(tmp_path: Path):
    long = "x" * 20_000
    tasks = {f"t{i}": f"inputs: {{prompt: p}}\nmock: {{output: 'hello {long}'}}" for i in range(30)}
    tasks["bad"] = f"inputs: {{prompt: p}}\nmock: {{output: 'nothing {long}'}}"
    run(mock_suite(tmp_path, tasks, SAYS))
    ended = waza("report", "-o", "r.html", "--max-size", "0.6", cwd=tmp_path)
    assert ended.code == 0
    assert 400_000 < (tmp_path / "r.html").stat().st_size <= 600_000
    data = embedded(tmp_path / "r.html")
    trials = only(data["trials"])
    assert trials[0]["task"] == "bad"
    assert len(trials[0]["judgedText"]) > 20_000, "what failed is whole"
    assert 0 < len(trials) < 31
    (note,) = [line for line in data["heads"][0]["warnings"] if "not in this file" in line]
    assert note.startswith(
        f"{31 - len(trials)} of 31 trials are not in this file, to keep it small; `waza show "
    )
    assert note in ended.err
    assert any(note in line for line in Page((tmp_path / "r.html").read_text(encoding="utf-8")).lines)


@with_pages
def test_a_trial_that_is_too_large_is_shortened_and_says_so(tmp_path: Path):
    long = "hello " * 200_000
    run(mock_suite(tmp_path, {"t": f"inputs: {{prompt: p}}\nmock: {{output: '{long}'}}"}, SAYS))
    waza("report", "-o", "r.html", "--max-size", "1", cwd=tmp_path)
    assert (tmp_path / "r.html").stat().st_size <= 1_000_000
    data = embedded(tmp_path / "r.html")
    (trial,) = only(data["trials"])
    assert len(trial["judgedText"]) <= 1000
    assert [one["highlights"] for one in trial["checks"]] == [[]]
    assert trial["facts"][-1]["name"] == "Shortened in this file"
    assert data["heads"][0]["warnings"] == [
        "long texts of 1 trial are shortened in this file, to keep it small"
    ]


@with_pages
def test_texts_of_others_stay_data(tmp_path: Path):
    name = json.dumps(HOSTILE.encode().decode("unicode_escape"))
    task = f"name: {name}\ninputs: {{prompt: p}}\nmock: {{output: {name}}}"
    run(mock_suite(tmp_path, {"t": task}, SAYS))
    waza("report", "-o", "r.html", cwd=tmp_path)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert len(page.all("script")) == 2
    assert not {"\u2028", "\u2029"} & set(text)
    (trial,) = only(embedded(tmp_path / "r.html")["trials"])
    assert trial["judgedText"] == json.loads(name)


def test_what_cannot_be_is_refused(suite: Path):
    ended = waza("report", cwd=suite.parent)
    assert (ended.code, "there is no run in" in ended.err) == (2, True)
    run(suite, "-o", "r.json")
    before = (suite.parent / "r.json").read_bytes()
    for args, message in (
        (["r.json", "-o", "r.json"], "r.json is what is to be run; name another file"),
        (["nothing"], "'nothing' is neither a file nor a directory"),
        (["--max-size", "0"], "'0' is not a number of megabytes"),
        (["-o", "."], ". is a directory"),
    ):
        ended = waza("report", *args, cwd=suite.parent)
        assert (ended.code, message in ended.err) == (2, True), ended.err
    assert (suite.parent / "r.json").read_bytes() == before


@with_pages
def test_a_run_that_goes_on_has_what_has_finished(project: Project):
    slow = "inputs: {prompt: p}\nmock: {output: hello, delay_ms: 100000000}"
    suite = mock_suite(project.home, {"a": PASSES, "b": slow}, SAYS)
    with project.started("run", suite) as live:
        live.until(lambda: len(project.finished()) == 1)
        ended = waza("report", "-o", "r.html", cwd=project.home)
    assert ended.code == 0, ended.err
    (head,) = embedded(project.home / "r.html")["heads"]
    assert (head["verdict"]["word"], head["counts"]["notStarted"]) == ("in progress", 1)
    lines = Page((project.home / "r.html").read_text(encoding="utf-8")).lines
    assert any("not started" in line for line in lines)


DOCUMENT = {
    "schemaVersion": "1.3.0",
    "default_evaluators": {"ExactMatch": {}},
    "items": [
        {"prompt": "What is it?", "response": "hello", "expected_response": "hello"},
        {"prompt": f"And this? {HOSTILE}", "response": "no", "expected_response": "hello"},
    ],
}


@with_pages
def test_an_evaluation_document_with_all_of_its_items_in_one_file(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": json.dumps(DOCUMENT)})
    ended = waza("m365", "run", "evals.json", "--agent", "recorded", "-o", "results.json", cwd=tmp_path)
    assert ended.code == 1, ended.err
    ended = waza("report", "results.json", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "")
    assert re.search(r"^report.html: 2 items, 0\.\d MB$", ended.err, re.MULTILINE)
    data = embedded(tmp_path / "report.html")
    assert (data["heads"], data["tasks"], data["trials"]) == ([], {}, {})
    (document,) = data["documents"]
    assert document["document"]["id"] == "results.json"
    assert [(item["status"], item["turns"][0]["response"]) for item in document["items"]] == [
        ("fail", "no"),
        ("pass", "hello"),
    ]
    assert HOSTILE in document["items"][0]["turns"][0]["prompt"]
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "50% 1 of 2 items passes" in page.lines
    before = (tmp_path / "results.json").read_bytes()
    for args in (("results.json", "-o", "results.json"), ("results.json", "evals.json")):
        assert waza("report", *args, cwd=tmp_path).code == 2
    assert (tmp_path / "results.json").read_bytes() == before
