"""What `waza assure calibrate` reports: figures of judges, and the answers that they are of."""

from __future__ import annotations

from typing import Literal

import msgspec


class ShareFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A share of all, with its 95 % interval by Wilson."""

    part: int
    total: int
    share: float | None
    """Null: of nothing."""
    lower: float
    upper: float


class KappaFigure(msgspec.Struct, frozen=True, kw_only=True):
    """How far two raters agree beyond chance, with what chance alone would give."""

    answers: int
    """Answers that both rated."""
    kappa: float | None
    """Cohen's kappa. Null: it cannot be computed, since both always gave the same one label, or nothing was rated by both."""
    lower: float | None
    upper: float | None
    agreement: float | None
    """The share of answers on which they agree."""
    by_chance: float | None
    """What that would be if each passed as many answers, but at random."""
    first_passes: ShareFigure
    """The base rate: how many the first rater passed. Of a judge and people, these are the people."""
    second_passes: ShareFigure
    """How many the second rater passed. Of a judge and people, this is the judge."""


class RaterAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far two people agree."""

    raters: tuple[str, str]
    figures: KappaFigure


class Consistency(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge gave the same verdict each time it was asked about the same answer."""

    equal: ShareFigure
    """Of the answers with a verdict each time, those with the same verdict each time."""
    without_verdict: int
    """Answers about which the judge gave no verdict at least once; they are not counted as equal or different."""


class HumanAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How far a judge agrees with people, by its first verdict on each answer."""

    figures: KappaFigure
    sensitivity: ShareFigure
    """Of the answers that people pass, those that the judge passes."""
    specificity: ShareFigure
    """Of the answers that people fail, those that the judge fails."""
    unsure: int
    """Answers that were left out, since nobody was sure."""
    disputed: int
    """Answers that were left out, since people disagree about them."""
    without_verdict: int
    """Answers that were left out, since the judge gave no verdict on them."""


class PassRate(msgspec.Struct, frozen=True, kw_only=True):
    """The pass rate of the run by a judge, and without its errors."""

    measured: ShareFigure
    """Of the answers of the run (with skills) that got a verdict, those that the judge passed then."""
    corrected: float | None
    """By Rogan and Gladen. Null: it cannot be corrected; `why` says why."""
    lower: float | None
    upper: float | None
    clipped: bool
    """Whether the formula gave a value outside of 0 to 1."""
    why: str


class PositionBias(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the winner of a pairwise judge depends on which answer comes first."""

    changed: ShareFigure
    """Of the comparisons with a winner or a tie in both orders, those in which the winner changed with the order."""
    first_preferred: ShareFigure
    """Of those that changed, the ones that favoured what came first; half of them without a bias."""
    without_verdict: int
    """Comparisons in which the judge named no winner, or broke."""


class AskedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking about one answer."""

    arm: str
    task: str
    trial: int
    verdicts: list[str]
    """Each time: `pass`, `fail`, of a pairwise judge `skill`, `baseline`, `tie`; or `error`."""
    same: bool | None
    """Whether all verdicts are the same. Null: the judge gave none at least once."""
    label: str
    """What people say: `pass`, `fail`, `unsure`, `disputed`, or empty."""
    error: str
    """Why the judge gave no verdict, the first time that it did not."""


class JudgeCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the judge of one grader."""

    grader: str
    model: str
    """The model of the judge; empty: the default of the executor."""
    pairwise: bool
    consistency: Consistency
    agreement: HumanAgreement | None
    """Null: there is no label that it can be compared with."""
    pass_rate: PassRate | None
    """Null: of a pairwise judge, or without labels."""
    raters: list[RaterAgreement]
    position: PositionBias | None
    """Null: it does not compare answers."""
    warnings: list[str]
    answers: list[AskedAnswer]


class UnusedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A label that was not used."""

    arm: str
    task: str
    trial: int
    grader: str
    rater: str
    why: str


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """What `waza assure calibrate` reports."""

    kind: Literal["waza.calibration"] = "waza.calibration"
    schemaVersion: Literal["1.0"] = "1.0"  # noqa: N815  # the spelling of all files
    suite: str
    run: str
    times: int
    """How often the judges were asked about each answer."""
    judges: list[JudgeCalibration]
    left_out: list[UnusedLabel]
    """Labels that were not used."""
    warnings: list[str]

    @property
    def complete(self) -> bool:
        """Whether every label was used, and the judges gave a verdict each time."""
        return not self.left_out and all(
            one.same is not None for judge in self.judges for one in judge.answers
        )
