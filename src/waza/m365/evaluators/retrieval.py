"""Evaluators of the agent's searches: RetrievalQuery and RetrievalResult.

They use what the agent's platform recorded. Without a record there is no result; no searches in a record are a
result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET

from waza.m365.document.options import RetrievalQueryOptions, RetrievalResultOptions
from waza.m365.document.scores import RetrievalExecution
from waza.m365.evaluators.entailment import ClaimResult, SearchHit, contains, find_text, judge_support
from waza.m365.evaluators.protocols import EvaluatorInput, EvaluatorResult
from waza.m365.judges.judge_model import JudgeModel
from waza.m365.judges.judge_prompt import NoJudgementError

NO_TELEMETRY = "the agent's searches are unknown: the response came without diagnostics.retrieval_executions"
THRESHOLD = 1.0


class RetrievalQuery:
    """Checks the queries that hold the selector: all `includes` must be in them, no `excludes`."""

    def __init__(self, options: RetrievalQueryOptions) -> None:
        self.options = options

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Check the queries. Upper and lower case are the same; filters are not looked at."""
        if case.retrieval is None:
            return EvaluatorResult(name="RetrievalQuery", error=NO_TELEMETRY)
        known = _of_capability(case.retrieval, self.options.capability)
        return self._result([one for one in known if not _failed(one)], len(known))

    def _result(self, executions: Sequence[RetrievalExecution], tried: int) -> EvaluatorResult:
        options = self.options
        if not executions:
            reason = _no_search_reason(options.capability, tried)
            return _query_result("retrieval_failure", reason)
        queries = [query.queryString or "" for execution in executions for query in execution.queries]
        matched = [query for query in queries if contains(query, options.selector)]
        if not matched:
            return _query_result("no_matching_query", f"no query holds {options.selector!r}")
        missing = [term for term in options.includes if not _any_contains(matched, term)]
        unwanted = [term for term in options.excludes if _any_contains(matched, term)]
        codes = {
            (False, False): "pass",
            (True, False): "required_terms_missing",
            (False, True): "excluded_terms_found",
            (True, True): "mixed_term_failure",
        }
        code = codes[bool(missing), bool(unwanted)]
        return _query_result(code, _query_reason(missing, unwanted), matched, missing, unwanted)


def _query_result(
    code: str,
    reason: str,
    matched: Sequence[str] = (),
    missing: Sequence[str] = (),
    unwanted: Sequence[str] = (),
) -> EvaluatorResult:
    extra = {
        "diagnostic_code": code,
        "matched_queries": list(matched),
        "includes_missing": list(missing),
        "excludes_found": list(unwanted),
    }
    return _result("RetrievalQuery", float(code == "pass"), passed=code == "pass", reason=reason, extra=extra)


def _query_reason(missing: Sequence[str], unwanted: Sequence[str]) -> str:
    parts = [f"in no query: {', '.join(missing)}"] if missing else []
    parts += [f"unwanted, but in a query: {', '.join(unwanted)}"] if unwanted else []
    return "; ".join(parts) or "the queries hold what they must, and nothing that they must not"


class RetrievalResult:
    """Checks how many results the searches had, and whether their extracts support the expected claims."""

    def __init__(self, options: RetrievalResultOptions, judge: JudgeModel | None = None) -> None:
        """`judge` decides what supports a claim; without one, an extract must hold it as a text."""
        self.options, self.judge = options, judge

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Look for the claims; the score is the share of them that is supported.

        Without `expected_items` the score is 1 for enough results, else 0. A result without a rank has that
        of its place in the list.
        """
        if case.retrieval is None:
            return EvaluatorResult(name="RetrievalResult", error=NO_TELEMETRY)
        known = _of_capability(case.retrieval, self.options.capability)
        succeeded = [one for one in known if not _failed(one)]
        if known and not succeeded:
            return self._failed_result(_no_search_reason(self.options.capability, len(known)))
        hits = self._hits(succeeded)
        try:
            return self._result(hits, [await self._check_claim(claim, hits) for claim in self._claims()])
        except NoJudgementError as error:
            return EvaluatorResult(name="RetrievalResult", error=str(error))

    def _hits(self, executions: Sequence[RetrievalExecution]) -> list[SearchHit]:
        found = [
            SearchHit(
                rank=place if hit.rank is None else hit.rank,
                url=hit.webUrl or "",
                texts=tuple(extract.text for extract in hit.extracts),
            )
            for execution in executions
            for place, hit in enumerate(execution.retrievalHits, 1)
        ]
        return [hit for hit in found if hit.rank <= self.options.max_rank]

    def _failed_result(self, reason: str) -> EvaluatorResult:
        """Return the result where every search failed: nothing was found, and nothing is known of what there is."""
        missing = [ClaimResult(claim, reason).to_document() for claim in self._claims()]
        extra = {
            "diagnostic_code": "error",
            "results_evaluated": 0,
            "matched_items": [],
            "missing_items": missing,
        }
        return _result("RetrievalResult", 0.0, passed=False, reason=reason, extra=extra)

    def _claims(self) -> list[str]:
        expected = self.options.expected_items
        return [] if expected is UNSET else [item.retrievalExtract_contains for item in expected]

    async def _check_claim(self, claim: str, hits: Sequence[SearchHit]) -> ClaimResult:
        return await judge_support(claim, hits, self.judge) if self.judge else find_text(claim, hits)

    def _result(self, hits: Sequence[SearchHit], findings: Sequence[ClaimResult]) -> EvaluatorResult:
        least = 0 if self.options.min_expected_count is UNSET else self.options.min_expected_count
        matched = [finding.to_document() for finding in findings if finding.hit]
        missing = [finding.to_document() for finding in findings if not finding.hit]
        enough = len(hits) >= least
        extra = {
            "diagnostic_code": "count_below_minimum"
            if not enough
            else "not_retrieved"
            if missing
            else "pass",
            "results_evaluated": len(hits),
            "matched_items": matched,
            "missing_items": missing,
            "extract_failures": missing if hits else [],
        }
        return _result(
            "RetrievalResult",
            len(matched) / len(findings) if findings else float(enough),
            passed=enough and not missing,
            reason=_result_reason(len(hits), least, len(matched), len(findings)),
            extra=extra,
        )


def _result_reason(hits: int, least: int, matched: int, phrases: int) -> str:
    parts = [f"{hits} results, at least {least} expected"] if least else []
    parts += [f"{matched} of {phrases} expected texts found in {hits} results"] if phrases else []
    return "; ".join(parts)


def _of_capability(executions: Sequence[RetrievalExecution], capability: str) -> list[RetrievalExecution]:
    return [execution for execution in executions if execution.capability == capability]


def _failed(execution: RetrievalExecution) -> bool:
    return (execution.status or "").casefold() in ("failure", "failed", "error")


def _no_search_reason(capability: str, tried: int) -> str:
    if not tried:
        return f"the agent ran no search with {capability}"
    return f"every search with {capability} failed: {tried} of {tried}"


def _any_contains(texts: Iterable[str], term: str) -> bool:
    return any(contains(text, term) for text in texts)


def _result(name: str, score: float, *, passed: bool, reason: str, extra: dict[str, Any]) -> EvaluatorResult:
    return EvaluatorResult(
        name=name, score=score, threshold=THRESHOLD, passed=passed, reason=reason, extra=extra
    )
