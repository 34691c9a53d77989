"""`storage` of `.waza.yaml`: whether the keys are those of the provider."""

from __future__ import annotations

import os
import re

from waza import plugins
from waza.kit.decode import Decoder, Document
from waza.model.loaded import STORAGE_KEYS, StorageKeys, StorageKeysOf
from waza.problem import Code
from waza.suite.read import at, child

CONNECTION_STRING = "AZURE_STORAGE_CONNECTION_STRING"
_SECTION = "storage"
_OFF = "enabled: false switches the section off"
_OF_PACKAGES = StorageKeysOf(optional=("options",))
_ALWAYS = ("provider", "enabled")
_SHAPES = {
    "accountName": (re.compile(r"[a-z0-9]{3,24}"), "3 to 24 lower-case letters and digits"),
    "containerName": (
        re.compile(r"(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*"),
        "3 to 63 lower-case letters, digits and single hyphens",
    ),
    "endpoint": (
        re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?"),
        "one such as https://host, without password and query",
    ),
}
"""What values look like, so that a mistake is found before a run and not after it."""


def check_storage(document: Document, decoder: Decoder, keys: StorageKeys) -> None:
    """Report to the decoder what keeps results from being uploaded, with its place."""
    if not keys.provider:
        message = "results are not uploaded: 'provider' is missing"
        place = at(document, _SECTION)
        decoder.problems.append(
            document.problem("no-effect", place, (_SECTION,), message, _OFF, severity="warning")
        )
        return
    check = _Check(document, decoder)
    known = STORAGE_KEYS.get(keys.provider)
    if known is None and keys.provider not in plugins.list_names("waza.stores"):
        names = ", ".join(STORAGE_KEYS)
        hint = f"use {names}, or install the package that brings it"
        check.report("invalid-value", "provider", f"there is no provider {keys.provider!r}", hint)
        return
    known = known or _OF_PACKAGES
    missing = [key for key in known.needed if not getattr(keys, key)]
    if keys.provider == "azure-blob" and (keys.connectionString or os.environ.get(CONNECTION_STRING)):
        missing = []  # a connection string names the account
    for key in missing:
        check.report("missing-key", "", f"'{key}' is missing", _OFF)
    section = child(document.root, _SECTION)
    for key in StorageKeys.__struct_fields__:
        written = child(section, key) is not None
        if written and key not in (*_ALWAYS, *known.needed, *known.optional):
            hint = f"it takes {', '.join((*known.needed, *known.optional)) or 'no others'}"
            check.report("unknown-key", key, f"'{key}' is no key of the provider {keys.provider}", hint)
        elif written and key in _SHAPES and not _SHAPES[key][0].fullmatch(getattr(keys, key)):
            # An address may hold a password or a signature.
            shown = "the address" if key == "endpoint" else repr(getattr(keys, key))
            check.report("invalid-value", key, f"{shown} is not {_SHAPES[key][1]}", "")


class _Check:
    """Where mistakes in the section are reported."""

    def __init__(self, document: Document, decoder: Decoder) -> None:
        self._document, self._decoder = document, decoder

    def report(self, code: Code, key: str, message: str, hint: str) -> None:
        """Report a mistake at a key of the section, or at the section."""
        path = (_SECTION, key) if key else (_SECTION,)
        self._decoder.add_error(code, at(self._document, *path), path, message, hint)
