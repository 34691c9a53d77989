"""What `waza run --auto-file-issue` does when everything else is done. It never changes the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from waza.author.improve.file_issue import (
    FailureIssue,
    IssueError,
    compose_issue,
    file_issue,
    find_gh,
    read_repository,
)
from waza.cli.streams import print_notice
from waza.kit.redact import Redactor
from waza.report.view import InvocationView
from waza.results.invocation import InvocationResults


async def report_failure(results: InvocationResults, redactors: Sequence[Redactor], *, dry: bool) -> None:
    """File an issue about what did not pass; print it where that cannot be done, or `dry` is set."""
    if results.verdict.acceptable:
        return

    def redact(text: str) -> str:
        for redactor in redactors:
            text = redactor.full_text(text)
        return text

    issue = compose_issue(InvocationView(results), redact)
    if dry:
        _print(issue)
        return
    gh = find_gh()
    try:
        repository = read_repository()
        if gh is None:
            raise IssueError("the program gh is not installed")
        print_notice(await file_issue(issue, gh, repository))
    except (IssueError, OSError) as error:
        print_notice(f"warning: no issue was filed: {error}")
        _print(issue)


def _print(issue: FailureIssue) -> None:
    print_notice(f"The issue:\n\n{issue.title}\n\n{issue.body}")
