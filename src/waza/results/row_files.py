"""Rows in files: CSV for spreadsheets, JSON Lines and Parquet for programs."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from waza.errors import UsageError
from waza.kit.csv_text import csv_lines
from waza.results.rows import ROW_TYPES, Row, RowKind

RowFormat = Literal["csv", "jsonl", "parquet"]

_BATCH = 10_000  # rows of a row group
_ARROW = {str: "string", bool: "bool_", int: "int64", float: "float64"}


def encode_rows(rows: Iterable[Row], kind: RowKind, form: RowFormat) -> Iterator[bytes]:
    """Yield a file of rows, piece by piece; the rows are taken as they are needed.

    JSON Lines and Parquet hold the data as it is. CSV holds it as `waza.kit.csv_text` says. Raises UsageError where
    Parquet cannot be written, since its library is not installed.
    """
    if form == "csv":
        titles = ROW_TYPES[kind].__struct_fields__
        return (line.encode() for line in csv_lines(titles, map(msgspec.structs.astuple, rows)))
    if form == "jsonl":
        return (msgspec.json.encode(row) + b"\n" for row in rows)
    return _parquet(rows, kind)


def _parquet(rows: Iterable[Row], kind: RowKind) -> Iterator[bytes]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError(
            "Parquet needs pyarrow; install it: pip install 'waza[parquet]', or take --format jsonl"
        ) from error
    hints = get_type_hints(ROW_TYPES[kind])
    schema = pa.schema([(name, _arrow_type(hint, pa)) for name, hint in hints.items()])
    return _parquet_pieces(iter(rows), schema, pa, parquet)


def _parquet_pieces(rows: Iterator[Row], schema: Any, pa: Any, parquet: Any) -> Iterator[bytes]:
    pieces = _Pieces()
    with parquet.ParquetWriter(pa.PythonFile(pieces, mode="w"), schema) as writer:
        while batch := list(islice(rows, _BATCH)):
            writer.write_table(pa.Table.from_pylist(msgspec.to_builtins(batch), schema))
            yield pieces.take()
    yield pieces.take()


def _arrow_type(hint: Any, pa: Any) -> Any:
    if get_origin(hint) is list:
        return pa.list_(_arrow_type(get_args(hint)[0], pa))
    kinds = [one for one in (get_args(hint) or (hint,)) if one is not type(None)]
    return getattr(pa, _ARROW.get(kinds[0], "string"))()  # a choice of words is a text


class _Pieces(io.RawIOBase):
    """A file of which the pieces are taken as they are written."""

    def __init__(self) -> None:
        super().__init__()
        self._data = bytearray()
        self._taken = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._data += data
        return len(data)

    def tell(self) -> int:
        return self._taken + len(self._data)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        data = bytes(self._data)
        self._taken += len(data)
        self._data.clear()
        return data
