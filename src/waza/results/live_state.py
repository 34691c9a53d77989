"""What a run is doing now: `live.json` beside its journal, while the run lasts. `waza.engine.live_state` writes it.

The journal has what finished; this says what it does not: what is running, and how much there is to do. It is replaced
ten times a second at most, never synced, and removed at the end. A run that was killed leaves its last state.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from waza.model.pass_rule import ALL, PassRule
from waza.model.result import TrialStatus
from waza.model.stop_when import StopRule
from waza.model.trial import Arm
from waza.results.stop_when import next_trials

LIVE = "live.json"
_LARGEST = 1 << 24  # bytes; there are never more trials in it than workers

Doing = Literal["preparing", "waiting for the agent", "grading"]


class RunningNow(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that is running. `attempt` and `turn` count from 1; 0: none has begun. `since` is RFC 3339."""

    task: str
    name: str
    trial: int
    arm: Arm
    attempt: int = 0
    turn: int = 0
    doing: Doing = "preparing"
    tool_calls: int = 0
    since: str


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """A run while it lasts. `tasks` are those of each arm, with `trials` each; `started` is when this part of it began.

    With `stop_when`, `trials` are the most that a task can have; `pass_rule` and the finished trials say when it ends.
    """

    suite: str
    skill: str
    executor: str
    model: str
    workers: int
    tasks: dict[Arm, int]
    trials: int
    stop_when: StopRule | None = None
    pass_rule: PassRule = ALL
    started: str
    running: list[RunningNow] = []

    @property
    def total_trials(self) -> int:
        """How many trials the run has, in all arms; with `stop_when`, at most."""
        return sum(self.tasks.values()) * self.trials

    def lacks(self, trials: Mapping[int, TrialStatus]) -> bool:
        """Return whether a task with these finished trials has another one."""
        return bool(next_trials(self.stop_when, self.pass_rule, trials, self.trials))


def read_live_state(directory: Path) -> LiveState | None:
    """Return the state of the run in a directory; None where it has none that can be read."""
    path = directory / LIVE
    try:
        if not path.is_file():  # a pipe would be waited for
            return None
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_LARGEST), type=LiveState)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
