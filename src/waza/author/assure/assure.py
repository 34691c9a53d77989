"""`assure`: the graders of a suite against reference cases, which the engine runs as it runs any answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from waza.author.assure.findings import Coverage, find
from waza.author.assure.judge_case import judge_case, why_not_asked
from waza.author.assure.references import JoinedCase, read_references
from waza.author.assure.report import AssuranceReport, CaseReport
from waza.author.check.finding import of_problem, sort_findings
from waza.author.prove.graders import ProvableGrader, graders_by_task
from waza.author.prove.material import provable_tasks
from waza.author.prove.options import ProveOptions
from waza.author.prove.probe import Probe
from waza.author.prove.run_probes import ProbeRun, keep_graders, run_probes
from waza.errors import SuiteError
from waza.kit.moments import write_now
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.result import TrialResult
from waza.model.task import Task
from waza.model.verdict import BuiltGrader
from waza.problem import display_path
from waza.suite.load import examine, sort_problems
from waza.suite.loading import LoadOptions


def assure(path: Path, skill_dir: Path | None, references: Path, options: ProveOptions) -> AssuranceReport:
    """Hold the graders of a suite against the cases of a file.

    `skill_dir` is the directory of the skill that the suite was found by, if any. Raises SuiteError for mistakes in the
    suite or the cases, and WazaError if a run cannot go on.
    """
    suite, loading = examine(path, LoadOptions(skill_dir=skill_dir))
    problems = sort_problems(loading)
    if any(problem.severity == "error" for problem in problems):
        raise SuiteError(problems)
    tasks = provable_tasks(suite, options, most=None)
    graders = graders_by_task(suite, loading, tasks, options)
    found = read_references(references, loading, tasks, graders)
    cases = _run(suite, found, graders, options)
    coverage = Coverage.of(cases, found, graders, tasks)
    return AssuranceReport(
        timestamp=write_now(),
        suite=suite.name,
        path=display_path(path.absolute()),
        references=display_path(references.absolute()),
        executor=loading.file.config.executor,
        cases=tuple(cases),
        graders=coverage.graders,
        tasks=coverage.tasks,
        findings=sort_findings([*map(of_problem, problems), *find(loading, tasks, cases, coverage)]),
        shows=tuple(_what_it_shows(cases)),
    )


def _run(
    suite: Suite,
    references: Sequence[JoinedCase],
    graders: Mapping[str, Sequence[ProvableGrader]],
    options: ProveOptions,
) -> list[CaseReport]:
    """Run the answers of cases, and return whether each case holds, in the same order."""
    by_id = {one.case.id: one for one in references}
    found = {one.case.id: judge_case(one, graders[one.task.id], None) for one in references}

    def see(run: ProbeRun, result: TrialResult) -> None:
        one = by_id[run.probe.name]
        found[one.case.id] = judge_case(one, graders[one.task.id], result)

    run_probes(suite, [_probe(one, graders[one.task.id]) for one in references], see, options)
    return list(found.values())


def _probe(one: JoinedCase, graders: Sequence[ProvableGrader]) -> ProbeRun:
    asked = {id(grader.built) for grader in graders if not why_not_asked(one, grader)}
    task: Task = keep_graders(one.task, partial(_is_in, asked))
    return ProbeRun(task, Probe(name=one.case.id, kind="answer", script=one.script))


def _is_in(asked: Collection[int], built: BuiltGrader) -> bool:
    return id(built) in asked


def _what_it_shows(cases: Sequence[CaseReport]) -> Iterator[str]:
    """Yield what the cases show and what they do not, in sentences."""
    yield (
        f"{pluralize(len(cases), 'case')} written for this suite: that a case holds shows what graders say of "
        "this one answer. It shows neither how often they err about other answers, nor anything about an agent."
    )
    if any(one.reason for one in cases):
        yield "The reasons of cases are for people. They were not compared with what graders say."
    if any(verdict.by_judge and verdict.passed is not None for one in cases for verdict in one.verdicts):
        yield "Each judge was asked once about a case, and may answer otherwise when it is asked again."
