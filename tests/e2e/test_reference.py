"""The reference of graders: every example runs, and `waza grader show` prints what the pages have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.program import mock_suite, strict_json, waza, write_tree

from waza.graders import TYPES
from waza.kit import yaml

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference" / "graders"
SHOWCASE = ROOT / "examples" / "grader-showcase"
# What the examples name beside the suite, and the setting that one of them needs.
BESIDE = ("graders/brief.py", "skills/release-notes/SKILL.md")
NEEDS = ("inject_skill_body: false", "skill_directories: [skills/release-notes]")


def example_of(name: str) -> str:
    page = (PAGES / f"{name}.md").read_text("utf-8")
    (found,) = re.finditer(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return found[1]


@pytest.mark.parametrize("name", TYPES)
def test_the_example_of_a_page_passes_on_the_mock(tmp_path: Path, name: str):
    text = example_of(name)
    example: Any = yaml.to_plain(yaml.load(text.encode()))
    (entry,) = example["graders"]
    mock_suite(tmp_path, {"example": text}, head="skill: release-notes", config=NEEDS)
    write_tree(tmp_path, {path: (SHOWCASE / path).read_bytes() for path in BESIDE})
    (tmp_path / "graders" / "brief.py").chmod(0o755)
    ended = waza("run", "eval.yaml", "--warnings-as-errors", cwd=tmp_path)
    assert ended.code == 0, ended.out + ended.err
    (task,) = ended.results()["tasks"]
    found = task["runs"][0]["validations"][entry["name"]]
    assert (found["type"], found["passed"], found["feedback"] != "") == (name, True, True)


@pytest.mark.parametrize("name", TYPES)
def test_grader_show_prints_what_the_page_has(tmp_path: Path, name: str):
    ended = waza("grader", "show", name, cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    keys = re.findall(
        r"^\| `(\w+)` \| .* \| (.+) \|$", (PAGES / f"{name}.md").read_text("utf-8"), re.MULTILINE
    )
    assert keys
    for key, meaning in keys:
        assert f"\n  {key} (" in ended.out
        assert f"      {meaning}\n" in ended.out
    assert ended.out.rstrip().endswith("  " + example_of(name).splitlines()[-1])


def test_grader_show_prints_the_schema_of_a_config(tmp_path: Path):
    ended = waza("grader", "show", "tool_calls", "--json", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    validator = Draft202012Validator(strict_json(ended.out))
    validator.check_schema(validator.schema)
    assert validator.is_valid({"expect": [{"tool": "bash", "args": {"command": {"contains": "ls"}}}]})
    assert not validator.is_valid({"expect": [{"args": {}}]})
    assert not validator.is_valid({"expected": []})


def test_grader_show_lists_all_types(tmp_path: Path):
    ended = waza("grader", "show", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert [line.split()[0] for line in ended.out.splitlines()] == list(TYPES)
    assert "Texts and patterns in the output: one check for each entry." in ended.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["txt"], "Error: there is no grader type 'txt'; did you mean 'text'?\n"),
        (["--json"], "Error: --json needs a type; see `waza grader show`\n"),
    ],
)
def test_grader_show_refuses_what_is_no_type(tmp_path: Path, words: list[str], message: str):
    ended = waza("grader", "show", *words, cwd=tmp_path)
    assert (ended.code, ended.out, ended.err) == (2, "", message)
