"""Codes of problems: every one is explained, and made somewhere; none is made that is not."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import waza
from waza.problem import Code
from waza.problem_codes import EXPLANATIONS

SOURCE = Path(waza.__file__).parent
# They name codes, but make no problem.
TABLES = {"problem.py", "problem_codes.py", "preflight/diagnosis.py"}


def texts(tree):
    """Yield the texts of a module but its docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def trees():
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in TABLES:
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_every_code_is_explained_in_alphabetical_order():
    assert list(EXPLANATIONS) == sorted(get_args(Code))


def test_explanations_are_whole_sentences():
    for code, explanation in EXPLANATIONS.items():
        assert explanation.meaning.endswith("."), code
        assert explanation.remedy.endswith("."), code
        assert explanation.example.strip(), code


def test_every_code_is_used():
    used = {text for _, tree in trees() for text in texts(tree)}
    assert set(EXPLANATIONS) - used == set()


def test_problems_are_made_with_a_known_code():
    faults = []
    for name, tree in trees():
        for node in ast.walk(tree):
            given = [
                keyword.value
                for keyword in getattr(node, "keywords", ())
                if isinstance(node, ast.Call) and keyword.arg == "code"
            ]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Problem":
                faults += [f"{name}:{node.lineno}: no code"] * (not given)
                faults += [
                    f"{name}:{node.lineno}: {value.value!r}"
                    for value in given
                    if isinstance(value, ast.Constant) and value.value not in EXPLANATIONS
                ]
    assert faults == []
