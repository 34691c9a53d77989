"""docs/architecture.md: the functions on the way of a prompt exist under the names that it gives them."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/architecture.md"
# A function at the beginning of a step or in brackets, by a module of `waza.engine` or below `waza`.
FUNCTION = re.compile(r"(?:^\d+\. |\()`([a-z_.]+)\.((?:_?[A-Z]\w+\.)?[a-z_]+)`", re.MULTILINE)


def exists(module: str, name: str) -> bool:
    homes = [home for home in (f"waza.engine.{module}", f"waza.{module}") if is_module(home)]
    found: object = importlib.import_module(homes[0]) if homes else None
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_functions_on_the_way_of_a_prompt_exist():
    section = PAGE.read_text(encoding="utf-8").split("## The way of a prompt")[1].split("\n## ")[0]
    functions = FUNCTION.findall(section)
    assert len(functions) > 45
    assert [f"{module}.{name}" for module, name in functions if not exists(module, name)] == []
