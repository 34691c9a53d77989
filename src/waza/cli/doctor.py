"""`waza doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

import click

from waza.cli.options import json_option


@click.command(epilog="Example: waza doctor --json")
@json_option("Print what is found as JSON.")
def command(*, as_json: bool) -> int:
    """Look for what runs need: Python, git, Node, and for real agents the SDK, its runtime and a model server.

    Exit code 0 when real agents can be run, 1 when something for them is missing. The mock executor needs
    Python alone.
    """
    import asyncio

    from waza.cli.doctor_checks import run_checks
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.report.words import ERROR, PASSED

    findings = asyncio.run(run_checks())
    if as_json:
        print_json(findings)
    else:
        for found in findings:
            mark = PASSED if found.ok else ERROR
            print_line(f"{mark} {found.name}: {found.finding}")
            for line in found.advice.splitlines():
                print_line(f"    {line}")
    missing = any(not found.ok and found.needed for found in findings)
    return EXIT_FAILED if missing else EXIT_OK
