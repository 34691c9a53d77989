"""Driving the real program: `waza` in a process of its own, in a directory of the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.fork_server import call, can_fork

LIMIT = 120  # seconds; a program that hangs fails its test instead of the whole run


@dataclass(frozen=True)
class Ended:
    """How a call of the program ended."""

    code: int
    out: str
    err: str
    cwd: Path

    def results(self) -> dict[str, Any]:
        """The results file of the newest run below the directory of the call."""
        return newest_results(self.cwd)


def waza(
    *args: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    limit: float = LIMIT,
    python: str | Path = sys.executable,
) -> Ended:
    """Run `waza` with these arguments in a directory, and wait for it."""
    given = None if stdin is None else stdin.encode()
    if python == sys.executable and can_fork(env):
        done = call([*map(str, args)], cwd, environment(env), given, limit)
    else:
        done = subprocess.run(
            command(*args, python=python),
            cwd=cwd,
            env=environment(env),
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    return Ended(
        done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"), cwd
    )


def command(*args: str | Path, python: str | Path = sys.executable) -> list[str]:
    """The command line of a call; `python` is that of the environment in which waza is installed."""
    return [str(python), "-m", "waza", *map(str, args)]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a call: that of the tests, in UTF-8, with `extra` on top."""
    return {**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1", **(extra or {})}


def newest_results(directory: Path) -> dict[str, Any]:
    """Read the newest results file below `.waza/runs`, strictly."""
    found = sorted(
        (directory / ".waza" / "runs").glob("*/results.json"), key=lambda path: path.stat().st_mtime_ns
    )
    assert found, f"no results below {directory}"
    results: dict[str, Any] = strict_json(found[-1].read_bytes())
    return results


def strict_json(data: bytes | str) -> Any:
    """Parse JSON as the standard has it: no NaN, no Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(data, parse_constant=refuse)


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a directory; return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def mock_suite(
    root: Path, tasks: Mapping[str, str], head: str = "", config: Sequence[str] = (), name: str = "suite"
) -> Path:
    """Write a suite on the mock executor; return its file. `tasks` maps file stems to YAML text."""
    lines = [f"name: {name}", "config:", "  executor: mock", "  model: test-model"]
    lines += [f"  {line}" for line in config]
    lines += ["tasks: ['tasks/*.yaml']", head]
    write_tree(
        root, {"eval.yaml": "\n".join(lines), **{f"tasks/{stem}.yaml": text for stem, text in tasks.items()}}
    )
    return root / "eval.yaml"
