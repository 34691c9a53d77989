"""The built pages: the files that the build of the front end made, which are all that is served besides the API."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "static"
INDEX = "index.html"
NOT_BUILT = (
    "the pages of the dashboard are not there: run `make dashboard` in a checkout of waza (it needs Node), or install "
    "waza from a wheel, which has them; the HTTP API works without"
)
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
    """A file: its content, its type, and whether its name has a digest, so that it never changes."""

    data: bytes
    type: str
    final: bool


def read_static_files(folder: Path = FOLDER) -> dict[str, StaticFile]:
    """Return the files by their paths, `/` included; none where they were not built."""
    found: dict[str, StaticFile] = {}
    if not (folder / INDEX).is_file():
        return found
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in _TYPES:
            name = path.relative_to(folder).as_posix()
            found["/" + name] = StaticFile(path.read_bytes(), _TYPES[path.suffix], name.startswith("assets/"))
    found["/"] = found["/" + INDEX]
    return found
