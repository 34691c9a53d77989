"""Questions to a judge: their prompts, the material in fences, and the JSON object of the reply.

The prompts are the Markdown files in `prompts/`; `material.md` belongs to all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from waza.errors import WazaError
from waza.kit.json_objects import find_objects
from waza.kit.prompt_fence import fence_sections
from waza.m365.judges.judge_model import JudgeModel, Message

_SHOWN = 200  # characters of a reply that a message repeats


class NoJudgementError(Exception):
    """A judge gave no judgement; the text becomes the error of the evaluator."""


def judge_prompt(prompts: Sequence[str], material: Sequence[tuple[str, str]], subject: str) -> list[Message]:
    """Return the messages to a judge: the named prompts, and titled texts in fences that no text can close.

    `subject` is a word for what the judge assesses.
    """
    _, sections = fence_sections(material)
    closing = f"Assess the {subject} now. Reply with the JSON object only."
    return [
        Message("system", "\n\n".join(map(_prompt, prompts))),
        Message("user", "\n\n".join([*sections, closing])),
    ]


async def ask_judge(judge: JudgeModel, messages: Sequence[Message], key: str) -> dict[str, object]:
    """Return the reply: one JSON object with the key, with or without a fence or prose around it.

    Raises NoJudgementError if the judge fails, or replies something else.
    """
    try:
        reply = (await judge.complete(messages)).text
    except WazaError as error:
        raise NoJudgementError(f"Evaluator failed: {error}") from error
    objects = find_objects(reply)
    if len(objects) != 1:
        found = "several JSON objects" if objects else "no JSON object"
        raise NoJudgementError(
            f"could not parse the judge's reply: it contains {found}: {_short_repr(reply)}"
        )
    if key not in objects[0]:
        raise NoJudgementError(f"could not parse the judge's reply: it has no '{key}': {_short_repr(reply)}")
    return objects[0]


def _short_repr(reply: str) -> str:
    text = " ".join(reply.split())
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


@cache
def _prompt(name: str) -> str:
    return files("waza.m365.judges").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()
