"""The pytest plugin: suites among the tests, and the fixtures `waza_run` and `waza_suite`.

Pytest imports this module wherever waza is installed, so it imports nothing of waza but when suites are named on the
command line or configured, or a fixture is used. Everything else is in `waza.pytest_suites`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from waza.model.loaded import Suite
    from waza.results.collection import Results

SUITE_FILES = ("eval.yaml", "eval.yml")
SUITES = "evals"
"""The name of directories that hold suites."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, which are those of `waza run`, and the setting `waza_suites`."""
    group = parser.getgroup("waza", "suites that evaluate skills and agents")
    group.addoption("--waza", action="store_true", help="Collect suites in all that is collected.")
    group.addoption(
        "--waza-per-trial", action="store_true", help="Make each trial a test, instead of each task."
    )
    group.addoption("--waza-executor", default="", metavar="NAME", help="As waza run --executor.")
    group.addoption(
        "--waza-model", action="append", default=[], metavar="MODEL", help="As waza run --model; repeatable."
    )
    group.addoption("--waza-judge-model", default="", metavar="MODEL", help="As waza run --judge-model.")
    group.addoption("--waza-trials", type=_count, metavar="N", help="As waza run --trials.")
    group.addoption("--waza-timeout", type=_count, metavar="SECONDS", help="As waza run --timeout.")
    group.addoption("--waza-context-dir", default="", metavar="DIR", help="As waza run --context-dir.")
    group.addoption("--waza-baseline", action="store_true", help="As waza run --baseline.")
    group.addoption("--waza-no-skills", action="store_true", help="As waza run --no-skills.")
    group.addoption(
        "--waza-warnings-as-errors", action="store_true", help="As waza run --warnings-as-errors."
    )
    parser.addini("waza_suites", "Files and directories in which suites are collected.", "paths", [])


def pytest_configure(config: pytest.Config) -> None:
    """Collect suites, if any are named or configured."""
    config.addinivalue_line("markers", "waza: a task of a suite, or the gates of one.")
    worker = getattr(config, "workerinput", None)  # of pytest-xdist, which names its workers other arguments
    if worker is None:
        roots = list(_named_suites(config))
        if not (roots or config.option.waza):
            return
    elif (roots := worker.get("waza_roots")) is None:
        return
    from waza.pytest_suites import SuitePlugin

    config.pluginmanager.register(SuitePlugin(config, roots, SUITE_FILES), "waza-suites")


@pytest.fixture
def waza_run(request: pytest.FixtureRequest) -> Callable[..., Results]:
    """Return `run(path, **options)`: it runs a suite as `waza.run` does, and returns its results as `waza.load_results` does.

    `executor`, `models` and `trials` are those of the command line unless they are given.
    """
    config = request.config

    def run(path: str | os.PathLike[str], **options: Any) -> Results:
        from waza.api import run as run_suite
        from waza.results.collection import Results

        return Results(tuple(run_suite(Path(path), **{**_given(config), **options})))

    return run


@pytest.fixture
def waza_suite(request: pytest.FixtureRequest) -> Callable[..., Suite]:
    """Return `load(path, **options)`: it loads a suite as `waza.load` does, with the options of the command line."""
    config = request.config

    def load(path: str | os.PathLike[str], **options: Any) -> Suite:
        from waza.api import load as load_suite

        return load_suite(Path(path), **{**_given(config), **options})

    return load


def _given(config: pytest.Config) -> dict[str, Any]:
    """Return the options of the command line that the library takes."""
    given = config.option
    return {
        "executor": given.waza_executor,
        "models": tuple(given.waza_model),
        "trials": given.waza_trials,
    }


def _named_suites(config: pytest.Config) -> Iterator[str]:
    """Yield the files and directories that are named for the suites in them, by the setting or on the command line.

    On the command line these are suites, directories with a suite, and directories called `evals` with all that is in them.
    """
    yield from map(str, config.getini("waza_suites"))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return
    for argument in config.args:
        path = _make_absolute(config.invocation_params.dir / argument.split("::")[0])
        if _names_suites(path, config.rootpath):
            yield str(path)


def _make_absolute(path: Path) -> Path:
    """Return a path with `..` worked out, and links left as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() follows links


def _names_suites(path: Path, root: Path) -> bool:
    below = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    if path.is_dir():
        return SUITES in below.parts or any((path / name).is_file() for name in SUITE_FILES)
    return path.name in SUITE_FILES or (SUITES in below.parts and path.suffix in (".yaml", ".yml"))


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
