"""Words as values of options of gates, which end with a code of their own for values that they cannot use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from waza.errors import GateError


class Word(click.ParamType):  # type: ignore[type-arg]  # older ones of click take no parameters
    """One of some words; any other ends the gate as a file does that cannot be read."""

    name = "word"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the words for the help."""
        del param, ctx
        return f"[{'|'.join(self.words)}]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word. Raises GateError."""
        del ctx
        if value not in self.words:
            raise GateError(f"{option_name(param)}: {value!r} is not one of: {', '.join(self.words)}")
        return str(value)


def option_name(param: click.Parameter | None) -> str:
    """Return what an option is called in messages."""
    return param.opts[-1] if param else "an option"
