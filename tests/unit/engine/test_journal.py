import json
import random
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest
from tests.support.journals import resealed, rewritten

from waza.engine.journal import Journal, new_run_id
from waza.engine.record import empty_digest
from waza.errors import UsageError, WazaError
from waza.model.result import TrialResult
from waza.results.journal_lines import (
    JOURNAL,
    RunEnd,
    RunHeader,
    TrialRecord,
    find_run_directory,
    has_header,
    read_header,
)


def header(run_id: str = "run-20260101T000000Z-aaaaaa") -> RunHeader:
    return RunHeader(
        id=run_id,
        suite="/s/eval.yaml",
        digest="d",
        model="m",
        arms=["main"],
        waza="1",
        started="2026-01-01T00:00:00Z",
    )


def record(number: int = 1, output: str = "ü\n") -> TrialResult:
    return TrialResult(
        run_number=number,
        attempts=1,
        status="passed",
        duration_ms=1,
        validations=None,
        session_digest=empty_digest(),
        final_output=output,
    )


def trial(number: int = 1, output: str = "ü\n") -> TrialRecord:
    return TrialRecord(arm="main", task="a", result=record(number, output))


def test_what_is_appended_is_read_again(tmp_path: Path):
    journal = Journal.create(tmp_path / "run", header())
    first = journal.append_trial(trial(1))
    second = journal.append_trial(
        TrialRecord(arm="baseline", task="b", cached=True, result=record(2, "x" * 100_000))
    )
    assert journal.trials == 2
    assert journal.read_trial(second).final_output == "x" * 100_000
    assert journal.read_trial(first) == record(1)
    assert msgspec.json.decode(journal.read_encoded(first), type=TrialResult) == record(1)
    kept = [(one.number, one.offset, one.line.trial) for one in journal]
    assert kept == [
        (2, first, trial(1)),
        (3, second, TrialRecord(arm="baseline", task="b", cached=True, result=record(2, "x" * 100_000))),
    ]
    assert journal.results == tmp_path / "run" / "results.json"
    journal.write_end(RunEnd(status="complete", durations={"main": 3}))
    assert [one.line.end for one in journal][-1] == RunEnd(status="complete", durations={"main": 3})
    journal.close()
    assert read_header(journal.directory) == header()


def test_each_line_is_in_the_file_when_it_was_appended(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    journal.append_trial(trial())
    lines = (journal.directory / JOURNAL).read_bytes().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["run", "trial"]
    journal.close()


def test_reopened_it_goes_on_where_it_was_and_drops_a_torn_line(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    kept = journal.append_trial(trial(1))
    journal.append_trial(trial(2))
    journal.close()
    path = journal.directory / JOURNAL
    path.write_bytes(path.read_bytes()[:-3])
    again = Journal.reopen(journal.directory)
    assert [one.offset for one in again] == [kept]
    new = again.append_trial(trial(3))
    assert again.read_trial(new).run_number == 3
    assert [one.line.trial and one.line.trial.result.run_number for one in again] == [1, 3]
    again.close()


def test_two_processes_cannot_have_it(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    with pytest.raises(WazaError, match="in use by another run"):
        Journal.reopen(journal.directory)
    journal.close()
    Journal.reopen(journal.directory).close()
    with pytest.raises(WazaError, match="holds a run already"):
        Journal.create(tmp_path, header())


def test_an_offset_without_a_trial_is_reported(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    with pytest.raises(WazaError, match="no trial at byte 0"):
        journal.read_trial(0)
    with pytest.raises(WazaError, match="no trial at byte 0"):
        journal.read_encoded(0)
    journal.close()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "never started"),
        (b'{"run": {"id"', "never started"),
        (resealed(b'{"end":{"status":"complete"},"sum":""}') + b"\n", "never started"),
        (b"nonsense\n", ":1: the checksum of this line does not fit"),
        (resealed(b'{"run":{"id":3},"sum":""}') + b"\n", r":1: Expected `str`, got `int` - at `\$\.run\.id`"),
        (resealed(b'{"other":1,"sum":""}') + b"\n", ":1: not a line of a journal"),
    ],
)
def test_journals_without_a_header(tmp_path: Path, content: bytes, why: str):
    (tmp_path / JOURNAL).write_bytes(content)
    with pytest.raises(WazaError, match=why):
        read_header(tmp_path)
    assert has_header(tmp_path) == content.endswith(b"\n")


def test_a_second_header_is_refused(tmp_path: Path):
    Journal.create(tmp_path, header()).close()
    rewritten(tmp_path / JOURNAL, lambda lines: lines.append(lines[0]))
    journal = Journal.reopen(tmp_path)
    with pytest.raises(WazaError, match=":2: a second header"):
        list(journal)
    journal.close()


def test_no_bit_can_flip_unnoticed(tmp_path: Path):
    journal = Journal.create(tmp_path, header())
    journal.append_trial(trial(1))
    journal.append_trial(trial(2))
    journal.write_end(RunEnd(status="complete"))
    journal.close()
    path = tmp_path / JOURNAL
    whole = path.read_bytes()
    numbers = random.Random(1)
    for bit in numbers.sample(range(8 * (len(whole) - 1)), 400):  # the last newline would be a torn line
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(WazaError, match="the file was damaged or changed; start a new run"):
            all_lines(tmp_path)


def all_lines(directory: Path) -> None:
    journal = Journal.reopen(directory)
    try:
        list(journal)
    finally:
        journal.close()


def test_a_failed_reopening_frees_the_journal(tmp_path: Path):
    (tmp_path / JOURNAL).write_bytes(resealed(b'{"end":{"status":"complete"},"sum":""}') + b"\n")
    for _ in range(2):
        with pytest.raises(WazaError, match="never started"):
            Journal.reopen(tmp_path)


def test_run_ids():
    now = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone(timedelta(hours=2)))
    ids = {new_run_id(now) for _ in range(50)}
    assert len(ids) == 50
    assert {one[:-6] for one in ids} == {"run-20260304T030607Z-"}
    assert new_run_id(now.astimezone(UTC))[:-6] in {one[:-6] for one in ids}


@pytest.mark.parametrize("wanted", ["run-x", "..", "../x", "a/b", " ", "run-20260106T000000Z-000000"])
def test_an_id_that_is_none(tmp_path: Path, wanted: str):
    (tmp_path / "run-20260106T000000Z-000000").mkdir()
    with pytest.raises(UsageError, match="there is no run"):
        find_run_directory(tmp_path, wanted)
