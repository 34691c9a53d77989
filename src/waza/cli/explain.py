"""`waza explain`: what the code of a problem or of a diagnostic means."""

from __future__ import annotations

import click

EPILOG = """
\b
Examples:
  waza explain unknown-key    a kind of mistake
  waza explain tasks.pattern  a code of `waza preflight`
"""


@click.command(epilog=EPILOG)
@click.argument("code", default="", metavar="[CODE]")
def command(code: str) -> int:
    """Explain the code of a problem or diagnostic: what it means and how to solve it. Without CODE, list all codes.

    `waza preflight --json` reports both (`problem`, `code`), `waza m365 validate --json` and `waza check --format json` those of
    problems.
    """
    from waza.cli.streams import print_line
    from waza.errors import EXIT_OK, UsageError
    from waza.kit.names import did_you_mean
    from waza.preflight.codes import DIAGNOSTICS
    from waza.problem_codes import EXPLANATIONS

    tables = (EXPLANATIONS, DIAGNOSTICS)
    every = {str(known): explanation for table in tables for known, explanation in table.items()}
    if code in every:
        meaning, remedy, example = every[code]
        print_line(f"{meaning}\n\nWhat to do: {remedy}\n\nExample: {example}")
        return EXIT_OK
    if code:
        raise UsageError(f"there is no code {code!r}; {did_you_mean(code, every)}")
    width = max(map(len, every))
    for title, codes in (("Problems", EXPLANATIONS), ("Diagnostics of waza preflight", DIAGNOSTICS)):
        print_line(title)
        for known, explanation in codes.items():
            print_line(f"  {known:{width}}  {explanation.meaning.partition('. ')[0].rstrip('.')}")
    return EXIT_OK
