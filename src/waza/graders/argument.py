"""Matchers on the arguments of tool calls, shared by `tool_calls` and `tool_constraint`."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from waza.graders.base import ConfigMistake
from waza.graders.json_schema import compile_inline
from waza.kit.json_text import is_number, json_text, same_json
from waza.kit.pattern import PatternError, compile_pattern
from waza.model.base import Keys
from waza.model.observation import ToolEvent

MISSING: Any = msgspec.UNSET  # stands for an argument that a call does not have; None is a real value

_ONE_OF = (
    "give one of equals, regex, contains, range, json_schema; use a second grader for a second condition"
)
_BOUNDS = {"gte": operator.ge, "lte": operator.le, "gt": operator.gt, "lt": operator.lt}


class Range(Keys, frozen=True, kw_only=True, omit_defaults=True):
    """Bounds of a number; at least one is given."""

    strict_keys: ClassVar[bool] = True

    gte: float | None = None
    """At least this number."""
    lte: float | None = None
    """At most this number."""
    gt: float | None = None
    """More than this number."""
    lt: float | None = None
    """Less than this number."""

    def holds(self, value: Any) -> bool:
        """Tell whether `value` is a number within all bounds. Booleans and texts are no numbers."""
        if not is_number(value):
            return False
        bounds = msgspec.structs.asdict(self).items()
        return all(_BOUNDS[name](value, bound) for name, bound in bounds if bound is not None)


class Matcher(Keys, frozen=True, kw_only=True, omit_defaults=True):
    """One condition on one argument: exactly one of the keys is given."""

    strict_keys: ClassVar[bool] = True

    equals: Any = MISSING
    """The argument is this value."""
    regex: str | None = None
    """The pattern (RE2) is found in the argument."""
    contains: str | None = None
    """The argument contains this text."""
    range: Range | None = None
    """The argument is a number in this range."""
    json_schema: dict[str, Any] | None = None
    """The argument fits this JSON Schema."""

    def check(self, path: tuple[str | int, ...]) -> Iterator[ConfigMistake]:
        """Yield what makes the matcher unusable: not one key, an empty condition, one that does not compile."""
        given = msgspec.to_builtins(self)
        if len(given) != 1:
            yield ConfigMistake(
                path=path,
                message=f"a matcher has exactly one key, here are {', '.join(given) or 'none'}",
                hint=_ONE_OF,
            )
            return
        ((key, condition),) = given.items()
        if key != "equals" and condition in ("", {}):
            yield ConfigMistake(
                path=(*path, key), message="must not be empty", hint="an empty one matches anything"
            )
        elif self.regex is not None:
            yield from check_pattern(self.regex, (*path, key), ignore_case=False)
        elif self.json_schema is not None:
            yield from _check_schema(self.json_schema, (*path, key))

    def mismatch(self, value: Any) -> str:
        """Return why `value` does not match, or an empty text. MISSING matches nothing."""
        if value is MISSING:
            return "is missing"
        if self._holds(value):
            return ""
        ((key, condition),) = msgspec.to_builtins(self).items()
        return f"is {_cut(json_text(value))}, which does not satisfy {key} {_cut(json_text(condition))}"

    def _holds(self, value: Any) -> bool:
        if self.regex is not None:
            return compile_pattern(self.regex).search(as_text(value))
        if self.contains is not None:
            return self.contains in as_text(value)
        if self.range is not None:
            return self.range.holds(value)
        if self.json_schema is not None:
            return compile_inline(self.json_schema).valid(value)
        return same_json(self.equals, value, doubles=True)


def arguments(call: ToolEvent) -> Mapping[str, Any]:
    """Return the arguments of a call; a call whose arguments are no object has none."""
    return call.args if isinstance(call.args, dict) else {}


def find_mismatch(matchers: dict[str, Matcher], call: ToolEvent) -> str:
    """Return why a call does not satisfy all matchers (the first by argument name), or an empty text."""
    given = arguments(call)
    for name in sorted(matchers):
        why = matchers[name].mismatch(given.get(name, MISSING))
        if why:
            return f"argument {name!r} {why}"
    return ""


def check_matchers(matchers: dict[str, Matcher], path: tuple[str | int, ...]) -> Iterator[ConfigMistake]:
    """Yield the mistakes in a map of argument names to matchers."""
    for name, matcher in matchers.items():
        yield from matcher.check((*path, name))


def as_text(value: Any) -> str:
    """Return the text that `regex` and `contains` look at: a text itself, null as nothing, else JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def check_pattern(
    pattern: str, path: tuple[str | int, ...], *, ignore_case: bool = True
) -> Iterator[ConfigMistake]:
    """Yield an error if the pattern does not compile."""
    try:
        compile_pattern(pattern, ignore_case=ignore_case)
    except PatternError as error:
        yield ConfigMistake(path=path, message=str(error))


def _check_schema(schema: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[ConfigMistake]:
    try:
        compile_inline(schema)
    except ValueError as error:
        yield ConfigMistake(path=path, message=str(error))


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
