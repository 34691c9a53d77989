"""Several suites and models that are started together."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from tests.support.live import Project, nap, survivors
from tests.support.program import Ended, environment, mock_suite, strict_json, waza, write_tree

SKILL = "---\nname: {0}\ndescription: d\n---\nbody\n"
SUITE = (
    "name: {0}\nskill: {0}\nconfig: {{executor: mock, model: m}}\ntasks: ['t.yaml']\n"
    "hooks: {{before_run: [{{command: 'echo {0} >> ../../order.txt'}}]}}\n"
)
TASK = "id: t\ninputs: {prompt: p}\nmock: {output: ok}\ngraders: [{type: text, name: g, config: {contains: [ok]}}]\n"


def skills(root: Path, *names: str, **broken: str) -> None:
    """Write skills with a suite each; `broken` replaces the suites of some."""
    for name in names:
        suite = broken.get(name, SUITE.format(name))
        files = {"SKILL.md": SKILL.format(name), "eval.yaml": suite, "t.yaml": TASK}
        write_tree(root, {f"skills/{name}/{path}": text for path, text in files.items()})


def test_a_suite_with_mistakes_keeps_no_other_from_running(tmp_path: Path):
    skills(
        tmp_path, "ada", "bob", "cy", bob="name: bob\nconfig: {executor: mock, model: m}\ntasks: [3, []]\n"
    )
    ended = waza("run", "--discover", "skills", cwd=tmp_path)
    assert ended.code == 2
    assert "skills/bob/eval.yaml:3:" in ended.err
    assert "Not run: bob: its files have mistakes" in ended.err
    assert (tmp_path / "order.txt").read_text().split() == ["ada", "cy"]
    assert len(list((tmp_path / ".waza" / "runs").iterdir())) == 2


def test_a_suite_that_cannot_start_keeps_no_other_from_running(tmp_path: Path):
    hook = "hooks: {before_run: [{command: 'false', error_on_fail: true}]}\n"
    broken = SUITE.format("ada").split("hooks")[0] + hook
    skills(tmp_path, "ada", "bob", ada=broken)
    ended = waza("run", "--discover", "skills", "--json", "--no-save", cwd=tmp_path)
    assert ended.code == 2
    assert "Error: the before_run hook `false` failed (exit status 1)" in ended.err
    assert "Not run: ada on m: the before_run hook" in ended.err
    assert '"eval_name": "bob"' in ended.out


def test_where_every_suite_has_mistakes_all_of_them_are_shown(tmp_path: Path):
    skills(tmp_path, "ada", "bob", ada="name: [", bob="name: 3\n")
    ended = waza("run", "--discover", "skills", "--json", cwd=tmp_path)
    assert ended.code == 2
    told = [(one["eval_name"], one["metadata"]["run_status"], one["tasks"]) for one in strict_json(ended.out)]
    assert told == [("ada", "not_started", []), ("bob", "not_started", [])]
    assert "ada/eval.yaml:2:1: not valid YAML" in ended.err
    assert "bob/eval.yaml:1:" in ended.err
    assert not (tmp_path / ".waza").exists()


def test_a_secret_typed_in_a_command_is_not_in_the_hint_for_going_on_with_a_suite(tmp_path: Path):
    mock_suite(tmp_path, {"a": "name: t\ninputs: {prompt: p}\nmock: {output: hello}"})
    flags = ["--task", "t", "--task", "hush-hush-hush*"]
    ended = waza("run", "eval.yaml", *flags, cwd=tmp_path, env={"DESK_TOKEN": "hush-hush-hush"})
    shown = hint(ended.err)
    assert " --task t --task '[REDACTED]*' --resume=" in shown
    assert shown.endswith(" (write your own secrets in place of [REDACTED])")


def hint(text: str) -> str:
    """The command that a call printed for going on with it."""
    lines = text.replace("If this is cut off, g", "G").splitlines()
    return next(line for line in lines if line.startswith("Go on with: ")).removeprefix("Go on with: ")


def typed(command: str, project: Project) -> Ended:
    """Run a command line as a person would, in a shell."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=project.home,
        env=environment({"TMPDIR": str(project.temp)}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr, project.home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=str)
def test_suites_that_did_not_start_are_run_by_the_hint(tmp_path: Path, number: signal.Signals):
    project, duration = Project(tmp_path), nap()
    waits = f"hooks: {{before_run: [{{command: 'echo ada >> ../../order.txt; [ -e ../../go ] || sleep {duration}'}}]}}\n"
    skills(project.home, "ada", "bob", "cy", ada=SUITE.format("ada").split("hooks")[0] + waits)
    (project.home / "go").touch()
    asked = ["run", "--discover", "skills", "--reporter", "json:out.json"]
    assert project.run(*asked).code == 0  # an older invocation, which is finished
    (project.home / "go").unlink()
    with project.started(*asked) as live:
        live.until(lambda: survivors(duration))
        live.send(number)
        ended = live.ended()
    assert ended.code == (130 if number == signal.SIGINT else -9)
    if number == signal.SIGINT:
        assert [line for line in ended.err.splitlines() if line.startswith("Not run")] == [
            "Not run: bob on m: interrupted",
            "Not run: cy on m: interrupted",
        ]
    assert len(project.runs) == 4  # the one that was cut off has its journal, the others have not begun
    (project.home / "order.txt").unlink()
    (project.home / "go").touch()
    again = typed(hint(ended.err), project)
    assert again.code == 0, again.err
    assert (project.home / "order.txt").read_text().split() == ["ada", "bob", "cy"]
    assert "is finished" not in again.err
    assert len(project.runs) == 6
    third = typed(hint(ended.err), project)
    assert (third.code, third.err.count("is finished: it is only reported again")) == (0, 3)
    assert (project.home / "order.txt").read_text().split() == ["ada", "bob", "cy"]
    for process in survivors(duration):
        assert number == signal.SIGKILL
        subprocess.run(["kill", "-9", str(process)], check=True)


