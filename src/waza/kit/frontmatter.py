"""Splitting a Markdown file into its YAML frontmatter and its body, with lines counted as in the file."""

from __future__ import annotations

import msgspec

from waza.kit import yaml

_MARKER = "---"


class Frontmatter(msgspec.Struct, frozen=True):
    """A Markdown file in two parts.

    `meta` is the YAML between the markers: None where the file has no frontmatter, a Scalar of None where
    nothing is between them. `body` is all that follows the three dashes of the closing marker, so it
    normally starts with a line end. `body_line` is the line of the file that the body starts on.
    """

    meta: yaml.Node | None
    body: str
    body_line: int


def split(data: bytes | str) -> Frontmatter:
    """Split a Markdown file (bytes: UTF-8; a byte order mark is dropped).

    Frontmatter opens with `---` as the very first characters and closes at the next line that starts with
    `---`. Raises YamlError, placed in the file, for frontmatter that does not close, bad YAML, and bytes
    that are not UTF-8.
    """
    text = _decode(data)
    if not text.startswith(_MARKER):
        return Frontmatter(None, text, 1)
    end = _closing(text)
    if end < 0:
        raise yaml.YamlError(
            "the frontmatter has no end; close it with a line '---' after its last key", line=1, column=1
        )
    # The line end after the opening marker stays in the block, which makes its lines those of the file.
    block = text[len(_MARKER) : end]
    meta = yaml.load(block.encode("utf-8", "surrogatepass"))
    return Frontmatter(meta, text[end + len(_MARKER) :], text.count("\n", 0, end) + 1)


def _closing(text: str) -> int:
    """Return where the closing marker starts, or -1."""
    before = text.find(f"\n{_MARKER}", len(_MARKER))
    return -1 if before < 0 else before + 1


def _decode(data: bytes | str) -> str:
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise yaml.YamlError(
            "the file is not UTF-8 text; save it as UTF-8", line, column, "unreadable-file"
        ) from None
