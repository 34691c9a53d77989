"""The reference of a file format or a grader: its keys with type, default and meaning, made from the structs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from waza.errors import UsageError
from waza.kit.decode import fields_of
from waza.kit.field_docs import field_docs, structs_in
from waza.kit.names import did_you_mean
from waza.plugins import list_names, load_class

REQUIRED = "required"
_WORDS: dict[Any, str] = {str: "text", bool: "boolean", int: "integer", float: "number", Any: "any value"}
_NOT_EMPTY = ", not empty"
_ABSURD = 1_000_000  # bounds from here on only keep absurd numbers out


class Key(msgspec.Struct, frozen=True):
    """A key of a struct. `default` is as in YAML, REQUIRED, or empty where there is none to show.

    `always` tells whether a key of a results file is written even if it is empty.
    """

    name: str
    type: str
    default: str
    meaning: str
    always: bool


class Section(msgspec.Struct, frozen=True):
    """A struct of a format: the path of its keys (empty: the file itself), what it is, and its keys."""

    kind: type
    path: str
    text: str
    keys: tuple[Key, ...]


class GraderPage(msgspec.Struct, frozen=True):
    """The reference of a grader type. `example` is a task file, empty for types of other packages."""

    name: str
    text: str
    sections: tuple[Section, ...]
    example: str

    @property
    def summary(self) -> str:
        """The first sentence of the text."""
        sentence = self.text.partition("\n")[0].partition(". ")[0].rstrip(".")
        return sentence and f"{sentence}."


def sections_of(
    root: type, prefix: str = "", homes: Mapping[type, str] | None = None, link: Callable[[str], str] = str
) -> list[Section]:
    """Return the sections of a format, beginning with the root, which is at the path `prefix` of its file.

    `homes` maps structs that are described elsewhere to what refers to them; they get no section here. `link` makes a
    reference of the path of a section.
    """
    homes = homes or {}
    paths = structs_in(root, prefix)
    references = {**{kind: link(path) for kind, path in paths.items()}, **homes}
    return [
        Section(kind, path, cleandoc(kind.__doc__ or ""), _keys(kind, references))
        for kind, path in paths.items()
        if kind not in homes
    ]


def grader_page(name: str, link: Callable[[str], str] = str) -> GraderPage:
    """Return the reference of a grader type. Raises UsageError if there is none, with the nearest name."""
    kind = load_class("waza.graders", name)
    if kind is None:
        raise UsageError(
            f"there is no grader type {name!r}; {did_you_mean(name, list_names('waza.graders'))}"
        )
    head, *rest = sections_of(kind, link=link)
    example = resources.files("waza.graders") / "examples" / f"{name}.yaml"
    text = example.read_text(encoding="utf-8") if example.is_file() else ""
    return GraderPage(name, head.text, (head, *rest), text)


def _keys(struct: type, references: Mapping[type, str]) -> tuple[Key, ...]:
    docs = field_docs(struct)
    defaults = {field.name: field for field in msgspec.structs.fields(struct)}
    omits: bool = struct.__struct_config__.omit_defaults  # type: ignore[attr-defined]  # msgspec sets it
    return tuple(
        Key(
            name=field.key,
            type=_type(field.type, references),
            default=REQUIRED if field.required else _default(defaults[field.name]),
            meaning=docs.get(field.name, ""),
            always=field.required or not omits,
        )
        for field in fields_of(struct)
    )


def _default(field: msgspec.structs.FieldInfo) -> str:
    """Return a default as YAML has it; empty where the key is simply not there."""
    factory = field.default_factory
    value = field.default if factory is msgspec.NODEFAULT else factory()
    if isinstance(value, float):
        return f"{value:g}"
    shown = isinstance(value, str | bool | int | list | dict) and value != ""
    return msgspec.json.encode(value).decode().strip('"') if shown else ""


def _type(kind: Any, references: Mapping[type, str]) -> str:
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in references:
        return references[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type(parts[0], references) + "".join(
            _limits(part) for part in parts[1:] if isinstance(part, msgspec.Meta)
        )
    if origin is Literal:
        *most, last = [f"`{part}`" if part else "nothing" for part in parts]
        return f"{', '.join(most)} or {last}" if most else last
    if origin in (Union, UnionType):
        known = [part for part in parts if part not in (NoneType, msgspec.UnsetType)]
        return " or ".join(_type(part, references) for part in known)
    if origin is list:
        return f"list of {_type(parts[0], references).removesuffix(_NOT_EMPTY)}"
    if origin is tuple:
        return f"list of {len(parts)} {_type(parts[0], references)}s"
    return f"map of {_type(parts[1], references)}"


def _limits(meta: msgspec.Meta) -> str:
    least, most = (None if bound is None or abs(bound) >= _ABSURD else bound for bound in (meta.ge, meta.le))
    if meta.min_length:
        return _NOT_EMPTY
    if least is not None and most is not None:
        return f", {least} to {most}"
    return f", at least {least}" if least is not None else ""
