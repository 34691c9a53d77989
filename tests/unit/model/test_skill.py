from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from waza.model.skill import Target, allowed_by, allows, canonical_tool

GROUPS = [
    ("read", "readFile", "fileRead", "view"),
    ("write", "writeFile", "fileWrite", "edit"),
    ("bash", "runCommand"),
    ("fetch", "web_fetch"),
]


@pytest.mark.parametrize("group", GROUPS)
def test_equivalent_names_stand_for_each_other(group):
    for declared in group:
        for observed in group:
            assert allows(declared, observed)
            assert allows(declared.upper(), f" {observed.lower()} ")
            assert allows(f"builtin:{declared}", observed)
            assert allows(declared, f"builtin:{observed}")


def test_names_of_different_groups_do_not():
    for one, other in combinations(GROUPS, 2):
        for declared in one:
            for observed in other:
                assert not allows(declared, observed)
                assert not allows(observed, declared)


@pytest.mark.parametrize(
    ("declared", "observed"),
    [
        ("bash", "bashful"),
        ("bashful", "bash"),
        ("*", "bash"),
        ("ba*", "bash"),
        ("b.sh", "bash"),
        ("", "bash"),
        ("read_file", "read"),
        ("webfetch", "web_fetch"),
        ("shell", "bash"),
    ],
)
def test_matching_is_exact_and_knows_no_patterns(declared, observed):
    assert not allows(declared, observed)


def test_unknown_names_match_in_any_case():
    assert allows("codeSearch", "CODESEARCH")
    assert allows("Größe", "GRÖßE")


@pytest.mark.parametrize(
    ("declared", "observed"),
    [
        ("CodeSearch", "custom:CodeSearch"),
        ("github-list_issues", "mcp:github-list_issues"),
        ("mcp:github-list_issues", "mcp:github-create_issue"),
        ("mcp:github-list_issues", "mcp:gitlab-list_issues"),
        ("mcp:github-list_issues", "list_issues"),
        ("mcp:x", "custom:x"),
        ("custom:x", "mcp:x"),
        ("builtin:x", "mcp:x"),
        ("custom:x", "builtin:x"),
        ("custom:read", "fileRead"),
        ("custom:read", "custom:fileRead"),
        ("mcp:bash", "runCommand"),
        ("mcp:*", "mcp:github-list_issues"),
    ],
)
def test_namespaces_are_kept_apart(declared, observed):
    assert not allows(declared, observed)


@pytest.mark.parametrize(
    ("declared", "observed"),
    [
        ("mcp:github-list_issues", "MCP:GitHub-list_issues"),
        ("mcp:github-list_issues", "github-list_issues"),
        ("custom:CodeSearch", "codesearch"),
        ("custom:CodeSearch", "custom:codesearch"),
        ("custom:read", "read"),
    ],
)
def test_a_name_without_its_source_matches_the_literal_declared_one(declared, observed):
    assert allows(declared, observed)


def test_canonical_names():
    assert canonical_tool(" fileRead ") == "read"
    assert canonical_tool("builtin:view") == "read"
    assert canonical_tool("mcp:S-View") == "mcp:s-view"
    assert canonical_tool("custom:view") == "custom:view"
    assert canonical_tool("codeSearch") == "codesearch"


def test_allowed_by_any_of_a_list():
    assert allowed_by(["codeSearch", "fileRead"], "view")
    assert not allowed_by(["codeSearch", "fileRead"], "bash")
    assert not allowed_by([], "view")


def target(kind="agent", **more):
    return Target(kind=kind, name="x", path=Path("/skills/x/x.agent.md"), **more)


def test_policies():
    assert target().policy == "unrestricted"
    assert target(tools=()).policy == "deny_all"
    assert target(tools=("read",)).policy == "allow_list"
    assert target(kind="skill").policy is None


def test_instructions_name_the_base_directory_first():
    one = target(body="# Do it\n")
    assert one.directory == Path("/skills/x")
    assert one.instructions == f"Base directory for this skill: {Path('/skills/x')}\n\n# Do it\n"
