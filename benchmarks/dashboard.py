"""What pages of the dashboard wait for, each against a bare counterpart that is measured in the same run.

Run it by `make bench`, or with the names of cases as arguments: tasks, runs.
"""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import csv_tasks
from spent import WAZA, of_call

TASKS = 10_000
RUNS, TASKS_OF_A_RUN = 2_000, 10
LIMIT = 600  # seconds


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            for line in CASES[name](Path(folder)):
                print(f"{name:10} {line}", flush=True)


@contextmanager
def serving(folder: Path) -> Iterator[Callable[[str], bytes]]:
    """Start a server; yield a function that asks for a path and returns what is answered."""
    command = [*WAZA, "serve", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101  # it is a pipe
        port = int(process.stdout.readline().rpartition(":")[2])

        def ask(path: str) -> bytes:
            connection = http.client.HTTPConnection("localhost", port, timeout=LIMIT)
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != http.client.OK:
                raise SystemExit(f"{path}: {answer.status} {body!r}")
            return body

        try:
            yield ask
        finally:
            process.terminate()


def tasks(folder: Path) -> list[str]:
    """The first slice of 10,000 tasks, against a loop that parses the file."""
    csv_tasks.run(folder, TASKS)
    (results,) = folder.glob(".waza/runs/*/results.json")
    bare = of_call(lambda: json.loads(results.read_bytes())).wall
    slices = f"/api/runs/{results.parent.name}/tasks?limit=100"
    with serving(folder) as ask:
        size = len(ask(slices))  # the first answer waits for imports as well; another server is measured
    lines = []
    with serving(folder) as ask:
        ask("/api/health")
        for what, path in (("the first", slices), ("a later", f"{slices}&offset=5000")):
            took = of_call(lambda path=path: ask(path)).wall  # type: ignore[misc]  # bound at once
            lines.append(
                f"{what} slice of {TASKS} tasks: {took:.3f} s and {size / 2**20:.2f} MB for a file of "
                f"{results.stat().st_size / 2**20:.0f} MB, bare {bare:.3f} s, ratio {took / bare:.2f}"
            )
    return lines


def runs(folder: Path) -> list[str]:
    """The list of 2,000 runs, against reading all files, and against looking at their sizes and times."""
    csv_tasks.run(folder, TASKS_OF_A_RUN)
    (source,) = folder.glob(".waza/runs/*")
    for i in range(1, RUNS):
        shutil.copytree(source, source.with_name(f"run-20260101T000000Z-{i:06}"))
    files = sorted(folder.glob(".waza/runs/*/*"))
    read = of_call(lambda: [json.loads(path.read_bytes()) for path in files if path.suffix == ".json"]).wall
    looked = of_call(lambda: [path.stat() for path in files]).wall
    with serving(folder) as ask:
        first = of_call(lambda: ask("/api/runs?limit=100")).wall
        later = of_call(lambda: ask("/api/runs?limit=100")).wall
    return [
        f"the first list of {RUNS} runs: {first:.3f} s, bare reading {read:.3f} s, ratio {first / read:.2f}",
        f"a later list of {RUNS} runs: {later:.3f} s, bare looking {looked:.3f} s, ratio {later / looked:.2f}",
    ]


CASES = {"tasks": tasks, "runs": runs}

if __name__ == "__main__":
    main()
