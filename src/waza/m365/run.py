"""Running a document: every item is a conversation, and every response is given to its evaluators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from waza.engine.control import Control
from waza.errors import ExecutorError
from waza.m365.agents import Agent, Conversation, Reply
from waza.m365.case import Case, Entry, Evaluator
from waza.m365.document import EvalDocument, Item
from waza.m365.model import Turn
from waza.m365.options import Evaluators
from waza.m365.scores import RetrievalExecution
from waza.m365.status import EvaluatorResult, Failure, Kind, TurnOutcome

Make: TypeAlias = Callable[[str, Mapping[str, Any]], tuple[Evaluator, Kind]]
"""Makes an evaluator of its name and options, and tells its kind."""

Tell: TypeAlias = Callable[[Item, int, TurnOutcome], None]
"""Is told of every turn that is over, in whatever order that happens."""

ItemOutcome: TypeAlias = tuple[TurnOutcome, ...]


async def run_document(
    document: EvalDocument,
    evaluators: Sequence[Sequence[Evaluators]],
    agent: Agent,
    make: Make,
    *,
    concurrency: int,
    tell: Tell,
    control: Control,
) -> tuple[ItemOutcome, ...]:
    """Run all items, `concurrency` of them at a time, and return what happened, in the document's order.

    `evaluators` are those of every turn of every item. The agent must have been started. Items that a
    signal stops have no response.
    """
    gate = asyncio.Semaphore(concurrency)
    outcomes: dict[int, ItemOutcome] = {}

    async def one(item: Item, own: Sequence[Evaluators]) -> None:
        async with gate:
            outcomes[item.number] = await _converse(item, own, agent, make, tell)

    with control.signals():
        async with asyncio.TaskGroup() as group:
            for item, own in zip(document.items, evaluators, strict=True):
                control.watch(group.create_task(one(item, own)))
    return tuple(outcomes.get(item.number) or _stopped(item) for item in document.items)


def _stopped(item: Item) -> ItemOutcome:
    return (TurnOutcome(failure=Failure("the run was interrupted")),) * len(item.turns)


async def _converse(
    item: Item, evaluators: Sequence[Evaluators], agent: Agent, make: Make, tell: Tell
) -> ItemOutcome:
    """Hold one conversation; a turn without a response is the last that is tried."""
    outcomes: list[TurnOutcome] = []
    conversation: Conversation | None = None
    broken = False
    try:
        for number, (turn, own) in enumerate(zip(item.turns, evaluators, strict=True)):
            if broken:
                outcome = TurnOutcome(skipped=True)
            else:
                reply, conversation = await _reply(agent, item, conversation, turn.prompt)
                outcome = await _outcome(turn, reply, own, make)
            broken = broken or outcome.failure is not None
            outcomes.append(outcome)
            tell(item, number, outcome)
    finally:
        if conversation is not None:
            await conversation.aclose()
    return tuple(outcomes)


async def _reply(
    agent: Agent, item: Item, conversation: Conversation | None, prompt: str
) -> tuple[Reply, Conversation | None]:
    """Return the answer to a prompt; the first one opens the conversation."""
    try:
        conversation = conversation or await agent.open(item)
        return await conversation.send(prompt), conversation
    except ExecutorError as error:
        return Reply(failure=Failure(str(error))), conversation


async def _outcome(turn: Turn, reply: Reply, evaluators: Evaluators, make: Make) -> TurnOutcome:
    if reply.failure is not None:
        return TurnOutcome(failure=reply.failure)
    case = case_of(turn, reply)
    async with asyncio.TaskGroup() as group:
        judging = [
            group.create_task(judged(name, options, case, make)) for name, options in evaluators.items()
        ]
    return TurnOutcome(
        response=reply.text,
        results=tuple(task.result() for task in judging),
        citations=reply.citations,
        diagnostics=reply.diagnostics,
    )


def case_of(turn: Turn, reply: Reply) -> Case:
    """Return what evaluators are given of a turn."""
    known = reply.diagnostics.get("retrieval_executions")
    return Case(
        prompt=turn.prompt,
        response=reply.text,
        expected_response=turn.expected_response,
        context=turn.context,
        retrieval=None if known is None else msgspec.convert(known, tuple[RetrievalExecution, ...]),
    )


async def judged(name: str, options: Mapping[str, Any], case: Case, make: Make) -> EvaluatorResult:
    """Return what an instance of an evaluator, made for this response alone, says of it."""
    evaluator, kind = make(name, options)
    return _result(name, kind, await evaluator(case))


def _result(name: str, kind: Kind, entry: Entry) -> EvaluatorResult:
    if entry["result"] == "error":
        return EvaluatorResult(name=name, kind=kind, error=entry["error"])
    passed = entry["result"] == "pass"
    score = next((entry[key] for key in ("score", "count") if key in entry), float(passed))
    own = ("score", "count", "match", "result", "threshold", "reason")
    return EvaluatorResult(
        name=name,
        kind=kind,
        score=score,
        threshold=entry.get("threshold", 1),
        passed=passed,
        reason=entry.get("reason", ""),
        extra={key: value for key, value in entry.items() if key not in own},
    )
