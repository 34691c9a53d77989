"""`waza label`: what raters see and do not see, and what is kept of it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.support.program import LIMIT, Ended, command, environment, mock_suite, strict_json, waza

GRADERS = """
graders:
  - {type: prompt, name: tone, config: {prompt: "Is it polite? Say why."}}
  - {type: text, name: words, config: {contains: ["a"]}}
"""
HOSTILE = "</pre><script>alert(1)</script>\\x1b[31m ::error:: &amp; \\u202e"


def task(answer: str, judge: str = "[{pass: SECRET-REASON}]") -> str:
    return f'inputs: {{prompt: "Say {answer[:5]}"}}\nmock: {{output: "{answer}", judge: {{tone: {judge}}}}}\n'


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    tasks = {
        "one": task("answer one"),
        "two": task("answer two", "[{fail: SECRET-REASON}]"),
        "three": task(HOSTILE),
    }
    mock_suite(tmp_path, tasks, GRADERS)
    assert waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path).code == 1
    return tmp_path


def label(suite: Path, typed: str, *options: str) -> Ended:
    return waza("label", "results.json", "--terminal", "--rater", "ann", *options, cwd=suite, stdin=typed)


def labels_of(suite: Path, name: str = "labels.json") -> dict[str, Any]:
    found: dict[str, Any] = strict_json((suite / name).read_bytes())
    return found


def answers_of(out: str) -> list[str]:
    return re.findall(r"^Answer:\n(.*)$", out, re.MULTILINE)


def test_a_rater_sees_prompt_criterion_and_answer_and_nothing_of_the_verdict(suite: Path) -> None:
    ended = label(suite, "p\nf\nu\n")
    assert ended.code == 0, ended.err
    assert "Is it polite? Say why." in ended.out
    assert "Say answe" in ended.out
    assert sorted(answers_of(ended.out))[1:] == ["answer one", "answer two"]
    for hidden in (
        "SECRET-REASON",
        "test-model",
        "passed",
        "failed",
        "score",
        "words",
        "set_waza_grade",
        "\x1b",
    ):
        assert hidden not in ended.out, hidden
    kept = labels_of(suite)
    assert (kept["kind"], kept["schemaVersion"]) == ("waza.labels", "1.0")
    assert kept["run"] == strict_json((suite / "results.json").read_bytes())["eval_id"]
    assert kept["results"] == "results.json"
    assert sorted(one["task"] for one in kept["labels"]) == ["one", "three", "two"]
    assert sorted(one["label"] for one in kept["labels"]) == ["fail", "pass", "unsure"]
    assert {one["grader"] for one in kept["labels"]} == {"tone"}
    assert all(
        re.fullmatch("[0-9a-f]{64}", one["answer_sha256"]) and one["time"].endswith("Z")
        for one in kept["labels"]
    )


def test_labelling_goes_on_where_it_ended_in_the_recorded_order(suite: Path) -> None:
    first = label(suite, "x\npass\nq\n", "--seed", "7")
    assert "'x' is not one of them" in first.err
    assert "1 of 3 questions labelled by ann" in first.err
    assert labels_of(suite)["seeds"] == {"ann": 7}
    second = label(suite, "")
    assert answers_of(second.out)[0] == answers_of(first.out)[-1]  # the one at which it ended
    assert len(labels_of(suite)["labels"]) == 1
    third = label(suite, "s\nf\n")  # one is skipped, and stays open
    assert "2 of 3" in third.err
    assert [one["label"] for one in labels_of(suite)["labels"]] == ["pass", "fail"]
    other = label(suite, "p\np\np\n", "--seed", "7", "-o", "other.json")
    assert answers_of(other.out) == [*answers_of(first.out)[:1], *answers_of(third.out)]
    refused = label(suite, "p\n", "--seed", "8")
    assert (refused.code, refused.out) == (2, "")
    assert "ann began with --seed 7" in refused.err


def test_the_order_follows_from_the_seed(suite: Path) -> None:
    orders = {tuple(answers_of(label(suite, "s\ns\ns\n", "--seed", str(seed)).out)) for seed in range(4)}
    assert len(orders) > 1
    assert len({frozenset(one) for one in orders}) == 1
    assert not (suite / "labels.json").exists()  # nothing was labelled


def test_two_raters_label_the_same_answers(suite: Path) -> None:
    label(suite, "p\np\np\n")
    assert label(suite, "f\nf\nf\n", "--rater", "ben").code == 0
    kept = labels_of(suite)["labels"]
    assert {(one["rater"], one["label"]) for one in kept} == {("ann", "pass"), ("ben", "fail")}
    assert len(kept) == 6
    assert set(labels_of(suite)["seeds"]) == {"ann", "ben"}


def test_an_answer_that_changed_is_named_and_asked_again(suite: Path) -> None:
    label(suite, "p\np\np\n")
    results = strict_json((suite / "results.json").read_bytes())
    changed = next(one for one in results["tasks"] if one["test_id"] == "one")
    changed["runs"][0]["final_output"] = "another answer"
    (suite / "results.json").write_text(json.dumps(results), encoding="utf-8")
    ended = label(suite, "f\n")
    assert "one, trial 1: the answer changed since ann labelled it by tone" in ended.err
    assert answers_of(ended.out) == ["another answer"]
    assert {one["task"]: one["label"] for one in labels_of(suite)["labels"]} == {
        "one": "fail",
        "two": "pass",
        "three": "pass",
    }


def test_answers_that_broke_are_not_asked_about(tmp_path: Path) -> None:
    broke = "inputs: {prompt: p}\nmock: {error: lost, judge: {tone: [{pass: x}]}}\n"
    unjudged = "inputs: {prompt: p}\nmock: {output: an answer, judge: {tone: [{error: lost}]}}\n"
    mock_suite(tmp_path, {"broke": broke, "unjudged": unjudged}, GRADERS)
    waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path)
    assert answers_of(label(tmp_path, "p\np\n").out) == ["an answer"]


def test_both_arms_are_asked_about_and_not_told_apart(tmp_path: Path) -> None:
    head = f"skill: bot\n{GRADERS}"
    mock_suite(tmp_path, {"one": task("answer one")}, head)
    (tmp_path / "skills/bot").mkdir(parents=True)
    (tmp_path / "skills/bot/SKILL.md").write_text("---\nname: bot\ndescription: d\n---\nHelp.")
    ended = waza("run", "eval.yaml", "--baseline", "-o", "results.json", cwd=tmp_path)
    assert "baseline_outcome" in strict_json((tmp_path / "results.json").read_bytes()), ended.err
    ended = label(tmp_path, "p\nf\n")
    assert answers_of(ended.out) == ["answer one", "answer one"]
    assert "baseline" not in ended.out
    assert {one.get("arm", "main") for one in labels_of(tmp_path)["labels"]} == {"main", "baseline"}


def test_what_cannot_be_labelled_is_refused(suite: Path) -> None:
    refusals = {
        ("--grader", "none"): "no answer has a verdict of a grader 'none'; there are: tone, words",
        ("--rater", ""): "",
        ("--rater", " "): "--rater is ' '",
        ("-o", "results.json"): "results.json is not a labels file",
    }
    for options, message in refusals.items():
        ended = label(suite, "", *options)
        assert (ended.code == 2) == bool(message), options
        assert message in ended.err
    assert label(suite, "p\n", "--grader", "words", "-o", "words.json").code == 0
    assert labels_of(suite, "words.json")["labels"][0]["grader"] == "words"
    label(suite, "p\n")
    kept = labels_of(suite)
    (suite / "labels.json").write_text(json.dumps({**kept, "run": "another"}))
    ended = label(suite, "p\n")
    assert ended.code == 2
    assert "labels.json has labels of another" in ended.err
    (suite / "labels.json").write_text(json.dumps({**kept, "labels": kept["labels"] * 2}))
    assert "two labels of ann" in label(suite, "p\n").err


class Page:
    """A running `waza label` and its address."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.port
        self.port, self.token = parts.port, parts.path.strip("/")

    def request(
        self,
        path: str,
        method: str = "GET",
        body: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.request(method, path, body, {"Host": f"localhost:{self.port}", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()


@contextmanager
def labelling(suite: Path, *options: str) -> Iterator[tuple[Page, subprocess.Popen[str]]]:
    process = subprocess.Popen(
        command("label", "results.json", "--rater", "ann", *options),
        cwd=suite,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("waza label: http://localhost:"), (line, process.poll())
        yield Page(line.removeprefix("waza label: ").strip()), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_page_labels_and_is_for_those_who_know_its_address(suite: Path) -> None:
    with labelling(suite, "--seed", "3") as (page, process):
        status, headers, _ = page.request(f"/{page.token}/")
        assert (status, headers["location"]) == (303, f"/{page.token}/0")
        status, headers, body = page.request(f"/{page.token}/0")
        assert status == 200
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "script" not in headers["content-security-policy"]
        assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
        for hidden in ("SECRET-REASON", "test-model", "set_waza_grade", "score"):
            assert hidden not in body
        assert "Is it polite? Say why." in body

        for number, choice in enumerate(("pass", "fail")):
            status, headers, _ = page.request(f"/{page.token}/{number}", "POST", f"label={choice}")
            assert (status, headers["location"]) == (303, f"/{page.token}/{number + 1}")
        assert [one["label"] for one in labels_of(suite)["labels"]] == ["pass", "fail"]
        page.request(f"/{page.token}/0", "POST", "label=unsure")  # another thought
        assert sorted(one["label"] for one in labels_of(suite)["labels"]) == ["fail", "unsure"]
        assert "Your label: Unsure" in page.request(f"/{page.token}/0")[2]
        status, headers, _ = page.request(f"/{page.token}/2", "POST", "label=pass")
        assert (status, headers["location"]) == (303, f"/{page.token}/")
        assert "All labelled" in page.request(f"/{page.token}/")[2]

        bodies = [page.request(f"/{page.token}/{number}")[2] for number in range(3)]
        hostile = next(one for one in bodies if "alert(1)" in one)
        assert "<script" not in hostile
        assert "</pre><script>alert(1)</script>\\x1b[31m" in unescape(hostile)
        assert "\u202e" not in hostile

        before = labels_of(suite)
        for path, method, form, host, expected in (
            ("/", "GET", None, "", 404),
            ("/wrong/0", "GET", None, "", 404),
            ("/wrong/0", "POST", "label=fail", "", 404),
            (f"/{page.token}/3", "GET", None, "", 404),
            (f"/{page.token}/-1", "GET", None, "", 404),
            (f"/{page.token}/0/0", "GET", None, "", 404),
            (f"/{page.token}/0", "PUT", "label=fail", "", 405),
            (f"/{page.token}/0", "POST", "label=good", "", 400),
            (f"/{page.token}/0", "POST", "", "", 400),
            (f"/{page.token}/0", "POST", "label=" + "f" * 2000, "", 413),
            (f"/{page.token}/0", "POST", "label=fail", "evil.example", 421),
        ):
            status, _, body = page.request(path, method, form, {"Host": host} if host else None)
            assert status == expected, (path, method, body)
            assert page.token not in body
        assert labels_of(suite) == before

        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0
        assert "3 of 3 questions labelled by ann: labels.json" in err
        assert "Traceback" not in err


def test_a_browser_that_goes_away_in_the_middle_of_a_form_is_no_defect(suite: Path) -> None:
    with labelling(suite) as (page, process):
        with socket.create_connection(("127.0.0.1", page.port), timeout=LIMIT) as cut:
            head = (
                f"POST /{page.token}/0 HTTP/1.1\r\nHost: localhost:{page.port}\r\nContent-Length: 50\r\n\r\n"
            )
            cut.sendall(f"{head}label=pa".encode())
        assert page.request(f"/{page.token}/0", "POST", "label=fail")[0] == 303
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        assert "Traceback" not in err
        assert [one["label"] for one in labels_of(suite)["labels"]] == ["fail"]


def test_a_labels_file_whose_place_cannot_be_made_is_an_error(suite: Path) -> None:
    ended = label(suite, "p\n", "-o", "results.json/labels.json")
    assert ended.code == 2
    assert "Error: cannot write results.json/labels.json: " in ended.err


def test_a_label_of_somebody_who_forges_lines_is_refused(suite: Path) -> None:
    label(suite, "p\n")
    kept = labels_of(suite)
    forged = {**kept["labels"][0], "rater": "ann\nkappa with people: 1.00"}
    text = json.dumps({**kept, "labels": [*kept["labels"], forged]})
    (suite / "labels.json").write_text(text, encoding="utf-8")
    for ended in (
        label(suite, "p\n"),
        waza("assure", "calibrate", "eval.yaml", "--labels", "labels.json", "--yes", cwd=suite),
    ):
        assert (ended.code, ended.out) == (2, "")
        assert r"a label of the rater 'ann\nkappa with people: 1.00'" in ended.err
    (suite / "labels.json").write_text("\ufeff" + json.dumps(kept), encoding="utf-8")  # an editor's mark
    assert "1 of 3 questions labelled by ann" in label(suite, "").err


def test_a_label_that_cannot_be_kept_is_not_taken_for_one(suite: Path) -> None:
    with labelling(suite) as (page, process):
        (suite / "labels.json").mkdir()
        status, _, body = page.request(f"/{page.token}/0", "POST", "label=pass")
        assert status == 500
        assert "The label was not kept" in body
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=LIMIT)
        assert "nothing was labelled" in err
