import os
from pathlib import Path

import pytest
from tests.unit.graders._configs import errors, findings, read, refused, warnings

from waza.errors import GraderError
from waza.graders import _workspace_files
from waza.graders._difference import describe_difference
from waza.graders.base import GraderLocation
from waza.graders.diff import Diff, ExpectedFile
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


@pytest.fixture
def suite(tmp_path: Path, monkeypatch) -> Path:
    """A suite with golden files; its workspace is beside it, and the current directory is elsewhere."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    write(tmp_path / "suite" / "golden" / "b.txt", "one\ntwo\n")
    write(tmp_path / "workspace" / "src" / "a.txt", "alpha\nbeta\n")
    write(tmp_path / "workspace" / "src" / "b.txt", "one\ntwo\n")
    return tmp_path / "suite"


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def graded(grader: Diff, suite: Path, *, update: bool = False) -> Verdict:
    around = GraderLocation(base=suite, fixtures=suite / "fixtures")
    seen = Observation(workspace=str(suite.parent / "workspace"))
    return grader.resolve_paths(around).grade(seen, Helpers(update_snapshots=update))


def one(path: str, **keys) -> Diff:
    return Diff(expected_files=[ExpectedFile(path=path, **keys)], context_dir="golden")


EDITS = """
context_dir: golden
expected_files:
  - path: src/a.txt
    contains: ["+alpha", "-beta", "gamma"]
  - path: src/b.txt
    snapshot: b.txt
