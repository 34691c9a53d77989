"""The commands of a shell's command line: what they say, where their output goes, and what they do with values.

`script` is what a program does that the suite brings along: it takes its arguments for data, but a file that was written
just before may be that program.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Literal

# Programs that neither run nor parse what they are given as arguments, or to read.
_DATA = frozenset({
    ":", "basename", "case", "cat", "cd", "chmod", "chown", "cmp", "cp", "cut", "date", "diff", "dirname", "echo",
    "export", "false", "for", "grep", "head", "ln", "ls", "mkdir", "mktemp", "mv", "pwd", "realpath", "rm", "rmdir",
    "select", "sleep", "stat", "tail", "touch", "tr", "true", "uniq", "wc",
})  # fmt: skip
_TESTS = frozenset({"test", "[", "[["})
# bash and ksh run the `$(...)` that stands in a subscript of what these compare
_EVALUATED = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"})
_INTERPRETERS = re.compile(r"(?:python[\d.]*|node|perl|ruby|php)\Z")
_RUNS_TEXT = frozenset({"eval", "let", "trap", "ssh", "xargs", "watch"})
_WRAPPERS = frozenset({"sudo", "doas", "env", "exec", "command", "nohup", "nice", "time", "timeout"})
_SCRIPT = re.compile(r"[\w.~/][\w./-]*\Z")
_ASSIGNMENT = re.compile(r"\w+\+?=")
_REDIRECTED = re.compile(r"\d*(?:&?>[>|&]?|<{1,3}[&>]?-?)(?P<to>.*)\Z", re.DOTALL)
VALUE = "\0"  # in the words of a command: what is not known before it runs

Use = Literal["data", "script", "code", "source", "unknown"]


class ShellCommand:
    """A simple or a compound command: what it says, where its output goes, and what it is a part of."""

    def __init__(self, around: ShellCommand | None = None) -> None:
        self.around = around
        self.opening = ""  # of a compound command: its first word
        self.text = ""  # without what stands in substitutions
        self.piped_to: ShellCommand | None = None
        self.behind_pipe = False
        self.to_file = False

    @property
    def is_empty(self) -> bool:
        """Whether it has no words yet."""
        return not self.opening and not self.text.strip()

    @property
    def words(self) -> list[str]:
        """Its words without quotes and redirections."""
        try:
            words = iter(shlex.split(self.text.replace("\\\n", "")))
        except ValueError:  # quotes that do not end; the shell will refuse it
            return [VALUE]
        kept = []
        for word in words:
            redirected = _REDIRECTED.match(word)
            if redirected is None:
                kept.append(word)
            elif not redirected["to"]:
                next(words, None)
        return kept

    @property
    def use(self) -> Use:
        """What its program does with what it is given."""
        words = self.words
        while words and _ASSIGNMENT.match(words[0]):
            del words[0]
        return _use(*words) if words else "data"

    @property
    def keeps(self) -> bool:
        """Whether values outlive the command, in variables or files."""
        words = self.words
        assigned = any(VALUE in word and _ASSIGNMENT.match(word) for word in words)
        return self.to_file or assigned or words[:1] in (["for"], ["select"])

    @property
    def redirects_all(self) -> bool:
        """Whether it may change where the output of the commands behind it goes."""
        return self.program in ("exec", "coproc")

    @property
    def program(self) -> str:
        """The program that it starts, for people."""
        return next((word for word in self.words if not _ASSIGNMENT.match(word)), "").replace(VALUE, "...")

    @property
    def reads(self) -> bool:
        """Whether all that it consists of may read what was piped or redirected to it."""
        return self.behind_pipe or "<" in self.text

    def readers(self) -> Iterator[ShellCommand]:
        """Yield the command, and those that its output goes to: behind pipes, and around it."""
        around: ShellCommand | None = self
        while around is not None:
            reader: ShellCommand | None = around
            while reader is not None:
                yield reader
                reader = reader.piped_to
            around = around.around

    def is_within(self, others: list[ShellCommand]) -> bool:
        """Tell whether it is one of these commands, or a part of one."""
        return self in others or (self.around is not None and self.around.is_within(others))


def _use(program: str, *arguments: str) -> Use:
    """Tell what a program does with what it is given."""
    name = program.rpartition("/")[2]
    if VALUE in program:
        return "unknown"
    if name in _DATA:
        return "unknown" if "/dev/stdin" in arguments else "data"
    if name == "printf":
        return "unknown" if arguments[:1] and arguments[0].startswith((VALUE, "-v")) else "data"
    if name in _TESTS:
        evaluated = not _EVALUATED.isdisjoint(arguments)
        operator = re.search(f"(?:^|\n){VALUE}[^\n]*\n{VALUE}", "\n".join(arguments))
        return "code" if evaluated and name == "[[" else "unknown" if evaluated or operator else "data"
    if name in _RUNS_TEXT:
        return "code"
    if name in ("su", "script"):
        return "code" if any(re.match(r"-\w*c", word) for word in arguments) else "unknown"
    if _INTERPRETERS.match(name):
        return _use_of_interpreter(arguments)
    if "/" in program and not program.startswith(("/", "$")) and not _is_shell(program):
        return "script"
    return _use_of_shell(program, *arguments)


def _use_of_interpreter(arguments: tuple[str, ...]) -> Use:
    options, script = _options(arguments)
    if any(re.match(r"-\w*[cerE]\Z", word) for word in options):
        return "source"
    return "script" if _SCRIPT.match(script) and not options else "unknown"


def _use_of_shell(*words: str) -> Use:
    for at, word in enumerate(words):
        if not _is_shell(word):
            continue
        options, script = _options(words[at + 1 :])
        wrapped = all(word in _WRAPPERS or not word[:1].isalpha() or "=" in word for word in words[:at])
        if any(re.match(r"[-+]\w*[cs]\w*\Z", option) for option in options) or (wrapped and not script):
            return "code"
        if at == 0 and _SCRIPT.match(script) and not script.startswith("/dev/") and "$" not in word:
            return "script"
    return "code" if words[0] in (".", "source") and VALUE in words[1:2] else "unknown"


def _options(arguments: tuple[str, ...]) -> tuple[list[str], str]:
    """Return the options, as in `-eo pipefail`, and the first word behind them."""
    options: list[str] = []
    words = iter(arguments)
    for word in words:
        if word[:1] not in ("-", "+"):
            return options, word
        options.append(word)
        if re.match(r"[-+]\w*o\Z", word):
            next(words, None)
    return options, ""


def _is_shell(word: str) -> bool:
    """Tell whether a word names a shell, or is a variable that may name one."""
    return word.rpartition("/")[2] in _SHELLS or bool(re.match(r"\$\{?\w+\}?\Z", word))
