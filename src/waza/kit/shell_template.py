r"""Variables in shell commands: `{{.Vars.key}}` becomes a reference to a variable of the shell.

A value that stood in the command itself would be parsed by the shell: a cell with `$(touch x)` would run. So the
value is handed over in the environment, and the command gets `"${NAME}"` in the form that its place demands: bare
with quotes, in single quotes with these closed and opened again (`'"${NAME}"'`), in double quotes, here-documents
and comments without any. The shell never parses what a variable expands to.

Where that cannot be (arithmetic, a here-document with a quoted delimiter) or does not help (what is handed to
another shell, as by `sh -c` or `eval`), `misplaced` says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from waza.kit.template import Reference, parts
from waza.problem import Severity

_SHELL = r"(?:ba|da|z|k|mk|a|fi|c|tc)?sh"
_WORD = rf"(?:['\"]?(?:\S*/)?{_SHELL}['\"]?|\"?\$\{{?\w+\}}?\"?)"  # or a variable, which may name one
_OPTIONS = r"(?:[-+]\S+\s+(?:\w+\s+(?=[-+]))?)*"  # as in -eo pipefail
_PARSED_AGAIN = re.compile(
    rf"(?:^|[\s/(])(?:eval|trap|ssh|xargs|watch|(?:su|script)\s.*-\w*c|{_WORD}\s+{_OPTIONS}-\w*c)\s.*\Z|(?:^|[\s/]){_SHELL}\b[^\n]*<<",
    re.DOTALL,
)
_PIPED = re.compile(rf"[^\n]*\|&?\s*(?:(?:sudo|env)\s+)?{_WORD}(?=\Z|[\s&|)])")
_CODE = re.compile(r"(?:^|[\s/(])(?:python[\d.]*|node|perl|ruby|php)\s+(?:-\S+\s+)*-\w*[cer]\s[^\n]*\Z")
_DELIMITER = re.compile(
    r"""<<(?P<tabs>-?)[ \t]*(?P<word>(?:\\.|'[^'\n]*'|"[^"\n]*"|[^\s;&|<>()'"\\])+)""", re.DOTALL
)
_BARE = ("bare", "substitution", "backticks")


class Misplaced(NamedTuple):
    """A reference at a place where its value is not safe, and what to do; `offset` counts from the text's start."""

    text: str
    offset: int
    why: str
    severity: Severity


def misplaced(command: str) -> list[Misplaced]:
    """Return the references of a command that cannot be placed safely."""
    return _Walk(command, {}).mistakes if "{{" in command else []


def placed(command: str, names: Mapping[str, str]) -> str:
    """Return the command with each reference as one to a variable of the shell.

    `names` has the name of the shell's variable for every variable of templates.
    """
    return _Walk(command, names).command if "{{" in command else command


class _Frame:
    """A part of a command that has rules of its own for quoting, such as a string or a substitution."""

    def __init__(self, kind: str, start: int, delimiter: str = "", *, tabs: bool = False) -> None:
        self.kind, self.segment = kind, start
        self.delimiter, self.tabs = delimiter, tabs


