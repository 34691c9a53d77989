"""The result cache: what is reused, under which conditions, and that it never lies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any
from unittest.mock import patch

import pytest
from tests.support.live import Project, lasting
from tests.support.program import Ended, mock_suite, newest_results, write_tree

from waza.suite.digest import cache_key, folder_digest
from waza.suite.load import load
from waza.suite.loading import LoadOptions

COUNTED = "graders: [{type: program, name: count, config: {command: sh, args: ['-c', 'cat >> \"$SIDE\"; echo >> \"$SIDE\"'], cache_inputs: []}}]"


def run(project: Project, *args: str) -> Ended:
    args = ("run", "eval.yaml", "--executor", "mock", "--cache", *args)
    return project.run(*args, env={"SIDE": str(project.home / "side.txt")})


def executed(project: Project) -> int:
    """How many trials were graded until now."""
    path = project.home / "side.txt"
    return len(path.read_text(encoding="utf-8").split()) if path.exists() else 0


def tasks_of(project: Project) -> dict[str, dict[str, Any]]:
    return {one["test_id"]: one for one in newest_results(project.home)["tasks"]}


def entries(project: Project) -> list[Path]:
    return sorted((project.home / ".waza-cache").glob("*"))


def test_repeats_stay_different_and_come_again_as_they_were(project: Project):
    counter = "\n".join(f"    - {{output: 'answer-{n}', delay_ms: {20 + n}}}" for n in range(5))
    text = f"inputs: {{prompt: p}}\nmock:\n  executions:\n{counter}"
    mock_suite(project.home, {"t": text}, COUNTED, ["trials_per_task: 5"])
    assert run(project).code == 0
    first = tasks_of(project)["t"]
    assert [one["final_output"] for one in first["runs"]] == [f"answer-{n}" for n in range(5)]
    assert "cached" not in first
    ended = run(project)
    again = tasks_of(project)["t"]
    assert executed(project) == 5
    assert again["cached"] is True
    assert again["runs"] == first["runs"]  # durations and all: as first measured
    assert again["stats"] == first["stats"]
    assert all(one["duration_ms"] >= 20 for one in again["runs"])
    assert "[cached]" in ended.err


def test_tasks_with_one_prompt_but_other_fixtures_share_nothing(project: Project):
    write_tree(project.home, {"one/f.txt": "1", "two/f.txt": "2"})
    tasks = {
        name: f"name: same\ninputs: {{prompt: p, files: [{{path: f.txt}}]}}\ncontext_dir: {name}"
        for name in ("one", "two")
    }
    tasks = {name: f"id: {name}\n{text}" for name, text in tasks.items()}
    mock_suite(project.home, tasks, COUNTED)
    for _ in range(2):
        assert run(project).code == 0
        found = tasks_of(project)
        assert found["one"]["runs"][0]["final_output"].endswith("f.txt\n1")
        assert found["two"]["runs"][0]["final_output"].endswith("f.txt\n2")
    assert [found[name]["cached"] for name in ("one", "two")] == [True, True]
    assert len(entries(project)) == 2


def replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return change


CHANGES: list[tuple[str, Callable[[Path], None]]] = [
    ("skills/s/SKILL.md", replaced("body", "soul")),
    ("skills/s/notes/more.md", replaced("more", "less")),
    ("agents/a.agent.md", replaced("Be kind", "Be brief")),
    ("fixtures/given.txt", replaced("given", "taken")),
    ("fixtures/rules.md", replaced("obey", "disobey")),
    ("fixtures/own.md", replaced("own", "other")),
    ("ctx/deep/file.txt", replaced("one", "two")),
    ("judge.sh", replaced("exit 0", "exit 0 # really")),
    ("mcp/u.json", replaced("1", "2")),
    ("gh.out", replaced("printed", "said")),
    ("eval.yaml", replaced("after_task", "before_task")),
    ("eval.yaml", replaced("name: suite", "name: other")),
    ("eval.yaml", replaced("timeout_seconds: 60", "timeout_seconds: 61")),
    ("eval.yaml", replaced("trials_per_task: 1", "trials_per_task: 2")),
    ("eval.yaml", replaced("max_attempts: 1", "max_attempts: 2")),
    ("eval.yaml", replaced("return: 1", "return: 2")),
    ("eval.yaml", replaced("exit_code: 0", "exit_code: 1")),
    ("eval.yaml", replaced("inputs: {x: '1'}", "inputs: {x: '2'}")),
    ("eval.yaml", replaced("name: judge", "name: referee")),
    ("tasks/t.yaml", replaced("prompt: p", "prompt: q")),
    ("tasks/t.yaml", replaced("output: said", "output: told")),
    ("tasks/t.yaml", replaced("output_contains: [aid]", "output_contains: [sai]")),
    ("tasks/t.yaml", replaced("HUE: red", "HUE: blue")),
]


@pytest.fixture
def everything(project: Project) -> Project:
    """A suite with all that may change a verdict."""
    write_tree(
        project.home,
        {
            "skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n",
            "skills/s/notes/more.md": "more",
            "agents/a.agent.md": "---\nname: a\ndescription: d\n---\nBe kind.\n",
            "fixtures/given.txt": "given",
            "fixtures/rules.md": "obey",
            "fixtures/own.md": "own",
            "ctx/deep/file.txt": "one",
            "judge.sh": "exit 0",
            "mcp/u.json": '{"description": "d", "responses": [{"return": 1}]}',
            "gh.out": "printed",
        },
    )
    head = (
        "skill: a\ninputs: {x: '1'}\nhooks: {after_task: [{command: 'true'}]}\n"
        "mcp_mocks: [{name: m, fixtures: mcp, tools: {t: {description: d, responses: [{return: 1}]}}}]\n"
        "command_mocks: [{name: gh, responses: [{args: [x], fixture: gh.out, exit_code: 0}]}]\n"
        f"{COUNTED[:-1]}, {{type: program, name: judge, config: {{command: sh, args: [judge.sh], cache_inputs: [judge.sh]}}}}]"
    )
    text = (
        "inputs: {prompt: p, files: [{path: given.txt}], context: {fixture: ctx}, environment: {HUE: red}}\n"
        "instruction_files: [own.md]\nmock: {output: said}\nexpected: {output_contains: [aid]}"
    )
    config = [
        "skill_directories: [skills]", "instruction_files: [rules.md]",
        "timeout_seconds: 60", "trials_per_task: 1", "max_attempts: 1",
    ]  # fmt: skip
    suite = mock_suite(project.home, {"t": text}, head, config)
    replaced("executor: mock", "executor: copilot-sdk")(
        suite
    )  # command mocks need it; we run with --executor mock
    return project


def shell() -> Path:
    """The program of the graders here."""
    found = which("sh")
    assert found
    return Path(found)


def key(project: Project) -> str:
    with patch.dict(os.environ, SIDE=str(project.home / "side.txt")):
        suite = load(project.home / "eval.yaml", LoadOptions(executor="mock"))
    read = sorted([project.home / "judge.sh", shell()])
    return cache_key(suite, suite.tasks[0], "test-model", "main", [folder_digest(path) for path in read])


@pytest.mark.parametrize(("name", "change"), CHANGES)
def test_whatever_may_change_a_verdict_changes_the_key(
    everything: Project, name: str, change: Callable[[Path], None]
):
    path = everything.home / name
    original, before = path.read_bytes(), key(everything)
    change(path)
    assert key(everything) != before
    path.write_bytes(original)
    assert key(everything) == before


@pytest.mark.slow
def test_another_key_is_a_miss_and_the_old_one_a_hit_again(everything: Project):
    project = everything
    run(project)
    assert [path.stem for path in entries(project)] == [key(project)]
    for name, change in CHANGES[::6]:
        path = project.home / name
        original, before = path.read_bytes(), executed(project)
        change(path)
        run(project)
        assert "cached" not in tasks_of(project)["t"]
        assert executed(project) > before
        path.write_bytes(original)
        run(project)
        assert tasks_of(project)["t"]["cached"] is True


@pytest.mark.slow
def test_what_only_orders_work_is_a_hit(everything: Project):
    project = everything
    run(project)
    count = executed(project)
    for args in (["--parallel", "--workers", "3"], ["-v"], ["--keep-workspace"], ["--task", "t"]):
        run(project, *args)
        assert "cached" in tasks_of(project)["t"], args
    assert executed(project) == count
    for args in (["--model", "other"], ["--judge-model", "j"], ["--trials", "2"], ["--no-skills"]):
        run(project, *args)
        assert "cached" not in tasks_of(project)["t"], args


def test_another_version_is_a_miss(project: Project, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SIDE", str(project.home / "side.txt"))
    suite = load(mock_suite(project.home, {"t": "inputs: {prompt: p}"}, COUNTED))
    run(project)
    (entry,) = entries(project)
    own = suite, suite.tasks[0], "test-model", "main", [folder_digest(shell())]
    assert entry.stem == cache_key(*own)
    monkeypatch.setattr("waza.suite.digest.__version__", "0.0.0")
    assert entry.stem != cache_key(*own)


def test_failures_are_reused_and_errors_are_not(project: Project):
    failing = "inputs: {prompt: p}\nmock: {output: no}\ngraders: [{type: text, name: t, config: {contains: ['yes']}}]"
    broken = "inputs: {prompt: p}\nmock: {output: x, error: broke}"
    mixed = "inputs: {prompt: p}\nmock: {executions: [{output: x}, {error: broke}]}"
    mock_suite(
        project.home, {"fails": failing, "breaks": broken, "mixed": mixed}, COUNTED, ["trials_per_task: 2"]
    )
    for _ in range(2):
        assert run(project).code == 1
    found = tasks_of(project)
    assert {name: task["status"] for name, task in found.items()} == {
        "breaks": "error",
        "fails": "failed",
        "mixed": "error",
    }
    assert {name: "cached" in task for name, task in found.items()} == {
        "breaks": False,
        "fails": True,
        "mixed": False,
    }
    assert len(entries(project)) == 1


@pytest.mark.parametrize(
    "damage", [b"", b"{", b'{"trials": []}', b'{"trials": [{"run": {"run_number": 1}}]}', b"\xff\x00"]
)
def test_a_damaged_entry_is_a_miss_and_is_mended(project: Project, damage: bytes):
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: x}"}, COUNTED)
    run(project)
    (entry,) = entries(project)
    whole = lasting(tasks_of(project)["t"])
    entry.write_bytes(damage)
    ended = run(project)
    assert ended.code == 0
    assert "Traceback" not in ended.err
    assert executed(project) == 2
    assert lasting(tasks_of(project)["t"]) == whole
    run(project)
    assert executed(project) == 2
    assert tasks_of(project)["t"]["cached"] is True


def test_an_entry_with_another_trial_is_a_miss(project: Project):
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: x}"}, COUNTED)
    run(project)
    (entry,) = entries(project)
    text = entry.read_text(encoding="utf-8")
    assert '"run_number":1' in text
    entry.write_text(text.replace('"run_number":1', '"run_number":2'), encoding="utf-8")
    assert run(project).code == 0
    assert executed(project) == 2


def test_hooks_run_also_for_what_is_cached(project: Project):
    points = "hooks: {before_task: [{command: 'echo in >> hooks.txt'}], after_task: [{command: 'echo out >> hooks.txt'}]}"
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: x}"}, f"{COUNTED}\n{points}")
    run(project)
    run(project)
    assert executed(project) == 1
    assert (project.home / "hooks.txt").read_text().split() == ["in", "out"] * 2


def test_it_is_off_unless_wanted_and_both_ways_of_wanting_it_work(project: Project):
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: x}"}, COUNTED)
    env = {"SIDE": str(project.home / "side.txt")}
    project.run("run", "eval.yaml", env=env)
    assert entries(project) == []
    write_tree(project.home, {".waza.yaml": "cache: {enabled: true, dir: kept}\n"})
    project.run("run", "eval.yaml", env=env)
    project.run("run", "eval.yaml", env=env)
    assert executed(project) == 2
    assert len(list((project.home / "kept").glob("*.json"))) == 1
    project.run("run", "eval.yaml", "--no-cache", env=env)
    assert executed(project) == 3
    assert "cached" not in tasks_of(project)["t"]


@pytest.mark.slow
def test_ungraded_runs_and_snapshots_that_are_to_be_rewritten_bypass_it(project: Project):
    write_tree(project.home, {"snap/want.txt": "old\n"})
    text = (
        'inputs: {prompt: p}\nmock: {output: x, files: [{path: got.txt, content: "new\\n"}]}\n'
        "graders: [{type: diff, name: d, config: {expected_files: [{path: got.txt, snapshot: snap/want.txt}]}}]"
    )
    mock_suite(project.home, {"t": text})
    assert run(project).code == 1
    assert run(project).code == 1
    assert tasks_of(project)["t"]["cached"] is True
    run(project, "--skip-graders")
    assert tasks_of(project)["t"]["status"] == "skipped"
    assert run(project, "--update-snapshots").code == 0
    assert (project.home / "snap/want.txt").read_text() == "new\n"
    assert run(project).code == 0


def test_a_cache_that_cannot_be_written_is_a_warning(project: Project):
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: x}"}, COUNTED)
    write_tree(project.home, {".waza-cache": "a file, no directory"})
    ended = run(project)
    assert ended.code == 0
    assert "is not cached" in ended.err


def test_the_verdict_of_a_behavior_grader_comes_with_its_answer(project: Project):
    grader = "{type: behavior, name: b, config: {max_tool_calls: 3}}"
    mock_suite(project.home, {"t": "inputs: {prompt: p}\nmock: {output: x}"}, f"{COUNTED[:-1]}, {grader}]")
    assert run(project).code == 0
    first = tasks_of(project)["t"]["runs"]
    assert run(project).code == 0
    assert tasks_of(project)["t"] | {"cached": True} == tasks_of(project)["t"]
    assert tasks_of(project)["t"]["runs"] == first


PROGRAM_FILES = {
    "suite/tools/grade.py": "import helper, pathlib, sys\nsys.exit(helper.CODE)\n",
    "suite/tools/helper.py": "CODE = 0\n",
    "suite/tools/.hidden": "exit 0\n",
    "suite/tools/vendor/lib.sh": "exit 0\n",
    "suite/tools/data/words.txt": "one\n",
    "suite/data.txt": "one\n",
    "outside/grade.sh": "exit 0\n",
    "mygrade.py": "import sys; sys.exit(0)\n",
    "bin/judge": "#!/bin/sh\nexit 0\n",
}
# How a program is called, and a change after which it judges otherwise.
PROGRAMS = {
    "helper": ("python3", ["tools/grade.py"], "suite/tools/helper.py", "CODE = 1\n"),
    "hidden": ("sh", ["-c", '. "$WAZA_HOME/suite/tools/.hidden"'], "suite/tools/.hidden", "exit 1\n"),
    "vendored": ("sh", ["-c", '. "$WAZA_HOME/suite/tools/vendor/lib.sh"'], "suite/tools/vendor/lib.sh", "exit 1\n"),
    "module": ("python3", ["-m", "mygrade"], "mygrade.py", "import sys; sys.exit(1)\n"),
    "outside": ("sh", ["../outside/grade.sh"], "outside/grade.sh", "exit 1\n"),
    "on-path": ("judge", [], "bin/judge", "#!/bin/sh\nexit 1\n"),
}  # fmt: skip


def graded_by_a_program(project: Project, command: str, args: list[str], more: str = "") -> None:
    write_tree(project.home, PROGRAM_FILES)
    (project.home / "bin/judge").chmod(0o755)
    grader = f"{{type: program, name: g, config: {{command: {command}, args: {json.dumps(args)}{more}}}}}"
    mock_suite(
        project.home / "suite", {"t": "inputs: {prompt: p}\nmock: {output: x}"}, f"graders: [{grader}]"
    )


def run_suite(project: Project, **env: str) -> Ended:
    args = ("run", "suite/eval.yaml", "--cache", "--cache-dir", "shelf", "-o", "suite/tools/out.json")
    path = f"{project.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return project.run(*args, env={"WAZA_HOME": str(project.home), "PATH": path, **env})


def how(project: Project) -> tuple[bool, bool]:
    task = newest_results(project.home)["tasks"][0]
    return task.get("cached", False), task.get("judged_anew", False)


@pytest.mark.parametrize("case", PROGRAMS)
def test_a_program_judges_again_whatever_its_code_hangs_on(project: Project, case: str):
    command, args, file, text = PROGRAMS[case]
    graded_by_a_program(project, command, args)
    for expected in ((False, False), (True, True)):
        ended = run_suite(project)
        assert (ended.code, how(project)) == (0, expected), ended.err
    (project.home / file).write_text(text, encoding="utf-8")
    assert (run_suite(project).code, how(project)) == (1, (True, True))


def test_an_environment_variable_that_a_program_reads_is_read_again(project: Project):
    graded_by_a_program(project, "python3", ["-c", "import os, sys; sys.exit(int(os.environ['CODE']))"])
    assert [run_suite(project, CODE=code).code for code in "001"] == [0, 0, 1]
    assert how(project) == (True, True)


def test_what_cache_inputs_lists_counts_and_the_verdict_is_kept(project: Project):
    graded_by_a_program(
        project, "python3", ["tools/grade.py"], ", cache_inputs: [data.txt, tools/helper.py, tools/data]"
    )
    for expected in (False, True):
        assert run_suite(project).code == 0
        assert how(project) == (expected, False)
    write_tree(project.home, {"suite/tools/data/.more": "hidden"})
    run_suite(project)
    assert how(project) == (False, False), "a hidden file was added"
    listed = "data.txt", "tools/helper.py", "tools/data/.more"
    for name, kept in [("tools/vendor/lib.sh", True), *((name, False) for name in listed)]:
        (project.home / "suite" / name).write_text("CODE = 0 # changed\n", encoding="utf-8")
        run_suite(project)
        assert how(project) == (kept, False), name


def test_a_variable_that_the_arguments_name_counts(project: Project):
    graded_by_a_program(project, "sh", ["-c", 'exit "${CODE}"'], ", cache_inputs: []")
    assert [run_suite(project, CODE=code).code for code in "001"] == [0, 0, 1]
    assert how(project) == (False, False)


def test_a_program_on_path_counts_although_cache_inputs_lists_nothing(project: Project):
    graded_by_a_program(project, "judge", [], ", cache_inputs: []")
    assert [run_suite(project).code for _ in range(2)] == [0, 0]
    assert how(project) == (True, False)
    (project.home / "bin/judge").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert run_suite(project).code == 1


def test_more_than_can_be_looked_through_is_not_cached_and_that_is_reported(project: Project):
    write_tree(project.home, {f"suite/many/{number}": "" for number in range(4097)})
    graded_by_a_program(project, "sh", ["-c", "exit 0"], ", cache_inputs: [many]")
    for _ in range(2):
        ended = run_suite(project)
        assert (ended.code, how(project)) == (0, (False, False))
        many = project.home / "suite/many"
        assert f"t is not cached: {many} holds more than 4,096 files or 256 MB" in ended.err
        assert f"changes in {many} are not noticed: {many} holds more than 4,096 files" in ended.err


def test_cache_inputs_that_are_not_there_are_refused(project: Project):
    graded_by_a_program(project, "python3", ["tools/grade.py"], ", cache_inputs: [nothing.txt]")
    ended = project.run("run", "suite/eval.yaml")
    assert ended.code == 2
    assert "there is no 'nothing.txt' beside the suite" in ended.err
