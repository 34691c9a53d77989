"""What `waza registry add` does: fetch, ask for trust, edit the suite, pin."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from waza.cli.get import told
from waza.cli.text import require_utf8
from waza.errors import EXIT_OK, UsageError
from waza.kit import yaml
from waza.kit.decode import dotted
from waza.kit.files import write_atomic
from waza.model.suite import GraderEntry
from waza.registry.build import read_preset
from waza.registry.edit import with_grader
from waza.registry.get import Getter, Got, suite_refs
from waza.registry.lock import FILE, Entry, LockFile, read_lock, write_lock
from waza.registry.preset import Preset, merged
from waza.registry.scalar import scalar
from waza.report.words import printer
from waza.suite.project import find_project

_INTEGER = re.compile(r"[-+]?\d{1,300}", re.ASCII)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


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
        """Whether nothing is said of the grader but its ref."""
        return not (self.name or self.settings or self.weight is not None)


async def add_grader(addition: Addition) -> int:
    """Add a grader to a suite and pin it. What is in the suite already is only pinned, and trusted.

    Raises UsageError when its program is not trusted, or the suite cannot be edited; nothing is changed then.
    """
    suite, say = addition.suite.absolute(), printer(sys.stdout)
    entry = entry_of(addition)
    before, edited = _edited(suite, addition, entry)
    known = read_lock(suite.parent) or LockFile()
    got = await Getter(known, find_project(Path.cwd()).keys.hosts).get(addition.ref)
    preset = got.preset if edited == before else _checked(got, entry)
    if addition.dry_run:
        if edited != before:
            say(f"would add to {addition.suite}: {msgspec.json.encode(entry).decode()}")
        say("\n".join(["would pin:", *told(got, addition.suite)]))
        return EXIT_OK
    lock = known.with_entry(_trusted(got.entry, preset, addition))
    _write(suite, before, edited, lock)
    done = "was added to" if edited != before else "is in"
    say(f"{addition.ref} {done} {addition.suite}, and is pinned in {suite.parent / FILE}")
    return EXIT_OK


def _edited(suite: Path, addition: Addition, entry: dict[str, Any]) -> tuple[bytes, bytes]:
    """Return the suite's file as it is, and as it shall be."""
    if not suite.is_file():
        raise UsageError(f"there is no suite {addition.suite}; name its file with --eval")
    before = suite.read_bytes()
    if addition.bare and addition.ref in suite_refs(suite):
        return before, before
    try:
        text = before.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{addition.suite} is not UTF-8 text; save it as UTF-8") from None
    return before, with_grader(text, entry).encode()


def _checked(got: Got, entry: dict[str, Any]) -> Preset:
    """Return the grader as it would be in the suite. Raises UsageError if it could not be used there."""
    node = yaml.load(scalar(entry).encode())
    if not isinstance(node, yaml.Mapping):
        raise TypeError("an entry is a mapping")
    preset = merged(got.preset, GraderEntry(name=entry.get("name", "")), node)
    _, findings = read_preset(preset, Path())
    faults = [
        f"{got.entry.ref}: {dotted(('config', *finding.path))}: {finding.text}"
        for finding in findings
        if not finding.warning
    ]
    if faults:
        raise UsageError("\n".join(faults))
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
        if not math.isfinite(addition.weight):
            raise UsageError(f"--weight {addition.weight} is no finite number")
        entry["weight"] = addition.weight
    config: dict[str, Any] = {}
    for setting in (part for text in addition.settings for part in text.split(",")):
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
    place[last] = parse_value(value)


def parse_value(text: str) -> bool | float | str:
    """Return a `--set` value: true, false, a whole number, a number, else the text."""
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text


def _trusted(entry: Entry, preset: Preset, addition: Addition) -> Entry:
    """Return the lock entry, trusted if that is wanted. Raises UsageError if it runs a program and it is not."""
    if entry.trusted or not (preset.needs_trust or addition.allow_exec):
        return entry
    reason = (
        "--allow-exec" if addition.allow_exec else "--yes" if addition.yes else _asked(addition.ref, preset)
    )
    if not reason:
        raise UsageError(
            f"{addition.ref} runs a program; nothing was changed. Look at {preset.module}, then add --allow-exec"
        )
    return msgspec.structs.replace(entry, trusted=True, trust_reason=reason)


def _asked(ref: str, preset: Preset) -> str:
    """Ask on a terminal whether to trust a program; return the reason to do so, or nothing."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    sys.stderr.write(f"{ref} runs a program with your rights ({preset.module}). Trust it? [y/N] ")
    sys.stderr.flush()
    return "confirmed" if sys.stdin.readline().strip().lower() in ("y", "yes") else ""
