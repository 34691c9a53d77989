"""Refs: `host/owner/repo[/path][#export]@version` names a grader in a git repository at a revision."""

from __future__ import annotations

import posixpath

import msgspec


class RefError(ValueError):
    """A text that is no ref: a sentence that says what is wrong."""


class Ref(msgspec.Struct, frozen=True):
    """A ref in its parts. `path` and `export` are empty when they are not given."""

    host: str
    owner: str
    repo: str
    path: str
    export: str
    version: str

    @property
    def module(self) -> str:
        """The repository."""
        return f"{self.host}/{self.owner}/{self.repo}"

    @property
    def url(self) -> str:
        """Where the repository is cloned from, unless its host is mapped."""
        return f"https://{self.module}.git"

    def __str__(self) -> str:
        path = f"/{self.path}" if self.path else ""
        export = f"#{self.export}" if self.export else ""
        return f"{self.module}{path}{export}@{self.version}"


def is_ref(text: str) -> bool:
    """Return whether a text is a ref, and not the name of something or a path."""
    try:
        parse_ref(text)
    except RefError:
        return False
    return True


def parse_ref(text: str) -> Ref:
    """Return the parts of a ref. Raises RefError.

    The first `@` ends the name, the first `#` before it the path. Host, owner and repository come first; the
    rest is a path without `..`.
    """
    text = text.strip()
    if not text:
        raise RefError("the ref is empty; write host/owner/repo#export@version")
    if "\\" in text:
        raise RefError("a ref is written with '/', not with a backslash")
    if not text.isprintable() or " " in text:
        raise RefError("a ref holds neither blanks nor characters that cannot be seen")
    name, at, version = text.partition("@")
    if not at or not version:
        raise RefError("the version is missing; end the ref with @ and a tag, branch or commit")
    if version.startswith("-"):
        raise RefError(f"{version!r} is not a valid version: git takes a leading '-' for an option")
    module, hash_sign, export = name.partition("#")
    if hash_sign and not export:
        raise RefError("the export is missing after '#'")
    host, owner, repo, path = _split_module(module)
    return Ref(host, owner, repo, path, export, version)


def _split_module(text: str) -> tuple[str, str, str, str]:
    parts = text.split("/")
    if len(parts) < 3:
        raise RefError(f"{text!r} names no repository; write host/owner/repo")
    for part, what in zip(parts, ("host", "owner", "repository"), strict=False):
        if part in ("", ".", "..") or ":" in part or part.startswith("-"):
            raise RefError(f"{part!r} is not a valid {what}")
    if ".." in parts[3:]:
        raise RefError("the path leaves the repository: '..' is not allowed")
    path = posixpath.normpath("/".join(parts[3:])) if parts[3:] else ""
    return parts[0], parts[1], parts[2], "" if path == "." else path.strip("/")
