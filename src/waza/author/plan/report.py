"""What `waza plan` says of a run that has not begun. Scores and differences are from 0 to 1."""

from __future__ import annotations

from typing import Literal

import msgspec

from waza.model.trial import Arm
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import POWER

METHOD = "paired difference of mean scores over tasks, t approximation to the sign-flip test (Bloom 1995)"

Source = Literal["measured", "assumed"]
Cheaper = Literal["neither", "as it is", "more tasks", "more trials", "alike"]


class SizeRange(msgspec.Struct, frozen=True):
    """A number that is known before the run, or two limits of it where trials end by what they show."""

    least: int
    most: int


class SizeEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """A sum over the run by earlier trials; between `lower` and `upper` it is in 19 of 20 runs like those.

    Where trials end by what they show, `lower` is with the fewest of them, `upper` with the most, and `expected` null.
    """

    expected: float | None
    lower: float
    upper: float
    trials: int
    """Earlier trials that it is made from."""
    tasks: int
    """Tasks of the suite that have such trials; the others count as the average of these."""


class Deviation(msgspec.Struct, frozen=True):
    """A standard deviation of scores from 0 to 1, and where it comes from."""

    std_dev: float
    source: Source


class NeededSize(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to show a difference: `tasks` with as many trials as now, or `trials` of the tasks there are.

    None: no number that is worth naming does. Sessions are those of one run, in all of its arms.
    """

    difference: float
    tasks: int | None
    tasks_sessions: int | None
    trials: int | None
    trials_sessions: int | None
    cheaper: Cheaper


class PlannedPower(msgspec.Struct, frozen=True, kw_only=True):
    """What two results of this size show, with scores from 0 to 1."""

    tasks: int
    units: int
    """Groups of tasks that change together, else the tasks."""
    trials: int
    """Trials a task in each result; the fewest, where they end by what they show."""
    trial: Deviation
    """Of a trial about the mean of its task."""
    task: Deviation
    """Of true differences between tasks."""
    enough_tasks: bool
    """Whether so many units can show a difference at all."""
    if_alike: float | None
    """The smallest difference that is shown if a change does the same to all tasks; null: there are not enough tasks, or
    trials do not vary, so that any difference shows."""
    smallest_detectable: float | None
    """The same if a change does to tasks what `task` says."""
    alpha: float = ALPHA
    power: float = POWER
    method: str = METHOD
    needed: NeededSize | None = None


class SizePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of a suite on a model takes and shows. Scores and differences are from 0 to 1."""

    suite: str
    model: str
    tasks: int
    arms: list[Arm]
    trials: SizeRange
    """Trials of a task in each arm."""
    trigger_prompts: int
    sessions: SizeRange
    """Sessions of the agent: trials in all arms, and prompts of trigger tests. Further attempts are not among them."""
    attempts: int
    """How many sessions a trial has at most, where it fails."""
    judge_calls: SizeRange
    """Questions to judges, without further attempts and trigger tests."""
    workers: int
    runs: list[str]
    """The earlier runs that estimates are made from."""
    tokens: SizeEstimate | None
    """Input and output tokens of agents; null: not known."""
    judge_tokens: SizeEstimate | None
    """Those of judges and responders."""
    cost: SizeEstimate | None
    """Money for agents, judges and responders, at the prices of those runs; null: not known, or in several currencies."""
    currency: str
    """The currency of `cost`."""
    ai_credits: SizeEstimate | None
    premium_requests: SizeEstimate | None
    duration_ms: SizeEstimate | None
    """Wall time, of trials alone, on as many workers."""
    power: PlannedPower
    notes: list[str]
