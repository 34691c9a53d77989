"""What `waza registry add` does: fetch, ask for trust, edit the suite, pin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from waza.cli.registry import parse_value
from waza.errors import EXIT_OK, UsageError
from waza.kit.files import write_atomic
from waza.registry.edit import with_grader
from waza.registry.get import Got, get_ref
from waza.registry.lock import LockFile, read_lock, write_lock
from waza.report.words import printer
from waza.suite.project import find_project


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be added to which suite."""

    ref: str
    suite: Path
    name: str = ""
    settings: tuple[str, ...] = ()
    weight: float | None = None
    allow_exec: bool = False
    dry_run: bool = False


async def add_grader(addition: Addition) -> int:
    """Add a grader to a suite. Raises UsageError when its program is not trusted, or the suite cannot be edited."""
    suite, say = addition.suite.absolute(), printer(sys.stdout)
    if not suite.is_file():
        raise UsageError(f"there is no suite {addition.suite}; name its file with --eval")
    text = suite.read_bytes().decode("utf-8-sig")
    entry = entry_of(addition)
    edited = with_grader(text, entry)
    known = read_lock(suite.parent) or LockFile()
    got = await get_ref(addition.ref, known, find_project(Path.cwd()).keys.hosts)
    if addition.dry_run:
        say(f"would add to {addition.suite}: {msgspec.json.encode(entry).decode()}")
        say(f"would pin: {got.entry.commit}, {got.entry.digest}")
        return EXIT_OK
    lock = known.with_entry(_trusted(got, addition))
    write_atomic(suite, edited.encode())
    path = write_lock(suite.parent, lock.graders)
    say(f"{addition.ref} was added to {addition.suite} and pinned in {path}")
    return EXIT_OK


def entry_of(addition: Addition) -> dict[str, Any]:
    """Return the grader entry; settings are keys of its config, nested at dots. Raises UsageError."""
    entry: dict[str, Any] = {"ref": addition.ref}
    if addition.name:
        entry["name"] = addition.name
    if addition.weight is not None:
        entry["weight"] = addition.weight
    config: dict[str, Any] = {}
    for setting in (part for text in addition.settings for part in text.split(",")):
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set {setting!r} is no KEY=VALUE")
        *parents, last = key.strip().removeprefix("config.").split(".")
        place = config
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise UsageError(f"--set {setting!r} goes below a value that is no mapping")
        place[last] = parse_value(value)
    return {**entry, "config": config} if config else entry


def _trusted(got: Got, addition: Addition) -> Any:
    """Return the lock entry, trusted if it runs a program and that is wanted. Raises UsageError if it is not."""
    if not got.preset.runs_program or got.entry.trusted:
        return got.entry
    if addition.allow_exec:
        return msgspec.structs.replace(got.entry, trusted=True, trust_reason="--allow-exec")
    if sys.stdin.isatty() and sys.stderr.isatty():
        sys.stderr.write(
            f"{addition.ref} runs a program with your rights ({got.preset.module}). Trust it? [y/N] "
        )
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return msgspec.structs.replace(got.entry, trusted=True, trust_reason="confirmed")
    raise UsageError(
        f"{addition.ref} runs a program; nothing was changed. Look at {got.preset.module}, then add --allow-exec"
    )
