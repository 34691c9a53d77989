"""Scores and diagnostics in a document: the results of evaluators, and the searches of the agent."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import UNSET, UnsetType

from waza.m365.document.objects import DocumentObject, Natural, NonEmpty, Positive, Scale, Share
from waza.m365.document.options import BUILT_IN

Result = Literal["pass", "fail"]


class Citation(DocumentObject, frozen=True, kw_only=True):
    """A source that a response refers to."""

    more: ClassVar = True
    index: Positive
    text: str = ""
    source: str = ""


class JudgedScore(DocumentObject, frozen=True, kw_only=True):
    """A score of a judge, 1 to 5."""

    more: ClassVar = True
    score: Scale
    result: Result
    threshold: Scale
    reason: str = ""


class CitationScore(DocumentObject, frozen=True, kw_only=True):
    """A count of citations."""

    more: ClassVar = True
    count: Natural
    result: Result
    threshold: Natural
    format: str = ""
    citations: list[Citation] = []


class ExactMatchScore(DocumentObject, frozen=True, kw_only=True):
    """Whether two texts are equal."""

    more: ClassVar = True
    match: bool
    result: Result
    reason: str = ""


class PartialMatchScore(DocumentObject, frozen=True, kw_only=True):
    """How much of two texts is equal, 0 to 1."""

    more: ClassVar = True
    score: Share
    result: Result
    threshold: Share
    reason: str = ""


class RetrievalQueryScore(DocumentObject, frozen=True, kw_only=True):
    """Whether a search query was as wanted: 1 or 0."""

    more: ClassVar = True
    score: Share
    result: Result
    threshold: float
    diagnostic_code: Literal[
        "pass",
        "no_matching_query",
        "required_terms_missing",
        "excluded_terms_found",
        "mixed_term_failure",
        "retrieval_failure",
    ]
    reason: str = ""
    matched_queries: list[str] = []
    includes_missing: list[str] = []
    excludes_found: list[str] = []


class MissingItem(DocumentObject, frozen=True, kw_only=True):
    """An expected item that was not found."""

    extractMatch: str  # noqa: N815  # the format's own spelling
    reason: str = ""


class MatchedItem(MissingItem, frozen=True, kw_only=True):
    """An expected item, and the hit that supports it."""

    matchedHitUrl: str = ""  # noqa: N815  # the format's own spelling
    matchedHitRank: int = 0  # noqa: N815  # as above


class RetrievalResultScore(DocumentObject, frozen=True, kw_only=True):
    """The share of expected items among the search results."""

    more: ClassVar = True
    score: Share
    result: Result
    threshold: float
    diagnostic_code: Literal["pass", "not_retrieved", "count_below_minimum", "error"]
    reason: str = ""
    results_evaluated: Natural = 0
    matched_items: list[MatchedItem] = []
    missing_items: list[MissingItem] = []
    extract_failures: list[MissingItem] = []


class ErroredScore(DocumentObject, frozen=True, kw_only=True):
    """The entry of an evaluator that gave no result."""

    result: Literal["error"]
    error: NonEmpty


SCORE_KEYS = {name: name[0].lower() + name[1:] for name in BUILT_IN}
SCORES: dict[str, type[DocumentObject]] = {
    **dict.fromkeys(("relevance", "coherence", "groundedness", "similarity"), JudgedScore),
    "citations": CitationScore,
    "exactMatch": ExactMatchScore,
    "partialMatch": PartialMatchScore,
    "retrievalQuery": RetrievalQueryScore,
    "retrievalResult": RetrievalResultScore,
}


UNREADABLE = "unreadable"
"""Key of waza in `diagnostics`: why citations or diagnostics of the agent could not be kept."""

TRACEBACKS = "evaluator_tracebacks"
"""Key of waza in `diagnostics`: tracebacks of evaluators that raised an exception, by their names."""


class Query(DocumentObject, frozen=True, kw_only=True):
    """A search query of the agent."""

    more: ClassVar = True
    queryString: str | None = None  # noqa: N815  # the format's own spelling
    filterExpression: str | None = None  # noqa: N815  # as above


class Extract(DocumentObject, frozen=True, kw_only=True):
    """A piece of a search result."""

    more: ClassVar = True
    text: str = ""


class RetrievalHit(DocumentObject, frozen=True, kw_only=True):
    """A search result."""

    more: ClassVar = True
    rank: int | None = None
    webUrl: str | None = None  # noqa: N815  # the format's own spelling
    extracts: list[Extract] = []


class RetrievalExecution(DocumentObject, frozen=True, kw_only=True):
    """One search that the agent ran."""

    more: ClassVar = True
    capability: str | None = None
    status: str | None = None
    totalResultCount: int | None = None  # noqa: N815  # the format's own spelling
    queries: list[Query] = []
    retrievalHits: list[RetrievalHit] = []  # noqa: N815  # as above


class Diagnostics(DocumentObject, frozen=True, kw_only=True):
    """How the agent came to its response."""

    more: ClassVar = True
    retrieval_executions: list[RetrievalExecution] | UnsetType = UNSET
