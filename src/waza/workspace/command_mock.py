"""A mocked program: an argument vector, environment and directory in; output and exit code out."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.json_text import json_text
from waza.kit.pattern import compile_pattern
from waza.kit.redact import Redactor, redact_args
from waza.model.mocks import CommandMock, CommandOutput, CommandResponse, CommandStep
from waza.workspace.fixtures import read_fixture
from waza.workspace.shim import NOT_ANSWERED


class ProgramCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a program; `argv` leaves the program itself out, `session` says whose call it is."""

    name: str
    argv: list[str]
    cwd: str
    environment: dict[str, str]
    session: str


class ProgramOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What a call gives after `delay` seconds; `index` is that of the response, -1 if none matched.

    `exhausted`: its sequence had no step left.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = NOT_ANSWERED
    index: int = -1
    delay: float = 0
    exhausted: bool = False


class MockedProgram:
    """One mocked program. It remembers how far its sequences are."""

    def __init__(self, mock: CommandMock, home: Path) -> None:
        """`home` is the suite's directory, for fixtures. Raises ExecutorError if one cannot be read."""
        self.name = mock.name
        self.expect_calls = mock.expect_calls
        self._responses = [_Response(response, home) for response in mock.responses]

    def answer(self, call: ProgramCall, workspace: Path | None) -> ProgramOutput:
        """Return the output of the first response that fits the call."""
        workdir = _find_workdir(call.cwd, workspace)
        for index, response in enumerate(self._responses):
            if response.matches(call, workdir):
                output = next(response.outputs, None)
                if output is None:
                    message = f"waza: command mock {self.name!r}: fault sequence exhausted\n"
                    return ProgramOutput(stderr=message.encode(), index=index, exhausted=True)
                return msgspec.structs.replace(output, index=index)
        return ProgramOutput(stderr=self._describe_no_match(call, workdir).encode("utf-8", "replace"))

    def _describe_no_match(self, call: ProgramCall, workdir: str | None) -> str:
        args = shlex.join(redact_call(call)) or "no arguments"
        place = call.cwd if workdir is None else workdir
        return (
            f"waza: no response of the command mock {self.name!r} matches this call: {args} "
            f"(in the directory {place!r}); add one to its 'responses' under command_mocks\n"
        )


def redact_call(call: ProgramCall) -> list[str]:
    """Return the arguments of a call without secrets, for records and messages."""
    environment = {**os.environ, **call.environment}
    redactor = Redactor.for_environment(environment)
    return [redactor.full_text(arg) for arg in redact_args(call.name, call.argv, environment)]


class _Response:
    """A response, with its fixtures read and its steps counted."""

    def __init__(self, response: CommandResponse, home: Path) -> None:
        self._response = response
        self.outputs: Iterator[ProgramOutput]
        if response.sequence is None:
            self.outputs = repeat(_make_output(response, home))
        else:
            self.outputs = iter([_make_output(step, home) for step in response.sequence])

    def matches(self, call: ProgramCall, workdir: str | None) -> bool:
        """Tell whether arguments, environment and directory are as the response wants them."""
        wanted = self._response
        variables = {os.path.normcase(name): value for name, value in call.environment.items()}
        return (
            (wanted.args is None or wanted.args == call.argv)
            and (wanted.args_regex is None or _all_match(wanted.args_regex, call.argv))
            and all(
                variables.get(os.path.normcase(name)) == value for name, value in wanted.environment.items()
            )
            and (not wanted.workdir or workdir == posixpath.normpath(wanted.workdir.replace("\\", "/")))
        )


def _all_match(patterns: list[str], argv: list[str]) -> bool:
    return len(patterns) == len(argv) and all(
        compile_pattern(pattern, anchored=True).search(arg)
        for pattern, arg in zip(patterns, argv, strict=True)
    )


def _find_workdir(cwd: str, workspace: Path | None) -> str | None:
    """Return the directory of a call relative to the workspace, with slashes; None outside of it."""
    if workspace is None:
        return None
    try:
        return Path(os.path.realpath(cwd)).relative_to(os.path.realpath(workspace)).as_posix()
    except ValueError:
        return None


def _make_output(output: CommandOutput, home: Path) -> ProgramOutput:
    delay = output.delay_ms / 1000 if isinstance(output, CommandStep) else 0
    stdout = _encode_stdout(output.stdout) if output.fixture is None else read_fixture(home, output.fixture)
    return ProgramOutput(
        stdout=stdout, stderr=output.stderr.encode(), exit_code=output.exit_code, delay=delay
    )


def _encode_stdout(stdout: Any) -> bytes:
    if stdout is None:
        return b""
    return (stdout if isinstance(stdout, str) else json_text(stdout)).encode()
