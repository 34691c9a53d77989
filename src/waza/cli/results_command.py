"""What the commands of `waza results` do."""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unicodedata import normalize

import msgspec

from waza.cli.open_project import open_project
from waza.cli.open_results import find_runs
from waza.cli.streams import (
    Output,
    make_output_draw,
    make_progress,
    print_json,
    print_line,
    print_notice,
    print_problems,
)
from waza.cli.upload import upload
from waza.errors import EXIT_ERROR, EXIT_OK, UsageError, WazaError
from waza.kit.files import write_atomic
from waza.kit.share import percent
from waza.kit.text import pluralize
from waza.model.loaded import Project
from waza.model.result import MetricResult, SuiteResult, number
from waza.report.compare_table import print_comparison
from waza.report.section import Table
from waza.report.table import table
from waza.report.words import moment, one_line
from waza.results.compare import compare, doubts
from waza.stores.names import SUFFIX, name_part
from waza.stores.queue import UploadQueue
from waza.stores.stored_runs import StoredResult, StoredRuns, display_name, open_stored_runs, require_storage

T = TypeVar("T")
_AT_ONCE = 8  # downloads
_STEP = 10 * 16  # objects between two lines of progress
_PIECE = 2**20  # bytes
_DIGEST = 12  # digits


class ListArguments(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are meant, by the options of `waza.cli.results`."""

    skill: str = ""
    model: str = ""
    since: datetime | None = None
    limit: int | None = None
    as_json: bool = False

    async def list(self, stored: StoredRuns) -> Sequence[StoredResult]:
        """Return these runs; say what is no run, and how far a long search is."""
        runs = await stored.list(
            skill=self.skill,
            model=self.model,
            since=self.since,
            limit=self.limit,
            progress=make_progress("read", "objects", _STEP),
        )
        for warning in stored.warnings:
            print_notice(f"warning: {warning}")
        return runs


def list_runs(arguments: ListArguments) -> int:
    """List runs."""

    async def work(stored: StoredRuns) -> int:
        runs = await arguments.list(stored)
        if arguments.as_json:
            print_json(runs)
        elif not runs:
            narrowed = arguments.skill or arguments.model or arguments.since
            print_line(f"no run in {stored.place}{' matches' if narrowed else ''}")
        else:
            titles = ("run", "skill", "model", "passed", "verdict", "started")
            for line in table(titles, [_line(run) for run in runs]):
                print_line(line)
        return EXIT_OK

    return _in_store(work)


def get_run(name: str, output: Path | None) -> int:
    """Fetch one run."""

    async def work(stored: StoredRuns) -> int:
        run = await stored.find(name)
        with TemporaryDirectory(prefix="waza-stored-") as directory:
            file = Path(directory) / "results.json"
            await stored.download(run, file)
            if str(output) == "-":
                out = Output()
                out.json([file.read_bytes()])
                out.close()
                return EXIT_OK
            target = output or Path(_file_part(run.run_id) + SUFFIX)
            if output is None and target.exists() and target.read_bytes() != file.read_bytes():
                raise UsageError(f"{target} is there already, and is another file; name one with -o FILE")
            write_atomic(target, _pieces(file))
        print_notice(f"Written: {target}; to look at it: {shlex.join(['waza', 'show', str(target)])}")
        return EXIT_OK

    return _in_store(work)


def push_runs(files: Sequence[str]) -> int:
    """Upload files, or what is in the queue. The exit code says whether all of it is stored."""
    project = open_project()
    require_storage(project)
    queue = UploadQueue(project.directory)
    paths = [path for name in files for path in _results_of(name, project)] if files else queue.files()
    if not paths:
        print_notice("nothing is left to upload")
        return EXIT_OK

    async def work() -> int:
        failed = 0
        async for one in upload(project, paths, queue):
            if one.run is None:
                failed += 1
                print_notice(f"warning: not uploaded: {one.file.name}: {one.error}")
        if failed:
            print_notice(f"{failed} of {pluralize(len(paths), 'result')} not uploaded")
        return EXIT_ERROR if failed else EXIT_OK

    return asyncio.run(work())


def pull_runs(arguments: ListArguments, directory: Path | None) -> int:
    """Fetch all runs that are meant."""
    project = open_project()
    root = directory or project.directory / project.keys.paths.results

    async def work(stored: StoredRuns) -> int:
        runs = await arguments.list(stored)
        wanted = list(zip(runs, _places(root, runs), strict=True))
        missing = [(run, file) for run, file in wanted if not _is_there(run, file)]
        done, failed, places = 0, 0, asyncio.Semaphore(_AT_ONCE)

        async def fetch(run: StoredResult, file: Path) -> None:
            nonlocal done, failed
            async with places:
                try:
                    with TemporaryDirectory(prefix="waza-stored-") as temporary:
                        fresh = Path(temporary) / "results.json"
                        await stored.download(run, fresh)
                        await asyncio.to_thread(lambda: write_atomic(file, _pieces(fresh)))
                except (WazaError, OSError) as error:
                    failed += 1
                    print_notice(f"error: not fetched: {display_name(run.blob_path)}: {error}")
                    return
                done += 1
                print_notice(f"Written ({done} of {len(missing)}): {file}")

        await asyncio.gather(*(fetch(*pair) for pair in missing))
        there = len(wanted) - len(missing)
        not_fetched = f", {failed} not fetched" if failed else ""
        print_line(f"{pluralize(done, 'run')} fetched into {root}, {there} there already{not_fetched}")
        return EXIT_ERROR if failed else EXIT_OK

    return _in_store(work, project)


def compare_runs(first: str, second: str, *, as_json: bool) -> int:
    """Compare two runs."""

    async def work(stored: StoredRuns) -> int:
        runs = [await stored.find(first), await stored.find(second)]
        results: list[SuiteResult] = []
        for run in runs:
            result, warnings = await stored.load(run)
            results.append(result)
            print_problems(warnings)
        named = [(run.run_id, result) for run, result in zip(runs, results, strict=True)]
        for doubt in doubts(named):
            print_notice(f"warning: {doubt}")
        found = compare(named)
        metrics = _metrics(*results, has_deltas=not found.not_measured)
        if as_json:
            print_json(
                {
                    "Run1": runs[0],
                    "Run2": runs[1],
                    "PassDelta": _rounded_delta(found.success_rate_delta, 100),
                    "ScoreDelta": _rounded_delta(found.aggregate_score_delta),
                    "Metrics": metrics,
                    "Comparison": found.comparison,
                }
            )
            return EXIT_OK
        draw = make_output_draw()
        print_comparison(found, draw)
        lines = [
            (one_line(name), *(_shown(one[key]) for key in ("Value1", "Value2", "Delta")))
            for name, one in metrics.items()
        ]
        draw("METRICS", [Table(("Metric", "[1]", "[2]", "Delta"), lines)] if lines else [])
        return EXIT_OK

    return _in_store(work)


def _metrics(first: SuiteResult, second: SuiteResult, *, has_deltas: bool) -> dict[str, dict[str, Any]]:
    """Return the metrics of two results by their names, with the keys of the reference program."""
    return {
        name: {
            "Name": name,
            **_values(first.metrics.get(name), second.metrics.get(name), has_delta=has_deltas),
        }
        for name in dict.fromkeys([*first.metrics, *second.metrics])
    }


def _values(
    first: MetricResult | None, second: MetricResult | None, *, has_delta: bool
) -> Mapping[str, float | None]:
    values = [None if one is None else number(one.value) for one in (first, second)]
    delta = None if first is None or second is None or not has_delta else _rounded(second.value - first.value)
    return {"Value1": values[0], "Value2": values[1], "Delta": delta}


def _rounded_delta(value: float | None, factor: float = 1) -> float | None:
    return None if value is None else _rounded(value * factor)


def _rounded(value: float) -> float:
    return number(round(value, 3))


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _line(run: StoredResult) -> tuple[str, ...]:
    rate = "" if run.pass_rate is None else percent(run.pass_rate / 100)
    return run.run_id, run.skill, run.model or "default", rate, run.verdict, moment(run.timestamp)


def _places(root: Path, runs: Sequence[StoredResult]) -> Iterator[Path]:
    """Yield for each run the file that it is fetched into, which is no other's, also where names are not case-sensitive."""
    plain = [(_file_part(run.skill or "_"), _file_part(run.run_id)) for run in runs]
    keys = [tuple(normalize("NFC", part.casefold()) for part in parts) for parts in plain]
    counted = Counter(keys)
    for run, (folder, name), key in zip(runs, plain, keys, strict=True):
        tail = f"-{sha256(run.blob_path.encode()).hexdigest()[:_DIGEST]}" if counted[key] > 1 else ""
        yield root / folder / f"{name}{tail}{SUFFIX}"


def _file_part(text: str) -> str:
    """Return a text of a store as the name of a file here, which is never a hidden one, such as those that configure tools."""
    part = name_part(text)
    return "_" + part[1:] if part.startswith(".") else part


def _is_there(run: StoredResult, file: Path) -> bool:
    return file.is_file() and file.stat().st_size == run.size


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(_PIECE):
            yield piece


def _results_of(name: str, project: Project) -> Iterator[Path]:
    """Yield the results files that an argument means. Raises UsageError for a run without results."""
    for run in find_runs(name, project.directory).runs:
        yield run.file()


def _in_store(work: Callable[[StoredRuns], Awaitable[T]], project: Project | None = None) -> T:
    """Run work with the store of the project opened."""
    found = project or open_project()

    async def go() -> T:
        async with open_stored_runs(found) as stored:
            return await work(stored)

    return asyncio.run(go())
