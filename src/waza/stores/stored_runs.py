"""The runs in a store: what is there, a run as results, and putting one there.

For commands and the dashboard::

    async with open_stored_runs(project) as stored:
        runs = await stored.list(skill="review", limit=20)     # newest first
        result, warnings = await stored.load(runs[0])
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from waza import plugins
from waza.errors import StoreError, SuiteError, UsageError
from waza.kit.moments import EARLIEST, read_moment
from waza.kit.share import percent
from waza.kit.text import pluralize
from waza.model.loaded import Project, StorageKeys
from waza.model.result import SuiteResult
from waza.problem import Problem
from waza.results.invocation import suite_name
from waza.results.read import load, open_results
from waza.results.verdict import verdict_of
from waza.stores import needed_package
from waza.stores.base import NameTakenError, ResultStore, StoredObject, StoreSetup
from waza.stores.names import SUFFIX, file_name, folder_name, name_part, object_name

MOST = 100_000
"""The objects that are looked at in a listing, which may have no end."""
_PATIENCE = 180.0  # seconds for the next objects of a listing
_AT_ONCE = 16  # requests
_LISTED = 5  # names in a message
_RUN = "run-"
_WHOLE = 100  # per cent

Progress = Callable[[int, int], None]
"""Is called with how many of how many are done."""


class StoredResult(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a store, as far as its labels tell."""

    run_id: str
    """The id of the run."""
    skill: str
    """The target of the suite; of a suite without one, its name."""
    model: str
    """The model; empty: the default of the runtime."""
    timestamp: str
    """When the run began, as RFC 3339."""
    pass_rate: float | None
    """Tasks that passed, from 0 to 100; None: not known."""
    blob_path: str
    """The name in the store."""
    verdict: str = ""
    """`passed`, `failed`, `not graded` or `not decided`; empty: another program stored it, and nothing is known."""
    size: int = 0
    """The size of the results file in bytes."""

    @property
    def started(self) -> datetime:
        """When the run began."""
        return read_moment(self.timestamp) or EARLIEST


