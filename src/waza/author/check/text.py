"""The report of `waza check` for people: each target with its groups, findings and next steps, and a table of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.check.finding import Finding, worst_first
from waza.author.check.report import AgentTools, CheckReport, Links, NamedCheck, TargetReport, TokenBudget
from waza.report.table import WIDTH, table
from waza.report.words import one_line, shortened

_YES, _NO, _WARNING, _NOTE = "✅", "❌", "⚠️", "•"
_MARKS = {"error": _NO, "warning": _WARNING, "note": _NOTE}
_NOTHING = "—"
_TITLES = ("Skill", "Compliance", "Tokens", "Spec", "Links", "Schema", "Eval")
_SHOWN = 100  # findings of a target


def report_lines(report: CheckReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of the whole report."""
    for number, target in enumerate(report.targets):
        if number:
            yield ""
        yield from _target_lines(target)
    if len(report.targets) > 1:
        yield from ("", "CHECK SUMMARY", "")
        yield from table_lines(report, width)


def table_lines(report: CheckReport, width: int = WIDTH) -> Iterator[str]:
    """Yield the table of all targets, and how many of them are ready."""
    yield from table(_TITLES, [_row(target) for target in report.targets], width)
    ready = sum(target.ready for target in report.targets)
    yield ""
    yield f"{ready} of {len(report.targets)} ready"


def _row(target: TargetReport) -> tuple[str, ...]:
    if not target.readable:
        return (target.name, *(_NOTHING for _ in _TITLES[2:]), _NO)
    return (
        target.name,
        target.compliance.level if target.compliance else _NOTHING,
        _tokens(target.token_budget) if target.token_budget else _NOTHING,
        _passed(target.spec_compliance) if target.spec_compliance else _NOTHING,
        _links(target.links) if target.links else _NOTHING,
        (_YES if target.schema.valid else _NO) if target.schema else _NOTHING,
        _YES if target.suite and target.suite.found else _NO,
    )


def _tokens(budget: TokenBudget) -> str:
    return f"{budget.count}/{budget.limit}" + (f" {_NO}" if budget.exceeded else "")


def _passed(checks: Sequence[NamedCheck]) -> str:
    return f"{sum(check.passed for check in checks)}/{len(checks)}"


def _links(links: Links) -> str:
    return f"{links.valid}/{links.total}" + ("" if links.passed else f" {_NO}")


def _mark(passed: object) -> str:
    return _YES if passed else _NO


def _target_lines(target: TargetReport) -> Iterator[str]:
    yield f"{'Skill' if target.kind == 'skill' else 'Agent'}: {one_line(target.name)}"
    yield f"  {one_line(target.path)}"
    yield ""
    yield from _group_lines(target)
    yield f"Overall Readiness: {_mark(target.ready)} {'ready' if target.ready else 'not ready'} ({target.counted})"
    if target.findings:
        yield from ("", "Findings")
        yield from finding_lines(target.findings)
    if target.next_steps:
        yield from ("", "Next Steps")
        yield from (f"  {number}. {one_line(step)}" for number, step in enumerate(target.next_steps, start=1))


def _group_lines(target: TargetReport) -> Iterator[str]:
    if target.compliance:
        good = target.compliance.level in ("Medium-High", "High")
        yield f"Compliance Score: {_mark(good)} {target.compliance.level}"
    if target.spec_compliance:
        yield from _check_lines("Spec Compliance", target.spec_compliance, _NO)
    if target.tools:
        yield f"Tools: {_describe_tools(target.tools)}"
    if target.mcp_integration:
        mcp = target.mcp_integration
        yield f"MCP Integration ({mcp.score}/{mcp.total}): {_YES if mcp.score == mcp.total else _WARNING}"
    if target.links:
        unchecked = f", {target.links.unchecked} on the web not checked" if target.links.unchecked else ""
        yield f"Links ({target.links.valid}/{target.links.total}): {_mark(target.links.passed)}{unchecked}"
    if target.token_budget:
        budget = target.token_budget
        mark = _NO if budget.exceeded else _WARNING if budget.warning else _YES
        how = " by an estimate" if budget.tokenizer == "estimate" else ""
        yield f"Token Budget: {mark} {budget.count:,} / {budget.limit:,}{how}"
    yield from _suite_lines(target)
    if target.advisory_checks:
        yield from _check_lines("Advisory Checks", target.advisory_checks, _WARNING)
    if target.listings:
        yield "Listings"
        for one in target.listings:
            shown = f"{one.shown:,} of {one.length:,} characters"
            yield f"  {_YES if one.shown == one.length else _WARNING} {one.agent}: {shown}, {one.consequence}"


def _suite_lines(target: TargetReport) -> Iterator[str]:
    if target.suite:
        found = f"Found {one_line(target.suite.path)}" if target.suite.found else "Not Found"
        yield f"Evaluation Suite: {_YES if target.suite.found else _WARNING} {found}"
    if target.schema:
        yield f"Schema: {_mark(target.schema.valid)} {'valid' if target.schema.valid else 'has mistakes'}"


def _describe_tools(tools: AgentTools) -> str:
    if tools.policy == "invalid":
        return f"{_NO} not known, because of mistakes in the frontmatter"
    if tools.names is None:
        return "all (the frontmatter has no 'tools')"
    return ", ".join(map(one_line, tools.names)) or "none"


def _check_lines(title: str, checks: Sequence[NamedCheck], mark: str) -> Iterator[str]:
    yield f"{title} ({_passed(checks)})"
    for check in checks:
        if not check.passed:
            yield f"  {mark} {check.name}: {shortened(one_line(check.evidence), 300)}"


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings, worst first, and how many are left out."""
    for finding in worst_first(findings)[:_SHOWN]:
        mark = _MARKS[finding.severity]
        yield f"  {mark} {one_line(finding.file)}:{finding.line}:{finding.column}: {finding.code}"
        yield f"      {one_line(finding.message, 500)}"
        if finding.remedy:
            yield f"      {one_line(finding.remedy, 500)}"
    if len(findings) > _SHOWN:
        yield f"  and {len(findings) - _SHOWN} more; --format json has them all"
