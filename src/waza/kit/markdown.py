"""The structure of a Markdown text (CommonMark and tables): links, headings, lists and tables, with their places.

It is the only module that imports markdown_it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

_LINE_ENDS = ("softbreak", "hardbreak")


class Link(msgspec.Struct, frozen=True):
    """A link, image or autolink: where it leads, percent-encoded as browsers take it. Places count from 1."""

    target: str
    line: int
    column: int


class Heading(msgspec.Struct, frozen=True):
    """A heading: its level from 1 to 6, and its text. `nested`: it is in a list or a quotation, so that no section starts there."""

    level: int
    text: str
    line: int
    nested: bool = False


class ListItem(msgspec.Struct, frozen=True):
    """The first line of an item of a list; `ordered`: of a numbered one."""

    text: str
    line: int
    ordered: bool


class Row(msgspec.Struct, frozen=True):
    """A row of a table; `header`: the one with the titles."""

    cells: tuple[str, ...]
    line: int
    header: bool


class CodeBlock(msgspec.Struct, frozen=True):
    """A code block: the line that it starts on, and how many lines of code it has."""

    line: int
    lines: int


class Markdown(msgspec.Struct, frozen=True):
    """What a text consists of. Text in code blocks is left out. `rules` are the lines of horizontal rules."""

    links: tuple[Link, ...]
    headings: tuple[Heading, ...]
    items: tuple[ListItem, ...]
    rows: tuple[Row, ...]
    code_blocks: tuple[CodeBlock, ...]
    rules: tuple[int, ...]


def parse(text: str, first_line: int = 1) -> Markdown:
    """Read a text whose first line has the number `first_line` in its file."""
    tokens = _parser().parse(text)
    lines = text.split("\n")
    return Markdown(
        links=tuple(_find_links(tokens, lines, first_line)),
        headings=tuple(
            Heading(int(token.tag[1:]), inline.content.strip(), _line(token, first_line), token.level > 0)
            for token, inline in pairwise(tokens)
            if token.type == "heading_open"
        ),
        items=tuple(_find_items(tokens, first_line)),
        rows=tuple(_find_rows(tokens, first_line)),
        code_blocks=tuple(
            CodeBlock(_line(token, first_line), token.content.count("\n"))
            for token in tokens
            if token.type in ("fence", "code_block")
        ),
        rules=tuple(_line(token, first_line) for token in tokens if token.type == "hr"),
    )


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def _line(token: Token, first_line: int) -> int:
    return first_line + (token.map[0] if token.map else 0)


def _find_links(tokens: Sequence[Token], lines: Sequence[str], first_line: int) -> Iterator[Link]:
    for token in tokens:
        if token.type != "inline" or not token.map:
            continue
        row, end, column = token.map[0], token.map[1], 0
        for child in token.children or ():
            if child.type in _LINE_ENDS:
                row, column = row + 1, 0
            target = child.attrGet("href") if child.type == "link_open" else None
            if child.type == "image":
                target = child.attrGet("src")
            if target is None:
                continue
            link = str(target)
            row, column, width = _locate(link, lines, row, end, column)
            yield Link(link, first_line + row, column + 1)
            column += width


def _locate(link: str, lines: Sequence[str], row: int, end: int, column: int) -> tuple[int, int, int]:
    """Return row and column (from 0) of the written target, and its width: 0 where it is written in another way."""
    for number in range(row, min(end, len(lines))):
        start = column if number == row else 0
        for written in spellings(link):
            found = lines[number].find(written, start)
            if found >= 0:
                return number, found, len(written)
    return row, min(column, len(lines[row]) if row < len(lines) else 0), 0


def spellings(link: str) -> tuple[str, ...]:
    """Return how the target of a link may be written in its text: as it is, or without percent-encoding."""
    from urllib.parse import unquote

    return tuple(one for one in dict.fromkeys((link, unquote(link))) if one)


def _find_items(tokens: Sequence[Token], first_line: int) -> Iterator[ListItem]:
    kinds: list[bool] = []
    for number, token in enumerate(tokens):
        if token.type in ("ordered_list_open", "bullet_list_open"):
            kinds.append(token.type == "ordered_list_open")
        elif token.type in ("ordered_list_close", "bullet_list_close"):
            kinds.pop()
        elif token.type == "list_item_open":
            following = tokens[number + 1 : number + 3]
            text = next((one.content for one in following if one.type == "inline"), "")
            yield ListItem(text.partition("\n")[0].strip(), _line(token, first_line), kinds[-1])


def _find_rows(tokens: Sequence[Token], first_line: int) -> Iterator[Row]:
    cells: list[str] = []
    header, line = False, first_line
    for number, token in enumerate(tokens):
        if token.type == "tr_open":
            cells, line = [], _line(token, first_line)
        elif token.type in ("th_open", "td_open"):
            header = token.type == "th_open"
            cells.append(tokens[number + 1].content.strip())
        elif token.type == "tr_close":
            yield Row(tuple(cells), line, header)
