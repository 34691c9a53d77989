"""What failures of HTTP mean."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import httpx
import pytest

from waza.kit.http import is_outside, is_transient, parse_retry_after

YEAR = 365 * 86_400


def asking(text: str) -> httpx.Response:
    return httpx.Response(429, headers={"Retry-After": text})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("3600", 3600),
        (" 1.5 ", 1.5),
        ("-5", 0),
        ("inf", YEAR),
        ("nan", YEAR),
        ("9" * 400, YEAR),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
        ("", None),
        ("soon", None),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:28:00 +99999999999999999999", None),
    ],
)
def test_retry_after(text: str, seconds: float | None):
    assert parse_retry_after(asking(text)) == seconds


def test_retry_after_as_a_date_to_come():
    moment = datetime.now(UTC) + timedelta(days=1)
    for zone in ("GMT", ""):  # a date without a zone is meant as all dates of HTTP are
        text = format_datetime(moment, usegmt=True).replace("GMT", zone).strip()
        assert 86_000 < (parse_retry_after(asking(text)) or 0) <= 86_400


def test_who_asks_for_nothing_is_not_waited_for():
    assert parse_retry_after(httpx.Response(503)) is None


@pytest.mark.parametrize(
    ("status", "outside", "passes"),
    [
        (400, False, False),
        (404, False, False),
        (422, False, False),
        (401, True, False),
        (403, True, False),
        (429, True, True),
        (500, True, True),
        (503, True, True),
    ],
)
def test_whose_matter_a_status_is(status: int, outside: bool, passes: bool):
    assert (is_outside(status), is_transient(status)) == (outside, passes)


def test_a_failure_without_a_status_is_the_servers():
    assert is_outside(None)
