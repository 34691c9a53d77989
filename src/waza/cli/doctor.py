"""`waza doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import click

from waza.cli.options import json_option


@click.command(epilog="Example: waza doctor --json")
@click.option("--online", is_flag=True, help="Ask the store of results whether it can be reached.")
@json_option("Print what is found as JSON.")
def command(*, online: bool, as_json: bool) -> int:
    """Look for what runs need: Python, git, Node, extras, the store, and for real agents the SDK, its runtime and a server.

    What is missing is named with the command that gets it. Exit code 0 when real agents can be run and the store of the
    project, if it names one, can be used, else 1. The mock executor needs Python alone.
    """
    import asyncio

    from waza.cli.doctor_checks import run_checks
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.report.words import ERROR, PASSED, SKIPPED

    findings = asyncio.run(run_checks(online=online))
    if as_json:
        print_json(findings)
    else:
        for found in findings:
            mark = PASSED if found.ok else ERROR if found.needed else SKIPPED
            print_line(f"{mark} {found.name}: {found.finding}")
            for line in found.advice.splitlines():
                print_line(f"    {line}")
    missing = any(not found.ok and found.needed for found in findings)
    return EXIT_FAILED if missing else EXIT_OK
