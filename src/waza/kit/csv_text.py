"""Tables as CSV (RFC 4180), for people who open them in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from waza.kit.unsafe_text import escape_unsafe

_FORMULA = ("=", "+", "-", "@", "\t")  # a cell that begins so would be computed


def csv_cell(value: object) -> str:
    """Return a value as the text of a cell: nothing for None, `true` and `false`, a list with commas between its items.

    Texts are made harmless. A text that a spreadsheet would compute begins with an apostrophe; numbers stay numbers.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = escape_unsafe(", ".join(map(str, value)) if isinstance(value, list) else str(value))
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def csv_lines(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table, its titles first. A cell with newlines makes one such line longer."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    yield _line(writer, buffer, titles)
    for row in rows:
        yield _line(writer, buffer, row)


def _line(writer: object, buffer: io.StringIO, row: Sequence[object]) -> str:
    buffer.seek(0)
    buffer.truncate()
    writer.writerow([csv_cell(value) for value in row])  # type: ignore[attr-defined]  # its type has no name
    return buffer.getvalue()


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
