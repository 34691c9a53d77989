from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from waza.errors import SuiteError
from waza.suite.discover import required_skills, resolve_target, target_roots


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def skill(directory: Path, name: str, body: str = "Do it.") -> Path:
    return write(directory / "SKILL.md", f"---\nname: {name}\ndescription: d\n---\n{body}\n")


def agent(directory: Path, stem: str, front: str = "description: d", body: str = "You are.") -> Path:
    return write(directory / f"{stem}.agent.md", f"---\n{front}\n---\n{body}\n")


def resolved(name: str, *roots: Path) -> Path | None:
    target = resolve_target(name, roots)
    return target.path if target else None


class TestResolving:
    def test_directly_in_the_root(self, tmp_path):
        file = skill(tmp_path, "x")
        assert resolved("x", tmp_path) == file

    def test_one_level_below_and_no_deeper(self, tmp_path):
        one = skill(tmp_path / "sub", "one")
        other = agent(tmp_path / "agents", "other")
        skill(tmp_path / "sub2" / "deeper", "two")
        assert resolved("one", tmp_path) == one
        assert resolved("other", tmp_path) == other
        assert resolved("two", tmp_path) is None

    def test_a_skill_hides_the_agents_beside_it(self, tmp_path):
        file = skill(tmp_path, "x")
        agent(tmp_path, "x")
        agent(tmp_path, "hidden")
        assert resolved("x", tmp_path) == file
        assert resolved("hidden", tmp_path) is None

    def test_a_skill_of_another_name_ends_the_search_of_its_root(self, tmp_path):
        skill(tmp_path / "a", "other")
        agent(tmp_path / "a" / "sub", "x")
        here = agent(tmp_path / "b", "x")
        assert resolved("x", tmp_path / "a") is None
        assert resolved("x", tmp_path / "a", tmp_path / "b") == here

    def test_a_skill_of_another_name_below_hides_only_its_directory(self, tmp_path):
        skill(tmp_path / "a", "other")
        agent(tmp_path / "a", "x")
        here = agent(tmp_path / "b", "x")
        assert resolved("x", tmp_path) == here

    def test_earlier_roots_win(self, tmp_path):
        first, second = skill(tmp_path / "1" / "sub", "x"), skill(tmp_path / "2", "x")
        assert resolved("x", tmp_path / "1", tmp_path / "2") == first
        assert resolved("x", tmp_path / "2", tmp_path / "1") == second

    def test_agents_and_directories_are_taken_by_name(self, tmp_path):
        agent(tmp_path, "b", "name: x")
        first = agent(tmp_path, "a", "name: x")
        assert resolved("x", tmp_path) == first
        agent(tmp_path / "zz", "y")
        nested = agent(tmp_path / "aa", "y")
        assert resolved("y", tmp_path) == nested

    @pytest.mark.parametrize("name", [".github", "node_modules", "vendor"])
    def test_directories_that_are_skipped(self, tmp_path, name):
        agent(tmp_path / name, "x")
        assert resolved("x", tmp_path) is None
        assert resolved("x", tmp_path / name) is not None

    @pytest.mark.parametrize(
        ("declared", "asked"),
        [("Code-Explainer", "code-explainer"), ("x", " X "), ("ÜBER-代码", "über-代码")],
    )
    def test_names_are_compared_in_any_case(self, tmp_path, declared, asked):
        assert resolved(asked, tmp_path) is None
        file = skill(tmp_path, declared)
        assert resolved(asked, tmp_path) == file

    def test_accents_may_be_encoded_either_way(self, tmp_path):
        file = agent(tmp_path, unicodedata.normalize("NFD", "prüfer"))
        assert resolved(unicodedata.normalize("NFC", "Prüfer"), tmp_path) == file

    def test_file_names_count_only_without_a_declared_name(self, tmp_path):
        agent(tmp_path, "x", "name: y")
        assert resolved("x", tmp_path) is None
        assert resolved("y", tmp_path) is not None

    def test_a_malformed_agent_on_the_way_is_an_error(self, tmp_path):
        broken = agent(tmp_path, "b", "tools:")
        agent(tmp_path, "c")
        first = agent(tmp_path, "a")
        with pytest.raises(SuiteError) as caught:
            resolve_target("c", [tmp_path])
        assert caught.value.problems[0].file == str(broken)
        assert resolved("a", tmp_path) == first  # found before the broken one is met

    def test_a_malformed_agent_below_is_an_error_too(self, tmp_path):
        agent(tmp_path / "sub", "b", "tools: all")
        with pytest.raises(SuiteError):
            resolve_target("c", [tmp_path])

    def test_a_dangling_agent_is_an_error(self, tmp_path):
        (tmp_path / "a.agent.md").symlink_to(tmp_path / "gone")
        with pytest.raises(SuiteError, match="no such file"):
            resolve_target("x", [tmp_path])

    def test_a_skill_with_broken_frontmatter_goes_by_its_directory(self, tmp_path):
        file = write(tmp_path / "x" / "SKILL.md", "---\nname: : y\n---\n")
        assert resolved("x", tmp_path) == file

    @pytest.mark.parametrize("data", ["  \n", b"---\nname: y\n---\n\xff"])
    def test_an_unusable_skill_matters_only_in_a_directory_of_the_wanted_name(self, tmp_path, data):
        write(tmp_path / "placeholder" / "SKILL.md", data)
        file = skill(tmp_path / "z", "wanted")
        assert resolved("wanted", tmp_path) == file
        with pytest.raises(SuiteError):
            resolve_target("Placeholder", [tmp_path])
        assert resolved("wanted", tmp_path / "placeholder") is None  # still ends its root

    def test_a_directory_called_like_a_definition_is_none(self, tmp_path):
        (tmp_path / "SKILL.md").mkdir()
        (tmp_path / "x.agent.md").mkdir()
        file = agent(tmp_path, "y")
        assert resolved("y", tmp_path) == file
        assert resolved("x", tmp_path) is None

    def test_only_the_exact_spelling_of_skill_md_counts(self, tmp_path):
        write(tmp_path / "skill.md", "---\nname: x\n---\n")
        write(tmp_path / "x.Agent.md", "---\nname: x\n---\n")
        assert resolved("x", tmp_path) is None

    def test_link_loops_are_harmless(self, tmp_path):
        (tmp_path / "self").symlink_to("self")
        (tmp_path / "up").symlink_to(tmp_path, target_is_directory=True)
        file = agent(tmp_path / "z", "x")
        assert resolved("x", tmp_path) == file
        assert resolved("x", tmp_path / "self") is None

    def test_a_linked_directory_is_searched(self, tmp_path):
        skill(tmp_path / "elsewhere" / "x", "x")
        (tmp_path / "root").mkdir()
        (tmp_path / "root" / "link").symlink_to(tmp_path / "elsewhere" / "x", target_is_directory=True)
        assert resolved("x", tmp_path / "root") == tmp_path / "root" / "link" / "SKILL.md"

    def test_roots_that_cannot_be_listed_are_skipped(self, tmp_path):
        file = skill(tmp_path / "b", "x")
        plain = write(tmp_path / "plain", "")
        assert resolved("x", tmp_path / "gone", plain, tmp_path / "b") == file

    def test_directories_without_permission_are_skipped(self, tmp_path, monkeypatch):
        closed = tmp_path / "a"
        agent(closed, "x")
        file = agent(tmp_path / "b", "x")
        listed = Path.iterdir

        def iterdir(path: Path):  # the superuser may list everything, so permissions alone cannot deny it
            if path == closed:
                raise PermissionError(13, "Permission denied", str(path))
            return listed(path)

        monkeypatch.setattr(Path, "iterdir", iterdir)
        assert resolved("x", tmp_path) == file
        assert resolved("x", closed) is None

    def test_a_blank_name_finds_nothing(self, tmp_path):
        agent(tmp_path, "a", "tools:")
        assert resolved("", tmp_path) is None
        assert resolved(" ", tmp_path) is None

    def test_no_roots(self):
        assert resolve_target("x", []) is None

    def test_a_relative_root(self, tmp_path, monkeypatch):
        write(tmp_path / "x" / "SKILL.md", "body")
        monkeypatch.chdir(tmp_path / "x")
        assert resolved("x", Path()) == tmp_path / "x" / "SKILL.md"


