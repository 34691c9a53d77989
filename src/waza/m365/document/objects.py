"""What the objects of an evaluation document are made of: structs whose types and limits are the rules."""

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

    `advice` says what to do about a key that people write here though it is none; `otherwise` is said of
    every other unknown key that resembles none of ours.
    """

    more: ClassVar[bool] = False
    advice: ClassVar[dict[str, str]] = {}
    otherwise: ClassVar[str] = ""


P = TypeVar("P", bound=DocumentObject)


def typed(kind: type[P], data: Open) -> P:
    """Return plain data that was checked as a part."""
    return msgspec.convert(data, kind, strict=False)  # not strict, since 2.0 is a whole number in JSON


def rule(name: str) -> Meta:
    """Return the mark of a value that has a rule beyond its type; see `waza.m365.document.validate`."""
    return Meta(extra={"rule": name})
