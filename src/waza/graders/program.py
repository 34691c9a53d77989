"""`program`: a program of the user's own judges; exit status 0 is a pass."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from waza.errors import GraderError, is_outside
from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit import process
from waza.kit.files import is_inside
from waza.kit.process import FinishedProcess
from waza.kit.template import has_references
from waza.model.base import NonBlank, SecondsOrOff
from waza.model.observation import Observation
from waza.model.verdict import NO_VERDICT, Helpers, Verdict

_KEPT_BYTES = 1024 * 1024  # of each of stdout and stderr, for the details
# Bytecode that a Python program leaves beside itself would change the digest of its module.
_NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}
# Programs that take a program's text as an argument, and the flags that it follows or is attached to.
_INTERPRETER = re.compile(
    r"(?:(?:ba|da|z|k|mk|a|fi)?sh|python[\d.]*|node|deno|bun|perl|ruby|php|pwsh|powershell|cmd)(?:\.exe)?",
    re.IGNORECASE,
)
_TEXT_FLAG = re.compile(r"-[A-Za-z]*[cepr]|--(?:eval|print|command)|-command|/c|eval", re.IGNORECASE)
_ATTACHED = re.compile(r"(?:-[ecr]|--(?:eval|print|command)=).+", re.DOTALL)
_WORDS = re.compile(r"[^\s\"'`;&|<>()$=]+")  # of a shell command
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


class ProgramGrader(Grader, frozen=True, kw_only=True):
    """Any program, run without a shell. Exit status 0: score 1, passed; anything else: 0, failed.

    The program gets the agent's output on stdin, the task's environment and `WAZA_WORKSPACE_DIR`; it
    runs in the current directory. `command` and `args` that are files beside the suite (or in the current
    directory) are handed over as absolute paths. `timeout` is in seconds; 0: the project's limit.
    A program may read anything, so it is asked again about answers from the cache, unless `cache_inputs` lists the
    files and folders beside the suite that its verdict depends on ([]: none). No verdict is taken once a run has
    changed them, or without them what lies in the folder of the program.
    """

    reads_workspace: ClassVar[bool] = True
    accepts_empty_variables: ClassVar[bool] = True
    command: NonBlank
    """A program on `PATH`, or a file beside the suite or in the current directory."""
    args: list[str] = []
    """Its arguments. Those that are files beside the suite are handed over as absolute paths."""
    timeout: SecondsOrOff = 0
    """Seconds that it may take. 0: `graders.programTimeout` of `.waza.yaml`, which is 30."""
    cache_inputs: list[NonBlank] | None = None
    """Files and directories that the verdict depends on, beside the suite. `[]`: none. Left out: the
    directory of the program, and verdicts are not taken from the cache."""

    _near: tuple[str, ...] = ()  # folders with its code that were found

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse what no system can pass to a program, and a module's command that is not in the module."""
        if location.module and _is_path(self.command) and location.find(self.command) is None:
            yield ConfigMistake(path=("command",), message=f"there is no {self.command!r} in the module")
        if "\0" in self.command:
            yield ConfigMistake(path=("command",), message="holds a NUL character", hint="remove it")
        elif not location.module and not _program_exists(_absolute(self.command, location)):
            arguments = "; arguments go into args" if len(self.command.split()) > 1 else ""
            message = f"there is no program {self.command!r}, so every run fails this check{arguments}"
            hint = "it is sought beside the suite, in the current directory and on PATH"
            yield ConfigMistake(path=("command",), message=message, hint=hint, warning=True)
        for index, arg in enumerate(self.args):
            if "\0" in arg:
                yield ConfigMistake(path=("args", index), message="holds a NUL character", hint="remove it")
        for index, name in enumerate(self.cache_inputs or ()):
            if "\0" in name or not (location.base / name).exists():
                yield ConfigMistake(
                    path=("cache_inputs", index), message=f"there is no {name!r} beside the suite"
                )

    def check_variables(self) -> Iterator[ConfigMistake]:
        """Yield the arguments that an interpreter reads as a program and that hold references."""
        for index in _program_texts([self.command, *self.args]):
            if index and has_references(self.args[index - 1]):
                yield ConfigMistake(
                    path=("args", index - 1),
                    message="a variable in the text of a program would be read as code",
                    hint="hand it over as an argument of its own, as in "
                    'args: ["-c", "echo \\"$1\\"", "sh", "{{.Vars.answer}}"]',
                )

    def resolve_paths(self, location: GraderLocation) -> ProgramGrader:
        """Make those words absolute paths that are files near the suite."""
        command, *args = [_absolute(word, location) for word in (self.command, *self.args)]
        inputs = self.cache_inputs
        if inputs is not None:
            inputs = [str((location.base / name).absolute()) for name in inputs]
        inner = {word for arg in self.args for word in _WORDS.findall(arg) if not os.path.isabs(word)}  # noqa: PTH117 - as in _absolute
        words = {command, *args, *(_absolute(word, location) for word in inner)}
        files = [Path(word) for word in words if _is_absolute_file(word)]
        folders = {str(file.parent) for file in files} - set(os.get_exec_path())
        near = tuple(sorted({*folders, *_modules([self.command, *self.args])}))
        return msgspec.structs.replace(self, command=command, args=args, cache_inputs=inputs, _near=near)

    @property
    def repeatable(self) -> bool:
        """Whether `cache_inputs` says what the verdict depends on."""
        return self.cache_inputs is not None

    @property
    def is_pinned(self) -> bool:
        """Whether it is known what it reads, or at least where its code is."""
        return self.cache_inputs is not None or bool(self._near)

    @property
    def extra_digest(self) -> str:
        """The digest of the environment variables that the arguments name, and of where modules are found."""
        names = {"PYTHONPATH", *(name for arg in self.args for name in _VARIABLE.findall(arg))}
        values = [(name, os.environ.get(name)) for name in sorted(names)]
        return sha256(repr(values).encode("utf-8", "surrogateescape")).hexdigest()

    def extra_files(self) -> list[Path]:
        """Return what the verdict may depend on: the program, and `cache_inputs`, else the folders with its code."""
        program = shutil.which(self.command)
        own = [Path(program)] if program else []
        return own + [Path(name) for name in (self._near if self.cache_inputs is None else self.cache_inputs)]

    async def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Run the program and judge by its end, never by what it prints."""
        limit = self.timeout or helpers.program_timeout
        finished = await process.run(
            [self.command, *self.args],
            stdin=observation.output.encode("utf-8", "replace"),
            env={
                **os.environ,
                **_NO_BYTECODE,
                **helpers.environment,
                **observation.environment,
                "WAZA_WORKSPACE_DIR": observation.workspace,
            },
            timeout=limit,
            max_output=_KEPT_BYTES,
        )
        if is_outside(finished.cause):
            raise GraderError(finished.start_error) from finished.cause
        stdout, stderr = _text(finished.stdout), _text(finished.stderr)
        details: dict[str, Any] = {
            "command": self.command,
            "args": self.args,
            "stdout": stdout,
            "stderr": stderr,
            "workspace_dir": observation.workspace,
        }
        if finished.ok:
            return Verdict(score=1.0, passed=True, feedback=stdout or "exit status 0", details=details)
        ending = _ending(finished, limit)
        feedback = f"{ending}: {stderr}" if stderr else ending
        if finished.timed_out or finished.returncode is None:
            details[NO_VERDICT] = True  # it did not start, or did not come to its end
        return Verdict.failed(feedback, **details, exit_error=ending)


def _program_texts(words: Sequence[str]) -> Iterator[int]:
    """Yield the places of the words that an interpreter among them reads as a program."""
    interpreter = expected = False
    for index, word in enumerate(words):
        if expected and not word.startswith("-"):
            yield index
            expected = False
        elif interpreter and _TEXT_FLAG.fullmatch(word):
            expected = True
        elif interpreter and _ATTACHED.fullmatch(word):
            yield index
        elif _INTERPRETER.fullmatch(re.split(r"[/\\\\]", word)[-1]):
            interpreter = True


def _absolute(word: str, location: GraderLocation) -> str:
    """Return the absolute path of the file that `word` names near the suite, else `word` itself.

    For a grader from elsewhere it is a file of its module.
    """
    for directory in (location.base,) if location.module else (location.base, Path.cwd()):
        path = os.path.join(directory, word)  # noqa: PTH118 - `word` may be any text, such as a whole script
        ours = location.module is None or is_inside(location.module, Path(path))
        if ours and os.path.isfile(path):  # noqa: PTH113 - as above: False where Path.is_file raises (name too long)
            return os.path.abspath(path)  # noqa: PTH100 - keeps symlinks, so a program finds its neighbours
    return word


def _modules(words: Sequence[str]) -> Iterator[str]:
    """Yield the folders of the modules that an interpreter is to run (`-m`) and that are not installed."""
    for flag, name in pairwise(words):
        for folder in _python_path() if flag == "-m" else ():
            place = os.path.join(folder, name.partition(".")[0])  # noqa: PTH118 - `name` may be any text
            if os.path.isdir(place):  # noqa: PTH112 - as above
                yield place
                break
            if os.path.isfile(f"{place}.py"):  # noqa: PTH113 - as above
                yield folder
                break


def _python_path() -> list[str]:
    """Return the folders in which Python seeks modules before those that are installed."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [os.path.abspath(folder) for folder in ("", *filter(None, given))]  # noqa: PTH100 - keeps symlinks


def _program_exists(command: str) -> bool:
    try:
        return shutil.which(command) is not None or Path(command).is_file()
    except (OSError, ValueError):
        return False  # no program can have such a name


def _is_absolute_file(word: str) -> bool:
    """Tell the absolute path of a file from any other word, which may be a whole script."""
    return os.path.isabs(word) and os.path.isfile(word)  # noqa: PTH113, PTH117 - as above


def _is_path(command: str) -> bool:
    """Tell a path from a bare name, which is sought on PATH."""
    return "/" in command or "\\" in command or command.startswith("~")


def _ending(finished: FinishedProcess, limit: float) -> str:
    return f"the time limit of {limit:g} s was reached" if finished.timed_out else finished.outcome


def _text(data: bytes) -> str:
    text = data.decode("utf-8", "replace").strip()
    return text + "\n[the rest was not kept]" if len(data) >= _KEPT_BYTES else text
