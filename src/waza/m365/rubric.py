"""Evaluators that ask a judge for one of five levels: Relevance, Coherence, Groundedness and Similarity.

Their prompts are the Markdown files in `prompts/`: one of each evaluator, and `reply.md`, which all share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from waza.errors import WazaError
from waza.m365.case import Case, Entry, Judge, Message, errored
from waza.m365.contract import entry, outcome
from waza.m365.options import JudgedOptions

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
_SHOWN = 200  # characters of a reply that a message repeats
_DECODER = json.JSONDecoder()


class Rubric:
    """Lets a judge choose the level of a response. `name` is a key of MATERIAL."""

    def __init__(self, name: str, options: JudgedOptions, judge: Judge) -> None:
        self.name, self.options, self.judge = name, options, judge

    async def __call__(self, case: Case) -> Entry:
        """Return a JudgedScore; an errored entry where something is missing or the judge gave no level."""
        texts = {field: str(getattr(case, field)) for field in MATERIAL[self.name]}
        if not case.response.strip():
            return errored("the response is blank; there is nothing to judge")
        for field in ("context", "expected_response"):
            if field in texts and not texts[field].strip():
                return errored(f"{self.name} needs {field}, and there is none; give the item one")
        try:
            reply = await self.judge.complete(messages(self.name, texts))
        except WazaError as error:
            return errored(f"Evaluator failed: {error}")
        return judged(reply, self.options.threshold)


def messages(name: str, texts: Mapping[str, str]) -> list[Message]:
    """Return what a judge is told: its task, and the texts in fences that none of them can close."""
    fence = "`" * max(3, 1 + max(_longest_run(text) for text in texts.values()))
    sections = [
        f"## {_TITLES[field]}\n\n{fence}\n{text}\n{fence}" for field, text in texts.items() if text.strip()
    ]
    return [
        Message("system", f"{_prompt(name.lower())}\n\n{_prompt('reply')}"),
        Message(
            "user", "\n\n".join([*sections, "Assess the response now. Reply with the JSON object only."])
        ),
    ]


def judged(reply: str, threshold: float) -> Entry:
    """Return the entry of a judge's reply: one JSON object, with or without a fence or prose around it."""
    objects = _objects(reply)
    if len(objects) != 1:
        found = "several JSON objects" if objects else "no JSON object"
        return errored(f"could not parse the judge's reply: it holds {found}: {_shown(reply)}")
    if "score" not in objects[0]:
        return errored(f"could not parse the judge's reply: it has no 'score': {_shown(reply)}")
    return entry(outcome("judge", objects[0]), threshold)


def _objects(text: str) -> list[dict[str, object]]:
    """Return the JSON objects in a text that stand in no other one."""
    found: list[dict[str, object]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found


def _shown(reply: str) -> str:
    text = " ".join(reply.split())
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


@cache
def _prompt(name: str) -> str:
    return files("waza.m365").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()
