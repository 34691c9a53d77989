"""Copies to work in: what is done in one does not reach the original."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.errors import WazaError
from waza.kit.tree_copy import copy_tree


def git(directory: Path, *args: str) -> str:
    own = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    done = subprocess.run(
        ["git", *own, *args], cwd=directory, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout


def test_files_modes_and_empty_directories_are_copied(tmp_path: Path):
    source = write_tree(tmp_path / "source", {"a/b.txt": "b", "run.sh": "#!/bin/sh\n"})
    (source / "run.sh").chmod(0o755)
    (source / "empty").mkdir()
    copy_tree(source, tmp_path / "copy")
    assert (tmp_path / "copy/a/b.txt").read_text() == "b"
    assert os.access(tmp_path / "copy/run.sh", os.X_OK)
    assert (tmp_path / "copy/empty").is_dir()


def test_no_link_leads_back_into_the_original(tmp_path: Path):
    source = write_tree(tmp_path / "source", {"a/b.txt": "b"})
    elsewhere = write_tree(tmp_path / "elsewhere", {"c.txt": "c"})
    (source / "absolute").symlink_to(source / "a/b.txt")
    (source / "folder").symlink_to(source / "a")
    (source / "relative").symlink_to("a/b.txt")
    (source / "out").symlink_to(elsewhere / "c.txt")
    (source / "broken").symlink_to("nowhere")
    copy = tmp_path / "copy"
    copy_tree(source, copy)
    for name in ("absolute", "relative", "folder/b.txt"):
        assert (copy / name).resolve() == (copy / "a/b.txt").resolve()
    assert (copy / "out").readlink() == elsewhere / "c.txt"
    assert (copy / "broken").is_symlink()


def test_pipes_are_left_out(tmp_path: Path):
    source = write_tree(tmp_path / "source", {"a.txt": "a"})
    os.mkfifo(source / "pipe")
    copy_tree(source, tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["a.txt"]


@pytest.mark.parametrize("place", [".", "below"])
def test_the_copy_of_a_worktree_has_an_index_and_a_head_of_its_own(tmp_path: Path, place: str):
    repository = write_tree(tmp_path / "repository", {"a.txt": "a"})
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    tree = workspace / place
    git(repository, "worktree", "add", "-q", "--detach", str(tree))
    copy_tree(workspace, tmp_path / "copy")
    copy = tmp_path / "copy" / place
    (copy / "new.txt").write_text("new")
    git(copy, "add", ".")
    git(copy, "commit", "-qm", "second")
    assert git(copy, "log", "--format=%s").split() == ["second", "first"]
    assert git(tree, "log", "--format=%s").split() == ["first"]
    assert git(tree, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def test_what_cannot_be_copied_is_an_error(tmp_path: Path):
    with pytest.raises(WazaError, match="source cannot be copied: "):
        copy_tree(tmp_path / "source", tmp_path / "copy")
