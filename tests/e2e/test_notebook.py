"""The notebook in examples runs from top to bottom; its cells are run as a notebook runs them, one after another."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.program import environment

EXAMPLES = Path(__file__).parents[2] / "examples"
# As a kernel does: the cells share their names and run while an event loop does, and the value of a last expression
# is shown, as HTML if it has it.
KERNEL = """
import ast, asyncio, json, sys
names = {}

async def run(source):
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)

for source in json.loads(sys.argv[1]):
    print(json.dumps(asyncio.run(run(source))))
"""


def test_the_notebook_runs(tmp_path: Path):
    for name in ("results-notebook", "code-explainer"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns(".waza"))
    (path,) = (tmp_path / "results-notebook").glob("*.ipynb")
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    done = subprocess.run(
        [sys.executable, "-c", KERNEL, json.dumps(cells)],
        cwd=path.parent,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(shown) == len(cells)
    assert "<table><tr><th>run</th>" in shown[0]
    assert "('explain-python', 1, 'passed'" in shown[1]
    assert "'explain-sql': 1" in shown[2]
    assert shown[3] == "Counter()"
    assert notebook["nbformat"] == 4
    assert all(cell["outputs"] == [] for cell in notebook["cells"] if cell["cell_type"] == "code")
