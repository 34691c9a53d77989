"""Running a suite with the whole skill and without each of its parts, and comparing the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from waza.author.ablate.ablation import Ablation, RunOfSkill
from waza.author.ablate.compare_parts import WHOLE, Arm, TaskRuns, compare_parts
from waza.author.ablate.copies import copy_skill, suite_with
from waza.author.ablate.parts import Part, Parts
from waza.author.one_run import finished_run
from waza.author.tokens.count import Tokenizer
from waza.engine.cancellation import Cancellation
from waza.engine.run import FinishedRun, RunOptions
from waza.errors import RunError
from waza.kit.tempdirs import ProcessTempdir
from waza.model.event import RunEvent, Warned
from waza.model.loaded import Project, Suite
from waza.model.skill import Target
from waza.problem import display_path
from waza.report.words import one_line
from waza.results.comparison.measured import UNTAGGED, MeasuredTrial, measure_trial
from waza.results.ending import run_status
from waza.results.treatment import recorded_treatment


class AblateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to ablate: the skill of a suite, and which of its parts.

    `directory` is where runs are kept, so that they can be gone on with; None: nothing is kept. `margin` is a score.
    `notes` are what the report has to say from the start.
    """

    suite: Suite
    target: Target
    found: Parts
    parts: Sequence[Part]
    tokenizer: Tokenizer
    project: Project
    margin: float
    directory: Path | None = None
    notes: Sequence[str] = ()


class AblationWatcher(Protocol):
    """Receives what happens, as it happens."""

    def running(self, number: int, of: int, what: str) -> None:
        """Note that a run starts, the first of which is that of the whole skill."""
        ...

    def finished(self, run: RunOfSkill) -> None:
        """Note that it has ended."""
        ...

    def warn(self, message: str) -> None:
        """Show a warning, once for all runs."""
        ...


async def ablate(request: AblateRequest, watcher: AblationWatcher, cancellation: Cancellation) -> Ablation:
    """Run and compare. Every copy of the skill is written and checked before the first run.

    Raises RunError where the whole skill cannot be measured, since no part can be then, and SystemExit with the exit code of
    a signal.
    """
    own = ProcessTempdir("ablate")
    try:
        return await _Ablating(request, watcher, cancellation, request.directory or own.path).run()
    finally:
        own.remove()


class _Ablating:
    """An ablation while it lasts."""

    def __init__(
        self, request: AblateRequest, watcher: AblationWatcher, cancellation: Cancellation, directory: Path
    ) -> None:
        self.request, self.watcher = request, watcher
        self.cancellation, self.directory = cancellation, directory
        self.warned: set[str] = set()

    async def run(self) -> Ablation:
        """Run the whole skill, then without each part, and return what the runs show."""
        request = self.request
        variants = [None, *request.parts]
        copies = [
            copy_skill(request.target, self._folder(number) / "skill", part)
            for number, part in enumerate(variants)
        ]
        arms: list[Arm] = []
        for number, (part, copy) in enumerate(zip(variants, copies, strict=True)):
            self.watcher.running(number + 1, len(variants), f"without {part.name}" if part else WHOLE)
            arms.append(await self._run(number, copy))
            self.watcher.finished(arms[-1].run)
            if part is None:
                self._require_measured(arms[0])
        whole, *without = arms
        return Ablation(
            suite=display_path(request.suite.path),
            model=request.suite.models[0],
            skill=request.target.name,
            file=display_path(request.target.path),
            tokens=request.found.tokens,
            tokenizer=request.tokenizer,
            margin=request.margin,
            whole=whole.run,
            parts=tuple(compare_parts(request.parts, whole, without, request.margin)),
            fixed=request.found.fixed,
            notes=tuple(request.notes),
        )

    def _folder(self, number: int) -> Path:
        return self.directory / f"{number:03}"

    async def _run(self, number: int, copy: Target) -> Arm:
        request, folder = self.request, self._folder(number)
        kept = request.directory is not None
        options = RunOptions(
            project=msgspec.structs.replace(request.project, directory=folder),
            save=kept,
            resume="" if kept and (folder / ".waza" / "invocations").is_dir() else None,
        )
        warnings: list[str] = []

        def emit(event: RunEvent) -> None:
            if isinstance(event, Warned):
                warnings.append(event.message)
                if event.message not in self.warned:
                    self.warned.add(event.message)
                    self.watcher.warn(event.message)

        suite = suite_with(request.suite, request.target, copy)
        async with finished_run(suite, options, emit, self.cancellation) as finished:
            arm = _read_arm(finished, warnings)
        if self.cancellation.exit_code is not None:
            raise SystemExit(self.cancellation.exit_code)
        return arm

    def _require_measured(self, whole: Arm) -> None:
        """Raise RunError where no part can be measured, before more is spent."""
        run = whole.run
        if not run.trials:
            why = run.error or "; ".join(whole.warnings) or f"its run ended as {run.status}"
            raise RunError(f"no trial with the whole skill was measured, so no part of it can be: {why}")
        if run.treatment and run.treatment.contradiction:
            raise RunError(f"no part of the skill can be measured: {run.treatment.contradiction}")


def _read_arm(finished: FinishedRun, warnings: Sequence[str]) -> Arm:
    tasks: dict[str, TaskRuns] = {}
    loaded: Counter[bool | None] = Counter()
    errors: list[str] = []
    passed = 0
    for task in finished.outcome.tasks():
        trials: dict[int, MeasuredTrial] = {}
        for trial in task.runs:
            if trial.status in ("passed", "failed"):
                trials[trial.run_number] = measure_trial(trial)
                loaded[trial.skill_loaded] += 1
                passed += trial.status == "passed"
            elif trial.status == "error":
                errors.append(trial.error_msg or "")
        tasks[task.test_id] = TaskRuns("" if task.group == UNTAGGED else task.group, trials)
    head = finished.outcome.head
    run = RunOfSkill(
        trials=loaded.total(),
        passed=passed,
        errors=len(errors),
        error=one_line(errors[0], 200) if errors else "",
        status=run_status(head),
        treatment=recorded_treatment(head),
        loaded=loaded[True],
        not_loaded=loaded[False],
        loaded_unknown=loaded[None],
    )
    return Arm(run, tasks, warnings)
