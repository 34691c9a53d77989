"""The entry point of `waza`: answers `--version` before anything is imported, then hands over to the commands."""

from __future__ import annotations

import contextlib
import gc
import sys

from waza.version import __version__


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        with contextlib.suppress(OSError):  # what cannot be written is the command's affair, as everywhere
            sys.stdout.write(f"waza version {__version__}\n")
            sys.stdout.flush()
            return
    # Imports and runs make many objects and hardly any circles of them, so searching for these after every 700th is
    # a waste of 4 % of a short run.
    gc.set_threshold(20_000)
    from waza.cli.app import run

    run()


if __name__ == "__main__":
    main()
