"""What a run costs besides the agent: 10,000 CSV tasks with two text graders on the mock executor.

Prints seconds and peak memory of the run, and their ratio to a bare loop over the same rows that reads, matches
and writes one synced JSON line each. Run it by `make bench`, or with a number of rows as the argument.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = """\
name: bench
config: {executor: mock, model: bench}
graders:
  - {type: text, name: has_answer, config: {contains: ["answer"], regex_match: ["answer \\\\d+"]}}
  - {type: text, name: no_apology, config: {not_contains: ["sorry"], regex_not_match: ["(?i)cannot help"]}}
tasks_from: rows.csv
mock: {output: "The answer {{.Vars.number}}, as asked."}
"""


def main() -> None:
    """Measure and print."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "eval.yaml").write_text(SUITE, encoding="utf-8")
        with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "prompt", "number"])
            writer.writerows([f"task-{i}", f"What is the answer to {i}?", i] for i in range(rows))
        bare = bare_loop(folder, rows)
        seconds, megabytes = run(folder)
    print(f"{rows} tasks: {seconds:.2f} s, {megabytes:.0f} MB at most")
    print(f"bare loop: {bare:.2f} s; ratio {seconds / bare:.2f}")


def bare_loop(folder: Path, rows: int) -> float:
    """Read, match and write every row, without anything around it."""
    import re2

    patterns = [re2.compile(text) for text in ("(?i)answer", r"answer \d+", "(?i)sorry", "(?i)cannot help")]
    started = time.perf_counter()
    out = os.open(folder / "bare.ndjson", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            text = f"The answer {row['number']}, as asked."
            found = [bool(pattern.search(text)) for pattern in patterns]
            os.write(out, json.dumps({**row, "output": text, "found": found}).encode() + b"\n")
            os.fdatasync(out)
    os.close(out)
    if sum(1 for _ in (folder / "bare.ndjson").open(encoding="utf-8")) != rows:
        raise ValueError("the bare loop lost a row")
    return time.perf_counter() - started


def run(folder: Path) -> tuple[float, float]:
    """Run the suite in a process of its own; return its seconds and peak megabytes."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "waza", "run", "eval.yaml"]
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


if __name__ == "__main__":
    main()
