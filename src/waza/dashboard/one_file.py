"""Runs as one HTML file: the pages with all of their data, over a reduced form for where scripts do not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec

from waza.dashboard.catalogue import ListedRun, RunState, tokens_of_trials
from waza.dashboard.documents import make_document_page, worst_first
from waza.dashboard.openapi import SCHEMAS
from waza.dashboard.pages import DocumentPage, Page, RunHead, TaskSummary, TrialDetail
from waza.dashboard.run_pages import make_head, named_values, order_tasks, summarize_tasks
from waza.dashboard.static_files import Bundle
from waza.dashboard.trial_pages import TrialLinks, make_trial
from waza.kit.text import pluralize, shorten_middle
from waza.m365.results.overview import Overview
from waza.model.observation import tokens_of
from waza.model.result import SuiteResult, TaskResult
from waza.model.trial import ARMS, Arm
from waza.problem import Problem
from waza.report.html_page import PageApp
from waza.report.show_hint import show_command
from waza.results.ending import BAD
from waza.results.outcome import Outcome
from waza.results.saved import SavedRun
from waza.results.so_far import RunSoFar
from waza.results.task_index import RunTasks, index_results
from waza.results.verdict import NotStarted
from waza.version import __version__

MEGABYTE = 1_000_000
_MOST_MISSES = 20  # trials in a row that do not fit; those after them are not tried
_LONGEST_TEXT = 1000  # characters of a text in a trial that is shortened


class ReportedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is to be in a file: its results without tasks (those so far where it did not end), and its tasks."""

    saved: SavedRun
    state: RunState
    head: SuiteResult
    source: RunTasks

    @property
    def outcome(self) -> Outcome:
        """The same as reports take it."""
        return Outcome(self.head, self._tasks)

    def _tasks(self, arm: Arm, encoded: bool) -> Iterator[TaskResult]:
        del encoded  # they may be, but need not
        return (self.source.read(arm, place) for place in range(len(self.source.heads(arm))))


def read_run(saved: SavedRun) -> tuple[ReportedRun, list[Problem]]:
    """Return a run with its results, or with what its journal has so far, and warnings about its file.

    Raises WazaError where it cannot be read, OSError.
    """
    if saved.results is not None:
        found = index_results(saved.results, checked=saved.directory is None)
        return ReportedRun(saved=saved, state="finished", head=found.head, source=found), found.warnings
    assert saved.directory is not None  # noqa: S101  # a run has results or a journal
    so_far, in_progress = RunSoFar(saved.directory), saved.in_progress
    so_far.refresh()
    head = so_far.head(in_progress=in_progress)
    state: RunState = "in progress" if in_progress else "cut off"
    return ReportedRun(saved=saved, state=state, head=head, source=so_far), []


EncodedTrial = Annotated[
    msgspec.Raw, msgspec.Meta(extra_json_schema={"$ref": SCHEMAS.format(name="TrialDetail")})
]
"""A `TrialDetail` that is JSON already: it was written to see how large it is."""


class Embedded(Page, frozen=True, kw_only=True):
    """What the pages read from their file instead of asking a server."""

    version: str
    """The version of waza."""
    heads: list[RunHead]
    """The heads of the runs."""
    tasks: dict[str, list[TaskSummary]]
    """The tasks of each run, by its id, in the order of its suite."""
    trials: dict[str, list[EncodedTrial]]
    """The trials of each run, by its id, each a `TrialDetail`; those that are left out are not among them."""
    documents: list[DocumentPage] = []
    """Results of evaluation documents, each with all of its items."""


class _Place(msgspec.Struct, frozen=True):
    """Where a trial is: the arm, the place of its task in it, and its number."""

    arm: Arm
    task: int
    number: int
    passed: bool

    @property
    def rank(self) -> tuple[bool, bool]:
        """What comes first: those that did not pass, and of these the main arm."""
        return self.passed, self.arm != "main"


def make_app(bundle: Bundle, embedded: Embedded) -> PageApp:
    """Return what a page turns into where scripts run."""
    data = msgspec.json.encode(embedded).decode()
    return PageApp(script=bundle.script, style=bundle.style, data=data)


