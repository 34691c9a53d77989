"""`tasks_from`: one task a row of a CSV file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import msgspec

from waza.kit.files import inside
from waza.kit.template import check
from waza.model.task import Task
from waza.problem import Problem, shown
from waza.suite.digest import row_digest
from waza.suite.loading import Loading

MAX_CELL = 20 * 1024 * 1024  # characters
WHERE = ("tasks_from",)


def csv_tasks(loading: Loading, base: Task) -> list[Task]:
    """Return a task for each selected row. Columns are the `.Vars` of the row, over the suite's inputs."""
    path = _path(loading)
    if path is None:
        return []
    rows = _rows(loading, path)
    first, last = _range(loading)
    selected = rows[first - 1 : last]
    if not selected and not loading.problems:
        loading.say(loading.document, WHERE, f"0 tasks selected: {loading.file.tasks_from} has no such rows")
    common = row_digest(base)
    return [_task(loading, path, base, common, n, row) for n, row in enumerate(selected, 1)]


def _path(loading: Loading) -> Path | None:
    path = Path(loading.directory, loading.file.tasks_from.replace("\\", "/"))
    if path.resolve() == loading.directory.resolve() or not inside(loading.directory, path):
        loading.say(loading.document, WHERE, "leads outside of the suite's directory")
        return None
    return path


def _rows(loading: Loading, path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the data rows, each with the line that it ends on."""

    def error(message: str, line: int = 0) -> list[tuple[int, dict[str, str]]]:
        loading.problems.append(
            Problem(file=shown(path), line=line, column=1 if line else 0, message=message)
        )
        return []

    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        return error("the file is not UTF-8 text; save it as UTF-8")
    except OSError as failure:
        loading.say(
            loading.document, WHERE, f"{loading.file.tasks_from!r} cannot be read ({failure.strerror})"
        )
        return []
    if "\0" in text:
        return error("the file holds NUL characters", text.count("\n", 0, text.index("\0")) + 1)
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        header = next((row for row in reader if row), None)
        if header is None:
            return error("the file is empty; its first row names the columns")
        _warn_of_twins(loading, path, header)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                message = f"row {len(rows) + 1} has {len(row)} fields, the header has {len(header)}"
                return error(message, reader.line_num)
            cells = [cell.replace("\r\n", "\n") if "\r" in cell else cell for cell in row]
            rows.append((reader.line_num, dict(zip(header, cells, strict=True))))
    except csv.Error as mistake:
        return error(f"row {len(rows) + 1} is not valid CSV ({mistake})", reader.line_num)
    return rows


def _warn_of_twins(loading: Loading, path: Path, header: list[str]) -> None:
    for name in sorted({name for name in header if header.count(name) > 1}):
        message = f"the column {name!r} stands twice; the last one counts"
        loading.problems.append(
            Problem(file=shown(path), line=1, column=1, message=message, severity="warning")
        )


def _range(loading: Loading) -> tuple[int, int | None]:
    chosen = loading.file.range
    if chosen is None or chosen == (0, 0):
        return 1, None
    first, last = chosen
    if first < 1 or last < 1:
        message = f"[{first}, {last}] starts below 1: rows count from 1, without the header"
        loading.say(loading.document, ("range",), message)
    elif first > last:
        loading.say(loading.document, ("range",), f"[{first}, {last}] ends before it starts")
    else:
        return first, last
    return 1, 0


def _task(
    loading: Loading, path: Path, base: Task, common: bytes, n: int, row: tuple[int, dict[str, str]]
) -> Task:
    line, cells = row
    variables = {**base.variables, **cells}
    name = cells.get("name") or f"row-{n}"
    prompt = cells.get("prompt", "")
    known = {f"Vars.{key}": "" for key in variables} if "{{" in prompt else {}
    for mistake in check(prompt, known):
        loading.problems.append(
            Problem(
                file=shown(path),
                line=line,
                column=1,
                path=f"row {n}, prompt",
                message=mistake.message,
                severity=mistake.severity,
            )
        )
    task = msgspec.structs.replace(
        base,
        id=cells.get("id") or cells.get("name") or f"row-{n}",
        name=name,
        file=f"{shown(path)}:{line}",
        prompt=prompt,
        variables=variables,
    )
    return msgspec.structs.replace(task, digest=row_digest(task, common).hex())
