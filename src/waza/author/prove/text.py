"""The report on proved suites for people: each suite with its tables and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from waza.author.check.text import finding_lines
from waza.author.prove.agents import AGENTS, EXCESS
from waza.author.prove.report import (
    GraderProof,
    Integrity,
    JudgeProbe,
    Noticed,
    Proof,
    ProveReport,
    SuiteProof,
    Tally,
)
from waza.kit.text import pluralize
from waza.report.table import WIDTH, table
from waza.report.words import one_line

_NOTHING = "—"
_GRADERS = ("Grader", "Caught", "Share", "Agents", "Changes")
_NOTICED = ("Agent or change", "Tasks that notice", "Share")


def report_lines(report: ProveReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of the whole report."""
    for number, suite in enumerate(report.suites):
        if number:
            yield ""
        yield from _head_lines(suite)
        yield from _table_lines(suite, width)
        if suite.prove:
            yield from _reason_lines(suite.prove)
        if suite.integrity:
            yield from _integrity_lines(suite.integrity)
        yield ""
        yield f"Findings ({len(suite.findings)})"
        yield from finding_lines(suite.findings)


def table_lines(report: ProveReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the tables alone."""
    for number, suite in enumerate(report.suites):
        if number:
            yield ""
        yield from _head_lines(suite)
        yield from _table_lines(suite, width)


def _head_lines(suite: SuiteProof) -> Iterator[str]:
    yield f"Suite: {one_line(suite.name)}"
    yield f"  {one_line(suite.path)}"
    if not suite.readable:
        yield "  cannot be read"


def _table_lines(suite: SuiteProof, width: int) -> Iterator[str]:
    proof = suite.prove
    if proof is None:
        return
    answers = pluralize(proof.answers, "passing answer")
    yield f"  {pluralize(proof.tasks, 'task')} with {answers}, proved by {pluralize(proof.runs, 'run')}"
    if proof.graders:
        yield ""
        yield from table(_GRADERS, [_grader_row(one) for one in proof.graders], width)
        yield ""
        yield from table(_NOTICED, [_noticed_row(one) for one in (*proof.agents, *proof.changes)], width)


def _name(grader: GraderProof) -> str:
    name = f"{grader.task}: {grader.name}" if grader.task else grader.name
    return name if grader.after_turn is None else f"{name} after turn {grader.after_turn}"


def _reasons_of(grader: GraderProof) -> dict[str, list[str]]:
    """Return why a grader was not held against agents and changes, with their names. That it forbids nothing is no news."""
    found: dict[str, list[str]] = {}
    for name, tally in (*grader.agents.items(), *grader.changes.items()):
        for reason in tally.not_applicable if name != EXCESS else ():
            found.setdefault(reason, []).append(name)
    return found


def _grader_row(grader: GraderProof) -> tuple[str, ...]:
    name = _name(grader)
    if not grader.proved:
        return (name, "not proved", _NOTHING, _NOTHING, _NOTHING)
    return (
        name,
        f"{grader.caught}/{grader.tried}",
        f"{grader.share:.0%}" if grader.share is not None else _NOTHING,
        _sum(grader.agents),
        _sum(grader.changes),
    )


def _sum(tallies: Mapping[str, Tally]) -> str:
    tried = sum(one.tried for one in tallies.values())
    return f"{sum(one.caught for one in tallies.values())}/{tried}" if tried else _NOTHING


def _noticed_row(one: Noticed) -> tuple[str, ...]:
    if not one.tried:
        return (one.name, "not applicable", _NOTHING)
    return (one.name, f"{one.caught}/{one.tried}", f"{one.caught / one.tried:.0%}")


def _reason_lines(proof: Proof) -> Iterator[str]:
    """Yield what was not applicable, and why."""
    reasons = [
        (one.name, one.not_applicable) for one in (*proof.agents, *proof.changes) if one.not_applicable
    ]
    if reasons or any(one.proved for one in proof.graders):
        yield ""
        yield "Not applicable"
    for name, why in reasons:
        for reason, tasks in why.items():
            yield f"  {name}, {pluralize(tasks, 'task')}: {one_line(reason)}"
    general = {reason for _, why in reasons for reason in why}
    for grader in proof.graders:
        for reason, names in _reasons_of(grader).items():
            if reason not in general:
                yield f"  {one_line(_name(grader))}: {', '.join(names)}: {one_line(reason)}"
    if any(one.tried for one in proof.agents):
        yield ""
        yield "Agents that should fail"
        yield from (f"  {name} {does}" for name, does in AGENTS.items())


def _integrity_lines(looked: Integrity) -> Iterator[str]:
    yield ""
    yield "Integrity"
    yield f"  Suite directory: {'known to the agent' if looked.suite_dir else 'not passed to the agent'}"
    yield f"  Given to agents: {pluralize(len(looked.given), 'file')} of the suite"
    yield f"  Files of graders: {looked.grader_files} compared before and after the answers were run"
    yield f"  Canary: {looked.canary}"
    yield from (f"  Judge of {_judge(one)}" for one in looked.judges)


def _judge(one: JudgeProbe) -> str:
    return f"{one_line(one.name)}: withstood {one.held} of {pluralize(one.tried, 'injection')}"
