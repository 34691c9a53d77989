from __future__ import annotations

import os
from pathlib import Path

import pytest

from waza.errors import SuiteError
from waza.suite.definition import Definition, read_definition, require_usable

FULL_AGENT = """\
---
name: security-reviewer
description: |
  A specialized agent that reviews code for security vulnerabilities,
  compliance issues, and best practices. Flags suspicious patterns
  and suggests hardening strategies.

model: claude-opus-4.6
tools:
  - codeSearch
  - fileRead
  - fileWrite
  - runCommand

mcp-servers:
  - url: "sse://internal-tools.example.com"
    name: "compliance-checker"

handoffs:
  - name: legal-review
    when: "sensitive compliance issues found"
  - name: performance-analyst
    when: "security patch impacts performance"

agents:
  - name: code-analyzer
    scope: "async dependency analysis"
---

# Security Review Agent

You are an expert security reviewer.
"""


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def skill(directory: Path, name: str, body: str = "Do it.") -> Path:
    return write(directory / "SKILL.md", f"---\nname: {name}\ndescription: d\n---\n{body}\n")


def agent(directory: Path, stem: str, front: str = "") -> Path:
    return write(directory / f"{stem}.agent.md", f"---\n{front}\n---\nYou are.\n")


def described(directory: Path, stem: str, front: str = "") -> Path:
    return agent(directory, stem, f"{front}\ndescription: d")


def read_target(path: Path) -> Definition:
    """A definition that can be the target of a suite."""
    return require_usable(read_definition(path))


def mistakes(path: Path) -> list[str]:
    """The messages of a file that is refused, without the directory in front; descriptions are left out of account."""
    with pytest.raises(SuiteError) as caught:
        read_target(path)
    found = [str(problem).removeprefix(str(path)) for problem in caught.value.problems]
    return [message for message in found if "has no description" not in message]


class TestReadingSkills:
    def test_a_skill(self, tmp_path):
        file = skill(tmp_path / "dir", "code-explainer", "# Explain\n")
        read = read_target(file)
        assert read.problems == ()
        assert read.declared_name == "code-explainer"
        target = read.target
        assert (target.kind, target.name, target.description) == ("skill", "code-explainer", "d")
        assert target.path == file
        assert target.tools is None
        assert target.policy is None
        assert target.instructions == f"Base directory for this skill: {tmp_path / 'dir'}\n\n# Explain\n\n"

    def test_without_frontmatter_the_directory_names_it(self, tmp_path):
        read = read_definition(write(tmp_path / "dir" / "SKILL.md", "# Only a body\n"))
        assert (read.target.name, read.declared_name) == ("dir", "")
        assert read.target.body == "# Only a body\n"
        assert [str(problem).partition(": ")[2] for problem in read.problems] == [
            "has no description, by which an agent knows when to use it; write 'description:' in its frontmatter"
        ]

    def test_a_relative_path_is_made_absolute(self, tmp_path, monkeypatch):
        write(tmp_path / "dir" / "SKILL.md", "---\ndescription: d\n---\nbody")
        (tmp_path / "dir" / "sub").mkdir()
        monkeypatch.chdir(tmp_path / "dir")
        assert read_target(Path("SKILL.md")).target.name == "dir"
        monkeypatch.chdir("sub")
        target = read_target(Path("../SKILL.md")).target
        assert (target.name, target.directory) == ("dir", tmp_path / "dir")

    def test_names_are_trimmed_and_keep_their_text(self, tmp_path):
        assert read_target(skill(tmp_path, "'  spaced '")).target.name == "spaced"
        assert read_target(skill(tmp_path, "1.10")).target.name == "1.10"

    @pytest.mark.parametrize("name", ["", "''", "'  '", "~"])
    def test_a_blank_name_is_none(self, tmp_path, name):
        assert read_target(skill(tmp_path / "dir", name)).target.name == "dir"

    @pytest.mark.parametrize(
        ("front", "place"),
        [
            ("name: x\ndescription: fix: this", ":3:17"),
            ("- name: x", ":2:1"),
            ("just words", ":2:1"),
            ("name: [x]", ":2:7: name"),
            ("name: x\nname: x", ":3:1"),
        ],
    )
    def test_broken_frontmatter_makes_a_skill_unfit_and_a_neighbour_warned_of(self, tmp_path, front, place):
        file = write(tmp_path / "dir" / "SKILL.md", f"---\n{front}\n---\nDo it.\n")
        [message] = mistakes(file)
        assert message.startswith(f"{place}: ")
        read = read_definition(file)
        assert (read.target.name, read.declared_name, read.is_fit) == ("dir", "", False)
        assert str(next(iter(read.warnings))).startswith(f"{file}{place}: warning: ")

    @pytest.mark.parametrize("name", ["SKILL.md", "a.agent.md"])
    def test_frontmatter_that_never_closes_is_an_error(self, tmp_path, name):
        [message] = mistakes(write(tmp_path / name, "---\nname: x\nDo it.\n"))
        assert message.startswith(":1:1: the frontmatter has no end")

    @pytest.mark.parametrize("name", ["SKILL.md", "a.agent.md"])
    @pytest.mark.parametrize(
        ("front", "hint"),
        [
            ("name: x", "write 'description:'"),
            ("name: x\ndescription: '  '", "write 'description:'"),
            ("name: x\ndesciption: d", "'desciption' is probably meant to be 'description'"),
        ],
    )
    def test_a_missing_description_is_an_error(self, tmp_path, name, front, hint):
        with pytest.raises(SuiteError, match="has no description") as caught:
            read_target(write(tmp_path / name, f"---\n{front}\n---\nb\n"))
        assert hint in str(caught.value)

    @pytest.mark.parametrize(("value", "invocable"), [("true", False), ("false", True)])
    def test_the_model_may_be_kept_from_invoking_it(self, tmp_path, value, invocable):
        front = f"---\ndescription: d\ndisable-model-invocation: {value}\n---\nb"
        assert read_target(write(tmp_path / "SKILL.md", front)).target.model_invocable is invocable

    def test_keys_of_no_concern_are_left_alone(self, tmp_path):
        front = "---\nname: x\ndescription: d\nlicense: MIT\nallowed-tools: 7\ntools: null\nmetadata: {version: 1}\n---\nb"
        read = read_target(write(tmp_path / "SKILL.md", front))
        assert read.problems == ()
        assert (read.target.name, read.target.tools) == ("x", None)

    @pytest.mark.parametrize("text", ["", " \n\t\r\n", b"\xef\xbb\xbf\n"])
    def test_an_all_blank_skill_is_an_error(self, tmp_path, text):
        [message] = mistakes(write(tmp_path / "SKILL.md", text))
        assert message.startswith(": the skill is empty; write its instructions")

    def test_frontmatter_without_a_body_is_no_blank_skill(self, tmp_path):
        assert read_target(write(tmp_path / "SKILL.md", "---\ndescription: d\n---\n")).target.body == ""