class StoredRuns:
    """The runs in a store.

    `left_out` names what `list` last found there that nobody stored as a run; `is_cut`: there was more than it looks at.
    """

    def __init__(self, store: ResultStore, provider: str) -> None:
        self._store, self.provider = store, provider
        self.left_out: list[str] = []
        self.is_cut = False
        self._known: dict[tuple[str, str], StoredObject] = {}

    @property
    def place(self) -> str:
        """Where the store is, for messages."""
        return self._store.place

    @property
    def warnings(self) -> Sequence[str]:
        """What the latest list may lack."""
        found = []
        if self.left_out:
            names = ", ".join(map(display_name, sorted(self.left_out)[:_LISTED]))
            more = ", ..." if len(self.left_out) > _LISTED else ""
            count = pluralize(len(self.left_out), "object")
            found.append(f"left out: {count} that waza did not store: {names}{more}")
        if self.is_cut:
            found.append(
                f"{self.place} has more than {MOST:,} objects, and no others were looked at, so that runs may be "
                "missing; move old ones away, or list those of one skill"
            )
        return found

    async def list(
        self,
        *,
        skill: str = "",
        model: str = "",
        since: datetime | None = None,
        limit: int | None = None,
        progress: Progress | None = None,
    ) -> list[StoredResult]:
        """Return runs, newest first: of a skill and a model where these are given, that began at `since` or later.

        Only names and labels are read, and those of MOST objects. Raises StoreError.
        """

        def wanted(run: StoredResult) -> bool:
            return (
                skill in ("", run.skill)
                and model in ("", run.model)
                and (since is None or run.started >= since)
            )

        self.left_out = []
        objects = await self._results(folder_name(skill) if skill else "")
        found = [run for run in self._runs(one for one in objects if one.labels is not None) if wanted(run)]
        # An object is written after its run began, so those written last can be asked for first.
        rest = sorted((one for one in objects if one.labels is None), key=_written, reverse=True)
        for start in range(0, len(rest), _AT_ONCE):
            latest = _written(rest[start])
            if (since is not None and latest < since) or _has_enough(found, limit, latest):
                break
            part = rest[start : start + _AT_ONCE]
            described = await asyncio.gather(*map(self._describe, part))
            found += [run for run in self._runs(one for one in described if one is not None) if wanted(run)]
            if progress is not None:
                progress(min(start + _AT_ONCE, len(rest)), len(rest))
        found.sort(key=lambda run: (run.started, run.run_id), reverse=True)
        return found[:limit]

    async def find(self, name: str) -> StoredResult:
        """Return the run of an id, the beginning of an id, or a name in the store.

        Raises UsageError where there is no such run, or where there are several; StoreError.
        """
        objects = await self._results("")
        for match in _matches(name):
            chosen = [one for one in objects if match(one.name)]
            if len(chosen) > 1:
                names = ", ".join(one.name for one in chosen[:_LISTED])
                raise UsageError(
                    f"{name!r} means {len(chosen)} results in {self.place}: {names}; write more of it"
                )
            if chosen and (run := next(iter(self._runs([await self._with_labels(chosen[0])])), None)):
                return run
        labelled = [run for run in await self.list() if run.run_id == name]
        if len(labelled) == 1:
            return labelled[0]
        among = f" among the first {MOST:,} objects" if self.is_cut else ""
        raise UsageError(
            f"there is no run {name!r}{among} in {self.place}; `waza results list` shows what there is"
        )

    async def _results(self, prefix: str) -> Sequence[StoredObject]:
        """Return the objects that may be results, of the first MOST whose names begin with a prefix."""
        found: list[StoredObject] = []
        count, loop, self.is_cut = 0, asyncio.get_running_loop(), False
        try:
            async with asyncio.timeout(_PATIENCE) as limit:
                async for one in self._store.list(prefix):
                    limit.reschedule(loop.time() + _PATIENCE)
                    if count == MOST:
                        self.is_cut = True
                        break
                    count += 1
                    if one.name.endswith(SUFFIX):
                        found.append(one)
        except TimeoutError as error:
            raise StoreError(
                f"{self.place} does not list what it has: nothing more came within {_PATIENCE:.0f} seconds"
            ) from error
        return found

    async def download(self, run: StoredResult, target: Path) -> None:
        """Write the results file of a run into a file, byte by byte as it was uploaded.

        Raises StoreError, also where the object holds something else than the results of this run: labels and content
        are two statements of the store, and readers of the file would take it for the run.
        """
        await self._store.get(run.blob_path, target)
        try:
            head, _ = await asyncio.to_thread(_head_and_size, target)
        except SuiteError as error:
            why = "; ".join(f"{one.path}: {one.message}".removeprefix(": ") for one in error.problems[:1])
            raise StoreError(f"{self._name(run)} holds no results: the file {why}") from error
        if head.eval_id != run.run_id:
            raise StoreError(
                f"{self._name(run)} has the results of another run, {head.eval_id!r}; they were not taken"
            )

    def _name(self, run: StoredResult) -> str:
        return f"{run.blob_path} in {self.place}, which is labelled as the run {run.run_id!r},"

    async def load(self, run: StoredResult) -> tuple[SuiteResult, Sequence[Problem]]:
        """Return the results of a run, and warnings about the file.

        Raises StoreError, and SuiteError for what is no results file.
        """
        with TemporaryDirectory(prefix="waza-stored-") as directory:
            file = Path(directory) / file_name(run.run_id)
            await self.download(run, file)
            return await asyncio.to_thread(load, file)

    async def upload(self, results: Path) -> StoredResult:
        """Put a results file into the store, and return what it is there.

        The results of the same run take the place of earlier ones. Raises NameTakenError if another run has the name,
        StoreError, and SuiteError for what is no results file.
        """
        head, size = await asyncio.to_thread(_head_and_size, results)
        labels = make_labels(head)
        name = object_name(labels["skill"], head.eval_id)
        run = _run_of(StoredObject(name=name, size=size, labels=labels))
        if run is None:
            raise StoreError(f"{results} has no run id or no time, so that it cannot be stored")
        try:
            await self._store.put(name, results, labels, None)
        except NameTakenError as error:
            await self._replace(name, results, labels, error)
        return run

    async def _replace(self, name: str, results: Path, labels: dict[str, str], taken: NameTakenError) -> None:
        """Put results in the place of those that the same run has there."""
        there = await self._store.describe(name)
        if there is None:
            raise StoreError(f"{name} in {self.place} comes and goes; try again") from taken
        if any((there.labels or {}).get(key, "") != labels[key] for key in ("runid", "skill", "model")):
            whose = (there.labels or {}).get("runid")
            raise NameTakenError(
                f"{self.place} has {name} already, of {f'the run {whose}' if whose else 'an unknown run'} with another "
                "skill or model; it was left as it is: move it away, and run `waza results push`"
            ) from taken
        await self._store.put(name, results, labels, there.version)

    async def _describe(self, one: StoredObject) -> StoredObject | None:
        key = (one.name, one.version)
        if key not in self._known:
            found = await self._store.describe(one.name)
            if found is None:  # gone meanwhile
                return None
            self._known[key] = found
        return self._known[key]

    async def _with_labels(self, one: StoredObject) -> StoredObject:
        return one if one.labels is not None else (await self._describe(one)) or one

    def _runs(self, objects: Iterable[StoredObject]) -> Iterator[StoredResult]:
        for one in objects:
            run = _run_of(one)
            if run is None:
                self.left_out.append(one.name)
            else:
                yield run


