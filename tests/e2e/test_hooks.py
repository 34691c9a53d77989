"""Hooks: where they run, what they see, and what their failure does."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest
from tests.support.live import Project
from tests.support.program import mock_suite, newest_results, write_tree

TASK = "inputs: {prompt: p}"


def hook(command: str, **keys: object) -> str:
    return json.dumps({"command": command, **keys})


def hooks(**points: str) -> str:
    return f"hooks: {{{', '.join(f'{point}: [{entries}]' for point, entries in points.items())}}}"


def said(project: Project, name: str = "said.txt") -> list[str]:
    path = project.home / name
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def statuses(project: Project) -> dict[str, str]:
    return {one["test_id"]: one["status"] for one in newest_results(project.home)["tasks"]}


def test_each_runs_where_it_should_with_eight_workers(project: Project):
    write_tree(project.home, {"suite/below/keep": "", "suite/deeper/still/keep": ""})
    places = {"before_task": "below", "after_task": "deeper/still", "before_run": "", "after_run": "."}
    points = {
        point: hook(f'echo "{point} $(pwd)" >> "$SAID"', **({"working_directory": place} if place else {}))
        for point, place in places.items()
    }
    tasks = {f"t{n}": TASK for n in range(24)}
    suite = mock_suite(project.home / "suite", tasks, hooks(**points), ["parallel: true", "workers: 8"])
    ended = project.run("run", suite, env={"SAID": str(project.home / "said.txt")})
    assert ended.code == 0, ended.err
    home = (project.home / "suite").resolve()
    lines = said(project)
    assert lines[0] == f"before_run {home}"
    assert lines[-1] == f"after_run {home}"
    between = lines[1:-1]
    assert sorted(between) == sorted([f"before_task {home}/below", f"after_task {home}/deeper/still"] * 24)


def test_variables_are_values_not_braces(project: Project):
    task_line = (
        "echo '{{.Vars.x}}|{{ .Vars.x }}|{{.TaskName}}|{{.Iteration}}|{{.Attempt}}|{{.JobID}}|{{.Timestamp}}"
        "|{{ .Values.y }}|${{ z }}|$HOME' >> said.txt"
    )
    run_line = "echo '{{.Vars.x}}|{{.TaskName}}|{{.JobID}}' >> said.txt"
    points = hooks(
        before_run=hook(run_line),
        before_task=hook(task_line),
        after_task=hook(task_line),
        after_run=hook(run_line),
    )
    suite = mock_suite(project.home, {"t": f"name: The Task\n{TASK}"}, f"inputs: {{x: value ü}}\n{points}")
    ended = project.run("run", suite)
    assert ended.code == 0, ended.err
    run_id = project.runs[-1].name
    first, before, after, last = said(project)
    assert first == last == f"value ü||{run_id}"
    fields = before.split("|")
    assert fields[:6] == ["value ü", "value ü", "The Task", "0", "0", run_id]
    assert datetime.fromisoformat(fields[6]).tzinfo is not None
    assert fields[7:] == ["{{ .Values.y }}", "${{ z }}", "$HOME"]
    assert after.split("|")[:6] == fields[:6]


def test_an_unknown_variable_is_refused_before_anything_runs(project: Project):
    points = hooks(before_run=hook("touch ran"), after_task=hook("echo {{.Vars.xs}}"))
    suite = mock_suite(project.home, {"t": TASK}, f"inputs: {{x: '1'}}\n{points}")
    ended = project.run("run", suite)
    assert ended.code == 2
    assert "hooks.after_task[0].command" in ended.err
    assert "there is no variable `Vars.xs`; did you mean `Vars.x`?" in ended.err
    assert not (project.home / "ran").exists()


@pytest.mark.parametrize(("fatal", "code"), [(False, 0), (True, 2)])
def test_a_value_that_may_become_code_fails_the_hook_before_it_runs(project: Project, fatal: bool, code: int):
    command = 'touch ran; x="{{.Vars.x}}"; eval "$x"'
    points = hooks(before_run=hook(command, error_on_fail=fatal))
    suite = mock_suite(project.home, {"t": TASK}, f"inputs: {{x: touch pwned}}\n{points}")
    ended = project.run("run", suite)
    assert ended.code == code, ended.err
    assert "`eval` may take the value of `{{.Vars.x}}` for code" in ended.err
    assert 'write "$WAZA_VAR_x"' in ended.err
    assert not (project.home / "ran").exists()
    assert not (project.home / "pwned").exists()


def test_a_loop_that_is_piped_to_a_shell_is_refused_with_its_place(project: Project):
    points = hooks(before_run=hook("for i in 1 2; do echo {{.Vars.x}}; done | sh"))
    suite = mock_suite(project.home, {"t": TASK}, f"inputs: {{x: plain}}\n{points}")
    ended = project.run("run", suite)
    assert ended.code == 2
    assert re.search(
        r"eval\.yaml:\d+:\d+: .*hooks\.before_run\[0\]\.command: `\{\{\.Vars\.x\}\}` becomes part of",
        ended.err,
    )


def test_task_hooks_see_the_columns_of_a_row(project: Project):
    write_tree(
        project.home,
        {
            "rows.csv": "prompt,city\np,Graz\nq,Linz\n",
            "eval.yaml": (
                "name: s\nconfig: {executor: mock, model: m}\ntasks_from: rows.csv\ninputs: {city: none}\n"
                + hooks(
                    before_task=hook("echo {{.Vars.city}} {{.TaskName}} >> said.txt"),
                    before_run=hook("echo {{.Vars.city}} >> said.txt"),
                )
            ),
        },
    )
    ended = project.run("run", "eval.yaml")
    assert ended.code == 0, ended.err
    assert said(project) == ["none", "Graz row-1", "Linz row-2"]


def test_they_go_through_the_shell(project: Project):
    points = hooks(before_run=hook("for i in 1 2; do echo \"$i  'x'\"; done | sort -r > said.txt && exit 0"))
    assert project.run("run", mock_suite(project.home, {"t": TASK}, points)).code == 0
    assert said(project) == ["2  'x'", "1  'x'"]


def test_exit_codes_that_are_acceptable(project: Project):
    entries = [
        hook("echo a >> said.txt; exit 3", exit_codes=[0, 3], error_on_fail=True),
        hook("echo b >> said.txt; exit 3", exit_codes=[3], error_on_fail=True),
        hook("echo c >> said.txt; exit 0", exit_codes=[3]),
        hook("echo d >> said.txt; exit 1"),
        hook("echo e >> said.txt; kill -TERM $$", exit_codes=[0, 15, 143]),
        hook("echo f >> said.txt", working_directory="nowhere"),
    ]
    ended = project.run("run", mock_suite(project.home, {"t": TASK}, hooks(before_run=", ".join(entries))))
    assert ended.code == 0
    assert said(project) == ["a", "b", "c", "d", "e"]
    warned = [line for line in ended.err.splitlines() if "the before_run hook" in line]
    assert len(warned) == 4
    for line, reason in zip(warned, ["status 0", "status 1", "SIGTERM", "does not exist"], strict=True):
        assert reason in line


def test_a_fatal_before_run_stops_the_run_but_not_after_run(project: Project):
    points = hooks(
        before_run=f"{hook('echo one >> said.txt; echo the database is down >&2; exit 7', error_on_fail=True)}, "
        f"{hook('echo two >> said.txt')}",
        after_run=hook("echo after >> said.txt"),
        before_task=hook("echo task >> said.txt"),
    )
    ended = project.run("run", mock_suite(project.home, {"t": TASK}, points))
    assert ended.code == 2
    assert said(project) == ["one", "after"]
    assert "the before_run hook" in ended.err
    assert "exit status 7" in ended.err
    assert "the database is down" in ended.err
    assert "Traceback" not in ended.err
    assert project.runs == []


@pytest.mark.parametrize("workers", [1, 4])
def test_a_fatal_before_task_aborts_that_task_alone(project: Project, workers: int):
    points = hooks(
        before_task=f"{hook('test {{.TaskName}} != b', error_on_fail=True)}, {hook('echo in {{.TaskName}} >> said.txt')}",
        after_task=hook("echo out {{.TaskName}} >> said.txt"),
    )
    config = ["parallel: true", f"workers: {workers}", "trials_per_task: 2"]
    ended = project.run("run", mock_suite(project.home, {"a": TASK, "b": TASK, "c": TASK}, points, config))
    assert ended.code == 1
    assert statuses(project) == {"a": "passed", "b": "error", "c": "passed"}
    results = newest_results(project.home)
    aborted = results["tasks"][1]
    assert aborted["runs"] == []
    assert "stats" not in aborted
    assert (results["summary"]["total_tests"], results["summary"]["errors"]) == (3, 1)
    assert sorted(said(project)) == ["in a", "in c", "out a", "out c"]
    assert "exit status 1" in ended.err


def test_failing_after_hooks_are_warnings_and_end_their_list(project: Project):
    points = hooks(
        after_task=f"{hook('exit 4', error_on_fail=True)}, {hook('echo never >> said.txt')}",
        after_run=f"{hook('exit 5')}, {hook('echo on >> said.txt')}",
    )
    ended = project.run("run", mock_suite(project.home, {"t": TASK}, points))
    assert ended.code == 0
    assert "the after_task hook" in ended.err
    assert "exit status 4" in ended.err
    assert "exit status 5" in ended.err
    assert said(project) == ["on"]


def test_task_hooks_run_once_a_task_and_run_hooks_once_an_arm_and_model(project: Project):
    write_tree(project.home, {"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n"})
    points = hooks(
        **{
            point: hook(f"echo {point} >> said.txt")
            for point in ("before_run", "after_run", "before_task", "after_task")
        }
    )
    config = ["trials_per_task: 3", "skill_directories: [skills]"]
    suite = mock_suite(project.home, {"a": TASK, "b": TASK}, f"baseline: true\n{points}", config)
    project.run("run", suite, "--model", "one", "--model", "two")
    arm = ["before_run", *["before_task", "after_task"] * 2, "after_run"]
    assert said(project) == arm * 4


def test_after_run_runs_also_when_tasks_fail_or_break(project: Project):
    points = hooks(after_run=hook("echo after >> said.txt"))
    broken = f"{TASK}\nmock: {{error: the agent broke}}"
    assert project.run("run", mock_suite(project.home, {"a": broken}, points)).code == 1
    assert said(project) == ["after"]
    assert statuses(project) == {"a": "error"}


def test_what_a_hook_starts_is_gone_and_what_it_prints_is_shown_when_asked(project: Project):
    points = hooks(before_run=hook("echo to stdout; echo to stderr >&2"))
    suite = mock_suite(project.home, {"t": TASK}, points)
    loud, quiet = project.run("run", suite, "-v"), project.run("run", suite)
    assert "[hook:before_run] to stdout" in loud.err
    assert "[hook:before_run] to stderr" in loud.err
    assert "to stdout" not in quiet.err


def test_no_value_of_a_dataset_or_name_of_a_task_is_run(project: Project):
    write_tree(
        project.home, {"d.csv": "name,prompt,a\n\"x'; touch pwned; '\",p,$(touch pwned)\ny,p,`touch pwned`\n"}
    )
    before = [
        hook("echo 'Running task: {{.TaskName}}' >> said.txt"),
        hook('echo "{{.Vars.a}}" >> said.txt'),
        hook("echo {{.Vars.a}} >> said.txt"),
        hook('echo "$WAZA_VAR_a|$WAZA_TASK_NAME|$WAZA_ITERATION" >> said.txt'),
    ]
    suite = mock_suite(project.home, {}, hooks(before_task=", ".join(before)))
    suite.write_text(
        suite.read_text(encoding="utf-8").replace("tasks: ['tasks/*.yaml']", "tasks_from: d.csv"),
        encoding="utf-8",
    )
    ended = project.run("run", suite)
    assert ended.code == 0, ended.err
    assert not (project.home / "pwned").exists()
    assert said(project) == [
        "Running task: x'; touch pwned; '", "$(touch pwned)", "$(touch pwned)", "$(touch pwned)|x'; touch pwned; '|0",
        "Running task: y", "`touch pwned`", "`touch pwned`", "`touch pwned`|y|0",
    ]  # fmt: skip


def test_a_place_that_is_not_safe_is_refused_before_anything_runs(project: Project):
    points = hooks(before_run=hook("touch ran"), after_task=hook("sh -c 'echo {{.TaskName}}'"))
    ended = project.run("run", mock_suite(project.home, {"t": TASK}, points))
    assert ended.code == 2
    assert (
        "hooks.after_task[0].command: `{{.TaskName}}` becomes part of what another shell parses" in ended.err
    )
    assert not (project.home / "ran").exists()


def test_variables_with_names_that_no_environment_has(project: Project):
    said_all = hook(
        'echo "$WAZA_VAR_a_b $WAZA_VAR_a_b_2 {{.Vars.a-b}} {{.Vars.a.b}} {{.Vars.a_b}}" > said.txt'
    )
    values = "inputs: {a-b: dash, a.b: dot, a_b: plain}"
    ended = project.run(
        "run", mock_suite(project.home, {"t": TASK}, f"{values}\n{hooks(before_run=said_all)}")
    )
    assert ended.code == 0, ended.err
    assert said(project) == ["plain dash dash dot plain"]


def test_huge_and_many_values_do_not_keep_hooks_from_running(project: Project):
    values = {**{f"v{n}": "x" * 300 for n in range(9_000)}, "last": "here"}
    points = hooks(before_run=hook("echo {{.Vars.last}} > said.txt"))
    suite = mock_suite(project.home, {"t": TASK}, f"inputs: {json.dumps(values)}\n{points}")
    ended = project.run("run", suite)
    assert ended.code == 0, ended.err
    assert said(project) == ["here"]


def test_the_last_line_of_a_failed_hook_is_cut(project: Project):
    hook = "{command: \"head -c 3000000 /dev/zero | tr '\\\\0' x; echo end; exit 1\", error_on_fail: true}"
    suite = mock_suite(project.home, {"a": "inputs: {prompt: p}"}, f"hooks: {{before_run: [{hook}]}}")
    ended = project.run("run", suite)
    assert ended.code == 2
    assert "xxxend" in ended.err
    assert len(ended.err) < 20_000


def test_reports_say_why_a_task_did_not_start(project: Project):
    points = hooks(before_task=hook("echo no licence left; exit 7", error_on_fail=True))
    suite = mock_suite(project.home, {"a": TASK}, points)
    reports = ["--reporter", "junit:r.xml", "--reporter", "markdown:r.md", "-o", "r.json"]
    ended = project.run("run", suite, *reports)
    assert ended.code == 1
    assert "it did not run: the before_task hook" in ended.out
    assert "no licence left" in ended.out
    where = {name: (project.home / name).read_text() for name in ("r.xml", "r.md", "r.json")}
    for name, text in where.items():
        assert "no licence left" in text, name
    comment = project.run("run", suite, "--format", "github-comment")
    assert "no licence left" in comment.out
