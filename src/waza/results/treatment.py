"""Whether the arms of a run were what they claim: the skill offered in full with skills, and not at all without.

What a skill changed is measured only where they were. `runs[].skill_offered` says it of each trial, as far as its
executor could see it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, get_args

import msgspec

from waza.kit.text import pluralize
from waza.model.result import SkillOffer, SuiteResult

TREATMENT = "treatment"
"""The key in the metadata of results."""
NOT_MEASURED = "not measured"
"""Begins what is said of a difference between arms that were not what they claim."""
_OFFERS: tuple[SkillOffer, ...] = get_args(SkillOffer)


class Treatment(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the arms of a run, or of several, were what they claim. `metadata.treatment` of results."""

    state: Literal["as_claimed", "not_as_claimed", "unknown"]
    """`not_as_claimed` where one trial contradicts its arm, else `unknown` where one could not be seen."""
    reasons: tuple[str, ...] = ()
    """What contradicts the arms, or what is not known, in words."""
    with_skills: dict[SkillOffer, int] = {}
    """Trials that were to be with the skill, by how it was offered."""
    without_skills: dict[SkillOffer, int] = {}
    """Trials that were to be without it, by how it was offered."""

    @property
    def contradiction(self) -> str:
        """What contradicts the arms, in words; empty: nothing is known that does."""
        return "; ".join(self.reasons) if self.state == "not_as_claimed" else ""

    @property
    def doubt(self) -> str:
        """What is not known of the arms, in words; empty: they are known to be what they claim, or not to be it."""
        return "; ".join(self.reasons) if self.state == "unknown" else ""


class SeenTrial(msgspec.Struct, frozen=True):
    """What a trial says of its arm."""

    with_skills: bool
    """Whether the skill was to be offered."""
    offer: SkillOffer
    """How it was offered."""
    twin: bool = False
    """Another skill of its name was in its place."""


class OfferedTrial(Protocol):
    """A trial of a results file; of another program its values may be anything."""

    @property
    def status(self) -> Any:
        """How it ended."""
        ...

    @property
    def skill_offered(self) -> Any:
        """How the skill under test was offered."""
        ...

    @property
    def other_skills_offered(self) -> Any:
        """The names of other skills that were offered."""
        ...


class OfferedTask(Protocol):
    """A task of a results file."""

    @property
    def without_skills(self) -> Any:
        """Whether the agent was to be offered no skills."""
        ...

    @property
    def runs(self) -> Sequence[OfferedTrial]:
        """Its trials."""
        ...


def see_trial(trial: OfferedTrial, skill: str, *, with_skills: bool, paired: bool) -> SeenTrial | None:
    """Return what a trial says of its arm; None for one that broke, and where no skill is under test.

    Where arms are `paired`, and no skill is the one under test, they are about all that are offered; other skills say nothing of
    one that is.
    """
    if trial.status == "error":
        return None
    offer, others = trial.skill_offered, trial.other_skills_offered
    if offer in _OFFERS:
        twin = offer == "absent" and isinstance(others, list) and skill in others
        return SeenTrial(with_skills, offer, twin)
    if not paired:
        return None
    if skill or not isinstance(others, list):
        return SeenTrial(with_skills, "unknown")
    return SeenTrial(with_skills, "full" if others else "absent")


def judge_treatment(trials: Iterable[SeenTrial], skill: str) -> Treatment | None:
    """Return whether arms were what they claim, by what their trials say; None where no trial says anything."""
    seen = list(trials)
    if not seen:
        return None
    given = [one for one in seen if one.with_skills]
    without = [one for one in seen if not one.with_skills]
    reasons = tuple(_contradictions(given, without, skill))
    unknown = sum(one.offer == "unknown" for one in seen)
    state: Literal["as_claimed", "not_as_claimed", "unknown"] = "not_as_claimed" if reasons else "as_claimed"
    if unknown and not reasons:
        state, named = "unknown", f"the skill {skill}" if skill else "skills"
        where = f"in {unknown} of {pluralize(len(seen), 'trial')}"
        reasons = (f"it is not known whether the agent was offered {named}, {where}",)
    return Treatment(
        state=state, reasons=reasons, with_skills=_by_offer(given), without_skills=_by_offer(without)
    )


def _contradictions(given: list[SeenTrial], without: list[SeenTrial], skill: str) -> Iterator[str]:
    absent = [one for one in given if one.offer == "absent"]
    if absent:
        twins = sum(one.twin for one in absent)
        place = f" ({_share(twins, absent)}another skill of its name was in its place)" if twins else ""
        yield _contradiction(
            len(absent), given, "with", f"not offered {f'the skill {skill}' if skill else 'any'}", place
        )
    if named := sum(one.offer == "name" for one in given):
        yield _contradiction(named, given, "with", f"offered the skill {skill} by its name alone")
    if offered := sum(one.offer in ("full", "name") for one in without):
        yield _contradiction(
            offered, without, "without", f"offered {f'the skill {skill}' if skill else 'some'}"
        )


def _contradiction(count: int, arm: list[SeenTrial], which: str, what: str, more: str = "") -> str:
    return f"in {count} of {pluralize(len(arm), 'trial')} {which} skills the agent was {what}{more}"


def _share(count: int, of: list[SeenTrial]) -> str:
    return "" if count == len(of) else f"in {count} of them "


def _by_offer(arm: list[SeenTrial]) -> dict[SkillOffer, int]:
    counts = Counter(one.offer for one in arm)
    return {offer: counts[offer] for offer in _OFFERS if counts[offer]}


def treatment_of(*results: SuiteResult) -> Treatment | None:
    """Return whether runs, given with their tasks, were what they claim; None where no skill is under test."""
    names = {result.skill for result in results}
    seen = (one for result in results for one in _seen(result, result.tasks, _baseline_tasks(result)))
    return judge_treatment(seen, names.pop() if len(names) == 1 else "")


def _baseline_tasks(result: SuiteResult) -> Sequence[OfferedTask]:
    return result.baseline_outcome.tasks if result.baseline_outcome else ()


def _seen(
    head: SuiteResult, tasks: Iterable[OfferedTask], baseline: Iterable[OfferedTask]
) -> Iterator[SeenTrial]:
    paired = head.baseline_outcome is not None
    for arm, found in (("main", tasks), ("baseline", baseline)):
        for task in found:
            offered = arm == "main" and task.without_skills is not True
            for trial in task.runs:
                if one := see_trial(trial, head.skill, with_skills=offered, paired=paired):
                    yield one


def with_treatment(head: SuiteResult, treatment: Treatment | None) -> SuiteResult:
    """Return results with this in their metadata, in the place of what was there."""
    metadata = {key: value for key, value in head.metadata.items() if key != TREATMENT}
    if treatment is not None:
        metadata[TREATMENT] = msgspec.to_builtins(treatment)
    return msgspec.structs.replace(head, metadata=metadata)


def check_treatment(
    head: SuiteResult, tasks: Iterable[OfferedTask], baseline: Iterable[OfferedTask]
) -> SuiteResult:
    """Return results that were read from a file with what their trials say of the arms, whatever the file states."""
    return with_treatment(head, judge_treatment(_seen(head, tasks, baseline), head.skill))


def recorded_treatment(head: SuiteResult) -> Treatment | None:
    """Return what results say of their arms; None where they say nothing."""
    try:
        return msgspec.convert(head.metadata.get(TREATMENT), Treatment | None)
    except msgspec.ValidationError:  # of another program it may be anything
        return None
