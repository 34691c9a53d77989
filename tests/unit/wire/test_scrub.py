"""What is taken out of requests before a replay compares them, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from waza.wire.scrub import Scrubber, first_difference

NOW = datetime.now(UTC)
DAY = NOW.date().isoformat()
LONG_AGO = "2001-02-03"
UUID = "5102bf8c-1a4e-4191-80ad-bba2414ae88b"
SCRUBBER = Scrubber({"suite": "/home/me/my suite", "workspace": "/tmp/waza-run-77-ar3b2y93/00002-a"})


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("cd /home/me/my suite/skills && ls", "cd <suite>/skills && ls"),
        ("/home/me/my suite-2 and /home/me/my suite.d", "/home/me/my suite-2 and /home/me/my suite.d"),
        ("in /tmp/waza-run-77-ar3b2y93/00002-a/src", "in <workspace>/src"),
        ("in '/tmp/x y/waza-run-1-ar3b2y93/00013-b/f'", "in '/tmp/x <temporary run>/N-b/f'"),
        ("/var/tmp/waza-copilot-20020-0koa17v9/state-0/f", "<temporary copilot>/state-N/f"),
        (r"C:\Temp\waza-run-7-ar3b2y93\00001-a", r"<temporary run>\N-a"),
        ("the directory waza-run-notes", "the directory waza-run-notes"),
        (f"session {UUID}.", "session <uuid>."),
        ("http://127.0.0.1:43517/v1, localhost:80", "http://127.0.0.1:<port>/v1, localhost:<port>"),
        ("example.com:8080", "example.com:8080"),
        (f"today is {DAY}.", "today is <date>."),
        (f"<now>{DAY}T01:16:13.087+00:00</now>", "<now><time></now>"),
        (f"{DAY} 01:16:13 UTC", "<time> UTC"),
        (f"{(NOW - timedelta(days=1)).date()}T23:59Z", "<time>"),
        (f"written on {LONG_AGO}T01:16:13Z", f"written on {LONG_AGO}T01:16:13Z"),
    ],
)
def test_what_differs_from_run_to_run_is_taken_out(text: str, scrubbed: str) -> None:
    assert SCRUBBER.text(text) == scrubbed


def test_keys_that_say_who_asks_are_left_out_of_a_request_and_nowhere_else() -> None:
    request = {"user": "u", "metadata": {"a": 1}, "model": "m", "tools": [{"user": "kept", "n": 1.5}]}
    assert SCRUBBER.request(request) == {"model": "m", "tools": [{"user": "kept", "n": 1.5}]}


def test_requests_that_nest_without_end_are_cut() -> None:
    deep: object = "x"
    for _ in range(900):
        deep = [deep]
    assert "<too deep>" in str(SCRUBBER.request({"deep": deep}))


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, None),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, ("a[1].b", "x", "y")),
        ({"a": 1}, {"a": 1, "b": 2}, ("b", "(nothing)", "2")),
        ({"a": [1, 2]}, {"a": [1]}, ("a[1]", "2", "(nothing)")),
        ({"a": 1}, {"a": True}, ("a", "1", "True")),
        (
            {"a": "w" * 100 + "x" + "z" * 100},
            {"a": "w" * 100 + "y"},
            ("a", f"...{'w' * 60}x{'z' * 59}...", f"...{'w' * 60}y"),
        ),
    ],
)
def test_the_first_difference_is_named(one: object, other: object, found: object) -> None:
    assert first_difference(one, other) == found
