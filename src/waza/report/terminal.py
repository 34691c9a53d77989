"""What can be shown where: live bars and colours only where somebody looks at a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Console(Protocol):
    """A text stream that may be a terminal, such as `sys.stderr`."""

    def write(self, text: str, /) -> object:
        """Write text."""
        ...

    def flush(self) -> object:
        """Show what was written."""
        ...

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        ...


def is_live(stream: Console, environ: Mapping[str, str]) -> bool:
    """Return whether a line can be redrawn: on a terminal that can move its cursor, and not in a CI job."""
    in_ci = environ.get("CI", "").lower() not in ("", "0", "false")
    return stream.isatty() and not in_ci and environ.get("TERM") != "dumb"


def has_colour(stream: Console, environ: Mapping[str, str]) -> bool:
    """Return whether colours may be used: where a line can be redrawn, unless NO_COLOR forbids them."""
    return is_live(stream, environ) and not environ.get("NO_COLOR")
