"""The stores `s3`, `gcs` and `file`, by obstore.

Buckets keep the labels as metadata of the object. A directory cannot, so they are in a file beside it, with the size of
what they are of: where the two do not agree, nothing is known of the object.
"""

from __future__ import annotations

import asyncio
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast

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
from waza.kit.os_errors import describe_os_error
from waza.kit.redact import Redactor
from waza.problem import display_path
from waza.stores.base import NameTakenError, StoredObject, StoreSetup
from waza.stores.names import decode_labels, encode_labels

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig  # they are not there at run time

T = TypeVar("T")

LABELS = ".labels"  # behind the name of an object in a directory
_CONNECT = 10  # seconds
_REQUEST = 180  # seconds for all of a request; uploads have a limit of their own besides
_RETRY: RetryConfig = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}
_JSON = "application/json"
_PAGE = 1000  # files of a directory that are read at once
_NOT_FOUND = (NotFoundError, FileNotFoundError)
_DENIED = (PermissionDeniedError, UnauthenticatedError, PermissionError)


class _Bucket:
    """What S3 and Google Cloud Storage do alike."""

    kind: ClassVar[str]
    """The provider, for messages."""
    advice: ClassVar[str]
    """Where credentials come from."""

    _client: ObjectStore  # from `start` on

    def __init__(self, place: str) -> None:
        self.place = place

    def _make_client(self) -> ObjectStore:
        raise NotImplementedError

    async def start(self) -> None:
        """Make the client; it looks for credentials with its first request."""
        try:
            self._client = self._make_client()
        except (BaseError, ValueError) as error:
            raise StoreError(f"{self.place} cannot be set up: {_reason(error)}") from error

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """See `ResultStore`."""

        def work() -> None:
            obstore.put(
                self._client,
                name,
                source.read_bytes(),
                attributes={**encode_labels(labels), "Content-Type": _JSON},
                mode="create" if replaced is None else msgspec.json.decode(replaced),
                use_multipart=False,  # an upload of parts leaves them behind when it is cut off
            )

        with self._errors(name):
            await _in_thread(work)

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """See `ResultStore`."""
        pages = obstore.list(self._client, prefix or None)
        while True:
            with self._errors(""):
                page = await _in_thread(lambda: next(pages, None))
            if page is None:
                return
            for meta in page:
                yield _stored(meta)

    async def describe(self, name: str) -> StoredObject | None:
        """See `ResultStore`."""
        try:
            with self._errors(name):
                return await _in_thread(lambda: self._describe(name))
        except _AbsentError:
            return None

    def _describe(self, name: str) -> StoredObject:
        found = obstore.get(self._client, name, options={"head": True})
        labels = decode_labels({str(key): value for key, value in found.attributes.items()})
        return msgspec.structs.replace(_stored(found.meta), labels=labels)

    async def get(self, name: str, target: Path) -> None:
        """See `ResultStore`."""

        def work() -> None:
            with target.open("wb") as file:
                for chunk in obstore.get(self._client, name).stream():
                    file.write(chunk)

        with self._errors(name):
            await _in_thread(work)

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
        self._keys = setup.keys
        super().__init__(f"s3://{setup.keys.bucket}/{setup.keys.prefix}".rstrip("/"))

    def _make_client(self) -> ObjectStore:
        keys = self._keys
        config: dict[str, Any] = {"endpoint": keys.endpoint, "region": keys.region}
        return S3Client(
            keys.bucket,
            prefix=keys.prefix or None,
            client_options=_client_options(keys.endpoint),
            retry_config=_RETRY,
            **{key: value for key, value in config.items() if value},
        )


class GoogleCloudStore(_Bucket):
    """Google Cloud Storage."""

    kind = "gcs"
    advice = (
        "credentials are those of GOOGLE_APPLICATION_CREDENTIALS, of `gcloud auth application-default login`, or of "
        "the machine; check them, and bucket in .waza.yaml"
    )

    def __init__(self, setup: StoreSetup) -> None:
        self._keys = setup.keys
        super().__init__(f"gs://{setup.keys.bucket}/{setup.keys.prefix}".rstrip("/"))

    def _make_client(self) -> ObjectStore:
        keys = self._keys
        config: dict[str, Any] = {"base_url": keys.endpoint} if keys.endpoint else {}
        return GCSStore(
            keys.bucket,
            prefix=keys.prefix or None,
            client_options=_client_options(keys.endpoint),
            retry_config=_RETRY,
            **config,
        )


