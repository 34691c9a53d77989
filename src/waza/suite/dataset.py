"""`tasks_from`: one task a row of a CSV file."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import msgspec

from waza.kit.files import is_inside
from waza.kit.names import did_you_mean
from waza.kit.template import find_mistakes
from waza.kit.text import pluralize
from waza.model.task import Task
from waza.problem import Code, Problem, Severity, display_path
from waza.suite.digest import row_digest, task_digest
from waza.suite.loading import Loading

MAX_COLUMNS = 10_000
MAX_CELL = 20 * 1024 * 1024  # characters

# A part of what Python's reader says, and what people read.
_WORDINGS = (
    ("unexpected end of data", "a quote opens a field and none closes it"),
    ("expected after", "there is text after the closing quote of a field; double the quotes inside it"),
    ("field larger", f"a field is longer than {MAX_CELL // 2**20} million characters"),
)


# What other programs put between fields; a header with such a sign and no comma was written by one.
_DELIMITERS = {";": "semicolons", "\t": "tabs", "|": "'|'"}


class DatasetRow(NamedTuple):
    """One record: the line of the file that it starts on, and its cells."""

    line: int
    cells: list[str]


class _CsvError(Exception):  # it ends the reading of a file and becomes a Problem
    def __init__(self, line: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.line, self.message, self.hint = line, message, hint


def read_csv_tasks(loading: Loading, base: Task) -> list[Task]:
    """Return a task for each selected row. Columns are the `.Vars` of the row, over the suite's inputs."""
    path = _find_file(loading)
    if path is None:
        return []
    file = display_path(path)
    try:
        header, *rows = _read_records(_read_text(path))
        header = DatasetRow(header.line, [name.strip() for name in header.cells])
    except _CsvError as mistake:
        _report(loading, file, mistake.line, "dataset", mistake.message, mistake.hint)
        return []
    except OSError as error:
        loading.at("tasks_from").error(
            "unreadable-file", f"{loading.file.tasks_from!r} cannot be read ({error.strerror})"
        )
        return []
    if not _check_header(loading, file, header):
        return []
    whole = _drop_malformed(loading, file, header, rows)
    if rows and not whole:
        return []  # each of them was reported
    rows = _drop_blank(loading, file, whole)
    common = "" if loading.errors() else task_digest(base)
    selected = _select_rows(loading, rows)
    return [_build_task(loading, file, base, common, n, header, row) for n, row in enumerate(selected, 1)]


def _find_file(loading: Loading) -> Path | None:
    name = loading.file.tasks_from
    path = Path(loading.directory, name.replace("\\", "/"))
    hint = "the path is relative to the suite's directory"
    if "\0" in name:
        loading.at("tasks_from").error("invalid-value", "holds a NUL character", "remove it")
    elif not is_inside(loading.directory, path):
        loading.at("tasks_from").error("outside-path", f"{name!r} leads outside of the suite's directory")
    elif not path.exists():
        loading.at("tasks_from").error("missing-file", f"there is no file {name!r}", hint)
    elif not path.is_file():
        loading.at("tasks_from").error("unreadable-file", f"{name!r} is no regular file", hint)
    else:
        return path
    return None


def _read_text(path: Path) -> str:
    data = path.read_bytes()
    utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 if utf16 else error.object.count(b"\n", 0, error.start) + 1
        what = (
            "is UTF-16 by its first bytes, but not all of it"
            if utf16
            else f"is not UTF-8 text, but {_guess_encoding(data)}"
        )
        raise _CsvError(line, f"the file {what}", "save it as UTF-8") from None
    if "\0" in text:
        if _guess_encoding(data) == _WIDE:
            raise _CsvError(1, f"the file is not UTF-8 text, but {_WIDE}", "save it as UTF-8")
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _CsvError(line, "holds a NUL character", "remove it")
    return text


_WIDE = "probably UTF-16 without a byte order mark"


def _guess_encoding(data: bytes) -> str:
    """Return the likely encoding of text that is not UTF-8, as words."""
    if len(data) >= 4 and max(data[0::2].count(0), data[1::2].count(0)) * 4 > len(data):
        return _WIDE  # every other byte of Latin text is zero
    printable = not any(0x80 <= byte < 0xA0 for byte in data)
    return f"probably {'Latin-1 (ISO 8859-1)' if printable else 'Windows-1252, or a code page of another system'}"


