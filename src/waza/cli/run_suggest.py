"""What `waza run --suggest` adds to a run: a question to a model about what did not pass."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import msgspec

from waza.author.improve.ask import Asker, AskOptions, NotAskedError, make_asker
from waza.author.improve.run_suggestion import find_failures, suggest_changes
from waza.cli.asking import print_questions
from waza.cli.grader_text import grader_text
from waza.cli.streams import print_notice
from waza.errors import UsageError, WazaError
from waza.kit.indented_json import indented_json
from waza.kit.redact import Redactor
from waza.model.loaded import Project, Suite
from waza.reference import grader_page
from waza.report.new_file import create
from waza.report.transcripts import slug
from waza.results.outcome import Outcome

KEY = "suggestion_report"
"""The key of the results' metadata."""


async def suggest_for(
    suite: Suite,
    model: str,
    outcome: Outcome,
    project: Project,
    redactor: Redactor,
    transcripts: Path | None,
    *,
    preview: bool,
) -> str:
    """Return what to change, redacted; nothing where everything passed, or nobody could say, which is a notice.

    `transcripts` is the directory that gets the question with its answer. In a preview nobody is asked, and the question
    is printed on standard error.
    """
    failures = find_failures(outcome)
    if not failures.tasks and not failures.triggers:
        return ""
    asked = msgspec.structs.replace(suite, models=(model,))
    try:
        async with make_asker(project, AskOptions(preview=preview), asked) as asker:
            answer = await suggest_changes(suite, outcome, failures, asker, _describe)
    except NotAskedError:
        print_questions(asker, print_notice)
        return ""
    except (WazaError, OSError) as error:
        print_notice(f"Error: no suggestions for {suite.name}: {error}")
        return ""
    answer = redactor.text(answer)
    if transcripts is not None and asker.questions:
        _write_transcript(transcripts, suite, asker, answer, redactor)
    return answer


def _describe(name: str) -> str:
    try:
        return grader_text(grader_page(name))
    except UsageError:  # a check of waza itself, which is no grader
        return ""


def _write_transcript(directory: Path, suite: Suite, asker: Asker, answer: str, redactor: Redactor) -> None:
    content = {
        "suite": suite.name,
        "asked": asker.name,
        "question": asker.questions[-1].text,
        "answer": answer,
    }
    text = indented_json(redactor.full_value(content))
    stem = f"suggestions-{slug(suite.name)}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    try:
        _, file = create(directory, stem, ".json")
        with file:
            file.write(text)
    except OSError as error:
        print_notice(f"warning: no transcript of the suggestions: {error.strerror or error}")
