"""What `waza tokens count` reports: the sizes of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Literal

import msgspec

from waza.author.tokens.count import TokenCounter, Tokenizer
from waza.author.tokens.files import MarkdownFile, TextSize, measure_text
from waza.kit.moments import write_now
from waza.kit.text import pluralize
from waza.report.table import table

Order = Literal["path", "tokens", "name"]

ESTIMATED = "The tokens are estimates, of four bytes each; pip install 'waza[tokens]' to count them."


class CountedFile(msgspec.Struct, frozen=True):
    """A file and its size."""

    name: str
    size: TextSize


class CountReport(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of files, in their order. `generated_at` is in UTC."""

    generated_at: str
    tokenizer: Tokenizer
    files: tuple[CountedFile, ...]

    @property
    def total(self) -> TextSize:
        """The sums over all files."""
        sizes = [one.size for one in self.files]
        return TextSize(
            tokens=sum(size.tokens for size in sizes),
            characters=sum(size.characters for size in sizes),
            lines=sum(size.lines for size in sizes),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {
            "generatedAt": self.generated_at,
            "tokenizer": self.tokenizer,
            "totalTokens": self.total.tokens,
            "totalFiles": len(self.files),
            "files": {one.name: msgspec.to_builtins(one.size) for one in self.files},
        }


def count_files(
    files: Sequence[MarkdownFile], counter: TokenCounter, order: Order = "path", least: int = 0
) -> CountReport:
    """Measure files that have at least so many tokens. `order`: by path, by name, or the largest first."""
    counted = [CountedFile(file.name, measure_text(file.text, counter)) for file in files]
    counted = [one for one in counted if one.size.tokens >= least]
    if order == "tokens":
        counted.sort(key=lambda one: -one.size.tokens)
    elif order == "name":
        counted.sort(key=lambda one: PurePosixPath(one.name).name)
    return CountReport(generated_at=write_now(), tokenizer=counter.name, files=tuple(counted))


def count_lines(report: CountReport, width: int, *, total: bool = True) -> Iterator[str]:
    """Yield the report for people."""
    if not report.files:
        yield "no Markdown files found"
        return
    rows = [(one.name, *_figures(one.size)) for one in report.files]
    if total:
        rows.append(("Total", *_figures(report.total)))
    yield from table(("File", "Tokens", "Chars", "Lines"), rows, width)
    yield ""
    yield pluralize(len(report.files), "file")
    if report.tokenizer == "estimate":
        yield ESTIMATED


def _figures(size: TextSize) -> tuple[str, str, str]:
    return f"{size.tokens:,}", f"{size.characters:,}", f"{size.lines:,}"
