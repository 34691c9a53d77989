"""NewFiles: what two programs write at once is of one of them, and nothing of the other is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from waza.author.scaffold.new_files import NewFiles
from waza.errors import UsageError
from waza.kit.files import write_new


def test_what_another_program_writes_in_between_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = NewFiles()
    for name in ("a/one", "b/two"):
        files.add(tmp_path / name, "mine")

    def write_late(path: Path, data: bytes) -> None:
        if path.name == "two":
            path.write_text("theirs", encoding="utf-8")
        write_new(path, data)

    monkeypatch.setattr("waza.author.scaffold.new_files.write_new", write_late)
    with pytest.raises(UsageError, match="two was written by another program just now"):
        files.write()
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["two"]
    assert (tmp_path / "b/two").read_text(encoding="utf-8") == "theirs"
    assert not (tmp_path / "a").exists()
