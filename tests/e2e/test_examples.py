"""The examples: each does from a copy what its README says, without a warning, and the same when run again."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza

from waza.suite.load import load

EXAMPLES = Path(__file__).parents[2] / "examples"
MADE_BY_RUNS = {".waza", "greeter", "__pycache__"}

# Exit code of each suite, and its tasks in order.
SUITES: dict[str, tuple[int, list[str]]] = {
    "code-explainer/eval.yaml": (0, ["explain-go", "explain-javascript", "explain-python", "explain-sql"]),
    "csv-dataset/eval.yaml": (0, ["flaky", "normalisation", "join", "Jinja braces"]),
    "custom-agent/eval.yaml": (
        1,
        ["injection-detection", "crypto-review", "data-handling", "infrastructure-scan"],
    ),
    "grader-showcase/eval.yaml": (0, ["answer", "files", "conduct"]),
    "grader-showcase/pairwise.yaml": (1, ["announce"]),
    "interactive/abstain.yaml": (1, ["too-vague"]),
    "interactive/eval.yaml": (0, ["add-agent", "rename"]),
    "repo-worktree/eval.yaml": (0, ["describe", "fix-bug"]),
    "required-skills/eval.yaml": (0, ["notes"]),
    "required-skills/missing.yaml": (2, []),
}
NOT_PASSED = {"data-handling": "failed", "too-vague": "error"}
RUN = sorted(suite for suite, (code, _) in SUITES.items() if code != 2)
FOLDERS = sorted({suite.split("/")[0] for suite in SUITES})
NO_SUITES = {"trigger_tests.yaml"}
# What differs from run to run: ids, times, durations, and the temporary directory of the workspace.
VOLATILE = {
    *("eval_id", "session_id", "timestamp", "captured_at", "workspace_dir"),
    *("duration_ms", "avg_duration_ms", "actual_duration"),
}
# A task that ends as an error has the mark, too, and is none.
WARNED = re.compile(r"warning|failed|^⚠ (?!\[\d+/\d+\] )", re.IGNORECASE)


@dataclass(frozen=True)
class Twice:
    """Two runs of one suite, the second one with `--executor mock`, and where they ran."""

    first: Ended
    second: Ended
    results: list[Any]
    home: Path

    @property
    def tasks(self) -> dict[str, Any]:
        """The tasks of the first run by their id."""
        return {task["test_id"]: task for task in self.results[0]["tasks"]}

    def run_of(self, task: str) -> Any:
        """The first trial of a task."""
        return self.tasks[task]["runs"][0]


Ran = Callable[[str], Twice]


def copied(into: Path) -> Path:
    shutil.copytree(EXAMPLES, into / "examples", ignore=shutil.ignore_patterns(*MADE_BY_RUNS))
    return into


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run a suite twice in a copy of the examples, once for all tests."""
    home = copied(tmp_path_factory.mktemp("copy"))

    @cache
    def run(suite: str) -> Twice:
        outputs = [home / f"{suite.replace('/', '-')}-{number}.json" for number in (1, 2)]
        path = f"examples/{suite}"
        first = waza("run", path, "-o", outputs[0], cwd=home)
        second = waza("run", path, "--executor", "mock", "-o", outputs[1], cwd=home)
        results = [strict_json(output.read_bytes()) if output.exists() else None for output in outputs]
        return Twice(first, second, results, home)

    return run


