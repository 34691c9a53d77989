"""`prove_suites`: from suites to the report on whether they can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.author.check.finding import Finding, of_problem, sort_findings
from waza.author.prove.integrity import integrity
from waza.author.prove.options import ProveOptions
from waza.author.prove.prove import prove
from waza.author.prove.report import Integrity, Proof, ProveReport, SuiteProof
from waza.errors import SuiteError
from waza.kit.moments import write_now
from waza.problem import display_path
from waza.suite.load import examine, sort_problems
from waza.suite.loading import LoadOptions


class SuiteToProve(msgspec.Struct, frozen=True):
    """A suite, and the directory of the skill that it was found through, if any."""

    path: Path
    skill_dir: Path | None = None


def prove_suites(
    suites: Sequence[SuiteToProve], options: ProveOptions, *, graders: bool, secrets: bool
) -> ProveReport:
    """Prove the graders of suites, and with `secrets` look into what agents could know of them.

    What a suite lacks is among its findings, and what remains is proved. Raises WazaError if a run cannot go on.
    """
    return ProveReport(
        timestamp=write_now(),
        suites=tuple(_prove(one, options, graders=graders, secrets=secrets) for one in suites),
    )


def _prove(one: SuiteToProve, options: ProveOptions, *, graders: bool, secrets: bool) -> SuiteProof:
    path = display_path(one.path.absolute())
    try:
        suite, loading = examine(one.path, LoadOptions(skill_dir=one.skill_dir))
    except SuiteError as error:
        unread = sort_findings(map(of_problem, error.problems))
        return SuiteProof(name=one.path.stem, path=path, readable=False, findings=unread)
    findings = [of_problem(problem) for problem in sort_problems(loading)]
    proof: Proof | None = None
    looked: Integrity | None = None
    found: list[Finding] = []
    if graders:
        proof, found = prove(suite, loading, options)
        findings += found
    if secrets:
        looked, found = integrity(suite, loading, options)
        findings += found
    return SuiteProof(
        name=suite.name,
        path=path,
        executor=loading.file.config.executor,
        prove=proof,
        integrity=looked,
        findings=sort_findings(findings),
    )
