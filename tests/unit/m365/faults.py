"""Documents with one mistake each, and what validation says of it."""

from __future__ import annotations

from typing import Any

from tests.unit.m365.documents import document

UPGRADE = "run `waza m365 upgrade doc.json`"
TURN = {"prompt": "p"}
COUNTS = {"turns_total": 2, "turns_passed": 1, "turns_failed": 1, "turns_partial": 0, "turns_errored": 0}
SUMMARY = {**COUNTS, "overall_status": "fail"}
BOTH_OR_NEITHER = "write 'prompt' for a single question, 'turns' for a conversation"


def scored(**scores: Any) -> dict[str, Any]:
    return document({"prompt": "p", "scores": scores})


def evaluated(**evaluators: Any) -> dict[str, Any]:
    return document({"prompt": "p", "evaluators": evaluators})


def thread(*turns: Any, **keys: Any) -> dict[str, Any]:
    return document({"turns": list(turns), **keys})


CASES: list[tuple[Any, str]] = [
    # the document
    ([TURN], f"this is a bare list of prompts, an older form of the document; {UPGRADE}"),
    ([], "is empty, but must have at least one entry"),
    (
        [TURN, "Where is Lima?"],
        '[1]: is the text \'Where is Lima?\', but must be an object such as {"prompt": "Where is Lima?"}',
    ),
    (
        {"prompts": ["a"]},
        f"this is lists of prompts and of expected responses, an older form of the document; {UPGRADE}",
    ),
    ("3", "is the number 3, but must be an object"),
    ({"schemaVersion": "1.7.0"}, "'items' is missing"),
    ({"schemaVersion": "1.7.0", "item": [TURN]}, "'items' is missing; 'item' is probably meant"),
    (
        {"schema_version": "1.7.0", "items": [TURN]},
        '\'schemaVersion\' is missing; write "schemaVersion": "1.7.0"',
    ),
    (
        {"schemaVersion": 1.7, "items": [TURN]},
        'schemaVersion: is the number 1.7, but must be a text such as "1.7.0"',
    ),
    (
        {"schemaVersion": "1.7", "items": [TURN]},
        "schemaVersion: '1.7' is not a version; write one such as \"1.7.0\"",
    ),
    (
        {"schemaVersion": "1.8.0", "items": [TURN]},
        'schemaVersion: version 1.8.0 is newer than 1.7.0, the newest known here; install a newer waza, or write "1.7.0" if the document uses nothing newer',
    ),
    (
        {"schemaVersion": "1.7.1", "items": [TURN]},
        'schemaVersion: version 1.7.1 is newer than 1.7.0, the newest known here; install a newer waza, or write "1.7.0" if the document uses nothing newer',
    ),
    (
        {"schemaVersion": "2.0.0", "items": [TURN]},
        "schemaVersion: version 2.0.0 is not readable here; versions 1.x are, up to 1.7.0",
    ),
    (
        document(TURN, default_evaluator={}),
        "default_evaluator: warning: unknown key 'default_evaluator', ignored; did you mean 'default_evaluators'?",
    ),
    (
        document(TURN, evaluators={"Citations": {}}),
        "evaluators: warning: unknown key 'evaluators', ignored; did you mean 'default_evaluators'?",
    ),
    (
        document(TURN, itmes=[]),
        "itmes: warning: unknown key 'itmes', ignored; did you mean 'items'?",
    ),
    (
        document(TURN, metdata={}),
        "metdata: warning: unknown key 'metdata', ignored; did you mean 'metadata'?",
    ),
    (
        document(TURN, schemaversion="1.7.0"),
        "schemaversion: warning: unknown key 'schemaversion', ignored; did you mean 'schemaVersion'?",
    ),
    (document(TURN, metadata={"tags": "a"}), "metadata.tags: is the text 'a', but must be a list"),
    (
        document(TURN, metadata={"createdAt": "yesterday"}),
        "metadata.createdAt: warning: 'yesterday' is not a date of ISO 8601, such as 2026-01-20T10:00:00Z",
    ),
    (document(TURN, **{"$schema": 1}), "$schema: is the number 1, but must be a text; put it in quotes"),
    (
        document(TURN, default_evaluators=None),
        'default_evaluators: is null, but must be an object such as {"Relevance": {}}; leave the key out',
    ),
    # items
    (
        {"schemaVersion": "1.7.0", "items": ["p"]},
        "items[0]: is the text 'p', but must be an object with 'prompt' or 'turns'",
    ),
    (document({}), f"items[0]: has neither 'prompt' nor 'turns'; {BOTH_OR_NEITHER}"),
    (document({"question": "p"}), f"items[0]: has neither 'prompt' nor 'turns'; {BOTH_OR_NEITHER}"),
    (document({"promt": "p"}), "items[0].promt: unknown key 'promt'; did you mean 'prompt'?"),
    (document({"turn": [TURN]}), "items[0].turn: unknown key 'turn'; did you mean 'turns'?"),
    (document({"prompt": ""}), "items[0].prompt: must not be empty"),
    (document({"prompt": 5}), "items[0].prompt: is the number 5, but must be a text; put it in quotes"),
    (document({"prompt": True}), "items[0].prompt: is true, but must be a text; put it in quotes"),
    (document({"prompt": None}), "items[0].prompt: is null, but must be a text; leave the key out"),
    (
        document({"prompt": "p", "expected_response": None}),
        "items[0].expected_response: is null, but must be a text; leave the key out",
    ),
    (
        document({"prompt": "p", "evaluators_mode": "Replace"}),
        "items[0].evaluators_mode: is the text 'Replace', but must be one of: extend, replace",
    ),
    (
        document({"prompt": "p", "status": "passed"}),
        "items[0].status: is the text 'passed', but must be one of: pass, fail, partial, error",
    ),
    (
        document({"prompt": "p", "priority": 1}),
        "items[0].priority: unknown key 'priority'; custom keys belong under 'extensions'",
    ),
    (
        document({"prompt": "p", "assertions": []}),
        "items[0].assertions: unknown key 'assertions'; custom keys belong under 'extensions'",
    ),
    (
        document({"prompt": "p", "testId": "1"}),
        "items[0].testId: unknown key 'testId'; move it under 'extensions', as `waza m365 upgrade` does",
    ),
    (
        document({"prompt": "p", "name": "n"}),
        "items[0].name: unknown key 'name'; move it under 'extensions', as `waza m365 upgrade` does",
    ),
    (document({"prompt": "p", "error": {"code": "x"}}), "items[0].error: 'message' is missing"),
    (
        document({"prompt": "p", "error": {"code": "x", "message": "y", "retry": 1}}),
        "items[0].error.retry: unknown key 'retry'; known: code, message",
    ),
    (document({"prompt": "p", "citations": [{"text": "t"}]}), "items[0].citations[0]: 'index' is missing"),
    (
        document({"prompt": "p", "citations": [{"index": 0}]}),
        "items[0].citations[0].index: is 0, but must be at least 1",
    ),
    (
        document({"prompt": "p", "citations": [{"index": 1.5}]}),
        "items[0].citations[0].index: is the number 1.5, but must be a whole number",
    ),
    (document({"prompt": "p", "extensions": []}), "items[0].extensions: is a list, but must be an object"),
    (
        document({"prompt": "p", "diagnostics": {"retrieval_executions": [{"queries": None}]}}),
        "items[0].diagnostics.retrieval_executions[0].queries: is null, but must be a list; leave the key out",
    ),
    (
        document(
            {"prompt": "p", "diagnostics": {"retrieval_executions": [{"retrievalHits": [{"rank": "1"}]}]}}
        ),
        "items[0].diagnostics.retrieval_executions[0].retrievalHits[0].rank: is the text '1', but must be a whole number; write it without quotes",
    ),
    # conversations
    (thread(*[TURN] * 21), "items[0].turns: has 21 entries, but may have at most 20"),
    (
        thread({**TURN, "turns": []}),
        "items[0].turns[0].turns: unknown key 'turns'; custom keys belong under 'extensions'",
    ),
    (thread(TURN, evaluators={}), "items[0].evaluators: unknown key 'evaluators'; it belongs into a turn"),
    (
        thread(TURN, expected_response="e"),
        "items[0].expected_response: unknown key 'expected_response'; it belongs into a turn",
    ),
    (
        thread(TURN, default_evaluators={}),
        "items[0].default_evaluators: unknown key 'default_evaluators'; it belongs at the top of the document",
    ),
    (thread(TURN, nmae="n"), "items[0].nmae: unknown key 'nmae'; did you mean 'name'?"),
    (thread(TURN, summary=COUNTS), "items[0].summary: 'overall_status' is missing"),
    (
        thread(TURN, summary={**SUMMARY, "turns_total": 3}),
        "items[0].summary: the counts do not add up: 1 + 1 + 0 + 0 is not turns_total, 3",
    ),
    (
        thread(TURN, summary={**SUMMARY, "turns_passed": -1}),
        "items[0].summary.turns_passed: is -1, but must be at least 0",
    ),
    (
        thread(TURN, summary={**SUMMARY, "turns_skipped": 0}),
        "items[0].summary.turns_skipped: unknown key 'turns_skipped'; known: overall_status, turns_errored, turns_failed, turns_partial, turns_passed, turns_total",
    ),
    # evaluators
    (
        evaluated(Relevance=None),
        "items[0].evaluators.Relevance: is null, but must be an object; write {} for the defaults",
    ),
    (
        evaluated(Relevance=4),
        "items[0].evaluators.Relevance: is the number 4, but must be an object; write {} for the defaults",
    ),
    (
        document({"prompt": "p", "evaluators": ["Relevance"]}),
        'items[0].evaluators: is a list, but must be an object such as {"Relevance": {}}',
    ),
    (
        evaluated(Coherence={"threshold": 6}),
        "items[0].evaluators.Coherence.threshold: is 6, but must be at most 5",
    ),
    (
        evaluated(Groundedness={"threshold": "4"}),
        "items[0].evaluators.Groundedness.threshold: is the text '4', but must be a number; write it without quotes",
    ),
    (
        evaluated(Similarity={"treshold": 4}),
        "items[0].evaluators.Similarity.treshold: unknown key 'treshold'; did you mean 'threshold'?",
    ),
    (
        evaluated(Relevance={"threshold": True}),
        "items[0].evaluators.Relevance.threshold: is true, but must be a number",
    ),
    (
        evaluated(Citations={"threshold": 0}),
        "items[0].evaluators.Citations.threshold: is 0, but must be at least 1",
    ),
    (
        evaluated(Citations={"threshold": 1.5}),
        "items[0].evaluators.Citations.threshold: is the number 1.5, but must be a whole number",
    ),
    (
        evaluated(Citations={"citation_format": "inline"}),
        "items[0].evaluators.Citations.citation_format: warning: 'inline' is not a known format, and is read as 'oai_unicode'; known: oai_unicode, bracket, markdown, mixed",
    ),
    (
        evaluated(ExactMatch={"threshold": 1}),
        "items[0].evaluators.ExactMatch.threshold: unknown key 'threshold'; ExactMatch passes on equal texts only and has no threshold",
    ),
    (
        evaluated(ExactMatch={"case_sensitive": "false"}),
        "items[0].evaluators.ExactMatch.case_sensitive: is the text 'false', but must be true or false; write it without quotes",
    ),
    (
        evaluated(PartialMatch={"threshold": 50}),
        "items[0].evaluators.PartialMatch.threshold: is 50, but must be at most 1",
    ),
    (
        evaluated(RetrievalQuery={"capability": "c", "selector": "s", "includes": [""]}),
        "items[0].evaluators.RetrievalQuery.includes[0]: must not be empty",
    ),
    (
        evaluated(RetrievalQuery={"capability": "", "selector": "s"}),
        "items[0].evaluators.RetrievalQuery.capability: must not be empty",
    ),
    (
        evaluated(RetrievalResult={"capability": "c", "expected_items": []}),
        "items[0].evaluators.RetrievalResult.expected_items: is empty, but must have at least one entry",
    ),
    (
        evaluated(RetrievalResult={"capability": "c", "min_expected_count": 1, "threshold": 1}),
        "items[0].evaluators.RetrievalResult.threshold: unknown key 'threshold'; the threshold of RetrievalResult is always 1.0",
    ),
    (
        evaluated(RetrievalResult={"capability": "c", "expected_itens": []}),
        "items[0].evaluators.RetrievalResult.expected_itens: unknown key 'expected_itens'; did you mean 'expected_items'?",
    ),
    (
        evaluated(
            RetrievalResult={
                "capability": "c",
                "expected_items": [{"retrievalExtract_contains": "x", "webUrl": "u"}],
            }
        ),
        "items[0].evaluators.RetrievalResult.expected_items[0].webUrl: unknown key 'webUrl'; sources are not matched by address; give a phrase of its content as 'retrievalExtract_contains'",
    ),
    (
        evaluated(my_eval={"samples": 3}),
        "items[0].evaluators.my_eval.samples: unknown key 'samples'; options of its own belong under 'options'",
    ),
    (
        evaluated(my_eval={"options": 3}),
        "items[0].evaluators.my_eval.options: is the number 3, but must be an object",
    ),
    (
        evaluated(my_eval={"threshold": "4"}),
        "items[0].evaluators.my_eval.threshold: is the text '4', but must be a number; write it without quotes",
    ),
    (
        evaluated(**{"a-b": {}}),
        "items[0].evaluators.a-b: 'a-b' cannot be the name of an evaluator; it starts with a letter; letters, digits and underscores follow",
    ),
    (
        evaluated(**{"x\n": {}}),
        "items[0].evaluators.x\n: 'x\\n' cannot be the name of an evaluator; it starts with a letter; letters, digits and underscores follow",
    ),
    (
        evaluated(relevance={}),
        "items[0].evaluators.relevance: warning: there is no evaluator 'relevance'; names are case-sensitive, and this one is reserved; write 'Relevance', or name your custom evaluator domain_relevance",
    ),
    (
        evaluated(ToolCallAccuracy={}),
        "items[0].evaluators.ToolCallAccuracy: warning: the evaluator ToolCallAccuracy is not available in this program; in a suite, the graders tool_calls and tool_constraint look at tool calls",
    ),
    # scores
    (
        document({"prompt": "p", "scores": []}),
        'items[0].scores: is a list, but must be an object such as {"relevance": {...}}',
    ),
    (scored(relevance=5), "items[0].scores.relevance: is the number 5, but must be an object"),
    (
        scored(relevance={"score": 0, "result": "fail", "threshold": 3}),
        "items[0].scores.relevance.score: is 0, but must be at least 1",
    ),
    (scored(relevance={"score": 5, "result": "pass"}), "items[0].scores.relevance: 'threshold' is missing"),
    (scored(relevance={"score": 5, "threshold": 3}), "items[0].scores.relevance: 'result' is missing"),
    (
        scored(relevance={"score": 5, "threshold": 3, "result": "ok"}),
        "items[0].scores.relevance.result: is the text 'ok', but must be one of: pass, fail, error",
    ),
    (
        scored(relevance={"result": "error", "error": ""}),
        "items[0].scores.relevance.error: must not be empty",
    ),
    (scored(relevance={"error": "gone"}), "items[0].scores.relevance: 'result' is missing"),
    (
        scored(exactMatch={"match": "yes", "result": "pass"}),
        "items[0].scores.exactMatch.match: is the text 'yes', but must be true or false; write it without quotes",
    ),
    (
        scored(citations={"count": -1, "result": "fail", "threshold": 1}),
        "items[0].scores.citations.count: is -1, but must be at least 0",
    ),
    (
        scored(partialMatch={"score": 1.5, "result": "pass", "threshold": 0.5}),
        "items[0].scores.partialMatch.score: is 1.5, but must be at most 1",
    ),
    (
        scored(retrievalQuery={"score": 1, "result": "pass", "threshold": 1}),
        "items[0].scores.retrievalQuery: 'diagnostic_code' is missing",
    ),
    (
        scored(
            retrievalResult={
                "score": 1,
                "result": "pass",
                "threshold": 1,
                "diagnostic_code": "pass",
                "matched_items": [{"extractMatch": "x", "url": "u"}],
            }
        ),
        "items[0].scores.retrievalResult.matched_items[0].url: unknown key 'url'; known: extractMatch, matchedHitRank, matchedHitUrl, reason",
    ),
]
