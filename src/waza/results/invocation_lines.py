"""Invocations on disk: their lines, and how they are read. `waza.engine.invocation` writes them.

::

    .waza/invocations/inv-000012-3fa9c1.ndjson
      {"invocation": {"id", "number", "waza", "started"}}
      {"planned": {"suite", "model", "run"}}        one a suite and model, before any of them starts
      {"planned": {"suite"}}                        a suite whose files have mistakes

Every planned run has its id from the start, so it is known what did not start: the runs without a journal. Invocations
are counted, since clocks can be set back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.kit.checksum import checksum_matches
from waza.kit.line_file import read_lines

RUNS, INVOCATIONS = Path(".waza", "runs"), Path(".waza", "invocations")


class InvocationHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of an invocation; `number` is higher than those of all earlier ones."""

    id: str
    number: int
    waza: str
    started: str


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A suite that is to be run on a model, and the id of that run; neither is known while it cannot be read.

    `transcripts`: its trials ran elsewhere, so that there is nothing to be resumed.
    """

    suite: str
    model: str | None = None
    run: str = ""
    transcripts: bool = False


class InvocationLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file: exactly one of its fields is set."""

    invocation: InvocationHeader | None = None
    planned: PlannedRun | None = None


_decoder = msgspec.json.Decoder(InvocationLine)


def numbered_invocations(directory: Path) -> Iterator[tuple[int, Path]]:
    """Yield the numbers and the files of the invocations in a directory."""
    for path in directory.glob("inv-*.ndjson"):
        with contextlib.suppress(ValueError):  # not a file of ours
            yield int(path.stem.split("-")[1]), path


def read_planned(path: Path) -> list[PlannedRun]:
    """Return what was planned in an invocation. Raises WazaError with the number of a line that is damaged."""
    found = []
    for number, (_, data) in enumerate(read_lines(path), 1):
        try:
            line = _decoder.decode(data) if checksum_matches(data) else None
        except msgspec.MsgspecError:
            line = None
        if line is None:
            raise WazaError(f"{path}:{number}: this line is damaged; start a new run")
        if line.planned is not None:
            found.append(line.planned)
    return found
