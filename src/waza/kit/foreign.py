"""Text from elsewhere, made fit for a terminal, a log or a document.

What agents, programs and people's files say may hold signs that steer whoever shows it: escape codes move the
cursor of a terminal, bidirectional signs reorder what is read, and CI servers take some lines for commands.
Everything that waza prints, and every value in the documents that it writes, passes through `harmless`; JSON is
data and stays as it is in files, and is printed in a form that reads as the same data (`harmless_json`).
"""

from __future__ import annotations

import json
import re

# Control characters besides tab and newline, signs that set or reverse the direction of writing, separators of
# lines, signs that nobody sees (the byte order mark, tags, invisible operators), halves of surrogate pairs, and
# code points that are no characters. Joiners stay: scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200e\u200f\u2028-\u202e\u2061-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
# GitHub takes `::command::` after any blanks, and `##[command]` anywhere in a line; so does Azure `##vso[...]`,
# and TeamCity `##teamcity[...]`. Matched is the sign after which a blank makes text of it.
_COMMAND = re.compile(r"^[^\S\n]*+:(?=:)|#(?=#\w*+\[)", re.MULTILINE)
_STEERING_IN_JSON = re.compile(rf"{_UNSEEN.pattern}|#(?=#\w*+\[)")


def harmless(text: str) -> str:
    r"""Return the text so that showing it does nothing else.

    What steers a terminal or cannot be seen is written as an escape such as `\x1b`; tabs and newlines stay. The
    command of a CI server gets a blank into its mark: `: :error::`, `# #vso[`. Done twice it changes nothing more.
    """
    return _COMMAND.sub(r"\g<0> ", _UNSEEN.sub(_escape, text.replace("\r\n", "\n")))


def harmless_json(document: str) -> str:
    r"""Return a JSON document that holds the same data, with such characters as JSON escapes (`\u001b`)."""
    return _STEERING_IN_JSON.sub(_json_escape, document)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    char = match.group()
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1]
