"""Variables in code: `{{.Vars.key}}` becomes a string, or a part of the string that it is in.

A value that went into code as it is would be parsed: a cell with `x" or True or "` would be a check that always
passes. So inside quotes a value is escaped, and outside of them it becomes a string literal; both are written alike in
Python and JavaScript. Where strings have rules of their own (triple quotes, prefixes, template literals) or
where quotes cannot be recognised (comments, regular expressions of JavaScript) a reference is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Literal

from waza.kit.template import BRACES, Reference, TemplateError, render, split_references

Language = Literal["python", "javascript"]

_PREFIX = re.compile(r"[A-Za-z]*\Z")
_UNKNOWN = {"python": "#", "javascript": "/`"}
_HINT = "write it alone or in plain quotes"


def render_code(code: str, variables: Mapping[str, str], language: Language) -> str:
    """Return the code with each reference as a string; `{{"{{"}}` becomes two braces.

    Raises TemplateError for a reference whose value could be read as code.
    """
    walk = _Walk(language)
    for i, piece in enumerate(BRACES.split(code)):
        if i:
            walk.text("{{")
        for part in split_references(piece):
            if isinstance(part, Reference):
                walk.value(part, render(part.text, variables))
            else:
                walk.text(part)
    return walk.code


class _Walk:
    """Code as far as it is written; `quote` is what ends the string it is in, empty outside of strings."""

    def __init__(self, language: Language) -> None:
        self.unknown, self.code = _UNKNOWN[language], ""
        self.quote, self.plain, self.escaped, self.lost = "", True, False, False

    def text(self, text: str) -> None:
        """Go on with text of the author."""
        at = 0
        while at < len(text):
            char = text[at]
            if self.quote:
                at += self._inside(text, at)
            else:
                if char in "\"'":
                    self._open(text, at)
                elif char in self.unknown:
                    self.lost = True
                taken = len(self.quote) or 1
                self.code += text[at : at + taken]
                at += taken

    def value(self, reference: Reference, value: str) -> None:
        """Go on with the value of a reference."""
        if self.lost or self.escaped or not self.plain:
            raise TemplateError(
                f"{reference.text} is at a place where its value could be read as code; {_HINT}"
            )
        literal = json.dumps(value, ensure_ascii=False)
        if self.quote:
            self.code += literal[1:-1].replace("'", "\\'")
        else:  # nothing before it may become its prefix, or a third quote
            self.code += " " * (self.code[-1:].isalnum() or self.code[-1:] in tuple("\"'_")) + literal

    def _inside(self, text: str, at: int) -> int:
        if self.escaped or text[at] == "\\":
            self.escaped = not self.escaped
        elif text.startswith(self.quote, at):
            taken = len(self.quote)
            self.code += self.quote
            self.quote, self.plain = "", True
            return taken
        self.code += text[at]
        return 1

    def _open(self, text: str, at: int) -> None:
        quote, prefix = text[at], _PREFIX.search(self.code)
        triple = text.startswith(quote * 3, at)
        self.quote = quote * 3 if triple else quote
        self.plain = not triple and not (prefix and prefix[0])
