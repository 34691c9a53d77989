"""What commands cost that read results, each against a bare counterpart that is measured in the same run.

Run it by `make bench`, or with the names of cases as arguments: history, export, compare, show.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import csv_tasks
from spent import WAZA, of_call, of_command

TASKS = 10_000
RUNS, TASKS_OF_A_RUN = 1_000, 10


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            for line in CASES[name](Path(folder)):
                print(f"{name:10} {line}", flush=True)


def export(folder: Path) -> list[str]:
    """A row for each of 10,000 trials, against a loop that parses the file and writes a row each."""
    csv_tasks.run(folder, TASKS)
    (results,) = folder.glob(".waza/runs/*/results.json")

    def bare() -> None:
        found = json.loads(results.read_bytes())
        with (folder / "bare.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            for task in found["tasks"]:
                for run in task["runs"]:
                    writer.writerow(
                        [
                            found["eval_id"],
                            task["test_id"],
                            task["display_name"],
                            task["status"],
                            *run.values(),
                        ]
                    )

    # The commands first: a process counts the memory that the one which starts it has.
    spent = {
        form: of_command([*WAZA, "export", "--format", form, "-o", f"rows.{form}"], folder)
        for form in ("csv", "jsonl")
    }
    loop = of_call(bare)
    return [
        f"{TASKS} trials as {form}: {whole.processor:.2f} s of the processor, {whole.megabytes:.0f} MB for a file of "
        f"{results.stat().st_size / 2**20:.0f} MB, bare {loop.processor:.2f} s, "
        f"ratio {whole.processor / loop.processor:.1f}"
        for form, whole in spent.items()
    ]


def history(folder: Path) -> list[str]:
    """1,000 runs of ten tasks, without an index and with one, against a loop that parses all results."""
    csv_tasks.run(folder, TASKS_OF_A_RUN)
    (source,) = folder.glob(".waza/runs/*")
    for i in range(1, RUNS):
        shutil.copytree(source, source.with_name(f"run-20260101T000000Z-{i:06}"))
    files = sorted(folder.glob(".waza/runs/*/results.json"))
    loop = of_call(lambda: [json.loads(path.read_bytes())["summary"] for path in files])
    lines = []
    for what in ("without an index", "with an index"):
        whole = of_command([*WAZA, "history"], folder)
        lines.append(
            f"{RUNS} runs {what}: {whole.processor:.2f} s of the processor, {whole.megabytes:.0f} MB, "
            f"bare {loop.processor:.2f} s, ratio {whole.processor / loop.processor:.1f}"
        )
    return lines


def compare(folder: Path) -> list[str]:
    """Two results of 10,000 tasks of which a tenth changed, against a loop that parses both and adds up differences."""
    csv_tasks.run(folder, TASKS)
    (results,) = folder.glob(".waza/runs/*/results.json")
    found = json.loads(results.read_bytes())
    for i, task in enumerate(found["tasks"]):
        if i % 10 == 0:
            for verdict in task["runs"][0]["validations"].values():
                verdict["score"] = 0.5 if i % 20 else 0.75
    (folder / "other.json").write_text(json.dumps(found), encoding="utf-8")
    whole = of_command([*WAZA, "compare", str(results), "other.json", "--format", "json"], folder)

    def bare() -> None:
        scores = [
            {
                task["test_id"]: [
                    sum(one["score"] for one in run["validations"].values()) for run in task["runs"]
                ]
                for task in json.loads(file.read_bytes())["tasks"]
            }
            for file in (results, folder / "other.json")
        ]
        sum(sum(scores[1][name]) - sum(values) for name, values in scores[0].items())

    loop = of_call(bare)
    return [
        (
            f"{TASKS} tasks: {whole.processor:.2f} s of the processor, {whole.megabytes:.0f} MB, "
            f"bare {loop.processor:.2f} s, ratio {whole.processor / loop.processor:.1f}"
        )
    ]


def show(folder: Path) -> list[str]:
    """The page of a run of 10,000 tasks, and that of one of its tasks, against a loop that parses the file."""
    csv_tasks.run(folder, TASKS)
    (results,) = folder.glob(".waza/runs/*/results.json")
    task = json.loads(results.read_bytes())["tasks"][-1]["test_id"]
    spent = {
        what: of_command([*WAZA, "show", str(results), *more], folder)
        for what, more in (("the run", []), ("its last task", [task]))
    }

    def bare() -> None:
        found = json.loads(results.read_bytes())
        [f"{one['test_id']} {one['status']}" for one in found["tasks"]]

    loop = of_call(bare)
    return [
        f"{what} of {TASKS} tasks: {whole.processor:.2f} s of the processor, {whole.megabytes:.0f} MB, "
        f"bare {loop.processor:.2f} s, ratio {whole.processor / loop.processor:.1f}"
        for what, whole in spent.items()
    ]


CASES: dict[str, Callable[[Path], list[str]]] = {
    "history": history,
    "export": export,
    "compare": compare,
    "show": show,
}

if __name__ == "__main__":
    main()
