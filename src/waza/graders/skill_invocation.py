"""`skill_invocation`: whether the agent loaded the required skills, and none of the forbidden ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from waza.graders.action_sequence import sequence_mismatch
from waza.graders.base import ConfigMistake, ExactName, Grader, GraderLocation, list_exact_names
from waza.kit.stats import f1
from waza.model.base import NonBlank
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

_EXTRA_COST = 0.6  # what a session of nothing but extra invocations would lose of its score


class SkillInvocationGrader(Grader, frozen=True, kw_only=True):
    """The skills that the agent invoked. Passed by the mode, scored by F1.

    A forbidden skill makes the score 0. `exact_match` is the mode that refuses extra skills.
    """

    required_skills: list[NonBlank] = []
    """Exact names of skills that must be invoked."""
    forbidden_skills: list[NonBlank] = []
    """Exact names of skills that must not be invoked."""
    mode: Literal["exact_match", "in_order", "any_order"] | None = None
    """How the invocations must fit `required_skills`: `exact_match`, `in_order` or `any_order`. Needed with
    `required_skills`."""
    allow_extra: bool = True
    """False: other skills lower the score. They never change whether the grader passes."""

    def required_capabilities(self) -> Mapping[str, str]:
        """Say that it judges by reported calls."""
        return {"tool_calls": ""}

    def exact_names(self) -> Iterator[ExactName]:
        """Say which names are compared letter by letter."""
        return list_exact_names(
            "skill", required_skills=self.required_skills, forbidden_skills=self.forbidden_skills
        )

    def check(self, location: GraderLocation) -> Iterator[ConfigMistake]:
        """Refuse a grader that would check nothing, and required skills without a mode."""
        del location
        if not (self.required_skills or self.forbidden_skills):
            yield ConfigMistake(message="checks nothing", hint="set required_skills or forbidden_skills")
        elif self.required_skills and self.mode is None:
            yield ConfigMistake(
                message="'mode' is missing", hint="set mode to exact_match, in_order or any_order"
            )

    def grade(self, observation: Observation, helpers: Helpers) -> Verdict:
        """Compare the loaded skills with the lists. No skill at all is an ordinary case."""
        del helpers
        actual = [skill.name for skill in observation.skill_invocations]
        mode = self.mode or "any_order"
        precision, recall, score = f1(self.required_skills, actual) if self.required_skills else (1.0,) * 3
        violations = [name for name in dict.fromkeys(actual) if name in self.forbidden_skills]
        details: dict[str, Any] = {
            **msgspec.structs.asdict(self),
            "mode": mode,
            "forbidden_violations": violations,
            "actual_skills": actual,
            "precision": precision,
            "recall": recall,
            "f1": score,
        }
        if violations:
            return Verdict.failed(f"forbidden skills were invoked: {', '.join(violations)}", **details)
        fault = (
            sequence_mismatch(mode.removesuffix("_match"), self.required_skills, actual)
            if self.required_skills
            else ""
        )
        return Verdict(
            score=self._less_extra(score, len(actual)),
            passed=not fault,
            feedback=fault or "the skill invocations match",
            details=details,
        )

    def _less_extra(self, score: float, invoked: int) -> float:
        extra = invoked - len(self.required_skills)
        if self.allow_extra or extra <= 0:
            return score
        return score * (1 - _EXTRA_COST * extra / invoked)