def embed(
    runs: Sequence[ReportedRun], most: int, not_started: Sequence[NotStarted] = ()
) -> tuple[Embedded, list[str]]:
    """Return the data of runs, and notes of what is left out of it to keep it below `most` bytes.

    `not_started` is what was to run together with them and did not.

    Trials that did not pass come first. One that would take more than half of what is left has its long texts
    shortened, and is left out where it does not fit even so. Heads and tasks are never left out. Raises WazaError,
    OSError.
    """
    parts = [_RunPart(run) for run in runs]
    left = most - sum(part.size for part in parts)
    places = [(part, place) for part in parts for place in part.places()]
    misses = 0
    for part, place in sorted(places, key=lambda one: one[1].rank):
        size = part.add(place, left) if misses < _MOST_MISSES else part.leave_out()
        misses = 0 if size else misses + 1
        left -= size
    absent = named_values((one.name, one.why) for one in not_started)
    embedded = Embedded(
        version=__version__,
        heads=[
            msgspec.structs.replace(
                one.head,
                warnings=[*one.head.warnings, *one.notes],
                not_started=absent or one.head.not_started,
            )
            for one in parts
        ],
        tasks={one.listed.id: one.tasks for one in parts},
        trials={one.listed.id: one.trials for one in parts},
    )
    return embedded, [f"{one.listed.id}: {note}" for one in parts for note in one.notes]


def embed_document(name: str, report: Overview) -> Embedded:
    """Return the data of a document with results, whose id is `name`."""
    page = make_document_page(name, report, worst_first(report))
    return Embedded(version=__version__, heads=[], tasks={}, trials={}, documents=[page])


class _RunPart:
    """What a file has of a run, while its trials are added."""

    def __init__(self, run: ReportedRun) -> None:
        self._run = run
        self.tasks = summarize_tasks(run.source, order_tasks(run.source, "order", "asc"))
        usage = run.head.summary.usage
        self.listed = ListedRun(
            id=run.saved.name,
            saved=run.saved,
            path="",
            state=run.state,
            head=run.head,
            tokens=tokens_of_trials(run.source) if usage is None else tokens_of(usage),
        )
        self.head = make_head(self.listed, run.head, run.source)
        self.size = _size(msgspec.json.encode((self.head, self.tasks)))
        self.trials: list[msgspec.Raw] = []
        self._links = TrialLinks(run.source)
        self._shortened = self._left_out = 0
        self._task: tuple[Arm, int, TaskResult] | None = None  # the one that was read last

    def places(self) -> Iterator[_Place]:
        """Yield all trials of the run."""
        for arm in ARMS:
            for task, head in enumerate(self._run.source.heads(arm)):
                for trial in head.trials:
                    passed = trial.status not in BAD
                    yield _Place(arm, task, trial.number, passed)

    def add(self, place: _Place, left: int) -> int:
        """Add a trial, of at most so many bytes; return how many it takes."""
        page = self._make(place)
        if page is None:  # its record has no such number
            return 0
        data = msgspec.json.encode(page)
        short = _size(data) > left // 2
        if short:
            data = msgspec.json.encode(_shorten(page))
        size = _size(data)
        if size > left:
            return self.leave_out()
        self._shortened += short
        self.trials.append(msgspec.Raw(data))
        return size

    def leave_out(self) -> int:
        """Count a trial that is not added; return that it takes no bytes."""
        self._left_out += 1
        return 0

    @property
    def notes(self) -> list[str]:
        """What is not in the file, for people."""
        every = len(self.trials) + self._left_out
        notes = []
        if self._left_out:
            notes.append(
                f"{self._left_out} of {pluralize(every, 'trial')} are not in this file, to keep it small;"
                f" `{show_command(self.listed.id)}` has them"
            )
        if self._shortened:
            notes.append(
                f"long texts of {pluralize(self._shortened, 'trial')} are shortened in this file, to keep it small"
            )
        return notes

    def _make(self, place: _Place) -> TrialDetail | None:
        run = self._run
        if self._task is None or self._task[:2] != (place.arm, place.task):
            self._task = place.arm, place.task, run.source.read(place.arm, place.task)
        head = run.head if place.arm == "main" else run.head.baseline_outcome or run.head
        return make_trial(self.listed, head, self._links, place.arm, self._task[2], place.number)


def _size(data: bytes) -> int:
    """Return how many bytes JSON takes in a page, where every `<` becomes an escape."""
    return len(data) + 5 * data.count(b"<")


def _shorten(page: TrialDetail) -> Any:
    """Return a trial as plain values without the middle of its long texts."""
    found = _shorten_texts(msgspec.to_builtins(page))
    if found["judgedText"] != page.judged_text:  # the places of highlights are those of the whole text
        for check in found["checks"]:
            check["highlights"] = []
    note = f"texts of more than {_LONGEST_TEXT} characters; `{page.command}` shows them"
    found["facts"].append({"name": "Shortened in this file", "value": note})
    return found


def _shorten_texts(value: Any) -> Any:
    if isinstance(value, str):
        return shorten_middle(value, _LONGEST_TEXT)
    if isinstance(value, list):
        return [_shorten_texts(one) for one in value]
    if isinstance(value, dict):
        return {key: _shorten_texts(one) for key, one in value.items()}
    return value
