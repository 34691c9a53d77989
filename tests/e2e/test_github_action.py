"""The composite action: its steps run as GitHub runs them, in a repository with suites on the mock executor."""

from __future__ import annotations

import json
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.github_action import Ended, Runner, has_bash, stand_in
from tests.support.program import mock_suite, waza, write_tree

from waza.version import __version__

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SCRIPTS = {step["name"]: step["run"] for step in ACTION["runs"]["steps"] if "run" in step}
INSTALLED = ("install",)
TASK = """id: {id}
inputs: {{prompt: Well?}}
mock: {{output: '{answer}'}}
expected: {{output_contains: ['yes']}}
"""
PULL_REQUEST = {"event.pull_request.number": "12"}

pytestmark = [
    pytest.mark.skipif(
        not has_bash() or sys.platform == "win32", reason="steps of the action are bash scripts"
    ),
    pytest.mark.slow,
]

# A comment is changed only where this token wrote it: `gh` is asked with the query of the step, by a real jq.
GH = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys
home = pathlib.Path(__file__).parent
with (home / "calls").open("a") as calls:
    print(json.dumps([os.environ["GH_TOKEN"], *sys.argv[1:]]), file=calls)
if (home / "forbidden").exists():
    sys.exit("HTTP 403: Resource not accessible by integration")
