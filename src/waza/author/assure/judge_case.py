"""Whether a reference case holds: what its graders say of the answer, against what is expected.

A grader that was not asked or that broke says nothing, so a case that depends on it is not judged, and never holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.assure.references import JoinedCase
from waza.author.assure.report import CaseReport, CaseState, CaseVerdict
from waza.author.prove.graders import ProvableGrader
from waza.author.prove.probe import render_prompts
from waza.graders.base import asks_judge
from waza.kit.text import list_first
from waza.model.result import TrialResult, Validation
from waza.model.verdict import NO_VERDICT
from waza.report.words import one_line
from waza.results.ending import CHECKPOINT_GRADING, GRADING

_LONGEST = 200  # characters of what a grader says, in a sentence
_NAMED = 3  # graders in a sentence
_NO_SKILLS = "the case does not say which skills are invoked; add skills, [] for none"
_NOT_RUN = "the answer was not run, since a hook of the suite failed before it"


def why_not_asked(reference: JoinedCase, grader: ProvableGrader) -> str:
    """Return why a grader is not asked about a case; empty where it is.

    Judges may cost, so none is asked whose verdict does not count.
    """
    if grader.lack:
        return grader.lack
    named = reference.grader
    if named is not None and named.key != grader.key and _is_judged(grader):
        return "it asks a judge, and the case names another grader"
    return ""


def judge_case(
    reference: JoinedCase, graders: Sequence[ProvableGrader], result: TrialResult | None
) -> CaseReport:
    """Return whether a case holds; `graders` are all of its task, `result` is that of its answer, None: it was not run."""
    case, named = reference.case, reference.grader
    verdicts = [_verdict_of(reference, one, result) for one in graders]
    if named is not None:
        own = next(verdict for one, verdict in zip(graders, verdicts, strict=True) if one.key == named.key)
        others = [one for one in verdicts if one is not own]
        state, why = _conclude_named(own, others, wanted=case.expect == "pass")
    else:
        counted = [verdict for one, verdict in zip(graders, verdicts, strict=True) if not one.ignores_answer]
        state, why = _conclude_all(counted, wanted=case.expect == "pass")
    return CaseReport(
        id=case.id,
        task=case.task,
        expect=case.expect,
        grader=case.grader,
        after_turn=case.after_turn,
        reason=case.reason,
        state=state,
        why=why,
        file=reference.file,
        line=reference.line,
        column=reference.column,
        prompts=tuple(_prompts(reference)),
        answer=reference.script.turns or (),
        verdicts=tuple(verdicts),
    )


def _prompts(reference: JoinedCase) -> Iterator[str]:
    """Yield what is asked in each turn of an answer."""
    task, user = reference.task, reference.script.responder
    yield from render_prompts(task)[: 1 + len(task.follow_ups)]
    yield from (step.reply for step in user or () if step.reply is not None)


def _conclude_named(
    own: CaseVerdict, others: Sequence[CaseVerdict], *, wanted: bool
) -> tuple[CaseState, str]:
    """Return whether a case holds that names a grader, and why not."""
    if own.passed is None:
        return "not_judged", _explain([own], "reached no verdict")
    if own.passed == wanted:
        return "held", ""
    if wanted:
        return "not_held", _explain([own], "fails it")
    instead = [f"{one.title}: {_says(one)}" for one in others if one.passed is False]
    more = f"; others fail it ({list_first(instead, _NAMED)})" if instead else ""
    return "not_held", f"{own.title} passes it{more}"


def _conclude_all(verdicts: Sequence[CaseVerdict], *, wanted: bool) -> tuple[CaseState, str]:
    """Return whether a case holds that names no grader, and why not."""
    failed = [one for one in verdicts if one.passed is False]
    unknown = [one for one in verdicts if one.passed is None]
    if failed:
        return ("not_held", _explain(failed, "fails it")) if wanted else ("held", "")
    if unknown:
        return "not_judged", _explain(unknown, "reached no verdict")
    if not verdicts:
        return "not_judged", "no grader of the task looks at the answer"
    return ("held", "") if wanted else ("not_held", "every grader passes it")


def _explain(verdicts: Sequence[CaseVerdict], what: str) -> str:
    return list_first([f"{one.title} {what}: {_says(one)}" for one in verdicts], _NAMED)


def _says(verdict: CaseVerdict) -> str:
    return one_line(verdict.feedback, _LONGEST)


def _verdict_of(reference: JoinedCase, grader: ProvableGrader, result: TrialResult | None) -> CaseVerdict:
    """Return what a grader says of an answer."""
    found = _find(grader, result) if result else None
    lack = why_not_asked(reference, grader) or (
        _why_no_verdict(grader, found, result) if result else _NOT_RUN
    )
    return CaseVerdict(
        grader=grader.place.name,
        type=grader.place.type,
        after_turn=grader.place.after_turn,
        by_judge=_is_judged(grader),
        passed=None if lack or found is None else found.passed,
        score=None if lack or found is None else found.score,
        feedback=lack or (found.feedback if found else ""),
    )


def _find(grader: ProvableGrader, result: TrialResult) -> Validation | None:
    turn, name = grader.key
    if turn is None:
        return (result.validations or {}).get(name)
    return next((one.validations.get(name) for one in result.checkpoints if one.after_turn == turn), None)


def _why_no_verdict(grader: ProvableGrader, found: Validation | None, result: TrialResult) -> str:
    """Return why a grader that was to be asked reached no verdict; empty where it reached one."""
    error = result.error_msg
    of_graders = error.startswith((GRADING, CHECKPOINT_GRADING))
    if result.status == "error" and error and not of_graders:
        return f"the answer could not be given: {error}"
    if found is None:
        silent = grader.place.name == "_should_trigger"
        return _NO_SKILLS if silent else "it was not asked"
    if found.passed:
        return ""
    if result.status == "error" and found.details.get("error") == found.feedback:
        return f"it broke: {found.feedback}"
    no_verdict = found.details.get(NO_VERDICT) is True or "not_asked" in found.details
    return found.feedback if no_verdict else ""


def _is_judged(grader: ProvableGrader) -> bool:
    return grader.built is not None and asks_judge(grader.built)
