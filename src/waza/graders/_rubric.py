"""Rubrics: what a judge shall look at, in a Markdown file with a head that names and versions it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.graders.base import GraderLocation
from waza.kit import frontmatter, yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice, fields_of
from waza.kit.names import did_you_mean
from waza.model.base import Keys, NonBlank
from waza.problem import Problem, display_path

_BUILT_IN = Path(__file__).parent / "rubrics"
_VERSION = re.compile(r"v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\Z")


class RubricGolden(Keys, frozen=True, kw_only=True):
    """An answer whose verdict is known: test data for the rubric's author, not used when grading."""

    name: NonBlank
    output: NonBlank
    expected: Literal["pass", "fail"]
    input: str = ""
    context: str = ""


class Head(Keys, frozen=True, kw_only=True):
    """The frontmatter of a rubric. The scale `1-5` is reserved and changes nothing."""

    name: NonBlank
    version: NonBlank
    scale: Literal["pass-fail", "1-5"]
    description: NonBlank
    goldens: list[RubricGolden] = []


class Rubric(msgspec.Struct, frozen=True):
    """A rubric: its head, the text for the judge, and where it is from (`builtin:<name>`, `file:<path>`)."""

    head: Head
    body: str
    source: str

    @property
    def details(self) -> dict[str, Any]:
        """The rubric's identity, as results keep it."""
        head = self.head
        return {"name": head.name, "version": head.version, "scale": head.scale, "source": self.source}


def list_built_in() -> list[str]:
    """Return the names of the built-in rubrics, sorted."""
    return sorted(path.stem for path in _BUILT_IN.glob("*.md"))


def load_rubric(reference: str, location: GraderLocation) -> tuple[Rubric | None, list[Problem]]:
    """Return the rubric that a reference means, or None, and everything that is wrong or odd with it.

    A reference is a path if it ends in `.md`, starts with `.`, `/` or `~`, or holds a separator; any
    other is the name of a built-in rubric. `~` is the home directory.
    """
    reference = reference.strip()
    if not _is_path(reference):
        if reference in list_built_in():
            return _read(_BUILT_IN / f"{reference}.md", f"builtin:{reference}")
        return None, [
            Problem(
                code="missing-file",
                file=reference,
                message="is no built-in rubric",
                hint=f"{did_you_mean(reference, list_built_in())}; a rubric of your own is a path ending in .md",
            )
        ]
    path = location.find(reference)
    if path is None:
        hint = "write the path relative to the suite's directory or to the current directory"
        return None, [
            Problem(code="missing-file", file=reference, message="there is no such rubric file", hint=hint)
        ]
    return _read(path, f"file:{display_path(path)}")


def _is_path(reference: str) -> bool:
    return (
        reference.endswith(".md") or reference.startswith((".", "~")) or "/" in reference or "\\" in reference
    )


def _read(path: Path, source: str) -> tuple[Rubric | None, list[Problem]]:
    file = display_path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return None, [Problem(code="unreadable-file", file=file, message=f"cannot be read: {error.strerror}")]
    text = data.lstrip()
    skipped = data.count(b"\n", 0, len(data) - len(text))
    rubric, problems = _parse(file, text, source)
    return rubric, [
        msgspec.structs.replace(problem, line=problem.line + skipped if problem.line else 0)
        for problem in problems
    ]


def _parse(file: str, text: bytes, source: str) -> tuple[Rubric | None, list[Problem]]:
    try:
        document = frontmatter.split(text)
    except yaml.YamlError as error:
        return None, [error.in_file(file)]
    if document.meta is None:
        hint = "start the file with a line '---', the keys name, version, scale and description, and '---'"
        return None, [Problem(code="missing-key", file=file, message="has no frontmatter", hint=hint)]
    decoder = Decoder(Document(file, document.meta), _warn)
    head = decoder.read(Head)
    problems = [*decoder.problems, *_mistakes(file, head, document)]
    if head is None or any(problem.severity == "error" for problem in problems):
        return None, problems
    return Rubric(head, document.body.strip(), source), problems


def _mistakes(file: str, head: Head | None, document: frontmatter.Frontmatter) -> list[Problem]:
    """Return what types cannot say of a rubric."""
    found = []
    if head and not _VERSION.match(head.version.strip()):
        hint = "write a semantic version such as 1.0.0"
        found.append(
            Problem(
                code="version",
                file=file,
                path="version",
                message=f"{head.version!r} is no version",
                hint=hint,
            )
        )
    if not document.body.strip():
        hint = "write below the frontmatter what the judge shall look at"
        found.append(
            Problem(code="missing-key", file=file, line=document.body_line, message="has no text", hint=hint)
        )
    return found


def _warn(struct: type, key: str, _path: tuple[str | int, ...]) -> UnknownKeyAdvice:
    return UnknownKeyAdvice("warning", did_you_mean(key, (field.key for field in fields_of(struct))))
