"""A promptflow that is wanted and not there."""

from __future__ import annotations

from tests.support.program import waza, write_tree


def test_a_promptflow_that_is_asked_for_and_missing_stops_the_run_before_the_first_prompt(tmp_path):
    write_tree(tmp_path, {"evals.json": '{"schemaVersion": "1.7.0", "items": [{"prompt": "p"}]}'})
    flags = ["--agent", "command:touch asked", "--load-flow", "promptflow"]
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.strip().endswith(
        "--load-flow promptflow: promptflow is not installed; "
        "run pip install 'waza[promptflow]', or leave the option out"
    )
    assert not (tmp_path / "asked").exists()
