"""Verdicts: what a grader says of an observation; and graders that are ready to be asked."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import msgspec

from waza.model.agent import Judge
from waza.model.observation import Observation


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One grader's answer. `error` non-empty: it could not reach a verdict, which is never a pass.

    `outside`: it could not for a cause outside of the agent and of itself, such as a full disk; the engine finds out.
    """

    score: float
    passed: bool
    feedback: str = ""
    details: dict[str, Any] = {}
    error: str = ""
    outside: bool = False

    @classmethod
    def of_checks(
        cls, total: int, failures: list[str], details: dict[str, Any], note: str = "all checks passed"
    ) -> Verdict:
        """Return the common verdict: score = passed checks / all checks, passed = none failed.

        `details` gets `failures` besides what is given. No checks at all is a pass with score 1.
        """
        score = (total - len(failures)) / total if total else 1.0
        feedback = "; ".join(failures) or note
        return cls(
            score=score, passed=not failures, feedback=feedback, details={**details, "failures": failures}
        )

    @classmethod
    def failed(cls, reason: str, **details: Any) -> Verdict:
        """Return a plain failure: score 0 with a reason."""
        return cls(score=0.0, passed=False, feedback=reason, details=details)

    @classmethod
    def errored(cls, reason: str, **details: Any) -> Verdict:
        """Return the verdict of a grader that could not reach one."""
        return cls(
            score=0.0, passed=False, feedback=reason, details={**details, "error": reason}, error=reason
        )


class Closable(Protocol):
    """Something that lives longer than one grading."""

    async def aclose(self) -> None:
        """End it."""
        ...


C = TypeVar("C", bound=Closable)


class SharedResources:
    """What the graders of one run share: child processes, clients. Made when it is first asked for.

    Its owner closes it with `aclose` when no grading is under way.
    """

    def __init__(self, *made: Closable) -> None:
        """Start with things that are made already."""
        self._made: dict[type, Closable] = {type(one): one for one in made}

    def get(self, kind: type[C]) -> C:
        """Return the one instance of a class; it is made without arguments."""
        if kind not in self._made:
            self._made[kind] = kind()
        return cast("C", self._made[kind])

    async def aclose(self) -> None:
        """End everything, the latest first."""
        while self._made:
            _, one = self._made.popitem()
            await one.aclose()


class Helpers(msgspec.Struct, frozen=True, kw_only=True):
    """What a grader may use but not build itself.

    `judge` answers questions (None: this executor has no judge); `shared` holds what outlives a grading.
    `program_timeout` and `code_timeout` are the project's limits in seconds. `update_snapshots` lets
    `diff` rewrite its expected files. `name` is the grader's own name, by which a scripted judge knows it;
    `judge_model`, `judge_effort` and `judge_timeout` are the suite's defaults, for graders that name none
    themselves; `turn_timeout` is the limit of the agent's turns (0: none), which no judge exceeds.
    """

    name: str = ""
    judge_model: str = ""
    judge_effort: str = ""
    judge_timeout: float | None = None
    turn_timeout: float = 0
    judge: Judge | None = None
    shared: SharedResources = msgspec.field(default_factory=SharedResources)
    program_timeout: float = 30
    code_timeout: float = 30
    update_snapshots: bool = False


class GraderLike(Protocol):
    """A grader: a value with one method. The method may be plain or async."""

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict | Awaitable[Verdict]:
        """Judge what was seen. GraderError: no verdict could be reached."""
        ...


class GraderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A grader as the suite declares it, or as it follows from the agent. `weight` is the effective one."""

    type: str
    name: str
    weight: float = 1.0
    config: dict[str, Any] = {}
    implicit: bool = False  # made from an agent's `tools:`, not written in the suite
    module: str = ""  # digest of the module of a grader from elsewhere


class BuiltGrader(msgspec.Struct, frozen=True):
    """A grader that is built and checked, and the spec that it was built from.

    `module` is the folder of the module that a grader from elsewhere was read from.
    """

    spec: GraderSpec
    grader: GraderLike
    module: Path | None = None
