import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.live import nap, survivors, until
from tests.support.program import environment

from waza.errors import ExecutorError
from waza.kit import git
from waza.kit.tempdirs import LOCK
from waza.workspace.run_tempdir import RunTempdir, clear_stale_tempdirs

PREFIX = "waza-run-"


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "temp"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    return directory


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    (root / "v").write_text("one", encoding="utf-8")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for args in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "m"]):
        subprocess.run(["git", *args], cwd=root, check=True)
    return root


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def worktrees(repo: Path) -> list[str]:
    done = subprocess.run(
        ["git", "worktree", "list", "--porcelain"], cwd=repo, capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if line.startswith("worktree ")][1:]


def test_nothing_is_made_before_it_is_needed(temp: Path):
    room = RunTempdir()
    assert list(temp.iterdir()) == []
    assert asyncio.run(room.close()) == []
    assert room.kept_path is None


def test_a_room_without_a_workspace_is_not_kept(temp: Path):
    room = RunTempdir(keep=True)
    room.open()
    assert room.kept_path is None
    assert asyncio.run(room.close()) == []
    assert list(temp.iterdir()) == []


def test_directories_are_new_empty_and_named_for_people(temp: Path):
    room = RunTempdir()
    labels = ["plain", "a/b: c?", "../..", "ü" * 300, "", "plain"]
    made = [room.new_directory(label) for label in labels]
    assert len(set(made)) == 6
    assert all(path.is_dir() and not list(path.iterdir()) for path in made)
    assert {path.parent for path in made} == {made[0].parent}
    assert made[0].parent.parent == temp.resolve()
    assert [path.name for path in made[:2]] == ["00001-plain", "00002-a-b-c-"]
    assert asyncio.run(room.close()) == []
    assert list(temp.iterdir()) == []


def test_worktrees_go_with_their_directory(temp: Path, repo: Path):
    async def use() -> None:
        room = RunTempdir()
        one, two = room.new_directory("one"), room.new_directory("two")
        await asyncio.gather(*(room.add_worktree(repo, place / "tree", None) for place in (one, two)))
        assert (one / "tree/v").read_text() == "one"
        assert len(worktrees(repo)) == 2
        await room.remove_directory(one)
        assert not one.exists()
        assert len(worktrees(repo)) == 1
        assert await room.close() == []

    asyncio.run(use())
    assert worktrees(repo) == []


def test_a_worktree_that_cannot_be_made(temp: Path, repo: Path):
    async def use() -> None:
        room = RunTempdir()
        place = room.new_directory("x")
        with pytest.raises(ExecutorError, match=r"the worktree of .* cannot be made: .*nowhere"):
            await room.add_worktree(repo, place / "tree", "nowhere")
        assert await room.close() == []

    asyncio.run(use())
    assert worktrees(repo) == []


def test_a_removal_that_is_cancelled_is_done_again_at_the_end(
    temp: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
):
    async def use() -> None:
        room = RunTempdir()
        place = room.new_directory("x")
        await room.add_worktree(repo, place / "tree", None)
        begun = asyncio.Event()

        async def hanging(source: Path, target: Path) -> None:
            begun.set()
            await asyncio.Event().wait()

        with monkeypatch.context() as patched:
            patched.setattr(git, "remove_worktree", hanging)
            removing = asyncio.create_task(room.remove_directory(place))
            await begun.wait()
            removing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await removing
        assert len(worktrees(repo)) == 1
        assert await room.close() == []

    asyncio.run(use())
    assert worktrees(repo) == []
    assert list(temp.iterdir()) == []


def test_a_tree_that_is_nested_too_deep_for_others_is_removed(temp: Path):
    room = RunTempdir()
    with contextlib.chdir(room.new_directory("x")):
        for _ in range(1500):
            Path("deeper").mkdir()
            os.chdir("deeper")
    assert asyncio.run(room.close()) == []
    assert list(temp.iterdir()) == []


