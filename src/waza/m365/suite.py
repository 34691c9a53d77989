"""A document as a suite: every item is a task, every turn a prompt, and its evaluators grade the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UnsetType

from waza.errors import UsageError
from waza.executors import CAPABILITIES, SHORT, TYPES, parse_executor
from waza.m365.document.model import DocumentTurn
from waza.m365.document.options import Evaluators
from waza.m365.document.read import DocumentItem, EvalDocument
from waza.m365.document.scores import TRACEBACKS
from waza.m365.grader import EvaluatorGrader, evaluator_digest
from waza.m365.results.status import AGENT_THROTTLED, EVALUATORS_FAILED, REQUEST_FAILED
from waza.model.loaded import Suite
from waza.model.mock import MockScript, MockTurn
from waza.model.skill import Target
from waza.model.suite import Config, SuiteFile
from waza.model.task import Checkpoint, Task
from waza.model.verdict import BuiltGrader, GraderSpec
from waza.suite.digest import suite_digest, with_digest

RECORDED = "recorded"
AS_RECORDED = "as recorded: "
AGENTS = ("mock", RECORDED, "command:CMD", "a2a:URL", "copilot-sdk", "chat")


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent that is asked: an executor of suites, or `recorded`, which repeats the responses of the document.

    `options` are those of the executor. `model` and `target`, a skill or custom agent, are for real agents.
    `timeout` is in seconds a prompt, `concurrency` the number of items at the same time. Results also
    depend on the name of the `judge`, and on `entailment`, which is that of `make_built_in`.
    """

    executor: str
    options: dict[str, Any] = {}
    model: str = ""
    target: Target | None = None
    timeout: float = 300
    concurrency: int = 1
    judge: str = ""
    entailment: bool = False


def parse_agent(text: str) -> tuple[str, dict[str, Any]]:
    """Return the executor, or `recorded`, that `--agent` names, with its options. Raises UsageError for an unknown one.

    Programs run in the current directory, where people who write `python bot.py` have their bot.
    """
    executor, options = parse_executor(text)
    if (executor not in TYPES and executor != RECORDED) or (executor in SHORT and not options):
        raise UsageError(f"there is no agent {text!r}; {_suggest_agent(text)}known: {', '.join(AGENTS)}")
    if executor in CAPABILITIES and CAPABILITIES[executor].local_program:
        options |= {"directory": "current", "answer": "json"}
    return executor, options


def _suggest_agent(text: str) -> str:
    """Return which agent is probably meant, for messages."""
    option = "url" if text.startswith(("http://", "https://")) else "command" if " " in text.strip() else ""
    kinds = [name for name, key in SHORT.items() if key == option]
    return f"did you mean {kinds[0]}:{text}? " if kinds else ""


def make_suite(document: EvalDocument, evaluators: Sequence[Sequence[Evaluators]], agent: Agent) -> Suite:
    """Return the suite that runs a document; `evaluators` are those of every turn of every item.

    Custom evaluators are those of the current directory.
    """
    here = Path.cwd()
    names = {name for item in evaluators for turn in item for name in turn}
    digests = {name: evaluator_digest(here, name) for name in names}
    executor = "mock" if agent.executor == RECORDED else agent.executor
    config = Config(
        executor=executor,
        executor_options=agent.options,
        model=agent.model,
        judge_model=agent.judge,
        timeout_seconds=max(1, math.ceil(agent.timeout)),
        parallel=agent.concurrency > 1,
        workers=agent.concurrency,
        stop_after_errors=0
        if CAPABILITIES[executor].scripted
        else 5,  # recorded errors do not mean that a server is down
    )
    suite = Suite(
        path=here / document.source.file,
        directory=here,
        fixtures=here,
        file=SuiteFile(name=document.name, skill=agent.target.name if agent.target else "", config=config),
        tasks=tuple(
            with_digest(_task(item, data, own, agent, digests))
            for item, data, own in zip(document.items, document.data["items"], evaluators, strict=True)
        ),
        models=(agent.model,),
        capabilities=CAPABILITIES[executor],
    )
    return msgspec.structs.replace(suite, digest=suite_digest(suite))


def _task(
    item: DocumentItem,
    data: Mapping[str, Any],
    evaluators: Sequence[Evaluators],
    agent: Agent,
    digests: Mapping[str, str],
) -> Task:
    """Return an item as a task. The evaluators of the last turn are its graders, those of others are at checkpoints."""
    graders = [
        tuple(_grader(name, options, turn, agent, digests) for name, options in own.items())
        for turn, own in zip(item.turns, evaluators, strict=True)
    ]
    target, here = agent.target, Path.cwd()
    return Task(
        id=item.id,
        name=item.id,
        file="",
        prompt=item.turns[0].prompt,
        follow_ups=tuple(turn.prompt for turn in item.turns[1:]),
        timeout=agent.timeout,
        home=here,
        fixtures=here,
        target=target,
        skill_paths=(target.directory,) if target and target.kind == "skill" else (),
        no_skills=target is None,
        graders=graders[-1],
        checkpoints=tuple(
            Checkpoint(after_turn=number, graders=own, stop=False)
            for number, own in enumerate(graders[:-1], 1)
            if own
        ),
        mock=_recording(item, data) if agent.executor == RECORDED else None,
        verbatim=True,
    )


def _grader(
    name: str, options: dict[str, Any], turn: DocumentTurn, agent: Agent, digests: Mapping[str, str]
) -> BuiltGrader:
    config = {"name": name, "options": options, "entailment": agent.entailment}
    config |= {"expected_response": turn.expected_response, "context": turn.context}
    grader = EvaluatorGrader.of_document(name, options, turn, Path.cwd(), digests[name])
    return BuiltGrader(GraderSpec(type="evaluator", name=name, config=config), grader)


def _recording(item: DocumentItem, data: Mapping[str, Any]) -> MockScript:
    """Return the script of an item; `data` is the item in the document."""
    turns = zip(item.turns, data["turns"] if item.thread else [data], strict=True)
    return MockScript(turns=tuple(_recorded(turn, own) for turn, own in turns))


def _recorded(turn: DocumentTurn, data: Mapping[str, Any]) -> MockTurn:
    """Return the agent's response and diagnostics that the document records."""
    error = turn.error
    if not isinstance(error, UnsetType) and error.code != EVALUATORS_FAILED:
        cause = error.message.removeprefix(REQUEST_FAILED).removeprefix(AS_RECORDED)
        return MockTurn(error=f"{AS_RECORDED}{cause}", throttled=error.code == AGENT_THROTTLED)
    if isinstance(turn.response, UnsetType):
        return MockTurn(error="the document has no 'response' for this prompt")
    known = {key: value for key, value in data.get("diagnostics", {}).items() if key != TRACEBACKS}
    return MockTurn(output=turn.response, citations=data.get("citations", []), diagnostics=known)
