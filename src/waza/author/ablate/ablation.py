"""What `waza ablate` says of the parts of a skill."""

from __future__ import annotations

from typing import Literal

import msgspec

from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.paired import Bounds
from waza.results.ending import COMPLETE
from waza.results.treatment import Treatment

PartVerdict = Literal["helps", "harms", "no-gain", "cannot-tell", "not-measured"]
"""`helps`, `harms`: more than chance explains. `no-gain`: it gives less than the margin, so that it costs more than it gives.
`cannot-tell`: the data are too few. `not-measured`: no task was measured with and without the part, or the agent was not
offered the skill."""


class RunOfSkill(msgspec.Struct, frozen=True, kw_only=True):
    """The run of a copy of the skill: what of it was measured."""

    trials: int
    """Trials that passed or failed."""
    passed: int
    errors: int
    """Trials that broke."""
    error: str = ""
    """How the first of them broke."""
    status: str
    """How the run ended: `complete`, or what ended it."""
    treatment: Treatment | None
    """Whether the agent was offered the skill."""
    loaded: int
    """Measured trials in which the agent got the text of the skill."""
    not_loaded: int
    """Those in which it did not, as far as that can be seen."""
    loaded_unknown: int
    """Those of which that is not known."""


class NeededData(msgspec.Struct, frozen=True, kw_only=True):
    """The data in which a gain as large as the margin would show. Null: beyond what can be run."""

    tasks: int | None
    trials: int | None
    """Trials of each task, with the part and without."""


class PartResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a part of the skill costs and gives. Scores are from 0 to 1."""

    name: str
    kind: Literal["section", "file"]
    line: int | None
    """The line of its heading; null for a file."""
    tokens: int | None
    """Tokens of its text; null: it is no text."""
    verdict: PartVerdict
    why: str
    gain: float | None
    """The mean score with the whole skill, minus that without the part."""
    interval: Bounds | None
    """The interval of the gain; null where all tasks changed alike, so that nothing is known of its width. All intervals of
    an ablation hold together with a confidence of 95 %."""
    p_value: float | None
    p_adjusted: float | None
    """Adjusted for the number of parts, by Holm's method."""
    tasks: int
    """Tasks that were measured with and without the part."""
    paired_trials: int
    """Trials that were, by task and number."""
    tokens_per_trial: float | None
    """Tokens that trials took more with the whole skill; null: not known."""
    smallest_detectable: float | None
    """The smallest true gain that so much data shows in four of five cases."""
    needed: NeededData | None
    """The data that are lacking, where they cannot tell."""
    run: RunOfSkill
    """The run without the part."""
    notes: tuple[str, ...] = ()


class Ablation(msgspec.Struct, frozen=True, kw_only=True):
    """A skill, part by part."""

    suite: str
    model: str
    skill: str
    file: str
    """The definition file."""
    tokens: int
    """Tokens of its text below the frontmatter."""
    tokenizer: Literal["bpe", "estimate"]
    margin: float
    """A part that gives less than this gives too little."""
    alpha: float = ALPHA
    """The chance of any false alarm, over all parts, that is accepted."""
    whole: RunOfSkill
    """The run of the whole skill."""
    parts: tuple[PartResult, ...]
    fixed: dict[str, str]
    """Sections that cannot be left out, with the reason, by name."""
    notes: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether every run came to its end."""
        return all(run.status == COMPLETE for run in (self.whole, *(part.run for part in self.parts)))