READONLY = """
import asyncio, os, sys
from pathlib import Path
from waza.workspace.run_tempdir import RunTempdir
asyncio.run(asyncio.to_thread(int))  # imports what nobody else may read
if os.getuid() == 0:
    os.setuid(65534)  # root is not held up by modes
room = RunTempdir()
place = room.new_directory("x")
(place / "a/b/c").mkdir(parents=True)
(place / "a/b/c/file").touch()
(place / "secret").mkdir()
(place / "secret/file").touch()
(place / "link").symlink_to(sys.argv[1])
(place / "a/b").chmod(0o555)
(place / "a").chmod(0o555)
(place / "secret").chmod(0)
if sys.argv[2] == "attempt":
    asyncio.run(room.remove_directory(place))
    assert not place.exists()
assert asyncio.run(room.close()) == [], "told"
"""


@pytest.mark.parametrize("when", ["attempt", "close"])
def test_directories_without_rights_are_removed(temp: Path, tmp_path: Path, when: str):
    for directory in (*reversed(temp.parents), temp):
        if directory.is_relative_to(tmp_path.parent.parent):
            directory.chmod(0o777)
    theirs = tmp_path / "theirs"
    theirs.mkdir(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READONLY, str(theirs), when],
        env=environment({"TMPDIR": str(temp)}), check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert list(temp.iterdir()) == []
    assert theirs.stat().st_mode & 0o777 == 0o555, "what a link leads to keeps its modes"


def test_what_cannot_be_removed_is_reported(temp: Path, monkeypatch: pytest.MonkeyPatch):
    room = RunTempdir()
    root = room.new_directory("x").parent
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *args, **kwargs: None)
        assert asyncio.run(room.close()) == [f"the temporary directory {root} could not be removed"]


def test_a_worktree_that_the_agent_removed_itself_is_nothing_to_tell(temp: Path, repo: Path):
    async def use() -> None:
        room = RunTempdir()
        place = room.new_directory("x")
        await room.add_worktree(repo, place / "tree", None)
        await git.remove_worktree(repo, place / "tree")
        assert await room.close() == []

    asyncio.run(use())


def test_kept_rooms_stay_with_all_that_is_in_them(temp: Path, repo: Path):
    async def use() -> RunTempdir:
        room = RunTempdir(keep=True)
        place = room.new_directory("x")
        await room.add_worktree(repo, place / "tree", None)
        await room.remove_directory(place)
        assert await room.close() == []
        assert await clear_stale_tempdirs() == 0
        return room

    room = asyncio.run(use())
    assert room.kept_path is not None
    assert (room.kept_path / "00001-x/tree/v").exists()
    assert [Path(tree.source) for tree in room.kept_worktrees] == [repo]
    assert len(worktrees(repo)) == 1
    for tree in room.kept_worktrees:  # unlocked: what is kept belongs to its user
        subprocess.run(["git", "worktree", "remove", tree.target], cwd=repo, check=True)


def test_a_worktree_whose_git_file_the_agent_removed_is_removed(temp: Path, repo: Path):
    async def use() -> None:
        room = RunTempdir()
        place = room.new_directory("x")
        await room.add_worktree(repo, place / "tree", None)
        (place / "tree/.git").unlink()
        assert await room.close() == []

    asyncio.run(use())
    assert worktrees(repo) == []
    assert list(temp.iterdir()) == []


def test_a_worktree_that_git_does_not_let_go_is_reported(
    temp: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
):
    async def use() -> list[str]:
        room = RunTempdir()
        place = room.new_directory("x")
        await room.add_worktree(repo, place / "tree", None)

        async def refused(source: Path, target: Path) -> None:
            raise git.GitError("the disk is read-only")

        monkeypatch.setattr(git, "remove_worktree", refused)
        return await room.close()

    (told,) = asyncio.run(use())
    assert told.startswith("the worktree ")
    assert told.endswith(f" of {repo} could not be removed: the disk is read-only")


