"""Counting the tokens of a text: exactly by the encoding o200k of OpenAI's models, or by an estimate.

The exact count needs the extra `tokens`. Other models cut texts in other ways, so that it is an approximation for them.
Every report says which of the two its counts are.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, Protocol

from waza.errors import UsageError
from waza.kit.text import replace_surrogates

if TYPE_CHECKING:
    import bpe_openai

Tokenizer = Literal["bpe", "estimate"]

ENCODING = "o200k_base"
_MODULE = "bpe_openai"
_CHUNK = 200_000  # characters that are encoded at once; the encoder refuses very long texts
_BYTES_PER_TOKEN = 4


class TokenCounter(Protocol):
    """Counts the tokens of texts. `name` says how, in reports."""

    @property
    def name(self) -> Tokenizer:
        """How it counts."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, whose line ends count as one character each."""
        ...


class EstimatedCounter:
    """Takes four bytes of UTF-8 for a token, rounded up."""

    name: Tokenizer = "estimate"

    def count(self, text: str) -> int:
        """Return the estimate."""
        return -(-len(_normalize(text).encode()) // _BYTES_PER_TOKEN)


class ExactCounter:
    """Counts by the byte pair encoding o200k."""

    name: Tokenizer = "bpe"

    def count(self, text: str) -> int:
        """Return the exact number of tokens; names of special tokens are text as well."""
        encoding = _load_encoding()
        return sum(len(encoding.encode_ordinary(chunk)) for chunk in _chunks(_normalize(text)))


def choose_counter(wanted: str = "") -> TokenCounter:
    """Return the counter of that name, or the best one there is. Raises UsageError where its extra is missing."""
    installed = find_spec(_MODULE) is not None
    if wanted == "bpe" and not installed:
        raise UsageError(
            "counting tokens exactly needs the extra 'tokens': pip install 'waza[tokens]'; or use an estimate"
        )
    return ExactCounter() if installed and wanted != "estimate" else EstimatedCounter()


@cache
def _load_encoding() -> bpe_openai.Encoding:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # it reads its tables by an older function of Python
        import bpe_openai  # it takes a third of a second to load

        return bpe_openai.get_encoding(ENCODING)


def _normalize(text: str) -> str:
    return replace_surrogates(text.replace("\r\n", "\n"))


def _chunks(text: str) -> Iterator[str]:
    """Yield the text in parts; they end behind a line end where one is near, so that few tokens are cut apart."""
    start = 0
    while start < len(text):
        end = start + _CHUNK
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        yield text[start:end]
        start = end
