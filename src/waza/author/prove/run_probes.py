"""Probes are run by the engine, on the mock executor, as the tasks of a suite made for them. Nothing is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from waza.author.prove.material import without_missing
from waza.author.prove.probe import Probe, as_template
from waza.engine.cancellation import Cancellation
from waza.engine.run import RunOptions
from waza.engine.run_all import run_one
from waza.errors import WazaError
from waza.executors import CAPABILITIES
from waza.model.event import RunEvent, TrialFinished
from waza.model.loaded import Project, Suite
from waza.model.pass_rule import ALL
from waza.model.result import TrialResult
from waza.model.suite import Hooks
from waza.model.task import Task
from waza.model.verdict import BuiltGrader

Report = Callable[[int, int], None]
"""Gets how many probes are done, of how many."""


class ProbeRun(msgspec.Struct, frozen=True):
    """A probe of a task: what is to be run, and by which graders it is graded."""

    task: Task
    probe: Probe


Seen = Callable[[ProbeRun, TrialResult], None]
"""Takes the result of a probe. Results are not kept, since answers may be long."""


def run_probes(
    suite: Suite, project: Project, probes: Sequence[ProbeRun], seen: Seen, report: Report, *, programs: bool
) -> None:
    """Run probes, and hand each result to `seen`. With `programs`, the hooks of the suite run as well.

    Raises WazaError if a run cannot go on, or was interrupted.
    """
    done = 0

    def emit(event: RunEvent) -> None:
        nonlocal done
        if isinstance(event, TrialFinished):
            seen(probes[int(event.task_id)], event.result)
            done += 1
            report(done, len(probes))

    if not probes:
        return
    hooked = programs and bool(
        suite.file.hooks.before_run or suite.file.hooks.before_task
    )  # may make what is missing
    tasks = [_as_task(one, str(i), complete=hooked) for i, one in enumerate(probes)]
    made = _made_for(suite, tasks, programs=programs)
    options = RunOptions(project=project, save=False)
    finished = asyncio.run(run_one(made, "", options, emit, Cancellation()))
    finished.run_directory.close()
    if finished.interrupted is not None:
        interrupted = WazaError("interrupted; the proof is not complete")
        interrupted.exit_code = finished.interrupted
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


def _as_task(run: ProbeRun, task_id: str, *, complete: bool) -> Task:
    """Return the task of a probe. Where it is not `complete`, it is run without the inputs that are missing."""
    return msgspec.structs.replace(
        run.task if complete else without_missing(run.task),
        id=task_id,
        mock=as_template(run.task, run.probe.script),
        command_mocks=(),
        mcp_mocks=(),
        requirements=(),
        digest="",
    )


def _made_for(suite: Suite, tasks: Sequence[Task], *, programs: bool) -> Suite:
    """Return a suite with these tasks on the mock executor: one trial each, and none stops another."""
    config = msgspec.structs.replace(
        suite.file.config,
        executor="mock",
        executor_options={},
        model="",
        reasoning_effort=None,
        mcp_servers={},
        trials_per_task=1,
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
        models=("",),
        capabilities=CAPABILITIES["mock"],
        trigger_tests=None,
        filtered=False,
        selection=None,
    )
