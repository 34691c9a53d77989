"""The servers of stores: one of each kind for a worker, and a fresh container or bucket for each test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.stores import (
    AZURITE,
    S3_KEYS,
    Azurite,
    GoogleCloud,
    Token,
    azurite,
    google_cloud,
    google_key,
    make_bucket,
    s3_server,
)
from waza.model.loaded import Project, StorageKeys
from waza.stores.base import StoreSetup
from waza.stores.stored_runs import StoredRuns, make_store

T = TypeVar("T")
OpenStore = Callable[[], AbstractAsyncContextManager[StoredRuns]]


@pytest.fixture(scope="session")
def azure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    if not AZURITE.exists():
        pytest.skip("azurite is not installed (make azurite)")
    with azurite(tmp_path_factory.mktemp("azurite")) as server:
        yield server


@pytest.fixture(scope="session")
def secure_azure_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    if not AZURITE.exists():
        pytest.skip("azurite is not installed (make azurite)")
    with azurite(tmp_path_factory.mktemp("azurite"), secure=True) as server:
        yield server


@pytest.fixture(scope="session")
def s3_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture(scope="session")
def google_server() -> Iterator[GoogleCloud]:
    with google_cloud() as cloud:
        yield cloud


@pytest.fixture(params=["file", "s3", "gcs", "azure-blob", "azure-blob with a token"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
    """Opens an empty store of each provider."""
    options: dict[str, Any] = {}
    if request.param == "file":
        (tmp_path / "store").mkdir()
        keys = StorageKeys(provider="file", path="store")
    elif request.param == "s3":
        address = request.getfixturevalue("s3_address")
        for name, value in S3_KEYS.items():
            monkeypatch.setenv(name, value)
        keys = StorageKeys(provider="s3", bucket=make_bucket(address), prefix="тест/a b", endpoint=address)
    elif request.param == "gcs":
        cloud = request.getfixturevalue("google_server")
        monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT_KEY", google_key("http://127.0.0.1:9"))
        keys = StorageKeys(provider="gcs", bucket=cloud.make_bucket(), prefix="a/ü", endpoint=cloud.address)
    elif request.param == "azure-blob":
        server = request.getfixturevalue("azure_server")
        keys = StorageKeys(
            provider="azure-blob", connectionString=server.connection, containerName=server.make_container()
        )
    else:
        server = request.getfixturevalue("secure_azure_server")
        container = server.make_container()
        keys = StorageKeys(
            provider="azure-blob", endpoint=f"{server.address}/devstoreaccount1", containerName=container
        )
        options = {"credential": Token(), "connection_verify": str(server.certificate)}
    setup = StoreSetup(project=Project(directory=tmp_path), keys=keys)

    @asynccontextmanager
    async def open_store():
        from waza.stores.azure_blob import AzureBlobStore

        store = AzureBlobStore(setup, **options) if options else make_store(setup)
        try:
            await store.start()
            yield StoredRuns(store, keys.provider)
        finally:
            await store.aclose()

    return open_store


@pytest.fixture
def in_store(opened: OpenStore) -> Callable[[Callable[[StoredRuns], Awaitable[T]]], T]:
    """Runs work with the store opened."""

    def run(work: Callable[[StoredRuns], Awaitable[T]]) -> T:
        async def go() -> T:
            async with opened() as stored:
                return await work(stored)

        return asyncio.run(go())

    return run
