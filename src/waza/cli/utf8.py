"""Words of the command line that end up in files."""

from __future__ import annotations

from waza.errors import UsageError


def require_utf8(option: str, *words: str) -> None:
    """Raise UsageError for a word that no UTF-8 file can hold: a shell hands over any bytes."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{option} {word!r} is not UTF-8") from None
