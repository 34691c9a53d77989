"""The built pages: the files that the build of the front end made, which are all that is served besides the API."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
NO_PAGES = (
    "the pages of the dashboard are not there: run `make dashboard` in a checkout of waza (it needs Node), or install "
    "waza from a wheel, which has them"
)
NOT_BUILT = f"{NO_PAGES}; the HTTP API works without"
_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


class StaticFile(msgspec.Struct, frozen=True):
    """A file: its content and its type."""

    data: bytes
    type: str


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """The pages as text: all of them are one script and one style sheet."""

    script: str
    """A JavaScript module that needs no other one."""
    style: str
    """CSS that needs no other file."""


def read_bundle(folder: Path = FOLDER) -> Bundle | None:
    """Return the pages as text; None where they were not built."""
    script, style = folder / "assets" / "index.js", folder / "assets" / "index.css"
    if not (script.is_file() and style.is_file()):
        return None
    return Bundle(script=script.read_text(encoding="utf-8"), style=style.read_text(encoding="utf-8"))


def read_static_files(folder: Path = FOLDER) -> dict[str, StaticFile]:
    """Return the files by their paths, `/` included; none where they were not built."""
    found: dict[str, StaticFile] = {}
    if not (folder / INDEX).is_file():
        return found
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _TYPES:
            name = path.relative_to(folder).as_posix()
            found["/" + name] = StaticFile(path.read_bytes(), _TYPES[path.suffix])
    found["/"] = found["/" + INDEX]
    return found
