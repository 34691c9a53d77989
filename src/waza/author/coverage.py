"""Which skills and agents have suites, how many tasks these have, and with which types of graders they grade."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.errors import SuiteError, UsageError
from waza.kit.share import percent
from waza.kit.text import pluralize
from waza.model.loaded import Project
from waza.problem import display_path
from waza.report.markdown import text as markdown_text
from waza.report.table import WIDTH, table
from waza.report.words import PASSED, one_line
from waza.suite.detect import DetectedSkill, detect_in, list_suites, read_tested_skill
from waza.suite.load import examine, find_tested, sort_problems
from waza.suite.loading import LoadOptions

Classification = Literal["✅ Full", "⚠️ Partial", "❌ None"]
FULL: Classification = "✅ Full"
PARTIAL: Classification = "⚠️ Partial"
NONE: Classification = "❌ None"

_TYPES_OF_FULL = 2  # of graders
_INNER = ("evals", "tests")  # directories of suites within that of a skill


class CoveredSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill or agent with what its suites have: `tasks` that run, and the types of graders that the files name.

    `outcomes` counts the outcomes that tasks describe (`expected.outcomes`). Nothing checks them, so they change no `coverage`.
    """

    skill: str
    kind: Literal["skill", "agent"]
    path: str
    tasks: int = 0
    outcomes: int = 0
    graders: tuple[str, ...] = ()
    coverage: Classification = NONE
    evals: tuple[str, ...] = ()


