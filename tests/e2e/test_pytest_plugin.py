"""The pytest plugin: suites as tests, off unless they are named, and the verdicts of `waza run`."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.support.packages import install_waza
from tests.support.program import Ended, environment, mock_suite, waza, write_tree

SAYS = "{type: text, name: says, config: {contains: [hello]}}"
TASKS = {
    "bad": "id: bad\nname: Bad greeting\ntags: [slow]\ninputs: {prompt: Greet the people}\n"
    "mock: {output: bye, tool_calls: [{name: bash, args: {command: ls}}]}",
    "broken": "inputs: {prompt: p}\nmock: {error: the server is gone}",
    "good": "inputs: {prompt: p}\nmock: {output: hello}",
}
HEAD = f"skill: greeter\nmetrics: [{{name: says, threshold: 0.9, gate: true}}]\ngraders: [{SAYS}]\n"
SKILL = "---\nname: greeter\ndescription: d\n---\nGreet.\n"
SUITE = "evals/greeter/eval.yaml"


def run_pytest(root: Path, *args: str, python: str | Path = sys.executable, plugin: bool = True) -> Ended:
    """Run pytest in a directory; with `plugin` with that of this checkout, and none that is installed."""
    names = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} if plugin else {}
    own = ["-p", "waza.pytest_plugin"] if plugin else []
    done = subprocess.run(
        [str(python), "-m", "pytest", *own, "-p", "no:cacheprovider", *args],
        cwd=root,
        env=environment({"PYTHONDONTWRITEBYTECODE": "1", **names}),
        capture_output=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode(), root)


def outcomes(ended: Ended, path: str = SUITE) -> dict[str, str]:
    """How each test of a suite ended, of a verbose call."""
    found = {}
    for line in ended.out.splitlines():
        words = line.replace("[gw0]", "").replace("[gw1]", "").split()
        names = [word for word in words if word.startswith(f"{path}::")]
        states = [word for word in words if word in ("PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL")]
        if names and states and not line.startswith(("FAILED", "ERROR")):
            rest = line.split("::", 1)[1]
            for state in states:
                rest = rest.split(f" {state}")[0]
            found[rest.strip()] = states[0]
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL, "tests/test_plain.py": "def test_it(): pass\n"})
    write_tree(tmp_path, {".waza.yaml": "paths: {skills: skills}\n", "pytest.ini": "[pytest]\n"})
    mock_suite(tmp_path / "evals/greeter", TASKS, HEAD, ["trials_per_task: 2"], name="greets")
    return tmp_path


def test_tasks_are_tests_and_gates_are_one(project: Path) -> None:
    ended = run_pytest(project, "evals/", "-v", "--junitxml=j.xml")
    assert ended.code == 1
    assert outcomes(ended) == {"bad": "FAILED", "broken": "ERROR", "good": "PASSED", "gates": "FAILED"}
    assert "says (text) 0.00: no 'hello' in the output (2 of 2 trials did not pass)" in ended.out
    # On CI, pytest repeats whole messages in its summary.
    end = ended.out.partition("short test summary info")[0].split("The end of its conversation:")[-1]
    assert "[1] user: Greet the people" in end
    assert "agent: bye" in end
    assert "the server is gone" in ended.out
    assert "gate says: 0.33, at least 0.90 is required" in ended.out
    assert "Traceback" not in ended.out + ended.err
    cases = {
        one.get("name"): [part.tag for part in one]
        for one in ET.parse(project / "j.xml").iter("testcase")  # noqa: S314
    }
    assert cases == {"bad": ["failure"], "broken": ["error"], "good": [], "gates": ["failure"]}
    assert not (project / ".waza").exists()


def test_nothing_is_collected_or_imported_unless_suites_are_named(project: Path) -> None:
    check = (
        "import sys\n\n\ndef test_it():\n"
        "    heavy = [name for name in sys.modules if name.startswith('waza.')]\n"
        "    assert sorted(heavy) == ['waza.pytest_plugin', 'waza.version']\n"
        "    assert not {'msgspec', 'yaml', 'rich', 'click', 'psutil', 'asyncio'} & set(sys.modules)\n"
    )
    write_tree(
        project, {"tests/test_modules.py": check, "tests/eval.yaml.txt": "", "data/sub/eval.yaml": "x"}
    )
    for args in ([], ["tests"], ["."], ["data"]):
        ended = run_pytest(project, *args, "-q")
        assert "eval.yaml" not in ended.out, args
        assert ended.code == (5 if args == ["data"] else 0), ended.out
    ended = run_pytest(project, "tests", "-q", "-p", "xdist", "-n", "1")
    assert "2 passed" in ended.out, ended.out


@pytest.mark.parametrize(
    ("args", "ini"),
    [
        ([SUITE], ""),
        (["evals/greeter"], ""),
        ([], "waza_suites = evals"),
        (["--waza"], ""),
        ([f"{SUITE}::good", f"{SUITE}::bad", f"{SUITE}::broken", f"{SUITE}::gates"], ""),
    ],
)
def test_suites_are_named_by_arguments_options_and_settings(args: list[str], ini: str, project: Path) -> None:
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    ended = run_pytest(project, *args, "--collect-only", "-q")
    names = [line.split("::")[1] for line in ended.out.splitlines() if line.startswith(f"{SUITE}::")]
    assert sorted(names) == ["bad", "broken", "gates", "good"]
    assert ended.code == 0


def test_workers_run_what_is_theirs_and_reach_the_verdicts_of_waza_run(tmp_path: Path) -> None:
    """Every trial leaves a line: no task is run by two workers, and the gates run nothing again."""
    log = tmp_path / "trials.log"
    hook = f"hooks: {{before_task: [{{command: 'echo {{{{.TaskName}}}} >> {log}'}}]}}\n"
    tasks = {
        f"t{i}": f"inputs: {{prompt: p}}\nmock: {{output: {'hello' if i % 3 else 'bye'}}}" for i in range(8)
    }
    tasks["zz"] = "inputs: {prompt: p}\nmock: {error: gone}"
    triggers = "skill: greeter\nshould_trigger_prompts: [{prompt: a}, {prompt: b}]\n"
    head = (
        f"skill: greeter\ngraders: [{SAYS}]\n{hook}mock: {{triggers: {{a: true, b: false}}}}\n"
        "metrics: [{name: trigger_accuracy, threshold: 0.4}, {name: task_completion, threshold: 0.9, gate: true}]\n"
    )
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL, "evals/greeter/trigger_tests.yaml": triggers})
    suite = mock_suite(tmp_path / "evals/greeter", tasks, head, ["skill_directories: [../../skills]"])
    results = waza("run", suite, cwd=tmp_path).results()
    words = {"passed": "PASSED", "failed": "FAILED", "error": "ERROR"}
    expected = {task["test_id"]: words[task["status"]] for task in results["tasks"]}
    reasons = [one for one in results["metadata"]["verdict"]["reasons"] if one.startswith("gate")]
    assert len(reasons) == 1
    log.unlink()
    ended = run_pytest(tmp_path, "evals", "-v", "-p", "xdist", "-n", "2")
    assert outcomes(ended) == {**expected, "gates": "FAILED"}
    assert reasons[0] in ended.out
    assert {"gw0", "gw1"} == {word for word in ("gw0", "gw1") if f"[{word}]" in ended.out}
    assert Counter(log.read_text().split()) == dict.fromkeys(tasks, 1)
    log.unlink()
    ended = run_pytest(tmp_path, f"{SUITE}::gates", "-v")  # alone they run what they need
    assert reasons[0] in ended.out
    assert Counter(log.read_text().split()) == dict.fromkeys(tasks, 1)
    log.unlink()
    ended = run_pytest(tmp_path, "evals", "-x")
    assert log.read_text().split() == ["t0"]
    assert "1 failed" in ended.out


def test_what_fails_is_run_again_alone_and_expressions_choose(project: Path) -> None:
    cache = ["-p", "cacheprovider", "-o", "cache_dir=kept"]
    args = [one for one in cache if one]
    run_pytest(project, *args, "evals", "-q", "-k", "not gates")
    ended = run_pytest(project, *args, "evals", "-v", "--lf")
    assert outcomes(ended) == {"bad": "FAILED", "broken": "ERROR"}
    for expression, names in (("slow", {"bad"}), ("greeting or good", {"bad", "good"}), ("gates", {"gates"})):
        ended = run_pytest(project, "evals", "-v", "-k", expression)
        assert set(outcomes(ended)) == names, expression


def test_trials_are_tests_and_pass_rules_are_kept(tmp_path: Path) -> None:
    tasks = {
        "once": "inputs: {prompt: p}\nmock: {executions: [{output: hello}, {output: bye}]}",
        "never": "inputs: {prompt: p}\nmock: {output: bye}",
    }
    mock_suite(tmp_path / "evals", tasks, f"graders: [{SAYS}]", ["trials_per_task: 2", "pass_rule: any"])
    ended = run_pytest(tmp_path, "evals", "-v", "--waza-per-trial")
    assert outcomes(ended, "evals/eval.yaml") == {
        "once[trial 1]": "PASSED",
        "once[trial 2]": "XFAIL",
        "never[trial 1]": "FAILED",
        "never[trial 2]": "FAILED",
    }
    ended = run_pytest(
        tmp_path, "evals", "-v", "--waza-trials", "1", "--waza-model", "m1", "--waza-model", "m2"
    )
    assert outcomes(ended, "evals/eval.yaml") == {
        "once[m1]": "PASSED", "once[m2]": "PASSED", "never[m1]": "FAILED", "never[m2]": "FAILED",
    }  # fmt: skip


def test_with_a_baseline_the_comparison_decides(tmp_path: Path) -> None:
    """The skill makes nothing better, so the gate fails, as the run does; tasks that fail say who decides."""
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    tasks = {"good": TASKS["good"], "bad": TASKS["bad"]}
    head = f"skill: greeter\ngraders: [{SAYS}]"
    suite = mock_suite(tmp_path / "evals", tasks, head, ["skill_directories: [../skills]"])
    reasons = "\n".join(
        waza("run", suite, "--baseline", cwd=tmp_path).results()["metadata"]["verdict"]["reasons"]
    )
    ended = run_pytest(tmp_path, "evals", "-v", "--waza-baseline")
    assert outcomes(ended, "evals/eval.yaml") == {"good": "PASSED", "bad": "XFAIL", "gates": "FAILED"}
    found = "gate baseline: success rate 50.0% with skills, 50.0% without"
    assert found in reasons
    assert found in ended.out


def test_mistakes_are_errors_of_the_collection_with_their_places(project: Path) -> None:
    write_tree(project, {"evals/other/eval.yaml": "name: o\nconfig: {executor: mok}\ntasks: [t.yaml]\n"})
    ended = run_pytest(project, "evals", "-q")
    assert ended.code == 2
    assert "evals/other/eval.yaml:2:10: config.executor: " in ended.out
    assert "Traceback" not in ended.out
    write_tree(
        project, {"evals/other/eval.yaml": "name: o\nconfig: {executor: mock}\ntasks: [t.yaml]\noddity: 1\n"}
    )
    write_tree(project, {"evals/other/t.yaml": "inputs: {prompt: p}\nmock: {output: x}\n"})
    ended = run_pytest(project, "evals/other", "-v")
    assert "evals/other/eval.yaml:4:1: oddity: warning: " in ended.out
    ended = run_pytest(project, "evals/other", "-q", "--waza-warnings-as-errors")
    assert ended.code == 2


def test_what_cannot_be_run_is_an_error_and_never_a_pass(project: Path) -> None:
    hook = "hooks: {before_run: [{command: exit 7, error_on_fail: true}]}\n"
    mock_suite(project / "evals/greeter", {"good": TASKS["good"]}, HEAD + hook)
    ended = run_pytest(project, "evals", "-v")
    assert set(outcomes(ended).values()) == {"ERROR"}
    assert "exit 7" in ended.out
    ended = run_pytest(project, "evals", "-v", "--setup-plan")
    assert ended.code == 0


def test_limits_of_a_run_are_said_to_hold_for_each_test_and_what_one_cuts_off_is_an_error(
    tmp_path: Path,
) -> None:
    task = "inputs: {prompt: p}\nmock: {output: hello, usage: {input_tokens: 60, output_tokens: 1}}"
    config = ["trials_per_task: 3", "limits: {max_total_tokens: 100}", "fail_fast: true"]
    mock_suite(tmp_path / "evals", {"a": task}, f"graders: [{SAYS}]", config)
    ended = run_pytest(tmp_path, "evals", "-v")
    assert outcomes(ended, "evals/eval.yaml") == {"a": "ERROR"}
    assert "did not run (limit)" in ended.out
    assert "config.limits of a run hold for each test by itself" in ended.out
    assert "config.fail_fast has no effect here; use pytest -x" in ended.out


def test_the_fixtures_run_and_load_suites_as_the_library_does(project: Path) -> None:
    code = """
