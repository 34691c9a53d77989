"""What models charge, what was used, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

import msgspec

from waza.model.base import Keys, NonBlank

Price = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class ModelPriceKeys(Keys, frozen=True, kw_only=True):
    """One of `prices.models` of `.waza.yaml`: what a million tokens of a model cost."""

    strict_keys: ClassVar[bool] = True
    input: Price
    """A million tokens that the model reads."""
    output: Price
    """A million tokens that it writes."""
    cache_read: Price | None = None
    """A million tokens that are read from the provider's cache. Default: `input`."""
    cache_write: Price | None = None
    """A million tokens that are written to the provider's cache. Default: `input`."""


class PriceKeys(Keys, frozen=True, kw_only=True):
    """`prices` of `.waza.yaml`: what models cost. They come before those of the extra `prices`."""

    strict_keys: ClassVar[bool] = True
    currency: NonBlank = "USD"
    """The currency of all prices."""
    source: NonBlank = ".waza.yaml"
    """Where the prices come from, for results and reports."""
    models: dict[str, ModelPriceKeys] = {}
    """Prices by the name of the model."""


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What something cost."""

    amount: float
    """The amount, in the currency."""
    currency: str
    """The currency."""
    source: str
    """Where the prices come from."""

    @property
    def dollars(self) -> float | None:
        """The amount where it is in US dollars, else None."""
        return self.amount if self.currency == "USD" else None


class Spent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was used of that which limits limit."""

    tokens: int = 0
    """Input and output tokens."""
    ai_credits: float = 0
    """AI credits, as far as they were reported."""
    cost: float = 0
    """Money, as far as prices are known, in the currency of the prices."""
    unpriced: bool = False
    """Something of it has no known price."""

    def since(self, before: Spent) -> Spent:
        """Return what was used besides what was used before."""
        return Spent(
            tokens=self.tokens - before.tokens,
            ai_credits=self.ai_credits - before.ai_credits,
            cost=self.cost - before.cost,
            unpriced=self.unpriced,
        )

    def beyond(self, counted: Spent) -> Spent:
        """Return what of it was not counted before; where more was counted, nothing."""
        rest = self.since(counted)
        return Spent(
            tokens=max(0, rest.tokens),
            ai_credits=max(0, rest.ai_credits),
            cost=max(0, rest.cost),
            unpriced=rest.unpriced,
        )

    def plus(self, other: Spent) -> Spent:
        """Return the sum of both."""
        return Spent(
            tokens=self.tokens + other.tokens,
            ai_credits=self.ai_credits + other.ai_credits,
            cost=self.cost + other.cost,
            unpriced=self.unpriced or other.unpriced,
        )


def add_costs(parts: Iterable[Cost | None]) -> Cost | None:
    """Return the sum. None where a part is not known, currencies differ, or there is no part."""
    found = list(parts)
    known = [part for part in found if part is not None]
    if len(known) < len(found) or len({part.currency for part in known}) != 1:
        return None
    return Cost(
        amount=round(sum(part.amount for part in known), 10),
        currency=known[0].currency,
        source="; ".join(dict.fromkeys(part.source for part in known)),
    )
