"""What is told of a run of a document: a line a turn as it goes on, and a summary at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from waza.m365.document import EvalDocument, Item
from waza.m365.options import Evaluators
from waza.m365.outcomes import ItemOutcome, answered, outcomes_of
from waza.m365.status import TurnOutcome, error_of, is_error, status_of
from waza.model.event import CheckpointGraded, RunEvent, SuiteStarted, TrialFinished, Warned
from waza.report.words import ERROR, FAILED, PASSED, Write, counted, indented

_MARKS = {"pass": PASSED, "fail": FAILED, "partial": ERROR, "error": ERROR}


class Lines:
    """The lines of events, a turn each, as soon as its evaluators have spoken.

    `evaluators` are those of every turn of every item; `clean` takes secrets out of a text.
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
        self._told: set[tuple[str, int]] = set()

    def of(self, event: RunEvent) -> Iterator[str]:
        """Yield the lines of an event."""
        match event:
            case SuiteStarted() if event.resumed:
                yield f"Resumed: {event.run_id}, {counted(event.resumed, 'finished item')} kept"
            case CheckpointGraded():
                point, own = event.checkpoint, self._evaluators[event.task_id]
                outcome = answered(None, own[point.after_turn - 1], point.validations)
                yield self._turn(event.task_id, point.after_turn, outcome)
            case TrialFinished():
                for number, outcome in enumerate(outcomes_of(self._evaluators[event.task_id], event.run), 1):
                    if (event.task_id, number) not in self._told:
                        yield self._turn(event.task_id, number, outcome)
            case Warned():
                yield f"{ERROR} {indented(self._clean(event.message), '  ')}"

    def _turn(self, item_id: str, number: int, outcome: TurnOutcome) -> str:
        self._told.add((item_id, number))
        return self._clean(_line(self._items[item_id], number, outcome))


def _line(item: Item, number: int, outcome: TurnOutcome) -> str:
    status, error = status_of(outcome), error_of(outcome)
    where = f"{item.id}, turn {number}" if item.thread else item.id
    said = [result.error or f"{result.name} {result.score:g}" for result in outcome.results]
    if error and not outcome.results:
        said = [error["message"]]
    return f"{_MARKS[status]} {where}: {status}{'; ' if said else ''}{'; '.join(said)}"


def summarise(say: Write, document: EvalDocument, outcomes: Sequence[ItemOutcome]) -> None:
    """Say how many turns ended how, and what each evaluator said of all of them."""
    turns = [outcome for item in outcomes for outcome in item]
    statuses = [status_of(outcome) for outcome in turns]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in _MARKS if status in statuses)
    say(f"{document.name}: {counted(len(document.items), 'item')}, {counted(len(turns), 'turn')}: {counts}")
    results = [result for outcome in turns for result in outcome.results]
    for name in dict.fromkeys(result.name for result in results):
        own = [result for result in results if result.name == name]
        broken = sum(map(is_error, own))
        passed = sum(result.passed for result in own if not is_error(result))
        errors = f", {counted(broken, 'error')}" if broken else ""
        say(f"  {name}: {passed} of {len(own)} passed{errors}")
