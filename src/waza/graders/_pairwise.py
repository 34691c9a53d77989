"""Pairwise judging: is the output with the skill better than the baseline's? Asked twice, in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from waza.graders import _ask_judge
from waza.model.agent import JudgeQuestion, Tool
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

WINNER = "set_pairwise_winner"
NO_WINNER = "the judge named no winner"

_MAGNITUDES = ("much-better", "slightly-better", "equal")
_TOOL = Tool(
    name=WINNER,
    description="Record which of the two outputs is better.",
    parameters={
        "type": "object",
        "properties": {
            "winner": {"type": "string", "enum": ["A", "B", "tie"]},
            "magnitude": {"type": "string", "enum": [*_MAGNITUDES], "description": "How much better."},
            "reasoning": {"type": "string", "description": "Why, in a sentence or two."},
        },
        "required": ["winner", "magnitude", "reasoning"],
    },
)
_ROLE = (
    "You compare two outputs, A and B, that were given for the same task. Judge by the criteria below; "
    "which one is called A is chance and says nothing.\n\n# Criteria\n\n"
)
_CLOSING = f"Decide now: call {WINNER} once, with the winner (A, B or tie), the magnitude and your reasoning."
_SCORES = {"skill": 1.0, "tie": 0.5, "baseline": 0.0}


class PairwiseAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The judge's answer in one order. `winner` is `baseline`, `skill` or `tie`; `error` was ignored."""

    winner: str
    magnitude: str
    reasoning: str
    error: str = ""


async def compare(
    question: JudgeQuestion, observation: Observation, helpers: Helpers, context: Sequence[tuple[str, str]]
) -> Verdict:
    """Ask in both orders, each in a fresh conversation. Score: skill 1, tie 0.5, baseline 0 (failed).

    `question` has the criteria as its text; `context` is material for both orders. Winners that change
    with the order are a tie. GraderError: the judge broke before it named a winner.
    """
    first = await _ask(question, observation, helpers, context, ("baseline", "skill"))
    second = await _ask(question, observation, helpers, context, ("skill", "baseline"))
    result = _combine(first, second)
    winner = result["winner"]
    return Verdict(
        score=_SCORES[winner],
        passed=winner != "baseline",
        feedback=f"{'tie' if winner == 'tie' else f'the {winner} output wins'}: {result['reasoning']}",
        details={
            "pairwise": result,
            "pass1": msgspec.to_builtins(first),
            "pass2": msgspec.to_builtins(second),
            "prompt": question.text,
            "mode": "pairwise",
        },
    )


async def _ask(
    question: JudgeQuestion,
    observation: Observation,
    helpers: Helpers,
    context: Sequence[tuple[str, str]],
    order: tuple[str, str],
) -> PairwiseAnswer:
    outputs = {"baseline": observation.baseline_output or "", "skill": observation.output}
    material = [*context, ("Output A", outputs[order[0]]), ("Output B", outputs[order[1]])]
    text = _ask_judge.build_prompt(_ROLE + question.text, material, _CLOSING)
    answer = await _ask_judge.ask(
        msgspec.structs.replace(question, text=text, tools=(_TOOL,)), observation, helpers
    )
    calls = [call.args for call in answer.calls if call.name == WINNER]
    if not calls:
        return PairwiseAnswer(winner="tie", magnitude="equal", reasoning=NO_WINNER)
    return _read(calls[-1], order, answer.error)


def _read(args: dict[str, Any], order: tuple[str, str], error: str) -> PairwiseAnswer:
    """Return the call's meaning: whatever is neither A nor B is a tie."""
    letter = args.get("winner")
    winner = order["AB".index(letter)] if letter in ("A", "B") else "tie"
    magnitude = args.get("magnitude") if winner != "tie" else "equal"
    reasoning = args.get("reasoning")
    return PairwiseAnswer(
        winner=winner,
        magnitude=magnitude if magnitude in _MAGNITUDES else "slightly-better",
        reasoning=reasoning if isinstance(reasoning, str) else "",
        error=error,
    )


def _combine(first: PairwiseAnswer, second: PairwiseAnswer) -> dict[str, Any]:
    if first.winner == second.winner:
        result = {"winner": first.winner, "magnitude": first.magnitude, "reasoning": first.reasoning}
        return {**result, "position_consistent": True}
    reasoning = f"the winner changed with the order ({first.winner}: {first.reasoning}; {second.winner}: {second.reasoning})"
    return {"winner": "tie", "magnitude": "equal", "reasoning": reasoning, "position_consistent": False}
