"""Joining the two escapes with which JSON writes a character beyond U+FFFF into the one that YAML has."""

from __future__ import annotations

import bisect
import re

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
# A pair of surrogates, or any other escape, which is passed over as a whole.
_ESCAPE = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\.", re.DOTALL)
_BETWEEN_IN_JSON = re.compile(r"[\s\[\]{},:0-9eE.+-]*+(?:(?:true|false|null)[\s\[\]{},:0-9eE.+-]*+)*+")
_SHORTER = len(r"\ud83d\ude00") - len(r"\U0001F600")


class Surrogates:
    """A text, in which surrogates are joined where the parser refuses them; columns stay those of the file."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.joined: list[int] = []  # where joined characters stand in `text`

    def column(self, index: int, column: int) -> int:
        """Return the column in the file of a character of `text` and its column there; both count from 0."""
        before = bisect.bisect_left(self.joined, index) - bisect.bisect_left(self.joined, index - column)
        return column + before * _SHORTER

    def join(self, start: int) -> bool:
        """Join the surrogate pairs in the text whose double quote is at `start`. Return whether there were any.

        Only JSON has such pairs, so the texts that follow as they do in JSON are treated at once.
        """
        pieces, at, size = [self.text[:start]], start, start
        found = len(self.joined)
        while quoted := _QUOTED.match(self.text, at):
            between = _BETWEEN_IN_JSON.match(self.text, quoted.end())
            end = between.end() if between else quoted.end()
            for piece in (self._join_pairs(quoted[0], size), self.text[quoted.end() : end]):
                pieces.append(piece)
                size += len(piece)
            at = end
        self.text = "".join((*pieces, self.text[at:]))
        return len(self.joined) > found

    def _join_pairs(self, quoted: str, offset: int) -> str:
        pieces: list[str] = []
        at = 0
        for escape in _ESCAPE.finditer(quoted):
            if escape[1]:
                high, low = int(escape[1], 16), int(escape[2], 16)
                self.joined.append(offset + escape.start() - _SHORTER * (len(pieces) // 2))
                code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
                pieces += [quoted[at : escape.start()], f"\\U{code:08X}"]
                at = escape.end()
        return "".join((*pieces, quoted[at:]))
