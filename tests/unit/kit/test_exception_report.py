"""What is told of exceptions of other people's code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests.support.program import write_tree

from waza.kit.exception_report import MAX_TRACEBACK, ExceptionReport, describe_exception
from waza.kit.text import replace_surrogates


def raised(path: Path, folder: Path | None = None) -> ExceptionReport:
    """The fault of a module that cannot be imported."""
    spec = importlib.util.spec_from_file_location("theirs", path)
    assert spec
    assert spec.loader
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except Exception as error:  # noqa: BLE001 - whatever it raises is looked at
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this function
        return describe_exception(error, str(folder) if folder else "")
    raise AssertionError("it was imported")


def test_the_last_line_of_theirs_is_the_place(tmp_path: Path):
    write_tree(tmp_path, {"a.py": "def go():\n    return 1 / 0\n\ngo()\n"})
    fault = raised(tmp_path / "a.py")
    assert fault.place
    assert fault.place[:4] == (str(tmp_path / "a.py"), 2, 12, "return 1 / 0")
    assert fault.text == f"ZeroDivisionError: division by zero ({tmp_path / 'a.py'}:2, in go: return 1 / 0)"
    assert "importlib" not in fault.traceback
    assert fault.traceback.endswith("ZeroDivisionError: division by zero\n")


def test_a_line_of_their_folder_is_preferred(tmp_path: Path):
    theirs = (
        "import importlib.util\nspec = importlib.util.spec_from_file_location('b', __file__[:-9] + 'b.py')\n"
        "spec.loader.exec_module(importlib.util.module_from_spec(spec))\n"
    )
    write_tree(tmp_path, {"mine/a.py": theirs, "b.py": "1 / 0\n"})
    assert str(tmp_path / "b.py") in (fault := raised(tmp_path / "mine" / "a.py")).text
    own = raised(tmp_path / "mine" / "a.py", tmp_path / "mine").place
    assert own
    assert (Path(own.file).name, own.line) == ("a.py", 3)
    assert "1 / 0" in fault.traceback


def test_a_line_of_theirs_is_preferred_to_one_of_the_standard_library(tmp_path: Path):
    write_tree(tmp_path, {"a.py": "import json\n\njson.loads('{')\n"})
    fault = raised(tmp_path / "a.py")
    assert fault.place
    assert fault.place[:2] == (str(tmp_path / "a.py"), 3)
    assert "decoder.py" in fault.traceback


def test_a_mistake_of_syntax_is_where_it_is(tmp_path: Path):
    write_tree(tmp_path, {"a.py": "x = 1\ny = (\n"})
    fault = raised(tmp_path / "a.py")
    assert fault.place
    assert fault.place[:4] == (str(tmp_path / "a.py"), 2, 5, "y = (")
    assert fault.text.endswith(f"({tmp_path / 'a.py'}:2: y = ()")


def test_our_frames_are_left_out_wherever_they_are(tmp_path: Path):
    write_tree(tmp_path, {"a.py": "from waza.kit.text import replace_surrogates\nreplace_surrogates(3)\n"})
    fault = raised(tmp_path / "a.py")
    assert fault.place
    assert (Path(fault.place.file).name, fault.place.code) == ("a.py", "replace_surrogates(3)")
    assert "kit/text.py" not in fault.traceback.replace("\\", "/")


def test_a_mistake_of_ours_has_no_place_but_says_its_line():
    try:
        replace_surrogates(3)  # type: ignore[arg-type]  # this is the mistake
    except Exception as error:  # noqa: BLE001 - as above
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        fault = describe_exception(error)
    assert fault.place is None
    assert "text.py:" in fault.text


def test_long_tracebacks_keep_their_end(tmp_path: Path):
    write_tree(tmp_path, {"a.py": f"raise ValueError('x' * {MAX_TRACEBACK} + 'end')\n"})
    found = raised(tmp_path / "a.py").traceback
    assert (len(found), found[-4:]) == (MAX_TRACEBACK, "end\n")
