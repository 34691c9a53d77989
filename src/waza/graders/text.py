"""`text`: texts and patterns that the final output must hold, or must not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from waza.graders.base import ConfigMistake, Grader, GraderLocation
from waza.kit.pattern import PatternError, compile_pattern
from waza.kit.text import fold_case
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict


class Text(Grader, frozen=True, kw_only=True):
    """Texts and patterns in the output: one check for each entry.

    Patterns are RE2, found anywhere, with flags inside (`(?i)`). One that does not compile is a failed check.
    """

    contains: list[str] = []
    """Texts that must be in the output, ignoring case."""
    not_contains: list[str] = []
    """Texts that must not be in the output, ignoring case."""
    contains_cs: list[str] = []
    """Texts that must be in the output, with upper and lower case as written."""
    not_contains_cs: list[str] = []
    """Texts that must not be in the output, with upper and lower case as written."""
    regex_match: list[str] = []
    """Patterns (RE2) that must be found in the output."""
    regex_not_match: list[str] = []
    """Patterns (RE2) that must not be found in the output."""

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader that would check nothing; warn of patterns that do not compile."""
        del location
        lists = msgspec.structs.asdict(self)
        if not any(lists.values()):
            yield ConfigMistake(message="checks nothing", hint=f"set one of {', '.join(lists)}")
        for key, entries in lists.items():
            yield from check_entries(entries, (key,), patterns=key.startswith("regex_"))

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Look for every entry in the final output."""
        del helpers
        lists = msgspec.structs.asdict(self)
        output, lowered = observation.output, fold_case(observation.output)
        failures = [
            *(f"no {entry!r} in the output" for entry in self.contains if fold_case(entry) not in lowered),
            *(f"{entry!r} is in the output" for entry in self.not_contains if fold_case(entry) in lowered),
            *(
                f"no {entry!r} (case-sensitive) in the output"
                for entry in self.contains_cs
                if entry not in output
            ),
            *(
                f"{entry!r} (case-sensitive) is in the output"
                for entry in self.not_contains_cs
                if entry in output
            ),
            *match_failures(self.regex_match, output, wanted=True),
            *match_failures(self.regex_not_match, output, wanted=False),
        ]
        return Verdict.of_checks(sum(map(len, lists.values())), failures, lists)


def check_entries(
    entries: Iterable[str], path: tuple[str | int, ...], *, patterns: bool = False
) -> Iterator[ConfigMistake]:
    """Yield an error for each empty entry, and for `patterns` a warning for each that does not compile."""
    for index, entry in enumerate(entries):
        if not entry:
            yield ConfigMistake(
                path=(*path, index), message="must not be empty", hint="every text holds the empty one"
            )
        elif patterns and (fault := _pattern_fault(entry)):
            yield ConfigMistake(
                path=(*path, index),
                message=f"{fault}; every run fails this check until the pattern is corrected",
                warning=True,
            )


def match_failures(patterns: Iterable[str], text: str, *, wanted: bool) -> Iterator[str]:
    """Yield one note for each pattern whose match in `text` is not as wanted, or that does not compile."""
    for pattern in patterns:
        try:
            matches = compile_pattern(pattern).search(text)
        except PatternError:  # what to do about it was reported once, when the suite was loaded
            yield f"the pattern `{pattern}` does not compile"
            continue
        if matches != wanted:
            yield f"no match for the pattern `{pattern}`" if wanted else f"the pattern `{pattern}` matches"


def _pattern_fault(pattern: str) -> str:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        return str(error)
    return ""