def display_name(name: str) -> str:
    """Return a name in a store for messages, with escapes for what cannot be printed."""
    return name if name.isprintable() else repr(name)


@asynccontextmanager
async def open_stored_runs(project: Project, *, interactive: bool = True) -> AsyncIterator[StoredRuns]:
    """Yield the runs in the store of a project; the store is closed at the end.

    `interactive`: a person may be asked to sign in. Raises UsageError where `.waza.yaml` names no store, with what to
    write there, or names one that is not installed; StoreError where nobody is signed in.
    """
    keys = require_storage(project)
    store = make_store(StoreSetup(project=project, keys=keys, interactive=interactive))
    try:
        await store.start()
        yield StoredRuns(store, keys.provider)
    finally:
        await store.aclose()


def require_storage(project: Project) -> StorageKeys:
    """Return the section `storage` of a project. Raises UsageError, with what to write, where no store is in use."""
    keys = project.keys.storage
    file = project.directory / ".waza.yaml"
    if keys is None or not keys.provider:
        raise UsageError(
            f"{file} has no store for results; write into it, for example:\n"
            "storage:\n  provider: azure-blob   # or s3, gcs, file\n  accountName: myteamwaza\n"
            "  containerName: waza-results"
        )
    if not keys.enabled:
        raise UsageError(f"the store is switched off in {file} (storage.enabled: false)")
    return keys


def make_store(setup: StoreSetup) -> ResultStore:
    """Return the store of a project. Raises UsageError for a package that is missing or cannot be used."""
    provider = setup.keys.provider
    try:
        kind = plugins.load_class("waza.stores", provider)
    except ModuleNotFoundError as error:
        if not needed_package(provider):
            raise
        raise UsageError(needed_package(provider)) from error
    if kind is None:
        raise UsageError(f"there is no store {provider!r}; install the package that brings it")
    store: ResultStore = kind(setup)
    return store


def make_labels(head: SuiteResult) -> dict[str, str]:
    """Return the labels of a run, by the keys of the reference program, and its verdict, which is ours."""
    return {
        "skill": suite_name(head),
        "model": head.config.model_id,
        "passrate": percent(head.summary.success_rate, 2).removesuffix("%"),
        "timestamp": head.timestamp,
        "runid": head.eval_id,
        "verdict": verdict_of(head).word,
    }


def _head_and_size(results: Path) -> tuple[SuiteResult, int]:
    outcome, _ = open_results(results)
    return outcome.head, results.stat().st_size


def _run_of(one: StoredObject) -> StoredResult | None:
    """Return what an object is; None: not one that was stored as a run."""
    labels = one.labels or {}
    timestamp, run_id = labels.get("timestamp", ""), labels.get("runid", "")
    if not run_id or read_moment(timestamp) is None:
        return None
    return StoredResult(
        run_id=run_id,
        skill=labels.get("skill", ""),
        model=labels.get("model", ""),
        timestamp=timestamp,
        pass_rate=_number(labels.get("passrate", "")),
        blob_path=one.name,
        verdict=labels.get("verdict", ""),
        size=one.size,
    )


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 <= found <= _WHOLE else None


def _written(one: StoredObject) -> datetime:
    return one.modified or datetime.max.replace(tzinfo=UTC)


def _has_enough(found: Sequence[StoredResult], limit: int | None, latest: datetime) -> bool:
    """Tell whether so many runs are newer than all that may follow, which began before they were written."""
    return limit is not None and sum(run.started > latest for run in found) >= limit


def _matches(name: str) -> Iterator[Callable[[str], bool]]:
    """Yield what a name may mean, the most exact first."""
    part = name_part(name)
    yield lambda other: name in (other, other.removesuffix(SUFFIX))
    yield lambda other: other.rpartition("/")[2] == f"{part}{SUFFIX}"
    if part:
        for start in (part, f"{_RUN}{part}"):
            yield lambda other, start=start: other.rpartition("/")[2].startswith(start)  # type: ignore[misc]  # mypy takes no defaults of lambdas