def _read_records(text: str) -> list[DatasetRow]:
    """Return the header and the rows below it. Blank lines are left out."""
    head = text.lstrip().partition("\n")[0]
    for sign, name in _DELIMITERS.items():
        if sign in head and "," not in head:
            message = f"the columns are separated by {name}, not by commas"
            raise _CsvError(1, message, "save the file with commas between its fields")
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records: list[DatasetRow] = []
    start = 1
    try:
        for cells in reader:
            if len(cells) > MAX_COLUMNS:
                message = f"has {len(cells):,} fields; at most {MAX_COLUMNS:,} columns are read"
                raise _CsvError(start, message, "leave out the columns that no template names")
            if cells:
                records.append(DatasetRow(start, [cell.replace("\r\n", "\n") for cell in cells]))
            start = reader.line_num + 1
    except csv.Error as error:
        words = next((words for part, words in _WORDINGS if part in str(error)), str(error))
        raise _CsvError(start, f"row {len(records)} is not valid CSV: {words}") from None
    if not records:
        raise _CsvError(1, "the file is empty", "its first row names the columns, one of them 'prompt'")
    return records


def _drop_malformed(
    loading: Loading, file: str, header: DatasetRow, rows: list[DatasetRow]
) -> list[DatasetRow]:
    """Return the rows that are as long as the header; others are mistakes."""
    for number, row in enumerate(rows, 1):
        if len(row.cells) != len(header.cells):
            message = f"row {number} has {pluralize(len(row.cells), 'field')}, and the header has {len(header.cells)}"
            _report(
                loading, file, row.line, "dataset", message, "put a field that contains a comma in quotes"
            )
    return [row for row in rows if len(row.cells) == len(header.cells)]


def _drop_blank(loading: Loading, file: str, rows: list[DatasetRow]) -> list[DatasetRow]:
    """Return the rows that hold anything, and count the others."""
    blank = [row for row in rows if not any(cell.strip() for cell in row.cells)]
    if blank:
        what = "1 row is" if len(blank) == 1 else f"{len(blank)} rows are"
        _report(
            loading,
            file,
            blank[0].line,
            "dataset",
            f"{what} blank and skipped, from this line on",
            severity="warning",
        )
    return [row for row in rows if any(cell.strip() for cell in row.cells)]


def _check_header(loading: Loading, file: str, header: DatasetRow) -> bool:
    """Note what is wrong with the header; return whether the rows below it can be read."""
    for name in sorted(name for name, count in Counter(header.cells).items() if count > 1):
        message = f"duplicate column {name!r}, of which the last one is used"
        _report(loading, file, header.line, "duplicate-name", message, severity="warning")
    if "prompt" in header.cells or loading.file.inputs.get("prompt", "").strip():
        return True
    hint = did_you_mean("prompt", header.cells)
    message = "there is no column 'prompt', and the suite has no inputs.prompt for all rows"
    _report(loading, file, header.line, "dataset", message, hint)
    return False


def _select_rows(loading: Loading, rows: list[DatasetRow]) -> list[DatasetRow]:
    name = loading.file.tasks_from
    if not rows:
        loading.at("tasks_from").error("dataset", f"0 tasks selected: {name!r} has no row below its header")
        return []
    first, last = loading.file.range or (0, 0)
    if (first, last) == (0, 0):
        return rows
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    if first < 1 or last < 1:
        message = f"[{first}, {last}] starts below 1: rows count from 1, without the header"
    elif first > last:
        message = f"[{first}, {last}] ends before it starts"
    elif first > len(rows):
        message = f"0 tasks selected: {name!r} has only {count}"
    else:
        return rows[first - 1 : last]
    loading.at("range").error("dataset", message)
    return []


def _build_task(
    loading: Loading, file: str, base: Task, common: str, n: int, header: DatasetRow, row: DatasetRow
) -> Task:
    columns = dict(zip(header.cells, row.cells, strict=True))
    name = columns.get("name") or f"row-{n}"
    task_id = columns.get("id") or name
    prompt = columns.get("prompt", base.variables.get("prompt", ""))
    if not prompt.strip():
        message, hint = "the prompt is empty", "write one, or remove the row"
        _report(loading, file, row.line, "dataset", message, hint, path=f"row {n}, prompt")
    for mistake in find_mistakes(prompt, loading.variables(*columns)) if "{{" in prompt else ():
        _report(
            loading,
            file,
            row.line,
            "template",
            mistake.message,
            path=f"row {n}, prompt",
            severity=mistake.severity,
        )
    if task_id in loading.ids:
        message = f"the task id {task_id!r} is also used in {loading.ids[task_id]}"
        _report(
            loading,
            file,
            row.line,
            "duplicate-task",
            message,
            "give each task its own id",
            path=f"row {n}, id",
        )
    place = f"{file}:{row.line}"
    loading.ids.setdefault(task_id, place)
    task = msgspec.structs.replace(
        base,
        id=task_id,
        name=name,
        file=place,
        prompt=prompt,
        variables={**base.variables, **columns},
    )
    return msgspec.structs.replace(task, digest=row_digest(task, common))


def _report(
    loading: Loading,
    file: str,
    line: int,
    code: Code,
    message: str,
    hint: str = "",
    *,
    path: str = "",
    severity: Severity = "error",
) -> None:
    loading.problems.append(
        Problem(
            code=code,
            file=file,
            line=line,
            column=1,
            path=path,
            message=message,
            hint=hint,
            severity=severity,
        )
    )
