"""Suites and tasks of any content: preflight reports on each, and calls invalid what a run refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from tests.support.program import write_tree
from tests.unit.suite.test_load_anything import keys

from waza.errors import SuiteError
from waza.model.preflight import Preflight
from waza.model.suite import SuiteFile
from waza.model.task import TaskFile
from waza.preflight.inventory import inventory
from waza.report.preflight import preflight_lines
from waza.suite.load import load
from waza.suite.loading import LoadOptions


@settings(
    deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(suite=keys(SuiteFile), task=keys(TaskFile))
def test_what_a_run_refuses_is_invalid(tmp_path_factory: Any, suite: Any, task: Any) -> None:
    root: Path = tmp_path_factory.mktemp("suite")
    suite = {"tasks": ["t.json"], **suite}
    files = {"eval.yaml": suite, "t.json": task, "fixtures/a.txt": "hi", "dir/SKILL.md": "hi"}
    write_tree(root, {name: json.dumps(value, ensure_ascii=False) for name, value in files.items()})
    report = inventory(root / "eval.yaml", LoadOptions())
    stricter = ("requirement.", "tasks.pattern")  # than a run
    told = [one for one in report.diagnostics if not one.code.startswith(stricter)]
    try:
        load(root / "eval.yaml", LoadOptions())
    except SuiteError:
        assert any(one.state == "invalid" for one in report.diagnostics)
    else:
        states = [one.state for one in told] + [one.state for one in report.dependencies]
        assert "invalid" not in [*states, *(one.state for one in report.capabilities)]
    assert all(one.message and one.remediation for one in report.diagnostics)
    assert report.complete == all(one.state == "verified" for one in report.diagnostics)
    assert list(preflight_lines(report))
    assert msgspec.json.decode(msgspec.json.encode(report), type=Preflight) == report
