"""`waza import`: make suites of the evals of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from waza.cli.options import json_option
from waza.cli.paths import PATH


@click.command(
    "import", epilog="Example: waza import skills/price-sorter/evals/evals.json -o evals/price-sorter"
)
@click.argument("source", type=PATH, metavar="SRC")
@click.option(
    "-o", "--output", type=PATH, required=True, metavar="DIR", help="New or empty directory for the suites."
)
@click.option(
    "--skill", type=PATH, metavar="PATH", help="Skill that the evals are about [default: the nearest one]."
)
@click.option(
    "--scaffold", is_flag=True, help="Run the scripts that fill workspaces; their files become fixtures."
)
@click.option("--one-judge", is_flag=True, help="Ask about all statements of an eval at once; it is cheaper.")
@json_option("Print what was made, and what has no equal, as JSON.")
def command(
    source: Path, output: Path, skill: Path | None, *, scaffold: bool, one_judge: bool, as_json: bool
) -> int:
    """Make suites of Agent Skills evals, lists of trigger queries, or Claude Code plugin evals.

    SRC is a file or a directory; what it is shows in its content. What has no equal in waza is named on stderr and in
    IMPORT.md; what is not checked because of it is also in every report of a run.
    """
    import shutil

    import msgspec

    from waza.cli.streams import print_json, print_line, print_notice
    from waza.errors import EXIT_OK, SuiteError
    from waza.foreign.imported import refuse_filled, write_files
    from waza.foreign.importing import ImportOptions, import_suites
    from waza.foreign.recognize import NAMES
    from waza.kit.text import pluralize
    from waza.suite.load import load

    refuse_filled(output)
    options = ImportOptions(skill=skill, scaffold=scaffold, one_judge=one_judge)
    imported = import_suites(source, options)
    write_files(output, imported.render(output))
    suites = [output / name for name in imported.suite_files()]
    try:
        for suite in suites:
            load(suite)
    except SuiteError:
        shutil.rmtree(output)  # it was made just now
        raise
    for note in imported.notes:
        print_notice(f"warning: {note}" if note.unchecked else f"note: {note}")
    if as_json:
        tasks = [len(suite.tasks) for suite in imported.suites]
        print_json(
            {
                "kind": imported.kind,
                "source": str(source),
                "directory": str(output),
                "suites": [
                    {"path": str(path), "tasks": count} for path, count in zip(suites, tasks, strict=True)
                ],
                "notes": msgspec.to_builtins(imported.notes),
            }
        )
        return EXIT_OK
    what = pluralize(sum(len(suite.tasks) for suite in imported.suites), "task")
    print_line(f"{output}: {pluralize(len(suites), 'suite')} with {what}, made of {NAMES[imported.kind]}")
    print_line(f"next: waza run {output}")
    return EXIT_OK
