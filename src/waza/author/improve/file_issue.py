"""`waza run --auto-file-issue`: an issue on GitHub about a run that did not pass, filed by the program `gh`.

Suites, models and skills that belong together have one open issue, which is known by a marker in its text. Another marker
is of what failed, so that the same failure is not filed again. What agents and graders wrote is redacted, and shown as text.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from waza.errors import WazaError
from waza.kit import process
from waza.kit.moments import write_now
from waza.kit.text import pluralize
from waza.kit.unsafe_text import escape_unsafe
from waza.report.markdown import code, text
from waza.report.rows import TaskRow
from waza.report.view import InvocationView, RunView
from waza.report.words import one_line
from waza.results.routing import list_wrong

MARKER = "waza-auto-triage:"
FAILURE = "waza-failure:"

_LIMIT = 30.0  # seconds for everything that is asked of GitHub
_TASKS, _RECOMMENDATIONS = 15, 6
_FEEDBACK, _NAMES = 300, 1000  # characters
_TITLE = 120
_SEARCHED = 100  # open issues that are looked at
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)

Redact = Callable[[str], str]


class IssueError(WazaError):
    """An issue could not be filed."""


class FailureIssue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue to file. `marker` is that of the suites, `failure` that of what failed in them."""

    title: str
    body: str
    marker: str
    failure: str


class _Run(msgspec.Struct, frozen=True):
    """What an issue needs of a run."""

    view: RunView
    failed: tuple[TaskRow, ...]


def compose_issue(view: InvocationView, redact: Redact) -> FailureIssue:
    """Return the issue about an invocation that did not pass; `redact` takes secrets out of a text."""
    runs = [_Run(run, tuple(run.failed)) for run in view.runs()]
    heads = [one.view.head for one in runs]
    skills = _names([head.skill for head in heads] + [line.name for line in view.not_started])
    suites, models = _names(head.eval_name for head in heads), _names(head.config.model_id for head in heads)
    marker = MARKER + _digest([suites, models, skills])
    failure = FAILURE + _digest([[*_identify_failures(one)] for one in runs])
    failed = sum(one.view.head.summary.failed for one in runs)
    errors = sum(one.view.head.summary.errors for one in runs)
    lines = [
        "A run of waza did not pass.",
        "",
        f"- Time: {write_now()}",
        f"- Failed: {failed}",
        f"- Errors: {errors}",
        *(
            f"- {title}: {_listed(names, redact)}"
            for title, names in (("Skills", skills), ("Suites", suites), ("Models", models))
        ),
        *_describe_job(runs, redact),
        *(f"- {text(redact(reason), _FEEDBACK)}" for reason in view.verdict.reasons[:_TASKS]),
        *_describe_failures(runs, redact),
        *_recommend(runs, view),
        "",
        f"`{marker}` `{failure}`",
    ]
    what = pluralize(failed + errors, "task") if failed + errors else "a run"
    title = f"waza: {what} did not pass: {', '.join(suites or skills) or 'unnamed suite'}"
    return FailureIssue(
        title=_plain(redact(title)), body="\n".join(lines) + "\n", marker=marker, failure=failure
    )


def _names(found: Any) -> list[str]:
    return sorted({name for name in found if name})


