from __future__ import annotations

import os
from pathlib import Path

import pytest

from waza.suite.detect import DetectedSkill, detect_skills, discover_tree, find_suite, looks_like_path


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def skill(directory: Path, name: str = "") -> Path:
    return write(directory / "SKILL.md", f"---\nname: {name}\n---\nDo it.\n")


def agent(directory: Path, stem: str, name: str = "") -> Path:
    return write(directory / f"{stem}.agent.md", f"---\nname: {name}\n---\nYou are.\n")


def names(found: list[DetectedSkill]) -> list[str]:
    return [one.name for one in found]


@pytest.fixture
def deep(tmp_path):
    """A start directory with more parents below tmp_path than are ever looked at."""
    directory = tmp_path.joinpath(*"abcdefghijk")
    directory.mkdir(parents=True)
    return directory


@pytest.mark.parametrize(
    "arg", ["a/b", "a\\b", "my.skill", "eval.yaml", ".", "..", "./x", ".hidden", "名.yaml"]
)
def test_paths(arg):
    assert looks_like_path(arg)


@pytest.mark.parametrize("arg", ["my-dir", "code_explainer", "übung", "", "a b"])
def test_names(arg):
    assert not looks_like_path(arg)


class TestTheDirectoryItself:
    def test_a_skill(self, deep):
        file = skill(deep, "x")
        agent(deep, "hidden")
        skill(deep / "skills" / "y", "y")
        assert detect_skills(deep) == [
            DetectedSkill(name="x", declared="x", directory=deep, definition=file, owner=deep, root=deep)
        ]

    def test_the_first_agent(self, deep):
        agent(deep, "b")
        agent(deep, "a", "told")
        assert names(detect_skills(deep)) == ["told"]

    def test_fallback_names(self, deep):
        skill(deep)
        assert names(detect_skills(deep)) == ["k"]
        write(deep / "SKILL.md", "---\nname: : x\n---\n")
        assert names(detect_skills(deep)) == ["k"]
        write(deep / "SKILL.md", " \n")
        assert names(detect_skills(deep)) == ["k"]
        (deep / "SKILL.md").unlink()
        write(deep / "x.agent.md", "---\ntools:\n---\n")
        assert names(detect_skills(deep)) == ["x"]

    def test_a_relative_start(self, deep, monkeypatch):
        skill(deep)
        monkeypatch.chdir(deep)
        assert [(one.name, one.directory) for one in detect_skills(Path())] == [("k", deep)]

    def test_a_directory_called_skill_md(self, deep):
        (deep / "SKILL.md").mkdir()
        skill(deep / "skills" / "y", "y")
        assert names(detect_skills(deep)) == ["y"]


class TestParents:
    def test_a_definition_above_wins_over_skills_below(self, deep):
        file = skill(deep.parents[2], "above")
        skill(deep / "skills" / "y", "y")
        [found] = detect_skills(deep)
        assert (found.definition, found.root) == (file, deep.parents[2])

    def test_ten_parents_are_looked_at(self, deep, tmp_path):
        assert deep.parents[10] == tmp_path
        skill(tmp_path, "too-far")
        assert detect_skills(deep) == []
        agent(deep.parents[9], "far")
        assert names(detect_skills(deep)) == ["far"]

    def test_built_skills_above(self, deep):
        parent = deep.parent
        skill(parent / ".apm" / "skills" / "b", "b")
        skill(parent / ".apm" / "skills" / "a", "a")
        found = detect_skills(deep)
        assert names(found) == ["a", "b"]
        assert {(one.owner, one.root) for one in found} == {(parent, parent)}

    def test_the_nearer_parent_wins(self, deep):
        skill(deep.parents[1], "farther")
        skill(deep.parent / ".apm" / "skills" / "near", "near")
        assert names(detect_skills(deep)) == ["near"]


