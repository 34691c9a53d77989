"""Evaluators that ask a judge for one of five levels: Relevance, Coherence, Groundedness and Similarity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waza.m365.custom.custom_result import custom_result
from waza.m365.document.options import NEEDS, JudgedOptions, plain_number
from waza.m365.evaluators.protocols import EvaluatorInput, EvaluatorResult, result_from
from waza.m365.judges.judge_model import JudgeModel
from waza.m365.judges.judge_prompt import NoJudgementError, ask_judge, judge_prompt

MATERIAL: Mapping[str, Sequence[str]] = {
    "Relevance": ("prompt", "response"),
    "Coherence": ("prompt", "response"),
    "Groundedness": ("context", "prompt", "response"),
    "Similarity": ("prompt", "expected_response", "response"),
}
"""What each evaluator shows to the judge: fields of a Case."""

_TITLES = {
    "prompt": "Request of the user",
    "response": "Response to assess",
    "context": "Context",
    "expected_response": "Reference answer",
}


class RubricEvaluator:
    """Lets a judge choose the level of a response. `name` is a key of MATERIAL."""

    def __init__(self, name: str, options: JudgedOptions, judge: JudgeModel) -> None:
        self.name, self.options, self.judge = name, options, judge

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        """Ask for the level; an error where something is missing or the judge gave none."""
        texts = {field: str(getattr(case, field)) for field in MATERIAL[self.name]}
        if not case.response.strip():
            return self._errored("the response is blank; there is nothing to judge")
        needed = NEEDS.get(self.name)
        if needed and not texts[needed].strip():
            return self._errored(f"{self.name} needs {needed}, which is missing; write one")
        material = [(_TITLES[field], text) for field, text in texts.items() if text.strip()]
        messages = judge_prompt([self.name.lower(), "material", "reply"], material, "response")
        try:
            found = custom_result("judge", await ask_judge(self.judge, messages, "score"))
        except NoJudgementError as error:
            return self._errored(str(error))
        return result_from(found, plain_number(self.options.threshold), self.name, "built-in")

    def _errored(self, text: str) -> EvaluatorResult:
        return EvaluatorResult(name=self.name, error=text)