class TestRoots:
    def test_order(self, tmp_path):
        roots = target_roots(
            tmp_path, Path("ctx"), [Path("skills"), tmp_path / "far"], tmp_path / "evals" / "x"
        )
        names = ["", "agents", "skills", "ctx", "evals/x/skills", "far", "evals/x"]
        assert roots == [tmp_path / name for name in names]

    def test_nothing_twice_and_no_context_unless_given(self, tmp_path):
        roots = target_roots(tmp_path, None, [tmp_path / "skills", tmp_path / "a" / ".."], tmp_path)
        assert roots == [tmp_path, tmp_path / "agents", tmp_path / "skills"]

    def test_an_agent_in_the_agents_directory_of_a_nested_layout(self, tmp_path):
        file = agent(tmp_path / "agents" / "team", "x")
        assert resolved("x", tmp_path) is None
        assert resolved("x", *target_roots(tmp_path, None, [], tmp_path / "evals")) == file


class TestRequiredSkills:
    def test_found_and_missing(self, tmp_path):
        skill(tmp_path / "a", "one")
        skill(tmp_path / "b", "'two '")
        directories = [tmp_path / "a", tmp_path / "b", tmp_path / "gone"]
        report = required_skills(["two", "three", "one", "three"], directories)
        assert report.missing == ("three",)
        assert report.found == ("one", "two")
        assert report.searched == tuple(directories)
        assert report.problems == ()

    def test_case_matters_and_the_directory_name_does_not_count(self, tmp_path):
        skill(tmp_path / "one", "One")
        write(tmp_path / "two" / "SKILL.md", "No frontmatter.")
        agent(tmp_path / "x", "three")
        report = required_skills(["one", "two", "three"], [tmp_path / d for d in ("one", "two", "x")])
        assert report.missing == ("one", "two", "three")
        assert report.found == ("One",)

    def test_only_directly_and_only_the_first_definition(self, tmp_path):
        skill(tmp_path / "below", "below")
        agent(tmp_path, "a", "name: first")
        agent(tmp_path, "b", "name: second")
        report = required_skills(["below", "first", "second"], [tmp_path])
        assert report.missing == ("below", "second")
        skill(tmp_path, "hides")
        assert required_skills(["first"], [tmp_path]).found == ("hides",)

    @pytest.mark.parametrize("front", ["name: x\ntools:", "name: : x"])
    def test_what_cannot_be_read_is_a_warning(self, tmp_path, front):
        file = agent(tmp_path / "a", "a", front)
        skill(tmp_path / "b", "y")
        report = required_skills(["x", "y"], [tmp_path / "a", tmp_path / "b"])
        assert report.missing == ("x",)
        [problem] = report.problems
        assert (problem.file, problem.severity) == (str(file), "warning")

    def test_warnings_of_a_skill_are_passed_on(self, tmp_path):
        write(tmp_path / "SKILL.md", "---\nname: : x\n---\nb")
        report = required_skills(["x"], [tmp_path])
        assert report.missing == ("x",)
        assert [problem.line for problem in report.problems] == [2]
