"""A `waza` that a test watches while it runs: its journal, its processes, and what it leaves behind."""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.support.program import LIMIT, Ended, command, environment, waza

_NAPS = random.SystemRandom()
_TRIAL_NAME = re.compile("[a-z0-9_]{8}")
_PASSING = {
    "eval_id", "timestamp", "session_id", "workspace_dir", "captured_at",
    "duration_ms", "avg_duration_ms", "started_ms",
}  # fmt: skip


class Project:
    """A directory for suites, with a temporary directory of its own beside it."""

    def __init__(self, root: Path) -> None:
        self.home, self.temp = root / "home", root / "temp"
        self.home.mkdir(exist_ok=True)
        self.temp.mkdir(exist_ok=True)

    def run(self, *args: object, env: Mapping[str, str] | None = None) -> Ended:
        """Run `waza` to its end."""
        return waza(*map(str, args), cwd=self.home, env=self._environment(env))

    @contextmanager
    def started(self, *args: object, env: Mapping[str, str] | None = None) -> Iterator[Live]:
        """Start `waza`; it is killed at the end of the block if it still runs."""
        live = Live(*map(str, args), cwd=self.home, logs=self.temp.parent, env=self._environment(env))
        try:
            yield live
        finally:
            live.kill()

    def _environment(self, extra: Mapping[str, str] | None) -> dict[str, str]:
        return {"TMPDIR": str(self.temp), **(extra or {})}

    @property
    def left(self) -> list[str]:
        """What is left in the temporary directory, but for what Python tries it with: a kill may come at that moment."""
        return sorted(path.name for path in self.temp.iterdir() if not _is_trial_of_python(path))

    @property
    def runs(self) -> list[Path]:
        """The directories of all runs, the newest last."""
        found = (self.home / ".waza" / "runs").glob("*/journal.ndjson")
        return [path.parent for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]

    def journal(self) -> list[dict[str, Any]]:
        """The whole lines of the newest journal."""
        if not self.runs:
            return []
        data = (self.runs[-1] / "journal.ndjson").read_bytes()
        return [json.loads(line) for line in data.splitlines(keepends=True) if line.endswith(b"\n")]

    def finished(self) -> list[tuple[str, int]]:
        """Task and number of every trial in the newest journal."""
        trials = [line["trial"] for line in self.journal() if "trial" in line]
        return [(trial["task"], trial["run"]["run_number"]) for trial in trials]


def _is_trial_of_python(path: Path) -> bool:
    """Whether `tempfile` wrote the file to see whether it can write there."""
    return bool(_TRIAL_NAME.fullmatch(path.name)) and path.is_file() and path.read_bytes() in (b"", b"blat")


class Live:
    """A running `waza`."""

    def __init__(self, *args: str, cwd: Path, logs: Path, env: Mapping[str, str]) -> None:
        self.cwd = cwd
        self._out, self._err = logs / "out.txt", logs / "err.txt"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command(*args),
                cwd=cwd,
                env=environment(env),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )

    @property
    def err(self) -> str:
        """What it wrote to stderr until now."""
        return self._err.read_text(encoding="utf-8", errors="replace")

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until the condition holds; it must come to hold before the program ends."""

        def seen() -> bool:
            # The end is looked at first: what held while it ran may not hold a moment later.
            ended = self.process.poll() is not None
            held = bool(condition())
            assert held or not ended, f"the program ended too early: {self.err}"
            return held

        until(seen)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill it as hard as can be, and wait until it is gone."""
        self.process.kill()
        self.process.wait(LIMIT)

    def ended(self) -> Ended:
        """Wait for its end."""
        code = self.process.wait(LIMIT)
        return Ended(code, self._out.read_text(encoding="utf-8", errors="replace"), self.err, self.cwd)


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds, at most `LIMIT` seconds."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def nap() -> str:
    """A sleeping time that no other process on this machine has: survivors are found by it."""
    return f"300.{_NAPS.randrange(10**9):09d}"


def survivors(duration: str) -> list[int]:
    """The processes that have this sleeping time as an argument."""
    return [
        found.pid
        for found in psutil.process_iter(["cmdline", "status"])
        if duration in (found.info["cmdline"] or []) and found.info["status"] != psutil.STATUS_ZOMBIE
    ]


def stubborn(duration: str) -> str:
    """A command line that sleeps three times: in the background, in a session of its own, deaf to SIGTERM."""
    return f"sleep {duration} & setsid sleep {duration} & trap '' TERM; sleep {duration}"


def lasting(value: Any) -> Any:
    """Results without what differs from run to run: ids, times, durations, temporary paths."""
    if isinstance(value, dict):
        return {key: lasting(item) for key, item in value.items() if key not in _PASSING}
    return [lasting(item) for item in value] if isinstance(value, list) else value


def without_doubts(result: dict[str, Any]) -> dict[str, Any]:
    """Results of a resumed run without the warnings that only such a run has: what may have changed meanwhile."""
    warnings = result["metadata"].get("warnings", [])
    kept = [one for one in warnings if "still as it was cannot be known" not in one]
    metadata = {key: one for key, one in result["metadata"].items() if key != "warnings"}
    return {**result, "metadata": {**metadata, **({"warnings": kept} if kept else {})}}
