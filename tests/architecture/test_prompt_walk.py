"""docs/architecture.md: the functions on the way of a prompt exist under the names that it gives them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/architecture.md"


def test_the_functions_on_the_way_of_a_prompt_exist():
    section = PAGE.read_text(encoding="utf-8").split("## The way of a prompt")[1].split("\n## ")[0]
    planning = section.split("in `engine/`:")[1].split("\nResults:")[0]
    steps = re.findall(r"^\d+\. `([a-z_]+)\.([\w.]+)`", planning, re.MULTILINE)
    assert len(steps) > 20
    missing = []
    for module, name in steps:
        found: object = importlib.import_module(f"waza.engine.{module}")
        for part in name.split("."):
            found = getattr(found, part, None)
        if not callable(found):
            missing.append(f"{module}.{name}")
    assert missing == []
