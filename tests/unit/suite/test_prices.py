"""What usage costs: by the project's prices, else by public lists."""

from __future__ import annotations

import msgspec
import pytest

from waza.model.cost import Cost, ModelPriceKeys, PriceKeys, add_costs
from waza.model.observation import ModelUsage, Usage
from waza.suite.prices import Prices

OWN = PriceKeys(
    source="contract", models={"m": ModelPriceKeys(input=2, output=10, cache_read=0.5, cache_write=4)}
)
USED = Usage(
    turns=1,
    input_tokens=1_000_000,
    output_tokens=100_000,
    cache_read_tokens=400_000,
    cache_write_tokens=100_000,
    premium_requests=0,
)


def by_model(**tokens: int) -> Usage:
    metrics = {
        name: ModelUsage(
            input_tokens=count,
            output_tokens=0,
            cache_read_tokens=0,
            cache_write_tokens=0,
            request_count=1,
            request_cost=0,
        )
        for name, count in tokens.items()
    }
    return msgspec.structs.replace(USED, model_metrics=metrics)


def test_tokens_of_the_cache_are_among_those_that_were_read():
    assert Prices(OWN).cost(USED, "m") == Cost(amount=1 + 0.2 + 0.4 + 1, currency="USD", source="contract")


def test_cached_tokens_cost_what_others_do_where_no_price_of_the_cache_is_named():
    plain = PriceKeys(models={"m": ModelPriceKeys(input=2, output=10)})
    found = Prices(plain).cost(USED, "m")
    assert found == Cost(amount=3, currency="USD", source=".waza.yaml")


def test_models_that_usage_names_are_priced_each_and_one_without_a_price_leaves_the_sum_unknown():
    two = PriceKeys(
        models={name: ModelPriceKeys(input=price, output=1) for name, price in (("m", 2), ("n", 4))}
    )
    found = Prices(two).cost(by_model(m=1_000_000, n=500_000), "other")
    assert found is not None
    assert found.amount == 4
    assert Prices(OWN).cost(by_model(m=1_000_000, n=500_000), "m") is None


def test_tokens_that_are_not_known_cost_nothing_that_is_known():
    assert Prices(OWN).cost(msgspec.structs.replace(USED, input_tokens=0, output_tokens=0), "m") is None


@pytest.mark.parametrize(("model", "known"), [("gpt-4o", True), ("no-such-model", False)])
def test_public_lists_know_public_models(model: str, known: bool):
    prices = Prices(OWN)
    found = prices.cost(USED, model)
    assert prices.know(model) is (found is not None) is known
    if found is not None:
        assert found.amount > 0
        assert found.currency == "USD"
        assert found.source.startswith("list prices of genai-prices ")


def test_public_lists_say_nothing_of_scripts_and_of_other_currencies():
    assert Prices(OWN, lists=False).cost(USED, "gpt-4o") is None
    assert not Prices(PriceKeys(currency="EUR")).know("gpt-4o")


def test_sums_need_every_part_and_one_currency():
    dollars = Cost(amount=0.1, currency="USD", source="a")
    assert add_costs([dollars, msgspec.structs.replace(dollars, amount=0.2, source="b")]) == Cost(
        amount=0.3, currency="USD", source="a; b"
    )
    assert add_costs([dollars, None]) is None
    assert add_costs([dollars, msgspec.structs.replace(dollars, currency="EUR")]) is None
    assert add_costs([]) is None
