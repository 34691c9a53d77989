"""The record of a tuning, below `.waza/tuning` of the project: what was tried, and when the sealed part was read.

It is written before the sealed part is read, so that no reading goes unrecorded; a part that was read is not read again.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.author.improve.split import Split, normalize_prompt
from waza.author.improve.tune import Tuning, tuning_to_json
from waza.errors import WazaError
from waza.kit.files import write_atomic
from waza.kit.git import ignore_in_git
from waza.kit.indented_json import indented_json
from waza.kit.moments import write_now
from waza.kit.text import pluralize
from waza.problem import display_path
from waza.report.transcripts import slug

_DIRECTORY = Path(".waza", "tuning")


class TuningRecord:
    """The record of one tuning. `path` is its file, which is there as soon as something was measured."""

    def __init__(self, project: Path, skill: str) -> None:
        self.path = (
            project
            / _DIRECTORY
            / f"{slug(skill)}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}.json"
        )
        self._unsealed = ""

    def write(self, tuning: Tuning) -> None:
        """Write how far the tuning is. Raises WazaError if that cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        ignore_in_git(self.path.parent.parent)
        document = {**tuning_to_json(tuning), "unsealed_at": self._unsealed or None}
        write_atomic(self.path, indented_json(document))

    def unseal(self, tuning: Tuning) -> None:
        """Record that the sealed part is read now. Raises WazaError if it was read already, or cannot be recorded."""
        if self._unsealed:
            raise WazaError("the sealed part of this tuning was read already")
        self._unsealed = write_now()
        self.write(tuning)


def describe_earlier(project: Path, skill: str, split: Split) -> Iterator[str]:
    """Yield what earlier tunings of a skill have seen of the prompts that are sealed now."""
    sealed = {normalize_prompt(one.text) for one in split.sealed}
    read, used = set[str](), set[str]()
    unread: list[str] = []
    for document in _list_records(project, skill, unread):
        parts = document.get("parts")
        if not isinstance(parts, dict):
            continue
        if document.get("unsealed_at"):
            read |= _prompts(parts.get("sealed"))
        used |= _prompts(parts.get("train")) | _prompts(parts.get("validation"))
    if unread:
        yield f"whether the sealed part was read before is not known: {', '.join(unread)} cannot be read"
    if again := len(sealed & read):
        yield (
            f"{pluralize(again, 'prompt')} of the sealed part {'was' if again == 1 else 'were'} read in an earlier tuning; "
            "what was changed since then may fit them"
        )
    if learnt := len(sealed & used):
        yield (
            f"{pluralize(learnt, 'prompt')} of the sealed part {'was' if learnt == 1 else 'were'} used to choose in an earlier "
            "tuning with another seed; the figures may flatter"
        )


def _list_records(project: Path, skill: str, unread: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a skill; files that cannot be read are added to `unread`."""
    for path in sorted((project / _DIRECTORY).glob(f"{slug(skill)}-*.json")):
        try:
            document = msgspec.json.decode(path.read_bytes())
        except (OSError, msgspec.DecodeError):
            unread.append(display_path(path))
            continue
        if isinstance(document, dict) and document.get("skill") == skill:
            yield document


def _prompts(entries: Any) -> set[str]:
    found = (
        (one.get("prompt") for one in entries or () if isinstance(one, dict))
        if isinstance(entries, list)
        else ()
    )
    return {normalize_prompt(text) for text in found if isinstance(text, str)}
