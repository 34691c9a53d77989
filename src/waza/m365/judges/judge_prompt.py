"""Questions to a judge: their prompts, the material in fences, and the JSON object of the reply.

The prompts are the Markdown files in `prompts/`; `material.md` belongs to all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from waza.errors import WazaError
from waza.kit.prompt_fence import fence_sections
from waza.m365.judges.judge_model import JudgeModel, Message

_SHOWN = 200  # characters of a reply that a message repeats
_DECODER = json.JSONDecoder()


class NoJudgement(Exception):  # noqa: N818  # it is an answer that an evaluator has to expect
    """A judge gave no judgement; the text is that of the evaluator's error."""


def judge_prompt(prompts: Sequence[str], material: Sequence[tuple[str, str]], subject: str) -> list[Message]:
    """Return what a judge is told: prompts by their names, and titled texts in fences that none of them can close.

    `subject` is what it assesses, in a word.
    """
    _, sections = fence_sections(material)
    closing = f"Assess the {subject} now. Reply with the JSON object only."
    return [
        Message("system", "\n\n".join(map(_prompt, prompts))),
        Message("user", "\n\n".join([*sections, closing])),
    ]


async def ask(judge: JudgeModel, messages: Sequence[Message], key: str) -> dict[str, object]:
    """Return the reply: one JSON object with the key, with or without a fence or prose around it.

    NoJudgement: the judge broke down, or replied something else.
    """
    try:
        reply = await judge.complete(messages)
    except WazaError as error:
        raise NoJudgement(f"Evaluator failed: {error}") from error
    objects = _objects(reply)
    if len(objects) != 1:
        found = "several JSON objects" if objects else "no JSON object"
        raise NoJudgement(f"could not parse the judge's reply: it holds {found}: {_shown(reply)}")
    if key not in objects[0]:
        raise NoJudgement(f"could not parse the judge's reply: it has no '{key}': {_shown(reply)}")
    return objects[0]


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


@cache
def _prompt(name: str) -> str:
    return files("waza.m365.judges").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()
