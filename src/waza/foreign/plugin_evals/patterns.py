r"""Patterns of JavaScript as patterns of RE2 that are found in the same texts.

Where the two differ in what a sign means, it is written out: `.`, `\s` and, with the flag `m`, `^` and `$` know other
line ends in JavaScript. What has no equal for certain is left to JavaScript. One difference remains: with the flag
`i`, RE2 takes U+017F for `s` and U+212A for `k`.

In JavaScript, a character beyond U+FFFF, such as an emoji, is two signs. What may match one of these is called
wide here: `.`, negated classes, `\D`, `\S` and `\W`. `.*` finds the same in both, but a single `.` in the middle of a
pattern finds no emoji in JavaScript, and `..` finds one where RE2 wants two.
"""

from __future__ import annotations

from typing import NamedTuple

from waza.kit.pattern import PatternError, compile_pattern

_LINE_ENDS = r"\n\r\x{2028}\x{2029}"
_BLANKS = r"\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}"
_BEYOND = r"\x{10000}-\x{10ffff}"
_CONTROLS = {"n": r"\n", "r": r"\r", "t": r"\t", "f": r"\f", "v": r"\v"}
_CODES = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", "\v": r"\v"}
_HEX = frozenset("0123456789abcdefABCDEF")
_MOST = 1000  # repetitions in RE2


class UntranslatableError(ValueError):
    """A pattern has no equal in RE2, or none that is certain."""


def translate(pattern: str, flags: str) -> str:
    """Return the pattern of RE2 that is found in the same texts. Raises UntranslatableError."""
    if not pattern or len(set(flags)) < len(flags) or set(flags) - set("ims"):
        raise UntranslatableError  # graders take no empty pattern, which is found everywhere
    if "i" in flags and not pattern.isascii():
        raise UntranslatableError  # the two fold the case of other letters by other rules
    reader = _Reader(pattern, multiline="m" in flags, dot_all="s" in flags)
    body = reader.alternatives(outermost=True)
    if reader.at < len(pattern):
        raise UntranslatableError
    found = f"(?i){body}" if "i" in flags else body
    try:
        compile_pattern(found)
    except PatternError:
        raise UntranslatableError from None
    return found


class _Atom(NamedTuple):
    """A part of a pattern that may be repeated.

    `narrow`, of a wide one: what it is where nothing beyond U+FFFF may be found; empty where that cannot be written.
    """

    text: str
    wide: bool = False
    narrow: str = ""
    anchor: bool = False
    group: bool = False


class _Part(NamedTuple):
    """An atom, how its repetition is written, and how often it occurs at least and at most (None: without limit)."""

    atom: _Atom
    repetition: str
    least: int
    most: int | None

    @property
    def firm(self) -> bool:
        """Whether at least one character is here that is not wide."""
        return self.least > 0 and not (self.atom.wide or self.atom.anchor or self.atom.group)

    @property
    def single(self) -> bool:
        """Whether it is wide and may match only so much."""
        return self.atom.wide and not self.atom.group and self.most is not None


