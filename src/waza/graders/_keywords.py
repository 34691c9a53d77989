"""How near a prompt is to a skill, by the words of both: the heuristic behind `trigger`.

A skill's keywords are the words of its name, description and body. Its description may also list
phrases after `USE FOR:`; what follows `DO NOT USE FOR:` is ignored.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

from waza.kit.text import fold_case

_UNTELLING = (
    "the and for with this that from into your you are was were what where how why not "
    "can should using about have has had but all any too out get let"
)
_STOP_WORDS = frozenset(_UNTELLING.split())
_SHORTEST = 3  # bytes in UTF-8, so that a single CJK character is a word
_USE_FOR = re.compile("USE FOR:", re.IGNORECASE)
_END_OF_USES = re.compile("DO NOT USE FOR:|INVOKES:|FOR SINGLE OPERATIONS:", re.IGNORECASE)
_DO_NOT_USE_FOR = re.compile("DO NOT USE FOR:", re.IGNORECASE)
_NOT_BEFORE = 11  # characters before `USE FOR:` in which `NOT ` makes it an exclusion
_QUOTED = re.compile('["“”]([^"“”]+)["“”]')
_NOTE = re.compile(r"\([^()]*\)\s*\Z")


class Match(msgspec.Struct, frozen=True):
    """How near a prompt is: `score` (0 to 1), the score of the best phrase, and the keywords found in order."""

    score: float
    phrase_score: float
    matched: list[str]


class Keywords(msgspec.Struct, frozen=True):
    """A skill's keywords, and each use-for phrase in lower case with its tokens."""

    words: frozenset[str]
    phrases: tuple[tuple[str, tuple[str, ...]], ...]

    def match(self, prompt: str) -> Match:
        """Compare a prompt: the larger of its share of keywords and of the best phrase's share of words.

        A phrase that is in the prompt as a whole counts 1. A prompt without a token scores 0.
        """
        found = list(dict.fromkeys(tokenize(prompt)))
        if not found:
            return Match(0.0, 0.0, [])
        matched = [token for token in found if token in self.words]
        phrase_score = max((_share(phrase, fold_case(prompt), found) for phrase in self.phrases), default=0.0)
        return Match(max(len(matched) / len(found), phrase_score), phrase_score, matched)


def extract_keywords(name: str, description: str, body: str) -> Keywords:
    """Return the keywords of a skill: its name, its description up to what it is not for, and its body."""
    uses = _DO_NOT_USE_FOR.split(description, maxsplit=1)[0]
    phrases = tuple(
        (fold_case(phrase), tuple(tokenize(phrase))) for phrase in find_use_for_phrases(description)
    )
    words = {*tokenize(f"{name} {uses} {body}"), *(word for _, parts in phrases for word in parts)}
    return Keywords(frozenset(words), phrases)


def tokenize(text: str) -> list[str]:
    """Return the words of a text in lower case, in order: runs of letters and digits, without stop words."""
    spaced = "".join(char if unicodedata.category(char)[0] in "LN" else " " for char in fold_case(text))
    return [
        word for word in spaced.split() if word not in _STOP_WORDS and len(word.encode("utf-8")) >= _SHORTEST
    ]


def find_use_for_phrases(description: str) -> list[str]:
    """Return the phrases of the first `USE FOR:` section: those in double quotes, else those between commas."""
    text = description.replace("\r", " ").replace("\n", " ")
    starts = (found for found in _USE_FOR.finditer(text) if not _excludes(text, found.start()))
    start = next(starts, None)
    if start is None:
        return []
    section = _END_OF_USES.split(text[start.end() :], maxsplit=1)[0].strip().rstrip(".")
    parts = _QUOTED.findall(section) or [_NOTE.sub("", part.strip()) for part in section.split(",")]
    return [part.strip() for part in parts if part.strip()]


def _excludes(text: str, start: int) -> bool:
    return "NOT " in text[max(0, start - _NOT_BEFORE) : start].upper()


def _share(phrase: tuple[str, tuple[str, ...]], prompt: str, found: list[str]) -> float:
    text, words = phrase
    if text in prompt:
        return 1.0
    return sum(word in found for word in words) / len(words) if words else 0.0
