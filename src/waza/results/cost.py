"""What trials cost: all their attempts, judges and responders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from waza.model.cost import Cost, Spent, add_costs
from waza.model.observation import Usage
from waza.model.result import TrialResult
from waza.suite.prices import Prices

Charged = tuple[Usage | None, str]
"""What a session used, and the model that it asked, where the usage names none."""


def charges(
    trial: TrialResult, model: str, judge_model: str, *, judges_only: bool = False
) -> Iterator[Charged]:
    """Yield what each session of a trial used: of the agent, of attempts before the one that counts, and of judges."""
    if not judges_only:
        yield trial.session_digest.usage, model
        yield from ((attempt.usage, model) for attempt in trial.attempt_history)
    yield from ((session.usage, judge_model) for session in trial.grader_sessions)


def cost_of(charged: Iterable[Charged], prices: Prices) -> Cost | None:
    """Return what sessions cost. None: the price of one is not known, or no tokens are."""
    return add_costs(
        prices.cost(usage, model) for usage, model in charged if usage is not None and usage.tokens
    )


def spent(usage: Usage, model: str, prices: Prices) -> Spent:
    """Return what usage takes of the limits of a run."""
    cost = prices.cost(usage, model)
    return Spent(
        tokens=usage.tokens,
        ai_credits=usage.ai_credits or 0,
        cost=cost.amount if cost else 0,
        unpriced=cost is None and usage.tokens > 0,
    )
