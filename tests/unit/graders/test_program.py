import asyncio
import sys
from pathlib import Path

import psutil
import pytest
from tests.unit.graders._configs import findings

from waza.graders.base import GraderLocation
from waza.graders.program import ProgramGrader
from waza.kit import yaml
from waza.kit.decode import Decoder, Document
from waza.kit.process import find_leftovers
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

README = ProgramGrader(
    command="bash", args=["-c", 'test -f "$WAZA_WORKSPACE_DIR/README.md" && echo found'], timeout=10
)


def graded(grader: ProgramGrader, **seen) -> Verdict:
    return asyncio.run(grader.grade(Observation(**seen), Helpers(program_timeout=120)))


def python(script: str, **config) -> ProgramGrader:
    return ProgramGrader(command=sys.executable, args=["-c", script], **config)


def script(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def test_documented_example_with_a_readme(tmp_path: Path):
    (tmp_path / "README.md").touch()
    verdict = graded(README, workspace=str(tmp_path))
    assert (verdict.score, verdict.passed, verdict.feedback) == (1.0, True, "found")
    assert verdict.details == {
        "command": "bash",
        "args": README.args,
        "stdout": "found",
        "stderr": "",
        "workspace_dir": str(tmp_path),
    }


def test_documented_example_without_a_readme(tmp_path: Path):
    verdict = graded(README, workspace=str(tmp_path))
    assert (verdict.score, verdict.passed, verdict.feedback) == (0.0, False, "exit status 1")
    assert verdict.details["exit_error"] == "exit status 1"


def test_a_workspace_is_made_for_it():
    assert ProgramGrader.reads_workspace


def test_output_comes_on_stdin_as_utf_8():
    echo = python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert graded(echo, output="Grüße 🐍\n").feedback == "Grüße 🐍"
    assert graded(echo, output="half \ud800 pair").feedback == "half ? pair"
    assert graded(echo, output="").feedback == "exit status 0"


def test_large_output_that_nobody_reads_is_no_problem():
    assert graded(python("pass"), output="x" * 3_000_000).passed


def test_stderr_tells_of_a_failure():
    verdict = graded(python("import sys; print('seen'); sys.exit(' two tests failed ')"))
    assert verdict.feedback == "exit status 1: two tests failed"
    assert (verdict.details["stdout"], verdict.details["stderr"]) == ("seen", "two tests failed")


def test_a_verdict_in_json_is_only_text():
    verdict = graded(python("""print('{"score": NaN, "passed": false}')"""))
    assert (verdict.score, verdict.passed) == (1.0, True)


def test_environment(monkeypatch, tmp_path: Path):
    monkeypatch.setenv("INHERITED", "from outside")
    show = python(
        "import os; print(*[os.environ[k] for k in ('INHERITED', 'MODE', 'WAZA_WORKSPACE_DIR')], sep='|')"
    )
    seen = {"environment": {"MODE": "strict", "WAZA_WORKSPACE_DIR": "elsewhere"}, "workspace": str(tmp_path)}
    assert graded(show, **seen).feedback == f"from outside|strict|{tmp_path}"
    assert graded(show, environment={"MODE": "x", "INHERITED": "task"}).feedback == "task|x|"


def test_runs_in_the_current_directory(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    assert graded(python("import os; print(os.getcwd())"), workspace="/").feedback == str(tmp_path)


@pytest.mark.parametrize(
    ("grader", "ending"),
    [
        (ProgramGrader(command="no-such-program-here"), "'no-such-program-here' cannot be started"),
        (ProgramGrader(command=str(Path(__file__))), "Permission denied"),
        (python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), "killed by SIGKILL"),
    ],
)
def test_programs_that_do_not_end_well_have_failed(grader, ending):
    verdict = graded(grader)
    assert (verdict.score, verdict.passed, verdict.error) == (0.0, False, "")
    assert ending in verdict.details["exit_error"]


def test_environment_that_no_system_takes_is_a_failure():
    assert "cannot be started" in graded(python("pass"), environment={"A": "x\0y"}).feedback


def test_time_limit_leaves_no_process():
    grader = ProgramGrader(
        command="sh", args=["-c", "sleep 3141 & setsid sleep 3141 & trap '' TERM; sleep 3141"], timeout=1
    )
    verdict = graded(grader)
    assert verdict.details["exit_error"] == "the time limit of 1 s was reached"
    assert not verdict.passed
    assert find_leftovers() == []
    assert [
        process for process in psutil.process_iter(["cmdline"]) if "3141" in (process.info["cmdline"] or [])
    ] == []


def test_time_limit_of_the_project():
    grader = python("import time; time.sleep(60)")
    verdict = asyncio.run(grader.grade(Observation(), Helpers(program_timeout=0.2)))
    assert verdict.feedback == "the time limit of 0.2 s was reached"


def test_what_is_printed_is_kept_up_to_a_limit():
    verdict = graded(python("import sys; sys.stderr.write('y' * 3_000_000); print('x' * 3_000_000)"))
    for stream in ("stdout", "stderr"):
        assert len(verdict.details[stream]) < 1_100_000
        assert verdict.details[stream].endswith("[the rest was not kept]")


def test_files_beside_the_suite_are_found(monkeypatch, tmp_path: Path):
    suite, cwd = tmp_path / "suite", tmp_path / "cwd"
    (suite / "graders").mkdir(parents=True)
    cwd.mkdir()
    script(suite / "graders" / "check.sh", "#!/bin/sh\necho suite $1 $2\n")
    script(suite / "bare.sh", "#!/bin/sh\necho bare\n")
    script(cwd / "local.sh", "#!/bin/sh\necho cwd\n")
    (suite / "data ü.txt").touch()
    monkeypatch.chdir(cwd)
    around = GraderLocation(base=Path("../suite"))

    given = ProgramGrader(command="./graders/check.sh", args=["data ü.txt", "plain"])
    assert graded(given.resolve_paths(around)).feedback == f"suite {suite / 'data ü.txt'} plain"
    assert graded(ProgramGrader(command="bare.sh").resolve_paths(around)).feedback == "bare"
    assert graded(ProgramGrader(command="local.sh").resolve_paths(around)).feedback == "cwd"


def test_the_suite_wins_over_the_current_directory(monkeypatch, tmp_path: Path):
    for name in ("suite", "cwd"):
        (tmp_path / name).mkdir()
        script(tmp_path / name / "check.sh", f"#!/bin/sh\necho {name}\n")
    monkeypatch.chdir(tmp_path / "cwd")
    placed = ProgramGrader(command="./check.sh").resolve_paths(GraderLocation(base=tmp_path / "suite"))
    assert graded(placed).feedback == "suite"


def test_words_that_are_no_files_stay_as_they_are(tmp_path: Path):
    (tmp_path / "bash").mkdir()
    grader = ProgramGrader(command="bash", args=["-c", "echo " + "x" * 9000, "", ".", "~", "a\nb"])
    assert grader.resolve_paths(GraderLocation(base=tmp_path)) == grader


def test_nul_is_refused():
    grader = ProgramGrader(command="a\0", args=["fine", "b\0c"])
    assert [finding.path for finding in grader.check(GraderLocation())] == [("command",), ("args", 1)]
    assert list(README.check(GraderLocation())) == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("args: [x]", "'command' is missing"),
        ("command: ' '", "must not be empty"),
        ("{command: x, timeout: 5m}", "a whole number"),
        ("{command: x, timeout: -1}", "at least 0"),
        ("{command: x, cwd: y}", "unknown key 'cwd'"),
    ],
)
def test_refused_at_load(config, message):
    decoder = Decoder(Document("eval.yaml", yaml.load(config.encode())))
    assert decoder.read(ProgramGrader) is None
    assert message in decoder.problems[0].message


@pytest.mark.parametrize("command", ["no-such-program-here", "./no/such.sh", "python3 -c pass"])
def test_a_program_that_is_not_there_is_reported_at_load(command):
    (told,) = findings(ProgramGrader(command=command))
    assert (told.path, told.warning) == (("command",), True)
    assert f"there is no program {command!r}" in told.message
    assert ("arguments go into args" in told.message) is (" " in command)
    assert findings(ProgramGrader(command="sh")) == []
