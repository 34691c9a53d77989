"""Probes are run by the engine, on the mock executor or beside a judge, as the tasks of a suite made for them. Nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from waza.author.one_run import finished_run
from waza.author.prove.options import ProveOptions
from waza.author.prove.probe import Probe, as_template
from waza.engine.run import RunOptions
from waza.errors import WazaError
from waza.executors import CAPABILITIES
from waza.graders.base import asks_judge
from waza.kit.text import pluralize
from waza.model.event import RunEvent, TrialFinished
from waza.model.loaded import Suite
from waza.model.pass_rule import ALL
from waza.model.result import TrialResult
from waza.model.suite import Hooks
from waza.model.task import Task
from waza.model.verdict import BuiltGrader


class ProbeRun(msgspec.Struct, frozen=True):
    """A probe of a task: what is to be run, and by which graders it is graded."""

    task: Task
    probe: Probe


Seen = Callable[[ProbeRun, TrialResult], None]
"""Takes the result of a probe. Results are not kept, since answers may be long."""


def run_probes(suite: Suite, probes: Sequence[ProbeRun], seen: Seen, options: ProveOptions) -> None:
    """Run probes, and hand each result to `seen`. The hooks of the suite run where programs are asked.

    Raises WazaError if a run cannot go on, or was interrupted.
    """
    done = 0

    def emit(event: RunEvent) -> None:
        nonlocal done
        if isinstance(event, TrialFinished):
            seen(probes[int(event.task_id)], event.result)
            done += 1
            options.report(done, len(probes))

    if not probes:
        return
    tasks = [_as_task(one, str(number)) for number, one in enumerate(probes)]
    questions = sum(asks_judge(built) for task in tasks for built in task.all_graders)
    judged = options.judges and questions > 0
    if judged:
        options.say(
            f"judges are asked up to {pluralize(questions, 'time')} in {pluralize(len(tasks), 'run')}"
        )
    made = _made_for(suite, tasks, programs=options.programs, judged=judged)
    run = RunOptions(project=options.project, save=False, only_judges=judged)

    async def play() -> int | None:
        async with finished_run(made, run, emit) as finished:
            return finished.interrupted

    signal_code = asyncio.run(play())
    if signal_code is not None:
        interrupted = WazaError("interrupted; not all of it was run, and there is no report")
        interrupted.exit_code = signal_code
        raise interrupted


def keep_graders(task: Task, keep: Callable[[BuiltGrader], bool]) -> Task:
    """Return a task with those of its graders that are to be asked. No checkpoint ends it, so that later ones are reached."""
    points = (
        msgspec.structs.replace(one, graders=tuple(filter(keep, one.graders)), stop=False)
        for one in task.checkpoints
    )
    return msgspec.structs.replace(
        task,
        graders=tuple(filter(keep, task.graders)),
        checkpoints=tuple(one for one in points if one.graders),
    )


def _as_task(run: ProbeRun, task_id: str) -> Task:
    return msgspec.structs.replace(
        run.task,
        id=task_id,
        mock=as_template(run.task, run.probe.script),
        requirements=(),
        digest="",
    )


def _made_for(suite: Suite, tasks: Sequence[Task], *, programs: bool, judged: bool) -> Suite:
    """Return a suite with these tasks: one trial each, and none stops another. Only where it is `judged`, it keeps its executor."""
    config, models, capabilities = suite.file.config, suite.models, suite.capabilities
    if judged:
        capabilities = msgspec.structs.replace(capabilities, tool_calls=True, usage=True, scripted=True)
    else:
        config = msgspec.structs.replace(
            config, executor="mock", executor_options={}, model="", reasoning_effort=None
        )
        models, capabilities = ("",), CAPABILITIES["mock"]
    config = msgspec.structs.replace(
        config,
        mcp_servers={},
        trials_per_task=1,
        stop_when=None,
        pass_rule=ALL,
        max_attempts=1,
        parallel=True,
        workers=0,
        fail_fast=False,
        stop_after_errors=0,
        group_by="",
    )
    file = msgspec.structs.replace(
        suite.file,
        config=config,
        metrics=[],
        hooks=suite.file.hooks if programs else Hooks(),
        baseline=False,
        canary="",
        mock=None,
    )
    return msgspec.structs.replace(
        suite,
        file=file,
        tasks=tuple(tasks),
        models=models,
        capabilities=capabilities,
        trigger_tests=None,
        filtered=False,
        selection=None,
    )
