"""Changes of a passing answer, each of which makes it a worse one. A grader that looks there should notice."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from waza.author.prove.probe import Aspect, Probe
from waza.model.mock import MockScript, MockTurn

_DIGIT = re.compile(r"[0-9](?![0-9])")  # the last of a number
_OPPOSITES = (
    ("yes", "no"), ("true", "false"), ("pass", "fail"), ("passed", "failed"), ("passes", "fails"), ("valid", "invalid"),
    ("correct", "incorrect"), ("success", "failure"), ("safe", "unsafe"), ("secure", "insecure"), ("always", "never"),
    ("approve", "reject"), ("approved", "rejected"), ("all", "none"),
)  # fmt: skip
_OPPOSITE = {one: other for a, b in _OPPOSITES for one, other in ((a, b), (b, a))}
_WORD = re.compile(r"\b(" + "|".join(sorted(_OPPOSITE, key=len, reverse=True)) + r")\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(is|are|was|were|has|have|can|could|will|would|should|must|may)\b(?! not)", re.IGNORECASE
)

Changed = MockTurn | str
"""A turn with the change, or why there is nothing to change."""


def _cut(turn: MockTurn) -> Changed:
    if not turn.output.strip():
        return "the answer has no text"
    return msgspec.structs.replace(turn, output=turn.output[: len(turn.output) // 2])


def _shuffle(turn: MockTurn) -> Changed:
    words = turn.output.split()
    if words == words[::-1]:
        return "the answer has no two words to exchange"
    return msgspec.structs.replace(turn, output=" ".join(reversed(words)))


def _change_number(turn: MockTurn) -> Changed:
    output = _DIGIT.sub(lambda found: str((int(found[0]) + 1) % 10), turn.output)
    return (
        "the answer has no number" if output == turn.output else msgspec.structs.replace(turn, output=output)
    )


def _negate(turn: MockTurn) -> Changed:
    text = turn.output
    if not text.strip():
        return "the answer has no text"
    output = _WORD.sub(lambda found: _like(found[0], _OPPOSITE[found[0].lower()]), text)
    if output == text and _is_json(text):
        return "the answer is JSON without a word to negate"
    if output == text:
        output = _VERB.sub(lambda found: f"{found[0]} not", text)
    if output == text:
        output = f"It is not true that: {text}"
    return msgspec.structs.replace(turn, output=output)


def _drop_calls(turn: MockTurn) -> Changed:
    if not (turn.tool_calls or turn.skills):
        return "the answer has no tool calls"
    return msgspec.structs.replace(turn, tool_calls=[], skills=None if turn.skills is None else [])


def _empty_files(turn: MockTurn) -> Changed:
    if not any(file.content for file in turn.files):
        return "the answer writes no file"
    return msgspec.structs.replace(
        turn, files=[msgspec.structs.replace(file, content="") for file in turn.files]
    )


_OUTPUT: frozenset[Aspect] = frozenset(("output",))
CHANGES: Mapping[str, tuple[Callable[[MockTurn], Changed], frozenset[Aspect]]] = {
    "cut": (_cut, _OUTPUT),
    "shuffled": (_shuffle, _OUTPUT),
    "number": (_change_number, _OUTPUT),
    "negated": (_negate, _OUTPUT),
    "no-calls": (_drop_calls, frozenset(("calls", "skills"))),
    "empty-file": (_empty_files, frozenset(("files",))),
}
"""The changes by name: what makes them, and what of an answer they touch."""


def change_answer(answer: MockScript) -> Iterator[Probe | tuple[str, str]]:
    """Yield a probe for each change of an answer, or its name and why it is not applicable."""
    for name, (change, touches) in CHANGES.items():
        changed = [change(turn) for turn in answer.turns or ()]
        if all(isinstance(one, str) for one in changed):
            yield name, next((one for one in changed if isinstance(one, str)), "the answer has no turn")
            continue
        turns = tuple(
            old if isinstance(new, str) else new for old, new in zip(answer.turns or (), changed, strict=True)
        )
        script = msgspec.structs.replace(answer, turns=turns)
        yield Probe(name=name, kind="change", script=script, touches=touches)


def _like(word: str, other: str) -> str:
    """Return the other word in the case of the first."""
    return other.upper() if word.isupper() else other.capitalize() if word[0].isupper() else other


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
