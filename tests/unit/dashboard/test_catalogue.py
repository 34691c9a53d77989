"""The catalogue says when it has not looked at everything."""

from __future__ import annotations

from waza.dashboard import catalogue
from waza.dashboard.catalogue import Catalogue


def test_what_is_left_out_is_said_once(tmp_path, monkeypatch):
    for name in ("a", "b", "c"):
        (tmp_path / name / "deep").mkdir(parents=True)
    said: list[str] = []
    assert Catalogue(tmp_path, said.append).runs() == []
    assert said == []
    monkeypatch.setattr(catalogue, "_MOST_ENTRIES", 3)
    found = Catalogue(tmp_path, said.append)
    found.runs()
    found.runs()
    assert len(said) == 1
    assert "not all of its runs are shown" in said[0]
