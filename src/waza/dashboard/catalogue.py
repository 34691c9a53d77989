"""What there is below the root: runs, other results files, documents and plans of experiments, found again cheaply.

A file is read only when its size or its time of change are others than before. Files may be written and replaced at any
time, and nothing outside of the root is read: symbolic links that lead out of it are not followed.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from waza.dashboard.file_cache import FileCache
from waza.errors import WazaError
from waza.kit.files import Stamp, is_inside, stamp_at, stamp_of
from waza.kit.line_file import is_locked
from waza.kit.os_errors import describe_os_error
from waza.model.observation import add_usage, tokens_of
from waza.model.result import SuiteResult
from waza.problem import display_path
from waza.results.invocation_lines import RUNS
from waza.results.journal_lines import JOURNAL, RESULTS, RunHeader, path_text, read_header
from waza.results.read import holds_results, open_parts
from waza.results.saved import SavedRun, saved_run
from waza.results.so_far import RunSoFar
from waza.results.task_index import ResultsIndex, RunTasks, index_results
from waza.suite.project import find_project

RunState = Literal["finished", "in progress", "cut off", "unreadable"]
Kind = Literal["results", "document", "plan", "other"]

MOST_BYTES = 1 << 30
"""The largest file that is read."""
_MOST_ENTRIES = 200_000  # files and folders that are looked at
_DOCUMENTS = ".evals"  # where results of documents are written
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
_SIGNS_OF_RESULTS = (b'"eval_id"', b'"eval_name"')
_BEGINNING = 1 << 16  # bytes in which a file that is no JSON shows what it was to be
_MOST_INDEXED_TASKS = 100_000  # tasks whose indexes are kept in memory
_ABSENT: Stamp = (0, -1, -1)


class ListedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run below the root.

    `id` is what it is called here, `path` that of its results file below the root; both are texts. `head` are its results
    without tasks, or what is known of it so far; None where it is unreadable, for the reason `error`.
    """

    id: str
    saved: SavedRun
    path: str
    state: RunState
    head: SuiteResult | None = None
    header: RunHeader | None = None
    tokens: int | None = None
    warnings: tuple[str, ...] = ()
    error: str = ""


class _Place(msgspec.Struct, frozen=True):
    """Where a run may be: a directory with a journal, or a results file elsewhere."""

    path: Path
    stamps: tuple[Stamp, Stamp]
    directory: bool


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """All files of interest. `whole`: nothing was left out because there are too many files."""

    runs: list[_Place]
    files: list[_Place]
    whole: bool


