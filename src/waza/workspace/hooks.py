"""Hooks: shell commands around a suite and around each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from waza.kit.process import ending, shell
from waza.kit.template import render
from waza.model.suite import Hook


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """How a hook went. `fatal`: it was not acceptable, and the hook says that this matters."""

    command: str
    output: str
    ok: bool
    fatal: bool
    reason: str = ""


async def run_hooks(hooks: Sequence[Hook], home: Path, variables: Mapping[str, str]) -> list[HookRun]:
    """Run hooks in order, in the suite's directory or `working_directory` below it.

    A fatal one ends the list. An exit code is acceptable if it is in `exit_codes` (default: only 0).
    """
    runs: list[HookRun] = []
    for hook in hooks:
        runs.append(await _run(hook, home, variables))
        if runs[-1].fatal:
            break
    return runs


async def _run(hook: Hook, home: Path, variables: Mapping[str, str]) -> HookRun:
    command = render(hook.command, variables)
    finished = await shell(command, cwd=home / hook.working_directory)
    between = b"\n" if finished.stdout and not finished.stdout.endswith(b"\n") else b""
    output = (finished.stdout + between + finished.stderr).decode("utf-8", "replace")
    ok = not finished.start_error and finished.returncode in (hook.exit_codes or [0])
    reason = "" if ok else finished.start_error or ending(finished.returncode, finished.signal)
    return HookRun(command=command, output=output, ok=ok, fatal=not ok and hook.error_on_fail, reason=reason)
