"""`wgp`: a grader that lives elsewhere, as a program or a WASM module, and speaks WGP/1."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from waza.errors import GraderError
from waza.graders import _wgp_program
from waza.graders._wgp_module import MAGIC
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.model.base import Keys, NonBlank, Seconds
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict
from waza.model.wgp import GraderReply, decode_response, encode_request

_WASM_MEMORY_MB = 256
_SHOWN_LOG = 2000  # characters of the log that stand in an error


class WgpLimits(Keys, frozen=True, kw_only=True):
    """Limits of one grading. `memory_mb` is 256 for wasm; a program is only limited if it is written."""

    memory_mb: Annotated[int, msgspec.Meta(ge=1, le=65_536)] | None = None
    """Memory in MiB. Default: 256 for `wasm`; for `program` no limit."""
    cpu_seconds: Seconds = 30
    """Seconds of processor time."""
    wall_seconds: Seconds = 30
    """Seconds from start to end."""


class Wgp(Grader, frozen=True, kw_only=True):
    """A grader in any language that speaks the protocol WGP/1. Its score and its `passed` count as it gives them.

    A program that breaks, a limit that is reached and
    an answer that is not WGP/1 are errors, never failures.
    """

    reads_workspace: ClassVar[bool] = True
    reads_changes: ClassVar[bool] = True
    accepts_empty_variables: ClassVar[bool] = True
    runtime: Literal["program", "wasm"]
    """`program`: an executable program, which runs with your rights. `wasm`: a WASM module, which runs in a
    sandbox."""
    artifact: NonBlank
    """The file of the program or module, beside the suite or in the current directory."""
    entrypoint: NonBlank = "grade"
    """The function that a WASM module exports."""
    limits: WgpLimits = WgpLimits()
    """Limits of one grading."""
    config: dict[str, Any] = {}
    """What the grader gets as its config."""

    _digest: str = ""  # of a module as it was when the suite was loaded

    @property
    def repeatable(self) -> bool:
        """Whether it is a module in a sandbox, and no program, which may read anything."""
        return self.runtime == "wasm"

    def extra_files(self) -> list[Path]:
        """Return the folder of a program."""
        return [Path(self.artifact).parent] if self.runtime == "program" else []

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse an artifact that is missing or cannot be run."""
        file = location.find(self.artifact)
        if file is None:
            yield _finding(f"{self.artifact!r} is not there", "it is sought beside the suite")
        elif not file.is_file():
            yield _finding(f"{self.artifact!r} is not a file", "name the program or module itself")
        elif self.runtime == "wasm":
            yield from self._module_findings(file)
        elif not os.access(file, os.X_OK):
            yield _finding(f"{self.artifact!r} is not executable", f"make it so: chmod +x {file}")

    def resolve_paths(self, location: GraderLocation) -> Wgp:
        """Return the grader with the absolute path of its artifact; a module must then stay as it is."""
        file = (location.find(self.artifact) or Path(self.artifact)).absolute()
        digest = ""
        if self.runtime == "wasm":
            _require_wasmtime()
            from waza.graders._wgp_wasm import digest_module

            digest = digest_module(file)
        return msgspec.structs.replace(self, artifact=str(file), _digest=digest)

    async def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Send the request and return the verdict. Raises GraderError without one."""
        del helpers
        answer = await (
            self._ask_module(observation) if self.runtime == "wasm" else self._ask_program(observation)
        )
        if answer.fault:
            raise _no_verdict(answer.fault, answer)
        try:
            response = decode_response(answer.data)
        except ValueError as error:
            raise _no_verdict(str(error), answer) from error
        details = {"evidence": msgspec.to_builtins(response.evidence), "metrics": response.metrics}
        if answer.log:
            details["log"] = answer.log
        return Verdict(
            score=response.score, passed=response.passed, feedback=response.rationale, details=details
        )

    async def _ask_program(self, observation: Observation) -> GraderReply:
        workspace = _absolute(observation.workspace)
        return await _wgp_program.ask(
            Path(self.artifact),
            encode_request(observation, self.config, workspace),
            workspace=workspace,
            cpu=self.limits.cpu_seconds,
            wall=self.limits.wall_seconds,
            memory_mb=self.limits.memory_mb,
        )

    async def _ask_module(self, observation: Observation) -> GraderReply:
        _require_wasmtime()
        from waza.graders import _wgp_wasm as wasm

        try:
            answer: GraderReply = await wasm.ask(
                Path(self.artifact),
                self._digest,
                self.entrypoint,
                encode_request(observation, self.config),
                limit=min(self.limits.cpu_seconds, self.limits.wall_seconds),
                memory_mb=self.limits.memory_mb or _WASM_MEMORY_MB,
            )
        except (OSError, ValueError) as error:
            raise GraderError(str(error)) from error
        return answer

    def _module_findings(self, file: Path) -> Iterator[ConfigMistake]:
        try:
            binary = file.read_bytes()
            if not binary.startswith(MAGIC):
                yield _finding(
                    f"{self.artifact!r} is not a WASM module", "compile it, or say runtime: program"
                )
                return
            _require_wasmtime()
            from waza.graders._wgp_wasm import inspect_module

            module = inspect_module(binary)
        except OSError as error:
            yield _finding(f"{self.artifact!r} cannot be read: {error.strerror}")
        except GraderError as error:
            yield ConfigMistake(path=("runtime",), message=str(error))
        except ValueError as error:
            yield _finding(str(error))
        else:
            if self.entrypoint not in module.entrypoints:
                message = f"the module exports no function {self.entrypoint!r} that takes nothing"
                hint = f"it can be entered at: {', '.join(module.entrypoints) or 'nothing'}"
                yield ConfigMistake(path=("entrypoint",), message=message, hint=hint)


def _require_wasmtime() -> None:
    """Raise GraderError where wasmtime is not installed: it is an extra, and slow to import."""
    if find_spec("wasmtime") is None:
        raise GraderError("runtime wasm needs wasmtime; install it: pip install 'waza[wasm]'")


def _absolute(workspace: str) -> str:
    return str(Path(workspace).absolute()) if workspace else ""


def _finding(message: str, hint: str = "") -> ConfigMistake:
    return ConfigMistake(path=("artifact",), message=message, hint=hint)


def _no_verdict(reason: str, answer: GraderReply) -> GraderError:
    """Return the error of a grader, with the end of what it logged."""
    log = answer.log[-_SHOWN_LOG:]
    return GraderError(f"{reason}; its log ends: {log}" if log else reason)