class _Reader:
    """Reads a pattern from left to right; `at` is the current position, `wide` how many wide atoms were read."""

    def __init__(self, pattern: str, *, multiline: bool, dot_all: bool) -> None:
        self.pattern, self.at, self.wide = pattern, 0, 0
        self.names: set[str] = set()
        self.multiline, self.dot_all = multiline, dot_all

    def alternatives(self, *, outermost: bool) -> str:
        """Return what is read up to the end, or up to the end of the group."""
        found = [self._sequence(outermost=outermost)]
        while self._take("|"):
            found.append(self._sequence(outermost=outermost))
        return "|".join(found)

    def _sequence(self, *, outermost: bool) -> str:
        parts: list[_Part] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self._part())
        _refuse_halves(parts)
        return "".join(self._write(parts, i, outermost=outermost) for i in range(len(parts)))

    def _write(self, parts: list[_Part], i: int, *, outermost: bool) -> str:
        atom, first, last = parts[i].atom, i == 0, i == len(parts) - 1
        if self.multiline and atom.text in ("^", "$"):
            if not (outermost and (first if atom.text == "^" else last)):
                raise UntranslatableError
            return f"(?:{atom.text}|[{_LINE_ENDS}])"
        if not parts[i].single:
            return atom.text + parts[i].repetition
        closed_before = first or parts[i - 1].firm
        closed_after = last or parts[i + 1].firm
        if not outermost or (parts[i].most or 0) > 1 or not (closed_before and closed_after):
            raise UntranslatableError
        text = atom.text if first or last else atom.narrow  # an open end may be in the middle of a character
        if not text:
            raise UntranslatableError
        return text + parts[i].repetition

    def _part(self) -> _Part:
        start = self.at
        atom = self._atom()
        before = self.at
        least, most = self._repetition()
        repetition = self.pattern[before : self.at]
        beyond = not atom.group and any(ord(char) > 0xFFFF for char in self.pattern[start:before])
        if repetition and (atom.anchor or beyond or self.pattern[self.at : self.at + 1] in ("*", "+", "?")):
            raise UntranslatableError
        if atom.group and atom.wide and least > 1:
            raise UntranslatableError
        return _Part(atom, repetition, least, most)

    def _repetition(self) -> tuple[int, int | None]:
        least, most = 1, None
        if self._take("*"):
            least = 0
        elif self._take("?"):
            least, most = 0, 1
        elif not self._take("+"):
            counted = self._counted()
            if counted is None:
                return 1, 1
            least, most = counted
        self._take("?")
        return least, most

    def _counted(self) -> tuple[int, int | None] | None:
        """Step over `{2}`, `{2,}` or `{2,3}`; None where no such repetition is."""
        end = self.pattern.find("}", self.at)
        if self.pattern[self.at : self.at + 1] != "{" or end < 0:
            return None
        low, comma, high = self.pattern[self.at + 1 : end].partition(",")
        if not _is_count(low) or (high and not _is_count(high)):
            return None
        least = int(low[:6])
        most = int(high[:6]) if high else None if comma else least
        if least > _MOST or (most is not None and not least <= most <= _MOST):
            raise UntranslatableError
        self.at = end + 1
        return least, most

    def _atom(self) -> _Atom:
        char = self.pattern[self.at]
        if char in "*+?" or self._counted():
            raise UntranslatableError  # nothing to repeat
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escape()
        if char in "^$":
            return _Atom(char, anchor=True)
        if char == ".":
            return self._all_but("" if self.dot_all else _LINE_ENDS)
        return _Atom(_literal(char))

    def _group(self) -> _Atom:
        opening = "("
        if self._take("?"):
            if self._take(":"):
                opening = "(?:"
            else:
                self._step_over_name()
        wide = self.wide
        body = self.alternatives(outermost=False)
        if not self._take(")"):
            raise UntranslatableError
        return _Atom(f"{opening}{body})", wide=self.wide > wide, group=True)

    def _step_over_name(self) -> None:
        """Step over the name of a group. Raises UntranslatableError for look-around and whatever else follows `(?`."""
        name, closed, _ = self.pattern[self.at + 1 :].partition(">")
        known = name in self.names
        if known or not (self._take("<") and closed and name.isascii() and name.isidentifier()):
            raise UntranslatableError
        self.names.add(name)
        self.at += len(name) + 1

    def _escape(self) -> _Atom:
        char = self._next()
        if char == "b":
            return _Atom(r"\b", anchor=True)
        if char == "B":
            raise UntranslatableError  # RE2 finds it between the bytes of a character, too
        if char in ("d", "w"):
            return _Atom(f"\\{char}")
        if char == "s":
            return _Atom(f"[{_BLANKS}]")
        if char in ("D", "W", "S"):
            return self._all_but(_BLANKS if char == "S" else f"\\{char.lower()}")
        return _Atom(self._escaped_character(char))

    def _escaped_character(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0" and not self.pattern[self.at : self.at + 1].isdigit():
            return r"\x00"
        if char in ("x", "u"):
            return self._code(2 if char == "x" else 4)
        if char.isalnum() or not char.isascii():
            raise UntranslatableError
        return _literal(char)

    def _code(self, digits: int) -> str:
        text = self.pattern[self.at : self.at + digits]
        if len(text) < digits or set(text) - _HEX or 0xD800 <= int(text, 16) <= 0xDFFF:
            raise UntranslatableError
        self.at += digits
        return f"\\x{{{text}}}"

    def _class(self) -> _Atom:
        negated, wide, members = self._take("^"), False, list[str]()
        while not self._take("]"):
            member, single, beyond = self._member()
            following = self.pattern[self.at : self.at + 2]
            if following.startswith("-") and following not in ("-]", "-"):
                self.at += 1
                high, also_single, _ = self._member()
                if not (single and also_single):
                    raise UntranslatableError
                member = f"{member}-{high}"
            wide |= beyond
            members.append(member)
        body = "".join(members)
        if not body or (negated and wide):
            raise UntranslatableError
        if negated:
            return self._all_but(body)
        self.wide += wide
        return _Atom(f"[{body}]", wide=wide)

    def _member(self) -> tuple[str, bool, bool]:
        """Return a member of a class, whether it is one character, and whether it is wide."""
        char = self._next()
        if char != "\\":
            if ord(char) > 0xFFFF:
                raise UntranslatableError
            return _literal_in_class(char), True, False
        char = self._next()
        if char in ("d", "w", "D", "W"):
            return f"\\{char}", False, char.isupper()
        if char == "s":
            return _BLANKS, False, False
        if char == "b":
            return r"\x08", True, False
        return _literal_in_class(char) if char in "-&" else self._escaped_character(char), True, False

    def _all_but(self, body: str) -> _Atom:
        self.wide += 1
        return _Atom(f"[^{body}]" if body else "(?s:.)", wide=True, narrow=f"[^{body}{_BEYOND}]")

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            raise UntranslatableError
        self.at += 1
        return self.pattern[self.at - 1]

    def _take(self, char: str) -> bool:
        found = self.pattern.startswith(char, self.at)
        self.at += found
        return found


def _refuse_halves(parts: list[_Part]) -> None:
    """Refuse two wide parts that must both match where one character may be between firm ones: each may take half."""
    needed = False
    for part in parts:
        if part.firm:
            needed = False
        elif part.atom.wide and (part.least > 0 or part.atom.group):
            if needed:
                raise UntranslatableError
            needed = True


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _literal(char: str) -> str:
    """Return a character as it is outside of classes."""
    if char in r"\.+*?()[]{}|^$":
        return f"\\{char}"
    return _CODES.get(char) or (char if char.isprintable() else f"\\x{{{ord(char):x}}}")


def _literal_in_class(char: str) -> str:
    return f"\\{char}" if char in "-&" else _literal(char)
