"""Words: names and messages are plain technical English, by the last table of docs/glossary.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import waza

SOURCE = Path(waza.__file__).parent
# Packages that were read for this. The aim is that the list can go.
CLEAN: tuple[str, ...] = (
    *("author", "cli", "dashboard", "engine", "evidence", "executors", "graders", "kit", "m365"),
    *("model", "preflight", "registry", "report", "results", "stores", "suite", "workspace"),
)
NOT_IN_NAMES = {
    "told", "said", "heard", "stands", "anew", "witness", "sitting", "sittings", "room", "rooms", "forsaken",
    "befalls", "whoever",
}  # fmt: skip
NOT_IN_TEXTS = re.compile(
    r"\b(told|heard|stands|stood|anew|(?-i:is none|are none)|forsaken|befalls?|befell|whoever|whosoever|(?:of )?one's own)\b",
    re.IGNORECASE,
)


def public_classes():
    homes = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path.relative_to(SOURCE).as_posix())
    return homes


def test_no_two_public_classes_have_one_name():
    assert {name: homes for name, homes in public_classes().items() if len(homes) > 1} == {}


def names_in(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


@pytest.mark.parametrize("package", CLEAN)
def test_names_and_texts_use_the_words_of_the_glossary(package):
    faults = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        place = path.relative_to(SOURCE).as_posix()
        for name in {*names_in(tree), path.stem}:
            words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)}
            faults += [f"{place}: {name}" for _ in words & NOT_IN_NAMES]
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                faults += [f"{place}:{node.lineno}: {word}" for word in NOT_IN_TEXTS.findall(node.value)]
    assert faults == []
