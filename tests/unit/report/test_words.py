"""Durations, numbers, and printing on streams that lack characters."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from waza.kit.share import percent
from waza.report.words import PASSED, duration, grouped, make_printer, one_line, shortened, status_mark


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0s"),
        (1, "1ms"),
        (850, "850ms"),
        (999.6, "1s"),
        (1000, "1s"),
        (1234, "1.234s"),
        (1500, "1.5s"),
        (60_000, "1m0s"),
        (123_000, "2m3s"),
        (123_500, "2m3.5s"),
        (3_600_000, "1h0m0s"),
        (3_723_004, "1h2m3.004s"),
        (-30, "-30ms"),
        (-61_000, "-1m1s"),
    ],
)
def test_durations(milliseconds: float, text: str) -> None:
    assert duration(milliseconds) == text


def test_numbers() -> None:
    assert grouped(1234567) == "1,234,567"
    assert percent(2 / 3) == "66.7%"
    assert percent(2 / 3, 0) == "67%"


def test_cutting() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"
    assert one_line(" a\n\n b\tc\u2028d ") == "a b c d"
    assert one_line("abcd", 3) == "ab…"


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")


def printed(text: str, encoding: str) -> bytes:
    to = stream(encoding)
    make_printer(to)(text)
    to.flush()
    assert isinstance(to.buffer, io.BytesIO)
    return to.buffer.getvalue()


def test_our_marks_become_ascii_where_the_encoding_lacks_them() -> None:
    assert printed("✓ ✗ ⚠ ○ • ± … — ↑ ↓ ✅ ❌", "ascii") == b"+ x ! - * +/- ... - ^ v [+] [x]\n"
    assert printed("✓ é ± —", "cp1252") == "+ é +/- -\n".encode("cp1252")
    assert printed("± —", "cp1252") == "± —\n".encode("cp1252")


def test_other_characters_become_escapes_and_nothing_is_raised() -> None:
    assert printed("你 é", "ascii") == b"\\u4f60 \\xe9\n"
    assert printed("a\udc80", "utf-8") == b"a\\udc80\n"


class Calls:
    """A stream that counts calls of write."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.calls: list[str] = []

    def write(self, text: str) -> int:
        self.calls.append(text)
        return len(text)


def test_a_line_is_written_by_one_call() -> None:
    to = Calls()
    say = make_printer(to)
    say("a\nb")
    say("c")
    assert to.calls == ["a\nb\n", "c\n"]


def test_colours_only_when_wanted() -> None:
    to = Calls()
    make_printer(to, colour=True)(f"{PASSED} \x1b[5m")
    make_printer(to)(PASSED)
    assert to.calls == ["\x1b[32m✓\x1b[0m \\x1b[5m\n", "✓\n"]


def test_marks_of_statuses() -> None:
    assert [status_mark(status) for status in ("passed", "failed", "error", "skipped", "odd")] == list(
        "✓✗⚠○?"
    )


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_real_consoles_without_utf8(environment: dict[str, str]) -> None:
    program = (
        r"import sys; from waza.report.words import make_printer; make_printer(sys.stdout)('\u2713 \u4f60')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONCOERCECLOCALE": "0", **environment},
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert done.stdout.replace(b"\r", b"") == b"+ \\u4f60\n"
