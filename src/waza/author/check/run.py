"""`check_targets`: from skills and agents to the report of all findings about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from waza.author.check import compliance, mcp_score, spec_checks
from waza.author.check.advisories import advise
from waza.author.check.agent_checks import check_agent, describe_tools
from waza.author.check.external_links import Allowed, check_addresses, is_public
from waza.author.check.finding import Finding, of_problem, sort_findings
from waza.author.check.links import LinkCheck, check_links
from waza.author.check.listings import check_sum, list_cuts
from waza.author.check.next_steps import list_next_steps
from waza.author.check.report import BudgetStatus, CheckReport, TargetReport, TokenBudget
from waza.author.check.source import Source
from waza.author.check.suite_check import check_suite
from waza.author.tokens.count import TokenCounter
from waza.author.tokens.limits import FileLimits
from waza.kit.moments import write_now
from waza.model.loaded import Project
from waza.suite.detect import DetectedSkill
from waza.suite.discover import fold_name
from waza.suite.project import find_project

HARD_LIMIT = 5000  # tokens of a skill


class CheckOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to check. `offline`: no address is asked for. `report` gets how many addresses are done, of how many."""

    counter: TokenCounter
    offline: bool = False
    allowed: Allowed = is_public
    report: Callable[[int, int], None] = lambda _done, _all: None


def check_targets(found: Sequence[DetectedSkill], options: CheckOptions) -> CheckReport:
    """Check skills and agents. Raises SuiteError for a broken `.waza.yaml`, and UsageError for bad token limits."""
    sources = [Source(one.definition) for one in found]
    links = [check_links(source) for source in sources]
    dead: dict[str, str] = {}
    if not options.offline:
        addresses = (one.address for check in links for one in check.external)
        dead = check_addresses(addresses, allowed=options.allowed, report=options.report)
    sums: dict[int, list[Finding]] = {}
    for source, finding in (*_check_twins(found, sources), *check_sum(sources)):
        sums.setdefault(id(source), []).append(finding)
    return CheckReport(
        timestamp=write_now(),
        targets=tuple(
            _check(source, one, check, dead, sums.get(id(source), ()), options)
            for source, one, check in zip(sources, found, links, strict=True)
        ),
    )


def _check(
    source: Source,
    found: DetectedSkill,
    link_check: LinkCheck,
    dead: dict[str, str],
    more: Iterable[Finding],
    options: CheckOptions,
) -> TargetReport:
    project = find_project(found.directory)
    is_skill = source.target.kind == "skill"
    of_definition = [
        of_problem(problem) for problem in source.definition.problems if _is_shown(source, problem.line)
    ]
    if not source.is_readable:
        return _unreadable(source, of_definition)
    budget, of_budget = _check_budget(source, found, project, options.counter)
    links, of_links = link_check.with_dead(dead, checked=not options.offline)
    suite = check_suite(source, found, project)
    findings = [*of_definition, *of_budget]
    if is_skill:
        findings += [*spec_checks.check_format(source), *compliance.check_description(source)]
    else:
        findings += [*check_agent(source), *compliance.check_longest(source)]
    invokes = is_skill and mcp_score.invokes_tools(source)
    of_mcp = list(mcp_score.check_mcp(source)) if invokes else []
    advice = list(advise(source, budget.count)) if is_skill else []
    of_advice = [finding for one in advice for finding in one.findings]
    report = TargetReport(
        name=source.target.name,
        kind=source.target.kind,
        path=source.file,
        readable=True,
        compliance=compliance.assess(source, findings) if is_skill else None,
        token_budget=budget,
        spec_compliance=tuple(spec_checks.name_spec_checks(source, findings)) if is_skill else (),
        mcp_integration=mcp_score.score_mcp(of_mcp) if invokes else None,
        links=links,
        suite=suite.suite,
        schema=suite.schema,
        advisory_checks=tuple(one.check for one in advice),
        listings=list_cuts(source),
        tools=None if is_skill else describe_tools(source),
        findings=sort_findings([*findings, *of_mcp, *of_advice, *more, *of_links, *suite.findings]),
    )
    return msgspec.structs.replace(report, next_steps=tuple(list_next_steps(report)))


def _check_twins(
    found: Sequence[DetectedSkill], sources: Sequence[Source]
) -> Iterator[tuple[Source, Finding]]:
    """Yield a finding for each target whose name an earlier one has: a name means that one."""
    first: dict[str, Source] = {}
    for one, source in zip(found, sources, strict=True):
        other = first.setdefault(fold_name(one.name), source)
        if other is not source and other.path != source.path:
            message = f"{other.file} has the name {one.name!r} as well, and is what the name means"
            place = source.place_of_value("name")
            yield source, source.finding("duplicate-name", "error", message, "rename one of them", place)


def _is_shown(source: Source, line: int) -> bool:
    """Return whether a problem of the definition is shown; without any frontmatter one finding says so already."""
    return not source.is_readable or source.has_frontmatter or not source.text.strip() or line == 0


def _unreadable(source: Source, findings: list[Finding]) -> TargetReport:
    return TargetReport(
        name=source.target.name,
        kind=source.target.kind,
        path=source.file,
        readable=False,
        findings=sort_findings(findings),
        next_steps=("correct what keeps the file from being read, and check again",),
    )


def _check_budget(
    source: Source, found: DetectedSkill, project: Project, counter: TokenCounter
) -> tuple[TokenBudget, list[Finding]]:
    """Return the tokens of the file with their limit, and the finding about them, if any."""
    count = counter.count(source.text)
    limit = FileLimits().of(source.path, found.directory).tokens
    threshold = project.keys.tokens.warningThreshold
    exceeded, warning = count > limit, count >= threshold
    how = "about " if counter.name == "estimate" else ""
    has = f"the file has {how}{count:,} tokens"
    remedy = "move what is seldom needed into files below references"
    findings = []
    if count > HARD_LIMIT and source.target.kind == "skill":
        message = f"{has}, all of which are part of every request; more than {HARD_LIMIT:,} are too many"
        findings.append(source.finding("token-hard-limit", "error", message, remedy))
    elif exceeded:
        findings.append(
            source.finding("token-limit", "error", f"{has}; its limit is {limit:,}", f"{remedy}, or raise the limit in .waza.yaml")
        )  # fmt: skip
    elif warning:
        findings.append(
            source.finding("token-warning", "warning", f"{has}; from {threshold:,} on it is large", remedy)
        )
    status: BudgetStatus = "exceeded" if exceeded else "warning" if warning else "ok"
    return TokenBudget(count, limit, exceeded, warning, status, counter.name), findings
