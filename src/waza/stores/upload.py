"""Uploading results: one file after another, each in a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import msgspec

from waza.errors import StoreError, SuiteError
from waza.stores.base import NameTakenError
from waza.stores.stored_runs import StoredResult, StoredRuns

LIMIT = 60.0  # seconds for a file
_SLOWEST = 64 * 1024  # bytes in a second; a larger file has more time


class Upload(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a file: it is stored as `run`, or `error` says why not."""

    file: Path
    run: StoredResult | None = None
    error: str = ""


async def upload_files(
    stored: StoredRuns, files: Iterable[Path], *, limit: float = LIMIT
) -> AsyncIterator[Upload]:
    """Upload results files, and yield what became of each.

    A file that is gone is left out. Where the store itself cannot be used, the rest is not tried and has the same error.
    `limit` is the time in seconds that a small file may take.
    """
    broken = ""
    for file in files:
        if broken:
            yield Upload(file=file, error=broken)
            continue
        try:
            seconds = limit + (await asyncio.to_thread(file.stat)).st_size / _SLOWEST
            async with asyncio.timeout(seconds):
                run = await stored.upload(file)
        except TimeoutError:
            broken = f"{stored.place} did not take {file.name} within {seconds:.0f} seconds"
            yield Upload(file=file, error=broken)
        except FileNotFoundError:  # another process uploaded it
            continue
        except (NameTakenError, SuiteError, OSError) as error:  # of this file
            yield Upload(file=file, error=str(error))
        except StoreError as error:
            broken = str(error)
            yield Upload(file=file, error=broken)
        else:
            yield Upload(file=file, run=run)
