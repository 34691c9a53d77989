"""What to do next about a skill or agent, in the order in which it pays."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from waza.author.check.links import CODES as OF_LINKS
from waza.author.check.report import TargetReport
from waza.author.check.spec_checks import CODES as OF_FORMAT
from waza.kit.text import pluralize

_OF_DESCRIPTION = ("description-length", "missing-triggers", "missing-anti-triggers")
_OF_TOKENS = ("token-limit", "token-hard-limit")


def list_next_steps(report: TargetReport) -> Iterator[str]:
    """Yield sentences: on the description, the format, links, tokens, the suite, and the rest."""
    path = report.path
    errors = [finding for finding in report.findings if finding.severity == "error"]
    of_description = [one for one in errors if one.code in _OF_DESCRIPTION]
    if of_description and report.compliance:
        remedies = "; ".join(one.remedy for one in of_description)
        yield f"improve the description, whose level is {report.compliance.level}: {remedies}"
    failed = [check.name for check in report.spec_compliance if not check.passed]
    if failed:
        yield f"correct the frontmatter: {', '.join(failed)}; {_command('check', '--fix', path)} corrects what is mechanical"
    bad = [one for one in errors if one.code in OF_LINKS]
    if bad:
        yield f"correct {pluralize(len(bad), 'link')}, the first in {bad[0].file}:{bad[0].line}"
    if any(one.code in _OF_TOKENS for one in errors) and report.token_budget:
        budget = report.token_budget
        over = max(budget.count - budget.limit, 1)
        yield f"shorten it by {over:,} tokens: {_command('tokens', 'suggest', path)}"
    if report.suite and not report.suite.found:
        yield f"write a suite for it: {_command('new', 'eval', path)}"
    if report.schema and not report.schema.valid:
        count = len(report.schema.eval_errors) + sum(map(len, report.schema.task_errors.values()))
        suite = report.suite.path if report.suite else ""
        yield f"correct {pluralize(count, 'mistake')} in its suite: {_command('preflight', suite)}"
    named = {*_OF_DESCRIPTION, *OF_LINKS, *_OF_TOKENS, *(OF_FORMAT if report.spec_compliance else ())}
    rest = [one for one in errors if one.code not in named and one.file == report.path]
    for finding in rest:
        yield f"correct line {finding.line}: {finding.message}"
    if (
        report.ready
        and report.suite
        and report.suite.found
        and not (report.schema and not report.schema.valid)
    ):
        yield f"run its suite: {_command('run', report.suite.path)}"


def _command(*words: str) -> str:
    """Return a command line of waza."""
    return shlex.join(["waza", *words])