class DirectoryStore(_Bucket):
    """A directory, such as one on a network drive."""

    kind = "file"
    advice = "check the directory, and `path` in .waza.yaml"

    def __init__(self, setup: StoreSetup) -> None:
        self._directory = setup.project.directory / Path(setup.keys.path).expanduser()
        super().__init__(display_path(self._directory))

    def _make_client(self) -> ObjectStore:
        return LocalStore(self._directory)

    async def start(self) -> None:
        """Find the directory. One that is not there may be on a drive that is not mounted, so it is not made."""
        if not await asyncio.to_thread(self._directory.is_dir):
            raise StoreError(
                f"there is no directory {self.place}; make it, mount it, or correct `path` in .waza.yaml"
            )
        await super().start()

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """See `ResultStore`. The labels come first, so that an object is never without its own for long."""

        def work() -> None:
            if replaced is None and (self._directory / name).exists():
                raise NameTakenError(f"{self.place} has another {name}")
            data = source.read_bytes()
            note = msgspec.json.encode(_LabelsFile(size=len(data), labels=dict(labels)))
            obstore.put(self._client, name + LABELS, note)
            mode: Literal["create", "overwrite"] = "create" if replaced is None else "overwrite"
            obstore.put(
                self._client, name, data, mode=mode, use_multipart=False
            )  # a directory knows no versions

        with self._errors(name):
            await _in_thread(work)

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """See `ResultStore`. obstore gives up at names that it does not take, so that one file would hide all others."""
        files = _files_below(self._directory, prefix)
        while True:
            with self._errors(""):
                page = await _in_thread(lambda: list(islice(files, _PAGE)))
            if not page:
                return
            for found in page:
                if not found.name.endswith(LABELS):
                    yield found

    def _describe(self, name: str) -> StoredObject:
        found = _stored_file(self._directory / name, name)
        labels: dict[str, str] = {}
        with suppress(*_NOT_FOUND, msgspec.MsgspecError, UnicodeDecodeError):
            note = msgspec.json.decode((self._directory / (name + LABELS)).read_bytes(), type=_LabelsFile)
            labels = note.labels if note.size == found.size else {}
        return msgspec.structs.replace(found, labels=labels)

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        try:
            with super()._errors(name):
                yield
        except OSError as error:
            raise StoreError(
                f"{self.place} cannot be used: {describe_os_error(error)}; {self.advice}"
            ) from error


def _files_below(root: Path, prefix: str) -> Iterator[StoredObject]:
    """Yield the files below a directory whose names begin with a prefix. Directories are read once, also by links."""
    seen: set[tuple[int, int]] = set()
    waiting = [root / prefix]
    while waiting:
        folder = waiting.pop()
        try:
            state = folder.stat()
            entries = sorted(folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):  # it is gone, or nothing is stored under the prefix
            continue
        if (state.st_dev, state.st_ino) in seen:
            continue
        seen.add((state.st_dev, state.st_ino))
        folders: list[Path] = []
        for path in entries:
            try:
                if path.is_dir():
                    folders.append(path)
                else:
                    yield _stored_file(path, path.relative_to(root).as_posix())
            except FileNotFoundError:  # it is gone, or a link that leads nowhere, or a pipe
                continue
        waiting += reversed(folders)


def _stored_file(path: Path, name: str) -> StoredObject:
    """Return a file as an object. Raises FileNotFoundError, also for what is not a file."""
    state = path.stat()
    if not stat.S_ISREG(state.st_mode):
        raise FileNotFoundError(path)
    return StoredObject(
        name=name,
        size=state.st_size,
        modified=datetime.fromtimestamp(state.st_mtime, UTC),
        version=f"{state.st_ino:x}-{state.st_mtime_ns:x}-{state.st_size:x}",
    )


class _LabelsFile(msgspec.Struct, frozen=True, kw_only=True):
    """The file with the labels of an object in a directory."""

    size: int
    labels: dict[str, str]


async def _in_thread(work: Callable[[], T]) -> T:
    """Return what work returns, done in a thread of its own, for which nobody waits once the caller is cancelled.

    The asynchronous functions of obstore are not used: their threads call into Python, and where it ends just then, the
    process is aborted.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():  # cancelled
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(cast("T", result))

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is raised where it is waited for
            failure = error
        with suppress(RuntimeError):  # the loop is closed: the caller was cancelled
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, daemon=True).start()
    return await done


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


def _reason(error: Exception) -> str:
    """Return what an error of obstore says: its first paragraph, which is followed by one for programmers."""
    text = " ".join(str(error).partition("\n\nDebug source")[0].split())
    return Redactor(()).text(text)[:400]