class _Walk:
    """One pass over a command, which keeps track of the quoting."""

    def __init__(self, command: str, names: Mapping[str, str]) -> None:
        self.mistakes: list[Misplaced] = []
        self._names = names
        self._out: list[str] = []  # character by character, references in one
        self._frames = [_Frame("bare", 0)]
        self._pending: list[_Frame] = []  # here-documents that begin at the next line
        self._at = 0
        self._items: list[str | Reference] = []
        for part in parts(command):
            self._items += list(part) if isinstance(part, str) else [part]
        while self._at < len(self._items):
            item = self._items[self._at]
            if isinstance(item, Reference):
                self._place(item)
            else:
                getattr(self, f"_in_{self._top.kind}")(item)
        self.command = "".join(self._out)

    @property
    def _top(self) -> _Frame:
        return self._frames[-1]

    def _ahead(self, count: int = 1) -> str:
        """Return the next characters; a reference is none."""
        items = self._items[self._at : self._at + count]
        return "".join(item if isinstance(item, str) else "\0" for item in items)

    def _take(self, count: int = 1) -> None:
        for item in self._items[self._at : self._at + count]:
            if isinstance(item, Reference):
                return
            self._out.append(item)
            self._at += 1

    def _push(self, kind: str, count: int = 1) -> None:
        self._take(count)
        self._frames.append(_Frame(kind, len(self._out)))

    def _pop(self, count: int = 1) -> None:
        self._take(count)
        if len(self._frames) > 1:
            self._frames.pop()

    # Each takes the character at hand, and more where they belong together.

    def _in_bare(self, char: str) -> None:
        started = not self._out or self._out[-1] in " \t\n;&|()"
        if char == "\\":
            self._take(2)
        elif char == "'":
            self._push("single")
        elif char == '"':
            self._push("double")
        elif char == "#" and started:
            self._push("comment")
        else:
            self._operator(char)

    _in_substitution = _in_backticks = _in_bare

    def _operator(self, char: str) -> None:
        """Take what parts commands or starts one inside of another."""
        if char == "(":
            self._push("substitution")
        elif char == ")" and self._top.kind == "substitution":
            self._pop()
        elif self._ahead(3) == "<<<":
            self._take(3)
        elif self._ahead(2) == "<<":
            self._note_document()
        elif char in ";|&\n":
            self._take()
            self._top.segment = len(self._out)
            if char == "\n" and self._pending:
                self._frames += reversed(self._pending)
                self._pending = []
        else:
            self._expansion(char)

    def _in_single(self, char: str) -> None:
        if char == "'":
            self._pop()
        else:
            self._take()

    def _in_double(self, char: str) -> None:
        if char == '"':
            self._pop()
        else:
            self._expansion(char)

    def _in_comment(self, char: str) -> None:
        if char == "\n":
            self._frames.pop()  # the end of the line belongs to what the comment is in
        else:
            self._take()

    def _in_parameter(self, char: str) -> None:
        if char == "}":
            self._pop()
        elif char == '"':
            self._push("double")
        else:
            self._expansion(char)

    def _in_arithmetic(self, char: str) -> None:
        if self._ahead(2) == "))":
            self._pop(2)
        elif char == "(":
            self._push("group")
        else:
            self._expansion(char)

    def _in_group(self, char: str) -> None:
        if char == ")":
            self._pop()
        elif char == "(":
            self._push("group")
        else:
            self._expansion(char)

    def _in_document(self, char: str) -> None:
        if not self._ends_document():
            self._expansion(char)

    def _in_literal_document(self, char: str) -> None:
        del char
        if not self._ends_document():
            self._take()

    def _expansion(self, char: str) -> None:
        """Take a character that may begin an expansion, as everywhere but in single quotes."""
        if char == "\\":
            self._take(2)
        elif char == "`":
            inside = any(frame.kind == "backticks" for frame in self._frames)
            while inside and self._top.kind != "backticks":
                self._frames.pop()
            self._pop() if inside else self._push("backticks")
        elif self._ahead(3) == "$((":
            self._push("arithmetic", 3)
        elif self._ahead(2) == "$(":
            self._push("substitution", 2)
        elif self._ahead(2) == "${":
            self._push("parameter", 2)
        else:
            self._take()

    def _note_document(self) -> None:
        found = _DELIMITER.match("".join(i if isinstance(i, str) else "\0" for i in self._items[self._at :]))
        if found is None:
            self._take(2)
            return
        word = found["word"]
        quoted = any(char in word for char in "\\'\"")
        kind = "literal_document" if quoted else "document"
        delimiter = re.sub(r"""['"]|\\(.)""", r"\1", word)
        self._take(len(found[0]))
        document = _Frame(kind, self._top.segment, delimiter, tabs=bool(found["tabs"]))
        self._pending.append(document)

    def _ends_document(self) -> bool:
        if self._out[-1:] != ["\n"]:
            return False
        line = []
        for item in self._items[self._at :]:
            if item == "\n":
                break
            line.append(item if isinstance(item, str) else "\0")
        text = "".join(line)
        if (text.lstrip("\t") if self._top.tabs else text) != self._top.delimiter:
            return False
        self._pop(len(text))
        return True

    def _place(self, reference: Reference) -> None:
        self._at += 1
        why = self._unsafe()
        if why:
            self.mistakes.append(Misplaced(reference.text, reference.offset, *why))
        variable = f"${{{self._names.get(reference.name, '')}}}"
        kind = self._top.kind
        if kind in _BARE:
            self._out.append(f'"{variable}"')
        elif kind == "single":
            self._out.append(f"'\"{variable}\"'")
        else:
            self._out.append(variable)

    def _unsafe(self) -> tuple[str, Severity] | None:
        """Return why the value would not be safe here, and what to do."""
        kinds = [frame.kind for frame in self._frames]
        before = "".join(self._out[max(0, len(self._out) - 2) :])
        if before.endswith("$") or (before.endswith("\\") and before != "\\\\" and kinds[-1] != "single"):
            return (
                f"stands behind `{before[-1]}`, which would change what it means; remove that sign",
                "error",
            )
        if kinds[-1] == "literal_document":
            return (
                "stands in a here-document with a quoted delimiter, which expands nothing; unquote it",
                "error",
            )
        if {"parameter", "arithmetic", "group"} & set(kinds[-2:]):
            return "stands inside of `${...}` or `$((...))`; put the value into a variable first", "error"
        start = next(frame.segment for frame in reversed(self._frames) if frame.kind in (*_BARE, "document"))
        segment = "".join(self._out[start:])
        document = any(frame.kind == "document" for frame in self._frames)
        rest = segment.partition("\n")[0] if document else self._rest_of_command()
        if _PARSED_AGAIN.search(segment.replace("\\\n", " ")) or _PIPED.match(rest):
            why = "becomes part of what another shell parses; let that shell read it from its environment"
            return why, "error"
        if _CODE.search(segment):
            return "becomes part of a program's source; let it read the value from its environment", "warning"
        if not segment.strip() and kinds[-1] == "bare":
            return "names the program to start, as one word; write arguments outside of it", "warning"
        return None

    def _rest_of_command(self) -> str:
        """Return what follows up to the end of the command, with all that it is piped to, in one line."""
        rest = "".join(item if isinstance(item, str) else "" for item in self._items[self._at :])
        quote = {"single": "'", "double": '"'}.get(self._top.kind, "")
        if quote:
            rest = rest.partition(quote)[2]
        rest = re.sub(r"\|\s*\n", "| ", rest.replace("\\\n", " "))
        return re.split(r"[;\n]|&&|\|\|", rest, maxsplit=1)[0]
