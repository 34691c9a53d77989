"""What usage of models costs: by the prices that a project names, else by those of public lists."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.kit import model_prices
from waza.kit.model_prices import TokenCounts
from waza.model.cost import Cost, ModelPriceKeys, PriceKeys, add_costs
from waza.model.loaded import Suite
from waza.model.observation import ModelUsage, Usage
from waza.suite.project import find_project

_MILLION = 1_000_000


class Prices(msgspec.Struct, frozen=True):
    """The prices that hold for a suite."""

    keys: PriceKeys = PriceKeys()
    lists: bool = True
    """Whether the prices of public lists count, which are in US dollars: not for scripted agents, which cost nothing."""

    @classmethod
    def of(cls, suite: Suite) -> Prices:
        """Return the prices of a suite that was loaded."""
        return cls(suite.prices, lists=not suite.capabilities.scripted)

    def know(self, model: str) -> bool:
        """Tell whether there is a price of a model."""
        return model in self.keys.models or (self._has_lists and model_prices.knows(model))

    def cost(self, usage: Usage, model: str) -> Cost | None:
        """Return what usage cost, by the models that it names, else by `model`.

        None where a price is not known, or no tokens are.
        """
        if not usage.tokens:
            return None
        parts: dict[str, Usage | ModelUsage] = {**usage.model_metrics} or {model: usage}
        return add_costs(self._cost(name, _counts(one)) for name, one in parts.items())

    @property
    def _has_lists(self) -> bool:
        return self.lists and self.keys.currency == model_prices.CURRENCY

    def _cost(self, model: str, counts: TokenCounts) -> Cost | None:
        own = self.keys.models.get(model)
        if own is not None:
            return Cost(amount=_amount(own, counts), currency=self.keys.currency, source=self.keys.source)
        amount = model_prices.price(model, counts) if self._has_lists else None
        if amount is None:
            return None
        return Cost(amount=amount, currency=model_prices.CURRENCY, source=model_prices.source())


def find_prices(suite: Path) -> PriceKeys:
    """Return the prices of the project that a suite's directory lies in, else of that around the current directory.

    Raises SuiteError for a broken `.waza.yaml`.
    """
    project = find_project(suite)
    if not project.found:
        project = find_project(Path.cwd())
    return project.keys.prices or PriceKeys()


def _counts(usage: Usage | ModelUsage) -> TokenCounts:
    return TokenCounts(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )


def _amount(price: ModelPriceKeys, counts: TokenCounts) -> float:
    """Return what tokens cost. What came from a cache, or went there, is among those that were read."""
    read, written = counts.cache_read_tokens, counts.cache_write_tokens
    cached = (price.input if price.cache_read is None else price.cache_read) * read
    cached += (price.input if price.cache_write is None else price.cache_write) * written
    plain = price.input * max(0, counts.input_tokens - read - written)
    return round((plain + cached + price.output * counts.output_tokens) / _MILLION, 10)
