"""Expressions over words: texts that a word must contain, joined by `and`, `or`, `not` and parentheses.

Case makes no difference. A text with blanks or parentheses in it is quoted, and so is one that is `and`, `or` or `not`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from waza.kit.text import fold_case

_TOKEN = re.compile(r"""\s*(?:([()])|"([^"]*)"|'([^']*)'|([^\s()"']+))""")
_DEEPEST = 100  # parentheses within each other; each takes a few frames of the interpreter

_Test = Callable[[Sequence[str]], bool]
"""Takes words in lower case, and tells whether they fit."""


class Expression:
    """An expression that was read. `terms` are its texts, as written and in their order."""

    def __init__(self, text: str) -> None:
        """Read an expression. Raises ValueError that says what is wrong with it."""
        reader = _Reader(text)
        self.text = text
        self._test = reader.read()
        self.terms = tuple(dict.fromkeys(reader.terms))

    def matches(self, words: Sequence[str]) -> bool:
        """Return whether the expression is true of these words."""
        return self._test([fold_case(word) for word in words])


class _Reader:
    """Reads one expression by recursive descent: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0
        self.terms: list[str] = []
        self._word, self._quoted = "", False
        self._step()

    def read(self) -> _Test:
        found = self._read_or()
        if self._word == ")":
            raise self._wrong("closes a parenthesis that was not opened")
        if self._word or self._quoted:
            raise self._wrong("follows a text; join the two by 'and' or 'or', or quote them as one text")
        return found

    def _read_or(self) -> _Test:
        parts = [self._read_and()]
        while self._takes("or"):
            parts.append(self._read_and())
        return parts[0] if len(parts) == 1 else lambda words: any(part(words) for part in parts)

    def _read_and(self) -> _Test:
        parts = [self._read_not()]
        while self._takes("and"):
            parts.append(self._read_not())
        return parts[0] if len(parts) == 1 else lambda words: all(part(words) for part in parts)

    def _read_not(self) -> _Test:
        negated = False
        while self._takes("not"):
            negated = not negated
        found = self._read_operand()
        return (lambda words: not found(words)) if negated else found

    def _read_operand(self) -> _Test:
        if self._takes("("):
            self._depth += 1
            if self._depth > _DEEPEST:
                raise ValueError(f"more than {_DEEPEST} parentheses within each other")
            found = self._read_or()
            self._depth -= 1
            if not self._takes(")"):
                raise ValueError("a parenthesis is opened and not closed")
            return found
        if not self._quoted and self._word.lower() in ("", ")", "and", "or"):
            raise self._wrong("is where a text belongs")
        term = self._word
        if not term:
            raise ValueError("an empty text is in everything; leave it out")
        self.terms.append(term)
        self._step()
        wanted = fold_case(term)
        return lambda words: any(wanted in word for word in words)

    def _takes(self, word: str) -> bool:
        """Go past the word if it is the next one."""
        if self._quoted or self._word.lower() != word:
            return False
        self._step()
        return True

    def _step(self) -> None:
        """Go to the next word; at the end it is empty."""
        found = _TOKEN.match(self._text, self._place)
        if found is None:
            if self._text[self._place :].strip():
                raise ValueError("a quote is opened and not closed")
            self._word, self._quoted = "", False
            return
        self._place = found.end()
        sign, double, single, bare = found.groups()
        self._quoted = double is not None or single is not None
        self._word = next(part for part in (sign, double, single, bare) if part is not None)

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"{self._word!r} {what}" if self._word else f"the end {what}")
