"""The reference in docs/ is what scripts/reference.py writes, and has every environment variable of the program."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import waza

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "reference"


def test_the_reference_is_that_of_the_code():
    script = ROOT / "scripts" / "reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_types_of_the_front_end_are_those_of_the_answers_of_the_api():
    script = ROOT / "scripts" / "api_types.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_reference_has_every_variable_of_the_program():
    used = set()
    for path in Path(waza.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used |= {node.value} if re.fullmatch("WAZA_[A-Z_]+", node.value) else set()
    listed = set(re.findall(r"^\| `(WAZA_[A-Z_]+)`", (PAGES / "environment.md").read_text(), re.MULTILINE))
    assert listed == used


def test_the_reference_has_everything_that_can_be_imported():
    listed = re.findall(
        r"^### `([A-Za-z_]+)", (PAGES / "python.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(listed) == sorted({*waza.__all__} - {"__version__"})
