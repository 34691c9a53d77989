"""`waza serve`: the runs of a directory in a browser."""

from __future__ import annotations

from pathlib import Path

import click

EPILOG = """
\b
Examples:
  waza serve                   the runs of this project
  waza serve artifacts/        results files that were downloaded
  waza serve --port 0          on any port that is free

DIR is a directory with runs or results files anywhere below it. It is only read. The server listens on 127.0.0.1, and
refuses requests under other names.

Exit codes: 0 ended by Ctrl-C or SIGTERM, 2 the directory or the port cannot be used.
"""

_BEFORE_BROWSER = 0.5  # seconds


@click.command(epilog=EPILOG)
@click.argument("directory", required=False, metavar="[DIR]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    metavar="N",
    help="The port; 0: any that is free [default: server.port of .waza.yaml, else 3000].",
)
@click.option("--results-dir", default="", metavar="DIR", help="Same as DIR.")
@click.option(
    "--no-browser", is_flag=True, help="Open no browser; none is opened where output is no terminal."
)
@click.option("--http", is_flag=True, hidden=True, help="Accepted; there is no other way.")
def command(
    directory: str | None, port: int | None, results_dir: str, *, no_browser: bool, http: bool
) -> int:
    """Show runs in a browser: what failed and why, comparisons, trends, and runs while they last.

    Without a DIR, the runs of the project. Ctrl-C ends it.
    """
    import sys
    import threading
    import webbrowser

    from waza.cli.streams import print_line, print_notice
    from waza.dashboard.listen import serve
    from waza.errors import EXIT_OK, UsageError
    from waza.suite.project import find_project

    del http
    if directory and results_dir and Path(directory) != Path(results_dir):
        raise UsageError("DIR and --results-dir name two directories; give one of them")
    project = find_project(Path.cwd())
    root = Path(directory or results_dir or _default_root(project.directory, project.keys.server.resultsDir))
    if not root.is_dir():
        what = "is not a directory" if root.exists() else "does not exist"
        raise UsageError(f"{root} {what}; name a directory with runs or results files")

    def started(number: int) -> None:
        url = f"http://localhost:{number}"
        print_line(f"waza dashboard: {url}")
        sys.stdout.flush()
        if not no_browser and sys.stdout.isatty():
            opener = threading.Timer(_BEFORE_BROWSER, webbrowser.open, [url])
            opener.daemon = True
            opener.start()

    serve(root, project.keys.server.port if port is None else port, started, print_notice)
    return EXIT_OK


def _default_root(project: Path, results: str) -> Path:
    """Return the directory of the project, unless its results are kept outside of it."""
    from waza.kit.files import is_inside

    kept = project / results
    return project if is_inside(project, kept) else kept
