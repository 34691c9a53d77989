"""`caveats`: what a suite and its tasks say that their results do not show."""

from __future__ import annotations

from pathlib import Path

from tests.support.program import mock_suite, waza


def test_caveats_stand_in_every_report(tmp_path: Path) -> None:
    task = (
        "inputs: {prompt: hello}\nexpected: {output_contains: [hello]}\ncaveats: ['not checked: the tone']\n"
    )
    suite = mock_suite(tmp_path, {"a": task}, head="caveats: ['no hooks of the plugin run']")
    ended = waza("run", suite, "--reporter", "junit:j.xml", "--reporter", "markdown:m.md", cwd=tmp_path)
    assert ended.code == 0
    warnings = [
        "eval.yaml:6:11: caveats[0]: warning: no hooks of the plugin run",
        "tasks/a.yaml:3:11: caveats[0]: warning: not checked: the tone",
    ]
    assert ended.results()["metadata"]["warnings"] == warnings
    for text in (ended.out, (tmp_path / "j.xml").read_text(), (tmp_path / "m.md").read_text()):
        assert "no hooks of the plugin run" in text
        assert "not checked: the tone" in text
    assert waza("run", suite, "--warnings-as-errors", cwd=tmp_path).code == 2
