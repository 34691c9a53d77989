"""`waza update`: the command that updates waza."""

from __future__ import annotations

import click


@click.command(epilog="Example: waza update")
@click.option("-y", "--yes", is_flag=True, hidden=True, help="Accepted; nothing is installed.")
def command(*, yes: bool) -> int:
    """Print the command of pip, pipx or uv that updates waza, as it was installed. Nothing is changed."""
    del yes
    from waza.cli.installation import find_installation
    from waza.cli.streams import print_line, print_notice
    from waza.errors import EXIT_OK
    from waza.version import __version__

    print_notice(f"waza {__version__} is updated with:")
    print_line(find_installation().update_command())
    return EXIT_OK
