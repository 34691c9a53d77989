"""The grader type `sentences`: no sentence of the output is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec

from waza import ConfigMistake, Grader, GraderLocation, Helpers, Observation, Verdict


class Sentences(Grader, frozen=True, kw_only=True):
    """The length of the sentences in the output: one check for each sentence."""

    longest: Annotated[int, msgspec.Meta(ge=1)]
    """Words that a sentence may have."""
    ignore: str = ""
    """Sentences with this text are not counted."""

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Yield the mistakes that types cannot say. It is called before any agent starts."""
        if self.ignore.isspace():
            yield ConfigMistake(path=("ignore",), message="must not be blank", hint="leave it out")

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Judge what was seen of the agent."""
        sentences = [part.split() for part in re.split(r"[.!?]+(?:\s|$)", observation.output)]
        counted = [words for words in sentences if words and not self._ignores(words)]
        failures = [
            f"a sentence of {len(words)} words, at most {self.longest} allowed: {' '.join(words[:5])} ..."
            for words in counted
            if len(words) > self.longest
        ]
        return Verdict.of_checks(len(counted), failures, {"sentences": len(counted)})

    def _ignores(self, words: list[str]) -> bool:
        return bool(self.ignore) and self.ignore in " ".join(words)
