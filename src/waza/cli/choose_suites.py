"""Which suites `waza run` runs: a path, a skill's name, the workspace around, or everything below a directory."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from waza.cli.find_targets import find_around, find_named
from waza.errors import UsageError
from waza.kit.text import pluralize
from waza.model.loaded import Project
from waza.report.words import Write, status_mark
from waza.suite.detect import (
    EVAL_FILE,
    DetectedSkill,
    DirectorySuite,
    discover_tree,
    find_suite,
    looks_like_path,
    read_directory_suite,
)


class Chosen(msgspec.Struct, frozen=True):
    """A suite to run, and the directory of the skill that it was found through, if any."""

    path: Path
    skill_dir: Path | None = None
    name: str = ""


class Choice(msgspec.Struct, frozen=True):
    """The suites to run, and the names of the skills that were found and have none."""

    suites: list[Chosen]
    without_suite: tuple[str, ...] = ()


def choose_suites(
    target: str | None, project: Project, say: Write, *, discover: bool, strict: bool
) -> Choice:
    """Return the suites to run. Raises UsageError if there are no suites, or one is missing under `strict`."""
    if discover:
        return _discovered(Path(target or "."), project, say, strict=strict)
    eval_file = project.keys.files.evalFile
    directory = _directory(target)
    if directory:
        found = [directory / name for name in (eval_file, EVAL_FILE) if (directory / name).is_file()]
        if found:
            return Choice([Chosen(found[0])])
    elif target and looks_like_path(target):
        return Choice([Chosen(Path(target))])
    wanted = find_named(target, project)
    here = read_directory_suite(Path.cwd(), eval_file)
    chosen, without = _with_suites(wanted, project, here)
    if here and not chosen and (target is None or target in here.names):
        chosen = [Chosen(here.path)]
    if chosen:
        _pass_over(without, eval_file, say, strict=strict)
        return Choice(chosen, tuple(without))
    if directory:
        message = f"{target} is a directory without {eval_file}; name a suite file, or use --discover"
        raise UsageError(message)
    other = _other(here)
    if wanted:
        names = ", ".join(found.name for found in wanted)
        places = f"{project.keys.paths.evals.rstrip('/')}/<skill>/, or next to SKILL.md"
        raise UsageError(f"no {eval_file} found for {names}; put one into {places}{other}")
    raise UsageError(f"{_nothing(target, project)}{other}")


def _other(here: DirectorySuite | None) -> str:
    """Return what the suite of the current directory is, which is not the one that was asked for."""
    if here is None:
        return ""
    tests = f"is a suite of {here.skill!r}" if here.skill else "is a suite without 'skill:'"
    return f"; {here.path.name} here {tests}, run by its name: waza run {here.path.name}"


def _directory(target: str | None) -> Path | None:
    # Not Path.is_dir, which raises for names that are too long.
    return Path(target) if target and os.path.isdir(target) else None  # noqa: PTH112  # see above


def _nothing(target: str | None, project: Project) -> str:
    what = f"no skill or agent {target!r}" if target else "no skill or agent"
    around = find_around(project)
    if around:
        return f"there is {what} around here, only {', '.join(sorted({found.name for found in around}))}"
    return f"there is {what} around here; name a suite file (waza run path/to/eval.yaml), or use --discover"


def _with_suites(
    around: list[DetectedSkill], project: Project, here: DirectorySuite | None
) -> tuple[list[Chosen], list[str]]:
    """Return what is to run of skills and agents, and the names of those without a suite.

    Each is run with its suite, last the one `here` if that tests it.
    """
    keys, chosen, without = project.keys, list[Chosen](), list[str]()
    for found in around:
        path = found.eval or find_suite(found, found.root, keys.paths.evals, keys.files.evalFile)
        if path is None and here and here.names & {found.name, found.declared}:
            path = here.path
        if path is None:
            without.append(found.name)
        else:
            chosen.append(Chosen(path, found.directory, found.name))
    return chosen, without


def _pass_over(without: list[str], eval_file: str, say: Write, *, strict: bool) -> None:
    _refuse_missing(without, strict=strict)
    for name in without:
        say(f"skipping {name}: it has no {eval_file}")


def _refuse_missing(without: list[str], *, strict: bool) -> None:
    if strict and without:
        raise UsageError(f"skills without a suite: {', '.join(without)}; nothing was run (--strict)")


def _discovered(root: Path, project: Project, say: Write, *, strict: bool) -> Choice:
    if not root.is_dir():
        raise UsageError(f"there is no directory {root} to discover skills in")
    eval_file = project.keys.files.evalFile
    skills = discover_tree(root, eval_file, project.keys.paths.evals)
    say(f"Discovered {pluralize(len(skills), 'skill')} in {root}")
    for found in skills:
        mark = status_mark("passed" if found.eval else "failed")
        place = os.path.relpath(found.eval, found.root) if found.eval else f"no {eval_file}"
        say(f"  {mark} {found.name}: {place}")
    missing = [found.name for found in skills if found.eval is None]
    _refuse_missing(missing, strict=strict)
    chosen = [Chosen(found.eval, found.directory, found.name) for found in skills if found.eval]
    if not chosen:
        raise UsageError(f"no skill below {root} has a suite; put {eval_file} next to SKILL.md")
    return Choice(chosen, tuple(missing))
