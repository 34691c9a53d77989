"""Spans of what judges the agent: graders, and the judges that they ask."""

from __future__ import annotations

from opentelemetry.trace import Span, SpanKind

from waza.model.attempt_event import GraderFinished, GraderStarted, JudgeAnswered, JudgeAsked
from waza.model.event import CheckpointGraded
from waza.telemetry.payloads import Attributes
from waza.telemetry.run_names import RunNames, attempt_path
from waza.telemetry.span_tree import Path, SpanTree


class GradingSpans:
    """Makes the spans of graders and judges, and an event for each evaluation.

    A grader that does not pass is no error: it did what it is for. One that reaches no verdict is.
    """

    def __init__(self, tree: SpanTree, names: RunNames) -> None:
        self._tree, self._names = tree, names
        # Where the spans of questions are, and who answers, by attempt and number.
        self._judges: dict[Path, tuple[Path, dict[str, str]]] = {}

    def start_grader(self, event: GraderStarted, judged: Span | None) -> None:
        """Start the span of a grader, with a link to the turn that it judges."""
        attributes: Attributes = {
            "waza.grader.name": self._names.payloads.name(event.grader),
            "waza.grader.type": event.type,
        }
        if event.after_turn:
            attributes["waza.grader.after_turn"] = event.after_turn
        self._tree.begin(grader_path(event), "waza.grader", attributes, link=judged)

    def finish_grader(self, event: GraderFinished) -> None:
        """Add the evaluation, and end the span of the grader. A check under `expected` has no span of its own."""
        names, path, found = self._names, grader_path(event), event.validation
        name, score = names.payloads.name(event.grader), float(found.score)
        place = self._tree.closest(path)
        if place is not None and (span := self._tree.span(place)) is not None:
            span.add_event("gen_ai.evaluation.result", self._evaluation(event), self._tree.now())
        labels = {**names.labels, "waza.grader.name": name, "waza.grader.type": found.type}
        if not event.error:
            names.measures.grader_score.record(score, {**labels, "waza.grader.passed": found.passed})
        if path not in self._tree:
            return
        attributes: Attributes = {
            "waza.grader.weight": float(found.weight),
            "waza.grader.passed": found.passed,
        }
        if not event.error:
            attributes["waza.grader.score"] = score
        fault = names.fault("grader", event.error) if event.error else None
        took = self._tree.end(path, attributes, fault)
        names.measures.grader_seconds.record(took, labels)

    def _evaluation(self, event: GraderFinished) -> Attributes:
        payloads, found = self._names.payloads, event.validation
        name: Attributes = {
            "gen_ai.evaluation.name": payloads.name(event.grader),
            "waza.grader.type": found.type,
        }
        if event.error:
            return {**name, "error.type": "grader"}
        return {
            **name,
            "gen_ai.evaluation.score.value": float(found.score),
            "gen_ai.evaluation.score.label": "pass" if found.passed else "fail",
            **payloads.explanation(found.feedback),
        }

    def note_checkpoint(self, event: CheckpointGraded, attempt: Path) -> None:
        """Add what a checkpoint came to, to its attempt."""
        if (span := self._tree.span(attempt)) is not None:
            point = event.checkpoint
            attributes: Attributes = {
                "waza.checkpoint.after_turn": point.after_turn,
                "waza.checkpoint.status": point.status,
                "waza.checkpoint.stopped": point.stopped,
            }
            span.add_event("waza.checkpoint", attributes, self._tree.now())

    def start_judge(self, event: JudgeAsked) -> None:
        """Start the span of a question to a judge or responder, below the grader that asks."""
        names, attempt = self._names, attempt_path(event)
        served = names.served_by(event.provider)
        model = {} if event.provider else names.model
        attributes: Attributes = {
            "gen_ai.operation.name": "chat",
            **served,
            **({"gen_ai.request.model": names.payloads.name(event.model)} if event.model else model),
            "waza.judge.asker": names.payloads.name(event.asker),
            **names.payloads.attributes("prompt", event.question),
        }
        asking = (
            path
            for path in self._tree
            if path[:3] == attempt and path[3:4] == ("grader",) and path[5:] == (event.asker,)
        )
        path: Path = (*next(asking, attempt), "judge", event.number)
        self._judges[(*attempt, event.number)] = path, served
        self._tree.begin(path, "waza.judge", attributes, kind=SpanKind.CLIENT)

    def finish_judge(self, event: JudgeAnswered) -> None:
        """End the span of a question."""
        names = self._names
        path, served = self._judges.pop((*attempt_path(event), event.number), (None, {}))
        if path is None or path not in self._tree:
            return
        finish = "error" if event.error else "stop"
        attributes = names.payloads.attributes("completion", event.answer, finish=finish)
        attributes |= names.usage(event.usage)
        if event.calls:
            attributes["waza.judge.calls"] = ", ".join(map(names.payloads.name, event.calls))
        if event.session_id:
            attributes["gen_ai.conversation.id"] = event.session_id
        fault = names.fault("judge", event.error) if event.error else None
        took = self._tree.end(path, attributes, fault)
        labels = {"gen_ai.operation.name": "chat", **served}
        names.measures.add_tokens(event.usage, labels)
        labels |= {"error.type": fault.type} if fault else {}
        names.measures.operation_seconds.record(took, labels)


def grader_path(event: GraderStarted | GraderFinished) -> Path:
    """Return the path of a grader's span."""
    return (*attempt_path(event), "grader", event.after_turn, event.grader)
