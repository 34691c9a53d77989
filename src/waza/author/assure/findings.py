"""Which graders and tasks reference cases cover, and the findings about cases, graders and tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from waza.author.assure.references import JoinedCase
from waza.author.assure.report import CaseCounts, CaseReport, GraderAssurance, TaskAssurance
from waza.author.check.finding import Finding
from waza.author.prove.findings import TaskFindings
from waza.author.prove.graders import GraderPlace, ProvableGrader, place_of_source
from waza.model.references import Expectation
from waza.model.task import Task
from waza.suite.loading import Loading

_REMEDIES = {
    "no case": "add a case that must pass and one that must fail",
    "no failing case": "add a case that must fail",
    "no passing case": "add a case that must pass",
    "not all of its cases hold": "correct the grader or the cases that do not hold",
}


class Coverage(msgspec.Struct, frozen=True):
    """The graders and tasks of a suite with their cases. `places` are those of the graders, in the same order."""

    graders: tuple[GraderAssurance, ...]
    tasks: tuple[TaskAssurance, ...]
    places: tuple[GraderPlace, ...]

    @classmethod
    def of(
        cls,
        cases: Sequence[CaseReport],
        references: Sequence[JoinedCase],
        graders: Mapping[str, Sequence[ProvableGrader]],
        tasks: Sequence[Task],
    ) -> Coverage:
        """Count cases. One that names no grader speaks for all of its task if it must pass, and for none if it must fail."""
        agreed = [_agree(*one, graders[one[0].task.id]) for one in zip(references, cases, strict=True)]
        places = tuple(dict.fromkeys(one.place for found in graders.values() for one in found))
        return cls(
            graders=tuple(
                GraderAssurance(
                    name=place.name,
                    type=place.type,
                    file=place.file,
                    line=place.line,
                    task=place.task,
                    after_turn=place.after_turn,
                    cases=_count(
                        [(case.expect, one.get(place)) for case, one in zip(cases, agreed, strict=True)]
                    ),
                )
                for place in places
            ),
            tasks=tuple(
                TaskAssurance(
                    id=task.id,
                    name=task.name,
                    cases=_count(
                        [
                            (case.expect, case.state == "held" if one.task.id == task.id else None)
                            for case, one in zip(cases, references, strict=True)
                        ]
                    ),
                )
                for task in tasks
            ),
            places=places,
        )


def _agree(
    reference: JoinedCase, case: CaseReport, graders: Sequence[ProvableGrader]
) -> dict[GraderPlace, bool]:
    """Return the graders that a case speaks for, with whether each said what was expected."""
    if reference.grader is not None:
        return {reference.grader.place: case.state == "held"}
    if case.expect == "fail":
        return {}
    pairs = zip(graders, case.verdicts, strict=True)
    return {one.place: verdict.passed is True for one, verdict in pairs if not one.ignores_answer}


def _count(cases: Iterable[tuple[Expectation, bool | None]]) -> CaseCounts:
    """Count cases by what is expected and whether they hold; None: the case does not count."""
    counted = [(expected, held) for expected, held in cases if held is not None]
    passing = [held for expected, held in counted if expected == "pass"]
    failing = [held for expected, held in counted if expected == "fail"]
    return CaseCounts(
        passing=len(passing), failing=len(failing), passing_held=sum(passing), failing_held=sum(failing)
    )


def find(
    loading: Loading, tasks: Sequence[Task], cases: Sequence[CaseReport], coverage: Coverage
) -> Iterator[Finding]:
    """Yield a finding for each case that does not hold, and for what no case covers."""
    for case in cases:
        if case.state == "held":
            continue
        unmet = case.state == "not_held"
        expected = "must pass" if case.expect == "pass" else "must fail"
        yield Finding(
            code="unmet-case" if unmet else "unjudged-case",
            severity="error",
            file=case.file,
            line=case.line,
            column=case.column,
            message=f"the case {case.id!r} {expected} and {'does not hold' if unmet else 'was not judged'}: {case.why}",
            remedy="correct the grader or the case" if unmet else "",
        )
    uncovered = TaskFindings()
    for grader, place in zip(coverage.graders, coverage.places, strict=True):
        if lacks := grader.cases.lacks:
            message = f"the grader {grader.name!r} is not assured: {lacks}"
            where = (place.file, place.line, place.column)
            uncovered.add("not-assured", "note", message, _REMEDIES[lacks], where)
    sources = {task.id: source for source in loading.sources for task in source.tasks}
    for task, counted in zip(tasks, coverage.tasks, strict=True):
        if lacks := counted.cases.lacks:
            place = place_of_source(loading, sources.get(task.id))
            where = (place.file, place.line, place.column)
            message = f"not assured ({lacks}): {{tasks}}"
            uncovered.add("not-assured", "note", message, _REMEDIES[lacks], where, task.name)
    yield from uncovered.all()
