"""Dates and times as values of options."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click


class Moment(click.ParamType):  # type: ignore[type-arg]  # older ones of click take no parameters
    """A date, which is the whole day, or a time. `after`: the moment when it is over."""

    name = "date"

    def __init__(self, *, after: bool = False) -> None:
        self.after = after

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the moment, in the local time zone unless it names one."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"{value!r} is not a date such as 2026-01-31, or a time such as 2026-01-31T12:00", param, ctx
            )
        day = timedelta(days=1) if self.after and len(value) <= len("2026-01-31") else timedelta()
        return (found + day).astimezone() if found.tzinfo is None else found + day
