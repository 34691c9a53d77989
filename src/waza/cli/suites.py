"""Which suites `waza run` runs: a path, a skill's name, the workspace around, or everything below a directory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.model.loaded import Project
from waza.report.words import Write
from waza.suite.detect import Found, detect, discover_tree, eval_for, looks_like_path


class Chosen(msgspec.Struct, frozen=True):
    """A suite to run, and the directory of the skill that it was found through, if any."""

    path: Path
    skill_dir: Path | None = None
    name: str = ""


def choose_suites(
    target: str | None, project: Project, say: Write, *, discover: bool, strict: bool
) -> list[Chosen]:
    """Return the suites to run. Raises UsageError where there is none, or one is missing under `strict`."""
    if discover:
        return _discovered(Path(target or "."), project, say, strict=strict)
    names = project.keys.files
    if target and Path(target).is_dir():
        found = [Path(target, name) for name in (names.evalFile, "eval.yaml") if Path(target, name).is_file()]
        if found:
            return [Chosen(found[0])]
        raise UsageError(
            f"{target} is a directory without {names.evalFile}; name a suite file, or use --discover"
        )
    if target and looks_like_path(target):
        return [Chosen(Path(target))]
    around = detect(Path.cwd(), project.directory / project.keys.paths.skills)
    if not around:
        what = f"no skill {target!r}" if target else "no skill or agent"
        raise UsageError(f"there is {what} around here; name a suite file: waza run path/to/eval.yaml")
    if target:
        around = [found for found in around if found.name == target]
        if not around:
            raise UsageError(
                f"skill {target!r} not found in the workspace; name a suite file, or one of its skills"
            )
    return _with_suites(around, project, say)


def _with_suites(around: list[Found], project: Project, say: Write) -> list[Chosen]:
    keys, chosen = project.keys, []
    for found in around:
        path = eval_for(found, found.root, keys.paths.evals, keys.files.evalFile)
        if path is None:
            say(f"skipping {found.name}: it has no {keys.files.evalFile}")
        else:
            chosen.append(Chosen(path, found.directory, found.name))
    if not chosen:
        names = ", ".join(found.name for found in around)
        raise UsageError(
            f"no {keys.files.evalFile} found for {names}; put one into {keys.paths.evals}<skill>/"
        )
    return chosen


def _discovered(root: Path, project: Project, say: Write, *, strict: bool) -> list[Chosen]:
    if not root.is_dir():
        raise UsageError(f"there is no directory {root} to discover skills in")
    skills = discover_tree(root, project.keys.files.evalFile)
    say(f"discovered {len(skills)} skill(s) in {root}")
    for found in skills:
        say(
            f"  ✓ {found.name}: {found.eval}"
            if found.eval
            else f"  ✗ {found.name}: no {project.keys.files.evalFile}"
        )
    missing = [found.name for found in skills if found.eval is None]
    if strict and missing:
        raise UsageError(f"skills without a suite: {', '.join(missing)}")
    chosen = [Chosen(found.eval, found.directory, found.name) for found in skills if found.eval]
    if not chosen:
        raise UsageError(
            f"no skill below {root} has a suite; put {project.keys.files.evalFile} beside SKILL.md"
        )
    return chosen
