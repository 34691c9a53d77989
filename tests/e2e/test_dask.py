"""`waza run --backend dask`: trials on the workers of a real cluster of two processes, and what does not work there."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.e2e.test_shards import load, plain, project
from tests.e2e.test_spending_limits import PRICES, USED, limit_of, task
from tests.e2e.test_spending_limits import suite as limited
from tests.support.program import command, environment, mock_suite, waza, write_tree

pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="workers are killed by signals")

AGENT = """\
import os, pathlib, signal, sys
import psutil

prompt = sys.stdin.read() if not sys.argv[1:] else sys.argv[1]
shared = pathlib.Path(os.environ["SHARED"])
with (shared / "executions").open("a") as log:
    log.write(prompt.strip() + "\\n")
if "kill" in prompt:
    try:
        (shared / "killed").touch(exist_ok=False)
    except FileExistsError:
        pass
    else:
        worker = next(one for one in psutil.Process().parents() if "spawn_main" in " ".join(one.cmdline()))
        os.kill(worker.pid, signal.SIGKILL)
print("Hello", prompt, os.environ.get("MY_API_TOKEN", ""))
"""


def agent_suite(root: Path, names: tuple[str, ...]) -> Path:
    """A suite whose agent is a program that can kill its worker."""
    write_tree(root, {"agent.py": AGENT})
    write_tree(
        root,
        {
            "eval.yaml": f"name: agents\nconfig:\n  executor: command\n  trials_per_task: 2\n  executor_options:\n"
            f"    command: '{sys.executable} $WAZA_SUITE_DIR/agent.py'\ntasks: ['tasks/*.yaml']\n",
            **{
                f"tasks/{name}.yaml": f"id: {name}\ninputs: {{prompt: {name}}}\nexpected: {{output_contains: [Hello]}}\n"
                for name in names
            },
        },
    )
    return root


def test_a_run_on_two_workers_gives_the_results_of_a_local_run(tmp_path: Path):
    root = project(tmp_path / "whole", hooks=False)
    local = waza("run", "eval.yaml", "--baseline", "-o", "local.json", cwd=root)
    there = waza("run", "eval.yaml", "--baseline", "--backend=dask", "-w2", "-o", "dask.json", "-v", cwd=root)
    assert (local.code, there.code) == (1, 1), there.err
    found = load(root / "dask.json")
    assert plain(found) == plain(load(root / "local.json"))
    assert found["trigger_metrics"]["accuracy"] == 1
    assert "Greet ada." in there.err + there.out


def test_a_worker_that_is_killed_loses_nothing_and_its_trial_counts_once(tmp_path: Path):
    root, shared = agent_suite(tmp_path / "suite", ("a", "b", "kill", "z")), tmp_path / "shared"
    shared.mkdir()
    variables = {"SHARED": str(shared), "MY_API_TOKEN": "tok-0123456789abcdef"}
    there = waza("run", "eval.yaml", "--backend=dask", "-w2", "-o", "dask.json", cwd=root, env=variables)
    assert there.code == 0, there.err
    executions = (shared / "executions").read_text().split()
    assert (shared / "killed").exists()
    assert executions.count("kill") == 3
    journal = next(root.glob(".waza/runs/*/journal.ndjson")).read_text()
    assert journal.count('{"trial":') == 8
    assert waza("run", "eval.yaml", "-o", "local.json", cwd=root, env=variables).code == 0
    assert plain(load(root / "dask.json")) == plain(load(root / "local.json"))
    assert "tok-0123456789abcdef" not in journal
    assert "Hello kill [REDACTED]" in journal


def test_what_workers_need_travels_and_nothing_of_it_stays(tmp_path: Path):
    root = tmp_path / "repository"
    check = (
        "import pathlib, sys\nhere = pathlib.Path(__file__).parent\n"
        "settings = (here / '../../.waza.yaml').read_text()\n"
        "sys.exit('s3cr3t' in settings or 'evalFile' not in settings or (here / '.env').exists())\n"
    )
    write_tree(
        root,
        {
            ".waza.yaml": "storage: {provider: azure-blob, accountName: a, connectionString: s3cr3t, enabled: false}\n",
            "evals/one/.env": "API_KEY=other-secret\n",
            "evals/one/fixtures/data.txt": "deep",
            "evals/one/check.py": check,
            "common/SKILL.md": "---\nname: common\ndescription: c\n---\nDo.\n",
        },
    )
    task = (
        "id: t\ninputs: {prompt: p, files: [{path: data.txt}]}\nmock: {output: Hello}\n"
        f"graders:\n- {{type: program, name: check, config: {{command: {sys.executable}, args: [check.py]}}}}\n"
        "- {type: file, name: data, config: {content_patterns: [{path: data.txt, must_match: [deep]}]}}\n"
    )
    mock_suite(root / "evals/one", {"t": task}, config=["skill_directories: [../../common]"])
    ended = waza("run", "evals/one", "--backend=dask", "-w1", cwd=root, env={"TMPDIR": str(tmp_path)})
    assert ended.code == 0, ended.out + ended.err
    (run,) = ended.results()["tasks"][0]["runs"]
    assert run["validations"]["check"]["details"]["args"] == [str(root / "evals/one/check.py")]
    assert not [path for path in tmp_path.rglob("waza-*") if not path.is_relative_to(root)]


def test_what_a_cluster_cannot_do_is_refused_by_name(tmp_path: Path):
    root = project(tmp_path / "whole")
    words = ["--keep-workspace", "--update-snapshots", "--cache", "--session-log", "--snapshot=e"]
    ended = waza("run", "eval.yaml", "--backend=dask", *words, cwd=root)
    assert ended.code == 2
    for name in (
        "--keep-workspace",
        "--update-snapshots",
        "--cache",
        "--session-log",
        "--snapshot",
        "hooks of suite",
    ):
        assert f"{name}:" in ended.err or f"{name} (use" in ended.err, name
    assert not (root / ".waza/runs").exists()
    for options, text in (
        (["--backend=dusk"], "there is no backend 'dusk'; use dask"),
        (["--scheduler=tcp://127.0.0.1:1"], "--scheduler is of a cluster; give --backend dask"),
        (["--backend=dask", "--resources=GPU"], "write a name and a number above 0, such as GPU=1"),
    ):
        ended = waza("run", "eval.yaml", *options, cwd=root)
        assert (ended.code, text in ended.err) == (2, True), ended.err


def test_a_trial_whose_workers_die_again_and_again_is_an_error_and_the_others_count(tmp_path: Path):
    root, shared = agent_suite(tmp_path / "suite", ("a", "kill")), tmp_path / "shared"
    shared.mkdir()
    agent = (root / "agent.py").read_text().replace('(shared / "killed").touch(exist_ok=False)', "pass")
    (root / "agent.py").write_text(agent)
    words = ("run", "eval.yaml", "--trials=1", "--backend=dask", "-w2")
    ended = waza(*words, cwd=root, env={"SHARED": str(shared)})
    assert ended.code == 1, ended.err
    runs = {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}
    assert (runs["a"]["status"], runs["kill"]["status"]) == ("passed", "error")
    assert runs["kill"]["error_msg"].startswith(
        "4 workers died while they ran it, the last one at tls://127.0.0.1:"
    )
    again = waza(*words, "--resume", cwd=root, env={"SHARED": str(shared)})
    assert again.results()["tasks"][1]["runs"][0]["error_retries"] == 1
    assert (shared / "executions").read_text().split().count("a") == 1


@contextmanager
def worker(address: str, *options: str, path: str = "", **variables: str) -> Iterator[None]:
    """A worker of a cluster, which has joined it, with environment variables of its own."""
    words = ("--no-nanny", "--nthreads=2", "--no-dashboard", *options)
    started = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, *words],
        stderr=subprocess.PIPE,
        text=True,
        env=environment({**variables, **({"PYTHONPATH": path} if path else {})}),
    )
    assert started.stderr is not None
    next(line for line in started.stderr if "Registered to" in line)
    try:
        yield
    finally:
        started.terminate()
        started.communicate()


@contextmanager
def cluster() -> Iterator[str]:
    """A scheduler without workers; yields its address."""
    with scheduler() as (address, _):
        yield address


@contextmanager
def scheduler() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A scheduler, with its address."""
    started = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--host=127.0.0.1", "--port=0"],
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert started.stderr is not None
    found = (re.search(r"Scheduler at:\s+(tcp://\S+)", line) for line in started.stderr)
    try:
        yield next(one[1] for one in found if one), started
    finally:
        started.terminate()
        started.communicate()


