"""Writing the description of a skill: the frontmatter is edited in place, and all else of the file stays as it is."""

from __future__ import annotations

import textwrap
from pathlib import Path

from waza.errors import WazaError
from waza.kit import frontmatter, yaml
from waza.kit.files import rewrite_file
from waza.kit.os_errors import describe_os_error
from waza.problem import display_path

_WIDTH = 98  # columns of a line, without its indentation
_KEY = "description"


class DescriptionError(WazaError):
    """The description of a file cannot be written."""


def write_description(path: Path, description: str) -> None:
    """Replace the description in a definition file. Raises DescriptionError, and WazaError for a file that cannot be written."""
    try:
        before = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise DescriptionError(f"cannot read {display_path(path)}: {reason}") from error
    try:
        after = replace_description(before, description)
    except DescriptionError as error:
        raise DescriptionError(f"{display_path(path)}: {error}") from error
    rewrite_file(path, after.encode())


def replace_description(text: str, description: str) -> str:
    """Return the text of a definition file with another description, which has no blanks around it.

    Raises DescriptionError for a file whose frontmatter cannot be read, or written in this way.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.removeprefix(mark).replace("\r\n", "\n").split("\n")
    keys = _read_keys("\n".join(lines))
    block = _block(description)
    if _KEY in keys:
        first, last = _find_lines(lines, keys)
        lines[first:last] = block
    else:
        first = keys.get("name", 1)
        lines[first:first] = block
    changed = "\n".join(lines)
    _check(text, changed, description)
    return mark + changed.replace("\n", end)


def _read_keys(text: str) -> dict[str, int]:
    """Return the line of each key of the frontmatter, from 1 on."""
    meta = _read_meta(text)
    if any(node.column != 1 for node in meta.keys.values()):
        raise DescriptionError("its frontmatter is written in braces; write the description yourself")
    return {key: node.line for key, node in meta.keys.items()}


def _read_meta(text: str) -> yaml.Mapping:
    try:
        meta = frontmatter.split(text).meta
    except yaml.YamlError as error:
        raise DescriptionError(f"its frontmatter cannot be read: {error.message}") from error
    if not isinstance(meta, yaml.Mapping):
        raise DescriptionError("it has no frontmatter; begin with '---', name: and description:")
    return meta


def _find_lines(lines: list[str], keys: dict[str, int]) -> tuple[int, int]:
    """Return the lines of the description, from the first up to that behind the last; comments behind it stay."""
    first = keys[_KEY] - 1
    later = [line - 1 for line in keys.values() if line - 1 > first]
    closing = next(number for number in range(first, len(lines)) if lines[number].startswith("---"))
    last = min([*later, closing])
    while last - 1 > first and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
        last -= 1
    return first, last


def _block(description: str) -> list[str]:
    """Return the key with a block: folded, or as it is where the text has lines of its own."""
    if "\n" in description:
        return [f"{_KEY}: |-", *(f"  {line}" if line else "" for line in description.split("\n"))]
    folded = textwrap.wrap(
        description, _WIDTH, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return [f"{_KEY}: >-", *(f"  {line}" for line in folded)]


def _check(before: str, after: str, description: str) -> None:
    """Raise DescriptionError unless the description alone has changed."""
    old, new = (yaml.to_plain(_read_meta(text)) for text in (before, after))
    if not (isinstance(old, dict) and isinstance(new, dict)) or new.get(_KEY) != description:
        raise DescriptionError("this description cannot be written into it; write it yourself")
    if {**old, _KEY: ""} != {**new, _KEY: ""}:
        raise DescriptionError("its other keys would change; write the description yourself")
