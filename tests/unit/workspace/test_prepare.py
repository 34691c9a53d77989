import asyncio
import os
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.errors import ExecutorError
from waza.model.agent import AttemptWorkspace, Instruction, Resource
from waza.model.task import InputFile, Inputs, Repo, Task
from waza.workspace.prepare import HEAD_BYTES, close_workspace, open_workspace
from waza.workspace.run_tempdir import RunTempdir


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    return write_tree(
        tmp_path / "home",
        {
            "fixtures/a.txt": "a",
            "fixtures/sub/b.txt": "b",
            "given/one": "1",
            "given/x/two": "2",
            "single.txt": "s",
        },
    )


def task(home: Path, inputs: Inputs | None = None, **fields) -> Task:
    given = {
        "id": "t",
        "name": "t",
        "file": "t.yaml",
        "prompt": "p",
        "home": home,
        "fixtures": home / "fixtures",
    }
    return Task(**{**given, **fields}, inputs=inputs or Inputs())


def content(place: AttemptWorkspace) -> dict[str, str]:
    root = place.workspace
    assert root is not None
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}


def opened(
    given: Task, *, wanted: bool = False, keep: bool = False
) -> tuple[AttemptWorkspace, dict[str, str]]:
    async def use() -> tuple[AttemptWorkspace, dict[str, str]]:
        room = RunTempdir(keep=keep)
        place = await open_workspace(room, given, wanted=wanted)
        found = content(place) if place.workspace else {}
        await close_workspace(room, place)
        assert place.workspace is None or not place.workspace.exists()
        assert await room.close() == []
        return place, found

    return asyncio.run(use())


def test_without_need_there_is_none(home: Path):
    place, _ = opened(task(home, Inputs(environment={"A": "b"})))
    assert (place.workspace, place.workdir, dict(place.environment)) == (None, None, {"A": "b"})
    place, found = opened(task(home), wanted=True)
    assert place.workspace is not None
    assert place.workdir == place.workspace
    assert found == {}


def test_what_is_put_there(home: Path):
    files = [
        InputFile(path="a.txt"),
        InputFile(path="new/ü.txt", content="ü"),
        InputFile(content="without a path"),
    ]
    inputs = Inputs(files=files, context={"fixture": "given"}, workdir="new/place")
    place, found = opened(task(home, inputs, instruction_files=("sub/b.txt", "a.txt", "sub/b.txt")))
    assert found == {"a.txt": "a", "new/ü.txt": "ü", "sub/b.txt": "b", "one": "1", "x/two": "2"}
    assert place.resources == (
        Resource("one", 1, b"1"),
        Resource("x/two", 1, b"2"),
        Resource("a.txt", 1, b"a"),
        Resource("new/ü.txt", 2, "ü".encode()),
        Resource("sub/b.txt", 1, b"b"),
    )
    assert place.instructions == (Instruction("sub/b.txt", "b"), Instruction("a.txt", "a"))
    assert place.workspace is not None
    assert place.workdir == place.workspace / "new/place"


def test_a_single_file_as_fixture_keeps_its_name(home: Path):
    assert opened(task(home, Inputs(context={"fixture": "single.txt"})))[1] == {"single.txt": "s"}
    assert opened(task(home, Inputs(context={"fixture": "given/x/two"})))[1] == {"two": "2"}


def test_later_ones_replace_earlier_ones_also_links_and_never_through_them(home: Path):
    (home / "given/a.txt").write_text("earlier", encoding="utf-8")
    place, found = opened(task(home, Inputs(files=[InputFile(path="a.txt")], context={"fixture": "given"})))
    assert found["a.txt"] == "a"
    assert [resource.path for resource in place.resources].count("a.txt") == 1


def test_a_link_that_stays_among_the_fixtures_is_followed(home: Path):
    (home / "fixtures/link").symlink_to("sub/b.txt")
    assert opened(task(home, Inputs(files=[InputFile(path="link")])))[1] == {"link": "b"}


