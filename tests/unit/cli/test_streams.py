"""Standard streams: what cannot be written is told at the end, or not at all."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from waza.cli.std_streams import patient
from waza.cli.streams import Output, print_notice
from waza.cli.utf8 import require_utf8
from waza.errors import UsageError, WazaError

FULL = Path("/dev/full")
on_linux = pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")


def test_lines_and_documents_in_their_order(monkeypatch: pytest.MonkeyPatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    out = Output()
    out.line("✓ ok")
    out.json([b"{", b"}\n"])
    out.close()
    assert raw.getvalue() == b"+ ok\n{}\n"


def test_a_reader_who_left_is_no_trouble(monkeypatch: pytest.MonkeyPatch):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="ascii", errors="replace") as stream:  # noqa: PTH123  # a descriptor
        told = patient(stream)
        assert (told.encoding, told.errors, told.fileno()) == ("ascii", "replace", writing)
        monkeypatch.setattr(sys, "stdout", told)
        out = Output()
        for _ in range(10):
            out.line("x" * 100_000)
            out.json([b"y" * 100_000])
        out.close()
        told.write("what comes later disturbs nobody")
        told.flush()


@on_linux
def test_a_full_disk_is_reported_once_all_was_tried(monkeypatch: pytest.MonkeyPatch):
    with FULL.open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        out = Output()
        out.line("x")
        out.line("y" * 100_000)
        with pytest.raises(WazaError, match=r"^cannot write the output: No space left on device$"):
            out.close()


@on_linux
def test_messages_never_fail(monkeypatch: pytest.MonkeyPatch):
    with FULL.open("w", encoding="utf-8", buffering=1) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        print_notice("nobody hears this")
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), stream.fileno()
        )  # what is held back may go when it is closed


@pytest.mark.parametrize("word", ["", "gpt", "é🎯", "a\nb"])
def test_words_that_files_can_hold(word: str):
    require_utf8("--model", word)


def test_words_that_no_file_can_hold():
    with pytest.raises(UsageError, match=r"^--model 'a\\udcff' is not UTF-8$"):
        require_utf8("--model", "fine", "a\udcff")
