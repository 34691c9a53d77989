"""What `waza quality` does with its options."""

from __future__ import annotations

import msgspec

from waza.author.check.source import Source
from waza.author.improve.ask import NotAskedError
from waza.author.improve.quality import assess_quality, quality_lines
from waza.cli.asking import AskArguments, choose_asker, load_suite_of, print_questions, run_asker
from waza.cli.find_targets import find_one_target
from waza.cli.open_project import open_project
from waza.cli.streams import output_width, print_json, print_line, print_notice
from waza.errors import EXIT_OK


def run_quality(skill: str, given: AskArguments, form: str) -> int:
    """Ask the judge, print the report, and return the exit code."""
    project = open_project()
    target = find_one_target(skill, "quality", project)
    asker = choose_asker(given, project, load_suite_of(target, given.executor))
    try:
        found = run_asker(asker, assess_quality(Source(target.definition), asker))
    except NotAskedError:
        print_questions(asker)
        return EXIT_OK
    for warning in found.warnings:
        print_notice(f"warning: {warning}")
    if form == "json":
        print_json(msgspec.to_builtins(found))
    else:
        print_line("\n".join(quality_lines(found, output_width())))
    return EXIT_OK
