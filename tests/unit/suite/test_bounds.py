"""What is far too large is refused at load with its bound, instead of being read for minutes."""

from pathlib import Path

import pytest
from tests.support.program import mock_suite, write_tree

from waza.errors import SuiteError
from waza.suite import skills
from waza.suite.dataset import MAX_COLUMNS
from waza.suite.load import load
from waza.suite.loading import LoadOptions

TASK = "inputs: {prompt: p}"


def refusal(path: Path) -> str:
    with pytest.raises(SuiteError) as caught:
        load(path, LoadOptions())
    return str(caught.value)


@pytest.mark.parametrize("place", ["suite", "task"])
def test_a_skill_directory_that_is_a_whole_disk(tmp_path: Path, place: str):
    (tmp_path / "big").mkdir()
    for number in range(20):
        write_tree(tmp_path / "big", {f"{number}/{n}": "" for n in range(skills.MOST_FILES // 20)})
    of_suite = ["skill_directories: [big]"] if place == "suite" else []
    of_task = f"{TASK}\nskill_directories: [big]" if place == "task" else TASK
    suite = mock_suite(tmp_path, {"t": of_task}, "", of_suite)
    load(suite, LoadOptions())
    (tmp_path / "big" / "one-more").touch()
    said = refusal(suite)
    assert "'big' holds more than 10,000 files" in said
    assert "name the directory that holds the skills" in said


def test_a_table_with_too_many_columns(tmp_path: Path):
    suite = mock_suite(tmp_path, {}, "tasks_from: d.csv")

    def table(columns: int) -> None:
        cells = ["prompt", *(f"c{n}" for n in range(columns - 1))]
        (tmp_path / "d.csv").write_text(f"{','.join(cells)}\n{','.join(cells)}\n", encoding="utf-8")

    table(MAX_COLUMNS)
    assert len(load(suite, LoadOptions()).tasks) == 1
    table(MAX_COLUMNS + 1)
    assert "has 10,001 fields; at most 10,000 columns are read" in refusal(suite)
