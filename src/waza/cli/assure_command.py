"""What `waza assure EVAL --references FILE` does with its options."""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.author.assure.assure import assure
from waza.author.assure.text import report_lines, review_lines, table_lines
from waza.author.prove.options import ProveOptions
from waza.cli.choose_suites import choose_suite
from waza.cli.findings_output import print_findings
from waza.cli.open_project import open_project
from waza.cli.outputs import check_output
from waza.cli.reject_document import refuse_document
from waza.cli.streams import make_progress, print_notice
from waza.errors import EXIT_FAILED, EXIT_OK
from waza.kit.files import write_atomic
from waza.kit.indented_json import indented_json

_STEP = 100  # cases between two lines of progress


class AssureArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments and options of the command, named as in `waza.cli.assure`."""

    target: str
    references: Path
    review: bool
    judges: bool
    form: str
    as_json: bool
    output: Path | None


def run_assure(given: AssureArguments) -> int:
    """Hold the graders against the cases, print the report, and return the exit code."""
    refuse_document(Path(given.target), f"`waza m365 validate {given.target}` checks it")
    project = open_project()
    chosen = choose_suite(given.target, project)
    if given.output:
        check_output(given.output, [chosen.path, given.references])
    options = ProveOptions(
        project=project,
        programs=True,
        judges=given.judges,
        report=make_progress("judged", "cases", _STEP),
        say=print_notice,
    )
    report = assure(chosen.path, chosen.skill_dir, given.references, options)
    if given.output:
        write_atomic(given.output, indented_json(report.to_json()))
    text = review_lines if given.review else report_lines
    print_findings(
        report, "json" if given.as_json else given.form, text=text, table=table_lines, command="waza assure"
    )
    return EXIT_OK if report.passed else EXIT_FAILED
