"""`waza compare`: results side by side, and whether one is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from waza.cli.numbers import Number
from waza.cli.options import format_option, json_option

if TYPE_CHECKING:
    from waza.results.combine import NamedResult, ResultSet
    from waza.results.compare import SideBySide

_SHARE = Number("a number between 0 and 1, such as 0.05", float, least=1e-6, most=0.5)


@click.command(
    epilog="""Examples:

\b
  waza compare before.json after.json
  waza compare before.json after.json --fail-if-worse
  waza compare a.json b.json c.json --against b.json
  waza compare results/monday results/tuesday --format markdown"""
)
@click.argument("files", nargs=-1, required=True, metavar="A B...")
@click.option(
    "--against", metavar="A", default="", help="Compare the others with this one [default: the first]."
)
@click.option(
    "--fail-if-worse", is_flag=True, help="Exit with 1 if one of the others has a significantly lower score."
)
@click.option(
    "--alpha", type=_SHARE, default=0.05, metavar="P", help="How likely a false alarm may be [default: 0.05]."
)
@format_option(["table", "json", "markdown", "html"])
@json_option("Same as --format json.")
def command(
    files: tuple[str, ...], against: str, form: str, alpha: float, *, fail_if_worse: bool, as_json: bool
) -> int:
    """Compare results, task by task, and say what chance explains and what not.

    A and B are results files, ids of runs, directories of results, or summaries of many skills (`*_summary.json`).
    Deltas of totals are last minus first; each of the others is compared with the first, or with --against.
    """
    import msgspec

    from waza.cli.streams import print_notice
    from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
    from waza.results.combine import combine_sets
    from waza.results.compare import compare, compare_suites, doubts
    from waza.results.verdict import is_same_run

    names = [against, *files] if against and against not in files else list(files)
    sets = _load(names)
    if len(sets) < 2:
        raise UsageError("compare needs at least two results: waza compare A.json B.json")
    results = combine_sets(sets)
    for doubt in doubts(results, _runs(sets)):
        print_notice(f"warning: {doubt}")
    base = names.index(against) if against else 0
    found = compare(results, base=base, alpha=alpha)
    if suites := compare_suites(sets, base=base, alpha=alpha):
        found = msgspec.structs.replace(found, suites=suites)
    _print(found, "json" if as_json else form)
    if not fail_if_worse:
        return EXIT_OK
    base_result = results[base][1]
    if same := [name for i, (name, one) in enumerate(results) if i != base and is_same_run(one, base_result)]:
        raise UsageError(
            f"--fail-if-worse: {same[0]} and {results[base][0]} are the same run; name the results of two"
        )
    if unknown := [one for one in found.all_comparisons if not one.n]:
        both = f"{unknown[0].b} and {unknown[0].a}"
        raise UsageError(f"--fail-if-worse: {both} have no measured task in common: {unknown[0].sentence}")
    for one in found.all_comparisons:
        if not one.can_be_significant(alpha, of=len(found.all_comparisons)):
            print_notice(
                f"warning: --fail-if-worse cannot fail for {one.b}, even if all of it were worse: {one.sentence}"
            )
    worse = [one for one in found.all_comparisons if one.is_worse(alpha)]
    for one in worse:
        print_notice(f"{one.b} is worse than {one.a}: {one.sentence}")
    return EXIT_FAILED if worse else EXIT_OK


def _load(names: Sequence[str]) -> list[ResultSet]:
    """Return the results that each argument means; one argument alone is the set of results that it has."""
    from pathlib import Path

    from waza.cli.open_results import find_runs, load_run
    from waza.results.combine import ResultSet
    from waza.suite.project import find_project

    project = find_project(Path.cwd()).directory
    sets: list[ResultSet] = []
    for name in names:
        found = find_runs(name, project)
        results = [load_run(run) for run in found.runs]
        if len(names) == 1:
            return [ResultSet(run.name, [one]) for run, one in zip(found.runs, results, strict=True)]
        sets.append(ResultSet(name, results))
    return sets


def _runs(sets: Sequence[ResultSet]) -> list[NamedResult]:
    """Return each run with a name that tells it apart from the others."""
    from waza.results.invocation import suite_name
    from waza.results.verdict import run_name

    return [
        (
            one.name
            if len(one.results) == 1
            else f"{one.name}: {run_name(suite_name(run), run.config.model_id)}",
            run,
        )
        for one in sets
        for run in one.results
    ]


def _print(found: SideBySide, form: str) -> None:
    from waza.cli.streams import make_output_draw, print_json, print_line
    from waza.report.compare_table import print_comparison

    if form == "json":
        print_json(found)
    elif form == "table":
        print_comparison(found, make_output_draw())
    elif form == "markdown":
        from waza.report.markdown import make_markdown_draw

        print_comparison(found, make_markdown_draw(print_line))
    else:
        from waza.report.html_page import make_section_page

        page = make_section_page("Comparison of results", lambda draw: print_comparison(found, draw))
        print_line(page.removesuffix("\n"))
