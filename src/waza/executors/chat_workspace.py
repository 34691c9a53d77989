"""The tools of the loop that work in the attempt's workspace: read, write, edit, list, search, run a command.

They have the names that suites know from other agents. Paths stay inside: what leads out of the workspace, also by a link, is
refused. Directories of skills can be read as well. Commands are not confined.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from waza.errors import WazaError
from waza.executors.chat_tools import ChatTool, ToolAnswer, failed
from waza.kit import process
from waza.kit.files import is_inside, read_rooted
from waza.kit.os_errors import describe_os_error
from waza.kit.pattern import compile_pattern, literal

MOST_FILE = 5 * 1024 * 1024
"""Bytes of a file that a tool reads or writes."""
MOST_OUTPUT = 1024 * 1024
"""Bytes of each output of a command that are kept."""
_MOST_FILES = 20_000  # that a search looks at
_MOST_FOUND = 500  # lines or paths that a search returns
_LONGEST_PATTERN = 1000  # characters
_LONGEST_LINE = 500  # characters of a line that a search shows

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def _about(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


_Path = Annotated[str, _about("A path, relative to the working directory or absolute")]


class _View(msgspec.Struct):
    path: _Path
    view_range: Annotated[
        list[int], _about("The first and the last line to show, counted from 1; the last may be -1")
    ] = []


class _Create(msgspec.Struct):
    path: _Path
    file_text: Annotated[str, _about("The whole content of the file")]


class _Edit(msgspec.Struct):
    path: _Path
    old_str: Annotated[str, _about("The text to replace, which is in the file exactly once")]
    new_str: Annotated[str, _about("The text to put in its place")] = ""


class _Glob(msgspec.Struct):
    pattern: Annotated[str, _about("A pattern such as src/**/*.py")]
    path: Annotated[str, _about("The directory to look in")] = "."


class _Grep(msgspec.Struct):
    pattern: Annotated[str, _about("A regular expression (RE2), sought in each line")]
    path: Annotated[str, _about("The file or directory to look in")] = "."
    glob: Annotated[str, _about("Only files that match this pattern, such as **/*.md")] = ""
    ignore_case: Annotated[bool, _about("Whether the case of letters is ignored")] = False


class _Bash(msgspec.Struct):
    command: Annotated[str, _about("The command line")]


class _ToolError(Exception):
    """The model asked for what cannot be done; the message is for the model."""


class Workspace:
    """The directories of an attempt as its tools see them.

    `root` is the workspace, `workdir` where the agent starts, `readable` other directories that may be read. Commands have
    `environment`, and end after `command_timeout` seconds with all that they started.
    """

    def __init__(
        self,
        root: Path,
        workdir: Path,
        readable: Sequence[Path],
        environment: Mapping[str, str],
        command_timeout: float,
    ) -> None:
        self.root, self.workdir = Path(os.path.realpath(root)), Path(os.path.realpath(workdir))
        self.readable = [Path(os.path.realpath(path)) for path in readable]
        self._environment, self._command_timeout = environment, command_timeout

    def tools(self) -> list[ChatTool]:
        """Return the tools."""
        seconds = f"{self._command_timeout:g}"
        return [
            _tool("view", "Shows a text file, or lists a directory.", _View, _in_thread(self._view)),
            _tool(
                "create", "Writes a file, in place of one that is there.", _Create, _in_thread(self._create)
            ),
            _tool("edit", "Replaces a text in a file.", _Edit, _in_thread(self._edit)),
            _tool("glob", "Lists files whose paths match a pattern.", _Glob, _in_thread(self._glob)),
            _tool("grep", "Searches the lines of files.", _Grep, _in_thread(self._grep)),
            _tool(
                "bash",
                "Runs a command in a shell, in the working directory. It has no input, and ends after "
                f"{seconds} seconds at the latest; what it started in the background ends with it.",
                _Bash,
                self._bash,
            ),
        ]

    def _place(self, path: str, *, write: bool = False) -> tuple[Path, Path]:
        """Return the directory that a path is in, and the path below it. Raises _ToolError for one that leads out."""
        if "\0" in path:
            raise _ToolError("a path holds no NUL character")
        full = Path(os.path.normpath(self.workdir / path))
        roots = [self.root] if write else [self.root, *self.readable]
        for root in roots:
            if full.is_relative_to(root) and is_inside(root, full):
                return root, full
        raise _ToolError(f"{path} is outside of the workspace")

    def _read(self, path: str) -> str:
        root, full = self._place(path)
        found = full.stat()
        if not stat.S_ISREG(found.st_mode):
            raise _ToolError(f"{path} is no regular file")
        if found.st_size > MOST_FILE:
            raise _ToolError(f"{path} is larger than {MOST_FILE:,} bytes")
        data = read_rooted(root, os.path.relpath(os.path.realpath(full), root))
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise _ToolError(f"{path} is not UTF-8 text") from None

    def _write(self, path: str, text: str) -> int:
        _, full = self._place(path, write=True)
        data = text.encode("utf-8", "replace")
        if len(data) > MOST_FILE:
            raise _ToolError(f"a file has at most {MOST_FILE:,} bytes")
        if full.exists() and not full.is_file():
            raise _ToolError(f"{path} is no regular file")
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)
        return len(data)

    def _view(self, asked: _View) -> str:
        _, full = self._place(asked.path)
        if full.is_dir():
            return "\n".join(_list_directory(full)) or "(an empty directory)"
        text = self._read(asked.path)
        if not asked.view_range:
            return text
        if len(asked.view_range) != 2:
            raise _ToolError("view_range has two numbers: the first and the last line")
        first, last = asked.view_range
        lines = text.splitlines(keepends=True)
        return "".join(lines[max(first, 1) - 1 : len(lines) if last < 0 else last])

    def _create(self, asked: _Create) -> str:
        return f"wrote {self._write(asked.path, asked.file_text):,} bytes to {asked.path}"

    def _edit(self, asked: _Edit) -> str:
        self._place(asked.path, write=True)
        text = self._read(asked.path)
        count = text.count(asked.old_str) if asked.old_str else 0
        if count != 1:
            raise _ToolError(f"old_str is in {asked.path} {count} times; it has to be there exactly once")
        self._write(asked.path, text.replace(asked.old_str, asked.new_str))
        return f"edited {asked.path}"

    def _glob(self, asked: _Glob) -> str:
        root, full = self._place(asked.path)
        wanted = _path_pattern(asked.pattern)
        found = (path.relative_to(full).as_posix() for path in _files(full, root))
        return _bounded(path for path in found if wanted.search(path))

    def _grep(self, asked: _Grep) -> str:
        root, full = self._place(asked.path)
        if len(asked.pattern) > _LONGEST_PATTERN:
            raise _ToolError(f"a pattern has at most {_LONGEST_PATTERN} characters")
        try:
            wanted = compile_pattern(asked.pattern, ignore_case=asked.ignore_case)
        except WazaError as error:
            raise _ToolError(str(error)) from None
        only = _path_pattern(asked.glob) if asked.glob else None
        if not full.exists():
            raise _ToolError(f"there is no {asked.path}")
        files = [full] if full.is_file() else _files(full, root)

        def lines() -> Iterator[str]:
            for file in files:
                name = file.name if file == full else file.relative_to(full).as_posix()
                if only is not None and not only.search(name):
                    continue
                try:
                    text = self._read(str(file))
                except (_ToolError, OSError, ValueError):
                    continue  # no text, or gone
                for number, line in enumerate(text.splitlines(), 1):
                    if wanted.search(line):
                        yield f"{name}:{number}:{line[:_LONGEST_LINE]}"

        return _bounded(lines())

    async def _bash(self, asked: _Bash) -> ToolAnswer:
        if "\0" in asked.command:
            return failed("a command holds no NUL character")
        ended = await process.run(
            [*_shell(), asked.command],
            cwd=self.workdir,
            env=self._environment,
            timeout=self._command_timeout,
            max_output=MOST_OUTPUT,
        )
        parts = [ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace")]
        if ended.timed_out:
            parts.append(f"the command was ended after {self._command_timeout:g} s")
        elif not ended.ok:
            parts.append(f"the command ended with {ended.outcome}")
        if ended.truncated:
            parts.append(f"of each output the first {MOST_OUTPUT:,} bytes are kept")
        text = "\n".join(part.rstrip("\n") for part in parts if part)
        never_ran = ended.timed_out or bool(ended.start_error)
        return ToolAnswer(text or "(no output)", success=not never_ran)


def _tool(
    name: str, description: str, kind: type[Arguments], run: Callable[[Arguments], Awaitable[ToolAnswer]]
) -> ChatTool:
    _, schemas = msgspec.json.schema_components([kind])

    async def checked(given: dict[str, Any]) -> ToolAnswer:
        try:
            arguments = msgspec.convert(given, kind)
        except msgspec.ValidationError as error:
            return failed(f"the arguments do not fit: {error}")
        return await run(arguments)

    (schema,) = schemas.values()
    parameters = {key: value for key, value in schema.items() if key != "title"}
    return ChatTool(name=name, identity=name, description=description, parameters=parameters, run=checked)


def _in_thread(work: Callable[[Arguments], str]) -> Callable[[Arguments], Awaitable[ToolAnswer]]:
    """Return work on files that does not keep others waiting."""

    async def run(arguments: Arguments) -> ToolAnswer:
        try:
            return ToolAnswer(await asyncio.to_thread(work, arguments))
        except _ToolError as error:
            return failed(str(error))
        except OSError as error:
            return failed(describe_os_error(error))
        except ValueError as error:  # a path that no system takes
            return failed(str(error))

    return run


def _shell() -> list[str]:
    if sys.platform == "win32":
        return ["cmd", "/C"]
    return [shutil.which("bash") or "sh", "-c"]


def _list_directory(directory: Path) -> list[str]:
    entries = sorted(directory.iterdir(), key=lambda entry: entry.name)
    return [f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries]


def _files(directory: Path, root: Path) -> Iterator[Path]:
    """Yield the files below a directory, by name. Links that lead out are left out, as is what git keeps."""
    count = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(names):
            count += 1
            if count > _MOST_FILES:
                raise _ToolError(
                    f"there are more than {_MOST_FILES:,} files; look in a directory further down"
                )
            path = Path(folder, name)
            if not path.is_symlink() or is_inside(root, path):
                yield path


def _path_pattern(pattern: str) -> Any:
    """Return a pattern of paths with `/`: a star stays in its directory, two of them do not."""
    if len(pattern) > _LONGEST_PATTERN:
        raise _ToolError(f"a pattern has at most {_LONGEST_PATTERN} characters")
    parts: list[str] = []
    rest = pattern.removeprefix("./")
    while rest:
        for sign, meaning in (("**/", "(?:.*/)?"), ("**", ".*"), ("*", "[^/]*"), ("?", "[^/]")):
            if rest.startswith(sign):
                parts.append(meaning)
                rest = rest[len(sign) :]
                break
        else:
            parts.append(literal(rest[0]))
            rest = rest[1:]
    try:
        return compile_pattern("".join(parts), anchored=True)
    except WazaError as error:
        raise _ToolError(str(error)) from None


def _bounded(found: Iterator[str]) -> str:
    """Return what was found, a line each; of too much the beginning, which is said."""
    lines: list[str] = []
    for line in found:
        if len(lines) == _MOST_FOUND:
            lines.append(f"(there are more than {_MOST_FOUND})")
            break
        lines.append(line)
    return "\n".join(lines) or "(nothing found)"