import waza


def test_runs(waza_run, waza_suite):
    suite = waza_suite("evals/greeter/eval.yaml")
    assert [task.id for task in suite.tasks] == ["bad", "broken", "good"]
    results = waza_run("evals/greeter/eval.yaml", trials=1)
    (run,) = results.runs
    assert {task.test_id: task.status for task in run.tasks}["good"] == "passed"
    assert run.config.model_id == "other"
    assert len(results.to_rows()) == 3
"""
    write_tree(project, {"tests/test_suite.py": code})
    ended = run_pytest(project, "tests/test_suite.py", "-q", "--waza-model", "other")
    assert "1 passed" in ended.out, ended.out


@pytest.mark.slow
def test_the_wheel_alone_brings_the_plugin(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    python = install_waza(tmp_path_factory.mktemp("wheel"))
    call = ["-c", "import waza; print(waza.__file__)"]
    found = subprocess.run([python, *call], cwd=project, env=environment(), capture_output=True, check=True)
    assert str(python.parents[1]) in found.stdout.decode()
    ended = run_pytest(project, "evals", "-v", "-n", "2", python=python, plugin=False)
    assert outcomes(ended) == {"bad": "FAILED", "broken": "ERROR", "good": "PASSED", "gates": "FAILED"}
    ended = run_pytest(project, "-v", "-p", "no:waza", "evals", python=python, plugin=False)
    assert ended.code == 5, ended.out
