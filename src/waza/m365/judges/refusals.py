"""Parameters that a model refuses: reasoning models take no sampling, and call the limit of tokens otherwise.

The name of a deployment need not say which model it is, so a model that refuses a parameter is asked again without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

MAX_REASONING_TOKENS = 8000  # what a model thinks counts, too

_CODES = ("unsupported_parameter", "unsupported_value")
_LIMIT, _OTHER_LIMIT = "max_tokens", "max_completion_tokens"
_NEEDED = ("model", "messages", "prompt")
_REASONING = re.compile(r"(?:.*/)?(?:o[134](?:-.*)?|gpt-5.*)", re.IGNORECASE)
_QUOTED = re.compile(r"'([a-z_]+)'")


def is_reasoning(model: str) -> bool:
    """Tell whether a model is a reasoning one by its name."""
    return _REASONING.fullmatch(model) is not None


class Refusals:
    """What one model refused so far."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def fit(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a question without what was refused; a limit of tokens gets its other name.

        Under that name what the model thinks counts as well, so that the limit is at least 8000.
        """
        fit = {name: value for name, value in body.items() if name not in self._names}
        if _LIMIT in body and _LIMIT in self._names and _OTHER_LIMIT not in self._names:
            fit.setdefault(_OTHER_LIMIT, max(body[_LIMIT], MAX_REASONING_TOKENS))
        return fit

    def learn(self, body: Mapping[str, Any], answer: bytes) -> str:
        """Return the parameter of a body that an answer of failure refuses, which is left out from now on.

        Empty if it refuses none, or one that is required.
        """
        name = _refused_parameter(answer)
        if name not in body or name in _NEEDED:
            return ""
        self._names.add(name)
        return name


def _refused_parameter(answer: bytes) -> str:
    try:
        error = json.loads(answer)["error"]
        if error.get("code") not in _CODES:
            return ""
        quoted = _QUOTED.search(str(error.get("message")))
        return str(error.get("param") or (quoted[1] if quoted else ""))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""
