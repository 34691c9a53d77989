"""The plugin that cases are run with: its name, its skills, and what else it brings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.foreign.notes import Notes
from waza.foreign.source import SourceFolder
from waza.kit import yaml
from waza.kit.files import is_inside
from waza.suite.discover import iter_targets

MANIFESTS = ("plugin.json", ".claude-plugin/plugin.json")
_LEVELS = 8
_PARTS = {
    "hooks": ("hooks", "hooks"),
    "agents": ("agents", "agents"),
    "commands": ("commands", "commands"),
    "MCP servers": (".mcp.json", "mcpServers"),
    "language servers": (".lsp.json", "lspServers"),
    "output styles": ("output-styles", "outputStyles"),
}
"""Parts that have no equal here: the file or folder, and the key of the manifest, that brings each."""


class Plugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin. `skills` are the names of its skills, `folders` where they are; `others` what has no equal here."""

    directory: Path
    name: str
    folders: tuple[Path, ...] = ()
    skills: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    evals: str = "evals"


class _Experimental(msgspec.Struct):
    evals: str = "evals"


class _Manifest(msgspec.Struct):
    name: str = ""
    skills: str | list[str] = []
    experimental: _Experimental = msgspec.field(default_factory=_Experimental)


def read_plugin(directory: Path) -> Plugin | None:
    """Return the plugin in a directory, None where there is none. Raises SuiteError for a manifest with mistakes."""
    path = next((directory / name for name in MANIFESTS if (directory / name).is_file()), None)
    if path is None:
        return None
    source = SourceFolder(path.parent)
    document = source.read_json(path.name)
    manifest = source.decode(document, _Manifest, strict=False)[0] if document else None
    if document is None or manifest is None:
        raise SuiteError(source.problems)
    keys = yaml.to_plain(document.root)
    more = [manifest.skills] if isinstance(manifest.skills, str) else manifest.skills
    for name in more:
        if not ((directory / name).is_dir() and is_inside(directory, directory / name)):
            source.error("missing-file", path.name, f"there is no folder {name!r} of skills in the plugin")
    source.raise_errors()
    folders = dict.fromkeys(directory / name for name in ("skills", *more))
    kept = tuple(one for one in folders if one.is_dir())
    others = (part for part, (name, key) in _PARTS.items() if (directory / name).exists() or key in keys)  # type: ignore[operator]  # it was read as a mapping
    return Plugin(
        directory=directory,
        name=manifest.name or directory.resolve().name,
        folders=kept,
        skills=tuple(dict.fromkeys(target.name for target in iter_targets(kept))),
        others=tuple(others),
        evals=manifest.experimental.evals,
    )


def enclosing_plugin(start: Path) -> Plugin | None:
    """Return the nearest plugin that a directory is in, a few levels above at most."""
    around = (start, *start.parents)[: _LEVELS + 1]
    return next((found for one in around if (found := read_plugin(one)) is not None), None)


def note_parts(plugins: tuple[Plugin, ...], notes: Notes, file: str) -> None:
    """Note what plugins bring that is not there when the suite runs."""
    for plugin in plugins:
        for part in plugin.others:
            notes.add(
                file, f"plugin {plugin.name}", f"its {part} are not there when the suite runs", unchecked=True
            )