def test_a_suite_that_was_mended_is_run_by_the_same_command_with_resume(tmp_path: Path):
    skills(tmp_path, "ada", "bob", bob="name: 3\n")
    asked = ["run", "--discover", "skills"]
    assert waza(*asked, cwd=tmp_path).code == 2
    skills(tmp_path, "bob")
    again = waza(*asked, "--resume", cwd=tmp_path)
    assert again.code == 0, again.err
    assert again.err.count("is finished") == 1
    assert (tmp_path / "order.txt").read_text().split() == ["ada", "bob"]


def parallel_suites(root: Path, *names: str, waits_for: str = "") -> None:
    """Write skills with `parallel`; a trial of the first one waits until the suite `waits_for` has ended."""
    for name in names:
        until = f"until grep -q {waits_for} {root}/order.txt; do sleep 0.02; done"
        waits = f"{{type: program, name: w, config: {{command: sh, args: ['-c', '{until}']}}}}"
        suite = [
            f"name: {name}",
            "config: {executor: mock, model: m, parallel: true, workers: 4, trials_per_task: 2}",
            "tasks: ['t.yaml']",
            f"graders: [{waits if waits_for and name == names[0] else ''}]",
            f"hooks: {{after_run: [{{command: 'echo {name} >> ../../order.txt'}}]}}",
        ]
        files = {"SKILL.md": SKILL.format(name), "eval.yaml": "\n".join(suite), "t.yaml": TASK}
        write_tree(root, {f"skills/{name}/{path}": text for path, text in files.items()})


def test_a_resume_that_finds_nothing_names_the_invocation_that_was_perhaps_meant(tmp_path: Path):
    suite = mock_suite(tmp_path, {"t": "inputs: {prompt: p}"})
    waza("run", suite, "--model", "m1", "--model", "m2", cwd=tmp_path)
    ended = waza("run", suite, "--model", "m3", "--resume", cwd=tmp_path)
    (first, _) = sorted(path.stem for path in (tmp_path / ".waza" / "invocations").iterdir())
    assert "a new one starts; the newest one, " in ended.err
    assert f"{first}, is of eval.yaml on m1, eval.yaml on m2; call waza as then to go on with it" in ended.err


def test_suites_share_workers_and_are_reported_in_the_order_of_the_plan(tmp_path: Path):
    (tmp_path / "order.txt").touch()
    parallel_suites(tmp_path, "ada", "bob", "cy", waits_for="cy")
    ended = waza("run", "--discover", "skills", "--json", "-v", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert (tmp_path / "order.txt").read_text().split() == ["bob", "cy", "ada"]  # others ran while ada waited
    assert [one["eval_name"] for one in strict_json(ended.out)] == ["ada", "bob", "cy"]
    shown = [line for line in ended.err.splitlines() if line.startswith(("Benchmark", "["))]
    assert [line for line in shown if "] " in line and line.startswith("[") and " on m" in line] == [
        "[1/3] ada on m",
        "[2/3] bob on m",
        "[3/3] cy on m",
    ]
    assert [line for line in shown if line.startswith("Benchmark")] == [
        "Benchmark: ada",
        "Benchmark: bob",
        "Benchmark: cy",
    ]


def test_a_suite_without_parallel_runs_alone(tmp_path: Path):
    parallel_suites(tmp_path, "ada", "bob")
    path = tmp_path / "skills" / "ada" / "eval.yaml"
    path.write_text(path.read_text().replace("parallel: true, ", ""))
    assert waza("run", "--discover", "skills", cwd=tmp_path).code == 0
    assert (tmp_path / "order.txt").read_text().split() == ["ada", "bob"]


def test_trials_of_one_task_run_side_by_side_unless_a_hook_sets_them_up(tmp_path: Path):
    # each trial waits for the other one to begin, so they end only when both run at once
    meet = "touch $0.$1; [ -e $0.alone ] || until [ -e $0.1 ] && [ -e $0.2 ]; do sleep 0.02; done"
    executions = ", ".join(f"{{output: '{n}'}}" for n in (1, 2))
    grader = f"""{{type: program, name: g, config: {{command: sh, args: ['-c', 'read n; set -- "$n"; {meet}', {tmp_path}/met]}}}}"""
    grader = grader.replace("$0", f"{tmp_path}/met")
    task = f"inputs: {{prompt: p}}\nmock: {{executions: [{executions}]}}\ngraders: [{grader}]\n"
    config = ["parallel: true", "workers: 2", "trials_per_task: 2"]
    suite = mock_suite(tmp_path, {"t": task}, config=config)
    ended = waza("run", suite, "-v", cwd=tmp_path)
    assert ended.code == 0, ended.err
    hooks = f"hooks: {{before_task: [{{command: 'rm {tmp_path}/met.*; touch {tmp_path}/met.alone'}}]}}"
    mock_suite(tmp_path, {"t": task}, hooks, config)
    ended = waza("run", suite, "-v", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "Parallel" not in ended.err  # there is nothing to run at once
