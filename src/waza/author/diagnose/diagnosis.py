"""What `waza diagnose` says of a skill."""

from __future__ import annotations

from typing import Literal

import msgspec

DiagnosisVerdict = Literal[
    "cannot-measure", "not-offered", "not-invoked", "no-effect", "harmful", "too-dear", "keep"
]
ASSUMPTION = "trials in which the skill was not invoked ended as they would have without it"

POINTS, PERCENT, TOKENS = "percentage points", "percent", "tokens a trial"
TOKENS_PER_POINT = "tokens a trial per percentage point"


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules compare figures with."""

    margin: float = 10.0
    """A lift of less than this, in percentage points either way, is no effect."""
    max_tokens_per_point: float = 5_000.0
    """Tokens a trial that a percentage point of lift may cost."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A measured value with its unit."""

    value: float
    unit: str
    lower: float | None = None
    """The lower end of its 95 % interval; None: it has no interval."""
    upper: float | None = None
    """The upper end."""


class Offers(msgspec.Struct, frozen=True, kw_only=True):
    """In how many trials with skills, without broken ones, the skill was offered, and how."""

    full: int = 0
    """With its description, or its text."""
    name: int = 0
    """By its name alone."""
    absent: int = 0
    """Not at all."""
    unknown: int = 0
    """Nobody could see it, or the results do not say."""


class DataNeeded(msgspec.Struct, frozen=True, kw_only=True):
    """The data that a lift as large as the margin would show in. None: not known, or beyond what can be run."""

    tasks: int
    """Tasks of the suite, or groups of tasks."""
    trials: int | None
    """Trials of each of them, with the skill and without."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A skill in one run. A figure is None where the data do not say it."""

    skill: str
    """The skill under test; of a suite that names none, the name of the suite."""
    suite: str
    """The name of the suite."""
    model: str
    """The model; empty: the default one."""
    executor: str
    """The type of the executor that ran the agent."""
    run: str
    """The id of the run, or the path of its results."""
    verdict: DiagnosisVerdict
    """What is the matter with the skill, or `keep`."""
    why: str
    """What the verdict rests on."""
    next: str
    """What to do about it: a command, or a change."""
    tasks: int = 0
    """Tasks that were measured both with and without the skill."""
    trials_with_skill: int = 0
    """Measured trials with the skill."""
    trials_without_skill: int = 0
    """Measured trials without it."""
    pass_rate_with_skill: Figure | None = None
    """The mean over the tasks of the share of trials that passed, with the skill."""
    pass_rate_without_skill: Figure | None = None
    """The same without it."""
    lift: Figure | None = None
    """The difference of the two, task by task."""
    p_value: float | None = None
    """How often chance alone gives a lift at least as far from 0."""
    offered: Offers = Offers()
    """How the agent was offered the skill."""
    invocation_rate: Figure | None = None
    """The share of trials with the skill in which the agent invoked it, or got its text."""
    effect_when_invoked: Figure | None = None
    """The lift over the invocation rate, under the `assumption`."""
    assumption: str = ASSUMPTION
    """What the effect when invoked takes for granted."""
    extra_tokens: Figure | None = None
    """Tokens that a trial with the skill used more than one without, task by task."""
    tokens_per_point: Figure | None = None
    """Extra tokens over the lift; only of a lift that chance does not explain."""
    needed: DataNeeded | None = None
    """With `cannot-measure`: the data that it takes, where that is what is missing."""
    notes: list[str] = []
    """What is not known and bears on the figures."""