"""


def test_the_documented_example(suite):
    grader = read(Diff, EDITS)
    assert findings(grader, suite) == []
    verdict = graded(grader, suite)
    assert not verdict.passed
    assert verdict.score == pytest.approx(4 / 6, abs=1e-9)
    assert verdict.details == {
        "expected_files": [
            {"path": "src/a.txt", "snapshot": "", "contains": ["+alpha", "-beta", "gamma"]},
            {"path": "src/b.txt", "snapshot": "b.txt", "contains": []},
        ],
        "failures": ["'src/a.txt' contains 'beta'", "'src/a.txt' does not contain 'gamma'"],
        "workspace_dir": str(suite.parent / "workspace"),
        "snapshot_updates": [],
    }


@pytest.mark.parametrize(
    ("fragment", "passed"),
    [
        ("alpha", True),
        ("  alpha  ", True),
        ("+ alpha", True),
        ("+alpha\nbeta", True),
        ("Alpha", False),
        ("-alpha", False),
        ("- gamma", True),
        ("", True),
        ("-", True),
        ("+  ", True),
        ("++alpha", False),  # looks for `+alpha`
        ("--alpha", True),
    ],
)
def test_fragments(suite, fragment, passed):
    verdict = graded(one("src/a.txt", contains=[fragment]), suite)
    assert verdict.passed is passed
    assert verdict.score == (1.0 if passed else 0.5)


def test_a_file_that_is_missing_fails_all_checks_of_its_entry(suite):
    verdict = graded(one("gone", snapshot="b.txt", contains=["x", "-y", " "]), suite)
    assert verdict.score == 0
    assert len(verdict.details["failures"]) == 5


def compared(suite: Path, expected: str | bytes, found: str | bytes) -> str:
    """Return the only failure that the comparison leads to, or an empty text."""
    write(suite / "golden" / "it", expected)
    write(suite.parent / "workspace" / "it", found)
    verdict = graded(one("it", snapshot="it"), suite)
    assert verdict.score == (1.0 if verdict.passed else 0.5)
    failures: list[str] = verdict.details["failures"]
    return failures[0] if failures else ""


def test_a_difference_names_the_first_line_that_differs(suite):
    assert compared(suite, "same\n", "same\n") == ""
    note = compared(suite, "a\nb\nc\n", "a\nB\nC\n")
    assert note == "'it' compared with 'it': differs at line 2: expected 'b', found 'B'"
    assert compared(suite, "a\n", "a\nb\n").endswith("line 2: expected the end of the file, found 'b'")
    assert compared(suite, "", "a").endswith("line 1: expected the end of the file, found 'a'")
    assert compared(suite, "a\r\nb\r\n", "a\nc\n").endswith("line 2: expected 'b', found 'c'")


@pytest.mark.parametrize(
    ("expected", "found"),
    [("a\nb\n", "a\r\nb\r\n"), ("a\nb\n", "a\r\nb"), ("a\nb", "a\nb\n"), ("a\rb", "a\nb"), ("a", "a\n")],
)
def test_line_endings_are_reported_as_such(suite, expected, found):
    note = compared(suite, expected, found)
    assert "differs only in line endings" in note
    assert "'a'" not in note


def test_which_line_endings_is_reported(suite):
    note = compared(suite, "a\nb\n", "a\r\nb")
    assert note.endswith("expected LF; found CRLF, no newline at the end")
    assert compared(suite, "a\r\nb\n", "a\nb\n").endswith("expected CRLF and LF; found LF")


def test_long_lines_are_cut_around_the_difference(suite):
    note = compared(suite, "x" * 5000 + "a" + "y" * 5000, "x" * 5000 + "b" + "y" * 5000)
    assert len(note) < 300
    assert "xay" in note
    assert "xby" in note


def test_bytes_that_are_no_text_are_compared_and_shown(suite):
    assert compared(suite, b"\xff\x00", b"\xff\x00") == ""
    note = compared(suite, b"\xff\x00", b"\xfe\x00")
    assert "xff" in note
    assert "xfe" in note


def test_a_snapshot_that_is_missing_is_a_warning_and_a_failed_check(suite):
    grader = one("src/b.txt", snapshot="nothing.txt")
    assert errors(grader, suite) == []
    assert warnings(grader, suite) == [("expected_files", 0, "snapshot")]
    verdict = graded(grader, suite)
    assert verdict.score == 0.5
    assert "cannot be read" in verdict.feedback


def test_where_snapshots_are_sought(suite):
    grader = Diff(expected_files=[ExpectedFile(path="src/b.txt", snapshot="s.txt")])
    assert not graded(grader, suite).passed
    write(Path.cwd() / "s.txt", "one\ntwo\n")
    assert graded(grader, suite).passed
    fixture = write(suite / "fixtures" / "s.txt", "other")
    assert "differs" in graded(grader, suite).feedback
    write(suite / "s.txt", "one\ntwo\n")  # beside the suite comes first
    assert graded(grader, suite).passed
    absolute = Diff(expected_files=[ExpectedFile(path="src/b.txt", snapshot=str(fixture))])
    assert "differs" in graded(absolute, suite).feedback


def test_context_dir_is_the_only_place_where_it_is_given(suite):
    write(suite / "s.txt", "one\ntwo\n")
    grader = one("src/b.txt", snapshot="s.txt")
    assert not graded(grader, suite).passed
    write(suite / "golden" / "s.txt", "one\ntwo\n")
    assert graded(grader, suite).passed


def test_context_dir_is_sought_beside_the_suite_and_then_in_the_current_directory(suite):
    write(Path.cwd() / "elsewhere" / "s.txt", "one\ntwo\n")
    grader = Diff(expected_files=[ExpectedFile(path="src/b.txt", snapshot="s.txt")], context_dir="elsewhere")
    assert graded(grader, suite).passed
    (suite / "elsewhere").mkdir()
    assert not graded(grader, suite).passed


def test_a_snapshot_must_not_leave_context_dir(suite):
    write(suite / "outside.txt", "one\ntwo\n")
    (suite / "golden" / "link.txt").symlink_to(suite / "outside.txt")
    for snapshot in ("../outside.txt", "link.txt", str(suite / "outside.txt")):
        grader = one("src/b.txt", snapshot=snapshot)
        assert errors(grader, suite) == [("expected_files", 0, "snapshot")]
        for update in (False, True):
            verdict = graded(grader, suite, update=update)
            assert verdict.score == 0.5
            assert "leads out" in verdict.feedback
    assert (suite / "outside.txt").read_bytes() == b"one\ntwo\n"


def test_updating_writes_snapshots_and_passes(suite):
    workspace = suite.parent / "workspace"
    write(workspace / "new", "1\n2\n")
    write(workspace / "changed", "1\r\nX\r\n3\r\n4\r\n")
    write(suite / "golden" / "changed", "1\n2\n3\n")
    grader = Diff(
        expected_files=[
            ExpectedFile(path="new", snapshot="deep/new"),
            ExpectedFile(path="changed", snapshot="changed", contains=["nowhere"]),
            ExpectedFile(path="src/b.txt", snapshot="b.txt"),
            ExpectedFile(path="gone", snapshot="gone"),
        ],
        context_dir="golden",
    )
    verdict = graded(grader, suite, update=True)
    assert verdict.details["snapshot_updates"] == [
        {"path": "new", "snapshot": "deep/new", "status": "created", "lines_changed": 2},
        {"path": "changed", "snapshot": "changed", "status": "updated", "lines_changed": 2},
        {"path": "src/b.txt", "snapshot": "b.txt", "status": "unchanged", "lines_changed": 0},
    ]
    assert verdict.score == pytest.approx(6 / 9, abs=1e-9)
    assert (suite / "golden" / "deep" / "new").read_bytes() == b"1\n2\n"
    assert (suite / "golden" / "changed").read_bytes() == b"1\r\nX\r\n3\r\n4\r\n"
    assert not (suite / "golden" / "gone").exists()


def test_a_snapshot_is_created_beside_the_suite_and_then_holds(suite):
    grader = read(Diff, "{update_snapshots: true, expected_files: [{path: src/a.txt, snapshot: s/a.txt}]}")
    assert findings(grader, suite) == []
    verdict = graded(grader, suite)
    assert verdict.passed
    assert verdict.feedback == "snapshots: 1 created, 0 updated, 0 unchanged"
    assert (suite / "s" / "a.txt").read_bytes() == b"alpha\nbeta\n"
    assert graded(grader, suite).feedback == "snapshots: 0 created, 0 updated, 1 unchanged"


def test_a_snapshot_that_cannot_be_written_is_a_failed_check(suite):
    (suite / "golden" / "folder").mkdir()
    write(suite / "golden" / "plain", "x")
    for snapshot in ("folder", "plain/below"):
        verdict = graded(one("src/b.txt", snapshot=snapshot), suite, update=True)
        assert verdict.score == 0.5


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "", "."])
def test_paths_that_lead_out_are_errors_at_load_and_when_grading(suite, path):
    grader = one(path, contains=["x"])
    assert errors(grader, suite) == [("expected_files", 0, "path")]
    with pytest.raises(GraderError):
        graded(grader, suite)


def test_links_out_of_the_workspace_and_special_files_are_not_read(suite):
    workspace = suite.parent / "workspace"
    (workspace / "out").symlink_to(suite / "golden" / "b.txt")
    os.mkfifo(workspace / "pipe")
    for path in ("out", "pipe", "src"):
        assert graded(one(path, snapshot="b.txt"), suite).score == 0


def test_a_file_above_the_limit_fails_with_its_size(suite, monkeypatch):
    monkeypatch.setattr(_workspace_files, "MAX_BYTES", 3)
    verdict = graded(one("src/b.txt", snapshot="b.txt"), suite)
    assert verdict.score == 0
    assert "too large" in verdict.feedback


def test_without_a_workspace_it_fails():
    verdict = one("a", contains=["x"]).grade(Observation(), Helpers())
    assert (verdict.passed, verdict.score) == (False, 0.0)


def test_a_grader_that_was_not_placed_seeks_in_the_current_directory(suite):
    write(Path.cwd() / "golden" / "b.txt", "one\ntwo\n")
    seen = Observation(workspace=str(suite.parent / "workspace"))
    assert one("src/b.txt", snapshot="b.txt").grade(seen, Helpers()).passed


def test_configs_that_are_refused(suite):
    assert errors(one("a"), suite) == [("expected_files", 0)]
    assert "'expected_files' is missing" in refused(Diff, "context_dir: golden")[0]
    assert "at least 1" in refused(Diff, "expected_files: []")[0]
    assert "'path' is missing" in refused(Diff, "expected_files: [{snapshot: a}]")[0]
    assert "unknown key '_snapshots'" in refused(Diff, "{expected_files: [{path: a}], _snapshots: []}")[0]


@pytest.mark.parametrize(
    ("expected", "found", "words"),
    [
        (
            b"\x89PNG\r\n\x1a\n",
            b"\x89PNG\n",
            "differs at byte 5: expected b'\\r\\n\\x1a\\n' of 8 bytes, found b'\\n' of 5 bytes",
        ),
        (b"a\0b", b"a\0", "differs at byte 3: expected b'b' of 3 bytes, found the end of 2 bytes"),
        (
            b"text\n",
            b"caf\xe9\n",
            "differs at byte 1: expected b'text\\n' of 5 bytes, found b'caf\\xe9\\n' of 5 bytes",
        ),
        ("é" * 200, "é" * 199 + "e", "differs at line 1: expected ...'éé"),
    ],
)
def test_files_that_are_not_text_are_compared_by_bytes(expected, found, words):
    pair = [one.encode() if isinstance(one, str) else one for one in (expected, found)]
    told = describe_difference(*pair)
    assert told.startswith(words)
    assert "\\\\" not in told


@pytest.mark.parametrize("fragment", ["", "+", "- ", "  "])
def test_a_fragment_that_every_file_holds_is_a_warning(fragment):
    grader = Diff(expected_files=[ExpectedFile(path="a", contains=["x", fragment])])
    assert warnings(grader) == [("expected_files", 0, "contains", 1)]
    assert errors(grader) == []
