"""The prices of models in public lists, by the package genai-prices (the extra `prices`)."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec

import msgspec

CURRENCY = "USD"


class TokenCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one model. What came from a cache, or went there, is among those that were read."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@lru_cache(maxsize=1)
def are_installed() -> bool:
    """Tell whether the package is there."""
    return find_spec("genai_prices") is not None


@lru_cache(maxsize=1)
def source() -> str:
    """Return what results call these prices."""
    from importlib.metadata import version  # slow, and most runs do without

    return f"list prices of genai-prices {version('genai-prices')}"


@lru_cache(maxsize=256)
def knows(model: str) -> bool:
    """Tell whether the package knows the price of a model."""
    return price(model, TokenCounts(input_tokens=1, output_tokens=1)) is not None


def price(model: str, counts: TokenCounts) -> float | None:
    """Return what tokens of a model cost in CURRENCY; None where its price is not known. Nothing is fetched."""
    if not model or not are_installed():
        return None
    from genai_prices import Usage, calc_price  # it takes its time, and many runs do without

    usage = msgspec.structs.asdict(counts)
    usage["input_tokens"] = max(counts.input_tokens, counts.cache_read_tokens + counts.cache_write_tokens)
    try:
        return float(calc_price(Usage(**usage), model).total_price)
    except LookupError:
        return None
