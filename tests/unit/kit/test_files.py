from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from waza.errors import WazaError
from waza.kit import files
from waza.kit.files import is_inside, read_rooted, safe_join, write_atomic


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


# write_atomic


def test_a_file_is_written_with_its_parents(tmp_path: Path) -> None:
    path = tmp_path / "a" / "ü b" / "results.json"

    write_atomic(path, b"{}")

    assert path.read_bytes() == b"{}"
    assert names(path.parent) == ["results.json"]


def test_a_stream_of_chunks_replaces_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old and longer")

    write_atomic(path, (chunk for chunk in [b"n", b"", b"ew"]))

    assert path.read_bytes() == b"new"


def test_a_new_file_has_ordinary_permissions(tmp_path: Path) -> None:
    (tmp_path / "ordinary").write_bytes(b"")

    write_atomic(tmp_path / "f", b"")

    assert (tmp_path / "f").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_a_writer_that_breaks_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    path = tmp_path / "f"
    path.write_bytes(b"old")

    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, broken())

    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "f")

    write_atomic(tmp_path / "link", b"x")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "f").read_bytes() == b"x"


def test_a_directory_in_the_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(WazaError, match=str(tmp_path)):
        write_atomic(tmp_path, b"x")


def test_a_file_where_a_parent_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(WazaError, match=r"cannot write .*results"):
        write_atomic(tmp_path / "file" / "results", b"x")


def test_a_full_disk_is_named() -> None:
    with pytest.raises(WazaError, match="cannot write /dev/full: No space left"):
        write_atomic(Path("/dev/full"), b"x")

    assert Path("/dev/full").is_char_device()


WRITE_TO_STDOUT = (
    "from pathlib import Path; from waza.kit.files import write_atomic\n"
    "print('before', flush=True); write_atomic(Path('/dev/stdout'), [b'one\\n', b'two\\n']); print('after')"
)


def test_standard_output_as_a_pipe_is_written_to() -> None:
    done = subprocess.run([sys.executable, "-c", WRITE_TO_STDOUT], capture_output=True, text=True, check=True)

    assert done.stdout == "before\none\ntwo\nafter\n"


def test_standard_output_as_a_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    with (tmp_path / "out").open("ab") as out:
        subprocess.run([sys.executable, "-c", WRITE_TO_STDOUT], stdout=out, check=True)

    assert (tmp_path / "out").read_text(encoding="utf-8") == "before\none\ntwo\nafter\n"
    assert names(tmp_path) == ["out"]


# safe_join and inside


@pytest.mark.parametrize(
    ("relative", "parts"),
    [
        ("a.txt", ["a.txt"]),
        ("sub\\a.txt", ["sub", "a.txt"]),
        ("./sub//a.txt/", ["sub", "a.txt"]),
        ("a..b/...", ["a..b", "..."]),
        ("ключ/a b", ["ключ", "a b"]),
        ("12:30", ["12:30"]),
        ("~", ["~"]),
        (".", []),
        ("", []),
    ],
)
def test_relative_paths_are_joined(tmp_path: Path, relative: str, parts: list[str]) -> None:
    assert safe_join(tmp_path, relative) == tmp_path.joinpath(*parts)


