"""Preflight: what a suite holds and needs, found without running any of it. The structs are the JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from waza.problem import Code

PreflightState = Literal["verified", "unresolved", "unsupported", "invalid"]
"""Confirmed by local files; cannot be confirmed offline, or nothing covers it; not to be had here; a mistake."""

_FROM_GOOD_TO_BAD: tuple[PreflightState, ...] = ("verified", "unresolved", "unsupported", "invalid")

Severity = Literal["info", "warning", "error"]
Mode = Literal["live", "mocked", "subprocess", "locked-cache", "local"]


def worst(states: Iterable[PreflightState]) -> PreflightState:
    """Return the worst of some states; none at all is `verified`."""
    return max(states, key=_FROM_GOOD_TO_BAD.index, default="verified")


class PreflightCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The grader that a requirement names; `after_turn` is that of a checkpoint."""

    scope: str
    grader: str
    after_turn: int | None = None


class CheckedRequirement(msgspec.Struct, frozen=True, kw_only=True):
    """A requirement; `meaning` says why it has its state."""

    id: str
    category: str
    description: str
    state: PreflightState
    meaning: str
    checks: list[PreflightCheck]


class ListedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task; `source` is its file, in a CSV with the line."""

    id: str
    name: str
    source: str
    enabled: bool
    context_dir: str
    requirements: list[CheckedRequirement]


class Capability(msgspec.Struct, frozen=True, kw_only=True):
    """Something that the suite asks of its executor."""

    name: str
    state: PreflightState
    meaning: str


class Dependency(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that the suite, or one task of it, needs."""

    kind: str
    name: str
    mode: Mode
    state: PreflightState
    task_id: str = ""


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What keeps an item from being verified, and what to do. `problem` is the kind of mistake (`waza explain`)."""

    code: str
    problem: Code
    state: PreflightState
    severity: Severity
    source: str
    task_id: str = ""
    requirement_id: str = ""
    message: str
    remediation: str

    @property
    def order(self) -> tuple[str, ...]:
        """By what diagnostics are sorted."""
        return (self.source, self.task_id, self.requirement_id, self.code, self.message)


class Preflight(msgspec.Struct, frozen=True, kw_only=True):
    """The report of `waza preflight`."""

    kind: Literal["waza.preflight"] = "waza.preflight"
    schemaVersion: Literal["1.0"] = "1.0"  # noqa: N815  # the file format's own spelling
    source: str
    executor: str = ""
    complete: bool = False
    tasks: list[ListedTask] = []
    capabilities: list[Capability] = []
    dependencies: list[Dependency] = []
    diagnostics: list[Diagnostic] = []

    def states(self) -> Iterator[PreflightState]:
        """Yield the state of every item that counts: those of disabled tasks do not."""
        for task in self.tasks:
            yield from (requirement.state for requirement in task.requirements if task.enabled)
        yield from (capability.state for capability in self.capabilities)
        yield from (dependency.state for dependency in self.dependencies)
        yield from (diagnostic.state for diagnostic in self.diagnostics)