class Catalogue:
    """The runs and files below a root. Its methods may be called by several threads.

    `warn` is called, once, where there are too many files to look at all of them.
    """

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self._warn: Callable[[str], None] | None = warn
        self.root = Path(os.path.realpath(root))
        self._project = find_project(Path.cwd()).directory  # where commands look for ids of runs
        self._lock = threading.Lock()
        self._listed: dict[Path, tuple[_Place, ListedRun]] = {}
        self._known_kinds = FileCache[Kind]()
        self._kinds: dict[Path, Kind] = {}
        self._so_far: dict[Path, RunSoFar] = {}
        self._sources: OrderedDict[Path, ResultsIndex] = OrderedDict()

    def runs(self) -> list[ListedRun]:
        """Return all runs, in no order."""
        with self._lock:
            return list(self._refresh().values())

    def find(self, run_id: str) -> ListedRun | None:
        """Return the run that is called so; None where there is no such run."""
        with self._lock:
            return self._refresh().get(run_id)

    def files(self, kind: Kind) -> list[Path]:
        """Return the files of a kind, sorted."""
        with self._lock:
            self._refresh()
            return sorted(path for path, known in self._kinds.items() if known == kind)

    def reread(self, run: ListedRun) -> ListedRun:
        """Return a run in a directory as it is now. Raises WazaError where it is gone."""
        if run.saved.directory is None:
            return run
        with self._lock:
            place = _run_place(run.saved.directory)
            if place is None:
                raise WazaError(f"{run.id} is not there any more")
            found = self._run(place)
            self._listed[place.path] = place, found
            return msgspec.structs.replace(found, id=run.id)

    def journal(self, directory: Path) -> RunSoFar:
        """Return the journal of a run, read up to its end. Raises WazaError, OSError."""
        with self._lock:
            return self._journal(directory)

    def source(self, run: ListedRun) -> RunTasks:
        """Return the tasks of a run. Raises WazaError, OSError."""
        with self._lock:
            results, directory = run.saved.results, run.saved.directory
            if results is None:
                if directory is None:
                    raise WazaError(f"{run.id} has neither results nor a journal")
                return self._journal(directory)
            return self._index(results, own=directory is not None)

    def read_inside(self, path: str) -> bytes | None:
        """Return the content of a file that results name; None where it is not below the root, or not to be read."""
        place = self.root / path
        try:
            return _read_bounded(place) if is_inside(self.root, place) and place.is_file() else None
        except (WazaError, OSError, ValueError):
            return None

    def name(self, path: Path) -> str:
        """Return the path of a file below the root, as text."""
        return path_text(path.relative_to(self.root)).replace(os.sep, "/")

    def _refresh(self) -> dict[str, ListedRun]:
        found = _walk(self.root)
        if not found.whole and self._warn is not None:
            self._warn(
                f"warning: {self.root} has more than {_MOST_ENTRIES} files and folders, so not all of its runs are shown; "
                "serve a directory further down"
            )
            self._warn = None
        listed: dict[Path, tuple[_Place, ListedRun]] = {}
        for place in found.runs:
            listed[place.path] = place, self._run(place)
        self._classify(found.files)
        for place in found.files:
            if self._kinds[place.path] == "results":
                listed[place.path] = place, self._file(place)
        self._listed = listed
        self._so_far = {path: one for path, one in self._so_far.items() if path in listed}
        return self._named([run for _, run in listed.values()])

    def _named(self, runs: Sequence[ListedRun]) -> dict[str, ListedRun]:
        """Return the runs by id: the names of directories, paths where these are not unique, without copies."""
        by_id: dict[str, ListedRun] = {}
        own = {run.head.eval_id: run.head for run in runs if run.saved.directory and run.head}
        for run in runs:
            if run.saved.directory is None and run.head and _is_copy(run.head, own.get(run.head.eval_id)):
                continue
            name = run.id
            if name in by_id:
                name = self.name(run.saved.directory or run.saved.results or self.root)
            while name in by_id:  # a directory that is called as a file elsewhere, or names that are no UTF-8
                name += "'"
            by_id[name] = msgspec.structs.replace(run, id=name)
        return by_id

    def _run(self, place: _Place) -> ListedRun:
        """Return the run in a directory."""
        known = self._listed.get(place.path)
        if known and known[0].stamps == place.stamps:
            run = known[1]
            if run.state in ("finished", "unreadable"):
                return run
            locked = _is_locked(place.path)
            if run.state == "cut off" and not locked:
                return run
            if run.state == "in progress" and locked:
                return run
        name = path_text(Path(place.path.name or "run"))
        try:
            return self._read_run(place.path, name)
        except (WazaError, OSError, RecursionError) as error:
            return ListedRun(
                id=name,
                saved=SavedRun(name=name, directory=place.path),
                path="",
                state="unreadable",
                error=_reason(error),
            )

    def _read_run(self, directory: Path, name: str) -> ListedRun:
        self._refuse_outside(directory / JOURNAL)
        header = read_header(directory)
        run = saved_run(directory, name if directory.parent == self._project / RUNS else _shown(directory))
        if run.results is not None:
            self._refuse_outside(run.results)
            return self._with_results(run, name, own=True, header=header.without_tasks())
        so_far = self._so_far.setdefault(directory, RunSoFar(directory))
        warnings: tuple[str, ...] = ()
        try:
            so_far.refresh()
        except WazaError as error:
            warnings = (str(error),)
        in_progress = run.in_progress
        head = so_far.head(in_progress=in_progress)
        return ListedRun(
            id=name,
            saved=run,
            path="",
            state="in progress" if in_progress else "cut off",
            head=head,
            header=header.without_tasks(),
            tokens=tokens_of(head.summary.usage),
            warnings=warnings,
        )

    def _file(self, place: _Place) -> ListedRun:
        """Return the run in a results file elsewhere."""
        known = self._listed.get(place.path)
        if known and known[0].stamps == place.stamps:
            return known[1]
        name = self.name(place.path)
        run = SavedRun(name=_shown(place.path), results=place.path)
        try:
            return self._with_results(run, name, own=False)
        except (WazaError, OSError, RecursionError) as error:
            return ListedRun(id=name, saved=run, path=name, state="unreadable", error=_reason(error))

    def _with_results(
        self, run: SavedRun, name: str, *, own: bool, header: RunHeader | None = None
    ) -> ListedRun:
        assert run.results is not None  # noqa: S101  # both callers have seen it
        data = _read_bounded(run.results)
        parts = open_parts(data, self.name(run.results), checked=not own)
        usage = parts.head.summary.usage
        # The trials of an older file know them.
        known = tokens_of_trials(self._index(run.results, own=own)) if usage is None else tokens_of(usage)
        return ListedRun(
            id=name,
            saved=run,
            path=self.name(run.results),
            state="finished",
            head=_without_transcripts(parts.head),
            header=header,
            tokens=known,
            warnings=tuple(map(str, parts.warnings)),
        )

    def _classify(self, files: Sequence[_Place]) -> None:
        self._kinds = {
            place.path: self._known_kinds.get(
                place.path, partial(_kind_at, place.path), stamp=place.stamps[0]
            )
            for place in files
        }
        self._known_kinds.keep(self._kinds)

    def _journal(self, directory: Path) -> RunSoFar:
        found = self._so_far.setdefault(directory, RunSoFar(directory))
        try:
            found.refresh()
        except WazaError:  # what is before the damaged line is shown; the list says that there is one
            if found.header is None:
                raise
        return found

    def _index(self, path: Path, *, own: bool) -> ResultsIndex:
        self._refuse_outside(path)
        known = self._sources.pop(path, None)
        if known is None or known.stamp != stamp_of(path.stat()):
            known = index_results(path, checked=not own)
        self._sources[path] = known
        while len(self._sources) > 1 and sum(map(_size, self._sources.values())) > _MOST_INDEXED_TASKS:
            self._sources.popitem(last=False)
        return known

    def _refuse_outside(self, path: Path) -> None:
        if not is_inside(self.root, path):
            raise WazaError(f"{self.name(path)} leads out of the directory that is served, so it is not read")


