"""Which credentials of a store are in sight, without asking anybody: variables and files, never their contents."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from waza.model.loaded import StorageKeys
from waza.suite.storage import CONNECTION_STRING

_OF_THE_MACHINE = "those of the machine, if it has any, are tried"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """What is in sight: where credentials come from, or what to do where none are."""

    found: bool
    finding: str
    advice: str = ""


def find_credentials(keys: StorageKeys, directory: Path, environ: Mapping[str, str]) -> Credentials:
    """Return the credentials that the store of a project would take; `directory` is that of `.waza.yaml`."""
    look = {"azure-blob": _azure, "s3": _aws, "gcs": _google}.get(keys.provider)
    if look is not None:
        return look(keys, environ)
    if keys.provider != "file":
        return Credentials(found=True, finding="credentials are the affair of its package")
    place = directory / keys.path
    if not place.is_dir():
        return Credentials(
            found=False,
            finding=f"there is no directory {place}",
            advice="make it, or correct `path` in .waza.yaml",
        )
    if not os.access(place, os.W_OK):
        return Credentials(found=False, finding=f"{place} cannot be written to")
    return Credentials(found=True, finding=f"{place} can be written to")


def _azure(keys: StorageKeys, environ: Mapping[str, str]) -> Credentials:
    if keys.connectionString:
        return _found("the connection string of .waza.yaml")
    if environ.get(CONNECTION_STRING):
        return _found(CONNECTION_STRING)
    if all(environ.get(f"AZURE_{name}") for name in ("CLIENT_ID", "CLIENT_SECRET", "TENANT_ID")):
        return _found("AZURE_CLIENT_ID")
    if environ.get("AZURE_FEDERATED_TOKEN_FILE"):
        return _found("AZURE_FEDERATED_TOKEN_FILE")
    home = Path(environ.get("AZURE_CONFIG_DIR") or Path.home() / ".azure")
    if _has_subscription(home / "azureProfile.json"):
        return _found("az login")
    return _none("az login")


def _has_subscription(profile: Path) -> bool:
    try:
        found = json.loads(profile.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and bool(found.get("subscriptions"))


def _aws(keys: StorageKeys, environ: Mapping[str, str]) -> Credentials:
    del keys
    if environ.get("AWS_ACCESS_KEY_ID") and environ.get("AWS_SECRET_ACCESS_KEY"):
        return _found("AWS_ACCESS_KEY_ID")
    for name in (
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ):
        if environ.get(name):
            return _found(name)
    return _none('eval "$(aws configure export-credentials --format env)"')


def _google(keys: StorageKeys, environ: Mapping[str, str]) -> Credentials:
    del keys
    named = environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    if named:
        if Path(named).is_file():
            return _found("GOOGLE_APPLICATION_CREDENTIALS")
        what = f"GOOGLE_APPLICATION_CREDENTIALS names {named}, which is no file"
        return Credentials(found=False, finding=what)
    home = Path(environ.get("APPDATA") or Path.home() / ".config")
    if (home / "gcloud" / "application_default_credentials.json").is_file():
        return _found("gcloud auth application-default login")
    return _none("gcloud auth application-default login")


def _found(what: str) -> Credentials:
    return Credentials(found=True, finding=f"with credentials of {what}")


def _none(command: str) -> Credentials:
    return Credentials(found=False, finding=f"no credentials are in sight; {_OF_THE_MACHINE}", advice=command)
