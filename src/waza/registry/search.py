"""Searching the index files of the configured registries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

import msgspec

from waza.kit import yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice
from waza.model.loaded import RegistrySource
from waza.registry.scalar import format_scalar

LIMIT = 15.0  # seconds for one registry
MAX_INDEX = 20 * 1024 * 1024
NAMES = ("index.json", "index.yaml")
DEFAULT = RegistrySource(name="public", url="https://github.com/waza-evals")


class IndexEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a registry says of one thing that it offers."""

    ref: str
    kind: str = "grader"
    name: str = ""
    summary: str = ""
    tags: list[str] = []
    package: str = ""
    version: str = ""
    updated_at: str = ""
    stars: int = 0


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """An index file."""

    entries: list[IndexEntry] = []


class IndexHit(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was found."""

    ref: str
    kind: str
    description: str
    stars: int
    registry: str


def search(
    text: str, sources: Sequence[RegistrySource], base: Path, kind: str = ""
) -> tuple[list[IndexHit], list[str]]:
    """Return what fits a text in name, summary, tags or ref, and why registries could not be asked.

    Sources of a lower priority number come first; what two of them offer is listed once. Relative paths of
    sources start from `base`.
    """
    hits: dict[str, IndexHit] = {}
    failures: list[str] = []
    words = text.lower().split()
    for source in sorted(sources, key=lambda source: source.priority):
        try:
            entries = _read_index(source.url, base).entries
        except (OSError, ValueError, HTTPException, RecursionError) as error:
            failures.append(f"{source.name} ({source.url}): {error}")
            continue
        for entry in entries:
            if kind in ("", entry.kind) and all(word in _join_text(entry) for word in words):
                hits.setdefault(entry.ref, _make_hit(entry, source))
    return list(hits.values()), failures


def _make_hit(entry: IndexEntry, source: RegistrySource) -> IndexHit:
    return IndexHit(
        ref=entry.ref,
        kind=entry.kind,
        description=entry.summary or entry.name,
        stars=entry.stars,
        registry=source.name,
    )


def _join_text(entry: IndexEntry) -> str:
    return " ".join([entry.ref, entry.name, entry.summary, *entry.tags]).lower()


def _read_index(url: str, base: Path) -> Index:
    """Return the index at an address: a file, a directory or a web address, itself or with `index.json` in it."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        address = url if url.endswith((".json", ".yaml", ".yml")) else f"{url.rstrip('/')}/{NAMES[0]}"
        with urlopen(Request(address), timeout=LIMIT) as answer:  # noqa: S310  # http and https only, checked above
            return _read(answer.read(MAX_INDEX + 1))
    path = Path(url2pathname(parts.path)) if parts.scheme == "file" else base / Path(url).expanduser()
    if path.is_dir():
        path = next((path / name for name in NAMES if (path / name).is_file()), path / NAMES[0])
    with path.open("rb") as stream:
        return _read(stream.read(MAX_INDEX + 1))


def _read(data: bytes) -> Index:
    """Return an index out of JSON or YAML. Raises ValueError."""
    if len(data) > MAX_INDEX:
        raise ValueError(f"the index is larger than {MAX_INDEX // 2**20} MB")
    if data.lstrip().startswith(b"{"):
        data = format_scalar(json.loads(data)).encode()  # YAML knows no pairs of surrogates
    decoder = Decoder(
        Document("index", yaml.load(data)), lambda _struct, _key, _path: UnknownKeyAdvice("warning", "")
    )
    index = decoder.read(Index)
    errors = [str(problem) for problem in decoder.problems if problem.severity == "error"]
    if index is None or errors:
        raise ValueError(errors[0] if errors else "the index is empty")
    return index
