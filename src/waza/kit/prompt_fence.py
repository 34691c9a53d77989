"""Text from elsewhere in prompts: titled sections between lines of backticks that no text can close."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RUN = re.compile("`+")


def fence_sections(material: Sequence[tuple[str, str]]) -> tuple[str, list[str]]:
    """Return the line of backticks, longer than any in the texts, and a section for each title and text."""
    runs = (len(run) for _, text in material for run in _RUN.findall(text))
    fence = "`" * max(3, 1 + max(runs, default=0))
    return fence, [f"## {title}\n\n{fence}\n{text}\n{fence}" for title, text in material]
