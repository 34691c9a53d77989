"""Where results are kept for others: one seam, the providers behind it, and what was not uploaded yet.

`TYPES` is the table of providers, so that listing them imports nothing. Packages add others by the entry point group
`waza.stores`.
"""

from __future__ import annotations

TYPES = {
    "azure-blob": "waza.stores.azure_blob:AzureBlobStore",
    "file": "waza.stores.objects:DirectoryStore",
    "gcs": "waza.stores.objects:GoogleCloudStore",
    "s3": "waza.stores.objects:S3Store",
}

# What to install for those that need more: the extra, and what it brings.
EXTRAS = {
    "azure-blob": ("azure", "the SDK of Azure Blob Storage"),
    "file": ("objects", "obstore"),
    "gcs": ("objects", "obstore"),
    "s3": ("objects", "obstore"),
}
