"""What `waza cache` does with its options."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from waza.cli.choose_suites import choose_suites
from waza.cli.open_project import open_project
from waza.cli.streams import print_json, print_line, print_notice
from waza.engine.cache import CachedTask, list_cached
from waza.engine.cache_directory import CacheContents, clear_cache_directory, read_cache_directory
from waza.errors import EXIT_OK, UsageError
from waza.kit.text import describe_size, pluralize
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.words import PASSED, SKIPPED, moment, one_line
from waza.suite.load import load
from waza.suite.loading import LoadOptions


class CachedSuite(msgspec.Struct, frozen=True, kw_only=True):
    """What the cache has of a suite on one model."""

    suite: str
    model: str
    tasks: list[CachedTask]


class CacheReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `waza cache info --json` prints."""

    cache: CacheContents
    suites: list[CachedSuite]


def show_cache(
    targets: tuple[str, ...], directory: Path | None, executor: str, model: str, *, as_json: bool
) -> int:
    """Print what a cache holds, and what of it the suites would take; return the exit code."""
    project = open_project()
    place = _place(directory, project)
    if (executor or model) and not targets:
        raise UsageError("--executor and --model are of a run; name its suite: waza cache info EVAL.YAML")
    suites = _suites(targets, project, place, executor, model) if targets else []
    report = CacheReport(cache=read_cache_directory(place), suites=suites)
    if as_json:
        print_json(report)
    else:
        print_line("\n".join(_lines(report)))
    return EXIT_OK


def clear_cache(directory: Path | None) -> int:
    """Remove a cache and say what was removed; return the exit code."""
    place = _place(directory, open_project())
    found = clear_cache_directory(place)
    if found.entries or found.bytes:
        print_line(f"Cleared {display_path(place)}: {_count(found)}, {describe_size(found.bytes)}")
    else:
        print_line(f"There is no cache in {display_path(place)}")
    return EXIT_OK


def _place(directory: Path | None, project: Project) -> Path:
    return directory.absolute() if directory else project.directory / project.keys.cache.dir


def _suites(
    targets: tuple[str, ...], project: Project, place: Path, executor: str, model: str
) -> list[CachedSuite]:
    found: list[CachedSuite] = []
    for one in choose_suites(targets, project, print_notice).suites:
        options = LoadOptions(
            executor=executor,
            models=(model,) if model else (),
            judge_model=project.keys.defaults.judgeModel,
            skill_dir=one.skill_dir,
        )
        suite = load(one.path, options)
        for name in suite.models:
            tasks = asyncio.run(list_cached(place, suite, name))
            found.append(CachedSuite(suite=display_path(suite.path), model=name, tasks=tasks))
    return found


def _lines(report: CacheReport) -> Iterator[str]:
    cache = report.cache
    yield f"Cache:   {display_path(Path(cache.directory))}"
    yield f"Entries: {_count(cache)}, {describe_size(cache.bytes)}"
    if cache.oldest:
        yield f"Written: {moment(cache.oldest)} to {moment(cache.newest)}"
    if cache.others:
        yield f"Besides: {', '.join(map(one_line, cache.others))} (not of a cache)"
    for suite in report.suites:
        cached = sum(task.cached for task in suite.tasks)
        yield ""
        yield f"{suite.suite} on {suite.model or 'the default model'}: {cached} of {pluralize(len(suite.tasks), 'task')} cached"
        yield from _task_lines(suite.tasks)


def _task_lines(tasks: Sequence[CachedTask]) -> Iterator[str]:
    for task in tasks:
        arm = ", without skills" if task.arm == "baseline" else ""
        how = f": never cached, {task.why}" if task.why else f" ({task.key[:12]})"
        yield f"  {PASSED if task.cached else SKIPPED} {one_line(task.task)}{arm}{how}"


def _count(cache: CacheContents) -> str:
    workspaces = f" and {pluralize(cache.workspaces, 'workspace')}" if cache.workspaces else ""
    return f"{pluralize(cache.entries, 'task')}{workspaces}"
