"""Shards: what divides a run into parts, and what each part must say of the whole so that they can be merged."""

from __future__ import annotations

import msgspec

from waza.model.capabilities import Capabilities
from waza.model.selection import Selection, Shard
from waza.model.suite import Config, Metric
from waza.problem import Problem


class TaskDurations(msgspec.Struct, frozen=True, kw_only=True):
    """How long the tasks of a suite took in an earlier run, in milliseconds by id, and the digest of the file that says so."""

    digest: str
    suite: str
    tasks: dict[str, int]


class ShardRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which shard is to be run; without durations the ids of tasks decide which of them it has."""

    number: int
    of: int
    durations: TaskDurations | None = None

    @property
    def shard(self) -> Shard:
        """The shard, as results name it."""
        return Shard(
            number=self.number, of=self.of, durations=self.durations.digest if self.durations else ""
        )


class PlannedSuite(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A suite, by its path in the project, that is to run on a model; None: its files have mistakes, so it is not known."""

    path: str
    model: str | None = None


class WholeRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the journal of a shard says of the run that all shards make together: all that the fold needs besides trials.

    `suite` is the path of the suite in its project, `digest` names everything that may change a verdict, `tasks` is how many tasks all
    shards have, `places` are those of this shard's tasks among them, counted from 0. `selection` is that of the whole;
    `trigger_tests`: it has some, which run in the first shard. `config` lacks what may hold secrets. `planned` are the runs of the invocation.
    """

    shard: Shard
    suite: str
    digest: str
    tasks: int
    places: list[int]
    selection: Selection | None = None
    trigger_tests: bool = False
    config: Config = Config()
    metrics: list[Metric] = []
    capabilities: Capabilities = Capabilities()
    warnings: list[Problem] = []
    planned: list[PlannedSuite] = []
