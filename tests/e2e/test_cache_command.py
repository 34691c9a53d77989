"""`waza cache`: what the cache holds, and that only files of a cache are ever removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.live import Project
from tests.support.program import mock_suite, strict_json, write_tree

ENTRY, WORKSPACE, TEMPORARY = f"{'a' * 64}.json", f"{'b' * 64}-2.tar", f".waza-{'c' * 16}.tmp"
SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
JUDGED = (
    f"{PASSES}\ngraders: [{{type: prompt, name: tone, config: {{prompt: Kind?, continue_session: true}}}}]"
)


def test_what_a_run_would_take_from_the_cache(project: Project):
    suite = mock_suite(project.home, {"a": PASSES, "b": PASSES, "judged": JUDGED}, SAYS)
    empty = project.run("cache", "info")
    assert (empty.code, empty.out) == (0, "Cache:   .waza-cache\nEntries: 0 tasks, 0 bytes\n")
    assert not (project.home / ".waza-cache").exists(), "looking makes nothing"
    project.run("run", suite, "--cache", "--task", "a")
    told = project.run("cache", "info", "eval.yaml")
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[1].startswith("Entries: 1 task, ")
    assert lines[2].startswith("Written: 20")
    assert lines[4] == "eval.yaml on test-model: 1 of 3 tasks cached"
    (entry,) = (project.home / ".waza-cache").glob("*.json")
    assert lines[5] == f"  ✓ a ({entry.stem[:12]})"
    assert lines[6].startswith("  ○ b (")
    assert lines[7].startswith(
        "  ○ judged: never cached, because a prompt grader asks in the agent's own session"
    )
    found = strict_json(project.run("cache", "info", "eval.yaml", "--model", "other", "--json").out)
    assert (found["cache"]["entries"], found["cache"]["bytes"]) == (1, entry.stat().st_size)
    (other,) = found["suites"]
    assert (other["suite"], other["model"]) == ("eval.yaml", "other")
    assert [(one["task"], one["arm"], one["cached"]) for one in other["tasks"]] == [
        ("a", "main", False), ("b", "main", False), ("judged", "main", False)
    ]  # fmt: skip
    run = project.run("run", suite, "--cache", "-v")
    assert run.err.count("[cached]") == 1
    wrong = project.run("cache", "info", "--model", "other")
    assert (wrong.code, "name its suite" in wrong.err) == (2, True)


def test_clear_removes_a_cache_and_says_what(project: Project):
    directory = project.home / ".waza-cache"
    nothing = project.run("cache", "clear")
    assert (nothing.code, nothing.out) == (0, "There is no cache in .waza-cache\n")
    write_tree(directory, {ENTRY: "{}", WORKSPACE: "x" * 2046, TEMPORARY: ""})
    cleared = project.run("cache", "clear")
    assert (cleared.code, cleared.out) == (0, "Cleared .waza-cache: 1 task and 1 workspace, 2.0 kB\n")
    assert not directory.exists()
    write_tree(project.home, {f"elsewhere/{ENTRY}": "{}", ".waza.yaml": "cache: {dir: elsewhere}\n"})
    assert project.run("cache", "clear", "--cache-dir", "nowhere").out == "There is no cache in nowhere\n"
    assert project.run("cache", "clear").out.startswith("Cleared elsewhere: 1 task, ")


@pytest.mark.parametrize("name", ["notes.md", "results.json", ".hidden", f"{'a' * 63}.json", f"deep/{ENTRY}"])
def test_a_directory_that_holds_anything_else_is_left_as_it_is(project: Project, name: str):
    directory = write_tree(project.home / "mine", {ENTRY: "{}", name: "precious"})
    ended = project.run("cache", "clear", "--cache-dir", "mine")
    assert (ended.code, ended.out) == (2, "")
    other = Path(name).parts[0]
    assert f"holds what is not of a cache, so nothing was removed: {other}\n" in ended.err
    assert sorted(path.name for path in directory.iterdir()) == sorted([ENTRY, other])
    assert f"Besides: {other} (not of a cache)" in project.run("cache", "info", "--cache-dir", "mine").out


def test_links_lead_nobody_out_of_a_cache(project: Project):
    precious = write_tree(project.temp, {"precious.json": "{}", f"dir/{ENTRY}": "{}"})
    directory = write_tree(project.home / "linked", {ENTRY: "{}"})
    for target, link in (("precious.json", f"{'d' * 64}.json"), ("dir", f"{'e' * 64}.json")):
        (directory / link).symlink_to(precious / target)
        ended = project.run("cache", "clear", "--cache-dir", "linked")
        assert (ended.code, f"nothing was removed: {link}" in ended.err) == (2, True)
        (directory / link).unlink()
    assert (directory / ENTRY).exists()
    (project.home / "link").symlink_to(directory, target_is_directory=True)
    assert project.run("cache", "clear", "--cache-dir", "link").code == 0
    assert ((project.home / "link").is_symlink(), list(directory.iterdir())) == (True, [])
    assert sorted(path.name for path in precious.iterdir()) == ["dir", "precious.json"]
    assert (precious / "dir" / ENTRY).exists()
    file = project.run("cache", "clear", "--cache-dir", precious / "precious.json")
    assert (file.code, "cannot be read as a cache" in file.err) == (2, True)
