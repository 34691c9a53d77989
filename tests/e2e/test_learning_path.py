"""The pages that people learn from: their suites and commands do what the pages say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

PAGES = Path(__file__).parents[2] / "docs" / "learn"


def page(name: str) -> str:
    return (PAGES / f"{name}.md").read_text(encoding="utf-8")


def files_of(text: str) -> dict[str, str]:
    """Return the files that a page shows, each after a line that begins with its name."""
    return dict(re.findall(r"^`([^`\n]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


QUICK_START = files_of(page("quick-start"))
OUTCOMES = page("outcomes")


def test_the_quick_start_runs_and_then_fails(tmp_path: Path):
    write_tree(tmp_path, QUICK_START)
    lines = re.findall(r"^\$ waza (.*)$", page("quick-start"), re.MULTILINE)
    assert [line.split()[0] for line in lines] == ["preflight", "run"]
    for line in lines:
        ended = waza(*shlex.split(line), cwd=tmp_path)
        assert (ended.code, "warning" in ended.err) == (0, False), ended.out + ended.err
    (task,) = strict_json((tmp_path / "results.json").read_bytes())["tasks"]
    assert [run["status"] for run in task["runs"]] == ["passed", "passed"]
    changed = QUICK_START["tasks/greet.yaml"].replace("Hello Ada!", "Hello!")
    assert changed != QUICK_START["tasks/greet.yaml"]
    write_tree(tmp_path, {"tasks/greet.yaml": changed})
    assert waza("run", "eval.yaml", cwd=tmp_path).code == 1


def wrong_answers() -> dict[str, str]:
    """Return, by task, the `mock` block that follows it on the page of outcomes."""
    found = re.findall(
        r"^`tasks/(\w+)\.yaml`:.*?^A wrong answer[^\n]*:\n\n```yaml\n(.*?)^```$",
        OUTCOMES,
        re.MULTILINE | re.DOTALL,
    )
    return dict(found)


def run_outcome(tmp_path: Path, name: str, task: str) -> Ended:
    write_tree(tmp_path, {"eval.yaml": files_of(OUTCOMES)["eval.yaml"], f"tasks/{name}.yaml": task})
    return waza("run", "eval.yaml", "--warnings-as-errors", cwd=tmp_path)


@pytest.mark.parametrize("name", ["outcome", "boundary", "recovery", "quality"])
def test_an_example_of_an_outcome_passes_and_fails_for_the_wrong_answer(tmp_path: Path, name: str):
    task = files_of(OUTCOMES)[f"tasks/{name}.yaml"]
    ended = run_outcome(tmp_path / "right", name, task)
    assert ended.code == 0, ended.out + ended.err
    covered = waza("preflight", "eval.yaml", "--json", cwd=ended.cwd)
    assert covered.code == 0, covered.out + covered.err
    wrong = re.sub(r"^mock:.*", lambda _: wrong_answers()[name], task, flags=re.MULTILINE | re.DOTALL)
    ended = run_outcome(tmp_path / "wrong", name, wrong)
    assert ended.code == 1, ended.out + ended.err
    (found,) = ended.results()["tasks"]
    assert found["status"] == "failed"


def test_every_example_of_an_outcome_is_tried():
    assert wrong_answers().keys() == {"outcome", "boundary", "recovery", "quality"}
