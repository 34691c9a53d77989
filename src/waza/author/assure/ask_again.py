"""Asking judges again about recorded answers, several times each: as `waza grade` asks, by the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from waza.author.assure.labels import AnswerKey, iter_trials
from waza.author.prove.run_probes import keep_graders
from waza.engine.plan import shared_workers
from waza.engine.regrade import regrade
from waza.graders._pairwise import NO_WINNER
from waza.graders.prompt import JUDGE_EFFORT, JUDGE_MODEL
from waza.model.event import RunEvent, TrialFinished
from waza.model.loaded import Project, Suite
from waza.model.result import SuiteResult, TaskResult, TrialResult, Validation
from waza.model.task import Task
from waza.results.transcripts import TRANSCRIPTS, read_transcript_records

NO_VERDICT = "the judge gave no verdict"


class AskedReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge came to, being asked once."""

    verdict: str
    """`pass` or `fail`; of a pairwise judge `skill`, `baseline` or `tie`; empty: none."""
    error: str = ""
    """Why there is no verdict."""
    asked: str = ""
    """What it was asked, as far as its grader keeps that."""
    own_model: str = ""
    """The model of its judge, where its grader has one of its own."""
    own_effort: str = ""
    """The effort of its judge, where its grader has one of its own."""
    winners: tuple[str, ...] = ()
    """Of a pairwise judge: the winner with the baseline first, and that with the skill first."""


class AnswerToAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, and the graders whose judges are asked about it."""

    key: AnswerKey
    graders: tuple[str, ...]


Replies = Mapping[tuple[AnswerKey, str], Sequence[AskedReply]]
"""By answer and grader, what the judge came to each time."""


def read_reply(validation: Validation | None, error: str = "") -> AskedReply:
    """Return what a judge came to, from the verdict of its grader. A judge that gave no verdict did not fail the answer."""
    if validation is None:
        return AskedReply(verdict="", error=error or NO_VERDICT)
    details = validation.details
    asked, model, effort = (_text_of(details, key) for key in ("prompt", JUDGE_MODEL, JUDGE_EFFORT))
    winners: tuple[str, ...] = ()
    if broken := details.get("error"):
        verdict, error = "", str(broken)
    elif details.get("mode") == "pairwise":
        verdict, error, winners = _read_pairwise(details)
    elif "not_asked" in details or (
        "passes" in details and not details["passes"] and not details.get("failures")
    ):
        verdict, error = "", validation.feedback or NO_VERDICT
    else:
        verdict, error = "pass" if validation.passed else "fail", ""
    return AskedReply(
        verdict=verdict, error=error, asked=asked, own_model=model, own_effort=effort, winners=winners
    )


def _text_of(details: Mapping[str, Any], key: str) -> str:
    found = details.get(key)
    return found if isinstance(found, str) else ""


def _read_pairwise(details: Mapping[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """Return the verdict of a comparison, why it has none if so, and the winners in both orders."""
    passes = [details.get(name) for name in ("pass1", "pass2")]
    read = [one if isinstance(one, dict) else {} for one in passes]
    if any(not one.get("winner") or one.get("reasoning") == NO_WINNER for one in read):
        return "", NO_WINNER, ()
    winners = tuple(str(one["winner"]) for one in read)
    return winners[0] if winners[0] == winners[1] else "tie", "", winners


async def ask_again(
    suite: Suite,
    recorded: SuiteResult,
    answers: Sequence[AnswerToAsk],
    times: int,
    project: Project,
    report: Callable[[], None],
) -> tuple[Replies, list[str]]:
    """Ask the judges of a suite about answers of a run, each so many times; return the replies, and warnings.

    `report` is called when all judges of an answer have been asked once. Raises RunError if the judge cannot be had.

    Each answer is a task of its own for the engine, with only the graders that are to be asked, and each time a trial. The
    first has the number of the recorded trial; a scripted judge plays what its script has for that number.
    """

    def listen(event: RunEvent) -> None:
        if isinstance(event, TrialFinished):
            report()

    made = _Repeated(suite, recorded, answers, times)
    done = await regrade(
        made.suite, made.result, project, workspace=None, listen=listen, workers=shared_workers([made.suite])
    )
    by_id = {task.test_id: task for task in done.result.tasks}
    replies = {
        (one.key, grader): [
            read_reply((trial.validations or {}).get(grader), trial.error_msg)
            for trial in by_id[str(number)].runs
        ]
        for number, one in enumerate(answers)
        for grader in one.graders
    }
    return replies, [text for text in done.warnings if text.partition(",")[0] not in by_id]


class _Repeated:
    """A suite and results in which each answer is a task, and each time that it is asked about a trial."""

    def __init__(
        self, suite: Suite, recorded: SuiteResult, answers: Sequence[AnswerToAsk], times: int
    ) -> None:
        self._trials: dict[AnswerKey, TrialResult] = dict(iter_trials(recorded))
        self._step = max(key.trial for key in self._trials)
        self._times = times
        tasks = {task.id: task for task in suite.tasks}
        ids = [(str(number), one) for number, one in enumerate(answers)]
        self.suite = msgspec.structs.replace(
            suite,
            tasks=tuple(_only(tasks[one.key.task], task_id, one.graders) for task_id, one in ids),
            trigger_tests=None,
        )
        records = read_transcript_records(recorded)
        transcripts = [
            msgspec.to_builtins(msgspec.structs.replace(record, task=task_id, trial=number))
            for task_id, one in ids
            if (record := records.get((one.key.task, one.key.trial))) is not None
            for number in self._numbers(one.key)
        ]
        below = recorded.baseline_outcome
        if below is not None:
            compared = [
                (task_id, one.key._replace(arm="baseline")) for task_id, one in ids if one.key.arm == "main"
            ]
            below = msgspec.structs.replace(
                below, tasks=[self._task(*one) for one in compared if one[1] in self._trials]
            )
        self.result = msgspec.structs.replace(
            recorded,
            tasks=[self._task(task_id, one.key) for task_id, one in ids],
            baseline_outcome=below,
            metadata={**recorded.metadata, TRANSCRIPTS: transcripts} if transcripts else recorded.metadata,
        )

    def _numbers(self, key: AnswerKey) -> Iterator[int]:
        return (key.trial + time * self._step for time in range(self._times))

    def _task(self, task_id: str, key: AnswerKey) -> TaskResult:
        trial = self._trials[key]
        runs = [msgspec.structs.replace(trial, run_number=number) for number in self._numbers(key)]
        return TaskResult(test_id=task_id, display_name=key.task, status="error", runs=runs)


def _only(task: Task, task_id: str, graders: Sequence[str]) -> Task:
    kept = keep_graders(task, lambda built: built.spec.name in graders)
    return msgspec.structs.replace(kept, id=task_id, checkpoints=(), requirements=())
