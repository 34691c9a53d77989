"""The catalogue says when it has not looked at everything."""

from __future__ import annotations

import os

from waza.dashboard import catalogue
from waza.dashboard.catalogue import Catalogue
from waza.results.live_state import read_live_state


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


def test_a_pipe_is_not_waited_for(tmp_path):
    (tmp_path / "run").mkdir()
    os.mkfifo(tmp_path / "run" / "journal.ndjson")
    os.mkfifo(tmp_path / "run" / "live.json")
    os.mkfifo(tmp_path / "run" / "x.json")
    assert Catalogue(tmp_path, print).runs() == []
    assert read_live_state(tmp_path / "run") is None


def test_no_run_takes_the_name_of_another(tmp_path):
    (tmp_path / "sub" / "a.json").mkdir(parents=True)
    (tmp_path / "sub" / "a.json" / "journal.ndjson").write_bytes(b"damaged\n")
    (tmp_path / "a.json").write_bytes(b'{"eval_id": damaged')
    found = Catalogue(tmp_path, print).runs()
    assert sorted(run.id for run in found) == ["a.json", "a.json'"]