class TestReadingAgents:
    def test_a_full_agent(self, tmp_path):
        target = read_target(write(tmp_path / "security-reviewer.agent.md", FULL_AGENT)).target
        assert (target.kind, target.name) == ("agent", "security-reviewer")
        assert target.description.startswith("A specialized agent")
        assert target.tools == ("codeSearch", "fileRead", "fileWrite", "runCommand")
        assert target.body.startswith("# Security Review Agent\n")
        assert target.policy == "allow_list"

    def test_crlf(self, tmp_path):
        text = FULL_AGENT.replace("\n", "\r\n")
        target = read_target(write(tmp_path / "a.agent.md", text)).target
        assert target.name == "security-reviewer"
        assert target.tools == ("codeSearch", "fileRead", "fileWrite", "runCommand")
        assert target.body.startswith("# Security Review Agent\r\n")

    def test_byte_order_mark(self, tmp_path):
        target = read_target(write(tmp_path / "a.agent.md", b"\xef\xbb\xbf" + FULL_AGENT.encode())).target
        assert target.name == "security-reviewer"
        assert target.tools is not None

    @pytest.mark.parametrize(
        ("front", "tools", "policy"),
        [
            ("", None, "unrestricted"),
            ("tools: []", (), "deny_all"),
            ("tools: [view, 'mcp:db-x', custom:Y]", ("view", "mcp:db-x", "custom:Y"), "allow_list"),
            ("tools:\n  - on\n  - '7'", ("on", "7"), "allow_list"),
        ],
    )
    def test_tools_have_three_states(self, tmp_path, front, tools, policy):
        target = read_target(described(tmp_path, "a", front)).target
        assert target.tools == tools
        assert target.policy == policy

    @pytest.mark.parametrize(
        ("front", "message"),
        [
            (
                "name: x\ntools:",
                ":3:7: tools: has no value, which could mean all tools or none; write 'tools: []'",
            ),
            ("tools: null", ":2:8: tools: has no value"),
            ("tools: ~", ":2:8: tools: has no value"),
            ("tools: read, write", ":2:8: tools: must be a list, not the text 'read, write'"),
            ("tools: ''", ":2:8: tools: must be a list, not the text ''"),
            ("tools: {read: true}", ":2:8: tools: must be a list, not a mapping"),
            ("tools: 5", ":2:8: tools: must be a list, not the number 5"),
            ("tools: false", ":2:8: tools: must be a list, not the boolean false"),
            ("tools:\n  - read\n  - 5", ":4:5: tools[1]: 5 is not the name of a tool; put a name in quotes"),
            ("tools: [true]", ":2:9: tools[0]: true is not the name of a tool"),
            ("tools: [1.5]", ":2:9: tools[0]: 1.5 is not the name of a tool"),
            ("tools: [{name: read}]", ":2:9: tools[0]: must be a text, not a mapping"),
            ("tools: [[read]]", ":2:9: tools[0]: must be a text, not a list"),
            ("tools: [' ']", ":2:9: tools[0]: must not be empty"),
            ("tools:\n  -", ":3:4: tools[0]: must not be empty"),
            ("name: [x]", ":2:7: name: must be a text, not a list"),
            ("agents: 7", ":2:9: agents: must be a list, not the number 7"),
            ("handoffs: [[x]]", ":2:12: handoffs[0]: must be a text, not a list"),
            ("mcp-servers: true", ":2:14: mcp-servers: must be a list, not the boolean true"),
            ("- tools", ":2:1: must be a mapping of keys, not a list"),
            ("tools", ":2:1: must be a mapping of keys, not the text 'tools'"),
            ("tools: [read", ":2:8: not valid YAML"),
            ("tools: []\ntools: [read]", ":3:1: duplicate key 'tools'"),
        ],
    )
    def test_mistakes(self, tmp_path, front, message):
        [found] = mistakes(agent(tmp_path, "a", front))
        assert found.startswith(message)

    def test_all_mistakes_are_reported_together(self, tmp_path):
        found = mistakes(agent(tmp_path, "a", "name: {}\ntools: [1, 2]\nagents: 3"))
        assert [message.split(": ")[1] for message in found] == ["name", "agents", "tools[0]", "tools[1]"]

    @pytest.mark.parametrize(
        "key", ["tols", "tool", "Tools", "TOOLS", "allowed-tools", "allowedTools", "disallowedTools"]
    )
    def test_an_unknown_key_that_may_limit_tools_is_an_error(self, tmp_path, key):
        [message] = mistakes(described(tmp_path, "a", f"{key}: []"))
        assert message.startswith(
            f":2:1: {key}: unknown key {key!r}; an agent's tools are listed under 'tools'"
        )

    @pytest.mark.parametrize(
        ("key", "hint"), [("handofs", "; did you mean 'handoffs'?"), ("x-own-thing", "")]
    )
    def test_another_unknown_key_is_a_warning(self, tmp_path, key, hint):
        file = described(tmp_path, "a", f"{key}: 1")
        [problem] = read_target(file).problems
        assert str(problem) == f"{file}:2:1: {key}: warning: unknown key {key!r}, ignored{hint}"

    @pytest.mark.parametrize(
        "front",
        [
            "agents: [code-analyzer, {name: other, scope: s}]",
            "agents: '*'",
            "handoffs: [{label: Go, agent: b, send: true}, plain]",
            "mcp-servers: {db: {command: x, args: [1]}}",
            "mcp-servers: [db, {name: db, config: {}}]",
            "agents:\nhandoffs: []\nmcp-servers: null",
            "model: [one, two]",
            "argument-hint: [anything]\ntarget: 5",
        ],
    )
    def test_other_keys_take_texts_and_objects(self, tmp_path, front):
        read = read_target(described(tmp_path, "a", front))
        assert read.target.name == "a"
        assert read.target.tools is None

    def test_names(self, tmp_path):
        assert read_target(described(tmp_path, "by-file")).target.name == "by-file"
        assert read_target(described(tmp_path, "by-file", "name: ' told '")).target.name == "told"
        assert read_target(described(tmp_path / "dir", "")).target.name == "dir"
        bare = read_definition(write(tmp_path / "bare.agent.md", "No frontmatter."))
        assert (bare.target.name, bare.is_fit) == ("bare", False)


class TestFilesThatCannotBeRead:
    @pytest.mark.parametrize("name", ["SKILL.md", "a.agent.md"])
    def test_not_utf8(self, tmp_path, name):
        file = write(tmp_path / name, "---\nname: x\n---\nGrüße\n".encode("latin-1"))
        assert mistakes(file) == [":4:3: the file is not UTF-8 text; save it as UTF-8"]

    @pytest.mark.parametrize("name", ["SKILL.md", "a.agent.md"])
    def test_a_directory_or_nothing(self, tmp_path, name):
        assert mistakes(tmp_path / name) == [": there is no such file"]
        (tmp_path / name).mkdir()
        assert mistakes(tmp_path / name) == [": is not a file"]

    def test_a_pipe_is_not_waited_for(self, tmp_path):
        os.mkfifo(tmp_path / "a.agent.md")
        assert mistakes(tmp_path / "a.agent.md") == [": is not a file"]

    def test_a_link_to_itself(self, tmp_path):
        (tmp_path / "a.agent.md").symlink_to("a.agent.md")
        [message] = mistakes(tmp_path / "a.agent.md")
        assert "cannot be read" in message
