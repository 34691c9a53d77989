from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from waza.suite.discover import (
    SearchDirectory,
    find_definition,
    find_required_skills,
    project_directories,
    search_directories,
)


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def skill(directory: Path, name: str, body: str = "Do it.") -> Path:
    return write(directory / "SKILL.md", f"---\nname: {name}\ndescription: d\n---\n{body}\n")


def agent(directory: Path, stem: str, front: str = "description: d", body: str = "You are.") -> Path:
    return write(directory / f"{stem}.agent.md", f"---\n{front}\n---\n{body}\n")


def found(name: str, *places: Path) -> list[Path]:
    """The files of that name in the first place that has any."""
    return [one.target.path for one in find_definition(name, map(SearchDirectory, places)).found]


def resolved(name: str, *places: Path) -> Path | None:
    """The one file of that name, or None."""
    paths = found(name, *places)
    assert len(paths) < 2
    return paths[0] if paths else None


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

    def test_two_of_one_name_in_one_place_are_both_reported(self, tmp_path):
        second = agent(tmp_path, "b", "name: x\ndescription: d")
        first = agent(tmp_path, "a", "name: x\ndescription: d")
        assert found("x", tmp_path) == [first, second]
        below = [agent(tmp_path / name, "y") for name in ("aa", "zz")]
        assert found("y", tmp_path) == below

    def test_one_directly_in_a_place_wins_over_one_below(self, tmp_path):
        agent(tmp_path / "aa", "x")
        here = agent(tmp_path, "x")
        assert found("x", tmp_path) == [here]

    def test_a_link_to_a_definition_is_no_second_one(self, tmp_path):
        skill(tmp_path / "real", "x")
        (tmp_path / "also").symlink_to(tmp_path / "real", target_is_directory=True)
        assert found("x", tmp_path) == [tmp_path / "also" / "SKILL.md"]

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

    @pytest.mark.parametrize("place", [".", "sub"])
    def test_a_malformed_neighbour_is_warned_of(self, tmp_path, place):
        broken = agent(tmp_path / place, "b", "tools:\ndescription: d")
        file = agent(tmp_path / place, "c")
        search = find_definition("c", [SearchDirectory(tmp_path)])
        assert [one.target.path for one in search.found] == [file]
        assert [(problem.file, problem.severity) for problem in search.problems] == [(str(broken), "warning")]

    def test_a_malformed_definition_of_the_wanted_name_is_unfit(self, tmp_path):
        agent(tmp_path, "b", "tools: all\ndescription: d")
        search = find_definition("b", [SearchDirectory(tmp_path)])
        assert [one.is_fit for one in search.found] == [False]
        assert search.problems == ()

    def test_a_dangling_neighbour_is_warned_of(self, tmp_path):
        (tmp_path / "a.agent.md").symlink_to(tmp_path / "gone")
        [problem] = find_definition("x", [SearchDirectory(tmp_path)]).problems
        assert (problem.message, problem.severity) == ("there is no such file", "warning")

    @pytest.mark.parametrize("data", ["---\nname: : y\n---\n", "  \n", b"---\nname: y\n---\n\xff"])
    def test_an_unusable_skill_goes_by_its_directory(self, tmp_path, data):
        file = write(tmp_path / "placeholder" / "SKILL.md", data)
        other = skill(tmp_path / "z", "wanted")
        assert resolved("wanted", tmp_path) == other
        assert resolved("Placeholder", tmp_path) == file
        assert not find_definition("placeholder", [SearchDirectory(tmp_path)]).found[0].is_fit
        assert resolved("wanted", tmp_path / "placeholder") is None  # still ends its root

    def test_what_was_met_and_searched_is_reported(self, tmp_path):
        skill(tmp_path / "a", "one")
        agent(tmp_path / "b", "two")
        search = find_definition(
            "x",
            [SearchDirectory(tmp_path / "gone"), SearchDirectory(tmp_path / "a"), SearchDirectory(tmp_path)],
        )
        assert search.searched == (tmp_path / "a", tmp_path)
        assert search.names == ("one", "two")

    def test_what_is_hidden_is_not_there(self, tmp_path):
        file = skill(tmp_path / "a", "x")
        search = find_definition("x", [SearchDirectory(tmp_path)], lambda target: target.name == "x")
        assert (search.found, search.hidden, search.names) == ((), (file,), ())

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

    def test_no_places(self):
        assert find_definition("x", []).found == ()

    def test_a_relative_place(self, tmp_path, monkeypatch):
        file = skill(tmp_path / "x", "x")
        monkeypatch.chdir(tmp_path / "x")
        assert resolved("x", Path()) == file


