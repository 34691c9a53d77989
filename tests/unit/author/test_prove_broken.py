"""Broken suites are proved as far as they go: what is wrong is a finding, and nothing breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.broken import mocks, places

from waza.author.prove.options import ProveOptions
from waza.author.prove.suites import SuiteToProve, prove_suites
from waza.model.loaded import Project


def test_broken_suites_are_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suites = list[SuiteToProve]()
    for number, case in enumerate([*mocks.CASES, *places.CASES]):
        case.write(tmp_path / str(number))
        suites += map(SuiteToProve, (tmp_path / str(number)).rglob("eval.yaml"))
    assert len(suites) > 30
    monkeypatch.chdir(tmp_path)
    options = ProveOptions(project=Project(directory=tmp_path))
    report = prove_suites(suites, options, graders=True, secrets=True)
    assert [suite.path for suite in report.suites if not suite.findings] == []
