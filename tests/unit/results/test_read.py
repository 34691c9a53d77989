"""Reading results files: versions, other writers, and what is refused and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.factory import outcome, run, task

from waza.errors import SuiteError
from waza.problem import Problem
from waza.results.read import load, open_results
from waza.results.write import encode

# What another program may write: null for lists and maps, floats for ints, half of the fields.
FOREIGN = {
    "eval_id": "run-1789000000",
    "eval_name": "greeter-eval",
    "summary": {"total_tests": 2.0, "succeeded": 1, "failed": 1, "success_rate": 0.5},
    "metrics": None,
    "tasks": [
        {
            "test_id": "a",
            "status": "failed",
            "runs": [
                {
                    "run_number": 1,
                    "attempts": 1.0,
                    "status": "error",
                    "duration_ms": 3,
                    "validations": None,
                    "session_digest": {"tool_call_count": 0, "tools_used": None, "errors": None},
                    "final_output": "",
                    "tool_events": None,
                    "failure_artifacts": {"captured_at": "x", "failed_graders": None},
                }
            ],
        },
        {
            "test_id": "b",
            "display_name": "B",
            "status": "passed",
            "runs": [
                {
                    "status": "passed",
                    "validations": {
                        "t": {"type": "text", "score": 1, "passed": True, "details": {"failures": None}},
                        "u": {"type": "text", "score": 1, "passed": True, "details": None},
                    },
                }
            ],
        },
    ],
}


def file(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "results.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def refusal(path: Path) -> Problem:
    with pytest.raises(SuiteError) as caught:
        load(path)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def test_reads_what_we_write(tmp_path: Path) -> None:
    path = file(tmp_path, b"".join(encode(outcome(task("A", run(1, "failed"), run(2))))))
    result, problems = load(path)
    assert problems == []
    assert result.tasks[0].runs[0].status == "failed"
    assert result.summary.duration_ms == 1234


def test_reads_what_other_programs_write(tmp_path: Path) -> None:
    result, problems = load(file(tmp_path, FOREIGN))
    assert problems == []
    assert result.schemaVersion == "1.4"
    assert result.summary.total_tests == 2
    assert result.metrics == {}
    first, second = result.tasks
    assert first.runs[0].attempts == 1
    assert isinstance(first.runs[0].attempts, int)
    assert first.runs[0].validations is None
    assert first.runs[0].tool_events == []
    assert first.runs[0].failure_artifacts is not None
    assert first.runs[0].failure_artifacts.failed_graders == []
    assert second.runs[0].validations is not None
    assert second.runs[0].validations["t"].details == {"failures": None}
    assert second.runs[0].validations["u"].details == {}
    assert second.runs[0].session_digest.tool_call_count == 0


def test_lists_that_are_null_at_the_top_are_empty(tmp_path: Path) -> None:
    result, _ = load(file(tmp_path, {"summary": {}, "tasks": None}))
    assert result.tasks == []


@pytest.mark.parametrize("version", [None, "", " ", "1.0", "1.4", "1.99", "01.4"])
def test_versions_that_are_read(tmp_path: Path, version: str | None) -> None:
    result, problems = load(file(tmp_path, {**FOREIGN, "schemaVersion": version}))
    assert problems == []
    assert result.schemaVersion == ((version or "").strip() or "1.4")


@pytest.mark.parametrize("version", ["2.0", "0.9"])
def test_another_major_version_is_refused_with_the_way_out(tmp_path: Path, version: str) -> None:
    problem = refusal(file(tmp_path, {**FOREIGN, "schemaVersion": version}))
    assert problem.path == "schemaVersion"
    assert version in problem.message
    assert "1.4" in problem.message
    assert problem.hint == "use the version of waza that wrote it"


@pytest.mark.parametrize("version", ["1", "1.4.0", "x.y", 1.4])
def test_an_invalid_version_is_refused(tmp_path: Path, version: object) -> None:
    assert refusal(file(tmp_path, {**FOREIGN, "schemaVersion": version})).path == "schemaVersion"


def test_unknown_fields_give_one_warning_that_names_the_first(tmp_path: Path) -> None:
    content = json.loads(json.dumps(FOREIGN))
    content["tasks"][0]["runs"][0]["weather"] = {"version": "1.0"}
    content["tasks"][1]["mood"] = "good"
    _, problems = load(file(tmp_path, content))
    assert [problem.path for problem in problems] == ["tasks[0].runs[0].weather"]
    assert problems[0].severity == "warning"


def test_free_maps_have_no_unknown_fields(tmp_path: Path) -> None:
    content = {**FOREIGN, "metadata": {"any": {"thing": [1, None]}}}
    result, problems = load(file(tmp_path, content))
    assert problems == []
    assert result.metadata == {"any": {"thing": [1, None]}}


@pytest.mark.parametrize("kind", ["waza.preflight", "waza.release-collection"])
def test_other_reports_are_refused(tmp_path: Path, kind: str) -> None:
    assert kind in refusal(file(tmp_path, {"kind": kind, "tasks": []})).message


@pytest.mark.parametrize("content", [{}, [], 3, None, {"name": "x"}])
def test_what_is_no_results_file_is_refused(tmp_path: Path, content: object) -> None:
    assert "not a results file" in refusal(file(tmp_path, content)).message


@pytest.mark.parametrize("missing", ["summary", "tasks"])
def test_a_file_without_its_heart_is_refused(tmp_path: Path, missing: str) -> None:
    content = {key: value for key, value in FOREIGN.items() if key != missing}
    assert missing in str(refusal(file(tmp_path, content)))


def test_a_value_of_the_wrong_type_is_named_with_its_place(tmp_path: Path) -> None:
    content = json.loads(json.dumps(FOREIGN))
    content["tasks"][0]["runs"][0]["attempts"] = 1.5
    problem = refusal(file(tmp_path, content))
    assert problem.path == "tasks[0].runs[0].attempts"
    assert "int" in problem.message


def test_an_unknown_status_is_refused(tmp_path: Path) -> None:
    problem = refusal(file(tmp_path, {**FOREIGN, "tasks": [{"test_id": "a", "status": "great", "runs": []}]}))
    assert problem.path == "tasks[0].status"


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b'{\n  "a": NaN\n}', 2, 8),
        (b'{"a": 1}\n x', 2, 2),
        (b'{"a": [1,', 1, 10),
        (b"", 1, 1),
        ('{"é": x'.encode(), 1, 7),
        (b'{\n"a": "\xff"}', 2, 7),
    ],
)
def test_bad_json_is_refused_with_line_and_column(
    tmp_path: Path, content: bytes, line: int, column: int
) -> None:
    problem = refusal(file(tmp_path, content))
    assert (problem.line, problem.column) == (line, column)


def test_numbers_that_no_float_can_hold_are_refused(tmp_path: Path) -> None:
    problem = refusal(file(tmp_path, b'{"tasks":\n [1e999]}'))
    assert (problem.line, problem.column, problem.message) == (2, 3, "the number 1e999 is too large")


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    assert "too deeply" in refusal(file(tmp_path, b"[" * 100_000)).message


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    _, problems = load(file(tmp_path, b"\xef\xbb\xbf" + json.dumps(FOREIGN).encode()))
    assert problems == []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    problem = refusal(tmp_path / "none.json")
    assert problem.file.endswith("none.json")
    assert "cannot be read" in problem.message


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path).message


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b'{"summary": {"success_rate": 1,\n "success_rate": 0.5}, "tasks": []}', (2, 2)),
        (b'{"eval_id": "\xc3\xa9", "eval_\\u0069d": "x", "summary": {}, "tasks": []}', (1, 18)),
        (b'{"summary": {}, "tasks": [], "metadata": {"free": [{"a": 1, "b": 2, "a": 1}]}}', (1, 69)),
    ],
)
def test_duplicate_keys_are_refused_at_their_place(
    tmp_path: Path, content: bytes, place: tuple[int, int]
) -> None:
    problem = refusal(file(tmp_path, content))
    assert (problem.code, problem.line, problem.column) == ("duplicate-key", *place)
    assert "duplicate key" in problem.message


@pytest.mark.parametrize("digits", [310, 500, 5000])
def test_whole_numbers_without_end_are_refused(tmp_path: Path, digits: int) -> None:
    content = b'{"summary": {"total_tests": ' + b"9" * digits + b'}, "tasks": []}'
    problem = refusal(file(tmp_path, content))
    assert (problem.line, problem.column) == (1, 29)
    assert "digits" in problem.message or "too large" in problem.message


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400 + ".5"]
)
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, number: str) -> None:
    content = f'{{"summary": {{"success_rate": {number}}}, "tasks": []}}'.encode()
    assert any(word in refusal(file(tmp_path, content)).message for word in ("JSON", "too large", "digits"))


@pytest.mark.parametrize("rate", [-0.1, 1.1, 80])
def test_a_rate_that_is_no_share_is_refused(tmp_path: Path, rate: float) -> None:
    problem = refusal(file(tmp_path, {"summary": {"success_rate": rate}, "tasks": []}))
    assert problem.path == "summary.success_rate"


def test_two_tasks_of_one_id_are_refused(tmp_path: Path) -> None:
    tasks = [{"test_id": name, "status": "passed"} for name in ("a", "b", "a")]
    problem = refusal(file(tmp_path, {"summary": {}, "tasks": tasks}))
    assert (problem.path, problem.message) == ("tasks[2].test_id", "'a' is also the id of tasks[0]")


def test_two_trials_of_one_number_are_refused(tmp_path: Path) -> None:
    runs = [{"run_number": number, "status": "passed"} for number in (1, 2, 1)]
    tasks = [{"test_id": "a", "status": "passed", "runs": runs}]
    path = file(tmp_path, {"summary": {}, "tasks": tasks})
    problem = refusal(path)
    assert (problem.path, problem.message) == (
        "tasks[0].runs[2].run_number",
        "1 is also the number of runs[0]",
    )
    outcome, _ = open_results(path)
    with pytest.raises(SuiteError, match="also the number"):
        list(outcome.tasks())


def test_nesting_in_free_values_is_refused_or_read_but_never_breaks(tmp_path: Path) -> None:
    for depth in (50, 400, 900, 5000):
        content = b'{"summary": {}, "tasks": [], "metadata": {"x": ' + b"[" * depth + b"]" * depth + b"}}"
        try:
            load(file(tmp_path, content))
        except SuiteError as error:
            assert "too deeply" in str(error)  # noqa: PT017  # either is right, by the version of Python


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("summary.success_rate", 1.5),
        ("config.runs_per_test", 10**10),
        ("tasks[0].missing_trials", 10**12),
        ("tasks[0].missing_trials", -1),
        ("tasks[0].runs[0].duration_ms", 10**300),
        ("tasks[0].runs[0].session_digest.usage.input_tokens", 10**300),
        ("tasks[0].runs[0].validations.t.score", 1e308),
        ("tasks[0].runs[0].validations.t.score", -0.5),
    ],
)
def test_figures_out_of_range_are_refused_by_both_readers(tmp_path: Path, place: str, value: float) -> None:
    run = {"status": "passed", "session_digest": {"usage": {}}, "validations": {"t": {"score": 1}}}
    content: Any = {
        "summary": {},
        "config": {},
        "tasks": [{"test_id": "a", "status": "passed", "runs": [run]}],
    }
    *above, last = place.replace("[0]", ".0").split(".")
    found = content
    for key in above:
        found = found[int(key) if isinstance(found, list) else key]
    found[last] = value
    path = file(tmp_path, content)
    problem = refusal(path)
    assert problem.path == place
    assert "must be from" in problem.message
    with pytest.raises(SuiteError) as caught:
        list(open_results(path)[0].tasks())
    assert caught.value.problems == (problem,)


@pytest.mark.parametrize("read", [load, open_results])
def test_a_number_with_thousands_of_digits_is_refused(tmp_path: Path, read: Any) -> None:
    content = b'{"summary": {"duration_ms": ' + b"9" * 5_000 + b'}, "tasks": []}'
    with pytest.raises(SuiteError, match=r":1:29: .*(digits|too large)"):
        read(file(tmp_path, content))
