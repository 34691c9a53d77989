"""JSON text to nodes that know their line and column, as `waza.kit.yaml` makes them of YAML.

JSON is nearly YAML, but not where it matters: the YAML reader refuses escapes of surrogate pairs, which
many programs write for every emoji, and accepts much that other readers of the document would not.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from typing import Any, NoReturn

from waza.kit._scalars import MAX_DIGITS, Plain
from waza.kit.yaml import Mapping, Node, Scalar, Sequence, YamlError

MAX_DEPTH = 100  # of nesting; documents need about ten

_BLANKS = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z_]\w*")
_WORDS: dict[str, Plain] = {"true": True, "false": False, "null": None}
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ADVICE = {
    "'": "write a text in double quotes",
    "/": "JSON has no comments; remove it",
    "#": "JSON has no comments; remove it",
    ",": "a value is missing before this comma",
    "": "the document ends here, but a bracket is still open",
}


class JsonError(YamlError):
    """A text that is not JSON: what is wrong, and where (`line` and `column` count from 1)."""


def load(data: bytes) -> Node:
    """Read one JSON value (UTF-8, with or without a byte order mark). Raises JsonError.

    Strict, and stricter than the standard: duplicate keys are an error. Half of a
    surrogate pair becomes U+FFFD.
    """
    return _Reader(decode_utf8(data)).document()


def decode_utf8(data: bytes) -> str:
    """Return the text of a file without its byte order mark. Raises JsonError for what is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        start = error.start + len(data) - len(error.object)  # the decoder counts from behind the mark
        line = data.count(b"\n", 0, start) + 1
        column = start - data.rfind(b"\n", 0, start)
        raise JsonError(
            "the file is not UTF-8 text; save it as UTF-8", line, column, "unreadable-file"
        ) from None


def dump(data: object) -> str:
    """Return plain data as the text of a file: strict JSON, in which numbers that are not finite are null.

    What no UTF-8 file can hold, half of a surrogate pair, becomes U+FFFD.
    """
    text = json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False)
    return _LONE_SURROGATE.sub("\ufffd", text) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Reader:
    """Reads a text from left to right; `at` is the current position."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def document(self) -> Node:
        if not self.text.strip():
            raise JsonError("the file is empty")
        self._skip_blanks()
        node = self._value(0)
        self._skip_blanks()
        if self.at < len(self.text):
            self._fail("text after the end of the document; remove it")
        return node

    def place(self, at: int) -> tuple[int, int]:
        """Return line and column of a position."""
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def _value(self, depth: int) -> Node:
        if depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels")
        sign = self.text[self.at : self.at + 1]
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._array(depth)
        if sign == '"':
            return self._string()
        return self._bare()

    def _object(self, depth: int) -> Mapping:
        found = Mapping({}, {}, *self.place(self.at))
        more = self._enter("}")
        while more:
            if self.text[self.at : self.at + 1] != '"':
                self._fail(
                    _ADVICE.get(self.text[self.at : self.at + 1], "a key in double quotes belongs here")
                )
            key = self._string()
            if key.text in found.entries:
                lines = f"on lines {found.keys[key.text].line} and {key.line}"
                raise JsonError(
                    f"duplicate key {key.text!r}, {lines}; keep one of them",
                    key.line,
                    key.column,
                    "duplicate-key",
                )
            self._skip_blanks()
            if self.text[self.at : self.at + 1] != ":":
                self._fail("a ':' is missing behind the key")
            self.at += 1
            self._skip_blanks()
            found.keys[key.text], found.entries[key.text] = key, self._value(depth + 1)
            more = self._has_next("}")
        return found

    def _array(self, depth: int) -> Sequence:
        found = Sequence([], *self.place(self.at))
        more = self._enter("]")
        while more:
            found.items.append(self._value(depth + 1))
            more = self._has_next("]")
        return found

    def _enter(self, close: str) -> bool:
        """Step over an opening bracket; return whether anything is inside."""
        self.at += 1
        self._skip_blanks()
        return not self._skip_close(close)

    def _has_next(self, close: str) -> bool:
        """Step over a comma or the closing bracket; tell whether one more item follows."""
        self._skip_blanks()
        if self._skip_close(close):
            return False
        sign = self.text[self.at : self.at + 1]
        if sign != ",":
            advice = _ADVICE[sign] if sign in ("", "/", "#") else f"a ',' or '{close}' is missing here"
            self._fail(advice)
        comma = self.at
        self.at += 1
        self._skip_blanks()
        if self.text[self.at : self.at + 1] in ("]", "}"):
            self.at = comma
            self._fail("a comma before a closing bracket; remove it")
        return True

    def _skip_close(self, close: str) -> bool:
        closed = self.text.startswith(close, self.at)
        self.at += closed
        return closed

    def _string(self) -> Scalar:
        start = self.at
        # The opening quote is there, so the pattern matches: up to the closing quote, or to what is wrong.
        self.at = _STRING.match(self.text, start).end()  # type: ignore[union-attr]  # see above
        if self.text[self.at : self.at + 1] != '"':
            self._fail_in_string(start)
        self.at += 1
        value = self.text[start + 1 : self.at - 1]
        if "\\" in value:
            value = _LONE_SURROGATE.sub("\ufffd", json.loads(self.text[start : self.at]))
        return Scalar(value, value, *self.place(start), quoted=True)

    def _fail_in_string(self, start: int) -> NoReturn:
        sign = self.text[self.at : self.at + 1]
        if not sign:
            self.at = start
            self._fail("the text that begins here is never closed; a '\"' is missing")
        if sign == "\\":
            self._fail("this backslash begins no escape of JSON; write it as two")
        if sign == "\n":
            self._fail("a text may not go on in the next line; write \\n there, or close it with '\"'")
        self._fail(f"a control character in a text; write \\u{ord(sign):04x}")

    def _bare(self) -> Scalar:
        line, column = self.place(self.at)
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return Scalar(_number(number.group(), line, column), number.group(), line, column)
        word = _WORD.match(self.text, self.at)
        if word is None:
            self._fail(_ADVICE.get(self.text[self.at : self.at + 1], "a value is missing here"))
        name = word.group()
        if name not in _WORDS:
            self._fail(f"{name[:40]} is not a JSON value; {_advice_for(name)}")
        self.at = word.end()
        return Scalar(_WORDS[name], name, line, column)

    def _skip_blanks(self) -> None:
        self.at = _BLANKS.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing, too

    def _fail(self, message: str) -> NoReturn:
        raise JsonError(f"not valid JSON: {message}", *self.place(self.at))


def _advice_for(word: str) -> str:
    if word in ("NaN", "Infinity"):
        return "write a number, or leave it out"
    meant = {**{name: name for name in _WORDS}, "none": "null"}.get(word.lower())
    return f"write {meant}" if meant else "write a text in double quotes"


def _number(text: str, line: int, column: int) -> int | float:
    if len(text) > MAX_DIGITS:
        raise JsonError(f"a number of more than {MAX_DIGITS} digits", line, column)
    value = int(text) if text.lstrip("-").isdigit() else float(text)
    if abs(value) > _LARGEST or math.isinf(value):
        raise JsonError(f"the number {text[:40]} is too large", line, column)
    return value


_LARGEST = 1.7976931348623157e308  # of doubles
