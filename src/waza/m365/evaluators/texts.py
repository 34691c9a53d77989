"""Evaluators that look at the text of a response alone: ExactMatch, PartialMatch and Citations."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from waza.kit.share import decimal, reaches
from waza.kit.stats import f1
from waza.m365.document.options import (
    CITATION_FORMATS,
    CitationsOptions,
    ExactMatchOptions,
    PartialMatchOptions,
    plain_number,
)
from waza.m365.document.scores import Citation
from waza.m365.evaluators.protocols import EvaluatorInput, EvaluatorResult

NO_EXPECTATION = "there is no expected_response to compare with; write one"

_SHOWN, _BEFORE = 200, 40  # characters of a text that a reason shows, and of them before the difference
_TOKEN = re.compile(r"[^\W_]+")
_OAI = re.compile("\ue200[a-z]*cite((?:\ue202[^\ue200-\ue202]+)+)\ue201")
_BRACKET = re.compile(r"\[([0-9]{1,9})\](?!\()")
_MARKDOWN = re.compile(
    r"(?<!!)\[([0-9]{1,9})(?:#[^\[\]\s]*)?\]"  # [3] or [3#suffix], but no image
    r"\(((?:[^()\s]|\([^()\s]*\))+)"  # the address, perhaps with brackets of its own
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?\)"  # perhaps a title
)


class ExactMatch:
    """Passes a response that equals the expected one; blanks around both do not count."""

    def __init__(self, options: ExactMatchOptions) -> None:
        self.options = options

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Compare the texts."""
        if not case.expected_response.strip():
            return EvaluatorResult(name="ExactMatch", error=NO_EXPECTATION)
        response, expected = case.response.strip(), case.expected_response.strip()
        shown = _difference(expected, response)
        if not self.options.case_sensitive:
            response, expected = response.casefold(), expected.casefold()
        match = response == expected
        reason = "the response equals the expected one" if match else shown
        return EvaluatorResult(name="ExactMatch", score=float(match), passed=match, reason=reason)


def _difference(expected: str, response: str) -> str:
    """Return both texts; long ones from shortly before the place where they begin to differ."""
    at = next((i for i, (a, b) in enumerate(zip(expected, response, strict=False)) if a != b), 0)
    start = max(0, at - _BEFORE) if max(len(expected), len(response)) > _SHOWN else 0
    texts = [
        repr(
            ("..." if start else "")
            + text[start : start + _SHOWN]
            + ("..." if text[start + _SHOWN :] else "")
        )
        for text in (expected, response)
    ]
    return f"expected {texts[0]}, but the response is {texts[1]}"


class PartialMatch:
    """Scores how many words response and expected response share: 0 none, 1 all."""

    def __init__(self, options: PartialMatchOptions) -> None:
        self.options = options

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Compare the words."""
        if not case.expected_response.strip():
            return EvaluatorResult(name="PartialMatch", error=NO_EXPECTATION)
        threshold = self.options.threshold
        score = word_f1(case.response, case.expected_response, case_sensitive=self.options.case_sensitive)
        return EvaluatorResult(
            name="PartialMatch",
            score=score,
            threshold=plain_number(threshold),
            passed=reaches(score, threshold),
            reason=f"Match score: {decimal(score, 3)}",
        )


def word_f1(response: str, expected: str, *, case_sensitive: bool = False) -> float:
    """Return the F1 score of the words of two texts, from 0 to 1.

    Words are maximal runs of letters and digits; each occurrence has to be matched. With the
    share of common words in the response p and in the expected response r, F1 is 2pr / (p + r). Two texts
    without any word score 1.
    """
    if not case_sensitive:
        response, expected = response.casefold(), expected.casefold()
    words, wanted = _TOKEN.findall(response), _TOKEN.findall(expected)
    return f1(wanted, words).f1 if words or wanted else 1.0


class Citations:
    """Passes a response with enough different citations."""

    def __init__(self, options: CitationsOptions) -> None:
        self.options = options

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Count the citations."""
        known = self.options.citation_format in CITATION_FORMATS
        style = self.options.citation_format if known else CITATION_FORMATS[0]
        found = find_citations(case.response, style)
        threshold = self.options.threshold
        return EvaluatorResult(
            name="Citations",
            score=len(found),
            threshold=threshold,
            passed=len(found) >= threshold,
            extra={"format": style, "citations": msgspec.to_builtins(found)},
        )


def find_citations(text: str, style: str) -> list[Citation]:
    """Return the different citations of a text in the order in which they first occur.

    The formats:

    - `oai_unicode`: U+E200 `cite`, then U+E202 and a reference such as `turn0search1` once or more, then
      U+E201. References have no numbers, so each different one gets the next, from 1.
    - `bracket`: `[3]`, with no address behind it.
    - `markdown`: `[3](address)` or `[3#suffix](address)`, the address with or without a `#suffix`; no images.
    - `mixed`: all of these. A number in brackets and as a link is one citation.
    """
    readers = {"oai_unicode": _references, "bracket": _brackets, "markdown": _links}
    wanted = readers.values() if style == "mixed" else [readers[style]]
    marks = sorted((mark for read in wanted for mark in read(text)), key=lambda mark: mark[0])
    found: dict[str, Citation] = {}
    for _, key, citation in marks:
        found.setdefault(key, citation)
    return list(found.values())


def _references(text: str) -> Iterator[tuple[int, str, Citation]]:
    numbers: dict[str, int] = {}
    for match in _OAI.finditer(text):
        for reference in match[1].split("\ue202")[1:]:
            number = numbers.setdefault(reference, len(numbers) + 1)
            yield match.start(), f"reference {reference}", Citation(index=number, text=reference)


def _brackets(text: str) -> Iterator[tuple[int, str, Citation]]:
    for match in _BRACKET.finditer(text):
        if number := int(match[1]):
            yield match.start(), str(number), Citation(index=number, text=match[0])


def _links(text: str) -> Iterator[tuple[int, str, Citation]]:
    for match in _MARKDOWN.finditer(text):
        if number := int(match[1]):
            yield match.start(), str(number), Citation(index=number, text=match[0], source=match[2])
