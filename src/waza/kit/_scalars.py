"""What a scalar of YAML means: by the core schema of YAML 1.2, and more where its type is known."""

from __future__ import annotations

import math
import re
from typing import TypeAlias

MAX_DIGITS = 400  # of a number; above, it can be no count, limit or id

_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_STARTS = tuple("0123456789+-.")
_BASED = re.compile(r"[-+]?0(b[01]+|o[0-7]+|x[0-9a-fA-F]+)\Z")
_SWITCHES = {
    **dict.fromkeys(("yes", "on", "y", "true"), True),
    **dict.fromkeys(("no", "off", "n", "false"), False),
}

Plain: TypeAlias = str | int | float | bool | None

TOO_LONG = "\0too long"  # no scalar can equal it: control characters are refused before parsing


def resolve(text: str) -> Plain:
    """Return what a plain scalar means by the core schema of YAML 1.2."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    first = text[0]
    if not (first.isdigit() or first in "-+."):
        return text
    if _INT.match(text):
        return TOO_LONG if len(text) > MAX_DIGITS else int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _FLOAT.match(text):
        return TOO_LONG if len(text) > MAX_DIGITS else float(text)
    return text


def as_bool(value: Plain) -> bool | None:
    """Return what a value means where a boolean is wanted: also `yes no on off y n`, in any case and quotes."""
    meant = _SWITCHES.get(value.lower()) if isinstance(value, str) else value
    return meant if isinstance(meant, bool) else None


def as_number(value: Plain) -> int | float | None:
    """Return what a value without quotes means where a number is wanted: also `1_000` and `0b10`, as in Go."""
    if isinstance(value, str) and value[:1] in _STARTS:
        digits = value.replace("_", "")
        value = int(digits, 0) if _BASED.match(digits) else resolve(digits)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
