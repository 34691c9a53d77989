"""A report that cannot be written does not keep the others from being written."""

from __future__ import annotations

from tests.support.live import Project
from tests.support.program import mock_suite


def test_all_other_reports_are_written_and_the_exit_code_tells(project: Project):
    mock_suite(project.home, {"a": "inputs: {prompt: p}\nmock: {output: ok}"}, "")
    (project.home / "file").touch()
    written = ["results.json", "report.xml", "report.md"]
    ended = project.run(
        *("run", "eval.yaml", "-o", "results.json", "--reporter", "junit:file/first.xml"),
        *("--reporter", "junit:report.xml", "--reporter", "markdown:file/third.md"),
        *("--reporter", "markdown:report.md"),
    )
    assert ended.code == 2
    assert [name for name in written if not (project.home / name).is_file()] == []
    assert [f"Written: {name}" for name in written if f"Written: {name}" not in ended.err] == []
    for name in ("file/first.xml", "file/third.md"):
        assert f"cannot write {name}: Not a directory" in ended.err
        assert f"Written: {name}" not in ended.err
