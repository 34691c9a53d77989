"""What a run costs besides the agent: 10,000 CSV tasks with two text graders on the mock executor.

Prints what the run spends, and its ratio to a bare loop over the same rows that reads, matches and writes one synced
JSON line each. Run it by `make bench`, or with a number of rows as the argument.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import tempfile
from pathlib import Path

from spent import WAZA, Spent, of_call, of_command

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
        bare = of_call(lambda: bare_loop(folder, rows))
        whole = run(folder, rows)
    print(
        f"{rows} tasks: {whole.processor:.2f} s of the processor, {whole.wall:.2f} s, {whole.megabytes:.0f} MB"
    )
    print(f"bare loop: {bare.processor:.2f} s of the processor, {bare.wall:.2f} s")
    print(f"ratio {whole.wall / bare.wall:.2f}; of the processor {whole.processor / bare.processor:.2f}")


def write_rows(folder: Path, rows: int) -> Path:
    """Write the CSV file."""
    path = folder / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "prompt", "number"])
        writer.writerows([f"task-{i}", f"What is the answer to {i}?", i] for i in range(rows))
    return path


def bare_loop(folder: Path, rows: int) -> None:
    """Read, match and write every row, without anything around it."""
    import re2

    patterns = [re2.compile(text) for text in ("(?i)answer", r"answer \d+", "(?i)sorry", "(?i)cannot help")]
    out = os.open(folder / "bare.ndjson", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with write_rows(folder, rows).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            text = f"The answer {row['number']}, as asked."
            found = [bool(pattern.search(text)) for pattern in patterns]
            os.write(out, json.dumps({**row, "output": text, "found": found}).encode() + b"\n")
            os.fdatasync(out)
    os.close(out)
    if sum(1 for _ in (folder / "bare.ndjson").open(encoding="utf-8")) != rows:
        raise ValueError("the bare loop lost a row")


def run(folder: Path, rows: int) -> Spent:
    """Run the suite over so many rows in a process of its own."""
    write_rows(folder, rows)
    (folder / "eval.yaml").write_text(SUITE, encoding="utf-8")
    return of_command([*WAZA, "run", "eval.yaml"], folder)


if __name__ == "__main__":
    main()