class TestSkillsBelow:
    def test_the_skills_directory_is_searched_deeply(self, deep):
        skill(deep / "skills" / "b", "b")
        skill(deep / "skills" / "group" / "a", "a")
        agent(deep / "skills" / "group", "helper")
        found = detect_skills(deep)
        assert names(found) == ["b", "helper", "a"]
        assert {one.root for one in found} == {deep}
        assert all(one.owner == one.directory == one.definition.parent for one in found)

    def test_nothing_below_a_skill(self, deep):
        skill(deep / "skills" / "a", "a")
        skill(deep / "skills" / "a" / "fixtures" / "inner", "inner")
        assert names(detect_skills(deep)) == ["a"]

    @pytest.mark.parametrize("name", [".hidden", "node_modules", "vendor"])
    def test_skipped_directories(self, deep, name):
        skill(deep / "skills" / name / "x", "x")
        skill(deep / "skills" / "y", "y")
        assert names(detect_skills(deep)) == ["y"]

    @pytest.mark.parametrize("absolute", [True, False])
    def test_a_configured_directory(self, deep, tmp_path, absolute):
        place = tmp_path / "far" if absolute else deep / "src" / "abilities"
        skill(place / "x", "x")
        skill(deep / "skills" / "y", "y")
        assert names(detect_skills(deep, place if absolute else "src/abilities/")) == ["x"]

    def test_places_in_order_and_the_first_of_a_name(self, deep):
        first = skill(deep / "skills" / "one", "same")
        skill(deep / ".github" / "skills" / "two", "same")
        skill(deep / ".github" / "skills" / "three", "github")
        skill(deep / ".apm" / "skills" / "four", "root-built")
        skill(deep / ".apm" / "skills" / "five", "github")
        agent(deep / "agents" / "team", "an-agent")
        agent(deep / "agents", "same")
        found = detect_skills(deep)
        assert names(found) == ["same", "github", "root-built", "an-agent"]
        assert found[0].definition == first
        assert found[2].owner == deep

    def test_built_from_a_source_directory(self, deep):
        source = deep / "skills" / "x"
        built = source / ".apm" / "skills" / "x"
        skill(built, "x")
        skill(source / ".apm" / "skills" / "other", "other")  # not of the source's name
        [found] = detect_skills(deep)
        assert (found.name, found.directory, found.owner, found.root) == ("x", built, source, deep)

    def test_a_plain_skill_wins_over_its_build(self, deep):
        source = deep / "skills" / "x"
        skill(source, "x")
        skill(source / ".apm" / "skills" / "x", "x")
        [found] = detect_skills(deep)
        assert (found.directory, found.owner) == (source, source)

    def test_links_are_not_followed(self, deep):
        skill(deep / "skills" / "a", "a")
        (deep / "skills" / "self").symlink_to("self")
        (deep / "skills" / "up").symlink_to(deep, target_is_directory=True)
        assert names(detect_skills(deep)) == ["a"]


class TestChildren:
    def test_children_only_without_any_known_place(self, deep):
        skill(deep / "b", "b")
        agent(deep / "agents", "x")
        agent(deep / "agents", "y")
        skill(deep / ".hidden", "hidden")
        skill(deep / "c" / "deeper", "deeper")
        assert names(detect_skills(deep)) == ["x", "y", "b"]
        skill(deep / "skills" / "s", "s")
        assert names(detect_skills(deep)) == ["s", "x", "y"]

    def test_nothing(self, deep):
        assert detect_skills(deep) == []
        assert detect_skills(deep / "gone") == []


