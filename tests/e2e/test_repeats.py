"""Which trials a resumed run runs again: those that broke for a cause outside of the agent, or all errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.documents import document
from tests.support.program import newest_results, waza, write_tree

AGENT = """read task
echo "$task" >> "$LOG"
[ -e "$HOME_DIR/mended" ] && { echo ok; exit 0; }
case $task in
  server) exit 75 ;;
  agent) exit 3 ;;
esac
echo ok
"""
SUITE = """\
name: s
config:
  executor: command
  model: m
  trials_per_task: 2
  executor_options: {command: 'sh "$HOME_DIR/agent.sh"'}
tasks: ['tasks/*.yaml']
graders: [{type: text, name: g, config: {contains: [ok]}}]
"""


def written(root: Path) -> dict[str, str]:
    """Write a suite of three tasks, and return the environment that it needs."""
    names = ("agent", "fine", "server")
    tasks = {f"tasks/{name}.yaml": f"id: {name}\ninputs: {{prompt: {name}}}\n" for name in names}
    write_tree(root, {"agent.sh": AGENT, "suite/eval.yaml": SUITE})
    write_tree(root / "suite", tasks)
    return {"HOME_DIR": str(root), "LOG": str(root / "log.txt")}


def asked(root: Path) -> list[str]:
    """Return what the agent was asked since the last time."""
    log = root / "log.txt"
    words = sorted(log.read_text().split()) if log.exists() else []
    log.unlink(missing_ok=True)
    return words


def statuses(results: dict[str, Any]) -> dict[str, str]:
    return {task["test_id"]: task["status"] for task in results["tasks"]}


def test_a_cause_outside_of_the_agent_is_repeated_and_its_own_errors_when_asked_for(tmp_path: Path):
    env, suite = written(tmp_path), tmp_path / "suite"
    first = waza("run", "eval.yaml", cwd=suite, env=env)
    assert first.code == 1, first.err
    assert statuses(newest_results(suite)) == {"agent": "error", "fine": "passed", "server": "error"}
    took = newest_results(suite)["summary"]["duration_ms"]
    asked(tmp_path)
    assert waza("run", "eval.yaml", "--resume", cwd=suite, env=env).code == 1
    assert asked(tmp_path) == ["server", "server"]  # it is still away
    (tmp_path / "mended").touch()
    assert waza("run", "eval.yaml", "--resume", cwd=suite, env=env).code == 1
    assert asked(tmp_path) == ["server", "server"]
    second = newest_results(suite)
    assert statuses(second) == {"agent": "error", "fine": "passed", "server": "passed"}
    assert [run["error_retries"] for run in second["tasks"][2]["runs"]] == [2, 2]
    assert second["summary"]["duration_ms"] > took
    assert "is finished" in waza("run", "eval.yaml", "--resume", cwd=suite, env=env).err
    assert asked(tmp_path) == []
    last = waza("run", "eval.yaml", "--resume", "--retry-errors", cwd=suite, env=env)
    assert last.code == 0, last.err
    assert asked(tmp_path) == ["agent", "agent"]
    assert set(statuses(newest_results(suite)).values()) == {"passed"}
    assert len(list((suite / ".waza" / "runs").iterdir())) == 1


def test_the_option_needs_something_to_go_on_with(tmp_path: Path):
    ended = waza("run", "eval.yaml", "--retry-errors", cwd=tmp_path)
    assert (ended.code, "--retry-errors says what --resume runs again; give both" in ended.err) == (2, True)


def test_a_part_that_was_cut_off_counts_in_the_duration(tmp_path: Path):
    env, suite = written(tmp_path), tmp_path / "suite"
    (tmp_path / "mended").touch()
    assert waza("run", "eval.yaml", cwd=suite, env=env).code == 0
    journal = next((suite / ".waza" / "runs").glob("*/journal.ndjson"))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4]))  # killed after three trials
    clock = json.loads(lines[3])["trial"]["clock"]
    assert waza("run", "eval.yaml", "--resume", cwd=suite, env=env).code == 0
    end = json.loads(journal.read_bytes().splitlines()[-1])["end"]
    assert newest_results(suite)["summary"]["duration_ms"] == clock + end["durations"]["main"]


def test_a_document_takes_the_same_options_of_resuming(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "p"})})
    asked = ("--agent", "command:cat", "-o", "r.json")
    alone = waza("m365", "run", "evals.json", *asked, "--retry-errors", cwd=tmp_path)
    assert (alone.code, "--retry-errors says what --resume runs again; give both" in alone.err) == (2, True)
    assert waza("m365", "run", "evals.json", *asked, cwd=tmp_path).code == 0
    again = waza("m365", "run", "evals.json", *asked, "--resume", "--retry-errors", cwd=tmp_path)
    assert again.code == 0, again.err
