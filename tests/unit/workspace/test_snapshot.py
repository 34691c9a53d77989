from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from tests.support.program import write_tree

from waza.model.observation import WrittenFile
from waza.workspace import snapshot
from waza.workspace.snapshot import take_snapshot


def changes(before: snapshot.Snapshot) -> dict[str, str]:
    return {file.path: file.sha256 for file in before.changed_files()}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_new_and_changed_files_are_written_ones(tmp_path: Path):
    write_tree(tmp_path, {"same": "same", "old": "old", "gone": "gone", "sub/dir/left": "left"})
    before = take_snapshot(tmp_path)
    assert before.changed_files() == ()
    (tmp_path / "gone").unlink()
    (tmp_path / "same").write_text("other")
    (tmp_path / "same").write_text("same")
    write_tree(tmp_path, {"old": b"new\r\n", "z": b"\0\xff", "sub/Ü b.txt": "", "Z": "upper"})
    assert before.changed_files() == (
        WrittenFile(path="Z", sha256=digest(b"upper")),
        WrittenFile(path="old", sha256=digest(b"new\r\n")),
        WrittenFile(path="sub/Ü b.txt", sha256=digest(b"")),
        WrittenFile(path="z", sha256=digest(b"\0\xff")),
    )


def test_contents_decide_and_not_times_or_sizes(tmp_path: Path):
    file = tmp_path / "a"
    file.write_text("one")
    before, times = take_snapshot(tmp_path), file.stat()
    file.write_text("two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert changes(before) == {"a": digest(b"two")}
    file.write_text("one")
    os.utime(file, (1, 1))
    file.chmod(0o700)
    assert changes(before) == {}


def test_only_regular_files_count_and_links_are_not_followed(tmp_path: Path):
    outside = write_tree(tmp_path / "outside", {"secret": "s"})
    root = write_tree(tmp_path / "root", {"real": "r"})
    before = take_snapshot(root)
    (root / "file-link").symlink_to(outside / "secret")
    (root / "folder-link").symlink_to(outside)
    (root / "circle").symlink_to(root)
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    (root / "empty").mkdir()
    assert changes(before) == {}
    (root / "real").unlink()
    (root / "real").symlink_to(outside / "secret")
    assert changes(before) == {}


def test_a_link_put_in_the_place_of_a_file_is_not_read(tmp_path: Path):
    (tmp_path / "target").write_text("t")
    (tmp_path / "link").symlink_to("target")
    assert snapshot._digest(tmp_path / "link") == ""
    assert snapshot._digest(tmp_path) == ""
    assert snapshot._digest(tmp_path / "gone") == ""


def test_a_tree_deeper_than_our_stack(tmp_path: Path):
    depth = sys.getrecursionlimit() + 50
    here = os.getcwd()  # noqa: PTH109 - to come back to
    os.chdir(tmp_path)
    try:
        for _ in range(depth):
            os.mkdir("d")  # noqa: PTH102 - the whole path would be too long for a system call
            os.chdir("d")
        Path("bottom").write_text("b")
    finally:
        os.chdir(here)
    found = changes(snapshot.Snapshot(tmp_path, {}))
    subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)  # Python's own removal recurses
    assert found == {"/".join(["d"] * depth + ["bottom"]): digest(b"b")}


def test_huge_files_are_left_out(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(snapshot, "MAX_FILE_SIZE", 10)
    write_tree(tmp_path, {"fits": "x" * 10, "huge": "x" * 11})
    assert set(take_snapshot(tmp_path).digests) == {"fits"}


def test_a_workspace_that_is_gone_has_no_files(tmp_path: Path):
    before = take_snapshot(write_tree(tmp_path / "w", {"a": "a"}))
    (tmp_path / "w" / "a").unlink()
    (tmp_path / "w").rmdir()
    assert before.changed_files() == ()
