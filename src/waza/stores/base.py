"""What a store of results is: a few verbs over named objects, each with labels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from waza.errors import StoreError
from waza.model.base import Keys
from waza.model.loaded import Project, StorageKeys
from waza.suite.project import read_storage_options

Options = TypeVar("Options", bound=Keys)


class StoreSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a store is made for."""

    project: Project
    """The project whose results it keeps."""
    keys: StorageKeys
    """The section `storage` of its `.waza.yaml`."""
    interactive: bool = True
    """Whether a person may be asked to sign in."""

    def options(self, kind: type[Options]) -> Options:
        """Return `storage.options` as the struct that a store of a package calls `Options`.

        Raises SuiteError, with the places in `.waza.yaml`, if they do not fit.
        """
        return read_storage_options(self.project, kind)


class StoredObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object in a store."""

    name: str
    """Its name: parts joined by `/`."""
    size: int
    """Its size in bytes."""
    modified: datetime | None = None
    """When it was last written, with a time zone."""
    version: str = ""
    """What changes whenever the object does, such as its ETag; for `put`."""
    labels: Mapping[str, str] | None = None
    """The texts that were put with it. None: `list` does not know them in this store, ask `describe`."""


class NameTakenError(StoreError):
    """There is an object of this name already, or it changed meanwhile."""


class ResultStore(Protocol):
    r"""Keeps files under names. The class is made with a `StoreSetup`, which starts nothing and asks nobody.

    All methods raise StoreError, with what to do, where the store refuses or cannot be reached. Names and labels hold
    any characters of Unicode; the parts of a name hold no `/`, no `\`, no control characters, and are not `.` or `..`.
    """

    place: str
    """Where the objects are, for messages, such as `s3://bucket/prefix`."""

    async def start(self) -> None:
        """Get ready, or say what is missing. It is called once, first; it may wait for a person to sign in."""

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """Keep a file and its labels under a name, as a whole or not at all.

        `replaced` is the `version` of the object that it may take the place of; None: there must not be any. Raises
        NameTakenError if there is another one.
        """

    def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """Yield all objects whose names begin with `prefix`, which is empty or ends with `/`."""

    async def describe(self, name: str) -> StoredObject | None:
        """Return an object with its labels, without reading all of it; None: there is no such object."""

    async def get(self, name: str, target: Path) -> None:
        """Write the content of an object into a file."""

    async def aclose(self) -> None:
        """Close connections."""
