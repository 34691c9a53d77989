"""`waza get`: graders from elsewhere, fetched and pinned."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from waza.registry.get import GetResult


@click.command(epilog="Example: waza get evals/my-skill/eval.yaml")
@click.argument("target", default="eval.yaml", metavar="[EVAL.YAML | REF]")
def command(target: str) -> int:
    """Fetch the graders that a suite names by `ref`, and pin them in waza.lock next to it.

    With a ref instead of a file, that one is added to waza.lock in the current directory. Runs never fetch.
    """
    import asyncio

    from waza.cli.streams import print_line
    from waza.errors import EXIT_OK, UsageError
    from waza.kit.text import pluralize
    from waza.registry.preset import ModulePack

    suite = Path(target).absolute()
    if suite.is_file():
        got, count, path = asyncio.run(_get_suite(suite))
    elif "@" in target:
        got, count, path = asyncio.run(_get_ref(target.strip()))
    else:
        raise UsageError(f"there is no suite {target}; name its file, or a ref")
    for one in got:
        print_line("\n".join(fetched_line(one, Path(target) if suite.is_file() else None)))
    what = "ref" if any(isinstance(one.preset, ModulePack) for one in got) else "grader"
    print_line(f"{pluralize(count, what)} pinned in {path}")
    return EXIT_OK


async def _get_suite(suite: Path) -> tuple[list[GetResult], int, Path]:
    """Pin all refs of a suite in a fresh lock, which a broken one cannot prevent."""
    from waza.cli.streams import print_notice
    from waza.errors import SuiteError, UsageError
    from waza.kit.directory_lock import lock_directory
    from waza.registry.get import Getter, suite_refs
    from waza.registry.lock import read_lock, write_lock
    from waza.suite.project import find_project

    refs = suite_refs(suite)
    if not refs:
        raise UsageError(f"{suite.name} has no graders with 'ref'; there is nothing to get")
    with lock_directory(suite.parent):
        try:
            known = read_lock(suite.parent)
        except SuiteError as error:
            print_notice(
                f"warning: {error}\nwarning: the lock is written again; what it trusted must be trusted again"
            )
            known = None
        getter = Getter(known, find_project(Path.cwd()).keys.hosts)
        got = [await getter.get(ref) for ref in refs]
        return got, len(got), write_lock(suite.parent, [one.entry for one in got])


async def _get_ref(ref: str) -> tuple[list[GetResult], int, Path]:
    """Pin one ref in the lock of the current directory."""
    from waza.kit.directory_lock import lock_directory
    from waza.registry.get import Getter
    from waza.registry.lock import LockFile, read_lock, write_lock
    from waza.suite.project import find_project

    with lock_directory(Path.cwd()):
        known = read_lock(Path.cwd()) or LockFile()
        got = await Getter(known, find_project(Path.cwd()).keys.hosts).get(ref)
        lock = known.with_entry(got.entry)
        return [got], len(lock.graders), write_lock(Path.cwd(), lock.graders)


def fetched_line(got: GetResult, suite: Path | None) -> list[str]:
    """Return what to say of a ref that was fetched: what it is now, what it was, and what it still needs."""
    entry, before = got.entry, got.before
    lines = [f"{entry.ref}: commit {entry.commit[:12]}, {entry.digest}"]
    if before and before.commit != entry.commit:
        lines.append(f"  changed: it was commit {before.commit[:12]}; look at what changed")
        if before.trusted:
            lines.append("  its trust is revoked, because it was given to the commit before")
    if got.preset.needs_trust and not entry.trusted:
        lines.append(f"  it {got.preset.acts}; look at {got.preset.module}, then trust it with:")
        where = f" --eval {shlex.quote(str(suite))}" if suite else ""
        lines.append(f"  waza registry add {shlex.quote(entry.ref)} --allow-exec{where}")
    return lines
