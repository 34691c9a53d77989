"""Results files of other programs: `null` for lists, fields we do not know, fields that are not there."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

# A results file without these would only seem to be one; everything else has a zero.
_NEEDED = frozenset({"summary", "tasks", "test_id", "status"})


class Lenient:
    """Makes decoded JSON fit our structs; `unknown` is the place of the first field we do not know.

    Missing fields and `null` become the zero of their type, as in programs whose types have no null.
    Whole floats become ints where ints belong. What does not fit at all is left as it is, for the
    conversion to complain about.
    """

    def __init__(self) -> None:
        self.unknown = ""

    def fit(self, wanted: Any, value: Any, place: str = "") -> Any:
        """Return the value as it must be for the type."""
        if wanted is Any:
            return value
        origin, args = _parts(wanted)
        if origin in (Union, UnionType):
            return None if value is None else self.fit(args[0], value, place)
        if value is None:
            return _zero(wanted)
        if origin is list and isinstance(value, list):
            return [self.fit(args[0], item, f"{place}[{i}]") for i, item in enumerate(value)]
        if origin is dict and isinstance(value, dict):
            return {key: self.fit(args[1], item, _below(place, key)) for key, item in value.items()}
        if wanted is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if _is_struct(wanted) and isinstance(value, dict):
            return self._struct(wanted, value, place)
        return value

    def _struct(self, wanted: type[msgspec.Struct], value: dict[str, Any], place: str) -> dict[str, Any]:
        fields = _fields(wanted)
        found: dict[str, Any] = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                self.unknown = self.unknown or _below(place, key)
            elif type(item) is field.type:  # most are texts and numbers, and as they should be
                found[key] = item
            elif item is not None or field.required:
                found[key] = self.fit(field.type, item, _below(place, key))
        for key, field in fields.items():
            if field.required and key not in found and key not in _NEEDED:
                found[key] = self.fit(field.type, _zero(field.type), _below(place, key))
        return found


def _zero(wanted: Any) -> Any:
    """Return the zero of a type, in terms of JSON; None if it has no zero."""
    kind = get_origin(wanted) or wanted
    if _is_struct(kind):
        return {}
    return kind() if kind in (str, int, float, bool, list, dict) else None


@cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}


@cache
def _parts(wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what a type is made from and of, without the None of optional ones."""
    return get_origin(wanted), tuple(arg for arg in get_args(wanted) if arg is not NoneType)


def _is_struct(wanted: Any) -> bool:
    return isinstance(wanted, type) and issubclass(wanted, msgspec.Struct)


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key
