"""Which tasks of a suite are in a shard (`--shard i/n`): decided alike on every machine, from ids or durations alone."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Sequence

import msgspec

from waza.kit import stats
from waza.model.loaded import Suite, SuitePart
from waza.model.selection import Selection
from waza.model.shard import ShardRequest, TaskDurations
from waza.model.task import Task
from waza.suite.digest import suite_digest

TRIGGER_SHARD = 1  # its machine runs the trigger tests, which are of the suite and not of its tasks


def take_shard(suite: Suite, request: ShardRequest) -> Suite:
    """Return the suite with the tasks of a shard alone, of which there may be none. The first shard has the trigger tests."""
    shard = request.shard
    if request.durations is None:
        numbers = [shard_of(task.id, shard.of) for task in suite.tasks]
    else:
        numbers = _balance(suite, request.durations, shard.of)
    places = tuple(place for place, number in enumerate(numbers) if number == shard.number)
    before = suite.selection
    total = len(suite.tasks)
    part = msgspec.structs.replace(
        suite,
        tasks=tuple(suite.tasks[place] for place in places),
        trigger_tests=suite.trigger_tests if shard.number == TRIGGER_SHARD else None,
        filtered=True,
        selection=Selection(
            filters=(*(before.filters if before else ()), f"--shard {shard}"),
            selected=len(places),
            of=before.of if before else total,
            shard=shard,
        ),
        part=SuitePart(
            shard=shard,
            digest=suite.digest,
            tasks=suite.tasks,
            places=places,
            selection=before,
            trigger_tests=suite.trigger_tests,
        ),
    )
    return msgspec.structs.replace(part, digest=suite_digest(part))


def shard_of(task_id: str, shards: int) -> int:
    """Return the number of the shard of a task, from 1: other tasks do not change it."""
    digest = hashlib.sha256(task_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest) % shards + 1


def _balance(suite: Suite, durations: TaskDurations, shards: int) -> list[int]:
    """Return the number of the shard of each task: the longest task first, each to the shard with the least so far.

    A task that the file does not know counts as long as the others on average (Graham's LPT rule, 1969).
    """
    known = durations.tasks if durations.suite == suite.name else {}
    took = [known.get(task.id) for task in suite.tasks]
    average = stats.mean([one for one in took if one is not None]) or 1.0
    lengths = [average if one is None else one for one in took]
    loads = [(0.0, number) for number in range(1, shards + 1)]
    numbers = [0] * len(lengths)
    for place in _longest_first(suite.tasks, lengths):
        load, number = heapq.heappop(loads)
        numbers[place] = number
        heapq.heappush(loads, (load + lengths[place], number))
    return numbers


def _longest_first(tasks: Sequence[Task], lengths: Sequence[float]) -> list[int]:
    return sorted(range(len(tasks)), key=lambda place: (-lengths[place], tasks[place].id))