class TestEvals:
    def found(self, root: Path, directory: str = "skills/x", owner: str = "") -> DetectedSkill:
        file = skill(root / directory, "name")
        source = root / (owner or directory)
        return DetectedSkill(name="name", directory=file.parent, definition=file, owner=source, root=root)

    def test_order_of_places(self, tmp_path):
        found = self.found(tmp_path, "skills/x/.apm/skills/x", owner="skills/x")
        expected = [
            "my-evals/name/suite.yaml",
            "my-evals/name/eval.yaml",
            "skills/x/evals/suite.yaml",
            "skills/x/evals/eval.yaml",
            "skills/x/suite.yaml",
            "skills/x/eval.yaml",
            "skills/x/.apm/skills/x/evals/suite.yaml",
            "skills/x/.apm/skills/x/evals/eval.yaml",
            "skills/x/.apm/skills/x/suite.yaml",
            "skills/x/.apm/skills/x/eval.yaml",
        ]
        assert find_suite(found, tmp_path, "my-evals", "suite.yaml") is None
        for place in reversed(expected):
            file = write(tmp_path / place)
            assert find_suite(found, tmp_path, "my-evals", "suite.yaml") == file

    def test_an_absolute_evals_directory(self, tmp_path):
        file = write(tmp_path / "far" / "name" / "eval.yaml")
        assert find_suite(self.found(tmp_path), tmp_path, tmp_path / "far", "eval.yaml") == file

    def test_a_directory_is_no_suite(self, tmp_path):
        found = self.found(tmp_path)
        (tmp_path / "evals" / "name" / "eval.yaml").mkdir(parents=True)
        assert find_suite(found, tmp_path, "evals", "eval.yaml") is None
        file = write(found.directory / "eval.yaml")
        assert find_suite(found, tmp_path, "evals", "eval.yaml") == file

    def test_a_name_that_no_file_can_have(self, tmp_path):
        found = DetectedSkill(
            name="x" * 5000,
            directory=tmp_path,
            definition=tmp_path / "SKILL.md",
            owner=tmp_path,
            root=tmp_path,
        )
        assert find_suite(found, tmp_path, "evals", "eval.yaml") is None


class TestDiscoverTree:
    def test_skills_by_directory_name_with_their_suites(self, tmp_path):
        skill(tmp_path / "a", "told")
        suite = write(tmp_path / "a" / "evals" / "eval.yaml")
        skill(tmp_path / "deep" / "er" / "b")
        assert [(one.name, one.eval) for one in discover_tree(tmp_path)] == [("a", suite), ("b", None)]

    def test_agents_are_not_included(self, tmp_path):
        agent(tmp_path / "x", "x")
        assert discover_tree(tmp_path) == []

    def test_the_first_of_a_name(self, tmp_path):
        skill(tmp_path / "2" / "x")
        first = skill(tmp_path / "1" / "x")
        assert [one.definition for one in discover_tree(tmp_path)] == [first]

    def test_places_of_suites_in_order(self, tmp_path):
        skill(tmp_path / "skills" / "x")
        places = ["skills/x/tests", "skills/x/evals", "skills/x", "evals/x"]
        expected = [f"{place}/{name}" for place in places for name in ("suite.yaml", "eval.yaml")]
        assert [one.eval for one in discover_tree(tmp_path, "suite.yaml")] == [None]
        for place in reversed(expected):
            file = write(tmp_path / place)
            assert [one.eval for one in discover_tree(tmp_path, "suite.yaml")] == [file]

    def test_hidden_directories_except_github_skills(self, tmp_path):
        for place in (
            ".github/skills/a",
            ".github/other/b",
            ".github",
            ".claude/skills/c",
            "sub/.github/skills/d",
            "node_modules/e",
            "vendor/f",
            "g",
            ".github/skills/.h",
        ):
            skill(tmp_path / place)
        assert names(discover_tree(tmp_path)) == ["a", "g"]

    def test_the_root_may_be_hidden_linked_or_a_skill(self, tmp_path):
        root = tmp_path / ".root"
        skill(root)
        skill(root / "inner")
        (tmp_path / "link").symlink_to(root, target_is_directory=True)
        found = discover_tree(tmp_path / "link")
        assert names(found) == [".root", "inner"]
        assert found[0].directory == Path(os.path.realpath(root))

    def test_link_loops_and_missing_roots(self, tmp_path):
        skill(tmp_path / "a")
        (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
        (tmp_path / "self").symlink_to("self")
        assert names(discover_tree(tmp_path)) == ["a"]
        assert discover_tree(tmp_path / "self") == []
        assert discover_tree(tmp_path / "gone") == []
