r"""Variables in shell commands: `{{.Vars.key}}` becomes a reference to a variable of the shell.

A value in the command itself would be parsed by the shell: a cell with `$(touch x)` would run. So the
value is handed over in the environment, and the command gets `"${NAME}"` in the form that its place demands: bare
with quotes, in single quotes with these closed and opened again (`'"${NAME}"'`), in double quotes, here-documents
and comments without any. The shell never parses what a variable expands to.

Other programs may. A value reaches the program whose argument it is and, by pipes and substitutions, those that read
its output; in the variables of a shell and in files it reaches the whole command. Where all of these are known to take
it for data (`kit/shell_command.py`), any value may stand; everywhere else `check_values` accepts only values of characters that
mean nothing in any language. Where a value certainly becomes code (`sh -c`, `eval`), and where no variable can stand
(arithmetic, a here-document with a quoted delimiter), `find_unsafe_references` says so beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from waza.kit.shell_command import VALUE, ShellCommand
from waza.kit.template import Reference, split_references
from waza.problem import Severity

_ASSIGNMENTS = re.compile(r"\s*(?:\w+=\S*\s+)*\w+\+?=\S*\Z")
_KEYWORD = re.compile(
    r"(?:if|then|elif|else|fi|while|until|for|select|do|done|case|esac|[{}!])(?=[\s;&|()]|\Z)"
)
_OPENING = frozenset({"if", "while", "until", "for", "select", "case", "{"})
_CLOSING = frozenset({"fi", "done", "esac", "}"})
_WITH_WORDS = frozenset({"for", "select", "case"})
_REDIRECTION = re.compile(r"&>|[<>]&|<>|>\||>")
_TO_NO_FILE = re.compile(
    r"[<>]&[ \t]*[\d-]|&?>{1,2}\|?[ \t]*/dev/(?:null|stdout|stderr)(?=[\s;&|)]|\Z)|<>?[^>]"
)
_DELIMITER = re.compile(
    r"""<<(?P<tabs>-?)[ \t]*(?P<word>(?:\\.|'[^'\n]*'|"[^"\n]*"|[^\s;&|<>()'"\\])+)""", re.DOTALL
)
_BARE = ("bare", "substitution", "backticks")
_MEANS_NOTHING = re.compile(r"(?!-)[\w./:@+=,-]*\Z")

_ERROR: Severity = "error"
_WARNING: Severity = "warning"


class UnsafeReference(NamedTuple):
    """A reference at a place where its value is not safe, and what to do; `offset` counts from the text's start."""

    text: str
    offset: int
    why: str
    severity: Severity


def find_unsafe_references(command: str) -> list[UnsafeReference]:
    """Return the references of a command that cannot be placed safely, whatever their values are."""
    return list(_Walk(command, {}).mistakes()) if "{{" in command else []