class TestPlaces:
    FOLDERS = (
        "agents", "skills",
        ".github", ".github/agents", ".github/skills",
        ".claude", ".claude/agents", ".claude/skills",
        ".agents", ".agents/agents", ".agents/skills",
        ".apm", ".apm/agents", ".apm/skills",
    )  # fmt: skip

    def test_a_directory_itself_then_its_folders_then_any_below(self, tmp_path):
        folders = [SearchDirectory(tmp_path / name) for name in self.FOLDERS]
        assert search_directories(tmp_path) == [
            SearchDirectory(tmp_path, below=False),
            *folders,
            SearchDirectory(tmp_path, itself=False),
        ]

    @pytest.mark.parametrize("name", FOLDERS)
    def test_a_team_of_agents_in_any_of_the_folders_is_found(self, tmp_path, name):
        file = agent(tmp_path / name / "team", "x")
        assert [one.target.path for one in find_definition("x", search_directories(tmp_path)).found] == [file]

    def test_a_folder_for_agents_wins_over_another_directory(self, tmp_path):
        agent(tmp_path / "aaa", "x")
        file = agent(tmp_path / "agents", "x")
        assert [one.target.path for one in find_definition("x", search_directories(tmp_path)).found] == [file]

    @pytest.mark.parametrize("marker", [".waza.yaml", ".git"])
    def test_a_project_ends_where_its_file_or_repository_is(self, tmp_path, marker):
        start = tmp_path / "a" / "b" / "c"
        start.mkdir(parents=True)
        assert project_directories(start) == [start]
        write(tmp_path / marker, "")
        assert project_directories(start) == [start, start.parent, tmp_path / "a", tmp_path]
        write(tmp_path / "a" / marker, "")
        assert project_directories(start) == [start, start.parent, tmp_path / "a"]


class TestRequiredSkills:
    def test_found_and_missing(self, tmp_path):
        skill(tmp_path / "a", "one")
        skill(tmp_path / "b", "'two '")
        directories = [tmp_path / "a", tmp_path / "b", tmp_path / "gone"]
        report = find_required_skills(["two", "three", "one", "three"], directories)
        assert report.missing == ("three",)
        assert report.found == ("one", "two")
        assert report.searched == tuple(directories)
        assert report.problems == ()

    def test_case_matters_and_the_directory_name_does_not_count(self, tmp_path):
        skill(tmp_path / "one", "One")
        write(tmp_path / "two" / "SKILL.md", "No frontmatter.")
        agent(tmp_path / "x", "three")
        report = find_required_skills(["one", "two", "three"], [tmp_path / d for d in ("one", "two", "x")])
        assert report.missing == ("one", "two", "three")
        assert report.found == ("One",)

    def test_directly_and_one_level_below(self, tmp_path):
        skill(tmp_path / "below", "below")
        skill(tmp_path / "far" / "below", "deep")
        agent(tmp_path, "a", "name: first\ndescription: d")
        agent(tmp_path, "b", "name: second\ndescription: d")
        report = find_required_skills(["below", "first", "second", "deep"], [tmp_path])
        assert report.missing == ("deep",)
        skill(tmp_path, "hides")
        assert find_required_skills(["first"], [tmp_path]).found == ("hides",)

    def test_a_disabled_skill_is_missing(self, tmp_path):
        skill(tmp_path / "one", "one")
        report = find_required_skills(["one"], [tmp_path], lambda target: target.name == "one")
        assert (report.missing, report.found) == (("one",), ())

    def test_mistakes_in_a_required_skill_are_errors(self, tmp_path):
        write(tmp_path / "one" / "SKILL.md", "---\nname: one\n---\nb")
        write(tmp_path / "two" / "SKILL.md", "---\nname: two\n---\nb")
        report = find_required_skills(["one"], [tmp_path])
        told = {(Path(problem.file).parent.name, problem.severity) for problem in report.problems}
        assert told == {("one", "error"), ("two", "warning")}

    @pytest.mark.parametrize("front", ["name: x\ntools:", "name: : x"])
    def test_what_cannot_be_read_is_a_warning(self, tmp_path, front):
        file = agent(tmp_path / "a", "a", f"{front}\ndescription: d")
        skill(tmp_path / "b", "y")
        report = find_required_skills(["z", "y"], [tmp_path / "a", tmp_path / "b"])
        assert report.missing == ("z",)
        [problem] = report.problems
        assert (problem.file, problem.severity) == (str(file), "warning")
