"""`schemaVersion` and `scenario`: which rules a suite is read by."""

from __future__ import annotations

import msgspec

from waza.kit import yaml
from waza.kit.decode import Document
from waza.model.suite import SCENARIO_VERSION, SCHEMA_VERSION
from waza.problem import Problem
from waza.suite.read import at, child


class Version(msgspec.Struct, frozen=True):
    """The rules of a suite: its version, whether it is a scenario, whether it is newer than ours."""

    major: int = 1
    minor: int = 4
    scenario: bool = False

    @property
    def newer(self) -> bool:
        """Whether keys may be there that we do not know yet."""
        return not self.scenario and (self.major, self.minor) > parse_version(SCHEMA_VERSION)

    def at_least(self, version: str) -> bool:
        """Return whether a feature of a 1.x version is there; scenarios have all of them."""
        return self.scenario or (self.major, self.minor) >= parse_version(version)


def parse_version(text: str) -> tuple[int, int]:
    """Return MAJOR and MINOR. Raises ValueError with a sentence for anything else."""
    parts = text.strip().split(".")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ValueError(f"{text!r} is not a valid version; write MAJOR.MINOR, such as {SCHEMA_VERSION!r}")
    return int(parts[0]), int(parts[1])


def read_version(document: Document) -> tuple[Version, list[Problem]]:
    """Return the version of a suite, and what is wrong with it."""
    problems: list[Problem] = []

    def error(key: str, message: str, hint: str = "") -> None:
        problems.append(document.problem("version", at(document, key), (key,), message, hint))

    scenario = child(document.root, "scenario")
    is_scenario = scenario is not None and not (isinstance(scenario, yaml.Scalar) and scenario.value is None)
    node = child(document.root, "schemaVersion")
    declared = node.text.strip() if isinstance(node, yaml.Scalar) and node.value is not None else ""
    if is_scenario:
        if isinstance(scenario, yaml.Scalar) and not scenario.text.strip():
            error("scenario", "is blank", "name the workflow that this suite evaluates")
        if declared != SCENARIO_VERSION:
            error("schemaVersion", f"a scenario needs schemaVersion: {SCENARIO_VERSION!r}, written out")
        return Version(2, 0, scenario=True), problems
    if not declared:
        return Version(*parse_version(SCHEMA_VERSION)), problems
    try:
        major, minor = parse_version(declared)
    except ValueError as mistake:
        error("schemaVersion", str(mistake))
        return Version(), problems
    if major != 1:
        hint = f"write {SCHEMA_VERSION!r} if the suite uses nothing newer, or use the version of waza that it is for"
        if declared == SCENARIO_VERSION:
            hint = f"{SCENARIO_VERSION} is for scenario suites: add 'scenario:', or write {SCHEMA_VERSION!r}"
        error(
            "schemaVersion",
            f"version {declared} is not readable here, which reads 1.x ({SCHEMA_VERSION})",
            hint,
        )
    version = Version(major, minor)
    if version.newer and major == 1:
        message = f"{declared} is newer than what this version of waza reads in full"
        hint = "unknown keys are ignored"
        place = at(document, "schemaVersion")
        problems.append(document.problem("version", place, ("schemaVersion",), message, hint, "warning"))
    return version, problems
