"""The figures of judges: whether they agree with themselves, and with people who labelled the same answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from waza.author.assure.ask_again import AskedReply, Replies, read_reply
from waza.author.assure.calibration import (
    AskedAnswer,
    Calibration,
    Consistency,
    HumanAgreement,
    JudgeCalibration,
    KappaFigure,
    PassRate,
    PositionBias,
    RaterAgreement,
    ShareFigure,
)
from waza.author.assure.labels import AnswerKey, Label, iter_trials
from waza.author.assure.model_family import find_family
from waza.author.assure.plan_calibration import CalibrationPlan, list_judges
from waza.kit.agreement import MeasuredShare, RaterPairs, cohen_kappa, corrected_rate, kappa_interval
from waza.kit.stats import wilson
from waza.model.loaded import Suite
from waza.model.result import SuiteResult
from waza.results.transcripts import TRANSCRIPT


def calibrate(
    suite: Suite,
    recorded: SuiteResult,
    plan: CalibrationPlan,
    replies: Replies,
    times: int,
    warnings: Sequence[str] = (),
) -> Calibration:
    """Compute the figures of what was asked."""
    found: dict[str, dict[AnswerKey, Sequence[AskedReply]]] = {}
    for (key, grader), all_times in replies.items():
        found.setdefault(grader, {})[key] = all_times
    judges = [_calibrate_judge(suite, recorded, plan, name, own) for name, own in sorted(found.items())]
    return Calibration(
        suite=suite.name,
        run=recorded.eval_id,
        times=times,
        judges=judges,
        left_out=plan.left_out,
        warnings=[*_warn_of_script(suite), *warnings],
    )


def _calibrate_judge(
    suite: Suite,
    recorded: SuiteResult,
    plan: CalibrationPlan,
    grader: str,
    replies: Mapping[AnswerKey, Sequence[AskedReply]],
) -> JudgeCalibration:
    labels = [one for one in plan.labels if one.grader == grader]
    consensus = _find_consensus(labels)
    pairwise = any((key, grader) in plan.pairwise for key in replies)
    model = _judge_model(suite, recorded, grader)
    agreement = _agree(consensus, replies) if consensus else None
    return JudgeCalibration(
        grader=grader,
        model=model,
        pairwise=pairwise,
        consistency=_measure_consistency(replies),
        agreement=agreement,
        pass_rate=_correct_rate(suite, recorded, grader, replies, agreement) if agreement else None,
        raters=list(_compare_raters(labels)),
        position=_measure_position(replies) if pairwise else None,
        warnings=list(_warn_of_family(recorded, model)),
        answers=[
            _describe_answer(key, all_times, consensus.get(key, "")) for key, all_times in replies.items()
        ],
    )


def _find_consensus(labels: Sequence[Label]) -> dict[AnswerKey, str]:
    """Return what people say of each answer: those who are unsure do not count where others are sure."""
    by_answer: dict[AnswerKey, set[str]] = {}
    for one in labels:
        by_answer.setdefault(one.key, set()).add(one.label)
    return {key: _agree_on(given) for key, given in by_answer.items()}


def _agree_on(given: set[str]) -> str:
    sure = given - {"unsure"}
    if not sure:
        return "unsure"
    return "disputed" if len(sure) > 1 else next(iter(sure))


def _describe_answer(key: AnswerKey, replies: Sequence[AskedReply], label: str) -> AskedAnswer:
    verdicts = [one.verdict or "error" for one in replies]
    return AskedAnswer(
        arm=key.arm,
        task=key.task,
        trial=key.trial,
        verdicts=verdicts,
        same=None if "error" in verdicts else len(set(verdicts)) == 1,
        label=label,
        error=next((one.error for one in replies if one.error), ""),
    )


def _measure_consistency(replies: Mapping[AnswerKey, Sequence[AskedReply]]) -> Consistency:
    whole = [
        {one.verdict for one in all_times}
        for all_times in replies.values()
        if all(one.verdict for one in all_times)
    ]
    equal = sum(len(verdicts) == 1 for verdicts in whole)
    return Consistency(equal=_share(equal, len(whole)), without_verdict=len(replies) - len(whole))


def _agree(
    consensus: Mapping[AnswerKey, str], replies: Mapping[AnswerKey, Sequence[AskedReply]]
) -> HumanAgreement:
    first = {key: replies[key][0].verdict for key in consensus}
    sure = {key: label for key, label in consensus.items() if label in ("pass", "fail")}
    pairs = _count_pairs([(label, first[key]) for key, label in sure.items() if first[key]])
    return HumanAgreement(
        figures=_kappa(pairs),
        sensitivity=_share(pairs.both, pairs.both + pairs.first),
        specificity=_share(pairs.neither, pairs.neither + pairs.second),
        unsure=sum(label == "unsure" for label in consensus.values()),
        disputed=sum(label == "disputed" for label in consensus.values()),
        without_verdict=sum(not first[key] for key in sure),
    )


def _compare_raters(labels: Sequence[Label]) -> Iterator[RaterAgreement]:
    own: dict[str, dict[AnswerKey, str]] = {}
    for one in labels:
        if one.label != "unsure":
            own.setdefault(one.rater, {})[one.key] = one.label
    for first, second in combinations(sorted(own), 2):
        both = [(label, own[second][key]) for key, label in own[first].items() if key in own[second]]
        if both:
            yield RaterAgreement(raters=(first, second), figures=_kappa(_count_pairs(both)))


def _correct_rate(
    suite: Suite,
    recorded: SuiteResult,
    grader: str,
    replies: Mapping[AnswerKey, Sequence[AskedReply]],
    agreement: HumanAgreement,
) -> PassRate:
    then = {
        key: read_reply(trial.validations[grader])
        for key, trial in iter_trials(recorded)
        if trial.validations and grader in trial.validations
    }
    verdicts = [one.verdict for key, one in then.items() if key.arm == "main" and one.verdict]
    measured = _share(verdicts.count("pass"), len(verdicts))
    why = _describe_change(suite, recorded, then, replies)
    hits, rejections = (
        MeasuredShare(one.part, one.total) for one in (agreement.sensitivity, agreement.specificity)
    )
    found = None if why else corrected_rate(MeasuredShare(measured.part, measured.total), hits, rejections)
    if found is None and not why:
        why = _explain(measured, agreement)
    return PassRate(
        measured=measured,
        corrected=found.value if found else None,
        lower=found.interval[0] if found else None,
        upper=found.interval[1] if found else None,
        clipped=found.clipped if found else False,
        why=why,
    )


def _explain(measured: ShareFigure, agreement: HumanAgreement) -> str:
    """Return why a rate cannot be corrected."""
    if not measured.total:
        return "the run has no verdict of this judge"
    if not agreement.sensitivity.total:
        return "people passed no answer, so that the sensitivity is not known"
    if not agreement.specificity.total:
        return "people failed no answer, so that the specificity is not known"
    return (
        "sensitivity and specificity add up to 1 or less, or not enough above it for so few labels: the judge does no "
        "better than chance"
    )


def _describe_change(
    suite: Suite,
    recorded: SuiteResult,
    then: Mapping[AnswerKey, AskedReply],
    replies: Mapping[AnswerKey, Sequence[AskedReply]],
) -> str:
    """Return why the judge that was asked now is not the one of the run, whose errors may be others; else nothing."""
    engine, executor = recorded.config.engine_type, suite.file.config.executor
    if engine not in (executor, TRANSCRIPT):
        return f"the run asked its judge by the executor {engine}, and now it was {executor}"
    judges = _Judges.of(recorded, suite)
    for key, all_times in replies.items():
        earlier = then.get(key)
        if earlier is None:
            continue
        before = judges.then(earlier)
        for now in (judges.now(one) for one in all_times if one.verdict and earlier.verdict):
            if before != now:
                return f"the judge of the run was {_title(*before)}, and now it was {_title(*now)}"
        if earlier.asked and any(one.asked and one.asked != earlier.asked for one in all_times):
            return f"the run asked its judge another question than now (as about {key})"
    return ""


class _Judges(NamedTuple):
    """The models and efforts of judges whose graders have none of their own: then, and now."""

    models: tuple[str, str]
    efforts: tuple[str, str]

    @classmethod
    def of(cls, recorded: SuiteResult, suite: Suite) -> _Judges:
        then, now = recorded.config, suite.file.config
        return cls(
            (then.judge_model or then.model_id, now.judge_model or then.model_id),
            (then.judge_reasoning_effort, now.judge_reasoning_effort or ""),
        )

    def then(self, reply: AskedReply) -> tuple[str, str]:
        return reply.own_model or self.models[0], reply.own_effort or self.efforts[0]

    def now(self, reply: AskedReply) -> tuple[str, str]:
        return reply.own_model or self.models[1], reply.own_effort or self.efforts[1]


def _title(model: str, effort: str) -> str:
    """Return the name of a judge."""
    return f"{model or 'the default model'}{f' with the effort {effort}' if effort else ''}"


def _own_models(suite: Suite, grader: str) -> set[str]:
    """Return the models that graders of this name have of their own."""
    found = (getattr(own[grader].grader, "model", "") for own in list_judges(suite).values() if grader in own)
    return {str(one) for one in found if one}


def _judge_model(suite: Suite, recorded: SuiteResult, grader: str) -> str:
    own = sorted(_own_models(suite, grader))
    return ", ".join(own) or suite.file.config.judge_model or recorded.config.model_id


def _warn_of_script(suite: Suite) -> Iterator[str]:
    if suite.capabilities.scripted:
        yield "the judge is scripted, and says what its script says: the figures are those of the script, and of no model"


def _warn_of_family(recorded: SuiteResult, judge: str) -> Iterator[str]:
    about = recorded.metadata.get("agent")
    served = about.get("models_served") if isinstance(about, dict) else None
    agents = [recorded.config.model_id, *(one for one in served or () if isinstance(one, str))]
    for model in judge.split(", "):
        if model in agents:
            which = f"the same model ({model})" if model else "the default model of the executor"
            yield f"judge and agent are both {which}; a model may prefer what it would write itself"
            return
        kin = next((one for one in agents if one and model and find_family(one) == find_family(model)), None)
        if kin:
            yield (
                f"judge ({model}) and agent ({kin}) are of one family, {find_family(model)}; a model may prefer what its "
                "family writes"
            )
            return


def _measure_position(replies: Mapping[AnswerKey, Sequence[AskedReply]]) -> PositionBias:
    """Count, by the first comparison of each pair of answers, what changed when their order did."""
    firsts = [all_times[0].winners for all_times in replies.values()]
    seen = [winners for winners in firsts if winners]
    changed = [winners for winners in seen if winners[0] != winners[1]]
    # The baseline came first in the first order, and the skill in the second.
    lean = [_lean(*winners) for winners in changed]
    return PositionBias(
        changed=_share(len(changed), len(seen)),
        first_preferred=_share(sum(one > 0 for one in lean), len(lean)),
        without_verdict=len(firsts) - len(seen),
    )


def _lean(baseline_first: str, skill_first: str) -> int:
    """Return how often what came first won, less how often what came second did. It is not 0 if the winners differ."""
    scores = Counter[str]()
    for winner, first in ((baseline_first, "baseline"), (skill_first, "skill")):
        scores["first" if winner == first else "neither" if winner == "tie" else "second"] += 1
    return scores["first"] - scores["second"]


def _count_pairs(rated: Sequence[tuple[str, str]]) -> RaterPairs:
    counts = Counter(rated)
    return RaterPairs(
        both=counts["pass", "pass"],
        first=counts["pass", "fail"],
        second=counts["fail", "pass"],
        neither=counts["fail", "fail"],
    )


def _kappa(pairs: RaterPairs) -> KappaFigure:
    total, interval = pairs.total, kappa_interval(pairs)
    first, second = _share(pairs.both + pairs.first, total), _share(pairs.both + pairs.second, total)
    by_chance = (
        first.share * second.share + (1 - first.share) * (1 - second.share)
        if first.share is not None and second.share is not None
        else None
    )
    return KappaFigure(
        answers=total,
        kappa=cohen_kappa(pairs),
        lower=interval[0] if interval else None,
        upper=interval[1] if interval else None,
        agreement=(pairs.both + pairs.neither) / total if total else None,
        by_chance=by_chance,
        first_passes=first,
        second_passes=second,
    )


def _share(part: int, total: int) -> ShareFigure:
    lower, upper = wilson(part, total)
    return ShareFigure(
        part=part, total=total, share=part / total if total else None, lower=lower, upper=upper
    )