def test_modes_of_fixtures_are_not_taken_over(home: Path):
    (home / "fixtures/a.txt").chmod(0o400)
    place, _ = opened(task(home, Inputs(files=[InputFile(path="a.txt")])), wanted=True)
    assert place.resources[0].size == 1
    if os.name == "posix":
        assert (home / "fixtures/a.txt").stat().st_mode & 0o777 == 0o400


def test_of_large_files_only_the_beginning_is_held(home: Path):
    (home / "fixtures/large").write_bytes(b"x" * 5_000_000)
    place, found = opened(task(home, Inputs(files=[InputFile(path="large")])))
    assert place.resources == (Resource("large", 5_000_000, b"x" * HEAD_BYTES),)
    assert len(found["large"]) == 5_000_000


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        (Inputs(files=[InputFile(path="none")]), "there is no file 'none'"),
        (Inputs(files=[InputFile(path="../single.txt")]), "climbs"),
        (Inputs(files=[InputFile(path="/etc/passwd")]), "absolute"),
        (Inputs(files=[InputFile(path="sub")]), "cannot be made"),
        (Inputs(files=[InputFile(path="out")]), "leads outside of"),
        (Inputs(files=[InputFile(path="loop")]), "cannot be made"),
        (
            Inputs(files=[InputFile(path="x", content="1"), InputFile(path="x/y", content="2")]),
            "cannot be made",
        ),
        (
            Inputs(files=[InputFile(path="x/y", content="1"), InputFile(path="x", content="2")]),
            "cannot be made",
        ),
        (Inputs(context={"fixture": "none"}), "there is no fixture 'none'"),
        (Inputs(context={"fixture": "out"}), "leads outside of"),
        (Inputs(workdir="../x"), "climbs"),
        (Inputs(repos=[Repo(type="worktree", source="given")]), "not a git repository"),
        (Inputs(repos=[Repo(type="worktree", source="given", dest="a/../../x")]), "climbs"),
    ],
)
def test_what_cannot_be_put_there_is_reported_and_leaves_no_directory(home: Path, inputs: Inputs, why: str):
    outside = write_tree(home.parent / "outside", {"secret": "s"})
    (home / "fixtures/out").symlink_to(outside / "secret")
    (home / "fixtures/loop").symlink_to("loop")
    (home / "out").symlink_to(outside)

    async def use() -> None:
        room = RunTempdir()
        root = room.new_directory("first").parent
        with pytest.raises(ExecutorError, match=why):
            await open_workspace(room, task(home, inputs), wanted=True)
        assert sorted(path.name for path in root.iterdir() if path.is_dir()) == ["00001-first"]
        assert await room.close() == []

    asyncio.run(use())
    assert (outside / "secret").read_text() == "s"


def test_programs_stay_executable_and_other_files_do_not_become_so(home: Path) -> None:
    for name, mode in (("fixtures/a.txt", 0o755), ("fixtures/sub/b.txt", 0o644), ("given/one", 0o555)):
        (home / name).chmod(mode)
    files = [InputFile(path="a.txt"), InputFile(path="sub/b.txt")]
    given = task(home, Inputs(files=files, context={"fixture": "given"}))

    async def modes() -> dict[str, bool]:
        room = RunTempdir()
        place = await open_workspace(room, given, wanted=False)
        assert place.workspace
        found = {
            name: os.access(place.workspace / name, os.X_OK)
            for name in ("a.txt", "sub/b.txt", "one", "x/two")
        }
        writable = [
            path for path in place.workspace.rglob("*") if path.is_file() and path.stat().st_mode & 0o200
        ]
        assert len(writable) == 4
        await close_workspace(room, place)
        await room.close()
        return found

    assert asyncio.run(modes()) == {"a.txt": True, "sub/b.txt": False, "one": True, "x/two": False}


def test_a_folder_that_cannot_be_read_breaks_the_workspace(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def refused(path: str) -> object:
        if str(path).endswith("given/x"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(ExecutorError, match="Permission denied"):
        opened(task(home, Inputs(context={"fixture": "given"})))