def test_no_worktree_of_the_user_is_touched_by_a_run_or_by_clearing_after_one(
    temp: Path, repo: Path, tmp_path: Path
):
    theirs = tmp_path / "disk" / "theirs"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(theirs)], cwd=repo, check=True)
    theirs.parent.rename(tmp_path / "unplugged")
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(repo)], env=environment({"TMPDIR": str(temp)}), check=False
    )
    assert died.returncode == 7
    assert len(worktrees(repo)) == 2
    assert asyncio.run(clear_stale_tempdirs()) == 1
    assert worktrees(repo) == [f"worktree {theirs}"]


DYING = """
import asyncio, os, sys
from pathlib import Path
from waza.workspace.run_tempdir import RunTempdir
async def use():
    room = RunTempdir()
    place = room.new_directory("x")
    await room.add_worktree(Path(sys.argv[1]), place / "tree", None)
    os._exit(7)
asyncio.run(use())
"""


def test_the_room_of_a_dead_process_is_cleared_and_that_of_a_living_one_is_not(temp: Path, repo: Path):
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(repo)], env=environment({"TMPDIR": str(temp)}), check=False
    )
    assert died.returncode == 7
    assert len(list(temp.iterdir())) == len(worktrees(repo)) == 1

    async def use() -> None:
        room = RunTempdir()
        mine = room.new_directory("mine").parent
        assert await clear_stale_tempdirs() == 1
        assert worktrees(repo) == []
        assert names(temp) == [mine.name]
        assert await clear_stale_tempdirs() == 0
        await room.close()

    asyncio.run(use())


ESCAPING = """
import asyncio, os, sys
from waza.kit.process import run_shell
from waza.workspace.run_tempdir import RunTempdir
async def use():
    RunTempdir().open()
    escape = f"env -i setsid sh -c 'env -i setsid sleep {sys.argv[1]} &'"
    starting = asyncio.create_task(run_shell(escape + "; setsid sleep " + sys.argv[1] + "; true"))
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
asyncio.run(use())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere marks are in the environment only")
def test_what_children_of_a_killed_process_started_is_ended_by_the_next(temp: Path):
    duration = nap()
    with subprocess.Popen(
        [sys.executable, "-c", ESCAPING, duration],
        env=environment({"TMPDIR": str(temp)}),
        stdin=subprocess.PIPE,
    ) as killed:
        until(lambda: len(survivors(duration)) == 3)  # with the process itself
        assert asyncio.run(clear_stale_tempdirs()) == 0
        assert len(survivors(duration)) == 3, "it lives"
        killed.kill()
    assert len(survivors(duration)) == 2
    assert asyncio.run(clear_stale_tempdirs()) == 1
    assert survivors(duration) == []


def test_a_room_that_is_only_being_made_is_left_alone(temp: Path):
    half = temp / f"{PREFIX}half"
    half.mkdir()
    (half / LOCK).touch()  # there, but not locked yet
    (temp / f"{PREFIX}empty").mkdir()
    (temp / f"{PREFIX}{os.getpid()}-mine").mkdir()
    (temp / "other").mkdir()
    assert asyncio.run(clear_stale_tempdirs()) == 0
    assert names(temp) == ["other", f"{PREFIX}{os.getpid()}-mine", f"{PREFIX}empty", f"{PREFIX}half"]


def test_a_room_whose_maker_was_killed_while_making_it_is_cleared(temp: Path):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    for kind in ("run-{}-empty", "run-{}-half", "mocks-{}-x", "copilot-{}-x", "golden-{}"):
        (temp / f"waza-{kind.format(int(done.stdout))}").mkdir()
    (temp / f"{PREFIX}{int(done.stdout)}-half" / LOCK).touch()
    assert asyncio.run(clear_stale_tempdirs()) == 4
    assert names(temp) == [f"waza-golden-{int(done.stdout)}"], "it has no owner in its name"


OWNERS = """
import asyncio, os, sys
from waza.model.agent import Setup
from waza.model.suite import Config
from waza.executors.copilot_client import Clients
from waza.workspace.relay import Relay
from waza.workspace.run_tempdir import RunTempdir
async def use():
    room, relay, clients = RunTempdir(), Relay(), Clients(Setup(model="", config=Config()))
    room.new_directory("x")
    await relay.start()
    (clients.scratch / "home").mkdir()
    print("ready", flush=True)
    sys.stdin.read()
    if sys.argv[1] == "close":
        await room.close()
        await relay.aclose()
        await clients.aclose()
