"""Evaluators of the agent's searches: RetrievalQuery and RetrievalResult. No model is asked.

What counts is what the agent's platform recorded. Where nothing is known of its searches there is no
result; that it searched for nothing is a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from waza.m365.case import Case, Entry, errored
from waza.m365.options import RetrievalQueryOptions, RetrievalResultOptions
from waza.m365.scores import (
    Hit,
    MatchedItem,
    MissingItem,
    RetrievalExecution,
    RetrievalQueryScore,
    RetrievalResultScore,
)
from waza.m365.texts import entry_of, verdict

NO_TELEMETRY = (
    "nothing is known of the agent's searches: the response came without diagnostics.retrieval_executions"
)
THRESHOLD = 1.0


class RetrievalQuery:
    """Checks the queries that hold the selector: all `includes` must be in them, no `excludes`."""

    def __init__(self, options: RetrievalQueryOptions) -> None:
        self.options = options

    async def __call__(self, case: Case) -> Entry:
        """Return a RetrievalQueryScore. Upper and lower case are the same; filters are not looked at."""
        if case.retrieval is None:
            return errored(NO_TELEMETRY)
        return entry_of(self._score(_of_capability(case.retrieval, self.options.capability)))

    def _score(self, executions: Sequence[RetrievalExecution]) -> RetrievalQueryScore:
        options = self.options
        if not executions:
            reason = f"the agent ran no search with {options.capability}"
            return _query_score("retrieval_failure", reason)
        queries = [query.queryString or "" for execution in executions for query in execution.queries]
        matched = [query for query in queries if _holds(query, options.selector)]
        if not matched:
            return _query_score("no_matching_query", f"no query holds {options.selector!r}")
        missing = [term for term in options.includes if not _held(matched, term)]
        unwanted = [term for term in options.excludes if _held(matched, term)]
        codes = {
            (False, False): "pass",
            (True, False): "required_terms_missing",
            (False, True): "excluded_terms_found",
            (True, True): "mixed_term_failure",
        }
        code = codes[bool(missing), bool(unwanted)]
        return _query_score(code, _query_reason(missing, unwanted), matched, missing, unwanted)


def _query_score(
    code: str,
    reason: str,
    matched: Sequence[str] = (),
    missing: Sequence[str] = (),
    unwanted: Sequence[str] = (),
) -> RetrievalQueryScore:
    return RetrievalQueryScore(
        score=1.0 if code == "pass" else 0.0,
        result=verdict(code == "pass"),
        threshold=THRESHOLD,
        diagnostic_code=code,  # type: ignore[arg-type]  # the codes above are those of the type
        reason=reason,
        matched_queries=list(matched),
        includes_missing=list(missing),
        excludes_found=list(unwanted),
    )


def _query_reason(missing: Sequence[str], unwanted: Sequence[str]) -> str:
    parts = [f"in no query: {', '.join(missing)}"] if missing else []
    parts += [f"unwanted, but in a query: {', '.join(unwanted)}"] if unwanted else []
    return "; ".join(parts) or "the queries hold what they must, and nothing that they must not"


class RetrievalResult:
    """Checks how many results the searches had, and whether their extracts hold the expected phrases."""

    def __init__(self, options: RetrievalResultOptions) -> None:
        self.options = options

    async def __call__(self, case: Case) -> Entry:
        """Return a RetrievalResultScore: the share of phrases that were found; upper and lower case are the same.

        Without `expected_items` the score is 1 for enough results, else 0. A result without a rank has that
        of its place in the list.
        """
        if case.retrieval is None:
            return errored(NO_TELEMETRY)
        return entry_of(self._score(self._hits(case.retrieval)))

    def _hits(self, executions: Sequence[RetrievalExecution]) -> list[tuple[int, Hit]]:
        ranked = [
            (place if hit.rank is None else hit.rank, hit)
            for execution in _of_capability(executions, self.options.capability)
            for place, hit in enumerate(execution.retrievalHits, 1)
        ]
        return [(rank, hit) for rank, hit in ranked if rank <= self.options.max_rank]

    def _score(self, hits: Sequence[tuple[int, Hit]]) -> RetrievalResultScore:
        options = self.options
        least = 0 if options.min_expected_count is UNSET else options.min_expected_count
        phrases = (
            []
            if options.expected_items is UNSET
            else [item.retrievalExtract_contains for item in options.expected_items]
        )
        matched = [found for phrase in phrases if (found := _matched(phrase, hits))]
        known = {item.extractMatch for item in matched}
        missing = [_missing(phrase, len(hits)) for phrase in phrases if phrase not in known]
        enough = len(hits) >= least
        return RetrievalResultScore(
            score=len(matched) / len(phrases) if phrases else float(enough),
            result=verdict(enough and not missing),
            threshold=THRESHOLD,
            diagnostic_code=("count_below_minimum" if not enough else "not_retrieved" if missing else "pass"),
            reason=_result_reason(len(hits), least, len(matched), len(phrases)),
            results_evaluated=len(hits),
            matched_items=matched,
            missing_items=missing,
            extract_failures=missing if hits else [],
        )


def _matched(phrase: str, hits: Sequence[tuple[int, Hit]]) -> MatchedItem | None:
    """Return the first result with an extract that holds the phrase."""
    for rank, hit in hits:
        if _held((extract.text for extract in hit.extracts), phrase):
            return MatchedItem(
                extractMatch=phrase,
                reason="an extract holds this text",
                matchedHitUrl=hit.webUrl or "",
                matchedHitRank=rank,
            )
    return None


def _missing(phrase: str, hits: int) -> MissingItem:
    reason = f"no extract of {hits} results holds this text" if hits else "there are no results"
    return MissingItem(extractMatch=phrase, reason=reason)


def _result_reason(hits: int, least: int, matched: int, phrases: int) -> str:
    parts = [f"{hits} results, at least {least} expected"] if least else []
    parts += [f"{matched} of {phrases} expected texts found in {hits} results"] if phrases else []
    return "; ".join(parts)


def _of_capability(executions: Sequence[RetrievalExecution], capability: str) -> list[RetrievalExecution]:
    return [execution for execution in executions if execution.capability == capability]


def _holds(text: str, term: str) -> bool:
    return term.casefold() in text.casefold()


def _held(texts: Iterable[str], term: str) -> bool:
    return any(_holds(text, term) for text in texts)
