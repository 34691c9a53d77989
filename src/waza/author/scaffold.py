"""New graders: a module that is ready for a registry, written from the templates beside this file."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from waza.errors import UsageError

TEMPLATES = Path(__file__).parent / "templates" / "grader"
LANGUAGES = ("python", "node", "rust")
_EVERY = "module"  # what is in every module, whatever its language
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_PLACEHOLDER = "@name@"  # in the names of files and in their texts
_ENDING = ".tmpl"  # keeps tools from taking a template for what it becomes
_PROGRAM = b"#!"


def create_grader(name: str, language: str, parent: Path) -> Path:
    """Write the module of a new grader into the new directory `parent/name`; return that.

    `language` is one of LANGUAGES. Raises UsageError for a name that is not valid, and for one that is taken;
    nothing is left then.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name for a grader; use at most 64 letters, digits, '-' and '_'"
        )
    target = parent / name
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} is there already; choose another name, or another --dir")
    target.mkdir(parents=True)
    try:
        for source in (TEMPLATES / _EVERY, TEMPLATES / language):
            for template in sorted(source.rglob(f"*{_ENDING}")):
                place = template.relative_to(source).as_posix().removesuffix(_ENDING)
                _write(target / place.replace(_PLACEHOLDER, name), template, name)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def _write(path: Path, template: Path, name: str) -> None:
    """Write a file of the module; what starts with `#!` is made executable."""
    content = template.read_bytes().replace(_PLACEHOLDER.encode(), name.encode())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if content.startswith(_PROGRAM):
        path.chmod(0o755)
