"""The store `azure-blob`: Azure Blob Storage, by its SDK.

Every request names the version of the service that it is written for, so that a newer SDK asks for nothing that the service
does not know yet (400 InvalidHeaderValue).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from azure.core import MatchConditions
from azure.core.credentials_async import AsyncTokenCredential
from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceModifiedError,
    ResourceNotFoundError,
)
from azure.identity.aio import DefaultAzureCredential
from azure.storage.blob import ContentSettings
from azure.storage.blob.aio import BlobServiceClient, ExponentialRetry

from waza.errors import StoreError
from waza.kit.redact import Redactor
from waza.stores.base import NameTakenError, StoredObject, StoreSetup
from waza.stores.names import decode_labels, encode_labels
from waza.suite.storage import CONNECTION_STRING

API_VERSION = "2026-10-06"
CI_VARIABLES = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "JENKINS_URL", "CODEBUILD_BUILD_ID")
"""Environment variables of which any that is not empty says that nobody can sign in."""
_LOGIN_LIMIT = 300  # seconds
_CONNECT, _READ = 10, 60  # seconds
_PIECE = 2**20  # bytes of a request; aiohttp warns of bodies that are larger
_CREDENTIALS = (
    "EnvironmentCredential",
    "WorkloadIdentityCredential",  # the managed identity of a pod
    "ManagedIdentityCredential",
    "AzureCliCredential",
    "VisualStudioCodeCredential",
    "AzurePowerShellCredential",
)
"""The order in which credentials are tried; any others that the SDK knows come last."""
_VARIABLES = ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID")
_TO_SIGN_IN = f"sign in with `az login`, or set {', '.join(_VARIABLES[:2])} and {_VARIABLES[2]}"
_SCOPE = "https://storage.azure.com/.default"
_ROLE = "Storage Blob Data Contributor"

T = TypeVar("T")


class AzureBlobStore:
    """A container of an Azure Storage account."""

    def __init__(
        self,
        setup: StoreSetup,
        *,
        credential: AsyncTokenCredential | None = None,
        backoff: int = 1,
        **options: Any,
    ) -> None:
        """Make clients, which connect when they are first used.

        `credential` replaces that of Azure, `backoff` is the seconds before a request is repeated first, and `options`
        go to the clients of the SDK.
        """
        keys = setup.keys
        self._interactive = setup.interactive and not any(os.environ.get(name) for name in CI_VARIABLES)
        self._credential: AsyncTokenCredential | None = None
        options = {
            "api_version": API_VERSION,
            "retry_policy": ExponentialRetry(initial_backoff=backoff, increment_base=2, retry_total=2),
            "connection_timeout": _CONNECT,
            "read_timeout": _READ,
            "max_single_put_size": _PIECE,
            "max_block_size": _PIECE,
            "max_single_get_size": _PIECE,
            "max_chunk_get_size": _PIECE,
            **options,
        }
        connection = keys.connectionString or _connection_of(keys.accountName)
        if connection and credential is None:
            self._service = _connect(connection, options)
        else:
            self._credential = credential or make_credential()
            address = keys.endpoint or f"https://{keys.accountName}.blob.core.windows.net/"
            self._service = BlobServiceClient(address, credential=self._credential, **options)
        self._container_name = keys.containerName
        self._container = self._service.get_container_client(keys.containerName)
        self._account = self._service.account_name or keys.accountName
        self.place = f"container {keys.containerName} of the storage account {self._account}"

    async def start(self) -> None:
        """Get a token; where nobody is signed in, let a person do that once."""
        if self._credential is None:
            return
        try:
            await self._credential.get_token(_SCOPE)
        except ClientAuthenticationError as error:
            if not self._interactive:
                raise self._explain(error, "") from error
        else:
            return
        await _sign_in()
        await self._ask(partial(self._credential.get_token, _SCOPE), "")

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """See `ResultStore`."""
        condition: dict[str, Any] = {"overwrite": False}
        if replaced is not None:
            condition = {
                "overwrite": True,
                "etag": replaced,
                "match_condition": MatchConditions.IfNotModified,
            }

        async def upload() -> None:
            with source.open("rb") as file:
                await self._container.upload_blob(
                    name,
                    file,
                    metadata=encode_labels(labels),
                    content_settings=ContentSettings(content_type="application/json"),
                    **condition,
                )

        try:
            await self._ask(upload, name)
        except _TakenError as error:
            raise NameTakenError(f"the {self.place} has another {name}") from error

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """See `ResultStore`. The metadata comes with the names."""
        pages = self._container.list_blobs(name_starts_with=prefix or None, include=["metadata"]).by_page()

        async def next_page() -> list[StoredObject] | None:
            try:
                return [
                    StoredObject(
                        name=blob.name,
                        size=blob.size,
                        modified=blob.last_modified,
                        version=blob.etag or "",
                        labels=decode_labels(blob.metadata or {}),
                    )
                    async for blob in await anext(pages)
                ]
            except StopAsyncIteration:
                return None

        while (found := await self._ask(next_page, "")) is not None:
            for one in found:
                yield one

    async def describe(self, name: str) -> StoredObject | None:
        """See `ResultStore`."""
        try:
            found = await self._ask(self._container.get_blob_client(name).get_blob_properties, name)
        except _AbsentError:
            return None
        return StoredObject(
            name=name,
            size=found.size,
            modified=found.last_modified,
            version=found.etag or "",
            labels=decode_labels(found.metadata or {}),
        )

    async def get(self, name: str, target: Path) -> None:
        """See `ResultStore`."""

        async def download() -> None:
            found = await self._container.download_blob(name)
            with target.open("wb") as file:
                await found.readinto(file)

        await self._ask(download, name)

    async def aclose(self) -> None:
        """Close connections."""
        await self._service.close()
        if self._credential is not None:
            await self._credential.close()

    async def _ask(self, request: Callable[[], Awaitable[T]], name: str) -> T:
        """Make a request. Raises StoreError for what the SDK raises."""
        try:
            return await request()
        except AzureError as error:
            raise self._explain(error, name) from error

    def _explain(self, error: AzureError, name: str) -> StoreError:
        """Return the error of the SDK in words, with what to do."""
        if isinstance(error, HttpResponseError) and error.response is not None:
            return self._explain_response(error, name)
        if isinstance(error, ClientAuthenticationError):
            where = "" if self._interactive else " (nobody is asked to sign in here)"
            return StoreError(
                f"nothing says who you are to the storage account {self._account}{where}: {_TO_SIGN_IN}; "
                f"{_reason(error)}"
            )
        return StoreError(
            f"the storage account {self._account} cannot be reached: {_reason(error)}; check accountName in .waza.yaml "
            "and the network (a private endpoint needs its own)"
        )

    def _explain_response(self, error: HttpResponseError, name: str) -> StoreError:
        code = getattr(error, "error_code", None) or ""  # an enumeration, unless the SDK does not know it
        code = str(getattr(code, "value", code))
        if isinstance(error, ResourceExistsError | ResourceModifiedError) and code != "ContainerBeingDeleted":
            return _TakenError(code)
        if isinstance(error, ResourceNotFoundError) and code != "ContainerNotFound" and name:
            return _AbsentError(f"there is no {name} in the {self.place}")
        advice = self._advice(code, error.status_code)
        return StoreError(
            f"the {self.place} answered {error.status_code} {code or _reason(error)}"
            + (f": {advice}" if advice else "")
        )

    def _advice(self, code: str, status: int | None) -> str:
        """Return what to do after an error that the service has a code for."""
        account, container = self._account, self._container_name
        match code:
            case "ContainerNotFound" | "ResourceNotFound":
                return (
                    "the container is not there, and waza makes none; make it with `az storage container create "
                    f"--account-name {account} --name {container} --auth-mode login`, or correct containerName in .waza.yaml"
                )
            case "InvalidHeaderValue":
                return (
                    f"the service does not take the version {API_VERSION} of its interface, or a proxy changed the "
                    "header x-ms-version; an emulator may be too old (azurite: --skipApiVersionCheck)"
                )
            case "AuthorizationPermissionMismatch" | "InsufficientAccountPermissions":
                return (
                    f"you are signed in, but without the role; assign {_ROLE!r} on the account or the container, and "
                    "wait some minutes"
                )
            case "AuthorizationFailure" | "PublicAccessNotPermitted":
                key = (
                    ""
                    if self._credential
                    else "the key in the connection string is not that of the account, or "
                )
                return (
                    f"{key}its network rules do not let this machine in (a private endpoint, or a firewall); run where the "
                    "account can be reached, or allow this address"
                )
            case "KeyBasedAuthenticationNotPermitted":
                return (
                    "the account takes no keys; leave the connection string out, and sign in with `az login`"
                )
        if status in (401, 403):
            if self._credential is None:
                return "the key in the connection string is not that of the account, or the clock of this machine is wrong"
            return f"{_TO_SIGN_IN}, with the role {_ROLE!r}"
        return ""


class _AbsentError(StoreError):
    """There is no blob of this name."""


class _TakenError(StoreError):
    """There is a blob of this name, or it is not the one that was to be replaced."""


def make_credential() -> DefaultAzureCredential:
    """Return the credential of Azure, which tries one after another of those that the machine has.

    Variables that are empty, as secrets are that a CI job does not have, count as not set. Raises StoreError for others
    that cannot be used.
    """
    empty = any(os.environ.get(name) == "" for name in _VARIABLES)
    try:
        credential = DefaultAzureCredential(
            exclude_environment_credential=empty,
            managed_identity_client_id=os.environ.get(_VARIABLES[0]) or None,
        )
    except ValueError as error:
        raise StoreError(
            f"the credentials of the environment cannot be used: {error}; {_TO_SIGN_IN}"
        ) from error
    order = {name: place for place, name in enumerate(_CREDENTIALS)}
    credential.credentials = tuple(
        sorted(credential.credentials, key=lambda one: order.get(type(one).__name__, len(order)))
    )
    return credential


def _connection_of(account: str) -> str:
    """Return the connection string of the environment, unless it is of another account."""
    text = os.environ.get(CONNECTION_STRING, "")
    named = dict(part.partition("=")[::2] for part in text.split(";")).get("AccountName", "")
    return text if account in ("", named) else ""


def _connect(connection: str, options: Mapping[str, Any]) -> BlobServiceClient:
    try:
        return BlobServiceClient.from_connection_string(connection, **options)
    except ValueError as error:  # its text holds nothing of the connection string
        raise StoreError(
            f"the connection string cannot be used: {error}; copy it from the account (az storage account "
            "show-connection-string), or from the manual of the emulator"
        ) from error


async def _sign_in() -> None:
    """Let a person sign in with the Azure CLI, whose output is a message and no result."""
    try:
        login = await asyncio.create_subprocess_exec("az", "login", stdout=sys.stderr.fileno())
    except OSError as error:
        raise StoreError(
            f"nothing says who you are, and the Azure CLI is not installed: {_TO_SIGN_IN}"
        ) from error
    try:
        code = await asyncio.wait_for(login.wait(), _LOGIN_LIMIT)
    except TimeoutError as error:
        raise StoreError(f"`az login` took longer than {_LOGIN_LIMIT} seconds; {_TO_SIGN_IN}") from error
    finally:
        if login.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                login.kill()
            await login.wait()
    if code:
        raise StoreError(f"`az login` failed; {_TO_SIGN_IN}")


def _reason(error: AzureError) -> str:
    text = " ".join(str(error.message).split())
    return Redactor(()).text(text)[:400]
