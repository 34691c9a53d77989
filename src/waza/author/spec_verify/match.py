"""Which tasks exercise a promise: by the words of both, without asking anybody.

A phrase that occurs in a task is a match; else nearly all of its words have to. What a skill is not for is only
exercised by a task that expects the skill to stay away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from waza.author.spec_verify.promises import Promise
from waza.model.loaded import Suite
from waza.model.task import Task
from waza.problem import display_path
from waza.suite.trigger_tests import FILE as TRIGGER_FILE

_SHORTEST_WORD = 3  # letters
_FEW = 2  # words, all of which have to occur
_STOP_WORDS = frozenset(
    [
        "about",
        "above",
        "after",
        "all",
        "also",
        "and",
        "any",
        "are",
        "ask",
        "asks",
        "asked",
        "been",
        "before",
        "being",
        "below",
        "but",
        "can",
        "could",
        "did",
        "does",
        "each",
        "for",
        "from",
        "had",
        "has",
        "have",
        "her",
        "his",
        "how",
        "into",
        "its",
        "just",
        "like",
        "make",
        "more",
        "most",
        "not",
        "now",
        "off",
        "only",
        "other",
        "our",
        "out",
        "over",
        "own",
        "same",
        "she",
        "should",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "too",
        "under",
        "until",
        "use",
        "used",
        "uses",
        "user",
        "users",
        "using",
        "very",
        "was",
        "way",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "without",
        "would",
        "you",
        "your",
    ]
)
_NEGATIVE = re.compile(
    r"\b(?:negative|anti ?trigger|anti ?triggers|should not trigger|must not trigger|forbidden skills?|does not trigger)\b"
)


class Exercise(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it is matched: `words` are all texts of it, normalised; `shown` is what a judge is shown."""

    id: str
    name: str
    path: str
    words: str
    shown: str
    negative: bool


class Covering(msgspec.Struct, frozen=True, rename="camel"):
    """A task that exercises a promise; `mode` is how that was found: phrase, words or semantic."""

    task_id: str
    task_name: str
    path: str
    mode: str
    reason: str


def list_exercises(suite: Suite) -> list[Exercise]:
    """Return the tasks of a suite, and the prompts of its trigger tests."""
    found = [_of_task(task, suite) for task in suite.tasks]
    tests = suite.trigger_tests
    if tests is not None:
        path = display_path(suite.directory / TRIGGER_FILE)
        for negative, prompts in (
            (False, tests.should_trigger_prompts),
            (True, tests.should_not_trigger_prompts),
        ):
            for number, one in enumerate(prompts, start=1):
                name = f"trigger-{'negative' if negative else 'positive'}-{number}"
                words = normalize(f"{one.prompt} {one.reason}")
                found.append(
                    Exercise(id=name, name=name, path=path, words=words, shown=one.prompt, negative=negative)
                )
    return found


def find_covering(promise: Promise, exercises: list[Exercise]) -> Iterator[Covering]:
    """Yield the tasks that exercise a promise by their words."""
    for one in exercises:
        if one.negative != (promise.kind == "dont"):
            continue
        found = _match(promise.text, one.words)
        if found:
            yield Covering(one.id, one.name, one.path, *found)


def normalize(text: str) -> str:
    """Return the words of a text: letters and digits in lower case, with single blanks."""
    folded = unicodedata.normalize("NFKC", text).lower()
    return " ".join(re.findall(r"[^\W_]+", folded))


def _match(phrase: str, words: str) -> tuple[str, str] | None:
    """Return how a phrase occurs among the words of a task, with the reason; None if it does not."""
    wanted = normalize(phrase)
    if not wanted:
        return None
    if f" {wanted} " in f" {words} ":
        return "phrase", f"it has the phrase {phrase!r}"
    tokens = list(
        dict.fromkeys(
            token for token in wanted.split() if len(token) >= _SHORTEST_WORD and token not in _STOP_WORDS
        )
    )
    if not tokens:
        return None
    present = {_singular(word) for word in words.split()}
    met = [token for token in tokens if _singular(token) in present]
    needed = len(tokens) if len(tokens) <= _FEW else max(_FEW, len(tokens) - 1)
    if len(met) < needed:
        return None
    return "words", f"it has {len(met)} of {len(tokens)} words: {', '.join(met)}"


def _singular(word: str) -> str:
    return (
        word[:-1] if len(word) > _SHORTEST_WORD and word.endswith("s") and not word.endswith("ss") else word
    )


def _of_task(task: Task, suite: Suite) -> Exercise:
    texts = list(_texts(task))
    words = normalize(" ".join(texts))
    marks = normalize(" ".join([task.id, task.name, task.description, *task.tags, *_grader_texts(task)]))
    negative = task.expected.should_trigger is False or (
        task.expected.should_trigger is None and bool(_NEGATIVE.search(marks))
    )
    prompts = "\n".join((task.prompt, *task.follow_ups))
    return Exercise(
        id=task.id,
        name=task.name,
        path=display_path(Path(task.file)) if task.file else display_path(suite.path),
        words=words,
        shown=f"{task.description}\n{prompts}".strip(),
        negative=negative,
    )


def _texts(task: Task) -> Iterator[str]:
    """Yield all texts of a task that say what it exercises."""
    yield from (task.id, task.name, task.description, task.prompt, *task.follow_ups, *task.tags)
    yield task.expected_outcome
    yield from _flatten(msgspec.to_builtins(task.expected), keys=False)
    yield from _flatten(task.inputs.context, keys=True)
    yield from (file.path for file in task.inputs.files)
    yield from task.variables.values()
    yield from _grader_texts(task)
    for requirement in task.requirements:
        yield requirement.description


def _grader_texts(task: Task) -> Iterator[str]:
    for built in task.all_graders:
        if not built.spec.implicit:
            yield built.spec.name
            yield from _flatten(built.spec.config, keys=True)


def _flatten(value: Any, *, keys: bool) -> Iterator[str]:
    """Yield the texts within a value, and the keys of its maps if these are wanted."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if keys:
                yield str(key)
            yield from _flatten(inner, keys=keys)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _flatten(inner, keys=keys)
