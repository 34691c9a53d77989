"""`waza explain`: what the code of a problem means."""

from __future__ import annotations

import click


@click.command(epilog="Example: waza explain unknown-key")
@click.argument("code", default="", metavar="[CODE]")
def command(code: str) -> int:
    """Explain the code of a problem: what it means and how to solve it. Without CODE, list all codes.

    `waza preflight --json` and `waza m365 validate --json` report the codes.
    """
    from waza.cli.streams import print_line
    from waza.errors import EXIT_OK, UsageError
    from waza.kit.names import did_you_mean
    from waza.problem_codes import EXPLANATIONS

    found = [explanation for known, explanation in EXPLANATIONS.items() if known == code]
    if code and not found:
        raise UsageError(f"there is no code {code!r}; {did_you_mean(code, EXPLANATIONS)}")
    for explanation in found:
        print_line(
            f"{explanation.meaning}\n\nWhat to do: {explanation.remedy}\n\nExample: {explanation.example}"
        )
    if not code:
        width = max(map(len, EXPLANATIONS))
        for known, explanation in EXPLANATIONS.items():
            print_line(f"{known:{width}}  {explanation.meaning.partition('. ')[0].rstrip('.')}")
    return EXIT_OK
