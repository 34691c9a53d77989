"""The files of a run: which there are, and how they are called."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report.factory import outcome, task

from waza.cli.outputs import (
    CommandResults,
    ReporterOption,
    SkillOutcome,
    add_suffix,
    file_name_part,
    json_documents,
    make_suffixes,
    parse_reporter,
    write_results,
    write_tree,
)
from waza.errors import UsageError
from waza.results.verdict import NotStarted

NOW = datetime(2026, 1, 31, 14, 25, 30, 123_999, tzinfo=UTC)


def done(skill: str, model: str = "m", name: str = "T") -> SkillOutcome:
    return SkillOutcome(skill=skill, outcome=outcome(task(name), model=model))


def results(*found: SkillOutcome, not_started: tuple[NotStarted, ...] = ()) -> CommandResults:
    return CommandResults(done=found, not_started=not_started)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt-4.1", "gpt-4.1"),
        ("a/b\\c:d e", "a-b-c-d-e"),
        ("", "default"),
        (".", "-"),
        ("..", "--"),
        ("...", "---"),
        ("../../x", "..-..-x"),
        ('<>"|?*\t\x7f', "--------"),
        ("é🎯", "é🎯"),
        ("é" * 99, "é" * 50),
    ],
)
def test_a_name_as_a_part_of_a_file_name(name: str, expected: str):
    assert file_name_part(name) == expected


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8")))
def test_any_name_is_one_part_of_a_path_and_leads_nowhere(name: str):
    part = file_name_part(name)
    assert Path("x", part).parts == ("x", part)
    assert part not in (".", "..")
    assert 0 < len(part.encode()) <= 100


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([done("s", "m")], [""]),
        ([done("s", "a"), done("s", "b")], ["_a", "_b"]),
        ([done("s", "a"), done("t", "a")], ["_s", "_t"]),
        ([done("s", "a"), done("s", "b"), done("t", "a")], ["_s_a", "_s_b", "_t_a"]),
        ([done("s", "a/b"), done("s", "a:b"), done("s", "a-b-2")], ["_a-b", "_a-b-2", "_a-b-2-2"]),
        ([done("s", "GPT"), done("s", "gpt")], ["_GPT", "_gpt-2"]),
        ([done("s", ""), done("s", "default")], ["_default", "_default-2"]),
        ([done("summary"), done("other")], ["_summary-2", "_other"]),
        ([done("s"), done("s")], ["", "-2"]),
    ],
)
def test_what_is_added_to_names_of_files(outcomes: list[SkillOutcome], expected: list[str]):
    assert make_suffixes(results(*outcomes).keys) == expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text("ab/:-2 ", max_size=4), st.text("aA.-2", max_size=3)), min_size=1, max_size=6)
)
def test_no_two_files_have_one_name(pairs: list[tuple[str, str]]):
    found = [add_suffix(Path("r.json"), suffix).name.casefold() for suffix in make_suffixes(pairs)]
    assert len(set(found)) == len(found)
    assert "r_summary.json" not in found


def test_a_path_without_an_extension():
    assert add_suffix(Path("out/r"), "_m") == Path("out/r_m")
    assert add_suffix(Path("out/r.tar.gz"), "_m") == Path("out/r.tar_m.gz")
    assert add_suffix(Path("out/r.json"), "") == Path("out/r.json")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json", ReporterOption("json")),
        ("json:r.json", ReporterOption("json", Path("r.json"))),
        ("junit:C:/out/j.xml", ReporterOption("junit", Path("C:/out/j.xml"))),
        ("markdown:-", ReporterOption("markdown", Path("-"))),
    ],
)
def test_reporters(text: str, expected: ReporterOption):
    assert parse_reporter(text) == expected


@pytest.mark.parametrize("text", ["", "xml", "JUnit:x", "junit", "junit:", "markdown"])
def test_reporters_that_cannot_be(text: str):
    with pytest.raises(UsageError, match="reporter"):
        parse_reporter(text)


def test_a_folder_of_its_own_for_each_run_of_one_moment(tmp_path: Path):
    first = write_tree(tmp_path, results(done("s")), NOW)
    second = write_tree(tmp_path, results(done("s", "a/b"), done("t", "a:b"), done("s", "a:b")), NOW)
    assert [str(path.relative_to(tmp_path)) for path in first] == ["2026-01-31T142530.123/m.json"]
    assert [str(path.relative_to(tmp_path)) for path in second] == [
        "2026-01-31T142530.123-2/s/a-b.json",
        "2026-01-31T142530.123-2/t/a-b.json",
        "2026-01-31T142530.123-2/s/a-b-2.json",
    ]
    assert all(path.is_file() for path in (*first, *second))


def test_the_summary_counts_every_model_of_a_skill(tmp_path: Path):
    failed = SkillOutcome(skill="t", outcome=outcome(task("A"), task("B", status="error"), model="y"))
    written = write_results(
        tmp_path / "r.json", results(done("s", "x"), done("t", "x"), failed), summary=True
    )
    assert [path.name for path in written] == ["r_s_x.json", "r_t_x.json", "r_t_y.json", "r_summary.json"]
    summary = json.loads(written[-1].read_bytes())
    assert re.fullmatch(r"\d{4}-.*[+-]\d\d:\d\d", summary["timestamp"])
    assert summary["skills"][1] == {
        "skill_name": "t", "models": ["x", "y"], "pass_rate": 2 / 3, "aggregate_score": 0.75,
        "output_files": ["r_t_x.json", "r_t_y.json"],
    }  # fmt: skip
    assert summary["overall"] == {
        "total_skills": 2, "total_models": 2, "avg_pass_rate": (1 + 2 / 3) / 2, "avg_aggregate_score": 0.875,
    }  # fmt: skip
    assert len(write_results(tmp_path / "n.json", results(done("s"), done("t")), summary=False)) == 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_json_documents_parse(count: int):
    outcomes = [done("s", str(number)) for number in range(count)]
    found = json.loads(b"".join(json_documents(results(*outcomes))))
    found = found if count > 1 else [found]
    assert [one["config"]["model_id"] for one in found] == [str(number) for number in range(count)]
