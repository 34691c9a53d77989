"""`waza update`, in the environment of the tests, where waza is a checkout."""

from __future__ import annotations

import shlex
from pathlib import Path

from tests.support.program import waza

from waza.version import __version__


def test_the_command_is_printed_and_nothing_else_is_done(tmp_path: Path):
    for words in (("update",), ("update", "-y")):
        ended = waza(*words, cwd=tmp_path)
        assert (ended.code, ended.err) == (0, f"waza {__version__} is updated with:\n")
        assert shlex.split(ended.out) == ["git", "-C", str(Path(__file__).parents[2]), "pull"]
