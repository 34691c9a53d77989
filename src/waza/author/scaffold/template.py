"""Templates of new files: texts beside this file in which `@name@` is replaced by a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent

TEMPLATES = Path(__file__).parent / "templates"
ENDING = ".tmpl"  # keeps tools from taking a template for what it becomes

_NAME = re.compile(r"^([ ]*)@([a-z_]+)@\n|@([a-z_]+)@", re.MULTILINE)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return a template with its values. KeyError: it has a name that has none.

    A line that is nothing but a name becomes all lines of the value, indented as the name is; without any it goes.
    What looks like a name in a value is left as it is.
    """

    def fill_name(match: re.Match[str]) -> str:
        if match[3]:
            return values[match[3]]
        value = values[match[2]].rstrip("\n")
        return indent(value, match[1]) + "\n" if value else ""

    return _NAME.sub(fill_name, text)


def fill_file(name: str, values: Mapping[str, str]) -> str:
    """Return the filled template of a name, a path below the templates without its ending."""
    return fill((TEMPLATES / f"{name}{ENDING}").read_text(encoding="utf-8"), values)


def fill_folder(name: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield all files of a folder of templates: their paths in it, in which names are replaced too, and texts."""
    folder = TEMPLATES / name
    for template in sorted(folder.rglob(f"*{ENDING}")):
        place = template.relative_to(folder).as_posix().removesuffix(ENDING)
        yield fill(place, values), fill(template.read_text(encoding="utf-8"), values)
