"""Reporters of suites on evaluation documents: the same items, and never greener than the results."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import MATCH, document
from tests.support.program import waza, write_tree

GOOD = {"prompt": "p", "response": "Lima", "expected_response": "Lima"}
BAD = {"prompt": "p", "response": "Oslo", "expected_response": "Lima"}
ITEMS: dict[str, Any] = {
    "good": GOOD,
    "bad": BAD,
    "silent": {"prompt": "p", "expected_response": "Lima"},  # the agent gives no answer
    "late": {"turns": [GOOD, BAD]},
    "early": {"turns": [BAD, GOOD]},
    "unjudged": {**GOOD, "evaluators": {"Relevance": {}}},  # its judge is broken
}
JUDGE = json.dumps([{"reply": "no JSON"}])


@pytest.mark.parametrize("names", [*([name] for name in ITEMS), list(ITEMS)], ids="+".join)
def test_documents_have_the_reports_of_suites(tmp_path: Path, names: list[str]):
    write_tree(
        tmp_path,
        {
            "evals.json": document(*map(ITEMS.__getitem__, names), default_evaluators=MATCH),
            "broken.json": JUDGE,
        },
    )
    flags = ["--agent", "recorded", "--judge", "mock:broken.json", "-o", "result.json"]
    ended = waza(
        "m365", "run", "evals.json", *flags,
        "--reporter", "junit:j.xml", "--reporter", "markdown:m.md", cwd=tmp_path,
    )  # fmt: skip
    passed = names == ["good"]
    assert ended.code == (0 if passed else 1), ended.err
    (suite,) = ET.parse(tmp_path / "j.xml").getroot()  # noqa: S314  # our own file
    cases = {
        case.get("name"): [child.tag for child in case if child.tag in ("failure", "error")] for case in suite
    }
    expected = {"good": [], "bad": ["failure"], "late": ["failure"], "early": ["failure"]}
    found = {name: cases[f"item-{number}"] for number, name in enumerate(names, 1)}
    assert found == {name: expected.get(name, ["error"]) for name in names}
    markdown = (tmp_path / "m.md").read_text(encoding="utf-8")
    assert ("**✅ Passed**" in markdown, "**❌ Failed**" in markdown) == (passed, not passed)
    assert "Written: j.xml" in ended.err


def test_waza_run_of_a_document_takes_reporters(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document(GOOD)})
    ended = waza(
        "run",
        "evals.json",
        "--executor",
        "recorded",
        "-o",
        "r.json",
        "--reporter",
        "junit:out/",
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["evals_default.xml"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--reporter", "json:x.json"],
            "results of evaluation documents are written as JSON by -o FILE.json and --json",
        ),
        (["--reporter", "junit"], "the reporter junit needs a file: junit:PATH"),
        (["--reporter", "junit:r.json"], "r.json is named by two options and would hold only one of both"),
        (["--reporter", "junit:evals.json"], "evals.json is what is to be run; name another file"),
    ],
    ids=["json", "no file", "two in one", "an input"],
)
def test_reporters_that_cannot_be_are_refused(tmp_path: Path, flags: list[str], message: str):
    text = document(GOOD)
    write_tree(tmp_path, {"evals.json": text})
    ended = waza("m365", "run", "evals.json", "--agent", "recorded", "-o", "r.json", *flags, cwd=tmp_path)
    assert (ended.code, message in ended.err) == (2, True), ended.err
    assert (tmp_path / "evals.json").read_text() == text
    assert not (tmp_path / "r.json").exists()
