"""Evaluators by their names, and the options that each of them has."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from waza.m365.document.objects import (
    DocumentObject,
    NonEmpty,
    Open,
    Positive,
    Scale,
    Share,
    convert_object,
    rule,
)

Evaluators: TypeAlias = dict[str, dict[str, Any]]
"""Evaluator names to their options, in order."""


class JudgedOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of the evaluators in which a model judges."""

    threshold: Scale = 3


class CitationsOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of Citations; `threshold` is the least number of citations."""

    threshold: Positive = 1
    citation_format: Annotated[str, rule("citation_format")] = "oai_unicode"


class ExactMatchOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of ExactMatch."""

    advice: ClassVar = {"threshold": "ExactMatch passes on equal texts only and has no threshold"}
    case_sensitive: bool = False


class PartialMatchOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of PartialMatch."""

    threshold: Share = 0.5
    case_sensitive: bool = False


class RetrievalQueryOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of RetrievalQuery: what the agent's search queries must hold, and must not."""

    advice: ClassVar = {"threshold": "the threshold of RetrievalQuery is always 1.0"}
    capability: NonEmpty
    selector: NonEmpty
    includes: list[NonEmpty] = []
    excludes: list[NonEmpty] = []


class ExpectedItem(DocumentObject, frozen=True, kw_only=True):
    """One of `expected_items`."""

    advice: ClassVar = {
        "webUrl": "sources are not matched by address; give a phrase of its content as 'retrievalExtract_contains'"
    }
    retrievalExtract_contains: NonEmpty  # noqa: N815  # the format's own spelling


class RetrievalResultOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of RetrievalResult: what must be among the agent's search results."""

    advice: ClassVar = {"threshold": "the threshold of RetrievalResult is always 1.0"}
    capability: NonEmpty
    max_rank: Positive = 10
    min_expected_count: Positive | UnsetType = UNSET
    expected_items: Annotated[list[ExpectedItem], Meta(min_length=1)] | UnsetType = UNSET


class CustomOptions(DocumentObject, frozen=True, kw_only=True):
    """Options of a custom evaluator; `options` goes to its constructor."""

    otherwise: ClassVar = "options of its own belong under 'options'"
    threshold: float | UnsetType = UNSET
    options: Open = {}


BUILT_IN: dict[str, type[DocumentObject]] = {
    "Relevance": JudgedOptions,
    "Coherence": JudgedOptions,
    "Groundedness": JudgedOptions,
    "Similarity": JudgedOptions,
    "Citations": CitationsOptions,
    "ExactMatch": ExactMatchOptions,
    "PartialMatch": PartialMatchOptions,
    "RetrievalQuery": RetrievalQueryOptions,
    "RetrievalResult": RetrievalResultOptions,
}
NEEDS = {
    "Groundedness": "context",
    "Similarity": "expected_response",
    "ExactMatch": "expected_response",
    "PartialMatch": "expected_response",
}
"""Built-in evaluators that give no result for a turn without this key."""

OF_SEARCHES = ("RetrievalQuery", "RetrievalResult")
"""Built-in evaluators that look at the agent's searches, not at its response."""

RETIRED = "ToolCallAccuracy"  # once a built-in evaluator; no custom evaluator may have the name
RESERVED = (*BUILT_IN, RETIRED)
CITATION_FORMATS = ("oai_unicode", "bracket", "markdown", "mixed")  # the first one is the default


class NameConflict(msgspec.Struct, frozen=True):
    """Why a name cannot be used, and what to do."""

    message: str
    hint: str


def name_conflict(name: str) -> NameConflict | None:
    """Return why no evaluator can have this name; None if one can.

    Names differ by case, but no custom evaluator may have a name that differs from a reserved one by case only.
    """
    if name in BUILT_IN:
        return None
    reserved = next((known for known in RESERVED if known.lower() == name.lower()), "")
    if reserved == RETIRED:
        hint = "in a suite, the graders tool_calls and tool_constraint look at tool calls"
        return NameConflict(f"the evaluator {RETIRED} is not available in this program", hint)
    if reserved:
        message = f"there is no evaluator {name!r}; names are case-sensitive, and this one is reserved"
        return NameConflict(message, f"write {reserved!r}, or name your custom evaluator domain_{name}")
    return None


def convert_options(name: str, options: Open) -> DocumentObject:
    """Return the valid options of an evaluator as its struct, with the defaults filled in."""
    return convert_object(BUILT_IN.get(name, CustomOptions), options)


def plain_number(number: float) -> int | float:
    """Return a whole number as an int: 4, not 4.0."""
    return int(number) if float(number).is_integer() else number