asyncio.run(use())
"""


def kinds(temp: Path) -> list[str]:
    return [name.split("-")[1] for name in names(temp)]


def test_what_a_killed_process_left_is_cleared_whatever_it_is(temp: Path):
    def started(end: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", OWNERS, end], env=environment({"TMPDIR": str(temp)}),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        return process

    with started("hang") as killed, started("close") as living:
        assert kinds(temp) == ["copilot"] * 2 + ["mocks"] * 2 + ["run"] * 2
        assert asyncio.run(clear_stale_tempdirs()) == 0, "both live"
        killed.kill()
        killed.wait()
        assert len(names(temp)) == 6
        assert asyncio.run(clear_stale_tempdirs()) == 3
        assert [name.split("-")[1:3] for name in names(temp)] == [
            [kind, str(living.pid)] for kind in ("copilot", "mocks", "run")
        ]
        living.communicate(timeout=60)
        assert living.returncode == 0
    assert names(temp) == []


def test_a_damaged_room_stops_nobody(temp: Path):
    broken = temp / f"{PREFIX}broken"
    broken.mkdir()
    (broken / LOCK).write_bytes(b'{"source": \n')
    asyncio.run(clear_stale_tempdirs())
    room = RunTempdir()
    assert room.new_directory("x").is_dir()
    asyncio.run(room.close())


def test_a_room_cannot_name_worktrees_outside_of_it(temp: Path, repo: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    subprocess.run(["git", "worktree", "add", "-q", "--detach", str(elsewhere)], cwd=repo, check=True)
    forged = temp / f"{PREFIX}forged"
    forged.mkdir()
    line = f'{{"source": "{repo}", "target": "{elsewhere}"}}\n'
    (forged / LOCK).write_text(line, encoding="utf-8")
    assert asyncio.run(clear_stale_tempdirs()) == 1
    assert (elsewhere / "v").exists()
    assert len(worktrees(repo)) == 1


def test_the_rooms_of_other_people_are_not_looked_at(temp: Path, monkeypatch: pytest.MonkeyPatch):
    theirs = temp / f"{PREFIX}theirs"
    theirs.mkdir()
    (theirs / LOCK).write_bytes(b"null\n")
    with monkeypatch.context() as patched:
        patched.setattr("waza.kit.tempdirs._UID", -1)
        assert asyncio.run(clear_stale_tempdirs()) == 0
    assert theirs.exists()
    assert asyncio.run(clear_stale_tempdirs()) == 1


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("replaced", ["", "below"])
def test_clean_up_touches_nothing_that_a_link_in_place_of_a_workspace_leads_to(
    temp: Path, repo: Path, tmp_path: Path, replaced: str, *, killed: bool
):
    theirs = tmp_path / "theirs"
    (theirs / "tree").mkdir(parents=True)
    (theirs / "below" / "tree").mkdir(parents=True)
    (theirs / "tree" / "mine").write_text("kept", encoding="utf-8")
    (theirs / "below").chmod(0o755)
    theirs.chmod(0o750)

    async def use() -> None:
        room = RunTempdir()
        place = room.new_directory("x")
        await room.add_worktree(repo, place / "below" / "tree", None)
        shutil.rmtree(place / replaced)
        (place / replaced).symlink_to(theirs, target_is_directory=True)
        if killed:
            assert room._own is not None
            room._own.release()
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("waza.kit.tempdirs.process.is_alive", lambda _: False)
                assert await clear_stale_tempdirs() == 1
        else:
            await room.remove_directory(place)
            assert await room.close() == []
        assert len(await git.list_worktrees(repo)) == 1

    asyncio.run(use())
    assert names(temp) == []
    assert (theirs / "tree" / "mine").read_text(encoding="utf-8") == "kept"
    assert (theirs / "below" / "tree").is_dir()
    assert [folder.stat().st_mode & 0o777 for folder in (theirs, theirs / "below")] == [0o750, 0o755]
