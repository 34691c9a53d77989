"""The stores `s3`, `gcs` and `file`, by obstore.

Buckets keep the labels as metadata of the object. A directory cannot, so they are in a file beside it, with the size of
what they are of: where the two do not agree, nothing is known of the object.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import GCSStore, LocalStore
from obstore.store import S3Store as S3Client

from waza.errors import StoreError
from waza.kit.redact import Redactor
from waza.stores.base import NameTakenError, StoredObject, StoreSetup
from waza.stores.names import decode_labels, encode_labels

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig  # they are not there at run time

LABELS = ".labels"  # behind the name of an object in a directory
_CONNECT = 10  # seconds
_REQUEST = 600  # seconds; who uploads has a limit of their own
_RETRY: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_JSON = "application/json"
_NOT_FOUND = (NotFoundError, FileNotFoundError)
_DENIED = (PermissionDeniedError, UnauthenticatedError, PermissionError)


class _Bucket:
    """What S3 and Google Cloud Storage do alike."""

    kind: ClassVar[str]
    """The provider, for messages."""
    advice: ClassVar[str]
    """Where credentials come from."""

    def __init__(self, client: ObjectStore, place: str) -> None:
        self._client, self.place = client, place

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """See `ResultStore`."""
        with self._errors(name):
            await obstore.put_async(
                self._client,
                name,
                await asyncio.to_thread(source.read_bytes),
                attributes={**encode_labels(labels), "Content-Type": _JSON},
                mode="create" if replaced is None else msgspec.json.decode(replaced),
                use_multipart=False,  # an upload of parts leaves them behind when it is cut off
            )

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """See `ResultStore`."""
        with self._errors(""):
            async for batch in obstore.list(self._client, prefix or None):
                for meta in batch:
                    yield _stored(meta)

    async def describe(self, name: str) -> StoredObject | None:
        """See `ResultStore`."""
        try:
            with self._errors(name):
                found = await obstore.get_async(self._client, name, options={"head": True})
        except _AbsentError:
            return None
        labels = decode_labels({str(key): value for key, value in found.attributes.items()})
        return msgspec.structs.replace(_stored(found.meta), labels=labels)

    async def get(self, name: str, target: Path) -> None:
        """See `ResultStore`."""
        with self._errors(name):
            found = await obstore.get_async(self._client, name)
            with target.open("wb") as file:
                async for chunk in found.stream():
                    file.write(chunk)

    async def aclose(self) -> None:
        """Do nothing: connections end by themselves."""

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """Raise StoreError for what obstore raises."""
        try:
            yield
        except (AlreadyExistsError, PreconditionError) as error:
            raise NameTakenError(f"{self.place} has another {name}") from error
        except _NOT_FOUND as error:
            raise self._absent(name, str(error)) from error
        except _DENIED as error:
            raise StoreError(f"{self.place} refuses access: {_reason(error)}; {self.advice}") from error
        except BaseError as error:
            if "NoSuchBucket" in str(error):
                raise self._absent("", "NoSuchBucket") from error
            raise StoreError(f"{self.place} cannot be used: {_reason(error)}; {self.advice}") from error

    def _absent(self, name: str, text: str) -> StoreError:
        if name and "NoSuchBucket" not in text:
            return _AbsentError(f"there is no {name} in {self.place}")
        return StoreError(f"there is no bucket {self.place}; make it, or correct `bucket` in .waza.yaml")


class _AbsentError(StoreError):
    """There is no object of this name."""


class S3Store(_Bucket):
    """Amazon S3, and servers that speak its protocol."""

    kind = "s3"
    advice = (
        "credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or of the machine; check them, "
        "and bucket, region and endpoint in .waza.yaml"
    )

    def __init__(self, setup: StoreSetup) -> None:
        keys = setup.keys
        place = f"s3://{keys.bucket}/{keys.prefix}".rstrip("/")
        config: dict[str, Any] = {"endpoint": keys.endpoint, "region": keys.region}
        with _setting_up(place):
            client = S3Client(
                keys.bucket,
                prefix=keys.prefix or None,
                client_options=_client_options(keys.endpoint),
                retry_config=_RETRY,
                **{key: value for key, value in config.items() if value},
            )
        super().__init__(client, place)


class GoogleCloudStore(_Bucket):
    """Google Cloud Storage."""

    kind = "gcs"
    advice = (
        "credentials are those of GOOGLE_APPLICATION_CREDENTIALS, of `gcloud auth application-default login`, or of "
        "the machine; check them, and bucket in .waza.yaml"
    )

    def __init__(self, setup: StoreSetup) -> None:
        keys = setup.keys
        place = f"gs://{keys.bucket}/{keys.prefix}".rstrip("/")
        config: dict[str, Any] = {"base_url": keys.endpoint} if keys.endpoint else {}
        with _setting_up(place):
            client = GCSStore(
                keys.bucket,
                prefix=keys.prefix or None,
                client_options=_client_options(keys.endpoint),
                retry_config=_RETRY,
                **config,
            )
        super().__init__(client, place)


class DirectoryStore(_Bucket):
    """A directory, such as one on a network drive."""

    kind = "file"
    advice = "check the directory, and `path` in .waza.yaml"

    def __init__(self, setup: StoreSetup) -> None:
        self._directory = setup.project.directory / Path(setup.keys.path).expanduser()
        place = str(self._directory)
        if not self._directory.is_dir():
            raise StoreError(
                f"there is no directory {place}; make it, mount it, or correct `path` in .waza.yaml"
            )
        super().__init__(LocalStore(self._directory), place)

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """See `ResultStore`. The labels come first, so that an object is never without its own for long."""
        if replaced is None and (self._directory / name).exists():
            raise NameTakenError(f"{self.place} has another {name}")
        size = (await asyncio.to_thread(source.stat)).st_size
        note = msgspec.json.encode(_LabelsFile(size=size, labels=dict(labels)))
        with self._errors(name):
            await obstore.put_async(self._client, name + LABELS, note)
            await obstore.put_async(
                self._client,
                name,
                await asyncio.to_thread(source.read_bytes),
                mode="create" if replaced is None else "overwrite",  # a directory has no other way
                use_multipart=False,
            )

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """See `ResultStore`."""
        async for found in super().list(prefix):
            if not found.name.endswith(LABELS):
                yield found

    async def describe(self, name: str) -> StoredObject | None:
        """See `ResultStore`."""
        try:
            with self._errors(name):
                meta = await obstore.head_async(self._client, name)
        except _AbsentError:
            return None
        labels: dict[str, str] = {}
        try:
            with self._errors(name):
                found = await obstore.get_async(self._client, name + LABELS)
                note = msgspec.json.decode(bytes(await found.bytes_async()), type=_LabelsFile)
                labels = note.labels if note.size == meta["size"] else {}
        except (_AbsentError, msgspec.MsgspecError, UnicodeDecodeError):
            labels = {}
        return msgspec.structs.replace(_stored(meta), labels=labels)


class _LabelsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file with the labels of an object in a directory."""

    size: int
    labels: dict[str, str]


def _stored(meta: Any) -> StoredObject:
    version = {key: meta[key] for key in ("e_tag", "version") if meta.get(key) is not None}
    return StoredObject(
        name=meta["path"],
        size=meta["size"],
        modified=meta["last_modified"],
        version=msgspec.json.encode(version).decode(),
    )


def _client_options(endpoint: str) -> ClientConfig:
    return {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=_CONNECT),
        "timeout": timedelta(seconds=_REQUEST),
    }


@contextmanager
def _setting_up(place: str) -> Iterator[None]:
    try:
        yield
    except (BaseError, ValueError) as error:
        raise StoreError(f"{place} cannot be set up: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what an error of obstore says: its first paragraph, which is followed by one for programmers."""
    text = " ".join(str(error).partition("\n\nDebug source")[0].split())
    return Redactor(()).text(text)[:400]
