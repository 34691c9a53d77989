import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from waza.errors import WazaError
from waza.kit.git import GitError, add_worktree, remove_worktree, rev_parse, unlock_worktree
from waza.kit.process import find_leftovers

AUTHOR = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]


def git(directory: Path, *args: str) -> str:
    done = subprocess.run(["git", *AUTHOR, *args], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(repo: Path, text: str) -> str:
    (repo / "note ü.txt").write_text(text, encoding="utf-8")
    git(repo, "add", ".")
    git(repo, "commit", "-m", text)
    return git(repo, "rev-parse", "HEAD")


def worktrees(repo: Path) -> list[str]:
    lines = git(repo, "worktree", "list", "--porcelain").splitlines()
    return [line.removeprefix("worktree ") for line in lines if line.startswith("worktree ")]


def note(place: Path) -> str:
    return (place / "note ü.txt").read_text(encoding="utf-8")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    path = tmp_path / "source repo"
    path.mkdir()
    git(path, "init", "--initial-branch=main")
    commit(path, "one")
    git(path, "tag", "-a", "v1", "-m", "first")
    commit(path, "two")
    return path


def test_head_by_default_and_detached(repo: Path, tmp_path: Path):
    target = tmp_path / "tree"
    asyncio.run(add_worktree(repo, target))
    assert note(target) == "two"
    assert git(target, "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


@pytest.mark.parametrize("rev", ["v1", "main~1"])
def test_commit_into_an_existing_empty_directory(repo: Path, tmp_path: Path, rev: str):
    target = tmp_path / "tree ä"
    target.mkdir()
    asyncio.run(add_worktree(repo, target, rev))
    assert note(target) == "one"


def test_target_relative_to_the_current_directory(repo: Path, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asyncio.run(add_worktree(repo, Path("here")))
    assert note(tmp_path / "here") == "two"


def test_many_at_once(repo: Path, tmp_path: Path):
    targets = [tmp_path / str(number) / "repo" for number in range(6)]

    async def scenario() -> None:
        await asyncio.gather(*(add_worktree(repo, target) for target in targets))
        assert [note(target) for target in targets] == ["two"] * 6
        await asyncio.gather(*(remove_worktree(repo, target) for target in targets))

    asyncio.run(scenario())
    assert worktrees(repo) == [str(repo)]
    assert not any(target.exists() for target in targets)


def test_worktrees_of_a_repository_are_changed_one_at_a_time(repo: Path, tmp_path: Path, monkeypatch):
    log = tmp_path / "log"
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(f"#!/bin/sh\necho begin >> '{log}'\nsleep 0.1\necho end >> '{log}'\n", encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    (tmp_path / "a").mkdir()

    async def scenario() -> None:
        await asyncio.gather(add_worktree(repo, tmp_path / "a"), remove_worktree(repo, tmp_path / "b"))

    asyncio.run(scenario())
    assert log.read_text(encoding="utf-8").split() == ["begin", "end"] * 4


def test_remove_although_it_was_changed(repo: Path, tmp_path: Path):
    target = tmp_path / "tree"
    asyncio.run(add_worktree(repo, target))
    (target / "note ü.txt").write_text("changed", encoding="utf-8")
    (target / "new").write_text("new", encoding="utf-8")
    asyncio.run(remove_worktree(repo, target))
    assert not target.exists()
    assert worktrees(repo) == [str(repo)]


def test_other_worktrees_are_kept_although_their_directories_are_away(repo: Path, tmp_path: Path):
    git(repo, "worktree", "add", "--detach", str(tmp_path / "disk" / "theirs"))
    (tmp_path / "disk").rename(tmp_path / "unplugged")
    target = tmp_path / "tree"
    asyncio.run(add_worktree(repo, target))
    asyncio.run(remove_worktree(repo, target))
    assert worktrees(repo) == [str(repo), str(tmp_path / "disk" / "theirs")]
    (tmp_path / "unplugged").rename(tmp_path / "disk")
    assert git(tmp_path / "disk" / "theirs", "status", "--porcelain") == ""


def test_a_worktree_whose_directory_is_gone_is_forgotten(repo: Path, tmp_path: Path):
    target = tmp_path / "tree"
    asyncio.run(add_worktree(repo, target))
    target.rename(tmp_path / "moved away")
    asyncio.run(remove_worktree(repo, target))
    assert worktrees(repo) == [str(repo)]


def test_a_worktree_in_use_outlives_a_prune_of_its_repository(repo: Path, tmp_path: Path):
    target = tmp_path / "tree"
    asyncio.run(add_worktree(repo, target))
    target.rename(tmp_path / "for a moment")
    git(repo, "worktree", "prune", "--expire", "now")
    assert worktrees(repo) == [str(repo), str(target)]
    asyncio.run(unlock_worktree(repo, target))
    git(repo, "worktree", "prune", "--expire", "now")
    assert worktrees(repo) == [str(repo)]


def test_removing_what_is_not_a_worktree_is_reported(repo: Path, tmp_path: Path):
    with pytest.raises(GitError, match="is not a working tree"):
        asyncio.run(remove_worktree(repo, tmp_path))


def test_an_error_has_the_message_of_git(repo: Path, tmp_path: Path):
    with pytest.raises(WazaError, match=r"git worktree add in .*source repo: fatal: .*no-such-branch"):
        asyncio.run(add_worktree(repo, tmp_path / "tree", "no-such-branch"))


def test_directory_that_is_no_repository(tmp_path: Path):
    with pytest.raises(GitError, match="not a git repository"):
        asyncio.run(add_worktree(tmp_path, tmp_path / "tree"))


def test_directory_that_does_not_exist(tmp_path: Path):
    with pytest.raises(GitError, match="gone does not exist"):
        asyncio.run(add_worktree(tmp_path / "gone", tmp_path / "tree"))


def test_target_that_is_not_empty(repo: Path, tmp_path: Path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(GitError, match="already exists"):
        asyncio.run(add_worktree(repo, tmp_path / "full"))


@pytest.mark.parametrize("rev", ["-f", "--detach", ""])
def test_what_looks_like_an_option_is_no_commit(repo: Path, tmp_path: Path, rev: str):
    with pytest.raises(GitError, match="is not a commit"):
        asyncio.run(add_worktree(repo, tmp_path / "tree", rev))
    with pytest.raises(GitError, match="is not a commit"):
        asyncio.run(rev_parse(repo, rev))


def test_nul_in_a_commit(repo: Path, tmp_path: Path):
    with pytest.raises(GitError, match="null byte"):
        asyncio.run(add_worktree(repo, tmp_path / "tree", "a\0b"))


def test_git_that_is_not_installed(repo: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="'git' cannot be started"):
        asyncio.run(rev_parse(repo, "HEAD"))


def test_rev_parse_gives_the_commit_of_a_branch_and_of_an_annotated_tag(repo: Path):
    assert asyncio.run(rev_parse(repo, "main")) == git(repo, "rev-parse", "HEAD")
    assert asyncio.run(rev_parse(repo, "v1")) == git(repo, "rev-parse", "HEAD~1")


def test_hooks_of_the_repository_are_not_run(repo: Path, tmp_path: Path):
    hook = repo / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path}/hooked'\n", encoding="utf-8")
    hook.chmod(0o755)
    asyncio.run(add_worktree(repo, tmp_path / "tree"))
    assert not (tmp_path / "hooked").exists()
    git(repo, "checkout", "--detach", "v1")
    assert (tmp_path / "hooked").exists()  # the hook itself works


def program(tmp_path: Path) -> tuple[Path, Path]:
    """A program that a repository names, and the file that says that it ran."""
    script, ran = tmp_path / "program.sh", tmp_path / "ran"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n", encoding="utf-8")
    script.chmod(0o755)
    return script, ran


def test_a_program_that_watches_files_is_not_run(repo: Path, tmp_path: Path):
    script, ran = program(tmp_path)
    git(repo, "config", "core.fsmonitor", str(script))
    asyncio.run(add_worktree(repo, tmp_path / "tree"))
    asyncio.run(remove_worktree(repo, tmp_path / "tree"))
    assert not ran.exists()
    git(repo, "status")
    assert ran.exists()


@pytest.mark.parametrize("key", ["smudge", "process"])
@pytest.mark.parametrize("included", [False, True])
def test_filters_of_the_repository_are_not_run_and_files_that_need_them_are_an_error(
    repo: Path, tmp_path: Path, key: str, included: bool
):
    script, ran = program(tmp_path)
    config = tmp_path / "more config"
    if included:  # read in worktrees only
        git(repo, "config", f"includeIf.gitdir:{repo}/.git/worktrees/**.path", str(config))
    where = ["--file", str(config)] if included else []
    git(repo, "config", *where, f"filter.odd.name.{key}", str(script))
    asyncio.run(add_worktree(repo, tmp_path / "unused"))  # no file goes through it
    assert note(tmp_path / "unused") == "two"
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text("*.txt filter=odd.name\n", encoding="utf-8")
    with pytest.raises(GitError, match=r"note ü\.txt .* filter .*\(odd\.name\)"):
        asyncio.run(add_worktree(repo, tmp_path / "tree"))
    assert not ran.exists()


def test_filters_that_are_declared_or_configured_by_the_user_are_run(repo: Path, tmp_path: Path, monkeypatch):
    script, ran = program(tmp_path)
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text("*.txt filter=odd\n", encoding="utf-8")
    git(repo, "config", "filter.odd.smudge", str(script))
    asyncio.run(add_worktree(repo, tmp_path / "tree", filters=["odd"]))
    assert ran.exists()
    ran.unlink()
    git(repo, "config", "--unset", "filter.odd.smudge")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    git(repo, "config", "--global", "filter.odd.smudge", str(script))
    asyncio.run(add_worktree(repo, tmp_path / "other"))
    assert ran.exists()
    assert note(tmp_path / "other") == "two"


def test_what_a_partial_clone_lacks_is_not_fetched(repo: Path, tmp_path: Path):
    script, ran = program(tmp_path)
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", repo.as_uri(), "partial")
    git(tmp_path / "partial", "config", "remote.origin.uploadpack", str(script))
    with pytest.raises(GitError):
        asyncio.run(add_worktree(tmp_path / "partial", tmp_path / "tree"))
    assert not ran.exists()


def test_repository_of_a_surrounding_hook_is_not_taken(repo: Path, tmp_path: Path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init")
    commit(other, "another")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    asyncio.run(add_worktree(repo, tmp_path / "tree"))
    assert note(tmp_path / "tree") == "two"
    assert find_leftovers() == []
