"""Text from elsewhere, made fit for a terminal, a log or a document.

What agents, programs and people's files say may hold characters that affect its display: escape codes move the
cursor of a terminal, bidirectional signs reorder what is read, signs without width hide it from people but not from
models, and CI servers take some lines for commands.
Everything that waza prints, and every value in the documents that it writes, passes through `escape_unsafe`; JSON is
data and stays as it is in files, and is printed in a form that reads as the same data (`escape_unsafe_json`).
"""

from __future__ import annotations

import json
import re
from functools import cache

# Control characters besides tab and newline, separators of lines, halves of surrogate pairs, marks of annotations,
# and code points that are no characters.
_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufff9-\ufffb\ufffe\uffff"
# What nobody sees: the property Default_Ignorable_Code_Point of Unicode (DerivedCoreProperties.txt). Among these are
# the signs that set the direction of writing, the blanks without width, variation selectors and tags.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HAN = "\u2e80-\u2fdf\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_EMOJI = "#*0-9\u00a9\u00ae\u203c-\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED = "\u0620-\u10ff\u1700-\u17b3\u17b6-\u180a\u1810-\u1cff\ua800-\uabff\U00010a00-\U00011fff\U0001e900-\U0001e95f"
# Some of these are needed behind certain characters: one selector behind an ideograph, a Mongolian letter or an
# emoji, one joiner behind a letter of a script that joins or an emoji, and behind `@` and `#` the word joiner that
# keeps Markdown from calling people.
_UNSEEN = re.compile(
    f"[{_CONTROL}{_IGNORABLE}]"
    f"(?<![{_HAN}][\ufe00-\ufe02\U000e0100-\U000e01ef]|[\u1820-\u18aa][\u180b-\u180d\u180f]|[{_EMOJI}][\ufe0e\ufe0f]"
    f"|[{_JOINED}\u203c-\u2049\u2100-\u2bff\U0001f000-\U0001faff][\u200c\u200d]|[@#]\u2060)(?<![{_EMOJI}]\ufe0f\u200d)"
)
# GitHub takes `::command::` after any blanks, and `##[command]` anywhere in a line; so does Azure `##vso[...]`,
# and TeamCity `##teamcity[...]`. Buildkite takes `--- `, `+++ `, `~~~ ` and `^^^ +++` at the start of a line.
# Matched is the sign after which a blank makes text of it.
_COMMAND = re.compile(
    r"^[^\S\n]*+:(?=:)|#(?=#\w*+\[)|^(?:-(?=--[^\S\n])|\+(?=\+\+[^\S\n])|~(?=~~[^\S\n])|\^(?=\^\^[^\S\n]++\+\+\+))",
    re.MULTILINE,
)


@cache
def _steering_in_json() -> re.Pattern[str]:  # it takes long to compile, and few runs print JSON
    return re.compile(rf"{_UNSEEN.pattern}|#(?=#\w*+\[)")


def escape_unsafe(text: str) -> str:
    r"""Return the text without anything that affects its display or is a command there.

    What steers a terminal or cannot be seen is written as an escape such as `\x1b`; tabs and newlines stay. The
    command of a CI server gets a blank into its mark: `: :error::`, `# #vso[`, `- -- x`. A second pass changes nothing.
    """
    return _COMMAND.sub(_with_blank, _UNSEEN.sub(_escape, text.replace("\r\n", "\n")))


def escape_unsafe_json(document: str) -> str:
    r"""Return a JSON document that holds the same data, with such characters as JSON escapes (`\u001b`)."""
    return _steering_in_json().sub(_json_escape, document)


def _with_blank(match: re.Match[str]) -> str:
    return f"{match.group()} "


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    char = match.group()
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else json.dumps(char)[1:-1]
