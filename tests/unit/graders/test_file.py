import os
from pathlib import Path

import pytest
from tests.unit.graders._configs import errors, read, refused, warnings

from waza.errors import GraderError
from waza.graders import _workspace_files
from waza.graders.file import ContentPattern, File
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "app").mkdir(parents=True)
    (folder / "app" / "main.py").write_text("print(1)\n# done\n", encoding="utf-8")
    return folder


def graded(grader: File, workspace: Path) -> Verdict:
    return grader.grade(Observation(workspace=str(workspace)), Helpers())


def content(path: str, **patterns: list[str]) -> File:
    return File(content_patterns=[ContentPattern(path=path, **patterns)])


LAYOUT = """
must_exist: ["app/main.py", "README.md"]
must_not_exist: [".env"]
content_patterns:
  - path: app/main.py
    must_match: ["^print"]
    must_not_match: ["TODO"]
  - path: docs/guide.md
    must_match: ["^# Guide"]
"""


def test_the_documented_example(workspace):
    grader = read(File, LAYOUT)
    assert errors(grader) == []
    verdict = graded(grader, workspace)
    assert not verdict.passed
    assert verdict.score == pytest.approx(0.625, abs=1e-9)
    readme, guide, pattern = verdict.details["failures"]
    assert readme == "'README.md' does not exist"
    assert guide == "'docs/guide.md' does not exist"
    assert "`^# Guide`" in pattern
    assert verdict.details["workspace_dir"] == str(workspace)
    assert verdict.details["must_not_exist"] == [".env"]
    assert verdict.details["content_patterns"][1] == {
        "path": "docs/guide.md",
        "must_match": ["^# Guide"],
        "must_not_match": [],
    }


def test_directories_exist_and_paths_are_cleaned(workspace):
    assert graded(File(must_exist=["app", "app/", "./app//main.py", "nope/../app"]), workspace).passed
    assert graded(File(must_exist=["app\\main.py"]), workspace).passed
    assert not graded(File(must_not_exist=["app"]), workspace).passed
    assert not graded(File(must_exist=["app/*.py"]), workspace).passed


def test_a_file_that_is_not_there_fails_all_checks_of_its_entry(workspace):
    verdict = graded(content("gone.txt", must_match=["a"], must_not_match=["b", "c"]), workspace)
    assert verdict.score == 0
    assert len(verdict.details["failures"]) == 4
    assert graded(content("app", must_not_match=["b"]), workspace).score == 0  # a directory has no content


def test_patterns_look_at_the_content(workspace):
    assert graded(
        content("app/main.py", must_match=["1", "(?m)done$"], must_not_match=["x"]), workspace
    ).passed
    verdict = graded(content("app/main.py", must_match=["x"], must_not_match=["print"]), workspace)
    assert verdict.score == pytest.approx(1 / 3, abs=1e-9)


def test_a_pattern_that_does_not_compile_is_a_warning_and_one_failed_check(workspace):
    grader = content("app/main.py", must_match=["print", "("], must_not_match=["(?=x)"])
    assert errors(grader) == []
    assert warnings(grader) == [
        ("content_patterns", 0, "must_match", 1),
        ("content_patterns", 0, "must_not_match", 0),
    ]
    assert graded(grader, workspace).score == pytest.approx(0.5, abs=1e-9)


def test_bytes_that_are_no_text_are_searched_all_the_same(workspace):
    (workspace / "blob").write_bytes(b"\xff\xfehead\x00er")
    assert graded(content("blob", must_match=["head", "er$"], must_not_match=["body"]), workspace).passed


def test_a_file_above_the_limit_fails_with_its_size(workspace, monkeypatch):
    monkeypatch.setattr(_workspace_files, "MAX_BYTES", 5)
    verdict = graded(content("app/main.py", must_not_match=["x"]), workspace)
    assert verdict.score == 0
    assert "too large" in verdict.feedback


