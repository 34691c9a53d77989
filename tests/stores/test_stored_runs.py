"""What every provider does alike: a store is filled, listed and read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from tests.stores.results import write_result
from waza.errors import StoreError, UsageError
from waza.kit.moments import EARLIEST
from waza.stores import stored_runs
from waza.stores.base import NameTakenError, ResultStore, StoredObject
from waza.stores.stored_runs import MOST, StoredRuns

AWKWARD = [
    "réviser le code", "审查", "a/b\\c:d e", "100% ~ 'x' & \"y\" <z> #1 ?q=2 *|+", "UTF-8''%41", " blank ends ", "%41", "..",
    "👩‍🚀 e\u0301", "x" * 500, "ß" * 300,
]  # fmt: skip


def test_a_result_comes_back_as_it_was(in_store, tmp_path):
    file = write_result(tmp_path, "run-1", skill="review", rate=1.0)

    async def work(stored):
        put = await stored.upload(file)
        (run,) = await stored.list()
        await stored.download(run, tmp_path / "back")
        return put, run, await stored.load(run)

    put, run, (result, warnings) = in_store(work)
    assert put == run
    assert (run.blob_path, run.run_id, run.skill, run.model) == ("review/run-1.json", "run-1", "review", "m1")
    assert (run.pass_rate, run.verdict, run.timestamp) == (100.0, "passed", "2026-03-01T10:00:00+00:00")
    assert run.size == file.stat().st_size
    assert (tmp_path / "back").read_bytes() == file.read_bytes()
    assert (result.eval_id, list(warnings)) == ("run-1", [])


def test_any_name_is_stored_and_found(in_store, tmp_path):
    async def work(stored):
        for number, name in enumerate(AWKWARD):
            await stored.upload(write_result(tmp_path, f"run-{number:02}", skill=name, model=f"m {name}"))
        listed = await stored.list()
        found = [(await stored.list(skill=name, model=f"m {name}")) for name in AWKWARD]
        content = [
            (await stored.load(await stored.find(f"run-{number:02}")))[0] for number in range(len(AWKWARD))
        ]
        return listed, found, content

    listed, found, content = in_store(work)
    assert {(run.run_id, run.skill) for run in listed} == {
        (f"run-{number:02}", name) for number, name in enumerate(AWKWARD)
    }
    assert [[run.skill for run in runs] for runs in found] == [[name] for name in AWKWARD]
    assert [result.skill for result in content] == AWKWARD
    assert all(run.blob_path.count("/") == 1 for run in listed)


def test_the_newest_come_first_and_filters_narrow(in_store, tmp_path):
    files = [
        write_result(tmp_path, f"run-{day:02}", skill=f"s{day % 2}", model=f"m{day % 3}",
                     timestamp=f"2026-03-{day:02}T10:00:00Z")
        for day in (3, 1, 7, 5, 2, 6, 4)
    ]  # fmt: skip

    async def work(stored):
        for file in files:
            await stored.upload(file)
        since = datetime(2026, 3, 5, tzinfo=UTC)
        return [
            [run.run_id for run in runs]
            for runs in (
                await stored.list(),
                await stored.list(limit=3),
                await stored.list(skill="s1"),
                await stored.list(model="m1"),
                await stored.list(since=since),
                await stored.list(skill="s0", model="m1", since=since),
                await stored.list(skill="nobody"),
            )
        ]

    def runs(*days):
        return [f"run-{day:02}" for day in days]

    assert in_store(work) == [
        runs(7, 6, 5, 4, 3, 2, 1), runs(7, 6, 5), runs(7, 5, 3, 1), runs(7, 4, 1), runs(7, 6, 5), [], [],
    ]  # fmt: skip


def test_only_the_same_run_is_overwritten(in_store, tmp_path):
    first = write_result(tmp_path, "run-1", skill="a b", rate=0.0)

    async def work(stored):
        await stored.upload(first)
        again = write_result(tmp_path, "run-1", skill="a b", rate=1.0)
        await stored.upload(again)
        (run,) = await stored.list()
        with pytest.raises(
            NameTakenError, match=r"has a_b/run-1\.json already, of the run run-1 with another skill"
        ):
            await stored.upload(write_result(tmp_path, "run-1", skill="a_b", rate=0.0))
        (kept,) = await stored.list()
        return run, kept

    run, kept = in_store(work)
    assert (run.pass_rate, run.skill) == (100.0, "a b")
    assert kept == run


def test_what_has_no_skill_is_kept_under_its_suite(in_store, tmp_path):
    async def work(stored):
        await stored.upload(write_result(tmp_path, "run-1", skill=""))
        return await stored.list(skill="the suite")

    (run,) = in_store(work)
    assert (run.blob_path, run.skill) == ("the_suite/run-1.json", "the suite")


def test_a_run_is_found_by_what_is_clear(in_store, tmp_path):
    async def work(stored):
        for name, skill in (
            ("run-20260301-aa", "one"),
            ("run-20260302-bb", "one"),
            ("run-20260301-aa", "two"),
        ):
            await stored.upload(write_result(tmp_path, name, skill=skill))
        assert (await stored.find("run-20260302-bb")).run_id == "run-20260302-bb"
        assert (await stored.find("20260302")).run_id == "run-20260302-bb"
        assert (await stored.find("two/run-20260301-aa")).skill == "two"
        assert (await stored.find("two/run-20260301-aa.json")).skill == "two"
        with pytest.raises(UsageError, match=r"means 2 results in .*: one/run-20260301-aa\.json, two/run-2"):
            await stored.find("run-20260301-aa")
        with pytest.raises(UsageError, match="there is no run 'run-9' in"):
            await stored.find("run-9")
        with pytest.raises(UsageError, match="there is no run '' in"):
            await stored.find("")

    in_store(work)


def test_what_has_no_id_is_refused(in_store, tmp_path):
    async def work(stored):
        with pytest.raises(StoreError, match="has no run id"):
            await stored.upload(write_result(tmp_path, ""))
        return await stored.list()

    assert in_store(work) == []


def test_what_nobody_stored_as_a_run_is_left_out_and_named(in_store, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"{}")

    async def work(stored):
        await stored.upload(write_result(tmp_path, "run-1"))
        await stored._store.put("notes/x.json", other, {}, None)
        return [run.run_id for run in await stored.list()], stored.left_out

    assert in_store(work) == (["run-1"], ["notes/x.json"])


def test_what_is_gone_is_said(in_store, tmp_path):
    async def work(stored):
        run = await stored.upload(write_result(tmp_path, "run-1"))
        gone = type(run)(
            **{**{name: getattr(run, name) for name in run.__struct_fields__}, "blob_path": "a/b.json"}
        )
        with pytest.raises(StoreError, match=r"there is no a/b\.json in"):
            await stored.load(gone)

    in_store(work)


def test_large_results_come_back_as_they_were(in_store, tmp_path):
    file = write_result(tmp_path, "run-1", more={"metadata": {}}, padding="äöü" * 3_000_000)

    async def work(stored):
        await stored.upload(file)
        (run,) = await stored.list()
        await stored.download(run, tmp_path / "back")
        return run

    assert in_store(work).size == file.stat().st_size > 16 * 2**20
    assert (tmp_path / "back").read_bytes() == file.read_bytes()


class Archive:
    """A store whose listing has no labels, with a run an hour; it counts what it is asked."""

    place = "archive"

    def __init__(self, count: int) -> None:
        self.asked: list[str] = []
        first = datetime(2026, 1, 1, tzinfo=UTC)
        self.started = {f"s/run-{number:04}.json": first + timedelta(hours=number) for number in range(count)}

    async def list(self, prefix):
        for name, started in self.started.items():
            yield StoredObject(name=name, size=1, modified=started + timedelta(minutes=50), version="1")

    async def describe(self, name):
        self.asked.append(name)
        started = self.started[name]
        labels = {
            "runid": name[2:-5],
            "timestamp": started.isoformat(),
            "skill": "s",
            "model": f"m{started.hour % 2}",
        }
        return StoredObject(name=name, size=1, version="1", labels=labels)


class Endless:
    """A store whose listing has no end."""

    place = "a pit"

    async def list(self, prefix):
        number = 0
        while True:
            number += 1
            labels = {"runid": f"run-{number}", "timestamp": "2026-01-01T00:00:00Z"} if number % 2 else {}
            yield StoredObject(
                name=f"s/run-{number}.json", size=1, modified=EARLIEST, version="1", labels=labels
            )


class Hanging(Endless):
    """A store that stops in the middle of its listing."""

    async def list(self, prefix):
        yield StoredObject(name="s/run-1.json", size=1, labels={})
        await asyncio.Event().wait()


def test_a_listing_without_an_end_is_cut(monkeypatch):
    stored = StoredRuns(cast("ResultStore", Endless()), "pit")
    assert len(asyncio.run(stored.list())) == MOST / 2
    left_out, cut = stored.warnings
    assert left_out.startswith("left out: 50000 objects that waza did not store: s/run-10.json, ")
    assert left_out.endswith(", ...")
    assert cut.startswith(
        "a pit has more than 100,000 objects, and no others were looked at, so that runs may"
    )
    with pytest.raises(UsageError, match="there is no run 'x' among the first 100,000 objects in a pit"):
        asyncio.run(stored.find("x"))
    monkeypatch.setattr(stored_runs, "_PATIENCE", 0.05)
    with pytest.raises(StoreError, match=r"a pit does not list what it has: nothing more came within"):
        asyncio.run(StoredRuns(cast("ResultStore", Hanging()), "pit").list())


def test_only_the_newest_are_asked_for_their_labels():
    archive = Archive(1000)
    stored = StoredRuns(cast("ResultStore", archive), "archive")
    runs = asyncio.run(stored.list(limit=20))
    assert [run.run_id for run in runs] == [f"run-{number:04}" for number in range(999, 979, -1)]
    assert len(archive.asked) == 32
    asyncio.run(stored.list(limit=20))
    assert len(archive.asked) == 32  # the same versions are not asked for again
    since = datetime(2026, 2, 1, tzinfo=UTC)
    runs = asyncio.run(stored.list(since=since, model="m1"))
    assert [run.started for run in runs] == sorted(
        (one for one in archive.started.values() if one >= since and one.hour % 2), reverse=True
    )
    assert len(archive.asked) < 300
