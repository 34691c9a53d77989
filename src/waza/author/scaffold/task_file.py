"""Task files that are made of what was seen, with a comment that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from waza.author.scaffold.place import Place, schema_comment
from waza.kit import yaml


def as_task_file(keys: Mapping[str, Any], file: Path, place: Place, explanation: Sequence[str]) -> str:
    """Return a task file: the comment for editors, an explanation in lines, and its keys."""
    comments = "".join(f"# {line}\n" for line in explanation)
    return f"{schema_comment(file, place.root, 'task')}\n{comments}{yaml.dump(dict(keys))}"
