"""Workspaces in one file: they come back as they were, and never lead out of where they are put."""

from __future__ import annotations

import inspect
import io
import os
import socket
import sys
import tarfile
from pathlib import Path

import pytest

from waza.errors import ExecutorError, WazaError
from waza.kit.tempdirs import remove_tree
from waza.workspace import pack as packing
from waza.workspace.pack import pack, unpack


def moved(root: Path) -> Path:
    """Pack a workspace, remove it, and unpack it elsewhere."""
    source, target = root / "source", root / "target"
    data = pack(source)
    source.rename(root / "gone")
    target.mkdir()
    unpack(data, target)
    return target


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.mkdir()
    return path


def test_files_directories_and_modes_come_back(source: Path) -> None:
    (source / "deep/er").mkdir(parents=True)
    (source / "deep/er/run.sh").write_bytes(b"\x00\xff")
    (source / "deep/er/run.sh").chmod(0o750)
    (source / "empty").mkdir()
    (source / ("n" * 200)).write_text("long name")
    odd = os.fsdecode(b"\xff odd \n name")
    (source / odd).write_text("odd")
    target = moved(source.parent)
    assert (target / "deep/er/run.sh").read_bytes() == b"\x00\xff"
    assert (target / "deep/er/run.sh").stat().st_mode & 0o777 == 0o750
    assert (target / "empty").is_dir()
    assert ((target / ("n" * 200)).read_text(), (target / odd).read_text()) == ("long name", "odd")


def test_links_lead_into_the_new_place_or_where_they_led(source: Path) -> None:
    (source / "real").mkdir()
    (source / "real/f.txt").write_text("here")
    (source / "real/own").symlink_to(source / "real/f.txt")
    (source / "near").symlink_to("real")
    (source / "far").symlink_to("/etc/hostname")
    target = moved(source.parent)
    assert (target / "real/own").read_text() == "here"
    assert (target / "near").readlink() == Path("real")
    assert (target / "far").readlink() == Path("/etc/hostname")


def test_pipes_and_sockets_are_left_out(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(source / "pipe")
    monkeypatch.chdir(source)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        (source / "f").touch()
        target = moved(source.parent)
    assert [path.name for path in target.iterdir()] == ["f"]


def test_a_tree_may_be_deeper_than_our_stack(source: Path) -> None:
    deep, limit = source.joinpath(*("d" * 300)), sys.getrecursionlimit()
    deep.mkdir(parents=True)
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        assert moved(source.parent).joinpath(*("d" * 300)).is_dir()
    finally:
        sys.setrecursionlimit(limit)
        remove_tree(source.parent)


@pytest.mark.parametrize("kind", ["one", "many"])
def test_what_is_too_large_is_refused(source: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_ARCHIVE_SIZE", 1_000_000)
    if kind == "one":
        with (source / "big").open("wb") as file:
            file.truncate(1 << 40)  # never read as a whole
    else:
        for number in range(2000):
            (source / str(number)).touch()
    with pytest.raises(WazaError, match="larger than 1 MB"):
        pack(source)


def test_a_name_that_would_come_back_as_another_is_refused(source: Path) -> None:
    (source / "a\\b").touch()
    with pytest.raises(WazaError, match="cannot be kept"):
        pack(source)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_refused(source: Path) -> None:
    (source / "closed").touch(0o000)
    with pytest.raises(WazaError, match="Permission denied"):
        pack(source)


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


@pytest.mark.parametrize(
    "entries",
    [
        [entry("../out")],
        [entry("{root}/out")],
        [entry("a", tarfile.SYMTYPE, ".."), entry("a/out", tarfile.SYMTYPE, "x")],
        [entry("hard", tarfile.LNKTYPE, "../secret")],
        [entry("device", tarfile.CHRTYPE)],
        [entry("a"), entry("a/b")],
    ],
    ids=["climbs", "absolute", "through-a-link", "hard-link", "device", "below-a-file"],
)
def test_nothing_is_put_anywhere_else(tmp_path: Path, entries: list[tarfile.TarInfo]) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for info in entries:
            info.name = info.name.replace("{root}", str(tmp_path))
            tar.addfile(info)
    (tmp_path / "target").mkdir()
    with pytest.raises(ExecutorError, match="cannot be made from the cache"):
        unpack(buffer.getvalue(), tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.mark.parametrize("data", [b"", b"no tar at all", b"\x00" * 100])
def test_what_is_no_tar_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ExecutorError, match="cannot be made from the cache"):
        unpack(data, tmp_path)
