import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from waza.engine.journal import JOURNAL, Header, Journal, find_run, is_complete, new_run_id, read_header
from waza.engine.record import empty_digest
from waza.errors import UsageError, WazaError
from waza.model.result import RunResult


def header(
    run_id: str = "run-20260101T000000Z-aaaaaa", suite: str = "/s/eval.yaml", model: str = "m"
) -> Header:
    return Header(
        id=run_id,
        suite=suite,
        digest="d",
        model=model,
        arms=["main"],
        waza="1",
        started="2026-01-01T00:00:00Z",
    )


def trial(number: int = 1, output: str = "ü\n") -> RunResult:
    return RunResult(
        run_number=number,
        attempts=1,
        status="passed",
        duration_ms=1,
        validations=None,
        session_digest=empty_digest(),
        final_output=output,
    )


def test_what_is_appended_is_read_again(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    first = journal.append("main", "a", trial(1))
    second = journal.append("baseline", "b", trial(2, "x" * 100_000), cached=True)
    assert journal.trials == 2
    assert journal.read(second).final_output == "x" * 100_000
    assert journal.read(first) == trial(1)
    found = [(offset, one.arm, one.task, one.cached) for offset, one in journal]
    assert found == [(first, "main", "a", False), (second, "baseline", "b", True)]
    assert journal.results == tmp_path / header().id / "results.json"
    assert not is_complete(journal.directory)
    journal.end({"durations": {"main": 3}})
    assert is_complete(journal.directory)
    journal.close()
    assert read_header(journal.directory) == header()


def test_each_line_is_on_disk_when_it_was_appended(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    journal.append("main", "a", trial())
    lines = (journal.directory / JOURNAL).read_bytes().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["run", "trial"]
    journal.close()


def test_reopened_it_goes_on_where_it_was_and_drops_a_torn_line(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    kept = journal.append("main", "a", trial(1))
    journal.append("main", "a", trial(2))
    journal.close()
    path = journal.directory / JOURNAL
    path.write_bytes(path.read_bytes()[:-3])
    again = Journal.reopen(journal.directory)
    assert [offset for offset, _ in again] == [kept]
    new = again.append("main", "a", trial(3))
    assert again.read(new).run_number == 3
    assert [one.run.run_number for _, one in again] == [1, 3]
    again.close()


def test_two_processes_cannot_have_it(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    with pytest.raises(WazaError, match="in use by another run"):
        Journal.reopen(journal.directory)
    journal.close()
    Journal.reopen(journal.directory).close()


def test_an_offset_without_a_trial_is_told(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    with pytest.raises(WazaError, match="no trial at byte 0"):
        journal.read(0)
    journal.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "never started"),
        (b'{"run": {"id"', "never started"),
        (b'{"end": {}}\n', "never started"),
        (b"nonsense\n", "damaged at byte 0"),
        (b'{"run": {"id": 3}}\n', "damaged at byte 0"),
    ],
)
def test_journals_without_a_header(tmp_path: Path, content: bytes, why: str):
    (tmp_path / JOURNAL).write_bytes(content)
    with pytest.raises(WazaError, match=why):
        read_header(tmp_path)


def test_a_failed_reopening_frees_the_journal(tmp_path: Path):
    (tmp_path / JOURNAL).write_bytes(b'{"end": {}}\n')
    for _ in range(2):
        with pytest.raises(WazaError, match="never started"):
            Journal.reopen(tmp_path)


def test_run_ids():
    now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone(timedelta(hours=2)))
    ids = {new_run_id(now) for _ in range(50)}
    assert len(ids) == 50
    assert {one[:-6] for one in ids} == {"run-20260304T030607Z-"}
    assert new_run_id(now.astimezone(UTC))[:-6] in {one[:-6] for one in ids}


def test_the_newest_run_of_a_suite_and_model(tmp_path: Path):
    ids = ["run-20260101T000000Z-ffffff", "run-20260103T000000Z-aaaaaa", "run-20260102T000000Z-cccccc"]
    for run_id in ids:
        Journal.create(tmp_path, header(run_id)).close()
    Journal.create(tmp_path, header("run-20260104T000000Z-000000", suite="/other/eval.yaml")).close()
    Journal.create(tmp_path, header("run-20260105T000000Z-000000", model="other")).close()
    (tmp_path / "run-20260106T000000Z-000000").mkdir()
    (tmp_path / "run-20260107T000000Z-000000").mkdir()
    (tmp_path / "run-20260107T000000Z-000000" / JOURNAL).touch()
    suite = Path("/s/eval.yaml")
    assert find_run(tmp_path, suite, "m") == tmp_path / ids[1]
    assert find_run(tmp_path, suite, "other") == tmp_path / "run-20260105T000000Z-000000"
    assert find_run(tmp_path, suite, "third") is None
    assert find_run(tmp_path / "nowhere", suite, "m") is None
    assert find_run(tmp_path, suite, "m", ids[0]) == tmp_path / ids[0]


@pytest.mark.parametrize("wanted", ["run-x", "..", "../x", "a/b", "", " ", "run-20260106T000000Z-000000"])
def test_an_id_that_is_none(tmp_path: Path, wanted: str):
    (tmp_path / "run-20260106T000000Z-000000").mkdir()
    if not wanted:
        assert find_run(tmp_path, Path("s"), "m", wanted) is None
        return
    with pytest.raises(UsageError, match="there is no run"):
        find_run(tmp_path, Path("s"), "m", wanted)
