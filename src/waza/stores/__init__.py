"""Where results are kept for others: one seam, the providers behind it, and what was not uploaded yet.

`TYPES` is the table of providers, so that listing them imports nothing. Packages add others by the entry point group
`waza.stores`.
"""

from __future__ import annotations

from waza.kit.packages import are_installed

TYPES = {
    "azure-blob": "waza.stores.azure_blob:AzureBlobStore",
    "file": "waza.stores.objects:DirectoryStore",
    "gcs": "waza.stores.objects:GoogleCloudStore",
    "s3": "waza.stores.objects:S3Store",
}

# What to install for those that need more: the extra, what it brings, and the modules by which that is known.
_AZURE = ("azure", "the SDK of Azure Blob Storage", ("azure.storage.blob", "azure.identity", "aiohttp"))
_OBSTORE = ("objects", "obstore", ("obstore",))
EXTRAS = {"azure-blob": _AZURE, "file": _OBSTORE, "gcs": _OBSTORE, "s3": _OBSTORE}


def needed_package(provider: str) -> str:
    """Return what a store of ours needs, with the command that installs it; empty for one that needs nothing."""
    if provider not in EXTRAS:
        return ""
    extra, what, _ = EXTRAS[provider]
    return f'the store {provider} needs {what}: python3 -m pip install "waza[{extra}]"'


def missing_package(provider: str) -> str:
    """Return what a store of ours needs and does not find, as `needed_package` does; empty where nothing is missing.

    Nothing of it is imported, so that a run can say so before it starts.
    """
    _, _, modules = EXTRAS.get(provider, ("", "", ()))
    return "" if are_installed(modules) else needed_package(provider)
