"""What a command or a function spends: wall time, processor time and, for a command, its peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

WAZA = (sys.executable, "-m", "waza")


class Spent(NamedTuple):
    """Seconds by the clock, seconds of the processor (user and system), and megabytes at most."""

    wall: float
    processor: float
    megabytes: float = 0.0


def of_command(command: Sequence[str], folder: Path) -> Spent:
    """Run a command in a folder, without its output; it has to succeed."""
    started = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    wall = time.perf_counter() - started
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def of_call(call: Callable[[], object]) -> Spent:
    """Call a function."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return Spent(time.perf_counter() - wall, time.process_time() - processor)
