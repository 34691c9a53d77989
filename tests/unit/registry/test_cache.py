from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from tests.support.program import write_tree

from waza.registry.cache import ModuleError, cache_root, digest_module, module_directory
from waza.registry.ref import parse_ref

VECTOR = "sha256:84b9a04865708f02f8b4848ad4b47b023e0cec363317599d33b999fee169dc7e"


def test_the_digest_of_the_format(tmp_path: Path):
    write_tree(tmp_path, {"a/b": "2", "waza.registry.yaml": "x", "a-b": "1"})
    assert digest_module(tmp_path) == VECTOR


def test_modes_times_and_empty_directories_do_not_count(tmp_path: Path):
    write_tree(tmp_path, {"a/b": "2", "waza.registry.yaml": "x", "a-b": "1"})
    (tmp_path / "empty" / "deeper").mkdir(parents=True)
    (tmp_path / "a-b").chmod(0o755)
    os.utime(tmp_path / "a-b", (0, 0))
    assert digest_module(tmp_path) == VECTOR


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a-b").write_text("2"),
        lambda root: (root / "a-b").rename(root / "a-c"),
        lambda root: (root / "more").write_text(""),
        lambda root: (root / "waza.registry.yaml").unlink(),
        lambda root: (root / "a-b").write_text("1\0"),
    ],
)
def test_every_change_of_content_counts(tmp_path: Path, change):
    write_tree(tmp_path, {"a/b": "2", "waza.registry.yaml": "x", "a-b": "1"})
    change(tmp_path)
    assert digest_module(tmp_path) != VECTOR


def test_files_are_ordered_by_the_bytes_of_their_whole_path(tmp_path: Path):
    names = ["a/z", "a.b", "B", "a", "é", "日本/x", "\U0001f600"]
    write_tree(tmp_path, {name: name for name in names if name != "a"})
    expected = hashlib.sha256()
    for name in sorted((name for name in names if name != "a"), key=str.encode):
        expected.update(name.encode() + b"\0" + name.encode() + b"\0")
    assert digest_module(tmp_path) == f"sha256:{expected.hexdigest()}"


@pytest.mark.parametrize("kind", ["link", "link to a directory", "dangling link", "pipe"])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, kind: str):
    write_tree(tmp_path, {"module/a": "1", "other/b": "2"})
    place = tmp_path / "module" / "odd"
    targets = {"link": "a", "link to a directory": "../other", "dangling link": "nowhere"}
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(targets[kind])
    with pytest.raises(ModuleError, match=r"odd is no regular file.*remove .*module and run `waza get`"):
        digest_module(tmp_path / "module")


def test_where_modules_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root({}) == tmp_path / ".waza" / "cache"
    assert cache_root({"WAZA_HOME": "/srv/waza"}) == Path("/srv/waza/cache")
    assert cache_root({"WAZA_HOME": "/srv/waza", "WAZA_MODULE_CACHE": "/m"}) == Path("/m")
    assert cache_root({"WAZA_MODULE_CACHE": "~/modules"}) == tmp_path / "modules"
    monkeypatch.chdir(tmp_path)
    assert cache_root({"WAZA_MODULE_CACHE": "here"}) == tmp_path / "here"
    place = module_directory(Path("/m"), parse_ref("h/o/r/path#e@v"), "c" * 40)
    assert place == Path("/m/h/o/r", "c" * 40)
