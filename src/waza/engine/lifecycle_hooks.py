"""The hooks of a run, around each arm and around each task; and the skills that they were to create."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from waza.engine.trial import RunContext, template_variables
from waza.errors import RunError
from waza.model.event import HookRan, HookStarted
from waza.model.suite import Hook
from waza.model.task import Task
from waza.model.trial import Arm
from waza.suite.discover import find_required_skills
from waza.suite.skills import DisabledSkills

_LONGEST_LINE = 1000  # characters of a failed hook's last line; its end says most


class LifecycleHooks:
    """The hooks of one run. A failed `before_` hook with `error_on_fail` raises RunError; other failures are warnings."""

    def __init__(self, context: RunContext) -> None:
        self.context, self.hooks = context, context.plan.suite.file.hooks

    async def before_run(self, arm: Arm) -> None:
        """Run the hooks before an arm, and look again for required skills that they were to create."""
        await self._run("before_run", self.hooks.before_run)
        self._check_required(arm)

    async def after_run(self) -> None:
        """Run the hooks after an arm."""
        await self._run("after_run", self.hooks.after_run)

    async def before_task(self, task: Task) -> None:
        """Run the hooks before a task."""
        await self._run("before_task", self.hooks.before_task, task)

    async def after_task(self, task: Task) -> None:
        """Run the hooks after a task."""
        await self._run("after_task", self.hooks.after_task, task)

    def _of_suite(self) -> dict[str, str]:
        return {
            "JobID": self.context.run_id,
            "TaskName": "",
            "Iteration": "0",
            "Attempt": "0",
            "Timestamp": datetime.now().astimezone().isoformat(timespec="seconds"),
            **{f"Vars.{key}": value for key, value in self.context.plan.suite.file.inputs.items()},
        }

    async def _run(self, point: str, hooks: Sequence[Hook], task: Task | None = None) -> None:
        if not hooks:
            return
        from waza.workspace.hooks import run_hooks  # most suites have no hooks

        variables = template_variables(task, self.context.run_id) if task else self._of_suite()
        where = {"point": point, "task_id": task.id if task else "", "name": task.name if task else ""}

        def start(command: str) -> Mapping[str, str]:
            started = HookStarted(**where, command=command)
            self.context.emit(started)
            return self.context.tracer.environment(started) if self.context.tracer else {}

        clean = self.context.redactor.text
        async for run in run_hooks(hooks, self.context.plan.suite.directory, variables, start):
            self.context.emit(
                HookRan(**where, command=run.command, output=run.output, ok=run.ok, reason=run.reason)
            )
            if run.ok:
                continue
            message = f"the {point} hook `{run.command}` failed ({run.reason})"
            if run.fatal and point.startswith("before"):
                last = [line[-_LONGEST_LINE:] for line in clean(run.output).strip().splitlines()[-1:]]
                raise RunError(": ".join([clean(message), *last]))
            self.context.warn(message)

    def _check_required(self, arm: Arm) -> None:
        suite = self.context.plan.suite
        names = suite.file.config.required_skills
        if arm != "main" or not names or suite.skills_off or not self.hooks.before_run:
            return
        disabled = DisabledSkills(suite.file.config.disabled_skills, suite.directory)
        missing = find_required_skills(names, suite.skill_paths, disabled).missing
        if missing:
            raise RunError(f"required skills are missing after the before_run hooks: {', '.join(missing)}")