if sys.argv[1:3] == ["pr", "view"]:
    query = sys.argv[sys.argv.index("--jq") + 1]
    sys.exit(subprocess.run(["jq", "-r", query], input=(home / "pull_request.json").read_bytes()).returncode)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a suite that passes, and one of which a task fails."""
    root = tmp_path / "repository"
    for name, texts in (("green", ("yes", "yes")), ("red", ("yes", "no"))):
        tasks = {f"t{number}": TASK.format(id=f"t{number}", answer=text) for number, text in enumerate(texts)}
        mock_suite(root / name, tasks, name=name)
    return root


@pytest.fixture
def runner(tmp_path: Path, repository: Path) -> Runner:
    found = Runner(tmp_path, repository, action=ROOT)
    found.install_this_waza()
    return found


def run(
    runner: Runner, suites: str, github: dict[str, str] | None = None, env: Any = None, **inputs: str
) -> Ended:
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return runner.run({"suites": suites, **given}, github=github, env=env, without=INSTALLED)


def test_a_run_that_passes_leaves_every_report_and_asks_for_nothing_more(runner: Runner):
    ended = run(runner, "green/eval.yaml")
    assert ended.outcome == "success", ended.log
    outputs = ended.outputs
    assert (outputs["passed"], outputs["exit-code"], outputs["gate-exit-code"]) == ("true", "0", "")
    results = json.loads((Path(outputs["results"]) / "green_test-model.json").read_text())
    assert results["summary"]["succeeded"] == 2
    assert ET.parse(outputs["junit"]).getroot().get("tests") == "2"  # noqa: S314  # our own file
    assert "<script" in Path(outputs["report"]).read_text(encoding="utf-8")
    comment = Path(outputs["comment"]).read_text(encoding="utf-8")
    assert comment.startswith("## Waza Evaluation Results")
    assert "2 passed, 0 failed" in comment
    assert ended.summary == Path(outputs["summary"]).read_text(encoding="utf-8")
    assert "t0" in ended.summary
    upload = ended.used("actions/upload-artifact")
    assert upload
    assert set(upload.files) == {
        "comment.md",
        "junit.xml",
        "report.html",
        "summary.md",
        "results/green_test-model.json",
    }
    assert ended.ran == [
        *("Python", "Run the suites", "Upload results and reports", "Verdict"),
    ]  # no cache, no gate, no comment


def test_a_run_that_fails_fails_the_job_after_its_reports_are_uploaded(runner: Runner):
    ended = run(runner, "red/eval.yaml")
    assert ended.outcome == "failure 1"
    assert (ended.outputs["passed"], ended.outputs["exit-code"]) == ("false", "1")
    upload = ended.used("actions/upload-artifact")
    assert upload
    assert {"junit.xml", "report.html", "results/red_test-model.json"} <= set(upload.files)
    assert "❌" in Path(ended.outputs["comment"]).read_text(encoding="utf-8")
    assert "1 failed" in ended.log


def test_several_suites_are_one_run_with_a_gate_for_each(runner: Runner, repository: Path):
    suites = "green/eval.yaml\nred/eval.yaml\n"
    baseline_of(runner, suites, repository / "baseline")
    ended = run(runner, suites, baseline="baseline")
    assert (ended.outcome, ended.outputs["exit-code"], ended.outputs["gate-exit-code"]) == (
        "success",
        "1",
        "0",
    )
    found = {path.name for path in Path(ended.outputs["results"]).iterdir()}
    assert found == {"green_test-model.json", "red_test-model.json"}
    assert ET.parse(ended.outputs["junit"]).getroot().get("tests") == "4"  # noqa: S314  # our own file
    assert "## green" in Path(ended.outputs["comment"]).read_text(encoding="utf-8")
    (repository / "green/tasks/t0.yaml").write_text(TASK.format(id="t0", answer="no"))
    ended = run(runner, suites, baseline="baseline")
    assert (ended.outcome, ended.outputs["gate-exit-code"]) == ("failure 1", "1")
    one = run(runner, "red/eval.yaml", baseline="baseline")
    assert (one.outcome, one.outputs["gate-exit-code"]) == ("failure 3", "3")
    assert "the baseline has green_test-model.json, of which the run has no results" in one.log


def test_what_cannot_run_is_in_the_summary_and_the_comment(runner: Runner, tmp_path: Path):
    path = stand_in(tmp_path / "gh", "gh", GH)
    (tmp_path / "gh/pull_request.json").write_text('{"comments": []}')
    ended = run(runner, "no/such.yaml", github=PULL_REQUEST, env={"PATH": path}, comment="true")
    assert ended.outcome == "failure 2"
    assert ended.outputs["passed"] == "false"
    assert "no such suite file" in ended.log
    assert "**waza run ended with exit code 2 and wrote no report" in ended.summary
    assert "exit code 2" in Path(ended.outputs["comment"]).read_text()
    assert "Comment" in ended.ran


def test_what_ran_nothing_has_not_passed(runner: Runner):
    asked = run(runner, "green/eval.yaml", args="--help")
    assert (asked.outcome, asked.outputs["passed"]) == ("success", "false")
    assert "wrote no report" in asked.summary


def test_options_are_turned_off_and_inputs_reach_the_run(runner: Runner):
    inputs = {
        **dict.fromkeys(("report", "junit", "summary", "upload"), "false"),
        "suites": "eval.yaml",
        "working-directory": "red",
        "executor": "mock",
        "model": "one\r\ntwo\n",
        "args": "--trials\n2\n\n--task=t0",
        "cache": "true",
        "name": "red-only",
    }
    ended = runner.run(inputs, without=INSTALLED)
    assert ended.outcome == "success", ended.log
    assert (ended.outputs["junit"], ended.outputs["report"], ended.summary) == ("", "", "")
    assert not ended.used("actions/upload-artifact")
    found = sorted(Path(ended.outputs["results"]).glob("*.json"))
    assert [path.name for path in found] == ["red_one.json", "red_two.json"]
    tasks = json.loads(found[0].read_text())["tasks"]
    assert [(task["test_id"], len(task["runs"])) for task in tasks] == [("t0", 2)]
    restored, saved = ended.used("actions/cache/restore"), ended.used("actions/cache/save")
    assert restored
    assert saved
    assert Path(restored.inputs["path"]) == Path(saved.inputs["path"]) == runner.temp / "waza/cache"
    assert list((runner.temp / "waza/cache").rglob("*.json"))
    assert restored.inputs["key"] == saved.inputs["key"]
    assert saved.inputs["key"].startswith(restored.inputs["restore-keys"])
    assert run(runner, "red/eval.yaml", cache="true").used("actions/cache/save")  # though a task fails
    assert Path(ended.outputs["directory"]).name == "red-only"


def test_nothing_in_an_input_is_run(runner: Runner, tmp_path: Path):
    hostile = f"$(touch {tmp_path}/x) `touch {tmp_path}/x`; touch {tmp_path}/x\" ' && touch {tmp_path}/x"
    for name in ("suites", "executor", "model", "args", "baseline"):
        ended = runner.run({"suites": "green/eval.yaml", name: hostile}, without=INSTALLED)
        assert (ended.outcome == "success") == (name == "model"), name  # the mock takes any model
    for name in ("a/../b", "", "a b", "..", hostile):
        ended = run(runner, "green/eval.yaml", name=name)
        assert (ended.outcome, ended.outputs["passed"], len(ended.uses)) == ("failure 2", "false", 1)
    for name in ("program", "cache"):  # not a directory that the action has anyway
        assert run(runner, "green/eval.yaml", name=name).outcome == "success", name
    assert run(runner, "--help").outcome == "failure 2"  # a suite is never an option
    assert not (tmp_path / "x").exists()


def test_what_an_agent_says_is_no_command_of_the_runner(runner: Runner, repository: Path):
    said = "::warning::from the agent"
    mock_suite(repository / "loud", {"t": TASK.format(id="t", answer=said)}, name="loud")
    ended = run(runner, "loud/eval.yaml", args="-v")
    before, _, silenced = ended.log.partition("::stop-commands::")
    word, _, rest = silenced.partition("\n")
    inside, closed, after = rest.partition(f"::{word}::")
    assert len(word) == 32
    assert closed
    assert said in inside
    assert said not in before + after


def baseline_of(runner: Runner, suite: str, to: Path) -> None:
    shutil.copytree(run(runner, suite).outputs["results"], to)


def test_the_gate_decides_where_there_is_a_baseline(runner: Runner, repository: Path):
    baseline_of(runner, "red/eval.yaml", repository / "baseline")
    same = run(runner, "red/eval.yaml", baseline="baseline/red_test-model.json")
    assert (same.outcome, same.outputs["passed"]) == ("success", "true"), same.log
    assert (same.outputs["exit-code"], same.outputs["gate-exit-code"]) == ("1", "0")
    (repository / "red/tasks/t0.yaml").write_text(TASK.format(id="t0", answer="no"))
    worse = run(runner, "red/eval.yaml", baseline="baseline")
    assert (worse.outcome, worse.outputs["passed"]) == ("failure 1", "false")
    assert worse.outputs["gate-exit-code"] == "1"
    assert "::error" in worse.log
    assert "50.0%" in worse.summary  # the gate's own part of it
    assert worse.used("actions/upload-artifact")
    allowed = run(runner, "red/eval.yaml", baseline="baseline", gate_args="--max-regression-pct\n60")
    assert allowed.outcome == "success"
    broken = run(runner, "no/such.yaml", baseline="baseline")
    assert (broken.outcome, broken.outputs["gate-exit-code"]) == ("failure 2", "3")


def test_a_gate_without_its_baseline_or_its_results_fails(runner: Runner, repository: Path):
    missing = run(runner, "green/eval.yaml", baseline="nowhere.json")
    assert (missing.outcome, missing.outputs["gate-exit-code"]) == ("failure 3", "3")
    baseline_of(runner, "green/eval.yaml", repository / "baseline")
    other = run(runner, "red/eval.yaml", baseline="baseline")
    assert other.outputs["gate-exit-code"] == "3"
    assert "the baseline has no red_test-model.json" in other.log
    assert "the baseline has green_test-model.json, of which the run has no results" in other.log
    two = run(runner, "green/eval.yaml", model="a\nb", baseline="baseline/green_test-model.json")
    assert two.outputs["gate-exit-code"] == "3"
    assert "the run wrote 2 results files; their baseline must be a directory" in two.log


def test_a_comment_is_written_and_the_next_time_updated(runner: Runner, tmp_path: Path):
    gh = tmp_path / "gh"
    env = {"PATH": stand_in(gh, "gh", GH)}
    mark = "<!-- waza: waza -->"

    def commented(comments: list[dict[str, Any]]) -> list[list[str]]:
        (gh / "calls").unlink(missing_ok=True)
        (gh / "pull_request.json").write_text(json.dumps({"comments": comments}))
        ended = run(runner, "red/eval.yaml", github=PULL_REQUEST, env=env, comment="true")
        assert (ended.outcome, ended.outputs["passed"]) == ("failure 1", "false")
        return [json.loads(line) for line in (gh / "calls").read_text().splitlines()]

    url = "https://example.invalid/acme/skills/pull/12#issuecomment-"
    of_others = [
        {"viewerDidAuthor": False, "body": f"{mark}\nfrom someone else", "url": f"{url}1"},
        {"viewerDidAuthor": True, "body": "of another action", "url": f"{url}2"},
        {"viewerDidAuthor": True, "body": "<!-- waza: other -->", "url": f"{url}3"},
    ]
    view, create = commented(of_others)
    body = runner.temp / "waza/comment.md"
    assert create == [
        "token-of-the-job",
        "pr",
        "comment",
        "12",
        "--repo",
        "acme/skills",
        "--body-file",
        str(body),
    ]
    assert body.read_text(encoding="utf-8").startswith(f"{mark}\n## Waza Evaluation Results")
    view, update = commented(
        [*of_others, {"viewerDidAuthor": True, "body": f"{mark}\nold", "url": f"{url}99"}]
    )
    assert view[1:4] == ["pr", "view", "12"]
    assert update[1:] == [
        *(
            "api",
            "--silent",
            "--method",
            "PATCH",
            "repos/acme/skills/issues/comments/99",
            "-F",
            f"body=@{body}",
        ),
    ]


def test_a_comment_that_may_not_be_written_is_a_warning(runner: Runner, tmp_path: Path):
    gh = tmp_path / "gh"
    env = {"PATH": stand_in(gh, "gh", GH)}
    (gh / "forbidden").touch()
    ended = run(runner, "green/eval.yaml", github=PULL_REQUEST, env=env, comment="true")
    assert ended.outcome == "success"
    assert (
        "::warning title=waza::the comment could not be written; it needs 'pull-requests: write'" in ended.log
    )
    (gh / "calls").unlink()
    ended = run(runner, "green/eval.yaml", env=env, comment="true")
    assert "::notice title=waza::no comment, since this is not the run of a pull request" in ended.log
    assert not (gh / "calls").exists()


def test_the_commit_of_the_action_is_installed_by_its_lock_apart_from_the_python_of_the_job(tmp_path: Path):
    repository = write_tree(tmp_path / "repository", {"eval.yaml": "x"})
    runner = Runner(tmp_path, repository, action=ROOT)
    ended = runner.run({"suites": "eval.yaml"})
    assert f"waza version {__version__}\n" in ended.log, ended.log
    home = runner.temp / "waza/program"
    assert {path.name for path in (home / "bin").iterdir()} == {"waza"}
    python = home / "venv/bin/python"
    assert waza("--help", cwd=tmp_path, python=python).code == 0
    assert waza("models", "--help", cwd=tmp_path, python=python).code == 0
    assert ended.outcome == "failure 2"  # "x" is no suite
