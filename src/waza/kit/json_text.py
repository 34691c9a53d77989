"""JSON values as text in the form of Go's encoder, which patterns in people's suites were written for; equality; loose JSON."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from waza.kit.text import replace_surrogates

# Signs that a page with the JSON inside could take for markup, and ends of lines; Go's encoder escapes them.
_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def json_text(value: Any) -> str:
    """Return compact JSON: keys sorted, markup escaped, 1.0 as 1. Numbers that are not finite get their names."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quote(str(key))}:{json_text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if is_number(value):
        return _number(value)
    return json.dumps(value) if value is None or isinstance(value, bool) else _quote(str(value))


def same_json(one: Any, other: Any, *, doubles: bool = False) -> bool:
    """Tell whether two JSON values are equal. Numbers compare by value, or as `doubles`; true is not 1."""
    if is_number(one) and is_number(other):
        return _double(one) == _double(other) if doubles else bool(one == other)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(same_json(*pair, doubles=doubles) for pair in pairs)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            same_json(one[key], other[key], doubles=doubles) for key in one
        )
    return type(one) is type(other) and bool(one == other)


def read_loose_json(data: bytes) -> Any:
    """Return the value of JSON as loose as other writers make it. Raises ValueError, and RecursionError.

    Numbers may be infinite or NaN; halves of surrogate pairs, and bytes that are not UTF-8, become `?` and U+FFFD.
    """
    return _without_halves(json.loads(data.decode("utf-8", "replace")))


def _without_halves(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_surrogates(key): _without_halves(item) for key, item in value.items()}
    return [_without_halves(item) for item in value] if isinstance(value, list) else value


def is_number(value: Any) -> bool:
    """Return whether a value is a number; a boolean is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return number  # a whole number beyond the doubles equals itself only


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_ESCAPES)


def _number(value: float) -> str:
    if isinstance(value, int) or not math.isfinite(value):
        return str(Decimal(value))  # str(int) refuses more than 4,300 digits
    if value and not 1e-6 <= abs(value) < 1e21:
        return repr(value).replace("e-0", "e-")
    return format(Decimal(repr(value)), "f").removesuffix(".0")
