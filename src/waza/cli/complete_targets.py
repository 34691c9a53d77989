"""What shells complete where skills, agents or suites are named."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from click.shell_completion import CompletionItem

from waza.cli.find_targets import find_around
from waza.errors import WazaError
from waza.suite.locate import SuiteLocator
from waza.suite.project import find_project

_PLAIN = re.compile(r"[\w@%+:][\w@%+:.-]*")  # names that no shell reads as anything else


def list_targets(incomplete: str) -> list[CompletionItem[str]]:
    """Return the names that begin so, and that files are meant as well. Whatever is wrong around here gives no names."""
    names: set[str] = set()
    with suppress(WazaError, OSError):
        project = find_project(Path.cwd())
        names = {found.name for found in find_around(project)}
        names |= {path.parent.name for path in SuiteLocator(project).all()}
    fitting = sorted(name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))
    return [CompletionItem(incomplete, type="file"), *map(CompletionItem, fitting)]
