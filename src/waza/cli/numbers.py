"""Numbers as values of options."""

from __future__ import annotations

import math
from typing import Any

import click


class Number(click.ParamType):  # type: ignore[type-arg]  # older ones of click take no parameters
    """A finite number within bounds; the error for any other names what is `expected`."""

    name = "number"

    def __init__(
        self,
        expected: str,
        kind: type[int | float],
        *,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> None:
        self.expected, self.kind, self.least, self.most = expected, kind, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number that a word is. Raises click.BadParameter."""
        try:
            number = self.kind(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and self.least <= number <= self.most):
            self.fail(f"{value!r} is not {self.expected}", param, ctx)
        return number


class Duration(Number):
    """A number of seconds, which may have a unit as in `90s`, `5m` and `1h`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds that a word is. Raises click.BadParameter."""
        unit = _UNITS.get(str(value)[-1:], 0)
        seconds = super().convert(str(value)[:-1] if unit else value, param, ctx) * (unit or 1)
        if seconds > self.most:
            self.fail(f"{value!r} is not {self.expected}", param, ctx)
        return seconds


class ShardNumber(click.ParamType):  # type: ignore[type-arg]  # as above
    """Which of several shards: `2/3` is the second of three."""

    name = "shard"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Return the number of the shard and how many there are. Raises click.BadParameter."""
        if isinstance(value, tuple):
            return value
        number, _, of = str(value).partition("/")
        if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of) <= MOST_SHARDS):
            self.fail(
                f"{value!r} is not a shard; write its number, from 1, and how many there are, such as 2/3",
                param,
                ctx,
            )
        return int(number), int(of)


MOST_SHARDS = 100_000
_UNITS = {"s": 1, "m": 60, "h": 3600}

SECONDS = Number("a whole number of seconds from 1 to 86400, such as 300", int, least=1, most=86_400)
DURATION = Duration("a whole number of seconds, or one such as 90s, 5m or 1h", int, least=1, most=86_400)
PARTS_OF_SECONDS = Number("a number of seconds, such as 300 or 0.5", float, least=0.001)
COUNT = Number("a whole number from 1 on, such as 3", int, least=1)
COUNT_OR_NONE = Number("a whole number from 0 on, such as 4", int, least=0)
SHARD = ShardNumber()
FINITE = Number("a number, such as 2.5", float)
