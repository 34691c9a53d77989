"""Agreement of two raters who say yes or no, and rates that one of them, who errs, has measured. Standard library only.

The second rater may be a judge and the first one a person; then what the person says counts as true.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from waza.kit.stats import Z_95

Bounds = tuple[float, float]
"""The lower and the upper end of a 95 % interval."""


class RaterPairs(NamedTuple):
    """How often two raters said what of the same things: both yes, only the first yes, only the second yes, both no."""

    both: int = 0
    first: int = 0
    second: int = 0
    neither: int = 0

    @property
    def total(self) -> int:
        """How many things both rated."""
        return sum(self)


class MeasuredShare(NamedTuple):
    """So many of all."""

    part: int
    total: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1; 0 of nothing."""
        return self.part / self.total if self.total else 0.0


class CorrectedRate(NamedTuple):
    """A rate without the errors of who measured it. `clipped`: the formula gave a value outside of 0 to 1."""

    value: float
    interval: Bounds
    clipped: bool


def cohen_kappa(pairs: RaterPairs) -> float | None:
    """Return Cohen's kappa: (p_o - p_e)/(1 - p_e), the share of agreement beyond chance (Cohen 1960).

    p_o is the share of things on which both agree, p_e what it would be if each said yes as often, but at random. None where
    p_e is 1, since both always said the same one thing, and where nothing was rated.
    """
    return _kappa(*pairs)


def kappa_interval(pairs: RaterPairs) -> Bounds | None:
    """Return a 95 % interval of Cohen's kappa; None where there is no kappa.

    It takes the large-sample variance of Fleiss, Cohen and Everitt (Psychological Bulletin 72, 1969, p. 323), computed with
    1/2 added to each of the four counts: without that, perfect agreement on five things would have an interval
    without width. It is widened to hold kappa itself, and kept between -1 and 1.
    """
    kappa = cohen_kappa(pairs)
    if kappa is None:
        return None
    counts = [count + 0.5 for count in pairs]
    total = sum(counts)
    both, first, second, neither = (count / total for count in counts)
    centre = _kappa(*counts) or 0.0
    yes, no = (
        (both + first, both + second),
        (neither + second, neither + first),
    )  # of the first rater, of the second
    chance = yes[0] * yes[1] + no[0] * no[1]
    rest = 1 - centre
    agreeing = both * (1 - sum(yes) * rest) ** 2 + neither * (1 - sum(no) * rest) ** 2
    # The first rater says yes and the second no: what the second says as often as that yes, and the first as that no.
    differing = rest**2 * (first * (yes[1] + no[0]) ** 2 + second * (no[1] + yes[0]) ** 2)
    spread = max(0.0, agreeing + differing - (centre - chance * rest) ** 2)
    half = Z_95 * math.sqrt(spread / total) / (1 - chance)
    return max(-1.0, min(kappa, centre - half)), min(1.0, max(kappa, centre + half))


def corrected_rate(
    observed: MeasuredShare, sensitivity: MeasuredShare, specificity: MeasuredShare
) -> CorrectedRate | None:
    """Return the true rate of yes behind one that was measured by a rater who errs, with a 95 % interval.

    `observed` is how often the rater said yes. `sensitivity` is how often of what is truly yes, `specificity` how often the
    rater said no of what is truly no; each comes from a sample of its own. The rate is
    (p + Sp - 1)/(Se + Sp - 1) (Rogan and Gladen, American Journal of Epidemiology 107, 1978, p. 71), kept between 0 and 1.
    The interval counts the chance in all three shares in (Lang and Reiczigel, Preventive Veterinary Medicine 113, 2014,
    p. 13): the same formula with z^2/2 of z^2 more added to the observed, and one of two more to both others, a shift
    2 z^2 (r Se(1 - Se)/n_Se - (1 - r) Sp(1 - Sp)/n_Sp), and the standard error by the delta method.

    None where a share is of nothing, or Se + Sp is not above 1: such a rater does no better than chance.
    """
    if not (observed.total and sensitivity.total and specificity.total):
        return None
    raw = _rogan_gladen(observed.value, sensitivity.value, specificity.value)
    squared = Z_95 * Z_95
    rate = (observed.part + squared / 2) / (observed.total + squared)
    hits = (sensitivity.part + 1) / (sensitivity.total + 2)
    rejections = (specificity.part + 1) / (specificity.total + 2)
    centre = _rogan_gladen(rate, hits, rejections)
    if raw is None or centre is None:
        return None
    of_rate = rate * (1 - rate) / (observed.total + squared)
    of_hits = hits * (1 - hits) / (sensitivity.total + 2)
    of_rejections = rejections * (1 - rejections) / (specificity.total + 2)
    centre_shifted = centre + 2 * squared * (centre * of_hits - (1 - centre) * of_rejections)
    variance = of_rate + centre**2 * of_hits + (1 - centre) ** 2 * of_rejections
    half = Z_95 * math.sqrt(variance) / (hits + rejections - 1)
    value = _clip(raw)
    interval = min(value, _clip(centre_shifted - half)), max(value, _clip(centre_shifted + half))
    return CorrectedRate(value, interval, clipped=value != raw)


def _kappa(both: float, first: float, second: float, neither: float) -> float | None:
    total = both + first + second + neither
    if not total:
        return None
    yes = (both + first) * (both + second)
    no = (neither + second) * (neither + first)
    chance = yes + no
    if chance == total * total:
        return None
    return (total * (both + neither) - chance) / (total * total - chance)


def _rogan_gladen(rate: float, sensitivity: float, specificity: float) -> float | None:
    gained = sensitivity + specificity - 1
    return (rate + specificity - 1) / gained if gained > 1e-12 else None


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
