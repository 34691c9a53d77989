"""The entry point of `waza`: answers `--version` before anything is imported, then hands over to the commands."""

from __future__ import annotations

import sys

from waza.version import __version__


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        sys.stdout.write(f"waza version {__version__}\n")
        return
    from waza.cli.app import run

    run()


if __name__ == "__main__":
    main()
