"""What trials were graded from that ran elsewhere, as results have it."""

from __future__ import annotations

import msgspec

from waza.model.recording import TranscriptRecord
from waza.model.result import SuiteResult

TRANSCRIPT = "transcript"
"""The executor that results name whose trials ran elsewhere."""
TRANSCRIPTS = "transcripts"  # the key in the metadata of results


def read_transcript_records(head: SuiteResult) -> dict[tuple[str, int], TranscriptRecord]:
    """Return what the trials of a run were graded from, by their tasks and numbers; empty where an agent was run."""
    try:
        found = msgspec.convert(head.metadata.get(TRANSCRIPTS) or [], list[TranscriptRecord])
    except msgspec.ValidationError:
        return {}
    return {(one.task, one.trial): one for one in found}
