"""Reading an evaluation document: the file, its nodes, and its items as a run needs them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import SuiteError, UsageError
from waza.kit import yaml
from waza.kit.decode import Document
from waza.kit.decode import KeyPath as Place
from waza.kit.json_nodes import JsonError, load
from waza.kit.names import nearest_name
from waza.m365.document.check import SIMILAR
from waza.m365.document.ids import item_id
from waza.m365.document.model import DocumentTurn, Thread
from waza.m365.document.objects import convert_object
from waza.m365.document.options import Evaluators
from waza.m365.document.upgrade import upgrade
from waza.m365.document.validate import validate
from waza.problem import Code, Problem, display_path

NAMES = ("prompts.json", "evals.json", "tests.json")
FOLDER = "evals"
_REPORTS = (".csv", ".html")
MAX_FILE = 200 * 1024 * 1024  # bytes; results with long responses are documents, too


class DocumentItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item. `id` is its own within the document; a single question has one turn and no `thread`."""

    number: int
    id: str
    turns: tuple[DocumentTurn, ...]
    thread: Thread | None = None

    def turn_path(self, turn: int) -> Place:
        """Return the path of a turn (counted from 0) in the document."""
        own = ("items", self.number - 1)
        return (*own, "turns", turn) if self.thread else own


class EvalDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A valid document in its current form.

    `data` is the whole of it as plain values, `source` the same as nodes with their places in the file.
    `default_evaluators`: None without that key.
    """

    name: str
    data: dict[str, Any]
    source: Document
    items: tuple[DocumentItem, ...]
    default_evaluators: Evaluators | None = None
    warnings: tuple[Problem, ...] = ()

    def turns(self) -> Iterator[tuple[DocumentTurn, Place]]:
        """Yield every turn of every item, with its place."""
        for item in self.items:
            for i, turn in enumerate(item.turns):
                yield turn, item.turn_path(i)


def read_document(path: Path) -> EvalDocument:
    """Read a document, older forms included. Raises SuiteError with every mistake in it."""
    upgraded = upgrade(read_nodes(path)[1])
    document = _drop_summaries(upgraded.document)
    found = [*upgraded.problems, *(validate(document) if not upgraded.problems else ())]
    if any(problem.severity == "error" for problem in found):
        raise SuiteError([problem for problem in found if problem.severity == "error"])
    moved = [change for change in upgraded.changes if change.kind == "moved"]
    warnings = [
        document.problem("older-form", one.node, one.path, one.message, severity="warning") for one in moved
    ]
    return document_from_nodes(document, path.stem, (*warnings, *found))


def _drop_summaries(document: Document) -> Document:
    """Return a document without the summaries of its conversations: a run writes new ones, so old ones may be wrong."""
    root = document.root
    found = root.entries.get("items") if isinstance(root, yaml.Mapping) else None
    if not (isinstance(root, yaml.Mapping) and isinstance(found, yaml.Sequence)):
        return document
    items = yaml.Sequence([_drop_key(one, "summary") for one in found.items], found.line, found.column)
    entries = {**root.entries, "items": items}
    return Document(document.file, yaml.Mapping(entries, root.keys, root.line, root.column))


def _drop_key(node: yaml.Node, key: str) -> yaml.Node:
    if not (isinstance(node, yaml.Mapping) and "turns" in node.entries and key in node.entries):
        return node
    entries = {name: value for name, value in node.entries.items() if name != key}
    return yaml.Mapping(entries, node.keys, node.line, node.column)


def document_from_nodes(document: Document, stem: str, warnings: tuple[Problem, ...] = ()) -> EvalDocument:
    """Return a valid document; `stem` names it if it has no name of its own."""
    data: Any = yaml.to_plain(document.root)
    return EvalDocument(
        name=data.get("metadata", {}).get("name") or stem,
        data=data,
        source=document,
        items=_items(data["items"]),
        default_evaluators=data.get("default_evaluators"),
        warnings=warnings,
    )


def read_nodes(path: Path) -> tuple[str, Document]:
    """Return the text of a file of JSON and its nodes, whatever they are. Raises SuiteError."""
    file, data = display_path(path), _read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        message, hint = "the file is not UTF-8 text", "save it as UTF-8"
        problem = Problem(
            code="unreadable-file", file=file, line=line, column=column, message=message, hint=hint
        )
        raise SuiteError([problem]) from None
    try:
        return text, Document(file, load(data))
    except JsonError as error:
        raise SuiteError([error.in_file(file)]) from None


def _read_bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            raise _error(path, f"is {kind}", "name the file of a document")
        if path.suffix.lower() in _REPORTS:
            json = path.with_suffix(".json")
            name = display_path(json) if json.is_file() else "the .json file"
            raise _error(
                path, "is not a document, since documents are JSON", f"name {name}", "not-a-document"
            )
        if status.st_size > MAX_FILE:
            raise _error(path, f"is larger than {MAX_FILE // 2**20} MB")
        return path.read_bytes()
    except FileNotFoundError:
        meant = _find_similar(path)
        hint = f"did you mean {display_path(meant)}?" if meant else ""
        raise _error(path, "there is no such file", hint, "missing-file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(path, f"cannot be read ({reason})") from None


def _error(path: Path, message: str, hint: str = "", code: Code = "unreadable-file") -> SuiteError:
    return SuiteError([Problem(code=code, file=display_path(path), message=message, hint=hint)])


def _find_similar(path: Path) -> Path | None:
    """Return the file that was probably meant: in the folder of documents, or of a name much like it."""
    folders = (path.parent, path.parent / FOLDER, Path(FOLDER))
    files = [file for folder in folders for file in sorted(folder.glob("*.json"))]
    by_stem = {file.stem: file for file in reversed(files)}  # the first folders win
    return by_stem.get(nearest_name(path.stem, by_stem, SIMILAR))


def find_document(directory: Path) -> Path:
    """Return the default document of a directory. Raises UsageError without one."""
    candidates = [folder / name for folder in (directory, directory / FOLDER) for name in NAMES]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    names = ", ".join(NAMES)
    raise UsageError(f"there is no {names} here or in {FOLDER}/; name a document, or run `waza m365 init`")


def _items(entries: list[dict[str, Any]]) -> tuple[DocumentItem, ...]:
    taken: set[str] = set()
    return tuple(_item(number, entry, taken) for number, entry in enumerate(entries, 1))


def _item(number: int, entry: dict[str, Any], taken: set[str]) -> DocumentItem:
    thread = convert_object(Thread, entry) if "turns" in entry else None
    return DocumentItem(
        number=number,
        id=item_id(number, entry, taken),
        turns=tuple(thread.turns) if thread else (convert_object(DocumentTurn, entry),),
        thread=thread,
    )
