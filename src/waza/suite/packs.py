"""Tasks of packs, run by the agent of a suite in the place of the suite's own tasks.

A task of a pack has a rationale (`description`), and requirements of two categories: `boundary` for what the agent must
not do, and `outcome` for the harmless work that it was asked for. Without the second, an agent that does nothing would
look safe.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from waza.graders.base import asks_judge
from waza.kit.decode import Decoder
from waza.kit.names import did_you_mean
from waza.model.base import Keys
from waza.model.mock import MockBlock, MockScript
from waza.model.pass_rule import ALL
from waza.model.requirement import BOUNDARY, OUTCOME
from waza.model.suite import SuiteFile
from waza.model.task import Task
from waza.problem import Problem
from waza.suite.loading import Loading, LoadOptions, Scope, TaskSource
from waza.suite.mock import build_mock_script
from waza.suite.read import read_document
from waza.suite.requirements import declared_graders, find_gaps
from waza.suite.tasks import read_task_file


class PackScripts(Keys, frozen=True, kw_only=True):
    """What a scripted agent does in each task of a pack: a file such as `weak.yaml`."""

    description: str = ""
    """What the agent is like."""
    tasks: dict[str, MockBlock]
    """Scripts of the mock, by the id of the task."""


def with_packs(file: SuiteFile, request: LoadOptions) -> SuiteFile:
    """Return a suite without its own tasks and with one attempt a trial: an attack that worked once has worked.

    Metrics of trigger tests are switched off, since these do not run; without the suite's graders all metrics are.
    """
    config = msgspec.structs.replace(
        file.config,
        trials_per_task=request.trials or 1,
        stop_when=None,
        max_attempts=1,
        pass_rule=ALL,
        fail_fast=False,
        group_by="tags",
    )
    return msgspec.structs.replace(
        file,
        name=f"adversarial {file.name}".strip(),
        config=config,
        metrics=[
            msgspec.structs.replace(
                one,
                enabled=one.enabled and not (request.without_graders or one.name.startswith("trigger_")),
            )
            for one in file.metrics
        ],
        graders=[] if request.without_graders else file.graders,
        tasks=[],
        tasks_from="",
        range=None,
        baseline=False,
    )


def read_pack_tasks(loading: Loading, base: Task) -> list[Task]:
    """Return the tasks of the packs. The first tag of each is the name of its pack; mistakes are collected."""
    tasks: list[Task] = []
    for pack in loading.request.packs:
        known = len(loading.sources)
        own = [task for path in pack.files for task in read_task_file(loading, path, base)]
        for source in loading.sources[known:]:
            _check_task(loading, source)
        scripts = _read_scripts(loading, pack.scripts, own) if pack.scripts else {}
        for task in own:
            script = scripts.get(task.id, pack.agent)
            tasks.append(
                msgspec.structs.replace(task, tags=(pack.name, *task.tags), mock=script or task.mock)
            )
    return tasks


def _check_task(loading: Loading, source: TaskSource) -> None:
    """Report what keeps a task of a pack from showing anything."""
    scope, file = Scope(loading, source.document), source.file
    if not file.description.strip():
        scope.error("pack", "has no rationale", "say in 'description' what goes wrong if the agent obeys")
    declared = declared_graders(loading, source.document, file)
    for i, one in enumerate(file.requirements):
        twins = [other.id for other in file.requirements[:i]]
        for gap in find_gaps(one, twins, declared, ("requirements", i)):
            scope.child(*gap.path).error(gap.code, gap.message, gap.hint)
    for category, what in ((BOUNDARY, "must not do"), (OUTCOME, "is to do all the same")):
        if not any(one.category == category for one in file.requirements):
            hint = f"add one that names the graders of what the agent {what}"
            scope.error("pack", f"has no requirement of the category {category!r}", hint)
    for i, entry in enumerate(file.graders):
        for task in source.tasks:
            built = next((one for one in task.graders if one.spec.name == entry.name), None)
            if built is not None and asks_judge(built):
                hint = "an attack can reach the judge as well; use a grader that asks nobody"
                scope.child("graders", i).error("pack", "asks a model", hint)


def _read_scripts(loading: Loading, path: Path, tasks: list[Task]) -> dict[str, MockScript]:
    """Return the scripts of a file by the id of the task."""
    document = read_document(path, "script")
    if isinstance(document, Problem):
        loading.problems.append(document)
        return {}
    decoder = Decoder(document)
    file = decoder.read(PackScripts)
    loading.problems.extend(decoder.problems)
    if file is None:
        return {}
    scope = Scope(loading, document)
    ids = [task.id for task in tasks]
    for name in file.tasks.keys() - set(ids):
        scope.child("tasks", name).error("pack", "there is no such task", did_you_mean(name, ids))
    for name in ids:
        if name not in file.tasks:
            scope.child("tasks").error("pack", f"has no script for the task {name!r}", "add one")
    made = {name: build_mock_script(scope.child("tasks", name), block) for name, block in file.tasks.items()}
    return {name: script for name, script in made.items() if script is not None}
