"""Which schema version suites and results files are of, and whether this version of waza reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from waza.errors import SuiteError
from waza.kit import yaml
from waza.model.suite import SCHEMA_VERSION
from waza.problem import Problem, display_path
from waza.results.read import open_results
from waza.suite.read import child, read_document
from waza.suite.version import parse_version, read_version

Age = Literal["current", "older", "newer"]


class SchemaVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The version of a file that this waza reads.

    `declared` is empty where the file has no version, and counts as the current one. `newer`: keys that are not known yet
    may be in it, and are ignored. `changed` is always false: there is one major version of each kind so far.
    """

    file: str
    kind: Literal["suite", "results"]
    declared: str
    read_as: str
    age: Age
    changed: bool = False


def suite_version(path: Path) -> SchemaVersion:
    """Return the version of a suite. Raises SuiteError where it cannot be read, or has another major version."""
    document = read_document(path, "suite")
    if isinstance(document, Problem):
        raise SuiteError([document])
    version, problems = read_version(document)
    if any(problem.severity == "error" for problem in problems):
        raise SuiteError(problems)
    node = child(document.root, "schemaVersion")
    declared = node.text.strip() if isinstance(node, yaml.Scalar) and node.value is not None else ""
    age: Age = "current" if version.scenario else _age(declared)
    return SchemaVersion(
        file=display_path(path),
        kind="suite",
        declared=declared,
        read_as=f"{version.major}.{version.minor}",
        age=age,
    )


def results_version(path: Path) -> SchemaVersion:
    """Return the version of a results file; raises as `suite_version` does."""
    outcome, _ = open_results(path)
    declared = outcome.head.schemaVersion
    return SchemaVersion(
        file=display_path(path), kind="results", declared=declared, read_as=declared, age=_age(declared)
    )


def _age(declared: str) -> Age:
    if not declared or parse_version(declared) == parse_version(SCHEMA_VERSION):
        return "current"
    return "older" if parse_version(declared) < parse_version(SCHEMA_VERSION) else "newer"
