"""Evaluate AI agent skills and custom agents from YAML suites.

The names below are the library. They are imported when they are first used, so that `import waza` is cheap::

    import waza

    suite = waza.load("eval.yaml")                 # a Suite, or SuiteError with every mistake
    results = waza.run("eval.yaml", executor="mock")   # a list of SuiteResult, one a model
    print(results[0].summary.success_rate)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from waza.version import __version__

if TYPE_CHECKING:
    from waza.api import load, run
    from waza.errors import GraderError, SuiteError, WazaError
    from waza.graders.base import ConfigMistake, Grader, GraderLocation
    from waza.model.agent import Executor, Session
    from waza.model.loaded import Suite
    from waza.model.observation import Observation, Turn
    from waza.model.result import SuiteResult
    from waza.model.verdict import Helpers, Verdict
    from waza.problem import Problem

_HOMES = {
    "ConfigMistake": "waza.graders.base",
    "Executor": "waza.model.agent",
    "Grader": "waza.graders.base",
    "GraderError": "waza.errors",
    "GraderLocation": "waza.graders.base",
    "Helpers": "waza.model.verdict",
    "Observation": "waza.model.observation",
    "Problem": "waza.problem",
    "Session": "waza.model.agent",
    "Suite": "waza.model.loaded",
    "SuiteError": "waza.errors",
    "SuiteResult": "waza.model.result",
    "Turn": "waza.model.observation",
    "Verdict": "waza.model.verdict",
    "WazaError": "waza.errors",
    "load": "waza.api",
    "run": "waza.api",
}

__all__ = [
    "ConfigMistake",
    "Executor",
    "Grader",
    "GraderError",
    "GraderLocation",
    "Helpers",
    "Observation",
    "Problem",
    "Session",
    "Suite",
    "SuiteError",
    "SuiteResult",
    "Turn",
    "Verdict",
    "WazaError",
    "__version__",
    "load",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'waza' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