def lasting(value: Any) -> Any:
    """Return results without what differs from run to run."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in VOLATILE}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def scores(run: Any) -> dict[str, float]:
    return {name: said["score"] for name, said in run["validations"].items()}


def files_of(example: Path) -> list[Path]:
    found = (path for path in sorted(example.rglob("*")) if path.is_file())
    return [path for path in found if not MADE_BY_RUNS & set(path.relative_to(example).parts)]


def test_every_suite_is_tested() -> None:
    found = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.glob("*/*.yaml")}
    assert {name for name in found if Path(name).name not in NO_SUITES} == set(SUITES)


@pytest.mark.parametrize("suite", sorted(SUITES))
def test_exit_code_and_statuses(ran: Ran, suite: str) -> None:
    code, tasks = SUITES[suite]
    done = ran(suite)
    assert (done.first.code, done.second.code) == (code, code), done.first.err
    for results in filter(None, done.results):
        found = [(task["test_id"], task["status"]) for task in results["tasks"]]
        assert found == [(task, NOT_PASSED.get(task, "passed")) for task in tasks]


@pytest.mark.parametrize("suite", RUN)
def test_same_results_when_run_again(ran: Ran, suite: str) -> None:
    first, second = ran(suite).results
    assert first["eval_id"] != second["eval_id"]
    for one in (first, second) if suite == "repo-worktree/eval.yaml" else ():
        one["metadata"].pop("warnings", None)  # its hook made the repository, which is there the second time
    assert lasting(first) == lasting(second)


def warned(ended: Ended) -> list[str]:
    return [line for line in ended.err.splitlines() if WARNED.search(line)]


@pytest.mark.parametrize("suite", RUN)
def test_nothing_is_warned_of(ran: Ran, suite: str) -> None:
    first, second = warned(ran(suite).first), warned(ran(suite).second)
    if suite == "repo-worktree/eval.yaml":  # its hook makes the repository that both tasks name
        first = [line for line in first if "greeter'; a before_run hook may create it" not in line]
    assert (first, second) == ([], [])


@pytest.mark.parametrize("example", FOLDERS)
def test_every_file_has_a_purpose(example: str) -> None:
    folder = EXAMPLES / example
    suites = [EXAMPLES / suite for suite in RUN if suite.startswith(f"{example}/")]
    tasks = {Path.cwd() / task.file for suite in suites for task in load(suite).tasks}
    known = {*tasks, *(EXAMPLES / suite for suite in SUITES)}
    yaml = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.yaml"))
    for path in files_of(folder):
        if path not in known and path.name not in {"README.md", ".gitignore", *NO_SUITES}:
            named = path.parent.name if path.name == "SKILL.md" else path.name.removesuffix(".agent.md")
            assert named in yaml, f"nothing names {path.relative_to(EXAMPLES)}"


@pytest.mark.parametrize("example", FOLDERS)
def test_readme_names_files_that_are_there(example: str) -> None:
    folder = EXAMPLES / example
    readme = (folder / "README.md").read_text(encoding="utf-8")
    start = folder if f"$ cd examples/{example}\n" in readme else EXAMPLES.parent
    run = re.findall(r"^\$ waza run (\S+)", readme, re.MULTILINE)
    assert {start / name for name in run} == {
        EXAMPLES / name for name in SUITES if name.startswith(f"{example}/")
    }
    names = {path.name for path in files_of(folder)} | {"greeter"}
    mentioned = re.findall(r"[\w.-]+\.(?:yaml|md|py|js|go|sql|tf|txt|csv)\b", readme)
    assert {name for name in mentioned if name not in names and name != ".agent.md"} == set()


def without_script(text: str) -> str:
    """Return a task or suite without its `mock` block, which stands last."""
    return text.split("\nmock:\n", maxsplit=1)[0] + "\n"


@pytest.mark.parametrize("example", FOLDERS)
def test_an_agent_that_only_echoes_passes_nothing(tmp_path: Path, example: str) -> None:
    home = copied(tmp_path)
    for path in (home / "examples" / example).rglob("*.yaml"):
        path.write_text(without_script(path.read_text(encoding="utf-8")), encoding="utf-8")
    done = waza("run", f"examples/{example}/eval.yaml", "--trials", "1", cwd=home)
    assert done.code == 1, done.err
    found = done.results()["tasks"]
    assert [task["test_id"] for task in found] == SUITES[f"{example}/eval.yaml"][1]
    assert {task["status"] for task in found} <= {"failed", "error"}


def test_code_explainer_graders(ran: Ran) -> None:
    done = ran("code-explainer/eval.yaml")
    common = "three_parts:text reads_and_leaves_alone:behavior right_size:code quotes_the_code:program"
    own = {
        "explain-go": "read_the_file:tool_calls answers_the_question:text",
        "explain-javascript": "both_modes:text",
        "explain-python": "growing_delay:text _output_contains:text",
        "explain-sql": "explains_the_terms:text",
    }
    for task, graders in own.items():
        for run in done.tasks[task]["runs"]:
            found = {f"{name}:{said['type']}" for name, said in run["validations"].items()}
            assert found == {*common.split(), *graders.split()}
            assert set(scores(run).values()) == {1}
        assert len(done.tasks[task]["runs"]) == 2
    said = done.run_of("explain-go")["validations"]
    assert said["three_parts"]["weight"] == 2
    assert said["quotes_the_code"]["feedback"] == "quotes 7 names of the code"


def test_code_explainer_second_attempt_is_flaky(ran: Ran) -> None:
    done = ran("code-explainer/eval.yaml")
    steady, late = done.tasks["explain-sql"]["runs"]
    assert (steady["attempts"], late["attempts"]) == (1, 2)
    failed = late["attempt_history"][0]["failed_graders"]
    assert failed == ["quotes_the_code", "right_size", "three_parts"]
    assert {name for name, task in done.tasks.items() if task["stats"]["flaky"]} == {"explain-sql"}
    assert "pass@1 50%" in done.first.out


def test_code_explainer_trigger_accuracy(ran: Ran) -> None:
    results = ran("code-explainer/eval.yaml").results[0]
    metric = results["metrics"]["trigger_accuracy"]
    assert (metric["value"], metric["threshold"]) == (1, 0.9)
    asked = [(one["should_trigger"], one["confidence"]) for one in results["trigger_results"]]
    assert asked == [(True, "high")] * 3 + [(True, "medium")] + [(False, "high")] * 3


def test_code_explainer_as_a_demo(tmp_path: Path) -> None:
    done = waza("run", "examples/code-explainer/eval.yaml", "-v", "--no-save", cwd=copied(tmp_path))
    assert done.code == 0
    for told in ("[PROMPT] Explain what retry.py does.", "[GRADER] ✓ quotes_the_code", "[RETRY]"):
        assert told in done.err
    for title in ("BENCHMARK RESULTS", "PER-TASK BREAKDOWN", "TRIGGER ACCURACY", "METRICS", "USAGE SUMMARY"):
        assert title in done.out
    assert not (tmp_path / ".waza").exists()


def test_showcase_has_every_type(ran: Ran) -> None:
    done = ran("grader-showcase/eval.yaml")
    said = {name: one for task in done.tasks for name, one in done.run_of(task)["validations"].items()}
    types = "text code file diff json_schema behavior action_sequence skill_invocation tool_constraint"
    types += " tool_calls trigger program prompt prompt prompt wgp evaluator"
    assert sorted(one["type"] for one in said.values()) == sorted(types.split())
    extra_call = said.pop("reads_before_writing")  # F1 of 2 actions expected and 3 seen
    assert (extra_call["score"], extra_call["passed"]) == (pytest.approx(0.8), True)
    likeness = said.pop("near_the_reference")
    assert (likeness["score"], likeness["details"]["scale"]) == (pytest.approx(0.6, abs=0.01), "0-1")
    assert {one["score"] for one in said.values()} == {1}


def test_showcase_rubrics(ran: Ran) -> None:
    said = ran("grader-showcase/eval.yaml").run_of("answer")["validations"]
    sources = [said[name]["details"]["rubric"]["source"] for name in ("follows_instructions", "plain_words")]
    assert sources[0] == "builtin:instruction-following"
    assert Path(sources[1].removeprefix("file:")).name == "plain-words.md"
    assert said["sound_reasons"]["details"]["passes"].count(";") == 2


def test_showcase_pairwise_prefers_the_skill(ran: Ran) -> None:
    results = ran("grader-showcase/pairwise.yaml").results[0]
    task, without = results["tasks"][0], results["baseline_outcome"]["tasks"][0]
    assert results["is_baseline"]
    said = task["skill_impact"]["pairwise"]
    assert (said["winner"], said["position_consistent"]) == ("skill", True)
    assert scores(task["runs"][0]) == {"says_how_to_upgrade": 1, "more_useful": 1}
    assert scores(without["runs"][0]) == {"says_how_to_upgrade": 1}


def test_custom_agent_is_laid_out_as_documented() -> None:
    folder = EXAMPLES / "custom-agent"
    tasks = "01-injection-detection 02-crypto-review 03-data-handling 04-infrastructure-scan"
    assert {path.relative_to(folder).as_posix() for path in files_of(folder)} == {
        *("README.md", "eval.yaml", "security-reviewer.agent.md"),
        *(f"tasks/{name}.yaml" for name in tasks.split()),
        *("fixtures/vulnerable-sql.py", "fixtures/weak-crypto.js", "fixtures/pii-exposure.tf"),
    }


def test_custom_agent_tools_are_checked_in_every_task(ran: Ran) -> None:
    done = ran("custom-agent/eval.yaml")
    for task in done.tasks:
        said = done.run_of(task)["validations"]["allowed_tools"]
        assert (said["type"], said["score"], said["passed"]) == ("tool_constraint", 1, True)
        assert said["details"]["allow_only"] == ["codeSearch", "fileRead", "runCommand"]
        assert len(said["details"]["tools_used"]) == 2
    used = done.run_of("crypto-review")["validations"]["allowed_tools"]["details"]["tools_used"]
    assert used == ["view", "bash"]  # other names of fileRead and runCommand


def test_custom_agent_data_handling_passes_four_of_five(ran: Ran) -> None:
    done = ran("custom-agent/eval.yaml")
    found = scores(done.run_of("data-handling"))
    assert (len(found), {name for name, score in found.items() if score < 1}) == (5, {"unencrypted_fields"})
    assert [task["stats"]["avg_score"] for task in done.tasks.values()] == [1, 1, pytest.approx(0.8), 1]
    assert "unencrypted_fields (text) 0.00" in done.first.out


def test_custom_agent_from_its_own_folder(tmp_path: Path) -> None:
    done = waza("run", "eval.yaml", "-v", cwd=copied(tmp_path) / "examples" / "custom-agent")
    assert done.code == 1
    assert done.err.count("[GRADER] ✓ allowed_tools 1.00") == 4
    assert "✗ [3/4] data-handling" in done.err


def test_custom_agent_tool_that_is_not_declared_fails(tmp_path: Path) -> None:
    folder = copied(tmp_path) / "examples" / "custom-agent"
    task = folder / "tasks" / "01-injection-detection.yaml"
    text = task.read_text(encoding="utf-8").replace("name: codeSearch", "name: fileDelete")
    task.write_text(text, encoding="utf-8")
    done = waza("run", "eval.yaml", "--task", "injection-detection", cwd=folder)
    said = done.results()["tasks"][0]["runs"][0]["validations"]["allowed_tools"]
    assert (done.code, said["passed"], said["score"]) == (1, False, 0.5)
    assert said["details"]["allow_only_violations"] == ["fileDelete"]


def test_csv_prompts(ran: Ran) -> None:
    done = ran("csv-dataset/eval.yaml")
    prompts = {name: done.run_of(name)["prompt"] for name in done.tasks}
    assert prompts["flaky"] == 'Explain "flaky test" to a new colleague, in at most 40 words.'
    assert prompts["join"].endswith(":\n\nSELECT *\nFROM orders\nLEFT JOIN customers USING (customer_id)")
    assert prompts["join"].startswith("Explain this LEFT JOIN to an analyst,")  # a column wins over inputs
    assert "{{ user.name | title }}" in prompts["Jinja braces"]
    one, other = re.findall(r'"(caf[^"]+)"', prompts["normalisation"])
    assert one != other
    assert one == unicodedata.normalize("NFC", other)


def test_csv_answers_and_groups(ran: Ran) -> None:
    done = ran("csv-dataset/eval.yaml")
    outputs = {name: done.run_of(name)["final_output"] for name in done.tasks}
    assert outputs["join"].startswith("Every order is kept.\nWhere")
    assert "한글 and 🙂" in outputs["normalisation"]
    groups = done.results[0]["summary"]["groups"]
    assert groups == [{"name": "claude-sonnet-4.6", "passed": 4, "total": 4, "avg_score": 1}]


def test_worktrees_hold_the_commit(ran: Ran) -> None:
    done = ran("repo-worktree/eval.yaml")
    mended, described = (done.run_of(task)["validations"] for task in ("fix-bug", "describe"))
    assert set(mended) == {"bug_is_gone", "nothing_else_changed"}
    assert mended["nothing_else_changed"]["feedback"] == "changed: src/greeter.py"
    assert set(described) == {"has_the_newest_commit", "nothing_changed", "_output_contains"}
    assert described["nothing_changed"]["feedback"] == "changed: nothing"


def test_worktree_repository_is_made_once_and_left_alone(ran: Ran) -> None:
    example = ran("repo-worktree/eval.yaml").home / "examples" / "repo-worktree"

    def git(*args: str) -> list[str]:
        command = ["git", *args]
        done = subprocess.run(command, cwd=example / "greeter", capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    assert git("log", "--format=%an: %s") == ["Example: Spell the name right", "Example: Say hello"]
    assert git("status", "--porcelain") == []
    assert len(git("worktree", "list")) == 1
    assert "/greeter/" in (example / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_responder_replies_and_stops(ran: Ran) -> None:
    run = ran("interactive/eval.yaml").run_of("add-agent")
    assert run["responder"] == {"followups_sent": 2, "outcome": "stopped"}
    points = [(point["after_turn"], point["status"]) for point in run["checkpoints"]]
    assert points == [(1, "passed"), (2, "passed")]
    assert set(run["checkpoints"][0]["validations"]) == {"asks_for_the_name", "writes_nothing_yet"}
    assert scores(run) == {"agent_is_added": 1, "few_calls": 1}
    assert [event["tool_name"] for event in run["tool_events"]] == ["view", "edit"]


def test_follow_ups_with_checkpoints(ran: Ran) -> None:
    run = ran("interactive/eval.yaml").run_of("rename")
    names = [name for point in run["checkpoints"] for name in point["validations"]]
    assert names == ["renamed", "admits_ignorance"]
    sent = [event["content"] for event in run["transcript"] if event["type"] == "user.message"]
    assert (len(sent), sent[2]) == (3, "Then put the old key back.")
    assert run["final_output"] == "The key is called colour again."


def test_abstaining_is_an_error_that_says_why(ran: Ran) -> None:
    done = ran("interactive/abstain.yaml")
    run, reason = done.run_of("too-vague"), "the brief does not name a cloud"
    assert run["responder"] == {"followups_sent": 1, "outcome": "abstained", "reason": reason}
    assert (run["status"], reason in run["error_msg"]) == ("error", True)
    assert scores(run) == {"asks": 1}  # graders saw what there was until then
    assert reason in done.first.err


def test_required_skills_are_invoked(ran: Ran) -> None:
    run = ran("required-skills/eval.yaml").run_of("notes")
    assert [skill["name"] for skill in run["skill_invocations"]] == ["meeting-notes", "house-style"]
    assert scores(run) == {"in_house_style": 1, "right_skills": 1, "_should_trigger": 1}


def test_missing_skills_are_refused(ran: Ran) -> None:
    done = ran("required-skills/missing.yaml")
    assert done.results == [None, None]
    message = next(line for line in done.first.err.splitlines() if "required skills are missing" in line)
    assert message.startswith(str(Path("examples", "required-skills", "missing.yaml:15:")))
    missing, found, searched = message.split("; ")
    assert missing.endswith("missing: house-style, translation")
    assert found == "found meeting-notes, old-notes"
    directories = searched.removeprefix("searched ").removesuffix(", and the directories directly below")
    assert [Path(name).name for name in directories.split(", ")] == ["meeting-notes", "old-notes"]
