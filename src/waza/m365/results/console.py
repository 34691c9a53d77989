"""The output of a run of a document: a line for each turn while it runs, and a summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from waza.kit.text import pluralize
from waza.m365.document.options import Evaluators
from waza.m365.document.read import DocumentItem, EvalDocument
from waza.m365.evaluators.protocols import EvaluatorResult
from waza.m365.results.outcomes import ItemOutcome, item_outcomes, turn_outcome
from waza.m365.results.status import RUN_INTERRUPTED, TurnOutcome, entry_of, error_of, is_error, status_of
from waza.model.event import CheckpointGraded, RunEvent, SuiteStarted, TrialFinished, Warned
from waza.report.words import ERROR, FAILED, PASSED, Write, indented, one_line

COMPARES = "ExactMatch"  # it has neither score nor threshold
_MARKS = {"pass": PASSED, "fail": FAILED, "partial": ERROR, "error": ERROR}


class TurnLines:
    """The lines of events, one for each turn, as soon as its evaluators are done.

    `evaluators` are those of every turn of every item; `clean` removes secrets from a text.
    """

    def __init__(
        self,
        document: EvalDocument,
        evaluators: Sequence[Sequence[Evaluators]],
        clean: Callable[[str], str],
    ) -> None:
        self._items = {item.id: item for item in document.items}
        self._evaluators = {item.id: own for item, own in zip(document.items, evaluators, strict=True)}
        self._clean = clean
        self._shown: set[tuple[str, int]] = set()

    def of(self, event: RunEvent) -> Iterator[str]:
        """Yield the lines of an event."""
        match event:
            case SuiteStarted() if event.resumed:
                yield f"Resumed: {event.run_id}, {pluralize(event.resumed, 'finished item')} kept"
            case CheckpointGraded():
                point, own = event.checkpoint, self._evaluators[event.task_id]
                outcome = turn_outcome(None, own[point.after_turn - 1], point.validations)
                yield from self._turn(event.task_id, point.after_turn, outcome)
            case TrialFinished():
                for number, outcome in enumerate(
                    item_outcomes(self._evaluators[event.task_id], event.result), 1
                ):
                    if (event.task_id, number) not in self._shown:
                        yield from self._turn(event.task_id, number, outcome)
            case Warned():
                yield f"{ERROR} {indented(self._clean(event.message), '  ')}"

    def _turn(self, item_id: str, number: int, outcome: TurnOutcome) -> Iterator[str]:
        self._shown.add((item_id, number))
        yield from map(self._clean, _lines(self._items[item_id], number, outcome))


def _lines(item: DocumentItem, number: int, outcome: TurnOutcome) -> Iterator[str]:
    """Yield the status of a turn with what passed, and a line for each evaluator that did not."""
    status, error = status_of(outcome), error_of(outcome)
    where = f"{item.id}, turn {number}" if item.thread else item.id
    details = [_score_text(one) for one in outcome.results if one.passed and not is_error(one)]
    if error and not outcome.results:
        details = [error["message"]]
    yield f"{_MARKS[status]} {one_line(where)}: {status}{'; ' if details else ''}{one_line(', '.join(details))}"
    for one in outcome.results:
        if is_error(one):
            yield f"    {ERROR} {one.name}: {one_line(entry_of(one)['error'])}"
        elif not one.passed:
            needed = "" if one.name == COMPARES else f", {one.threshold:.4g} is needed"
            reason = f": {one_line(one.reason)}" if one.reason else ""
            yield f"    {FAILED} {_score_text(one)}{needed}{reason}"


def _score_text(one: EvaluatorResult) -> str:
    return one.name if one.name == COMPARES else f"{one.name} {one.score:.4g}"


def write_summary(
    say: Write, document: EvalDocument, outcomes: Sequence[ItemOutcome], *, could_judge: bool = False
) -> None:
    """Write the counts of turns by status, the counts of each evaluator, and advice.

    `could_judge`: there is a judge that could decide whether search results support what is expected.
    """
    every = [outcome for item in outcomes for outcome in item]
    turns = [outcome for outcome in every if not _was_not_asked(outcome)]
    statuses = [status_of(outcome) for outcome in turns]
    counts = [f"{statuses.count(status)} {status}" for status in _MARKS if status in statuses]
    if len(turns) < len(every):
        counts.append(f"{len(every) - len(turns)} not asked: the run was interrupted")
    sizes = f"{pluralize(len(document.items), 'item')}, {pluralize(len(every), 'turn')}"
    say(f"{document.name}: {sizes}: {', '.join(counts)}")
    results = [result for outcome in turns for result in outcome.results]
    for name in dict.fromkeys(result.name for result in results):
        own = [result for result in results if result.name == name]
        broken = sum(map(is_error, own))
        passed = sum(result.passed for result in own if not is_error(result))
        errors = f", {pluralize(broken, 'error')}" if broken else ""
        say(f"  {name}: {passed} of {len(own)} passed{errors}")
    for note in _notes(turns, could_judge=could_judge):
        say(f"Note: {note}")


def _notes(turns: Sequence[TurnOutcome], *, could_judge: bool) -> Iterator[str]:
    """Yield notes about the document as a whole."""
    errors = [[one for one in turn.results if is_error(one)] for turn in turns]
    reasons = {(one.name, entry_of(one)["error"]) for found in errors for one in found}
    if len(turns) > 1 and all(errors) and len(reasons) == 1:
        ((name, reason),) = reasons
        yield f"every turn is partial for one reason, {name}: {one_line(reason)}"
    missed = any(
        one.extra.get("diagnostic_code") == "not_retrieved" for turn in turns for one in turn.results
    )
    if could_judge and missed:
        yield (
            "RetrievalResult looked for the exact texts; with --judge-retrieval, the judge says whether results "
            "support them"
        )


def _was_not_asked(outcome: TurnOutcome) -> bool:
    return outcome.failure is not None and outcome.failure.code == RUN_INTERRUPTED
