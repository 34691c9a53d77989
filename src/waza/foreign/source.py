"""Reading the files of another tool: only those below one folder, of bounded size, with all mistakes collected."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

from waza.errors import SuiteError
from waza.kit import frontmatter, json_nodes, yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice
from waza.kit.files import read_rooted, safe_join
from waza.kit.os_errors import describe_os_error
from waza.problem import Code, Problem, display_path

MAX_TEXT = 4 * 1024 * 1024  # bytes of a file with prompts or graders
MAX_FIXTURE = 256 * 1024 * 1024  # bytes of a file for workspaces, as suites have it
MAX_FILES = 10_000  # in one folder for workspaces
T = TypeVar("T")


class SourceFolder:
    """A folder of another tool's files. What cannot be read is among the `problems`, never an exception."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.problems: list[Problem] = []

    def name(self, relative: str = "") -> str:
        """Return what messages call a file of the folder."""
        return display_path(self.root / relative if relative else self.root)

    def error(
        self, code: Code, relative: str, message: str, hint: str = "", node: yaml.Node | None = None
    ) -> None:
        """Add an error about a file, at a node of it if there is one."""
        line, column = (node.line, node.column) if node else (0, 0)
        self.problems.append(
            Problem(code=code, file=self.name(relative), message=message, hint=hint, line=line, column=column)
        )

    def raise_errors(self) -> None:
        """Raise SuiteError if there are errors."""
        if self.problems:
            raise SuiteError(self.problems)

    def read(self, relative: str, limit: int = MAX_TEXT) -> bytes | None:
        """Return the content of a file; None after an error. `relative` never leads out of the folder."""
        try:
            path = safe_join(self.root, relative)
            if path.stat().st_size > limit:
                self.error("unreadable-file", relative, f"is larger than {limit // 2**20} MB")
                return None
            return read_rooted(self.root, relative)
        except FileNotFoundError:
            self.error("missing-file", relative, "there is no such file")
        except OSError as error:
            self.error("unreadable-file", relative, f"cannot be read ({describe_os_error(error)})")
        except ValueError as error:
            self.error("outside-path", "", str(error))
        return None

    def read_json(self, relative: str) -> Document | None:
        """Return the nodes of a JSON file; None after an error."""
        data = self.read(relative)
        if data is None:
            return None
        try:
            return Document(self.name(relative), json_nodes.load(data))
        except json_nodes.JsonError as error:
            self.problems.append(error.in_file(self.name(relative)))
            return None

    def read_yaml(self, relative: str) -> Document | None:
        """Return the nodes of a YAML file; None after an error."""
        data = self.read(relative)
        if data is None:
            return None
        try:
            return Document(self.name(relative), yaml.load(data))
        except yaml.YamlError as error:
            self.problems.append(error.in_file(self.name(relative)))
            return None

    def read_markdown(self, relative: str) -> tuple[Document, str] | None:
        """Return frontmatter and body of a Markdown file, without the line end before the body; None after an error.

        The line ends of Windows become those of other systems. No frontmatter is an empty mapping.
        """
        data = self.read(relative)
        if data is None:
            return None
        try:
            parts = frontmatter.split(data.replace(b"\r\n", b"\n"))
        except yaml.YamlError as error:
            self.problems.append(error.in_file(self.name(relative)))
            return None
        meta = parts.meta
        if meta is None or (isinstance(meta, yaml.Scalar) and meta.value is None):
            meta = yaml.Mapping({}, {}, 1, 1)
        body = parts.body if parts.meta is None else parts.body.partition("\n")[2]
        return Document(self.name(relative), meta), body

    def decode(
        self, document: Document, wanted: type[T], node: yaml.Node | None = None, *, strict: bool
    ) -> tuple[T | None, list[Problem]]:
        """Return a value of a document, None after a mistake, and its unknown keys; these are errors if `strict`."""
        severity = "error" if strict else "warning"
        decoder = Decoder(document, lambda *_: UnknownKeyAdvice(severity, ""))  # type: ignore[arg-type]  # one of two
        value = decoder.read(wanted, node)
        self.problems += [one for one in decoder.problems if one.severity == "error"]
        return value, [one for one in decoder.problems if one.severity == "warning"]

    def list_files(self, relative: str) -> list[str]:
        """Return a file itself, or the files below a directory, by name. Links that lead out are errors."""
        try:
            path = safe_join(self.root, relative)
        except ValueError as error:
            self.error("outside-path", "", str(error))
            return []
        if not path.is_dir():
            return [PurePosixPath(*Path(relative.replace("\\", "/")).parts).as_posix()]
        found = []
        for file in self._walk(path):
            found.append(file.relative_to(self.root).as_posix())
            if len(found) > MAX_FILES:
                self.error("invalid-value", relative, f"holds more than {MAX_FILES:,} files")
                return []
        return found

    def _walk(self, top: Path) -> Iterator[Path]:
        for folder, names, files in os.walk(top):
            names.sort()
            linked = [name for name in names if Path(folder, name).is_symlink()]
            for name in linked:
                self.error(
                    "outside-path",
                    Path(folder, name).relative_to(self.root).as_posix(),
                    "is a link to a directory, which is not followed",
                    "put a copy there",
                )
            for name in sorted(files):
                path = Path(folder, name)
                mode = path.lstat().st_mode
                if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                    yield path
                else:
                    self.error(
                        "unreadable-file", path.relative_to(self.root).as_posix(), "is no regular file"
                    )