def test_a_cluster_is_reached_by_its_scheduler_and_keeps_running(tmp_path: Path):
    root = project(tmp_path / "whole", hooks=False, failing=())
    with cluster() as address, worker(address, "--resources=agents=1"):
        words = ("--backend=dask", f"--scheduler={address}", "--resources=agents=1")
        ended = waza("run", "eval.yaml", *words, "-o", "dask.json", cwd=root)
        assert ended.code == 0, ended.err
        assert waza("run", "eval.yaml", *words, "--shard=1/2", cwd=root).code == 0
    assert waza("run", "eval.yaml", "-o", "local.json", cwd=root).code == 0
    assert plain(load(root / "dask.json")) == plain(load(root / "local.json"))
    ended = waza("run", "eval.yaml", "--backend=dask", "--scheduler=nonsense://x", cwd=root)
    assert (ended.code, "nonsense://x cannot be reached" in ended.err) == (2, True), ended.err


def test_workers_with_another_waza_are_refused_before_anything_runs(tmp_path: Path):
    root = project(tmp_path / "whole", hooks=False)
    write_tree(tmp_path / "other", {"waza/__init__.py": "", "waza/version.py": "__version__ = '0.0.1'\n"})
    with cluster() as address, worker(address, path=str(tmp_path / "other")):
        ended = waza("run", "eval.yaml", "--backend=dask", f"--scheduler={address}", cwd=root)
    assert ended.code == 2
    assert re.search(
        r"workers need waza \S+: tcp://\S+ has 0\.0\.1; install the same version there", ended.err
    )
    assert not list(root.glob(".waza/runs/*"))


