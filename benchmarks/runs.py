"""What runs of other kinds cost besides the agent, each against a bare counterpart that is measured in the same run.

Run it by `make bench`, or with the names of cases as arguments: files, graders, parallel, memory, help.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import csv_tasks
from spent import WAZA, of_call, of_command

FILES = 1_000
ROWS = 2_000
TASKS, TRIALS, WORKERS, DELAY = 50, 10, 8, 0.02  # seconds
FEW, MANY = 10_000, 100_000
TIMES = 10

FILE_SUITE = """\
name: files
config: {executor: mock, model: bench}
graders: [{type: text, name: has_answer, config: {contains: ["answer"]}}]
tasks: ["tasks/*.yaml"]
mock: {output: "The answer, as asked."}
"""
GRADER_SUITE = """\
name: graders
config: {executor: mock, model: bench}
graders:
  - {type: text, name: has_answer, config: {contains: ["answer"]}}
  - {type: text, name: no_apology, config: {not_contains: ["sorry"]}}
  - {type: json_schema, name: shape, config: {schema: {type: object, required: [answer]}}}
  - {type: behavior, name: limits, config: {max_tool_calls: 3}}
  - {type: tool_constraint, name: tools, config: {reject_tools: [{tool: bash}]}}
tasks_from: rows.csv
mock: {output: '{"answer": {{.Vars.number}}}'}
"""
PARALLEL_SUITE = f"""\
name: parallel
config: {{executor: mock, model: bench, trials_per_task: {TRIALS}, parallel: true, workers: {WORKERS}}}
graders: [{{type: text, name: has_answer, config: {{contains: ["answer"]}}}}]
tasks_from: rows.csv
mock: {{output: "The answer, as asked.", delay_ms: {DELAY * 1000:.0f}}}
"""


def main() -> None:
    """Measure and print."""
    for name in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name:10} {CASES[name](Path(folder))}", flush=True)


def files(folder: Path) -> str:
    """One YAML file a task, against a loop that parses the files, looks for the text and writes a line each."""
    (folder / "tasks").mkdir()
    for i in range(FILES):
        text = f"id: task-{i}\nname: Task {i}\ninputs:\n  prompt: What is the answer to {i}?\n"
        (folder / "tasks" / f"{i}.yaml").write_text(text, encoding="utf-8")

    def bare() -> None:
        import yaml

        text = "The answer, as asked."
        with (folder / "bare.ndjson").open("w", encoding="utf-8") as out:
            for path in sorted((folder / "tasks").iterdir()):
                task = yaml.load(path.read_bytes(), yaml.CSafeLoader)
                out.write(json.dumps({**task, "found": "answer" in text}) + "\n")

    return _ratio(folder, FILE_SUITE, bare, f"{FILES} files")


def graders(folder: Path) -> str:
    """Five graders a task, against a loop that makes the five checks and writes a line each."""
    path = csv_tasks.write_rows(folder, ROWS)

    def bare() -> None:
        import csv

        import jsonschema_rs

        schema = jsonschema_rs.validator_for({"type": "object", "required": ["answer"]})
        with path.open(encoding="utf-8", newline="") as rows, (folder / "bare.ndjson").open("w") as out:
            for row in csv.DictReader(rows):
                text, calls = f'{{"answer": {row["number"]}}}', list[str]()
                found = [
                    "answer" in text.lower(),
                    "sorry" not in text.lower(),
                    schema.is_valid(json.loads(text)),
                ]
                found += [len(calls) <= 3, "bash" not in calls]
                out.write(json.dumps({**row, "output": text, "found": found}) + "\n")

    return _ratio(folder, GRADER_SUITE, bare, f"{ROWS} tasks with 5 graders")


def _ratio(folder: Path, suite: str, bare: Callable[[], None], what: str) -> str:
    (folder / "eval.yaml").write_text(suite, encoding="utf-8")
    loop, whole = of_call(bare).processor, of_command([*WAZA, "run", "eval.yaml"], folder).processor
    return f"{what}: {whole:.2f} s of the processor, bare {loop:.3f} s, ratio {whole / loop:.1f}"


def parallel(folder: Path) -> str:
    """Trials that wait for their agent, against so many waits by as many workers."""
    csv_tasks.write_rows(folder, TASKS)
    (folder / "eval.yaml").write_text(PARALLEL_SUITE, encoding="utf-8")

    async def waits() -> None:
        slots = asyncio.Semaphore(WORKERS)

        async def wait() -> None:
            async with slots:
                await asyncio.sleep(DELAY)

        await asyncio.gather(*(wait() for _ in range(TASKS * TRIALS)))

    bare = of_call(lambda: asyncio.run(waits())).wall
    whole = of_command([*WAZA, "run", "eval.yaml"], folder).wall
    return f"{TASKS * TRIALS} trials by {WORKERS} workers: {whole:.2f} s, bare {bare:.2f} s, ratio {whole / bare:.2f}"


def memory(folder: Path) -> str:
    """The peak memory of a long run, against that of a tenth of it."""
    few, many = (csv_tasks.run(folder, rows) for rows in (FEW, MANY))
    grown = (many.megabytes - few.megabytes) * 1024 / (MANY - FEW)
    return (
        f"{MANY} tasks: {many.megabytes:.0f} MB, {FEW} tasks: {few.megabytes:.0f} MB, "
        f"ratio {many.megabytes / few.megabytes:.2f} for {MANY // FEW} times the tasks ({grown:.1f} KB a task); "
        f"of the processor {many.processor / few.processor:.2f}"
    )


def help_(folder: Path) -> str:
    """The help of a command, against Python that does nothing; the best of several."""
    bare = min(of_command([sys.executable, "-c", "pass"], folder).processor for _ in range(TIMES))
    whole = min(of_command([*WAZA, "run", "--help"], folder).processor for _ in range(TIMES))
    return f"{whole * 1000:.0f} ms of the processor, bare {bare * 1000:.0f} ms, ratio {whole / bare:.1f}"


CASES: dict[str, Callable[[Path], str]] = {
    "files": files,
    "graders": graders,
    "parallel": parallel,
    "memory": memory,
    "help": help_,
}

if __name__ == "__main__":
    main()
