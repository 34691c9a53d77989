"""Asking a judge which task exercises a promise that no words of the tasks cover.

Only a task that the judge names, and that is there, counts. Whatever else it answers, and whatever keeps it from
answering, leaves the promise uncovered.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waza.author.improve.ask import Asker, AskError, NotAskedError, compose, read_object
from waza.author.spec_verify.match import Covering, Exercise
from waza.author.spec_verify.promises import Promise
from waza.report.words import one_line

ASKER = "spec_verify"
"""The name by which a scripted judge knows these questions (`mock.judge.spec_verify`)."""
_SHOWN = 1500  # characters of a task
_ALL_SHOWN = 60_000  # characters of all tasks together

_TASK = """Below are a requirement of an AI agent's skill, and the tasks of its evaluation suite. Decide whether one of the tasks
exercises the requirement, that is, whether an agent that ignored the requirement would get that task wrong. {kind}

Answer with one JSON object and nothing else: {{"task": "<id of the task>", "reason": "<one sentence>"}}, or
{{"task": null, "reason": "<one sentence>"}} if no task does."""
_KINDS = {
    "description": "The requirement is what the skill does.",
    "use": "The requirement is what the skill is to be used for.",
    "dont": "The requirement is what the skill is not for, so that a task has to expect it to stay away.",
    "param": "The requirement is a parameter of the skill.",
}


class SemanticAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge found: tasks by the id of the promise; and by the same, why there is no answer."""

    covering: dict[str, Covering]
    failures: dict[str, str]


async def ask_about(
    asker: Asker, promises: Sequence[Promise], exercises: Sequence[Exercise]
) -> SemanticAnswers:
    """Ask a judge about promises, one after another. A judge that cannot be asked is the failure of each promise.

    In a preview nothing is covered, and nothing failed.
    """
    covering: dict[str, Covering] = {}
    failures: dict[str, str] = {}
    for promise in promises:
        if not exercises:
            failures[promise.id] = "the suite has no task"
            continue
        try:
            found = _read(await asker.ask(ASKER, _question(promise, exercises)), promise, exercises)
        except NotAskedError:
            continue
        except AskError as error:
            failures[promise.id] = one_line(str(error), 300)
        else:
            covering |= {promise.id: found} if found else {}
    return SemanticAnswers(covering=covering, failures=failures)


def _question(promise: Promise, exercises: Sequence[Exercise]) -> str:
    material = [("Requirement", promise.text)]
    left = _ALL_SHOWN
    for one in exercises:
        text = f"id: {one.id}\n{one.shown[:_SHOWN]}"
        left -= len(text)
        if left < 0:
            break
        kind = "Task that expects the skill to stay away" if one.negative else "Task"
        material.append((kind, text))
    return compose(_TASK.format(kind=_KINDS[promise.kind]), material)


def _read(answer: str, promise: Promise, exercises: Sequence[Exercise]) -> Covering | None:
    """Return the task that the judge names, or None where it names none. Raises AskError for anything else."""
    value = read_object(answer, "task")
    name, reason = value["task"], value.get("reason")
    if name is None:
        return None
    named = [one for one in exercises if one.id == name]
    if not named:
        raise AskError(f"it names a task that is not there: {name!r}")
    if named[0].negative != (promise.kind == "dont"):
        wanted = "expects" if promise.kind == "dont" else "does not expect"
        raise AskError(f"it names {name!r}, and only a task that {wanted} the skill to stay away counts")
    explained = one_line(reason, 500) if isinstance(reason, str) else ""
    return Covering(named[0].id, named[0].name, named[0].path, "semantic", explained)
