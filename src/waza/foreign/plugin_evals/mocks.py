"""Mocked MCP servers of cases: `mocks/<server>/<tool>.md`, as far as their answers are fixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from waza.foreign.notes import Notes
from waza.foreign.plugin_evals.cases import Case
from waza.foreign.source import SourceFolder

_FOLDER = "mocks"


class _MockKeys(msgspec.Struct, kw_only=True):
    """The frontmatter of a mocked tool."""

    type: str = "fixed"
    expect: Any = None
    error: bool = False
    abort_when: Any = None


def read_mocks(source: SourceFolder, case: Case, notes: Notes) -> list[dict[str, Any]]:
    """Return the mocks of a case: those of all cases, of which its own take the place file by file."""
    files = {**_list(source, _FOLDER), **_list(source, case.path(_FOLDER))}
    servers: dict[str, dict[str, Any]] = {}
    for (server, file), relative in sorted(files.items()):
        made = _response(source, relative, notes)
        if made is not None:
            servers.setdefault(server, {})[Path(file).stem] = {"responses": [made]}
    return [{"name": server, "tools": tools} for server, tools in servers.items()]


def _list(source: SourceFolder, folder: str) -> dict[tuple[str, str], str]:
    """Return the files of a folder of mocks, by server and name."""
    root = source.root / folder
    if not root.is_dir():
        return {}
    found = {}
    for file in source.list_files(folder):
        path = Path(file).relative_to(folder)
        if len(path.parts) == 2:
            found[path.parts[0], path.name] = file
    return found


def _response(source: SourceFolder, relative: str, notes: Notes) -> dict[str, Any] | None:
    """Return the answer of a mocked tool; None with a note where it is not fixed."""
    name, what = source.name(relative), f"mock {Path(relative).parent.name}/{Path(relative).stem}"
    if Path(relative).suffix != ".md" or Path(relative).name.startswith("_"):
        notes.add(name, what, "has no equal here, so the server lacks it", unchecked=True)
        return None
    read = source.read_markdown(relative)
    if read is None:
        return None
    document, body = read
    keys, unknown = source.decode(document, _MockKeys, strict=False)
    if keys is None:
        return None
    fixed = keys.type == "fixed" and "{{" not in body and keys.expect is None and keys.abort_when is None
    if not fixed or unknown:
        notes.add(name, what, "its answer is not fixed, so the server lacks the tool", unchecked=True)
        return None
    text = body.strip()
    if keys.error:
        return {"error": text}
    try:
        return {"return": msgspec.json.decode(text)}
    except (msgspec.DecodeError, RecursionError):
        notes.add(name, what, "its answer is handed over as a JSON text, in quotes")
        return {"return": text}
