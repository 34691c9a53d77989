"""`waza get`: graders from elsewhere, fetched and pinned."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command(epilog="Example: waza get evals/my-skill/eval.yaml")
@click.argument("target", default="eval.yaml", metavar="[EVAL.YAML | REF]")
def command(target: str) -> int:
    """Fetch the graders that a suite names by `ref`, and pin them in waza.lock beside it.

    With a ref instead of a file, that one is added to waza.lock in the current directory. Runs never fetch.
    """
    import asyncio

    from waza.errors import EXIT_OK, UsageError
    from waza.kit.glob import expand
    from waza.registry.get import get_ref, get_suite
    from waza.registry.lock import LockFile, read_lock, write_lock
    from waza.report.words import printer
    from waza.suite.project import find_project

    say, hosts = printer(sys.stdout), find_project(Path.cwd()).keys.hosts
    if "@" in target and not Path(target).exists():
        known = read_lock(Path.cwd()) or LockFile()
        got = asyncio.run(get_ref(target, known, hosts))
        lock = known.with_entry(got.entry)
        path = write_lock(Path.cwd(), lock.graders)
        say(f"{got.entry.ref}: {got.entry.commit[:12]}, {got.entry.digest}")
    else:
        suite = Path(target).absolute()
        if not suite.is_file():
            raise UsageError(f"there is no suite {target}; name its file, or a ref")
        tasks = [task for pattern in _patterns(suite) for task in expand(suite.parent, pattern)]
        path = asyncio.run(get_suite(suite, hosts, tasks))
        lock = read_lock(path.parent) or LockFile()
    say(f"{len(lock.graders)} graders are pinned in {path}")
    return EXIT_OK


def _patterns(suite: Path) -> list[str]:
    from waza.kit import yaml

    try:
        root = yaml.plain(yaml.load(suite.read_bytes()))
    except yaml.YamlError:
        return []  # told when the suite's own refs are read
    tasks = root.get("tasks") if isinstance(root, dict) else None
    return [pattern for pattern in tasks if isinstance(pattern, str)] if isinstance(tasks, list) else []
