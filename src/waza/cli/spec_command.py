"""What `waza spec verify` does with its options."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import NamedTuple

from waza.author.improve.ask import Asker
from waza.author.spec_verify.verify import Severity, SpecReport, annotation_lines, human_lines, verify
from waza.cli.asking import AskArguments, choose_asker, print_questions, run_asker
from waza.cli.choose_suites import choose_suite
from waza.cli.find_targets import find_one_target, find_targets, repository_of
from waza.cli.open_project import open_project
from waza.cli.streams import print_commands, print_json, print_line, print_notice, print_problems
from waza.errors import EXIT_ERROR, EXIT_FAILED, EXIT_OK, UsageError
from waza.kit.scripted_replies import SCRIPT_PREFIX
from waza.model.loaded import Project, Suite
from waza.suite.detect import DetectedSkill, detect_below
from waza.suite.discover import list_definitions, read_target
from waza.suite.load import load
from waza.suite.loading import LoadOptions
from waza.suite.locate import find_suite_of


class VerifyArguments(NamedTuple):
    """The arguments and options of the command."""

    skill: str
    suite: str
    form: str
    warn: bool
    fail: bool
    threshold: int
    semantic: bool
    judge_model: str
    timeout: float
    executor: str
    max_tokens: int
    show_prompt: bool


def run_verify(given: VerifyArguments) -> int:
    """Verify, print the report, and return the exit code."""
    project = open_project()
    target = _find_skill(given.skill, project)
    if given.suite:
        path: Path | None = choose_suite(given.suite, project).path
    else:
        path = find_suite_of(target)
    if path is None:
        raise UsageError(f"there is no suite of {target.name!r}; name it: waza spec verify SKILL EVAL.YAML")
    executor = "" if given.executor.startswith(SCRIPT_PREFIX) else given.executor
    suite = load(path, LoadOptions(executor=executor, skill_dir=target.directory))
    print_problems(suite.warnings)
    asker = _make_asker(given, suite, project) if given.semantic else None
    work = verify(target.definition, suite, asker)
    report = run_asker(asker, work) if asker else asyncio.run(work)
    if asker is not None and given.show_prompt:
        print_questions(asker)
        return EXIT_OK
    is_failure = given.fail and len(report.uncovered) >= given.threshold
    _print(report, given.form, "error" if is_failure else "warning" if given.warn else "notice")
    if report.failures:
        print_notice(f"Error: the judge gave no answer: {report.failures[0].judge_error}")
        return EXIT_ERROR
    return EXIT_FAILED if is_failure else EXIT_OK


def _make_asker(given: VerifyArguments, suite: Suite, project: Project) -> Asker:
    asking = AskArguments(
        executor=given.executor,
        model=given.judge_model,
        max_tokens=given.max_tokens,
        show_prompt=given.show_prompt,
        timeout=given.timeout,
    )
    return choose_asker(asking, project, suite)


def _find_skill(wanted: str, project: Project) -> DetectedSkill:
    """Return the skill that is meant: by name or path, else that of the current directory or the only one below it.

    Raises SuiteError for one that is broken.
    """
    here = Path.cwd()
    if wanted:
        return find_one_target(wanted, "spec verify", project)
    found = find_targets([str(here)], project) if list_definitions(here) else detect_below(here)
    if len(found) != 1:
        names = ", ".join(sorted(one.name for one in found)) or "none"
        raise UsageError(f"name the skill: waza spec verify SKILL (found: {names})")
    read_target(found[0].definition)
    return found[0]


def _print(report: SpecReport, form: str, severity: Severity) -> None:
    if form == "json":
        print_json(report.to_json())
    elif form == "github-actions":
        print_commands(annotation_lines(report, severity, repository_of(Path.cwd())))
    else:
        print_line("\n".join(human_lines(report, severity)))