def check_values(command: str, variables: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Return why a command cannot be run safely with these values, and what to do; empty if it can.

    `names` is as for `render_command`.
    """
    for reference, program in _Walk(command, {}).doubtful() if "{{" in command else ():
        if not _MEANS_NOTHING.match(variables[reference.name]):
            return (
                f"`{program}` may take the value of `{reference.text}` for code, so it may hold only letters, digits and "
                f'`_./:@+=,-`, and not begin with `-`; if it is data there for sure, write "${names[reference.name]}"'
            )
    return ""


def render_command(command: str, names: Mapping[str, str]) -> str:
    """Return the command with each reference as one to a variable of the shell.

    `names` has the name of the shell's variable for every variable of templates.
    """
    return _Walk(command, names).command if "{{" in command else command


class _Frame:
    """A part of a command that has rules of its own for quoting, such as a string or a substitution.

    `command` is the command that its content belongs to.
    """

    def __init__(self, kind: str, command: ShellCommand, delimiter: str = "", *, tabs: bool = False) -> None:
        self.kind, self.command = kind, command
        self.delimiter, self.tabs = delimiter, tabs


class _Place(NamedTuple):
    """Where a reference is."""

    reference: Reference
    command: ShellCommand
    wrong: str  # why no variable can stand there
    assigned: bool
    first: bool


class _Walk:
    """One pass over a command, which keeps track of the quoting."""

    def __init__(self, command: str, names: Mapping[str, str]) -> None:
        self._places: list[_Place] = []
        self._names = names
        self._out: list[str] = []  # character by character, references in one
        self._commands = [ShellCommand()]
        self._frames = [_Frame("bare", self._commands[0])]
        self._pending: list[_Frame] = []  # here-documents that begin at the next line
        self._at = 0
        self._items: list[str | Reference] = []
        for part in split_references(command):
            self._items += list(part) if isinstance(part, str) else [part]
        while self._at < len(self._items):
            item = self._items[self._at]
            if isinstance(item, Reference):
                self._place(item)
            else:
                getattr(self, f"_in_{self._top.kind}")(item)
        self.command = "".join(self._out)

    def mistakes(self) -> Iterator[UnsafeReference]:
        """Yield the references whose values are not safe where they stand."""
        for place in self._places:
            uses = [] if place.assigned else [reader.use for reader in place.command.readers()]
            why, severity = place.wrong, _ERROR
            if not why and "code" in uses:
                why = "becomes part of what another shell parses; let that shell read it from its environment"
            elif not why and "source" in uses:
                why = "becomes part of a program's source; let it read the value from its environment"
                severity = _WARNING
            elif not why and place.first:
                why, severity = (
                    "names the program to start, as one word; write arguments outside of it",
                    "warning",
                )
            if why:
                yield UnsafeReference(place.reference.text, place.reference.offset, why, severity)

    def doubtful(self) -> Iterator[tuple[Reference, str]]:
        """Yield the references whose values may reach a program that is not known to take them for data."""
        for place in self._places:
            readers, harmless = list(place.command.readers()), {"data", "script"}
            if any(reader.to_file for reader in readers):
                harmless = {"data"}
            if any(reader.keeps for reader in readers) or any(one.redirects_all for one in self._commands):
                readers = self._commands
            else:
                read_as_wholes = [reader for reader in readers if reader.reads]
                readers += [command for command in self._commands if command.is_within(read_as_wholes)]
            yield from ((place.reference, reader.program) for reader in readers if reader.use not in harmless)

    @property
    def _top(self) -> _Frame:
        return self._frames[-1]

    def _begin(self, around: ShellCommand | None) -> ShellCommand:
        self._commands.append(ShellCommand(around))
        return self._commands[-1]

    def _ahead(self, count: int = 1) -> str:
        """Return the next characters, with NUL in place of a reference."""
        items = self._items[self._at : self._at + count]
        return "".join(item if isinstance(item, str) else "\0" for item in items)

    def _take(self, count: int = 1, *, is_text: bool = True) -> None:
        """Take characters; `is_text`: they are words of the command."""
        for item in self._items[self._at : self._at + count]:
            if isinstance(item, Reference):
                return
            self._out.append(item)
            self._at += 1
            if is_text and self._top.kind not in ("comment", "document", "literal_document"):
                self._top.command.text += item

    def _push(self, kind: str, count: int = 1) -> None:
        command = self._top.command
        self._take(count, is_text=kind not in _BARE)
        if kind in _BARE:
            if command.is_empty and kind == "substitution" and count == 1:
                command.opening = "("
            else:
                command.text += VALUE
            command = self._begin(command)
        self._frames.append(_Frame(kind, command))

    def _pop(self, count: int = 1) -> None:
        self._take(count, is_text=self._top.kind not in _BARE)
        if len(self._frames) > 1:
            self._frames.pop()

    # Each takes the character at hand, and more where they belong together.

    def _in_bare(self, char: str) -> None:
        started = not self._out or self._out[-1] in " \t\n;&|()"
        keyword = _KEYWORD.match(self._ahead(8)) if started and self._top.command.is_empty else None
        if char == "\\":
            self._take(2)
        elif char == "'":
            self._push("single")
        elif char == '"':
            self._push("double")
        elif char == "#" and started:
            self._frames.append(_Frame("comment", self._top.command))
        elif keyword:
            self._keyword(keyword[0])
        else:
            self._operator(char)

    _in_substitution = _in_backticks = _in_bare

    def _keyword(self, word: str) -> None:
        command = self._top.command
        if word in _OPENING:
            command.opening = word
            self._top.command = self._begin(command)
        elif word in _CLOSING and command.around is not None and command.around.opening:
            self._top.command = command.around
        self._take(len(word), is_text=word in _WITH_WORDS)

    def _operator(self, char: str) -> None:
        """Take what parts commands or starts one inside of another."""
        around = self._top.command.around
        if self._ahead(2) == "((" and self._top.command.is_empty:
            self._push("arithmetic", 2)
        elif char == "(":
            self._push("substitution")
        elif char == ")" and around is not None and around.opening == "case":
            self._top.command.text = "case"  # a pattern ends
            self._separate(1)
        elif char == ")" and self._top.kind == "substitution":
            self._pop()
        elif self._ahead(3) == "<<<":
            self._take(3)
        elif self._ahead(2) == "<<":
            self._note_document()
        elif redirection := _REDIRECTION.match(self._ahead(2)):
            self._top.command.to_file |= not _TO_NO_FILE.match(self._ahead(20))
            self._take(len(redirection[0]))
        elif char in ";|&\n":
            self._separate(2 if self._ahead(2) in ("||", "&&", "|&") else 1)
            if char == "\n" and self._pending:
                self._frames += reversed(self._pending)
                self._pending = []
        else:
            self._expansion(char)

    def _separate(self, count: int) -> None:
        """Take the sign behind a command."""
        before, pipe = self._top.command, self._ahead(count) in ("|", "|&")
        self._take(count, is_text=False)
        if not before.is_empty:
            self._top.command = self._begin(before.around)
            before.piped_to = self._top.command if pipe else None
            self._top.command.behind_pipe = pipe

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
        self._pending.append(_Frame(kind, self._top.command, delimiter, tabs=bool(found["tabs"])))

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
        kind, command = self._top.kind, self._top.command
        if kind != "comment":
            assigned = kind != "document" and bool(_ASSIGNMENTS.match(command.text))
            first = kind in _BARE and command.is_empty
            self._places.append(_Place(reference, command, self._wrong(), assigned, first))
            command.text += VALUE if kind != "document" else ""
        variable = f"${{{self._names.get(reference.name, '')}}}"
        if kind in _BARE:
            self._out.append(f'"{variable}"')
        elif kind == "single":
            self._out.append(f"'\"{variable}\"'")
        else:
            self._out.append(variable)

    def _wrong(self) -> str:
        """Return why no variable can stand here, and what to do."""
        kinds = [frame.kind for frame in self._frames]
        before = "".join(self._out[max(0, len(self._out) - 2) :])
        if before.endswith("$") or (before.endswith("\\") and before != "\\\\" and kinds[-1] != "single"):
            return f"follows `{before[-1]}`, which would change what it means; remove that sign"
        if kinds[-1] == "literal_document":
            return "is in a here-document with a quoted delimiter, which expands nothing; unquote it"
        if not {"parameter", "arithmetic", "group"}.isdisjoint(kinds):
            return "is inside of `${...}` or `$((...))`; put the value into a variable first"
        return ""
