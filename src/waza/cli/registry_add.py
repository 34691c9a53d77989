"""What `waza registry add` does: fetch, ask for trust, edit the suite, pin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.cli.get import fetched_line
from waza.cli.questions import can_ask, confirm
from waza.cli.reject_document import refuse_document
from waza.cli.streams import print_line
from waza.cli.utf8 import require_utf8
from waza.errors import EXIT_OK, UsageError
from waza.kit import yaml
from waza.kit.decode import format_path
from waza.kit.directory_lock import lock_directory
from waza.kit.files import write_atomic
from waza.model.suite import GraderEntry
from waza.registry.build import read_preset
from waza.registry.edit import insert_grader
from waza.registry.get import GetResult, Getter, suite_refs
from waza.registry.lock import FILE, LockEntry, LockFile, read_lock, write_lock
from waza.registry.names import read_taken_names
from waza.registry.preset import ModulePack, Preset, merge_preset
from waza.registry.scalar import format_scalar
from waza.suite.project import find_project

_NEXT = re.compile(r",(?=[\w.-]+=)")  # what may stand between two settings
_FLOW = ("[", "{", '"', "'")  # a value that starts so is YAML as a whole; others are taken as they stand


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be added to which suite."""

    ref: str
    suite: Path
    name: str = ""
    settings: tuple[str, ...] = ()
    weight: float | None = None
    allow_exec: bool = False
    yes: bool = False
    dry_run: bool = False

    @property
    def bare(self) -> bool:
        """Whether only the ref of the grader is given."""
        return not (self.name or self.settings or self.weight is not None)


async def add_grader(addition: Addition) -> int:
    """Add a grader to a suite and pin it. What is in the suite already is only pinned, and trusted.

    Raises UsageError when its program is not trusted, or the suite cannot be edited; nothing is changed then.
    """
    entry, suite = entry_of(addition), addition.suite.absolute()
    if not suite.is_file():
        raise UsageError(f"there is no suite {addition.suite}; name its file with --eval")
    with lock_directory(suite.parent):
        return await _add(addition, suite, entry)


async def _add(addition: Addition, suite: Path, entry: dict[str, Any]) -> int:
    before, edited = _edited(suite, addition, entry)
    known = read_lock(suite.parent) or LockFile()
    got = await Getter(known, find_project(Path.cwd()).keys.hosts).get(addition.ref)
    preset = got.preset if edited == before else _checked(got, entry, read_taken_names(suite, known))
    if addition.dry_run:
        if edited != before:
            print_line(f"would add to {addition.suite}: {msgspec.json.encode(entry).decode()}")
        print_line("\n".join(["would pin:", *fetched_line(got, addition.suite)]))
        return EXIT_OK
    lock = known.with_entry(_trusted(got.entry, preset, addition))
    _write(suite, before, edited, lock)
    done = "was added to" if edited != before else "is in"
    print_line(f"{addition.ref} {done} {addition.suite}, and is pinned in {suite.parent / FILE}")
    return EXIT_OK


