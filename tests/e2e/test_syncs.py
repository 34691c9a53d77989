"""How often a run waits for the disk, counted in the system calls of the real program."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.support.program import command, environment, mock_suite, newest_results

from waza.kit.line_file import SYNC_DELAY

TASK = "inputs: {prompt: p}\nmock: {output: ok}\ngraders: [{type: text, name: g, config: {contains: [ok]}}]"


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace to count system calls with")
def test_fast_trials_are_synced_in_groups(tmp_path: Path):
    suite = mock_suite(tmp_path, {f"t{n}": TASK for n in range(3)}, config=["trials_per_task: 100"])
    counting = ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", "-o", str(tmp_path / "calls.txt")]
    done = subprocess.run(
        [*counting, *command("run", suite)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=300,
        check=False,
    )
    if b"ptrace" in done.stderr:
        pytest.skip("this system does not let strace look at other processes")
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls.txt").read_text()
    count = sum(int(found) for found in re.findall(r"(\d+)\s+(?:fdatasync|fsync)$", calls, re.MULTILINE))
    took = newest_results(tmp_path)["summary"]["duration_ms"] / 1000
    others = 20  # records of the invocation and of temporary directories, the end, the results file
    assert 2 <= count <= took / SYNC_DELAY + others