def _kind_at(path: Path) -> Kind:
    try:
        return kind_of(_read_bounded(path))
    except (WazaError, OSError):
        return "other"


def _shown(path: Path) -> str:
    """Return the path of a run for commands, which are given in the directory where the server was started."""
    return path_text(Path(display_path(path)))


def _walk(root: Path) -> _Found:
    """Look for runs and JSON files; links to directories are not followed, and of hidden ones `.waza/runs` and `.evals` alone."""
    runs: list[_Place] = []
    files: list[_Place] = []
    left = _MOST_ENTRIES
    queue = deque([root])  # what is nearer to the root comes first
    while queue and left > 0:
        folder = queue.popleft()
        if place := _run_place(folder):
            runs.append(place)
            continue
        for entry in _entries(folder):
            left -= 1
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name == RUNS.parts[0]:
                        queue.append(Path(entry) / RUNS.parts[1])
                    elif _is_searched(entry.name):
                        queue.append(Path(entry))
                elif entry.name.endswith(".json") and not entry.name.startswith(".") and entry.is_file():
                    if entry.is_symlink() and not is_inside(root, Path(entry)):
                        continue
                    files.append(_Place(Path(entry), (stamp_of(entry.stat()), _ABSENT), False))
            except OSError:  # gone meanwhile
                continue
    return _Found(runs=runs, files=files, whole=not queue)


def _run_place(folder: Path) -> _Place | None:
    """Return a folder as the place of a run; None where it has no journal."""
    journal = stamp_at(folder / JOURNAL)
    return _Place(folder, (journal, stamp_at(folder / RESULTS) or _ABSENT), True) if journal else None


def _is_searched(name: str) -> bool:
    return name == _DOCUMENTS or not (name.startswith(".") or name in _LEFT_OUT)


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from sorted(entries, key=lambda entry: entry.name, reverse=True)
    except OSError:  # gone, or not to be read
        return


def _is_locked(directory: Path) -> bool:
    try:
        return is_locked(directory / JOURNAL)
    except OSError:
        return False


def _read_bounded(path: Path) -> bytes:
    """Return the content of a file. Raises WazaError if it is too large, OSError."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise WazaError(f"it has {size} bytes, and at most {MOST_BYTES} are read")
    return path.read_bytes()


class _Signs(msgspec.Struct):
    kind: msgspec.Raw = msgspec.Raw()
    items: msgspec.Raw = msgspec.Raw()
    metadata: msgspec.Raw = msgspec.Raw()


def kind_of(data: bytes) -> Kind:
    """Return what a JSON file holds. A damaged one counts as results if it begins as these do."""
    found = holds_results(data)
    if found is None:
        beginning = data[:_BEGINNING]
        return "results" if any(sign in beginning for sign in _SIGNS_OF_RESULTS) else "other"
    if found:
        return "results"
    try:
        signs = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=_Signs)
    except (msgspec.DecodeError, RecursionError):
        return "other"
    if bytes(signs.kind) == b'"waza.experiment.plan"':
        return "plan"
    return (
        "document"
        if bytes(signs.items).startswith(b"[") and b'"evaluatedAt"' in bytes(signs.metadata)
        else "other"
    )


def _is_copy(head: SuiteResult, own: SuiteResult | None) -> bool:
    """Tell whether results are those of a run that is here with its journal."""
    return own is not None and (head.timestamp, head.summary) == (own.timestamp, own.summary)


def _without_transcripts(head: SuiteResult) -> SuiteResult:
    triggers = [
        msgspec.structs.replace(one, transcript=[], tool_calls=[], final_output="")
        for one in head.trigger_results
    ]
    return msgspec.structs.replace(head, trigger_results=triggers)


def tokens_of_trials(tasks: RunTasks) -> int | None:
    """Return the tokens of all trials of the main arm, of results that do not add them up; None where none are known."""
    return tokens_of(add_usage([trial.usage for task in tasks.heads("main") for trial in task.trials]))


def _size(index: ResultsIndex) -> int:
    return sum(len(tasks) for tasks in index.tasks.values())


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"it cannot be read: {describe_os_error(error)}"
    return str(error) or type(error).__name__
