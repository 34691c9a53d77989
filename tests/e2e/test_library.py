"""`waza.run` in other people's programs, and waza where its directory is gone."""

from __future__ import annotations

import asyncio
import inspect
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.support.live import lasting, nap, survivors, until
from tests.support.program import LIMIT, command, environment, mock_suite

import waza

TASKS = {
    "a": "inputs: {prompt: p}\nmock: {output: done}\ngraders: [{type: program, name: g, config: {command: 'true'}}]"
}


def test_a_suite_runs_inside_of_a_running_event_loop(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)

    async def cell_of_a_notebook() -> list[str]:
        return [task.status for task in waza.run(suite)[0].tasks]

    assert asyncio.run(cell_of_a_notebook()) == ["passed"]


def test_a_suite_runs_in_a_thread(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(task.status for task in waza.run(suite)[0].tasks))
    thread.start()
    thread.join()
    assert found == ["passed"]


def test_a_suite_runs_in_the_running_event_loop(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)
    threads: set[threading.Thread] = set()

    async def cell_of_a_notebook() -> list[str]:
        (results,) = await waza.arun(suite, listener=lambda _: threads.add(threading.current_thread()))
        return [task.status for task in results.tasks]

    assert asyncio.run(cell_of_a_notebook()) == ["passed"]
    assert threads == {threading.main_thread()}


def test_a_suite_runs_in_an_event_loop_of_a_thread(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)
    found: list[str] = []

    async def cell() -> None:
        found.extend(task.status for task in (await waza.arun(suite))[0].tasks)
        found.extend(task.status for task in waza.run(suite)[0].tasks)

    thread = threading.Thread(target=lambda: asyncio.run(cell()))
    thread.start()
    thread.join()
    assert found == ["passed", "passed"]


def test_handlers_of_signals_are_as_before(tmp_path: Path):
    suite = mock_suite(tmp_path, TASKS)

    def handler(number: int, frame: object) -> None:
        del number, frame

    before = signal.signal(signal.SIGTERM, handler)
    try:
        waza.run(suite)
        asyncio.run(waza.arun(suite))
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_loaded_suite_runs_as_its_file_does(tmp_path: Path):
    path = mock_suite(tmp_path, TASKS)
    suite = waza.load(path, models=["x", "y"], trials=2)
    found = waza.run(suite)
    assert [(one.config.model_id, one.config.runs_per_test) for one in found] == [("x", 2), ("y", 2)]
    assert [lasting(msgspec.to_builtins(one)) for one in found] == [
        lasting(msgspec.to_builtins(one)) for one in waza.run(path, models=["x", "y"], trials=2)
    ]
    for override in ({"trials": 1}, {"models": ["z"]}, {"executor": "mock"}):
        with pytest.raises(waza.UsageError, match=r"cannot override a loaded suite; pass them to waza\.load"):
            waza.run(suite, **override)


INTERRUPTED = """
import asyncio, sys
import waza

def run():
    return waza.run("eval.yaml", models=["x", "y"])

async def cell():
    return run()

try:
    results = run() if sys.argv[1] == "script" else asyncio.new_event_loop().run_until_complete(cell())
except KeyboardInterrupt:
    print("interrupted")
else:
    print([one.metadata["run_status"] for one in results], [one.metadata["verdict"]["passed"] for one in results])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "expected"),
    [("script", "['cancelled', 'not_started'] [False, False]"), ("notebook", "interrupted")],
)
def test_an_interrupt_stops_all_models(tmp_path: Path, how: str, expected: str):
    duration = nap()
    mock_suite(tmp_path, TASKS, head=f"hooks: {{before_task: [{{command: sleep {duration}}}]}}")
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, how],
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        until(lambda: survivors(duration))
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=LIMIT)
    finally:
        program.kill()
        program.wait()
    assert out.strip() == expected
    assert not survivors(duration)


def test_an_exception_of_a_listener_reaches_the_caller(tmp_path: Path):
    def listener(event: waza.RunEvent) -> None:
        if isinstance(event, waza.TrialFinished):
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        waza.run(mock_suite(tmp_path, TASKS), listener=listener)


def test_every_name_of_the_library_is_there():
    assert [name for name in waza.__all__ if getattr(waza, name, None) is None] == []
    assert waza.__all__ == sorted(set(waza.__all__))
    with pytest.raises(AttributeError, match="module 'waza' has no attribute 'Nothing'"):
        _ = waza.Nothing


def test_every_name_that_the_library_speaks_of_is_in_it():
    """Signatures of what other people subclass or call name nothing that they cannot import from `waza`."""
    seams: tuple[type, ...] = (
        waza.Grader,
        waza.Executor,
        waza.Session,
        waza.Judge,
        waza.Interview,
        waza.Reporter,
    )
    methods: list[Callable[..., object]] = [
        value
        for seam in seams
        for name, value in vars(seam).items()
        if inspect.isfunction(value) and not name.startswith("_")
    ]
    named = {
        word
        for method in (*methods, waza.load, waza.run, waza.arun)
        for annotation in inspect.get_annotations(method).values()
        for word in re.findall(r"[A-Z]\w+", str(annotation))
    }
    outside = {"None", "Path", "Sequence", "Mapping", "Iterator", "Awaitable", "Callable", "Literal"}
    assert named - outside - set(waza.__all__) == set()


def test_a_current_directory_that_was_deleted_is_reported(tmp_path: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(gone), *command("run", "eval.yaml")],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "the current directory was deleted; change to one that exists" in done.stderr
