"""JSON text and JSON Schema, strictly and without network.

The only module that imports the JSON Schema engine. The rules are those of graders: dialect 2020-12 unless
`$schema` says otherwise; `format` is asserted for draft-07 and older and a remark in later ones; `pattern`
runs in linear time and has no look-around; numbers are doubles and 1.0 is an integer; a `$ref` may lead
into files, never to a server.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import jsonschema_rs

from waza.kit._schema_work import MAX_WORK, too_much_work
from waza.kit.files import is_inside

MAX_DEPTH = 200  # levels of nesting; the engine itself would crash somewhere above 10,000
_MOST_ERRORS = 50
_LONGEST_MESSAGE = 300
_EXACT_INTEGERS = 2**53  # above, not every integer is a double

_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
        (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<comma>,) | (?P<colon>:)
      | (?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
      | (?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)
    )""",
    re.VERBOSE,
)
_OPENING = re.compile(r"[\[{]")
_VALUE = frozenset({"open", "string", "scalar"})
_AFTER_VALUE = frozenset({"comma", "close"})
_CONTAINERS = (dict, list, tuple)
# Parts of the engine's messages, and what to do about them.
_ADVICE = (
    ('is not a "regex"', "patterns run in linear time, so look-around and back-references are not available"),
    ("Unknown meta-schema", "leave $schema out or write https://json-schema.org/draft/2020-12/schema"),
    ("No base URI", "keep the schema in a file, so that references beside it can be found"),
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class SchemaError(ValueError):
    """A JSON Schema that cannot be used; the message is a sentence."""


class Schema:
    """A compiled JSON Schema. Make one with `compile_schema`. Values are what JSON text decodes to."""

    def __init__(self, validator: jsonschema_rs.Validator) -> None:
        self._validator = validator

    def valid(self, value: object) -> bool:
        """Return whether the value fits the schema; what is nested deeper than 200 levels does not."""
        return _shallow(value) and self._validator.is_valid(_as_doubles(value))

    def errors(self, value: object) -> list[str]:
        """Return what does not fit, each as `path: message` with a JSON pointer (`/` is the whole value).

        At most 50 are listed, and very long messages are shortened in the middle.
        """
        if not _shallow(value):
            return [f"/: the value is nested deeper than {MAX_DEPTH} levels"]
        found = self._validator.iter_errors(_as_doubles(value))
        return [
            f"{_pointer(error.instance_path)}: {_short(error.message)}"
            for error in islice(found, _MOST_ERRORS)
        ]


def compile_schema(schema: object, *, file: Path | None = None, root: Path | None = None) -> Schema:
    """Compile a JSON Schema (a mapping or a boolean).

    `file` is where it was read from: relative `$ref`s are looked up beside it. `root` is the directory that
    no reference may leave (None: any file will do). Raises SchemaError.
    """
    if not isinstance(schema, dict | bool):
        raise SchemaError(f"a JSON Schema is an object or true or false, not {_kind(schema)}")
    if not _shallow(schema):
        raise SchemaError(f"the JSON Schema is nested deeper than {MAX_DEPTH} levels; use $defs and $ref")
    if too_much_work(schema):
        raise SchemaError(
            f"alternatives and references of the JSON Schema multiply to more than {MAX_WORK:,} checks of one "
            "value; simplify it"
        )
    try:
        return Schema(
            jsonschema_rs.validator_for(
                _as_doubles(schema),
                retriever=partial(_read_reference, root),
                base_uri=file.resolve().as_uri() if file else None,
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        )
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        raise SchemaError(f"the JSON Schema cannot be used: {_reason(error)}") from error


def strict_json(text: str | bytes) -> object:
    """Decode one JSON value, blanks around it allowed, by the letter of the standard.

    Bytes are UTF-8; a byte order mark is accepted there, since editors write it. Of equal keys the last
    one counts. Half of a surrogate pair becomes U+FFFD. Raises ValueError for everything else: NaN and
    Infinity, text after the value, numbers no double can hold, nesting deeper than 200 levels.
    """
    if isinstance(text, bytes):
        text = _utf8(text)
    try:
        value: object = json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_no_constant)
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MAX_DEPTH and not _shallow(value):
        raise _too_deep()
    if "\\ud" in text or "\\uD" in text or not text.isascii():
        return _map_leaves(value, _whole_text)
    return value


def extract_json(text: str) -> object:
    """Return the one JSON object or array in a text.

    From left to right, each `{` or `[` may begin a value; after a value the search goes on behind it. A
    footnote such as `[1]` counts. Raises ValueError unless there is exactly one. Takes time in proportion
    to the text, whatever it holds.
    """
    found: list[str] = []
    ends: dict[int, int | None] = {}
    at = 0
    while opening := _OPENING.search(text, at):
        start = opening.start()
        if start not in ends:
            ends |= _containers(text, start)
        end = ends[start]
        if end is not None:
            found.append(text[start:end])
        if len(found) > 1:
            raise ValueError("the text holds more than one JSON object or array; exactly one is needed")
        at = end or start + 1
    if not found:
        raise ValueError("the text holds no JSON object or array")
    return strict_json(found[0])


def _containers(text: str, start: int) -> dict[int, int | None]:
    """Read one object or array by the grammar; return where it and all in it end, None for what never does.

    A mistake ends the reading: it spoils every container still open there, and only those. That is why
    `extract_json` need not read a stretch of text again for each bracket in it: only brackets that this
    reading took for a part of a string are still unknown.
    """
    ends: dict[int, int | None] = {}
    open_now: list[int] = []
    allowed, at = frozenset({"open"}), start
    while token := _TOKEN.match(text, at):
        kind, at = token.lastgroup or "", token.end()
        in_object = bool(open_now) and text[open_now[-1]] == "{"
        if kind not in allowed or (kind == "close" and in_object != (token["close"] == "}")):
            break
        if kind == "open":
            if len(open_now) == MAX_DEPTH:
                raise _too_deep()
            open_now.append(at - 1)
            allowed = frozenset({"close", "string"}) if token["open"] == "{" else _VALUE | {"close"}
        elif kind == "close":
            ends[open_now.pop()] = at
            allowed = _AFTER_VALUE
        elif kind == "comma":
            allowed = frozenset({"string"}) if in_object else _VALUE
        elif kind == "colon":
            allowed = _VALUE
        else:
            is_key = in_object and "scalar" not in allowed
            allowed = frozenset({"colon"}) if is_key else _AFTER_VALUE
        if not open_now:
            break
    return ends | dict.fromkeys(open_now)


def referenced_files(text: str, file: Path) -> list[Path]:
    """Return the files that the references of a schema lead to, and those of these files, sorted.

    `file` is where the text was read from. What cannot be read leads nowhere.
    """
    found, pending = set[Path](), [(text, file)]
    while pending:
        text, base = pending.pop()
        with suppress(ValueError):
            for reference in _references(strict_json(text)):
                parts = urlsplit(urljoin(base.absolute().as_uri(), reference))
                path = Path(url2pathname(parts.path))
                if parts.scheme == "file" and path != file and path not in found and path.is_file():
                    found.add(path)
                    pending.append((path.read_text(encoding="utf-8-sig", errors="replace"), path))
    return sorted(found)


def _references(schema: Any) -> Iterator[str]:
    pending = [schema]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield from (value[key] for key in ("$ref", "$dynamicRef") if isinstance(value.get(key), str))
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _read_reference(root: Path | None, uri: str) -> Any:
    parts = urlsplit(uri)
    if parts.scheme != "file":
        raise ValueError(
            f"the reference {uri} leads out of the file system; keep a copy of that schema in a file"
        )
    path = Path(url2pathname(parts.path))
    if root is not None and not is_inside(root, path):
        raise ValueError(f"the reference {uri} leads out of the module")
    if path.exists() and not path.is_file():
        raise ValueError(f"the reference {uri} leads to no regular file")
    try:
        return strict_json(path.read_bytes())
    except OSError as error:
        raise ValueError(f"the reference {uri} cannot be read: {error.strerror}") from error


def _reason(error: Exception) -> str:
    place = _pointer(error.instance_path) if isinstance(error, jsonschema_rs.ValidationError) else "/"
    # The exception of `_read_reference` comes back wrapped.
    message = _short(str(error).partition("\n")[0].rpartition("ValueError: ")[2])
    advice = next((f"; {advice}" for part, advice in _ADVICE if part in message), "")
    return f"{message}{advice}" if place == "/" else f"{place}: {message}{advice}"


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the JSON is not UTF-8 text: byte {error.start} does not fit") from error


def _shallow(value: object) -> bool:
    """Return whether at most MAX_DEPTH containers stand in one another; goes level by level, not by recursion."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [node for node in level if isinstance(node, _CONTAINERS)]
        if not level:
            return True
        level = [child for node in level for child in (node.values() if isinstance(node, dict) else node)]
    return False


def _map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of JSON-like data with `change` applied to every key and every scalar."""
    if isinstance(value, dict):
        return {change(key): _map_leaves(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_leaves(item, change) for item in value]
    return change(value)


def _as_doubles(value: object) -> Any:
    """Return the value as the engine should see it: integers no wider than doubles, text that can be encoded."""
    return _map_leaves(value, _as_double)


def _as_double(leaf: Any) -> Any:
    if isinstance(leaf, int) and abs(leaf) > _EXACT_INTEGERS:
        with suppress(OverflowError):
            return float(leaf)
    return _whole_text(leaf)


def _whole_text(leaf: Any) -> Any:
    return _LONE_SURROGATE.sub("\ufffd", leaf) if isinstance(leaf, str) else leaf


def _integer(digits: str) -> int:
    # Python refuses to convert very long integers with advice on its own settings; a double ends far below.
    if len(digits) > 300 and math.isinf(float(digits)):
        raise _out_of_range(digits)
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _out_of_range(digits)
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value; use null or a number")


def _out_of_range(digits: str) -> ValueError:
    return ValueError(f"the number {_short(digits)} is too large for JSON readers")


def _too_deep() -> ValueError:
    return ValueError(f"the JSON is nested deeper than {MAX_DEPTH} levels")


def _pointer(path: list[str | int]) -> str:
    escaped = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return "/" + "/".join(escaped)


def _short(message: str) -> str:
    if len(message) <= _LONGEST_MESSAGE:
        return message
    half = _LONGEST_MESSAGE // 2
    return f"{message[:half]} ... {message[-half:]}"


def _kind(value: object) -> str:
    names = {str: "text", list: "a list", type(None): "null", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
