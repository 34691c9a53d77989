"""The schemas in `.waza/schemas` of a project, which the comments of new files name for editors."""

from __future__ import annotations

from pathlib import Path

from waza.cli.streams import print_notice
from waza.errors import WazaError
from waza.kit.files import write_atomic
from waza.kit.git import ignore_in_git
from waza.kit.indented_json import indented_json
from waza.schemas import schema_of

_KINDS = ("suite", "task", "trigger-tests", "config")


def write_schemas(root: Path) -> None:
    """Write the schemas of this version of waza where they are missing or differ; what cannot be written is reported."""
    try:
        _write(root)
    except (OSError, WazaError) as error:
        print_notice(f"note: editors find no schemas: {error}")


def _write(root: Path) -> None:
    for kind in _KINDS:
        path = root / ".waza" / "schemas" / f"{kind}.schema.json"
        content = indented_json(schema_of(kind))
        if not path.is_file() or path.read_bytes() != content:
            write_atomic(path, content)
    ignore_in_git(root / ".waza")