PATHS_THAT_LEAD_OUT = [
    "/etc/passwd",
    "../x",
    "a/../../x",
    "",
    ".",
    "a/..",
    "C:\\x",
    "\\x",
    "a\\..\\..\\x",
    "a\0b",
]


@pytest.mark.parametrize("path", PATHS_THAT_LEAD_OUT)
def test_paths_that_lead_out_are_errors_at_load_and_when_grading(workspace, path):
    for grader, at in (
        (File(must_exist=["app", path]), ("must_exist", 1)),
        (File(must_not_exist=[path]), ("must_not_exist", 0)),
        (content(path, must_match=["x"]), ("content_patterns", 0, "path")),
    ):
        assert errors(grader) == [at]
        with pytest.raises(GraderError):
            graded(grader, workspace)


def test_without_a_workspace_it_fails():
    verdict = File(must_not_exist=["x"]).grade(Observation(), Helpers())
    assert (verdict.passed, verdict.score) == (False, 0.0)


def test_a_workspace_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(GraderError, match="cannot be opened"):
        graded(File(must_not_exist=["x"]), tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(GraderError, match="cannot be opened"):
        graded(File(must_not_exist=["x"]), tmp_path / "file")


def test_links_are_followed_inside_and_never_outside(workspace, tmp_path):
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (workspace / "in").symlink_to("app/main.py")
    (workspace / "out").symlink_to(tmp_path / "secret.txt")
    (workspace / "up").symlink_to("..")
    (workspace / "dangling-out").symlink_to(tmp_path / "nothing")
    (workspace / "dangling").symlink_to("nothing")
    (workspace / "loop").symlink_to("loop")
    assert graded(File(must_exist=["in"], must_not_exist=["dangling"]), workspace).passed
    assert graded(content("in", must_match=["print"]), workspace).passed
    for path in ("out", "up", "up/secret.txt", "dangling-out", "loop"):
        assert graded(File(must_exist=[path]), workspace).score == 0
        assert graded(File(must_not_exist=[path]), workspace).score == 0
        assert graded(content(path, must_not_match=["nothing like it"]), workspace).score == 0


def test_a_pipe_is_not_read(workspace):
    os.mkfifo(workspace / "pipe")
    assert graded(content("pipe", must_not_match=["x"]), workspace).score == 0


def test_a_path_below_a_file_can_neither_be_there_nor_be_missing(workspace):
    assert graded(File(must_exist=["app/main.py/x"]), workspace).score == 0
    assert graded(File(must_not_exist=["app/main.py/x"]), workspace).score == 0


def test_nothing_to_check_is_an_error():
    assert errors(File()) == [()]
    assert errors(content("a")) == []
    assert errors(content("a", must_match=["x", ""])) == [("content_patterns", 0, "must_match", 1)]
    assert errors(content("a", must_not_match=[""])) == [("content_patterns", 0, "must_not_match", 0)]


def test_keys_that_are_refused():
    (problem,) = refused(File, "content_patterns: [{path: a, regex_match: [x]}]")
    assert "regex_match" in problem
    (problem,) = refused(File, "content_patterns: [{must_match: [x]}]")
    assert "'path' is missing" in problem


def test_an_entry_without_patterns_asks_whether_the_file_can_be_read(workspace):
    assert graded(content("app/main.py"), workspace).passed
    missing = graded(content("app/none.py"), workspace)
    assert (missing.passed, missing.score) == (False, 0)


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("print(1)".encode("utf-16"), "is UTF-16"),
        (b"\xef\xbb\xbfprint(1)", "begins with a byte order mark"),
        (b"\x00\x01print", "is binary"),
    ],
)
def test_a_failed_search_tells_of_an_odd_encoding(workspace, data, note):
    (workspace / "odd.py").write_bytes(data)
    assert note in graded(content("odd.py", must_match=["^print"]), workspace).feedback
    assert "(the file" not in graded(content("app/main.py", must_match=["^nothing"]), workspace).feedback
