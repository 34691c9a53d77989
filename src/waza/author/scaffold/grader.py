"""New graders: a module that is ready for a registry."""

from __future__ import annotations

import os
from pathlib import Path

from waza.author.scaffold.names import check_grader_name
from waza.author.scaffold.new_files import NewFiles
from waza.author.scaffold.template import fill_folder
from waza.errors import UsageError

_EVERY = "module"  # what is in every module, whatever its language


def create_grader(name: str, language: str, parent: Path) -> Path:
    """Write the module of a new grader into the new directory `parent/name`; return that.

    `language` is `python`, `node` or `rust`. Raises UsageError for a name that is not valid, and for one that is
    taken; nothing is left then.
    """
    target = parent / check_grader_name(name)
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already; choose another name, or another --dir")
    files = NewFiles()
    for folder in (_EVERY, language):
        for place, text in fill_folder(f"grader/{folder}", {"name": name}):
            files.add(target.absolute() / place, text)
    files.write()
    return target
