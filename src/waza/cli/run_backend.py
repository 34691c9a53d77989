"""`waza run --backend NAME`: the machines that run the trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from waza import plugins
from waza.engine.backend import BackendOptions, check_backend
from waza.engine.run import RunOptions
from waza.errors import UsageError
from waza.model.loaded import Suite

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments

BACKENDS = "waza.backends"


def with_backend(name: str, given: RunArguments, options: RunOptions, suites: Sequence[Suite]) -> RunOptions:
    """Return the options of a run with a backend. Raises UsageError for one that is missing, or cannot do what is asked."""
    try:
        kind = plugins.load_class(BACKENDS, name)
    except ModuleNotFoundError as error:
        raise UsageError(
            f'--backend {name} needs {error.name}: python3 -m pip install "waza[{name}]"'
        ) from error
    if kind is None:
        known = ", ".join(plugins.list_names(BACKENDS))
        raise UsageError(f"there is no backend {name!r}; use {known}, or install the package that brings it")
    resources = dict(map(_resource, given.resources))
    check_backend(name, suites, options)
    backend = kind(BackendOptions(scheduler=given.scheduler, workers=given.workers, resources=resources))
    return msgspec.structs.replace(options, backend=backend)


def _resource(text: str) -> tuple[str, float]:
    name, _, amount = text.partition("=")
    try:
        number = float(amount)
    except ValueError:
        number = math.nan
    if not (name and math.isfinite(number) and number > 0):
        raise UsageError(f"--resources {text!r}: write a name and a number above 0, such as GPU=1")
    return name, number
