"""A definition file as it is checked: its text, its frontmatter with places, and its Markdown."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from waza.author.check.finding import Finding, Severity
from waza.kit import frontmatter, yaml
from waza.kit.markdown import Markdown, parse
from waza.model.skill import Target
from waza.problem import Code, display_path
from waza.suite.definition import Definition, make_absolute, read_definition


class Source:
    """The file of a skill or custom agent.

    `definition` has the mistakes that keep waza from using it. `meta` is None without a readable frontmatter;
    `body_line` is the line that `body` starts on.
    """

    def __init__(self, path: Path) -> None:
        self.path = make_absolute(path)
        self.file = display_path(self.path)
        self.definition: Definition = read_definition(self.path)
        self.data = _read(self.path)
        self.text = self.data.decode("utf-8-sig", "replace")
        self.meta: yaml.Mapping | None = None
        self.has_frontmatter = False
        self.is_readable = False
        self.body, self.body_line = self.text, 1
        try:
            parts = frontmatter.split(self.data)
        except yaml.YamlError:
            return  # one of the problems of the definition
        self.is_readable = bool(self.data)
        self.body, self.body_line = parts.body, parts.body_line
        self.has_frontmatter = parts.meta is not None
        self.meta = parts.meta if isinstance(parts.meta, yaml.Mapping) else None

    @property
    def target(self) -> Target:
        """The skill or agent, as far as it could be read."""
        return self.definition.target

    @cached_property
    def markdown(self) -> Markdown:
        """The structure of the body, with the lines of the file."""
        return parse(self.body, self.body_line)

    def text_of(self, key: str) -> str:
        """Return the trimmed text of a key of the frontmatter; an empty one where it has no text."""
        node = self.meta.entries.get(key) if self.meta else None
        return node.text.strip() if isinstance(node, yaml.Scalar) and node.value is not None else ""

    def place(self, key: str = "") -> tuple[int, int]:
        """Return line and column of a key of the frontmatter; the beginning of the file where it has none."""
        node = self.meta.keys.get(key) if self.meta and key else None
        return (node.line, node.column) if node else (1, 1)

    def place_of_value(self, key: str) -> tuple[int, int]:
        """Return line and column of the value of a key of the frontmatter."""
        node = self.meta.entries.get(key) if self.meta else None
        return (node.line, node.column) if node else (1, 1)

    def place_in_body(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character of the body."""
        start = self.body.rfind("\n", 0, offset) + 1
        line = self.body_line + self.body.count("\n", 0, offset)
        return line, offset - start + 1

    def finding(
        self,
        code: Code,
        severity: Severity,
        message: str,
        remedy: str = "",
        place: tuple[int, int] = (1, 1),
    ) -> Finding:
        """Return a finding about this file."""
        return Finding(
            code=code,
            severity=severity,
            file=self.file,
            line=place[0],
            column=place[1],
            message=message,
            remedy=remedy,
        )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() else b""  # a pipe would wait for its writer
    except (OSError, ValueError):
        return b""  # one of the problems of the definition
