"""Append-only files of lines: what is appended, when it is synced, and who may write."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from waza.errors import WazaError
from waza.kit.line_file import GroupSync, LineFile, read_lines


def test_lines_come_back_by_offset_and_in_order(tmp_path: Path) -> None:
    with LineFile.open(tmp_path / "new" / "journal") as file:
        offsets = [file.append(line) for line in (b"one", b"", "drei ü".encode())]

        assert offsets == [0, 4, 5]
        assert [file.read_at(offset) for offset in reversed(offsets)] == ["drei ü".encode(), b"", b"one"]
        assert list(file) == [(0, b"one"), (4, b""), (5, "drei ü".encode())]
        assert file.append(b"more") == 13
        assert file.read_at(13) == b"more"


def test_a_file_is_continued_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with LineFile.open(path) as file:
        file.append(b"one")

    with LineFile.open(path) as file:
        assert file.append(b"two") == 4

    assert path.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("tail", [b"{torn", b"x" * 200_000])
@pytest.mark.parametrize("whole", [b"", b"one\ntwo\n", b"y" * 100_000 + b"\n"])
def test_a_torn_tail_is_cut_off(tmp_path: Path, whole: bytes, tail: bytes) -> None:
    path = tmp_path / "journal"
    path.write_bytes(whole + tail)

    with LineFile.open(path) as file:
        assert path.read_bytes() == whole
        assert file.append(b"next") == len(whole)

    assert path.read_bytes() == whole + b"next\n"


def test_a_newline_inside_a_line_is_refused(tmp_path: Path) -> None:
    with LineFile.open(tmp_path / "journal") as file:
        with pytest.raises(ValueError, match="newline"):
            file.append(b"a\nb")

        assert list(file) == []


def test_reading_where_no_line_begins_is_refused(tmp_path: Path) -> None:
    with LineFile.open(tmp_path / "journal") as file:
        file.append(b"one")

        with pytest.raises(ValueError, match="no line at byte 4"):
            file.read_at(4)


def test_a_second_opening_is_refused_until_the_first_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first = LineFile.open(path)
    with pytest.raises(WazaError, match="in use by another run"):
        LineFile.open(path)

    first.close()
    first.close()
    LineFile.open(path).close()


HOLD = """
import os, sys
from pathlib import Path
from waza.kit.line_file import LineFile
file = LineFile.open(Path(sys.argv[1]))
file.append(b"held")
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        with pytest.raises(WazaError, match="journal is in use by another run"):
            LineFile.open(path)
        assert list(read_lines(path)) == [(0, b"held")]
        holder.kill()

    with LineFile.open(path) as file:
        assert list(file) == [(0, b"held")]


def test_a_failed_append_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def half(descriptor: int, data: memoryview) -> int:
        if len(data) < 4:
            raise OSError(28, "No space left on device")
        return write(descriptor, data[:4])

    with LineFile.open(tmp_path / "journal") as file:
        file.append(b"one")
        monkeypatch.setattr(os, "write", half)
        with pytest.raises(WazaError, match=r"cannot write .*journal: No space left"):
            file.append(b"123456")
        monkeypatch.undo()

        assert (tmp_path / "journal").read_bytes() == b"one\n"
        assert file.append(b"two") == 4


def test_a_journal_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(WazaError, match="cannot write"):
        LineFile.open(tmp_path)


def test_read_lines_leaves_an_unfinished_line_out(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\n\nb")

    assert list(read_lines(tmp_path / "f")) == [(0, b"a\r"), (3, b"")]


def test_what_is_written_during_a_sync_is_synced_by_one_more(tmp_path: Path) -> None:
    calls: list[int] = []
    begun, go = threading.Event(), threading.Event()

    def sync() -> None:
        calls.append(1)
        begun.set()
        assert go.wait(60)

    group = GroupSync(sync, delay=0.0)
    group.schedule()
    assert begun.wait(60)
    for _ in range(300):
        group.schedule()
    assert len(calls) == 1
    go.set()
    group.close()
    assert 2 <= len(calls) <= 3  # the one that was due, and the last one before the end
    group.schedule()
    group.close()
    assert len(calls) <= 3


def test_what_is_appended_is_synced_without_being_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = threading.Event()
    monkeypatch.setattr("waza.kit.line_file._sync_data", lambda _: synced.set())
    with LineFile.open(tmp_path / "journal") as file:
        file.append(b"one")
        assert (tmp_path / "journal").read_bytes() == b"one\n"  # at once: a killed process loses nothing
        assert synced.wait(60)


def test_a_disk_that_cannot_sync_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("waza.kit.line_file._sync_data", full)
    with LineFile.open(tmp_path / "journal") as file:
        file.append(b"one")
        with pytest.raises(WazaError, match=r"cannot write .*journal: No space left"):
            file.sync()
        with pytest.raises(WazaError, match="No space left"):
            file.append(b"two")
