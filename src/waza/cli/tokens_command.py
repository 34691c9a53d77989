"""What `waza tokens` does with its options."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from waza.author.tokens.compare import CompareOptions, compare_commits, comparison_lines
from waza.author.tokens.count import choose_counter
from waza.author.tokens.count_report import Order, count_files, count_lines
from waza.author.tokens.files import MarkdownFile, list_files, shown_path
from waza.author.tokens.limit_report import (
    LimitedSkill,
    compare_with_limits,
    limit_lines,
    make_limit_report,
)
from waza.author.tokens.limits import FileLimits
from waza.author.tokens.profile import profile, profile_lines, profiles_to_json
from waza.author.tokens.suggest import find_savings, savings_lines, savings_to_json
from waza.cli.find_targets import find_named, find_targets
from waza.cli.open_project import open_project
from waza.cli.streams import output_width, print_json, print_line, print_notice
from waza.errors import EXIT_ERROR, EXIT_FAILED, EXIT_OK, WazaError
from waza.model.loaded import Project
from waza.suite.definition import SKILL_FILE, make_absolute
from waza.suite.detect import DetectedSkill, detect_skills, looks_like_path
from waza.suite.project import find_project

if TYPE_CHECKING:
    from waza.cli.asking import AskArguments


def run_count(
    targets: Sequence[str], form: str, order: str, least: int, tokenizer: str, *, total: bool
) -> int:
    """Print the sizes of files, and return the exit code."""
    files = _read_files(_find_paths(targets, open_project()))
    report = count_files(files, choose_counter(tokenizer), cast("Order", order), least)
    if form == "json":
        print_json(report.to_json())
    else:
        print_line("\n".join(count_lines(report, output_width(), total=total)))
    return EXIT_OK


def run_check(targets: Sequence[str], form: str, tokenizer: str, *, strict: bool, quiet: bool) -> int:
    """Print files with their limits, and return the exit code."""
    project = open_project()
    counter, limits = choose_counter(tokenizer), FileLimits()
    around = [] if targets else _list_skills(project)
    by_skill = len(around) > 1
    if by_skill:
        skills = []
        for one in around:
            try:
                files = _read_files([_path_of(one)])
                skills.append(compare_with_limits(one.name, files, counter, limits))
            except WazaError as error:
                skills.append(LimitedSkill(one.name, error=str(error)))
    else:
        files = _read_files(_find_paths(targets, project))
        skills = [compare_with_limits("", files, counter, limits)]
    for path in limits.legacy:
        print_notice(
            f"warning: {shown_path(path)} is an older form of limits; write them to tokens.limits of .waza.yaml"
        )
    report = make_limit_report(skills, counter, by_skill=by_skill, quiet=quiet)
    if form == "json":
        print_json(report.to_json())
    elif text := "\n".join(limit_lines(report, output_width())):
        print_line(text)
    if unusable := [skill for skill in skills if skill.error]:
        print_notice(f"Error: {unusable[0].name}: {unusable[0].error}")
        return EXIT_ERROR
    return EXIT_FAILED if strict and report.exceeded else EXIT_OK


class CompareArguments(NamedTuple):
    """The arguments and options of `compare`."""

    refs: tuple[str, ...]
    form: str
    unchanged: bool
    strict: bool
    skills: bool
    threshold: float | None
    tokenizer: str


def run_compare(given: CompareArguments) -> int:
    """Print how tokens changed, and return the exit code."""
    open_project()
    options = CompareOptions(
        counter=choose_counter(given.tokenizer),
        skills=given.skills,
        threshold=given.threshold,
        strict=given.strict,
    )
    found = asyncio.run(compare_commits(Path.cwd(), given.refs, options))
    for note in found.notes:
        print_notice(f"warning: {note}")
    if given.form == "json":
        print_json(found.to_json(unchanged=given.unchanged))
    else:
        print_line("\n".join(comparison_lines(found, output_width(), unchanged=given.unchanged)))
    return EXIT_OK if found.passed else EXIT_FAILED


def run_profile(targets: Sequence[str], form: str, tokenizer: str) -> int:
    """Print how skills and agents are built, and return the exit code."""
    project, counter = open_project(), choose_counter(tokenizer)
    paths = [path for word in targets for path in _find_definitions(word, project)]
    if not targets:
        paths = [one.definition for one in find_targets((), project)]
    found = [
        profile(path, counter, find_project(path.parent).keys.tokens.warningThreshold)
        for path in dict.fromkeys(paths)
    ]
    if form == "json":
        print_json(profiles_to_json(found))
    else:
        print_line("\n".join(profile_lines(found)))
    return EXIT_OK


def _find_definitions(word: str, project: Project) -> list[Path]:
    path = make_absolute(Path(word))
    if path.name == f"{SKILL_FILE}x" and path.is_file():  # SKILL.mdx, which no agent reads and some write
        return [path]
    return [one.definition for one in find_targets([word], project)]


def run_suggest(
    targets: Sequence[str], form: str, least: int, tokenizer: str, asking: AskArguments | None
) -> int:
    """Print what could be shorter, with what a model says where one is to be asked, and return the exit code."""
    project, counter = open_project(), choose_counter(tokenizer)
    files = _read_files(_find_paths(targets, project))
    reports = find_savings(files, counter, FileLimits(), least)
    failures: list[str] = []
    if asking is not None:
        from waza.author.improve.shorten import advise_files
        from waza.cli.asking import choose_asker, print_questions, run_asker

        asker = choose_asker(asking, project, None)
        reports = run_asker(asker, advise_files(files, reports, asker, failures.append))
        if asking.show_prompt:
            print_questions(asker)
            return EXIT_OK
    if form == "json":
        print_json(savings_to_json(reports, counter.name))
    else:
        print_line("\n".join(savings_lines(reports, counter.name)))
    for failure in failures:
        print_notice(f"Error: {failure}")
    return EXIT_ERROR if failures else EXIT_OK


def _list_skills(project: Project) -> list[DetectedSkill]:
    return detect_skills(Path.cwd(), project.directory / project.keys.paths.skills, every=True)


def _find_paths(targets: Sequence[str], project: Project) -> list[Path]:
    """Return the files and directories that words mean: names of skills and agents, else paths."""
    if not targets:
        return [Path.cwd()]
    return [_find_path(word, project) for word in targets]


def _find_path(word: str, project: Project) -> Path:
    named = [] if looks_like_path(word) else find_named(word, project)
    if named:
        return _path_of(named[0])
    if looks_like_path(word) or (word and "\0" not in word and os.path.exists(word)):  # noqa: PTH110  # Path.exists raises for names that are too long
        return Path(word)
    return _path_of(find_targets([word], project)[0])  # refuses it, and says what is there


def _path_of(found: DetectedSkill) -> Path:
    """Return what belongs to a skill or agent: the directory of a skill, the file of an agent."""
    return found.directory if found.is_skill else found.definition


def _read_files(paths: Iterable[Path]) -> list[MarkdownFile]:
    files = list_files(paths)
    for file in files:
        if not file.is_whole:
            print_notice(
                f"warning: {file.name} is not UTF-8; bytes that cannot be read count as one character each"
            )
    return files
