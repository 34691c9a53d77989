"""Hooks: shell commands around a suite and around each task."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from waza.kit.names import unused_name
from waza.kit.process import describe_exit, run_shell
from waza.kit.shell_template import check_values, render_command
from waza.kit.template import render, split_references
from waza.kit.text import replace_surrogates
from waza.model.suite import Hook

_NAMES = {
    "JobID": "WAZA_JOB_ID",
    "TaskName": "WAZA_TASK_NAME",
    "Iteration": "WAZA_ITERATION",
    "Attempt": "WAZA_ATTEMPT",
    "Timestamp": "WAZA_TIMESTAMP",
}
_MOST = (
    100_000  # characters of all values that a command does not name: systems bound what a program is given
)


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a hook. `fatal`: its exit code is not acceptable, and the hook has `error_on_fail`."""

    command: str
    output: str
    ok: bool
    fatal: bool
    reason: str = ""


async def run_hooks(
    hooks: Sequence[Hook],
    home: Path,
    variables: Mapping[str, str],
    start: Callable[[str], Mapping[str, str]],
) -> AsyncIterator[HookRun]:
    """Run hooks in order, in the suite's directory or `working_directory` below it; yield each when it has ended.

    A fatal one ends the list. An exit code is acceptable if it is in `exit_codes` (default: only 0). Values of
    variables reach a command in its environment, `Vars.key` as `WAZA_VAR_key`; the shell never parses them. `start`
    is called with each command before it runs, and returns more environment variables for it.
    """
    names = environment_names(variables)
    for hook in hooks:
        command = render(hook.command, variables)
        run = await _run(hook, home, variables, names, command, start(command))
        yield run
        if run.fatal:
            return


def environment_names(variables: Iterable[str]) -> dict[str, str]:
    """Return the name in the environment of each variable; signs that no name may hold become `_`."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(variables, key=lambda name: (not name.removeprefix("Vars.").isidentifier(), name)):
        plain = _NAMES.get(name) or "WAZA_VAR_" + re.sub(r"[^A-Za-z0-9_]", "_", name.removeprefix("Vars."))
        names[name] = unused_name(plain, taken, "_")
        taken.add(names[name])
    return names


async def _run(
    hook: Hook,
    home: Path,
    variables: Mapping[str, str],
    names: Mapping[str, str],
    command: str,
    more: Mapping[str, str],
) -> HookRun:
    if refused := check_values(hook.command, variables, names):
        return HookRun(command=command, output="", ok=False, fatal=hook.error_on_fail, reason=refused)
    environment = _choose_environment(hook.command, variables, names)
    # The shell of Windows expands variables before it parses, so there the environment alone would be safe.
    line = command if sys.platform == "win32" else render_command(hook.command, names)
    finished = await run_shell(
        line, cwd=home / hook.working_directory, env={**os.environ, **more, **environment}
    )
    between = b"\n" if finished.stdout and not finished.stdout.endswith(b"\n") else b""
    output = (finished.stdout + between + finished.stderr).decode("utf-8", "replace")
    ok = not finished.start_error and finished.returncode in (hook.exit_codes or [0])
    reason = "" if ok else finished.start_error or describe_exit(finished.returncode, finished.signal)
    return HookRun(command=command, output=output, ok=ok, fatal=not ok and hook.error_on_fail, reason=reason)


def _choose_environment(
    command: str, variables: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables for a command: those that it names, and of the others as many as fit."""
    named = {part.name for part in split_references(command) if not isinstance(part, str)}
    environment: dict[str, str] = {}
    space = _MOST
    for name, value in variables.items():
        space -= 0 if name in named else len(names[name]) + len(value)
        if name in named or space >= 0:
            environment[names[name]] = replace_surrogates(value)
    return environment
