"""The routes of the HTTP API: what the server answers, and what the OpenAPI document says of it, are this table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from waza.dashboard import pages
from waza.model.trial import Arm

MOST = 500
"""The largest slice of a list."""
USUAL = 100
"""The slice of a list that does not say how long it is to be."""

Limit = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a route. Those in the path are needed."""

    name: str
    kind: Any
    """The type of its value."""
    meaning: str
    default: Any = None
    """What a request means that leaves it out; None: nothing."""
    needed: bool = False
    """Whether a request must have it."""


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A route. `{name}` in its path is one percent-encoded segment, which may hold any character."""

    path: str
    name: str
    """The name of the operation."""
    answer: Any
    """The type of the answer; None: a stream of server-sent events."""
    summary: str
    parameters: Sequence[Parameter] = ()
    total: bool = False
    """Whether `X-Total-Count` says how long the whole list is."""
    empty: str = ""
    """When it answers 204; empty: never."""

    @property
    def segments(self) -> list[str]:
        """The segments of the path."""
        return self.path.strip("/").split("/")


def _slice(default: int | None = USUAL) -> tuple[Parameter, Parameter]:
    most = f"How many are wanted, at most {MOST}" + ("." if default else "; all where it is left out.")
    return (
        Parameter(name="limit", kind=Limit, meaning=most, default=default),
        Parameter(name="offset", kind=Natural, meaning="How many are left out before them.", default=0),
    )


_RUN = Parameter(name="id", kind=str, meaning="The id of the run.", needed=True)
_ORDER = Parameter(name="order", kind=Literal["asc", "desc"], meaning="Ascending or descending.")
_SEARCH = "Only those that have this text"
_EVENT = Parameter(
    name="lastEventId",
    kind=Natural,
    meaning="The number of the last event that was seen, as the header `Last-Event-ID`, which wins.",
)
_PAIR = (
    Parameter(name="a", kind=str, meaning="The id of the run to compare with.", needed=True),
    Parameter(name="b", kind=str, meaning="The id of the other run.", needed=True),
)

RunSort = Literal[
    "timestamp", "tokens", "cost", "duration", "spec", "model", "passRate", "score", "weightedScore", "tasks"
]
TaskSort = Literal["default", "order", "name", "status", "score", "weightedScore", "duration", "tokens"]

ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute(path="/api/health", name="health", answer=pages.Health, summary="That the server is there."),
    ApiRoute(path="/api/summary", name="summary", answer=pages.RunsSummary, summary="All runs together."),
    ApiRoute(
        path="/api/runs",
        name="runs",
        answer=list[pages.RunSummary],
        summary="The runs below the root, the newest first; all of them without `limit`.",
        parameters=(
            *_slice(None),
            Parameter(name="q", kind=str, meaning=f"{_SEARCH} in suite, model, skill or id, in any case."),
            Parameter(name="model", kind=str, meaning="Only those of this model."),
            Parameter(name="outcome", kind=pages.Outcome, meaning="Only those that came out so."),
            Parameter(name="sort", kind=RunSort, meaning="What they are sorted by.", default="timestamp"),
            msgspec.structs.replace(_ORDER, default="desc"),
        ),
        total=True,
    ),
    ApiRoute(
        path="/api/runs/{id}",
        name="run",
        answer=pages.RunDetail,
        summary="A run with its tasks and all trials, which may be large; `/head` and `/tasks` are slices of it.",
        parameters=(_RUN, *_slice(None)),
        total=True,
    ),
    ApiRoute(
        path="/api/runs/{id}/head",
        name="head",
        answer=pages.RunHead,
        summary="A run without its tasks.",
        parameters=(_RUN,),
    ),
    ApiRoute(
        path="/api/runs/{id}/plots",
        name="plots",
        answer=list[pages.PlotNode],
        summary="The plots of a run, those of its report; none of a single trial.",
        parameters=(_RUN,),
    ),
    ApiRoute(
        path="/api/runs/{id}/tasks",
        name="tasks",
        answer=list[pages.TaskSummary],
        summary="A slice of the tasks of a run.",
        parameters=(
            _RUN,
            *_slice(),
            Parameter(name="q", kind=str, meaning=f"{_SEARCH} in id, name, group or tags, in any case."),
            Parameter(name="status", kind=pages.Ending, meaning="Only those that ended so."),
            Parameter(
                name="sort",
                kind=TaskSort,
                meaning="What they are sorted by; `default`: what did not pass first, `order`: as in the suite.",
                default="default",
            ),
            msgspec.structs.replace(_ORDER, default="asc"),
        ),
        total=True,
    ),
    ApiRoute(
        path="/api/runs/{id}/tasks/{task}/trials/{n}",
        name="trial",
        answer=pages.TrialDetail,
        summary="A trial with all that is recorded of it.",
        parameters=(
            _RUN,
            Parameter(name="task", kind=str, meaning="The id of the task.", needed=True),
            Parameter(name="n", kind=Positive, meaning="The number of the trial.", needed=True),
            Parameter(name="arm", kind=Arm, meaning="The arm.", default="main"),
        ),
    ),
    ApiRoute(
        path="/api/compare",
        name="compare",
        answer=pages.ComparisonPage,
        summary="Two runs side by side: `b` against `a`, with a slice of their tasks.",
        parameters=(*_PAIR, *_slice()),
        total=True,
    ),
    ApiRoute(
        path="/api/compare/trial",
        name="compare_trial",
        answer=pages.TrialComparison,
        summary="The same trial of two runs.",
        parameters=(
            *_PAIR,
            Parameter(name="task", kind=str, meaning="The id of the task.", needed=True),
            Parameter(name="trial", kind=Positive, meaning="The number of the trial.", default=1),
        ),
    ),
    ApiRoute(
        path="/api/history",
        name="history",
        answer=pages.History,
        summary="The runs over time: figures with intervals, changes, and tasks that flip.",
        parameters=(
            Parameter(
                name="suite",
                kind=str,
                meaning="Only runs of this suite, by its name or the path of its file.",
            ),
            Parameter(name="model", kind=str, meaning="Only runs on this model."),
            Parameter(
                name="last", kind=Positive, meaning="So many runs of each suite and model.", default=200
            ),
        ),
    ),
    ApiRoute(
        path="/api/live",
        name="live",
        answer=list[pages.LiveRun],
        summary="Runs in progress, the newest first.",
    ),
    ApiRoute(
        path="/api/events",
        name="events",
        answer=None,
        summary="The events of the newest run: of those in progress, if there are any.",
        parameters=(_EVENT,),
        empty="there is no run",
    ),
    ApiRoute(
        path="/api/v1/runs/{id}/events",
        name="run_events",
        answer=None,
        summary="The events of a run.",
        parameters=(_RUN, _EVENT),
    ),
    ApiRoute(
        path="/api/experiments",
        name="experiments",
        answer=list[pages.ExperimentPage],
        summary="The experiments below the root.",
        parameters=_slice(),
        total=True,
    ),
    ApiRoute(
        path="/api/release-collections",
        name="release_collections",
        answer=list[pages.ReleaseCollection],
        summary="The same in short.",
    ),
    ApiRoute(
        path="/api/stored",
        name="stored",
        answer=pages.StoredPage,
        summary="A slice of the runs of the configured store.",
        parameters=_slice(),
        total=True,
    ),
    ApiRoute(
        path="/api/storage/status",
        name="storage_status",
        answer=pages.StorageStatus,
        summary="Whether results are kept in a store as well.",
    ),
    ApiRoute(
        path="/api/documents",
        name="documents",
        answer=list[pages.DocumentSummary],
        summary="A slice of the results of evaluation documents below the root.",
        parameters=_slice(),
        total=True,
    ),
    ApiRoute(
        path="/api/documents/{id}",
        name="document",
        answer=pages.DocumentPage,
        summary="The results of a document, with a slice of its items.",
        parameters=(
            Parameter(name="id", kind=str, meaning="The id of the document.", needed=True),
            *_slice(),
            Parameter(name="status", kind=str, meaning="Only items with this status."),
            Parameter(name="q", kind=str, meaning=f"{_SEARCH}, in any case."),
        ),
        total=True,
    ),
)
