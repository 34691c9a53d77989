"""The rules of `waza check`, each by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from waza.author.check.advisories import advise
from waza.author.check.agent_checks import check_agent
from waza.author.check.compliance import assess, leading_text, list_anti_triggers, list_triggers
from waza.author.check.links import check_links
from waza.author.check.mcp_score import check_mcp, invokes_tools, score_mcp
from waza.author.check.run import CheckOptions, check_targets
from waza.author.check.source import Source
from waza.author.check.spec_checks import suggest_name
from waza.author.tokens.count import EstimatedCounter
from waza.suite.detect import describe_definition

LONG = "It reviews changes of code and says what is wrong with them. " * 3


def source(tmp_path: Path, head: str, body: str = "B\n", name: str = "review/SKILL.md") -> Source:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{head}\n---\n{body}", encoding="utf-8")
    return Source(path)


def skill(tmp_path: Path, description: str, body: str = "B\n") -> Source:
    return source(tmp_path, f"name: review\ndescription: {description!r}", body)


@pytest.mark.parametrize(
    ("description", "level"),
    [
        ("USE FOR: a. DO NOT USE FOR: b.", "Low"),  # short
        (LONG, "Low"),
        (f"{LONG}USE FOR: a", "Medium"),
        (f"{LONG}use this skill when", "Medium"),
        (f"{LONG}Triggers: a", "Medium"),
        (f"{LONG}DO NOT USE FOR: a", "Low"),  # what it is not for says nothing of what it is for
        (f"{LONG}Don't use this skill for a", "Low"),
        (f"{LONG}USE FOR: a. NOT FOR: b", "Medium-High"),
        (f"{LONG}USE FOR: a. INVOKES: b", "Medium"),
        (f"{LONG}USE FOR: a. Instead use b. INVOKES: c", "High"),
        (f"{LONG}USE FOR: a. DO NOT USE FOR: b. **Utility Skill**", "High"),
    ],
)
def test_levels(tmp_path, description, level):
    assert assess(skill(tmp_path, description), []).level == level


def test_phrases_end_at_the_next_mark_or_a_blank_line():
    text = (
        'Does X. USE FOR: one, "two", `three four`.\nDO NOT USE FOR: five, six.\n\nMore, words. INVOKES: a, b'
    )
    assert list_triggers(text) == ["one", "two", "three four"]
    assert list_anti_triggers(text) == ["five", "six"]
    assert leading_text(text) == "Does X."
    assert list_triggers("nothing") == []


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("My_Skill", "my-skill"), ("MySkill", "my-skill"), ("a--b", "a-b"), ("日本", ""), ("x" * 70, "x" * 64)],
)
def test_names_that_are_suggested(name, suggestion):
    assert suggest_name(name) == suggestion


def test_mcp_points(tmp_path):
    body = "| Tool | Use |\n|---|---|\n| a | b |\n\nRequires the server. If it is unavailable, stop.\n"
    full = skill(tmp_path, "d INVOKES: github-search, jira-list.", body)
    assert invokes_tools(full)
    assert score_mcp(list(check_mcp(full))).score == 4
    assert score_mcp(list(check_mcp(skill(tmp_path, "d INVOKES: github-search")))).score == 1
    assert score_mcp(list(check_mcp(skill(tmp_path, "d INVOKES: Search and bash")))).score == 0
    assert not invokes_tools(skill(tmp_path, "d"))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("in /home/ana/x", ["/home/ana/x"]),
        ("in C:\\Users\\ana", ["C:\\Users\\ana"]),
        ("in ./home/x, $HOME/usr/x, src/opt/x, <root>/var/x", []),
        ("on 10.1.2.3 and 999.1.1.1 and v1.2.3.4.5", ["10.1.2.3"]),
        ("127.0.0.1", []),
        ("at localhost:8080, at 12:30:45", [":8080"]),
        ("https://docs.acme.com/a/b https://example.com/x https://github.com/a/b", []),
        ("https://acme.internal/a/b.", ["https://acme.internal/a/b"]),
        ("https://acme.internal", []),
        ("http://[::bad/x", ["http://[::bad/x"]),
    ],
)
def test_what_is_over_specific(tmp_path, body, found):
    checks = {one.check.name: one for one in advise(skill(tmp_path, "d", f"{body}\n"), 10)}
    messages = [one.message.partition(": ")[2] for one in checks["over-specificity"].findings]
    assert messages == found


@pytest.mark.parametrize(
    ("description", "passed"),
    [
        ("Reviews code", True),
        ("Summarising texts", True),
        ("A workflow for x", True),
        ("Knowledge of x", False),
    ],
)
def test_what_is_procedural(tmp_path, description, passed):
    checks = {one.check.name: one.check for one in advise(skill(tmp_path, description), 10)}
    assert checks["procedural-content"].passed is passed


def test_a_long_line_of_signs_takes_no_time(tmp_path):
    body = "*" * 50_000 + "\n" + "\n" * 20_000 + "http://" * 20_000 + "\n"
    assert len(list(advise(skill(tmp_path, "d", body), 10))) == 6


@pytest.mark.parametrize(
    ("tool", "remedy"),
    [
        ("bash", None),
        ("CODESEARCH", None),
        ("acme_lookup", None),
        ("mcp:github-list_issues", None),
        ("custom:X", None),
        ("builtin:view", None),
        ("github/list", None),
        ("bsh", "did you mean 'bash'?"),
        ("readFlie", "did you mean 'readFile'?"),
        ("mcp:github", "write mcp:<server>-<tool>"),
        ("custom:", "write mcp:<server>-<tool>"),
        ("*", "list each tool by its name"),
    ],
)
def test_tools_of_agents(tmp_path, tool, remedy):
    agent = source(tmp_path, f"name: a\ndescription: d\ntools: ['{tool}']", name="a.agent.md")
    assert [one.remedy for one in check_agent(agent)] == ([remedy] if remedy else [])


def test_links_of_all_kinds(tmp_path):
    (tmp_path / "review/references/deep").mkdir(parents=True)
    (tmp_path / "review/references/deep/a b.md").write_text("[up](../../SKILL.md) [c](c.md)")
    (tmp_path / "review/references/deep/c.md").write_text("")
    (tmp_path / "review/references/mentioned.md").write_text("")
    (tmp_path / "review/references/alone.md").write_text("[itself](alone.md)")
    (tmp_path / "review/evals").mkdir()
    (tmp_path / "review/evals/eval.yaml").write_text("")
    (tmp_path / "review/evals/fixture.md").write_text("[broken](on-purpose.md)")
    (tmp_path / "secret.md").write_text("")
    (tmp_path / "review/link.md").symlink_to(tmp_path / "secret.md")
    body = (
        "[a](references/deep/a%20b.md#x) [q](references/deep/c.md?raw=1) `references/mentioned.md` [m](mailto:a@b.c)\n"
        "[abs](/etc/passwd) [esc](link.md) [w](https://a.example/x#1) [w](https://a.example/x#2) [d](mdc:x) [h](#here)\n"
        "![i](missing.png)\n"
    )
    check = check_links(skill(tmp_path, "d", body))
    links, findings = check.with_dead({"https://a.example/x": "gone"}, checked=True)
    assert [(one.code, one.line) for one in findings] == [
        ("link-outside", 6),
        ("link-outside", 6),
        ("broken-link", 7),
        ("orphaned-file", 1),
        ("dead-link", 6),
        ("dead-link", 6),
    ]
    assert (links.valid, links.total) == (5, 10)
    assert links.orphaned_files == ("references/alone.md",)


def test_addresses_are_asked_for_without_their_fragments(tmp_path):
    path = skill(tmp_path, "d", "[w](http://127.0.0.1:9/x#1) [w](http://127.0.0.1:9/x#2)\n").path
    asked: list[tuple[int, int]] = []
    options = CheckOptions(
        counter=EstimatedCounter(), allowed=lambda _: True, report=lambda done, of: asked.append((done, of))
    )
    (target,) = check_targets([describe_definition(path, tmp_path)], options).targets
    assert asked == [(1, 1)]
    assert target.links is not None
    assert len(target.links.dead_urls) == 2


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe---", b"---\n- a\n---\nB", b"---\n---\n", b"---", b"---\nname: [\n---\n"]
)
@pytest.mark.parametrize("name", ["review/SKILL.md", "a.agent.md"])
def test_any_file_has_a_report_with_places(tmp_path, data, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    options = CheckOptions(counter=EstimatedCounter(), offline=True)
    (target,) = check_targets([describe_definition(path, tmp_path)], options).targets
    assert not target.ready
    assert all(one.line >= 1 and one.column >= 1 and one.message for one in target.findings)