def test_workers_that_join_a_run_later_take_its_trials_unless_they_have_another_waza(tmp_path: Path):
    root = project(tmp_path / "whole", hooks=False, failing=(), trigger=False)
    write_tree(
        tmp_path / "other", {"sitecustomize.py": "import waza.version\nwaza.version.__version__ = '0.0.1'\n"}
    )

    def run_until_joined(address: str, path: str = "") -> tuple[int, str]:
        words = command("run", "eval.yaml", "--backend=dask", f"--scheduler={address}", "-w3")
        run = subprocess.Popen(
            words, cwd=root, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        assert run.stderr is not None
        next(line for line in run.stderr if line.startswith("Parallel:"))
        with worker(address, path=path):
            _, text = run.communicate(timeout=100)
        return run.returncode, text

    with cluster() as address:
        code, text = run_until_joined(address, str(tmp_path / "other"))
        assert code == 2, text
        assert re.search(r"worker tcp://\S+: it has waza 0\.0\.1, and this is \d", text)
        assert run_until_joined(address)[0] == 0


def waiting_suite(tmp_path: Path) -> tuple[Path, Path]:
    """A suite one of whose agents waits at a gate until there is a file `go`; and the directory of both."""
    root, shared = agent_suite(tmp_path / "suite", ("a", "wait")), tmp_path / "shared"
    shared.mkdir()
    os.mkfifo(shared / "gate")
    (root / "agent.py").write_text(
        AGENT.replace('if "kill"', 'if "wait" in prompt and not (shared / "go").exists():\n    (shared / "gate").read_text()\nif "kill"')
    )  # fmt: skip
    return root, shared


def test_a_scheduler_that_is_gone_ends_the_run_which_goes_on_without_it(tmp_path: Path):
    root, shared = waiting_suite(tmp_path)
    variables = {"SHARED": str(shared), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "1s"}
    with scheduler() as (address, process), worker(address, SHARED=str(shared)):
        run = subprocess.Popen(
            command("run", "eval.yaml", "--backend=dask", f"--scheduler={address}"),
            cwd=root, env=environment(variables), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        with (shared / "gate").open("w"):
            process.kill()
            _, text = run.communicate(timeout=100)
    assert run.returncode == 2, text
    assert "Error: the cluster gave no answer: " in text
    assert "Traceback" not in text
    (shared / "go").touch()
    assert waza("run", "eval.yaml", "--resume", cwd=root, env=variables).code == 0


def test_an_interrupt_frees_the_workers_and_the_run_can_be_resumed(tmp_path: Path):
    root, shared = waiting_suite(tmp_path)
    variables = {"SHARED": str(shared)}
    run = subprocess.Popen(
        command("run", "eval.yaml", "--backend=dask", "-w2"),
        cwd=root, env=environment(variables), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    with (shared / "gate").open("w"):  # opens when the agent does, and keeps it waiting
        children = psutil.Process(run.pid).children(recursive=True)
        os.killpg(run.pid, signal.SIGINT)  # as Ctrl-C in a terminal, workers included
        _, text = run.communicate(timeout=100)
    assert run.returncode == 130, text
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive
    (shared / "go").touch()
    resumed = waza("run", "eval.yaml", "--backend=dask", "-w2", "--resume", cwd=root, env=variables)
    assert resumed.code == 0, resumed.err
    journal = next(root.glob(".waza/runs/*/journal.ndjson")).read_text()
    assert journal.count('{"trial":') == 4


def test_limits_of_a_run_and_costs_hold_on_workers(tmp_path: Path):
    root = tmp_path / "suite"
    turns = f"turns: [{{output: one, {USED}}}, {{output: hello, {USED}}}, {{output: hello, {USED}}}]"
    tasks = {"a": task(), "b": task(mock=turns, more=", follow_up_prompts: [q, r]"), "c": task()}
    write_tree(root, {".waza.yaml": PRICES})
    limited(root, "{max_total_tokens: 250}", tasks)
    local = waza("run", "eval.yaml", "-o", "local.json", cwd=root)
    there = waza("run", "eval.yaml", "--backend=dask", "-w1", "-o", "dask.json", cwd=root)
    assert (
        limit_of(there)
        == limit_of(local)
        == "the limit config.limits.max_total_tokens is met: 300 of 250 tokens used"
    )
    found = load(root / "dask.json")
    assert plain(found) == plain(load(root / "local.json"))
    assert found["tasks"][0]["runs"][0]["cost"]["amount"] == 0.28
    limited(root, "{requests_per_minute: 5}", tasks)
    ended = waza("run", "eval.yaml", "--backend=dask", "-w1", cwd=root)
    assert (ended.code, "config.limits.requests_per_minute" in ended.err) == (2, True)
