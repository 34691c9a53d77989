"""Verdicts: what a grader says of an observation; and graders that are ready to be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import msgspec

from waza.model.agent import Judge, JudgeAnswer, JudgeQuestion
from waza.model.observation import Observation

NO_VERDICT = "no_verdict"
"""The key of `details` that is true where a failure is no verdict on the answer: a judge or a program did not give one."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One grader's answer."""

    score: float
    """From 0 to 1."""
    passed: bool
    """Whether the grader passed."""
    feedback: str = ""
    """Why, in words."""
    details: dict[str, Any] = {}
    """What was found, as JSON, for `validations.*.details` of results."""
    error: str = ""
    """Why no verdict could be reached; raise GraderError instead."""
    outside: bool = False
    """The engine sets it: the error has a cause outside of the agent and of the grader, such as a full disk."""

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
    """What a grader may use but not make itself. The defaults will do for tests."""

    name: str = ""
    """The name of the grader in the suite."""
    judge_model: str = ""
    """The model of judges that the suite names, or empty."""
    judge_effort: str = ""
    """The reasoning effort of judges, or empty."""
    judge_timeout: float | None = None
    """Seconds that an answer of a judge may take; None: the suite does not say."""
    turn_timeout: float = 0
    """Seconds that a turn of the agent may take, which no judge exceeds; 0: no limit."""
    judge: Judge | None = None
    """What answers questions; None: the executor has no judge."""
    shared: SharedResources = msgspec.field(default_factory=SharedResources)
    """What outlives one grading, such as a client."""
    program_timeout: float = 30
    """Seconds that a program may take, by `.waza.yaml`."""
    code_timeout: float = 30
    """Seconds that an assertion may take, by `.waza.yaml`."""
    update_snapshots: bool = False
    """Expected files may be rewritten (`--update-snapshots`)."""
    environment: Mapping[str, str] = {}
    """Environment variables for programs that the grader starts, by which they continue the trace of the run."""
    report_question: Callable[[JudgeQuestion], Callable[[JudgeAnswer], None]] | None = None
    """Reports a question that the grader asks a model without `judge`, at the moment it asks, and returns what reports
    the answer. None: nobody wants to know."""


class GraderLike(Protocol):
    """A grader: a value with one method. The method may be plain or async."""

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict | Awaitable[Verdict]:
        """Judge what was seen. GraderError: no verdict could be reached."""
        ...


JUDGED = frozenset({"prompt", "evaluator"})
"""The types of graders whose verdicts a model may reach, as results have them; of a suite, `Grader.asks_judge` says it."""
PAIRWISE = "pairwise"  # the mode of graders that compare with the arm without skills


class GraderSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A grader as the suite declares it, or as it follows from the agent. `weight` is the effective one.

    `only_with_skills`: it is not asked in the arm without skills.
    """

    type: str
    name: str
    weight: float = 1.0
    config: dict[str, Any] = {}
    implicit: bool = False  # made from an agent's `tools:`, not written in the suite
    module: str = ""  # digest of the module of a grader from elsewhere
    only_with_skills: bool = False

    @property
    def needs_skills(self) -> bool:
        """Whether it has nothing to look at without skills: their tools, their use, or an answer to compare with."""
        return self.implicit or self.only_with_skills or self.config.get("mode") == PAIRWISE


class BuiltGrader(msgspec.Struct, frozen=True):
    """A grader that is built and checked, and the spec that it was built from.

    `module` is the folder of the module that a grader from elsewhere was read from.
    """

    spec: GraderSpec
    grader: GraderLike
    module: Path | None = None
