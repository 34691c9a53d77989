"""`waza label`: people say which answers of a run are good, without seeing the verdicts of its graders."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.paths import PATH

EPILOG = """
\b
Examples:
  waza label results.json                     in a browser
  waza label                                  the answers of the newest run
  waza label results.json --terminal          in the terminal
  waza label results.json --grader tone --rater ann -o tone-labels.json

RESULTS is a results file, the id of a run, or a directory of a run or of a project. Asked is about each answer, in an
order of chance, whether it meets the criterion of each grader that asks a judge. You can stop at any time and go on
later; the answers that you labelled are a sample of all. Then: waza assure calibrate EVAL --labels labels.json

\b
Exit codes: 0 ended by the rater, Ctrl-C or SIGTERM, 2 there is nothing to label, or a file
cannot be used.
"""


@click.command(epilog=EPILOG)
@click.argument("results", required=False, metavar="[RESULTS]")
@click.option(
    "--grader",
    "graders",
    multiple=True,
    metavar="NAME",
    help="Label by the criterion of this grader; can be repeated [default: all that ask a judge].",
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    default="labels.json",
    show_default=True,
    help="The labels file, which is created or continued.",
)
@click.option("--rater", default="", metavar="NAME", help="Who labels [default: the name of the user].")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**53),
    default=None,
    metavar="N",
    help="Of the order of answers; it is kept with the labels [default: by chance].",
)
@click.option("--terminal", is_flag=True, help="Ask in the terminal, not in a browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port of the page [default: any that is free].",
)
@click.option(
    "--no-browser", is_flag=True, help="Open no browser; none is opened where output is no terminal."
)
def command(**options: Any) -> int:
    """Label answers of a run as pass, fail or unsure, without seeing verdicts, scores, models or arms.

    The page is on 127.0.0.1, under an address that is printed and that others do not know. Labels are kept one by one. Several
    people can label the same answers, each with --rater.
    """
    from waza.cli.label_command import LabelArguments, label

    return label(LabelArguments(**options))
