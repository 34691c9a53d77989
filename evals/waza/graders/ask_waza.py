"""What waza says of the files that an agent left in its workspace.

usage: ask_waza.py suite EVAL.YAML N       the suite is accepted, has N tasks or more whose scripted good answers pass, and
                                           none that an agent passes which only repeats its prompt
       ask_waza.py triggers EVAL.YAML N    its trigger tests have N prompts or more of each kind, and run
       ask_waza.py ready SKILL             the skill is ready
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = re.compile(r"^mock:.*\n(?:[ \t]+.*\n|[ \t]*\n)*", re.MULTILINE)
OFFLINE_RUN = ("--executor=mock", "--trials=1", "--no-save", "--json")


def waza(workspace: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["waza", *words], cwd=workspace, capture_output=True, text=True, check=False)


def fail(reason: str, done: subprocess.CompletedProcess[str]) -> None:
    said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    sys.exit("\n".join([f"{reason} (exit code {done.returncode})", *said[-15:]]))


def ask_suite(workspace: Path, suite: str, least: str) -> None:
    done = waza(workspace, "preflight", suite, "--json")
    if done.returncode:
        fail(f"waza preflight does not accept {suite}", done)
    tasks = [task["id"] for task in json.loads(done.stdout)["tasks"]]
    if len(tasks) < int(least):
        sys.exit(f"{suite} has the tasks {tasks}; {least} are wanted")
    done = waza(workspace, "run", suite, *OFFLINE_RUN)
    if done.returncode:
        fail("the good answers of its mock blocks do not pass", done)
    for file in (workspace / suite).parent.rglob("*.yaml"):
        file.write_text(SCRIPT.sub("", file.read_text(encoding="utf-8") + "\n"), encoding="utf-8")
    done = waza(workspace, "run", suite, *OFFLINE_RUN)
    if done.returncode != 1:
        fail("without its mock blocks, the suite does not end with exit code 1", done)
    for task in json.loads(done.stdout)["tasks"]:
        if task["status"] == "passed":
            sys.exit(f"an agent that only repeats its prompt passes the task {task['test_id']}")


def ask_triggers(workspace: Path, suite: str, least: str) -> None:
    done = waza(workspace, "run", suite, *OFFLINE_RUN)
    if not done.stdout.strip():
        fail(f"waza run wrote no results of {suite}", done)
    asked = [one["should_trigger"] for one in json.loads(done.stdout).get("trigger_results") or ()]
    if min(asked.count(True), asked.count(False)) < int(least):
        sys.exit(
            f"{asked.count(True)} prompts for the skill, {asked.count(False)} that are not; {least} of each are wanted"
        )


def ask_ready(workspace: Path, skill: str) -> None:
    done = waza(workspace, "check", skill, "--offline", "--fail-on=error")
    if done.returncode:
        fail(f"waza check does not find {skill} ready", done)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:  # waza writes into it, and the workspace is evidence
        copy = shutil.copytree(os.environ["WAZA_WORKSPACE_DIR"], Path(home, "copy"))
        {"suite": ask_suite, "triggers": ask_triggers, "ready": ask_ready}[what](copy, *words)