@pytest.mark.parametrize(
    ("relative", "word"),
    [
        ("/etc/passwd", "absolute"),
        ("\\etc", "absolute"),
        ("//server/share", "absolute"),
        ("\\\\server\\share", "absolute"),
        ("\\\\?\\C:\\x", "absolute"),
        ("C:\\x", "absolute"),
        ("c:x", "absolute"),
        ("a/C:", "absolute"),
        ("..", "climbs"),
        ("a/../b", "climbs"),
        ("a\\..\\..\\b", "climbs"),
        ("a/.. /b", "climbs"),
        ("a\0b", "NUL"),
    ],
)
def test_paths_that_could_leave_are_refused(tmp_path: Path, relative: str, word: str) -> None:
    with pytest.raises(ValueError, match=word) as caught:
        safe_join(tmp_path, relative)

    assert repr(relative) in str(caught.value)
    with pytest.raises(ValueError, match=word):
        read_rooted(tmp_path, relative)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a root with files and links of every kind, beside a file that must not be reached."""
    (tmp_path / "outside.txt").write_bytes(b"outside")
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_bytes(b"a")
    (root / "sub" / "b.txt").write_bytes(b"b")
    for name, target in {
        "link": "a.txt",
        "absolute-link": str(root / "a.txt"),
        "to-sub": "sub",
        "absolute-to-sub": str(root / "sub"),
        "sub/up": "../a.txt",
        "sub/deep/up2": "../../sub/./b.txt",
        "self": ".",
        "loop": "loop",
        "ping": "pong",
        "pong": "ping",
        "out": "../outside.txt",
        "out-absolute": str(tmp_path / "outside.txt"),
        "out-dir": "..",
        "out-and-in": f"../{root.name}/a.txt",
        "absolute-climb": f"{root}/../outside.txt",
        "dangling": "nothing",
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize(
    "path",
    [
        "a.txt",
        "link",
        "to-sub/b.txt",
        "sub/up",
        "self/self/a.txt",
        ".",
        "absolute-link",
        "dangling",
        "a.txt/x",
        "new/x",
    ],
)
def test_inside_follows_links(place: Path, path: str) -> None:
    assert is_inside(place, place / path)


@pytest.mark.parametrize(
    "path",
    ["..", "out", "out-absolute", "out-dir/outside.txt", "../root2", "loop", "loop/x", "nul\0", "ping"],
)
def test_not_inside(place: Path, path: str) -> None:
    assert not is_inside(place, place / path)


# read_rooted


@pytest.mark.parametrize(
    ("relative", "content"),
    [
        ("a.txt", b"a"),
        ("sub\\b.txt", b"b"),
        ("link", b"a"),
        ("absolute-link", b"a"),
        ("to-sub/b.txt", b"b"),
        ("absolute-to-sub/deep/up2", b"b"),
        ("sub/up", b"a"),
        ("self/self/sub/up", b"a"),
    ],
)
def test_files_and_links_within_the_root_are_read(place: Path, relative: str, content: bytes) -> None:
    assert read_rooted(place, relative) == content


@pytest.mark.parametrize(
    "relative",
    [
        "out",
        "out-absolute",
        "out-dir/outside.txt",
        "out-and-in",
        "absolute-climb",
        "self/out",
        "to-sub/../../x",
    ],
)
def test_nothing_outside_is_read(place: Path, relative: str) -> None:
    with pytest.raises(ValueError, match=r"leads out|climbs"):
        read_rooted(place, relative)


@pytest.mark.parametrize(
    ("relative", "kind"),
    [
        ("nothing", FileNotFoundError),
        ("dangling", FileNotFoundError),
        ("sub", IsADirectoryError),
        (".", IsADirectoryError),
        ("a.txt/x", NotADirectoryError),
        ("pipe", OSError),
        ("loop", OSError),
        ("ping", OSError),
    ],
)
def test_what_is_no_file_is_an_error_that_names_it(place: Path, relative: str, kind: type[OSError]) -> None:
    with pytest.raises(kind) as caught:
        read_rooted(place, relative)

    assert caught.value.filename == relative


def test_a_root_that_is_a_link_itself_is_fine(place: Path) -> None:
    (place.parent / "alias").symlink_to(place)

    assert read_rooted(place.parent / "alias", "absolute-link") == b"a"


def test_descriptors_are_closed_whatever_happens(place: Path) -> None:
    before = names(Path("/proc/self/fd"))
    for relative in ("a.txt", "absolute-to-sub/deep/up2"):
        read_rooted(place, relative)
    for relative in ("out", "loop", "nothing", "pipe", "sub"):
        with pytest.raises((ValueError, OSError)):
            read_rooted(place, relative)

    assert names(Path("/proc/self/fd")) == before


def test_without_component_wise_opening_the_answers_are_the_same(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("waza.kit.files._CAN_WALK", False)

    assert read_rooted(place, "absolute-to-sub/deep/up2") == b"b"
    with pytest.raises(ValueError, match="leads out"):
        read_rooted(place, "out")
    with pytest.raises(FileNotFoundError):
        read_rooted(place, "nothing")


def test_what_a_killed_write_left_is_cleared_by_a_later_process_and_nothing_else(tmp_path: Path, monkeypatch):
    hour = 3600
    ages = {
        f".waza-{'0' * 16}.tmp": 2 * hour,
        f".waza-{'1' * 16}.tmp": 0,  # perhaps being written
        ".waza-mine.tmp": 2 * hour,
        f"x.waza-{'2' * 16}.tmp": 2 * hour,
    }
    for name, age in ages.items():
        (tmp_path / name).write_text("half")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    monkeypatch.setattr(files, "_checked_folders", set())
    write_atomic(tmp_path / "results.json", b"{}")
    assert {path.name for path in tmp_path.iterdir()} == {*list(ages)[1:], "results.json"}


def test_the_temporary_file_of_a_write_can_be_where_later_processes_look(tmp_path: Path):
    runs = tmp_path / "runs"
    runs.mkdir()
    seen: list[str] = []

    def chunks():
        seen.extend(path.name for path in runs.iterdir())
        yield b"{}"

    write_atomic(runs / "run-1" / "results.json", chunks(), temporary_in=runs)
    assert "run-1" in seen
    assert any(name.endswith(".tmp") for name in seen)
    assert sorted(runs.rglob("*")) == [runs / "run-1", runs / "run-1" / "results.json"]
