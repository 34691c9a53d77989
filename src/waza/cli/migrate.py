"""`waza migrate`: whether files are of a version that this waza reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import json_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path

    from waza.results.schema_version import SchemaVersion

EPILOG = """
\b
Examples:
  waza migrate eval.yaml results.json
  waza migrate --check evals/*/eval.yaml

\b
Exit codes: 0 this waza reads the files as they are, 1 --check and a file is to be changed,
2 bad usage, or a file that cannot be read or is of another major version.
"""


@click.command(epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option("--check", is_flag=True, help="Change nothing, and exit with 1 if a file is to be changed.")
@json_option("Print what is found as JSON.")
def command(*, files: tuple[Path, ...], check: bool, as_json: bool) -> int:
    """Bring suites and results files up to the version of this waza, and say which version each is of.

    There is one major version so far, and any minor version of it is read as it is: nothing is changed. Files of another
    major version are refused.
    """
    from waza.cli.streams import print_json, print_line, print_notice
    from waza.errors import EXIT_ERROR, EXIT_FAILED, EXIT_OK, SuiteError

    found: list[SchemaVersion] = []
    mistakes: list[SuiteError] = []
    for file in files:
        try:
            found.append(_read(file))
        except SuiteError as error:
            mistakes.append(error)
    if as_json:
        print_json(found)
    for one in () if as_json else found:
        print_line(_describe(one))
    for mistake in mistakes:
        print_notice(str(mistake))
    if mistakes:
        return EXIT_ERROR
    return EXIT_FAILED if check and any(one.changed for one in found) else EXIT_OK


def _read(file: Path) -> SchemaVersion:
    """Return the version of a file. Raises SuiteError, also for one of another kind."""
    from waza.errors import SuiteError
    from waza.foreign.recognize import NAMES, recognize
    from waza.problem import Problem, display_path
    from waza.results.schema_version import results_version, suite_version
    from waza.suite.detect import EVAL_FILE

    kind = recognize(file)
    if kind == "results" or (kind is None and file.suffix.lower() == ".json"):
        return results_version(file)
    if kind == "suite" or (kind is None and file.name in (EVAL_FILE, "eval.yml")) or not file.is_file():
        return suite_version(file)
    advice = {
        "m365-document": f"`waza m365 upgrade {file}` brings it up to date",
        "task": "tasks are of the version of their suite: name that",
    }
    what = f"is {NAMES[kind]}" if kind else "is neither a suite nor a results file"
    hint = advice.get(kind or "", "suites and results files have versions of waza")
    raise SuiteError([Problem(code="wrong-type", file=display_path(file), message=what, hint=hint)])


def _describe(one: SchemaVersion) -> str:
    kind = "suite" if one.kind == "suite" else "results file"
    version = (
        f"of version {one.declared}" if one.declared else f"without a version, which counts as {one.read_as}"
    )
    how = "its keys that only a newer waza knows are ignored" if one.age == "newer" else "it is read as it is"
    return f"{one.file}: {kind} {version}; {how}, and nothing is changed"