def _edited(suite: Path, addition: Addition, entry: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the suite's file as it is, and as it shall be."""
    refuse_document(addition.suite, "name a suite, such as eval.yaml, with --eval")
    before = suite.read_bytes()
    if addition.bare and addition.ref in suite_refs(suite):
        return before, before
    try:
        text = before.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{addition.suite} is not UTF-8 text; save it as UTF-8") from None
    return before, insert_grader(text, entry).encode()


def _checked(got: GetResult, entry: dict[str, Any], taken: Mapping[str, str]) -> Preset:
    """Return the grader as it would be in the suite. Raises UsageError if it could not be used there.

    `taken` are the names of other graders, with their places.
    """
    if isinstance(got.preset, ModulePack):
        raise UsageError(
            f"{got.entry.ref} is a pack and no grader; write it under adversarial.packs of the suite, then run this again"
        )
    node = yaml.load(format_scalar(entry).encode())
    if not isinstance(node, yaml.Mapping):
        raise TypeError("an entry is a mapping")
    preset = merge_preset(got.preset, GraderEntry(name=entry.get("name", "")), node)
    _, findings = read_preset(preset, Path())
    faults = [
        f"{got.entry.ref}: {format_path(('config', *finding.path))}: {finding.text}"
        for finding in findings
        if not finding.warning
    ]
    if faults:
        raise UsageError("\n".join(faults))
    if preset.name in taken:
        place = taken[preset.name]
        raise UsageError(
            f"the name {preset.name!r} is taken by the grader at {place}; give this one another with --name; nothing was changed"
        )
    return preset


def _write(suite: Path, before: bytes, edited: bytes, lock: LockFile) -> None:
    """Write the suite and its lock, both or neither."""
    if edited != before:
        write_atomic(suite, edited)
    try:
        write_lock(suite.parent, lock.graders)
    except BaseException:
        if edited != before:
            write_atomic(suite, before)
        raise


def entry_of(addition: Addition) -> dict[str, Any]:
    """Return the grader entry; settings are keys of its config, nested at dots. Raises UsageError."""
    require_utf8("REF", addition.ref)
    require_utf8("--name", addition.name)
    require_utf8("--set", *addition.settings)
    entry: dict[str, Any] = {"ref": addition.ref}
    if addition.name:
        entry["name"] = addition.name
    if addition.weight is not None:
        entry["weight"] = addition.weight
    config: dict[str, Any] = {}
    for setting in _settings(addition.settings):
        _set(config, setting)
    return {**entry, "config": config} if config else entry


def _set(config: dict[str, Any], setting: str) -> None:
    key, equals, value = setting.partition("=")
    *parents, last = key.strip().removeprefix("config.").split(".")
    if not equals or not all((*parents, last)):
        raise UsageError(f"--set {setting!r} is no KEY=VALUE")
    place = config
    for parent in parents:
        place = place.setdefault(parent, {})
        if not isinstance(place, dict):
            raise UsageError(f"--set {setting!r} goes below a value that is no mapping")
    try:
        place[last] = parse_value(value)
    except ValueError as error:
        raise UsageError(f"--set {setting!r}: {error}") from error


def _settings(texts: Sequence[str]) -> Iterator[str]:
    """Yield settings: a text holds several where `,KEY=` follows a value that is whole."""
    for text in texts:
        setting = ""
        for part in _NEXT.split(text):
            setting = f"{setting},{part}" if setting else part
            if _is_whole(setting):
                yield setting
                setting = ""
        if setting:
            yield setting


def _is_whole(setting: str) -> bool:
    try:
        parse_value(setting.partition("=")[2])
    except ValueError:
        return False
    return True


def parse_value(text: str) -> Any:
    """Return a `--set` value: what the text means in YAML, written in flow style or as one plain word.

    A text that YAML would read as something else, such as `a #b` or `*.py`, is that text. Raises
    ValueError for flow style with a mistake, and for a number that is not finite.
    """
    text = text.strip()
    try:
        node = yaml.load(text.encode())
    except yaml.YamlError:
        if text.startswith(_FLOW):
            raise
        return text
    if not (text.startswith(_FLOW) or (isinstance(node, yaml.Scalar) and node.text == text)):
        return text
    value = yaml.to_plain(node)
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise ValueError("a number in it is not finite") from None
    return value


def _trusted(entry: LockEntry, preset: Preset | ModulePack, addition: Addition) -> LockEntry:
    """Return the lock entry, trusted if that is wanted. Raises UsageError if it runs a program and it is not."""
    if entry.trusted or not (preset.needs_trust or addition.allow_exec):
        return entry
    reason = (
        "--allow-exec" if addition.allow_exec else "--yes" if addition.yes else _asked(addition.ref, preset)
    )
    if not reason:
        raise UsageError(
            f"{addition.ref} {preset.acts}; nothing was changed. Look at {preset.module}, then add --allow-exec"
        )
    return msgspec.structs.replace(entry, trusted=True, trust_reason=reason)


def _asked(ref: str, preset: Preset | ModulePack) -> str:
    """Ask on a terminal whether to trust a program; return the reason to do so, or nothing."""
    question = f"{ref} {preset.acts} with your rights ({preset.module}). Trust it?"
    return "confirmed" if can_ask() and confirm(question) else ""
