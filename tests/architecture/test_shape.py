"""The shape of the project: tables match folders, the public names exist, one place prints."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import waza
from waza.executors import TYPES as EXECUTORS
from waza.graders import TYPES as GRADERS
from waza.graders.base import Grader
from waza.plugins import load_class

SOURCE = Path(waza.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
NOT_A_TYPE = {"__init__", "base", "argument"}


def modules_of(package: str) -> set[str]:
    names = {path.stem for path in (SOURCE / package).glob("*.py")}
    return {name for name in names if not name.startswith("_") and name not in NOT_A_TYPE}


def test_every_grader_has_a_file_and_every_file_a_grader():
    homes = [place.split(":")[0].rsplit(".", 1) for place in GRADERS.values()]
    assert {name for package, name in homes if package == "waza.graders"} == modules_of("graders")


def test_every_executor_has_a_file_and_every_file_an_executor():
    homes = {place.split(":")[0].rsplit(".", 1)[1] for place in EXECUTORS.values()}
    parts = {name for name in modules_of("executors") if name.rsplit("_", 1)[0] in homes}
    assert homes == modules_of("executors") - (parts - homes)


@pytest.mark.parametrize("name", GRADERS)
def test_a_grader_is_a_documented_struct(name):
    kind = load_class("waza.graders", name)
    assert kind is not None
    assert issubclass(kind, Grader)
    assert kind.__doc__
    assert kind.grade is not Grader.grade


def test_public_names_exist():
    assert sorted(waza.__all__) == waza.__all__
    for name in waza.__all__:
        assert getattr(waza, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        waza.nothing  # noqa: B018  # the access is the test


# Where standard streams are written to: at the seam, by the bar of a terminal, and with constant texts.
PRINTERS = {
    "__main__.py", "cli/app.py", "cli/schema.py", "cli/streams.py", "engine/cancellation.py",
    "report/on_terminal.py", "report/progress.py",
}  # fmt: skip
PRINTING = {"print", "make_printer", "print_exc", "echo", "secho", "StreamHandler"}
WRITING = {
    f"sys.{stream}.{method}"
    for stream in ("stdout", "stderr")
    for method in ("write", "writelines", "buffer.write", "buffer.writelines")
}


def test_only_the_seam_prints():
    """Whatever else prints would have to remember that texts from elsewhere steer terminals and CI servers."""
    found = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in WRITING or called.rpartition(".")[2] in PRINTING:
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == PRINTERS


def test_no_drawer_for_leftovers():
    stems = {path.stem for path in FILES} | {path.name for path in SOURCE.rglob("*") if path.is_dir()}
    assert not stems & {"utils", "util", "core", "common", "manager", "helpers", "misc"}
