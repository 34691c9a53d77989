"""What a new skill says of itself: the description by which agents choose it, made of what its author gave."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import msgspec

from waza.author.check.compliance import LONGEST, SHORTEST, leading_text, list_anti_triggers, list_triggers
from waza.errors import UsageError
from waza.kit.template import has_references
from waza.kit.unsafe_text import escape_unsafe
from waza.model.skill import Target
from waza.report.words import shortened

USUAL_ANTI_TRIGGERS = ("questions about other subjects", "small talk")
"""What a new skill is not for, where nobody says it; they are no prompts."""

_WIDTH = 100
_LONGEST_PHRASE = 200  # characters
_LEAD = "Reads the files that a request names, does the work step by step, and says what was done and what is left open."


class SkillText(msgspec.Struct, frozen=True, kw_only=True):
    """What the author of a skill says of it: what it does, and phrases for and against using it."""

    name: str
    what: str = ""
    triggers: tuple[str, ...] = ()
    anti_triggers: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The name in words."""
        return self.name.replace("-", " ")

    @property
    def title(self) -> str:
        """The name as a heading."""
        return self.words[:1].upper() + self.words[1:]

    @property
    def prompts(self) -> list[str]:
        """What users may write who need it, at least one prompt."""
        return (
            prompts_of(self.triggers) or prompts_of([f"help me with {self.words}", "help me with this"])[:1]
        )


def complete(given: SkillText) -> SkillText:
    """Return the text with something in the place of all that was not given. Raises UsageError for what cannot be used."""
    words = given.words
    made = SkillText(
        name=given.name,
        what=_sentence(given.what) or f"Helps with {words}.",
        triggers=_phrases(given.triggers) or (f"help with {words}", f"use {words} on this file"),
        anti_triggers=_phrases(given.anti_triggers) or USUAL_ANTI_TRIGGERS,
    )
    both = {one.lower() for one in made.triggers} & {one.lower() for one in made.anti_triggers}
    if both:
        raise UsageError(
            f"the skill cannot be for {min(both)!r} and not for it; leave it out of one of the two"
        )
    text = check_description(description(made))
    if list_triggers(text) != [*made.triggers] or list_anti_triggers(text) != [*made.anti_triggers]:
        raise UsageError(
            "the description and the phrases cannot have marks such as 'USE FOR:' in them; give phrases with "
            "--trigger and --anti-trigger"
        )
    return made


def check_description(text: str) -> str:
    """Return a description on one line. Raises UsageError for one that agents would not show."""
    line = _sentence(text)
    if len(line) > LONGEST:
        raise UsageError(
            f"the description would have {len(line):,} characters, and agents drop more than {LONGEST:,}; write less"
        )
    return line


def text_of(target: Target) -> SkillText:
    """Return what a skill or agent that is there says of itself, with prompts in the place of phrases that it lacks."""
    own = target.description
    lead = " ".join(leading_text(own).split()) or target.name.replace("-", " ")
    return SkillText(
        name=target.name,
        what=lead,
        triggers=tuple(list_triggers(own)) or (f"I need help with this: {shortened(lead, _LONGEST_PHRASE)}",),
        anti_triggers=tuple(list_anti_triggers(own)),
    )


def description(text: SkillText) -> str:
    """Return the description of a skill, with the marks that agents and `waza check` look for."""
    marks = f"USE FOR: {', '.join(text.triggers)}. DO NOT USE FOR: {', '.join(text.anti_triggers)}."
    short = f"{text.what} {marks}"
    return short if len(short) >= SHORTEST else f"{text.what} {_LEAD} {marks}"


def folded(text: str) -> str:
    """Return the lines of a text for a folded scalar of YAML."""
    return "\n".join(textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False))


def prompts_of(phrases: Iterable[str]) -> list[str]:
    """Return phrases as somebody would write them to an agent, each once."""
    texts = (shortened(phrase, _LONGEST_PHRASE) for phrase in phrases if not has_references(phrase))
    return [
        *dict.fromkeys(one[:1].upper() + one[1:] + ("" if one[-1] in ".?!…" else ".") for one in texts if one)
    ]


def split_phrases(texts: Iterable[str]) -> Sequence[str]:
    """Return the phrases in texts that separate them by commas."""
    return [one.strip() for text in texts for one in text.split(",") if one.strip()]


def _phrases(given: Iterable[str]) -> tuple[str, ...]:
    lines = (" ".join(escape_unsafe(one).split()).strip("\"'` ").rstrip(".") for one in split_phrases(given))
    return tuple(dict.fromkeys(line for line in lines if line))


def _sentence(text: str) -> str:
    line = " ".join(escape_unsafe(text).split())
    return line if not line or line[-1] in ".!?" else f"{line}."
