"""Reading HTML reports without a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "input", "wbr"}
INLINE = {"a", "b", "bdi", "code", "i", "span", "wbr"}
UNSEEN = {"script", "style", "title"}


class Page(HTMLParser):
    """The elements of a page, the text in each kind of them, and the lines that a reader sees.

    A row of a table is one line, with ` | ` between its cells, without empty ones at its end. Elements that are not closed fail the test.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: dict[str, list[str]] = {}
        self.lines: list[str] = []
        self._line = ""
        self.feed(text)
        self.close()
        self._end_line()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._separate(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._separate(tag, closed=True)

    def handle_data(self, data: str) -> None:
        self.text.setdefault(self.open[-1] if self.open else "", []).append(data)
        if self.open and not UNSEEN & set(self.open):
            self._line += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def after(self, heading: str) -> list[str]:
        """The lines below a heading."""
        return self.lines[self.lines.index(heading) + 1 :]

    def _separate(self, tag: str, *, closed: bool = False) -> None:
        if "tr" in self.open:
            self._line += " | " if tag in ("td", "th") and closed else "" if tag in INLINE else " "
        elif tag not in INLINE:
            self._end_line()

    def _end_line(self) -> None:
        line = re.sub(r"( \|)+$", "", re.sub(r"\s+", " ", self._line).strip())
        if line:
            self.lines.append(line)
        self._line = ""
