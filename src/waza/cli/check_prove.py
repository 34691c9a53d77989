"""What `waza check --prove` and `--integrity` do with their options."""

from __future__ import annotations

from waza.author.prove.options import ProveOptions
from waza.author.prove.suites import SuiteToProve, prove_suites
from waza.author.prove.text import report_lines, table_lines
from waza.cli.check_arguments import CheckArguments
from waza.cli.choose_suites import choose_suites
from waza.cli.findings_output import print_findings
from waza.cli.open_project import open_project
from waza.cli.streams import make_progress, print_notice
from waza.errors import EXIT_ERROR, UsageError

_STEP = 500  # runs between two lines of progress


def run_prove(given: CheckArguments) -> int:
    """Prove suites, print the report, and return the exit code.

    Without targets these are all suites of the workspace, also those that `waza run` leaves out.
    """
    if given.fix:
        raise UsageError("--fix corrects skills and agents; leave out --prove and --integrity")
    project = open_project()
    chosen = choose_suites(given.targets, project, print_notice)
    report = prove_suites(
        [
            *(SuiteToProve(one.path, one.skill_dir) for one in chosen.suites),
            *map(SuiteToProve, chosen.others),
        ],
        ProveOptions(
            project=project,
            programs=given.programs,
            judges=given.judges,
            report=make_progress("ran", "probes", _STEP),
            say=print_notice,
        ),
        graders=given.prove,
        secrets=given.integrity,
    )
    print_findings(report, given.form, text=report_lines, table=table_lines)
    unreadable = [suite.path for suite in report.suites if not suite.readable]
    if unreadable:
        print_notice(f"Error: cannot be read as a suite: {', '.join(unreadable)}")
        return EXIT_ERROR
    return given.exit_code(report.findings)
