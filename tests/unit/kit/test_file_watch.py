from __future__ import annotations

import os
from pathlib import Path

from tests.support.program import write_tree

from waza.kit.file_watch import changed_files, take_snapshot, wait_for_changes


def test_new_changed_and_removed_files_are_noticed(tmp_path: Path):
    root = write_tree(tmp_path, {"a": "1", "deep/b": "1", "c": "1"})
    before = take_snapshot([root, root / "a", root / "missing"])
    assert changed_files(before, take_snapshot([root])) == []
    write_tree(root, {"a": "22", "deep/new": ""})
    (root / "c").unlink()
    now = wait_for_changes([root], (), before)
    assert changed_files(before, now) == [root / "a", root / "c", root / "deep" / "new"]
    os.replace(write_tree(root, {"saved": "33"}) / "saved", root / "a")  # noqa: PTH105  # as editors do
    assert changed_files(now, take_snapshot([root])) == [root / "a"]


def test_what_programs_keep_for_themselves_is_passed_over(tmp_path: Path):
    root = write_tree(
        tmp_path,
        {
            **dict.fromkeys(
                [".git/x", "a/__pycache__/x", "node_modules/x", ".waza/runs/x", "out/x", "r.json"], ""
            ),
            **dict.fromkeys(["a~", ".#a", "#a#", ".a.swp", "4913", ".waza-0123456789abcdef.tmp"], ""),
            **dict.fromkeys(["kept", ".hidden", ".github/kept"], ""),
        },
    )
    found = take_snapshot([root], {root / "out", root / "r.json"})
    assert sorted(path.relative_to(root).as_posix() for path in found) == [".github/kept", ".hidden", "kept"]
    assert take_snapshot([root / "out"], {root / "out"}) == {}


def test_links_are_not_followed_out_of_a_tree(tmp_path: Path):
    write_tree(tmp_path, {"tree/a": "", "elsewhere/b": ""})
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (tmp_path / "tree" / "nowhere").symlink_to(tmp_path / "gone")
    assert list(take_snapshot([tmp_path / "tree"])) == [tmp_path / "tree" / "a"]
