"""The page for beginners: from an empty directory to six tasks, a judge and trigger tests, as it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.support.program import strict_json, waza, write_tree

PAGE = (Path(__file__).parents[2] / "docs" / "learn" / "from-nothing.md").read_text(encoding="utf-8")
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
STEP = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$|^\$ waza ([^\n]*)$", re.MULTILINE | re.DOTALL)


def test_the_page_does_what_it_says_in_under_ten_commands(tmp_path: Path):
    ran: list[str] = []
    for file, content, line in STEP.findall(PAGE):
        if file:
            write_tree(tmp_path, {file: content})
            continue
        ran.append(line)
        ended = waza(*shlex.split(line), cwd=tmp_path)
        assert ended.code == 0, f"{line}\n{ended.out}{ended.err}"
    assert 5 < len(ran) < 10
    results = ended.results()
    statuses = {task["test_id"]: task["status"] for task in results["tasks"]}
    assert statuses == dict.fromkeys(
        ("basic-usage", "breaking", "edge-case", "nothing", "security", "should-not-trigger"), "passed"
    )
    assert results["tasks"][0]["runs"][0]["validations"]["is_useful"]["type"] == "prompt"
    assert results["trigger_metrics"]["accuracy"] == 1
    assert ended.out.count("nobody has reviewed") == 2
    checked = waza("check", "--offline", "--format", "json", cwd=tmp_path)
    assert strict_json(checked.out)["skills"][0]["ready"]


def test_the_commands_at_the_top_of_the_readme_work_at_once(tmp_path: Path):
    lines = re.findall(
        r"^\$ waza (.*)$", README.split("## From nothing\n")[1].split("\n## ")[0], re.MULTILINE
    )
    assert len(lines) == 3
    for line in lines:
        ended = waza(*shlex.split(line, comments=True), cwd=tmp_path)
        assert ended.code == 0, f"{line}\n{ended.out}{ended.err}"
