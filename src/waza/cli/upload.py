"""Uploading results, for `waza run` and `waza results push`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from waza.cli.streams import print_notice
from waza.engine.cancellation import Cancellation
from waza.errors import WazaError
from waza.kit.exception_report import describe_exception
from waza.kit.files import write_atomic
from waza.kit.text import pluralize
from waza.model.loaded import Project
from waza.results.outcome import Outcome
from waza.results.write import encode
from waza.stores.names import file_name
from waza.stores.queue import UploadQueue
from waza.stores.stored_runs import open_stored_runs
from waza.stores.upload import Upload, upload_files

_KEPT = "they are kept, and the next run or `waza results push` uploads them"


async def upload_after_run(project: Project, outcomes: Sequence[Outcome], *, interrupted: bool) -> None:
    """Upload the results of runs, and what earlier ones left; say what became of them. It never fails.

    An interrupted run only leaves its results in the queue.
    """
    control = Cancellation()
    try:
        with ExitStack() as stack, control.handle_signals():
            await control.run_cancellable(_keep_and_upload(project, outcomes, stack, interrupted=interrupted))
    except asyncio.CancelledError:
        if control.stopped_by is None:
            raise
        print_notice(f"warning: results were not uploaded: interrupted; {_KEPT}")
    except (WazaError, OSError) as error:
        print_notice(f"warning: results were not uploaded: {error}; {_KEPT}")
    except Exception as error:  # noqa: BLE001  # the store of a package may raise anything, and the run is over
        why = describe_exception(error).text
        print_notice(f"warning: results were not uploaded, since the store broke: {why}; {_KEPT}")


async def _keep_and_upload(
    project: Project, outcomes: Sequence[Outcome], stack: ExitStack, *, interrupted: bool
) -> None:
    queue = UploadQueue(project.directory)
    own = [_keep(queue, outcome, stack) for outcome in outcomes]
    if interrupted:
        if kept := sum(map(queue.holds, own)):
            print_notice(f"{pluralize(kept, 'result')} not uploaded: interrupted; {_KEPT}")
        return
    older = [path for path in queue.files() if path not in own]
    failed = [one async for one in upload(project, [*own, *older], queue) if one.run is None]
    for why in dict.fromkeys(one.error for one in failed):
        files = [one.file for one in failed if one.error == why]
        where = _KEPT if all(map(queue.holds, files)) else "they are only where the run wrote them"
        print_notice(f"warning: {pluralize(len(files), 'result')} not uploaded: {why}; {where}")


def _keep(queue: UploadQueue, outcome: Outcome, stack: ExitStack) -> Path:
    """Return a file with the results: in the queue, or where that cannot be written, in a directory that is removed."""
    try:
        return queue.add(outcome)
    except WazaError as error:
        print_notice(f"warning: results that cannot be uploaded now are not kept for later: {error}")
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="waza-upload-")))
        path = directory / file_name(outcome.head.eval_id)
        write_atomic(path, encode(outcome))
        return path


async def upload(project: Project, files: Sequence[Path], queue: UploadQueue) -> AsyncIterator[Upload]:
    """Upload files, say which are stored, and yield what became of each; those of the queue are removed from it."""
    async with open_stored_runs(project) as stored:
        async for one in upload_files(stored, files):
            if one.run is not None:
                count = f" ({files.index(one.file) + 1} of {len(files)})" if len(files) > 1 else ""
                print_notice(f"Uploaded to {stored.provider}: {one.run.blob_path}{count}")
                if queue.holds(one.file):
                    one.file.unlink(missing_ok=True)
            yield one
