"""What workers take: trials before tasks, in order where that is asked for, and never more than once."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from waza.engine.schedule import Schedule
from waza.model.task import Task


def tasks(count: int) -> list[tuple[int, Task]]:
    return [
        (n, Task(id=f"t{n}", name=f"t{n}", file="", prompt="p", timeout=1, home=Path(), fixtures=Path()))
        for n in range(1, count + 1)
    ]


class Crew:
    """Workers that note what they did, each step of which may be overtaken by others."""

    def __init__(self, schedule: Schedule, trials: int) -> None:
        self.schedule, self.trials = schedule, trials
        self.begun: list[tuple[str, int]] = []
        self.ended: list[str] = []
        self.running = Counter[str]()
        self.most = 0

    def run(self, workers: int) -> None:
        async def all_of_them() -> None:
            async with asyncio.TaskGroup() as group:
                for n in range(workers):
                    group.create_task(self._worker(n))

        asyncio.run(all_of_them())

    async def _worker(self, n: int) -> None:
        while await self.schedule.wait_for_work():
            taken = self.schedule.take()
            if taken is None:
                continue
            progress, number = taken
            name = progress.task.id
            self.begun.append((name, number))
            if number == 0:
                await asyncio.sleep(0)
                self.schedule.task_opened(progress, range(1, self.trials + 1))
                continue
            self.running[name] += 1
            self.most = max(self.most, self.running[name])
            for _ in range(1 + (number + n) % 3):
                await asyncio.sleep(0)
            self.running[name] -= 1
            if self.schedule.trial_ended(progress):
                self.ended.append(name)


@pytest.mark.parametrize("workers", [1, 2, 5, 40])
@pytest.mark.parametrize("in_order", [True, False])
def test_every_trial_is_taken_once_and_every_task_opened_and_ended_once(workers: int, in_order: bool):
    crew = Crew(Schedule(tasks(4), in_order=lambda _: in_order), 5)
    crew.run(workers)
    wanted = Counter((f"t{n}", number) for n in range(1, 5) for number in range(6))
    assert Counter(crew.begun) == wanted
    assert sorted(crew.ended) == ["t1", "t2", "t3", "t4"]
    if in_order:
        assert crew.most == 1
        for name in ("t1", "t2", "t3", "t4"):
            assert [n for of, n in crew.begun if of == name] == [0, 1, 2, 3, 4, 5]


def test_the_trials_of_one_task_use_all_workers():
    crew = Crew(Schedule(tasks(1), in_order=lambda _: False), 20)
    crew.run(8)
    assert crew.most > 4


def test_one_worker_finishes_a_task_before_it_starts_the_next():
    crew = Crew(Schedule(tasks(2), in_order=lambda _: False), 2)
    crew.run(1)
    assert crew.begun == [("t1", 0), ("t1", 1), ("t1", 2), ("t2", 0), ("t2", 1), ("t2", 2)]


def test_after_the_end_of_new_tasks_those_that_started_come_to_their_end():
    schedule = Schedule(tasks(3), in_order=lambda _: False)
    crew = Crew(schedule, 3)

    async def run() -> None:
        taken = schedule.take()
        assert taken is not None
        schedule.task_opened(taken[0], [1, 2, 3])
        schedule.stop_tasks()
        await crew._worker(0)

    asyncio.run(run())
    assert (crew.begun, crew.ended) == ([("t1", 1), ("t1", 2), ("t1", 3)], ["t1"])
    assert [task.id for task in schedule.not_started()] == ["t2", "t3"]


def test_when_it_is_halted_no_other_trial_starts():
    schedule = Schedule(tasks(2), in_order=lambda _: False)
    taken = schedule.take()
    assert taken is not None
    schedule.task_opened(taken[0], [1, 2])
    schedule.halt()
    assert schedule.take() is None
    assert not asyncio.run(schedule.wait_for_work())


def test_it_says_when_the_last_trial_was_handed_out():
    schedule, calls = Schedule(tasks(2), in_order=lambda _: True), list[str]()
    said = list[int]()
    schedule.on_drained = lambda: said.append(len(calls))

    def take() -> object:
        calls.append("take")
        return schedule.take()

    first, second = take(), take()
    for taken in (first, second):
        assert isinstance(taken, tuple)
        schedule.task_opened(taken[0], [1, 2])
    running = [take(), take()]
    assert take() is None  # both tasks wait for their first trials
    assert said == []
    for taken in running:
        assert isinstance(taken, tuple)
        assert not schedule.trial_ended(taken[0])
        take()
    assert min(said) == len(calls)
