"""Writing runs, or an evaluation document with results, as one HTML file: `waza report`, and `-o report.html` of `waza run`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from waza.cli.open_results import find_runs
from waza.cli.outputs import CommandResults, check_target
from waza.cli.streams import print_notice, print_problems
from waza.dashboard.catalogue import kind_of
from waza.dashboard.documents import read_overview
from waza.dashboard.one_file import MEGABYTE, ReportedRun, embed, embed_document, make_app, read_run
from waza.dashboard.static_files import NO_PAGES, read_bundle
from waza.errors import EXIT_OK, UsageError
from waza.kit.files import write_atomic
from waza.kit.text import pluralize
from waza.m365.results.html_report import make_parts as make_document_parts
from waza.problem import display_path
from waza.report.html_page import PageApp, PageParts, element, escape_text, make_page
from waza.report.html_report import HtmlReporter, make_parts
from waza.results.invocation import InvocationResults, suite_name
from waza.results.saved import FoundRuns, SavedRun
from waza.results.verdict import run_name
from waza.results.write import encode
from waza.suite.project import find_project

_MOST_LISTED = 200  # tasks of a run in the reduced form
LARGEST = 10.0
"""Megabytes that a report has at most, unless an option says otherwise: what mail servers take."""
_NOTES = 1000  # bytes that notes about a run may take


def write_saved_report(arguments: Sequence[str], output: Path, megabytes: float) -> int:
    """Write the runs that arguments mean, as `find_results` finds them; without any, the newest run. Return the exit code.

    The only argument may also be an evaluation document with results.

    Raises UsageError for runs that are not there and for a file that cannot be the output, WazaError, OSError.
    """
    documents = [Path(one) for one in arguments if _is_document(Path(one))]
    if documents:
        if len(arguments) > 1:
            raise UsageError(f"{documents[0]} is an evaluation document; write a report of its own for each")
        return _write_document_report(documents[0], output, megabytes)
    project = find_project(Path.cwd()).directory
    found = [find_runs(argument, project) for argument in arguments or (None,)]
    saved = _distinct(found)
    check_target(output, [one.results for one in saved if one.results])
    runs = [_read(one) for one in saved]
    results = InvocationResults(
        outcomes=tuple(run.outcome for run in runs),
        skills=tuple(_skills(runs)),
        not_started=tuple(dict.fromkeys(absent for one in found for absent in one.not_started)),
    )
    write_report_file(output, results, runs, megabytes)
    size = output.stat().st_size / MEGABYTE
    print_notice(f"{output}: {pluralize(len(runs), 'run')}, {size:.1f} MB")
    return EXIT_OK


def _is_document(path: Path) -> bool:
    return path.is_file() and kind_of(path.read_bytes()) == "document"


def _write_document_report(document: Path, output: Path, megabytes: float) -> int:
    check_target(output, [document])
    report, bundle = read_overview(document), read_bundle()
    parts = make_document_parts(report)
    if bundle is None:
        print_notice(f"warning: {output} has its short form alone: {NO_PAGES}")
        data = parts.draw().encode("utf-8", "replace")
    else:
        data = _page(parts, make_app(bundle, embed_document(display_path(document), report)), ())
    if len(data) > megabytes * MEGABYTE:
        print_notice(
            f"warning: {output} has {len(data) / MEGABYTE:.1f} MB, more than --max-size {megabytes:g}: nothing of a document is left out"
        )
    write_atomic(output, data)
    print_notice(f"{output}: {pluralize(len(report.items), 'item')}, {len(data) / MEGABYTE:.1f} MB")
    return EXIT_OK


def write_run_report(path: Path, results: CommandResults, files: Sequence[Path | None]) -> list[Path]:
    """Write what a command did as one HTML file; return its path. `files` are the results files of what it ran.

    A run that is not saved (None) has none. Raises WazaError, OSError.
    """
    with TemporaryDirectory(prefix="waza-report-") as directory:
        runs = []
        for number, (one, file) in enumerate(zip(results.done, files, strict=True)):
            name = one.outcome.head.eval_id
            saved = SavedRun(name=name, results=file, directory=file.parent if file else None)
            if file is None:
                saved = SavedRun(name=name, results=Path(directory, f"{number}.json"))
                write_atomic(Path(directory, f"{number}.json"), encode(one.outcome))
            runs.append(read_run(saved)[0])
        write_report_file(path, results.invocation, runs, LARGEST)
    return [path]


def write_report_file(
    path: Path, results: InvocationResults, runs: Sequence[ReportedRun], megabytes: float
) -> None:
    """Write results as one HTML file; `runs` are the same as its pages take them. Raises WazaError, OSError."""
    bundle = read_bundle()
    if bundle is None or not runs:
        if bundle is None:
            print_notice(f"warning: {path} has its short form alone, without trials that passed: {NO_PAGES}")
        write_atomic(path, HtmlReporter().report(results).encode("utf-8", "replace"))
        return
    parts, most = make_parts(results, _MOST_LISTED), int(megabytes * MEGABYTE)
    empty = _page(parts, make_app(bundle, embed((), 0)[0]), ())
    embedded, notes = embed(runs, most - len(empty) - _NOTES * len(runs), results.not_started)
    data = _page(parts, make_app(bundle, embedded), notes)
    if len(data) > most:
        why = f"more than --max-size {megabytes:g}: its tasks alone, of which none is left out, take the rest"
        print_notice(f"warning: {path} has {len(data) / MEGABYTE:.1f} MB, {why}")
    for note in notes:
        print_notice(f"note: {note}")
    write_atomic(path, data)


def _page(parts: PageParts, app: PageApp, notes: Sequence[str]) -> bytes:
    about = "This is the short form, for programs that run no scripts; a browser shows all of it."
    lines = [element("p", escape_text(line), class_="quiet") for line in (about, *notes)]
    page = make_page(parts.title, parts.header, [*lines, *parts.main], parts.style, app)
    return page.encode("utf-8", "replace")


def _distinct(found: Sequence[FoundRuns]) -> list[SavedRun]:
    """Return the runs, each once, however often it is meant."""
    return list(
        {
            (one.results or one.directory or Path()).resolve(): one for each in found for one in each.runs
        }.values()
    )


def _read(saved: SavedRun) -> ReportedRun:
    if saved.unfinished:
        print_notice(f"note: {saved.unfinished}; the report has what has finished")
    run, warnings = read_run(saved)
    print_problems(warnings)
    return run


def _skills(runs: Sequence[ReportedRun]) -> list[str]:
    """Return what the runs are called, with their ids where several are of the same suite on the same model."""
    names = [suite_name(run.head) for run in runs]
    counted = Counter(run_name(name, run.head.config.model_id) for name, run in zip(names, runs, strict=True))
    return [
        f"{name} ({run.saved.name})" if counted[run_name(name, run.head.config.model_id)] > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