def _digest(parts: Sequence[Sequence[str]]) -> str:
    joined = "\x1e".join("\x1f".join(part) for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _identify_failures(run: _Run) -> Iterator[str]:
    """Yield what failed in a run, without texts of agents, which differ each time."""
    for row in sorted(run.failed, key=lambda one: one.id):
        missed = {check.grader for trial in row.bad_trials for check in trial.misses}
        yield "\x1d".join([row.id, row.status, *sorted(missed)])
    yield from sorted(
        f"{one.should_trigger}{one.expected_skill}{one.prompt}" for one in list_wrong(run.view.head)
    )


def _listed(names: Sequence[str], redact: Redact) -> str:
    return text(redact(", ".join(names)), _NAMES) or "-"


def _plain(title: str) -> str:
    """Return a title that calls nobody: titles are not Markdown."""
    return re.sub("[@#]", "\\g<0>\u2060", one_line(escape_unsafe(title), _TITLE))


def _describe_job(runs: Sequence[_Run], redact: Redact) -> Iterator[str]:
    for one in runs[:1]:
        ci, origin = (one.view.head.metadata.get(key) for key in ("ci", "git"))
        if isinstance(ci, dict) and isinstance(ci.get("url"), str):
            yield f"- Job: {code(redact(ci['url']))}"
        if isinstance(origin, dict) and isinstance(origin.get("commit"), str):
            yield f"- Commit: {code(origin['commit'][:40])}"


def _describe_failures(runs: Sequence[_Run], redact: Redact) -> Iterator[str]:
    rows = [(one, row) for one in runs for row in one.failed]
    if rows:
        yield from ("", "### Failing tasks", "")
    for one, row in rows[:_TASKS]:
        yield f"- **{text(redact(row.title))}** ({text(redact(one.view.name))}): {row.ending}"
        if row.error:
            yield f"  - {code(redact(row.error), _FEEDBACK)}"
        for trial in row.bad_trials[:1]:
            if trial.error:
                yield f"  - {code(redact(trial.error), _FEEDBACK)}"
            yield from (
                f"  - {text(redact(check.label))}: {code(redact(check.feedback), _FEEDBACK)}"
                for check in trial.misses
            )
    if len(rows) > _TASKS:
        yield f"- and {len(rows) - _TASKS} more"
    triggers = [line for one in runs for line in one.view.trigger_failures]
    if triggers:
        yield from ("", "### Trigger tests with the wrong outcome", "")
        yield from (f"- {text(redact(line), _FEEDBACK)}" for line in triggers[:_TASKS])
        yield from [f"- and {len(triggers) - _TASKS} more"] * (len(triggers) > _TASKS)


def _recommend(runs: Sequence[_Run], view: InvocationView) -> Iterator[str]:
    found = [*dict.fromkeys(_list_recommendations(runs, view))][:_RECOMMENDATIONS]
    if found:
        yield from ("", "### What to do", "", *(f"- {line}" for line in found))


def _list_recommendations(runs: Sequence[_Run], view: InvocationView) -> Iterator[str]:
    if view.not_started:
        yield "Correct what keeps suites from starting: `waza preflight` says what is missing."
    for one in runs:
        if one.view.head.summary.errors:
            yield "Look at the errors first: they say nothing of the skill. `waza show --failed` shows them."
        if any(row.never_passed for row in one.failed):
            yield "Look at tasks that never passed with `waza show`: the graders may ask for something else than the task."
        if any(row.flaky for row in one.view.tasks):
            yield "Some tasks pass at times: `waza history` shows since when; more trials tell more."
        if one.view.trigger_failures:
            yield "Improve the description of the skill by its trigger tests: `waza dev SKILL --tune`."
        if any(not gate.passed for gate in one.view.gates):
            yield "Compare with an earlier run: `waza compare`."
        if one.failed:
            yield "Ask what to change in the skill: `waza run --suggest`."


def find_gh() -> str | None:
    """Return the program `gh`, or None where it is missing."""
    return shutil.which("gh")


def read_repository() -> str:
    """Return the repository of GITHUB_REPOSITORY. Raises IssueError where that names none."""
    name = os.environ.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(name):
        what = f"{one_line(name, 80)!r} is not owner/name" if name else "it is not set"
        raise IssueError(f"GITHUB_REPOSITORY names the repository of the issue, and {what}")
    return name


async def file_issue(issue: FailureIssue, gh: str, repository: str) -> str:
    """File an issue, or comment on the open one of the same suites; return what was done, in a sentence.

    Raises IssueError if `gh` refuses, or takes more than 30 seconds.
    """
    try:
        async with asyncio.timeout(_LIMIT):
            return await _file(issue, _Gh(gh, repository))
    except TimeoutError:
        raise IssueError(f"gh did not answer within {_LIMIT:g} seconds") from None


async def _file(issue: FailureIssue, gh: _Gh) -> str:
    found = await _find_open(issue, gh)
    if found is None:
        url = await gh.run("create", "--title", issue.title, "--body-file", "-", body=issue.body)
        return f"Issue filed: {one_line(url, _FEEDBACK)}"
    number, url = found
    text_of = await gh.json("view", str(number), "--json", "body,comments")
    written = [
        text_of.get("body"),
        *(one.get("body") for one in text_of.get("comments") or () if isinstance(one, dict)),
    ]
    if any(isinstance(one, str) and issue.failure in one for one in written):
        return f"The same failure is filed already: {url}"
    await gh.run("comment", str(number), "--body-file", "-", body=issue.body)
    return f"Issue commented on: {url}"


async def _find_open(issue: FailureIssue, gh: _Gh) -> tuple[int, str] | None:
    """Return the number and address of the open issue with the marker.

    Searching finds it among any number of issues, but not in its first moments; so the newest ones are looked at, too.
    """
    query = ("--search", f'"{issue.marker}" in:body')
    for more in (query, ()):
        listed = await gh.json(
            "list", "--state", "open", "--limit", str(_SEARCHED), "--json", "number,url,body", *more
        )
        for entry in listed if isinstance(listed, list) else ():
            body, number, url = (entry.get(key) for key in ("body", "number", "url"))
            if isinstance(body, str) and issue.marker in body and isinstance(number, int):
                return number, one_line(str(url), _FEEDBACK)
    return None


class _Gh:
    """The program `gh` and a repository."""

    def __init__(self, program: str, repository: str) -> None:
        self._program, self._repository = program, repository

    async def json(self, *words: str) -> Any:
        """Return what `gh issue` prints as JSON."""
        printed = await self.run(*words)
        try:
            return msgspec.json.decode(printed)
        except msgspec.DecodeError as error:
            raise IssueError(f"gh issue {words[0]} printed something else than JSON") from error

    async def run(self, *words: str, body: str = "") -> str:
        """Return what `gh issue` prints; `body` is its standard input."""
        verb, *rest = words
        finished = await process.run(
            [self._program, "issue", verb, "--repo", self._repository, *rest],
            stdin=body.encode("utf-8", "replace"),
            env={**os.environ, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1"},
            timeout=_LIMIT,
        )
        if not finished.ok:
            reason = finished.stderr.decode("utf-8", "replace").strip() or finished.outcome
            raise IssueError(f"gh issue {verb}: {one_line(reason, _FEEDBACK)}")
        return finished.stdout.decode("utf-8", "replace").strip()