class CoverageReport(msgspec.Struct, frozen=True, kw_only=True):
    """The coverage of a workspace. `warnings` are what could not be read, and suites of skills that are not there."""

    skills: tuple[CoveredSkill, ...]
    evals: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def count(self, coverage: Classification) -> int:
        """Return how many skills are covered so."""
        return sum(one.coverage == coverage for one in self.skills)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document; `coverage_pct` is the percentage of fully covered skills, to one decimal.

        Skills have `outcomes` where their tasks describe any.
        """
        skills = [msgspec.to_builtins(one) for one in self.skills]
        return {
            "total_skills": len(self.skills),
            "covered": self.count(FULL),
            "partial": self.count(PARTIAL),
            "uncovered": self.count(NONE),
            "coverage_pct": float(self.share.removesuffix("%")),
            "skills": [
                {key: value for key, value in one.items() if value or key != "outcomes"} for one in skills
            ],
            "evals": list(self.evals),
        }

    @property
    def share(self) -> str:
        """How many of the skills are fully covered, as a percentage."""
        return percent(self.count(FULL) / len(self.skills))


class _SuiteFacts(msgspec.Struct, frozen=True):
    """What counts of a suite; one with mistakes has `is_sound` false, since no run can use it."""

    path: Path
    tasks: int
    outcomes: int
    graders: tuple[str, ...]
    is_sound: bool


def measure(
    root: Path, project: Project, more: Sequence[Path] = (), only: Collection[Path] = ()
) -> CoverageReport:
    """Look at all skills, agents and suites below a root and further directories.

    `only`: the report is about the skills and agents of these definitions. Raises UsageError if there is no skill and no
    agent.
    """
    keys = project.keys
    for directory in (root, *more):
        if not directory.is_dir():
            raise UsageError(f"there is no directory {directory}")
    everything = detect_in(root, keys.paths.skills, more)
    first = {one.name: one for one in reversed(everything)}
    targets = [one for one in everything if first[one.name] is one]
    if not targets:
        raise UsageError(f"there is no skill or agent below {root}; --path adds directories to look into")
    places = [root / keys.paths.evals, *more]
    suites = list(list_suites(root, places, [one.directory for one in targets], keys.files.evalFile))
    named = {name: one for one in reversed(targets) for name in (one.declared, one.name)}
    tested: dict[str, list[_SuiteFacts]] = {}
    warnings = [
        f"{display_path(one.definition)} is left out: {display_path(first[one.name].definition)} has the name {one.name!r}"
        for one in everything
        if one.definition != first[one.name].definition
    ]
    for path in suites:
        name = _tested_name(path, root / keys.paths.evals)
        if name is None:
            continue  # a scenario without a skill
        if name not in named:
            warnings.append(f"{display_path(path)} is a suite of {name!r}, which is not here")
            continue
        target = named[name]
        other = find_tested(path, target.directory)
        if other and os.path.realpath(other.path) != os.path.realpath(target.definition):
            warnings.append(
                f"{display_path(path)} tests {display_path(other.path)}, and not {display_path(target.definition)}"
            )
            continue
        facts, problem = _read(path)
        warnings += [problem] if problem else []
        tested.setdefault(target.name, []).append(facts)
    report = CoverageReport(
        skills=tuple(_covered(one, tested.get(one.name, ())) for one in targets),
        evals=tuple(map(display_path, suites)),
        warnings=tuple(warnings),
    )
    return _reduce(report, [display_path(path) for path in only]) if only else report


def _reduce(report: CoverageReport, only: Collection[str]) -> CoverageReport:
    """Return the report about the skills and agents of these definitions, and their suites."""
    skills = tuple(one for one in report.skills if one.path in only)
    of = pluralize(len(report.skills), "skill")
    if not skills:
        raise UsageError(
            f"none of the {of} and agents here was asked for; --path adds directories to look into"
        )
    asked = f"{len(skills)} of {of} and agents were asked for"
    evals = tuple(path for path in report.evals if any(path in one.evals for one in skills))
    return CoverageReport(skills=skills, evals=evals, warnings=(*report.warnings, asked))


def _tested_name(path: Path, evals: Path) -> str | None:
    """Return the name that a suite tests, by its `skill:` or its place; None for a scenario without a skill."""
    tested = read_tested_skill(path)
    if tested.name or tested.is_scenario:
        return tested.name or None
    if path.parent == evals:
        return path.stem
    return path.parent.parent.name if path.parent.name in _INNER else path.parent.name


def _read(path: Path) -> tuple[_SuiteFacts, str]:
    """Return what counts of a suite, and a warning about its mistakes or an empty text."""
    try:
        suite, loading = examine(path, LoadOptions())
    except SuiteError as error:
        return _SuiteFacts(path, 0, 0, (), False), f"{error.problems[0]}"
    problems = [problem for problem in sort_problems(loading) if problem.severity == "error"]
    built = chain(
        (one.spec.type for one in loading.graders),
        (one.spec.type for task in suite.tasks for one in task.all_graders if not one.spec.implicit),
    )
    types = tuple(sorted(set(built)))
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    warning = f"{problems[0]}{more}; it counts as partial coverage" if problems else ""
    outcomes = sum(len(task.expected.outcomes) for task in suite.tasks)
    return _SuiteFacts(path, len(suite.tasks), outcomes, types, not problems), warning


def _covered(target: DetectedSkill, suites: Sequence[_SuiteFacts]) -> CoveredSkill:
    tasks = sum(one.tasks for one in suites)
    graders = tuple(sorted({kind for one in suites for kind in one.graders}))
    is_full = tasks > 0 and len(graders) >= _TYPES_OF_FULL and all(one.is_sound for one in suites)
    return CoveredSkill(
        skill=target.name,
        kind="skill" if target.is_skill else "agent",
        path=display_path(target.definition),
        tasks=tasks,
        outcomes=sum(one.outcomes for one in suites),
        graders=graders,
        coverage=NONE if not suites else FULL if is_full else PARTIAL,
        evals=tuple(display_path(one.path) for one in suites),
    )


def text_lines(report: CoverageReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the report for people: what was found, then the grid."""
    yield f"Skills found: {len(report.skills)}"
    for one in report.skills:
        yield f"  {PASSED} {one_line(one.skill)} ({'SKILL.md' if one.kind == 'skill' else '.agent.md'})"
    yield ""
    yield f"Evaluations found: {len(report.evals)}"
    yield from (f"  {PASSED} {one_line(path)}" for path in report.evals)
    yield ""
    rows = [(one.skill, str(one.tasks), ", ".join(one.graders) or "-", one.coverage) for one in report.skills]
    yield from table(("Skill", "Tasks", "Graders", "Coverage"), rows, width)
    yield ""
    yield _summary(report)
    yield from _describe_outcomes(report)


def markdown_lines(report: CoverageReport) -> Iterator[str]:
    """Yield the report as a Markdown table."""
    yield "| Skill | Tasks | Graders | Coverage |"
    yield "|---|---:|---|---|"
    for one in report.skills:
        graders = ", ".join(map(markdown_text, one.graders)) or "-"
        yield f"| {markdown_text(one.skill)} | {one.tasks} | {graders} | {one.coverage} |"
    yield ""
    yield _summary(report)
    yield from ("", *map(markdown_text, found)) if (found := [*_describe_outcomes(report)]) else ()


def _describe_outcomes(report: CoverageReport) -> Iterator[str]:
    """Yield a line on the outcomes that tasks describe; nothing without any."""
    described = [f"{one.skill} {one.outcomes}" for one in report.skills if one.outcomes]
    if described:
        yield one_line(f"Described outcomes, which nothing checks: {', '.join(described)}")


def _summary(report: CoverageReport) -> str:
    counts = f"{report.count(FULL)} full, {report.count(PARTIAL)} partial, {report.count(NONE)} none"
    return f"Coverage: {report.share} ({counts})"
