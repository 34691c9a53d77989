"""Task files that are made of what was seen, with a comment that says so."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from waza.author.scaffold.place import Place, schema_comment
from waza.kit import yaml
from waza.kit.glob import matches
from waza.suite.loading import Loading


def as_task_file(keys: Mapping[str, Any], file: Path, place: Place, explanation: Sequence[str]) -> str:
    """Return a task file: the comment for editors, an explanation in lines, and its keys."""
    comments = "".join(f"# {line}\n" for line in explanation)
    return f"{schema_comment(file, place.root, 'task')}\n{comments}{yaml.dump(dict(keys))}"


def is_task_of(file: Path, loading: Loading) -> bool:
    """Return whether a file is one of the suite's task files, by the suite's patterns."""
    if loading.file.tasks_from:
        return False
    relative = Path(os.path.relpath(file, loading.directory)).as_posix()
    patterns = (pattern.replace("\\", "/").removeprefix("./") for pattern in loading.file.tasks)
    return any(
        len(pattern.split("/")) == len(relative.split("/"))
        and all(map(matches, pattern.split("/"), relative.split("/")))
        for pattern in patterns
    )
