"""The base of the objects of an evaluation document: structs whose types and limits are the rules."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

NonEmpty = Annotated[str, Meta(min_length=1)]
Scale = Annotated[float, Meta(ge=1, le=5)]
Share = Annotated[float, Meta(ge=0, le=1)]
Positive = Annotated[int, Meta(ge=1)]
Natural = Annotated[int, Meta(ge=0)]
Open: TypeAlias = dict[str, Any]


class DocumentObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the document. Its fields are its keys, and it has no others unless `more` is set.

    `advice` are hints for keys that people write here by mistake; `otherwise` is the hint for any other unknown
    key that does not resemble a known one.
    """

    more: ClassVar[bool] = False
    advice: ClassVar[dict[str, str]] = {}
    otherwise: ClassVar[str] = ""


P = TypeVar("P", bound=DocumentObject)


def convert_object(kind: type[P], data: Open) -> P:
    """Return plain data, which was checked, as a struct."""
    return msgspec.convert(data, kind, strict=False)  # not strict, since 2.0 is a whole number in JSON


def rule(name: str) -> Meta:
    """Return the mark of a value that has a rule beyond its type; see `waza.m365.document.validate`."""
    return Meta(extra={"rule": name})
