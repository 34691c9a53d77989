"""Dealing prompts out to three parts: one to learn from, one to choose by, and one that is read once, at the end.

The part of a prompt depends on its words and the seed alone, so that it stays the same when others are added, moved or removed.
A prompt that was learnt from is never among those that are sealed later, unless the seed is another one.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from waza.errors import UsageError
from waza.model.loaded import TriggerTests
from waza.report.words import one_line

Part = Literal["train", "validation", "sealed"]
PARTS: tuple[Part, ...] = ("train", "validation", "sealed")


class LabelledPrompt(msgspec.Struct, frozen=True):
    """A prompt, and whether the skill should be invoked on it."""

    text: str
    should_trigger: bool


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """Prompts in their parts, each in the order of the file."""

    seed: int
    train: tuple[LabelledPrompt, ...]
    validation: tuple[LabelledPrompt, ...]
    sealed: tuple[LabelledPrompt, ...]

    def of(self, part: Part) -> tuple[LabelledPrompt, ...]:
        """Return the prompts of a part."""
        found: tuple[LabelledPrompt, ...] = getattr(self, part)
        return found


def split_prompts(tests: TriggerTests, seed: int) -> Split:
    """Deal the prompts of trigger tests out, about a third of them to each part.

    Prompts of the same words are one. Raises UsageError if they are expected to have both outcomes.
    """
    prompts = _list_prompts(tests)
    parts: dict[Part, list[LabelledPrompt]] = {part: [] for part in PARTS}
    for prompt in prompts:
        parts[part_of(prompt.text, seed)].append(prompt)
    return Split(
        seed=seed,
        train=tuple(parts["train"]),
        validation=tuple(parts["validation"]),
        sealed=tuple(parts["sealed"]),
    )


def part_of(text: str, seed: int) -> Part:
    """Return the part of a prompt."""
    digest = hashlib.sha256(f"{seed}\n{normalize_prompt(text)}".encode("utf-8", "surrogatepass")).digest()
    return PARTS[int.from_bytes(digest[:8], "big") % len(PARTS)]


def normalize_prompt(text: str) -> str:
    """Return the words of a prompt, without regard to case, blanks and punctuation; of one without words, its signs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded)) or " ".join(folded.split())


def find_seed(tests: TriggerTests, least: int, first: int) -> int | None:
    """Return the first seed from `first` on that gives each part so many prompts; None if a few dozen do not."""
    for seed in range(first, first + 50):
        split = split_prompts(tests, seed)
        if min(len(split.of(part)) for part in PARTS) >= least:
            return seed
    return None


def _list_prompts(tests: TriggerTests) -> Sequence[LabelledPrompt]:
    found: dict[str, LabelledPrompt] = {}
    labelled: Iterable[tuple[bool, str]] = [
        *((True, one.prompt) for one in tests.should_trigger_prompts),
        *((False, one.prompt) for one in tests.should_not_trigger_prompts),
    ]
    for should, text in labelled:
        same = found.setdefault(normalize_prompt(text), LabelledPrompt(text, should))
        if same.should_trigger != should:
            raise UsageError(
                f"the trigger tests expect both outcomes of {one_line(text, 80)!r}; remove one of the two prompts"
            )
    return list(found.values())
