"""Measuring a description by trigger tests, as `waza run` does: with a copy of the skill that has it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waza.author.improve.description import replace_description
from waza.author.improve.split import LabelledPrompt
from waza.author.improve.tune import Measurement
from waza.author.one_run import finished_run
from waza.author.skill_copy import with_copy
from waza.engine.cancellation import Cancellation
from waza.engine.run import RunOptions
from waza.errors import RunError
from waza.kit.tempdirs import ProcessTempdir
from waza.model.event import RunEvent, Warned
from waza.model.loaded import Project, Suite, TriggerPrompt, TriggerTests
from waza.model.skill import Target
from waza.report.words import one_line
from waza.suite.discover import read_target


class TriggerMeasure:
    """Measures prompts on the executor of a suite. The skill itself is not touched; every description is in a copy of it.

    The copy has the definition file alone, since a prompt ends when the skill is invoked. The other skills are offered as they are.
    """

    def __init__(
        self, suite: Suite, target: Target, project: Project, trials: int, cancellation: Cancellation
    ) -> None:
        self._suite, self._target, self._project = suite, target, project
        self._trials, self._cancellation = trials, cancellation
        self._text = target.path.read_bytes().decode("utf-8")

    async def __call__(self, description: str, prompts: Sequence[LabelledPrompt]) -> Measurement:
        """Return whether each trial of each prompt had the right outcome.

        Raises RunError if the executor cannot run, and SystemExit with the exit code of a signal.
        """
        own = ProcessTempdir("tune")
        try:
            copy = own.path / self._target.directory.name
            copy.mkdir()
            file = copy / self._target.path.name
            file.write_bytes(replace_description(self._text, description).encode())
            return await self._run(self._suite_with(read_target(file), prompts), prompts)
        finally:
            own.remove()

    def _suite_with(self, target: Target, prompts: Sequence[LabelledPrompt]) -> Suite:
        tests = TriggerTests(
            skill=target.name,
            should_trigger_prompts=self._repeat(prompts, should=True),
            should_not_trigger_prompts=self._repeat(prompts, should=False),
        )
        return msgspec.structs.replace(
            self._suite,
            tasks=(),
            trigger_tests=tests,
            trigger_target=target,
            skill_paths=with_copy(self._suite.skill_paths, self._target.directory, target.directory),
        )

    def _repeat(self, prompts: Sequence[LabelledPrompt], *, should: bool) -> list[TriggerPrompt]:
        chosen = [TriggerPrompt(prompt=one.text) for one in prompts if one.should_trigger == should]
        return chosen * self._trials

    async def _run(self, suite: Suite, prompts: Sequence[LabelledPrompt]) -> Measurement:
        warnings: list[str] = []

        def emit(event: RunEvent) -> None:
            if isinstance(event, Warned):
                warnings.append(event.message)

        options = RunOptions(project=self._project, save=False)
        async with finished_run(suite, options, emit, self._cancellation) as finished:
            results = finished.outcome.head.trigger_results
        if self._cancellation.exit_code is not None:
            raise SystemExit(self._cancellation.exit_code)
        if not results:
            raise RunError("; ".join(warnings) or "the trigger tests did not run")
        right: dict[str, tuple[bool, ...]] = {one.text: () for one in prompts}
        errors = [one.error_msg for one in results if one.error_msg]
        for text, result in zip(_list_prompts(suite), results, strict=True):
            if not result.error_msg:
                right[text] = (*right[text], result.should_trigger == result.did_trigger)
        return Measurement(right=right, errors=len(errors), error=one_line(errors[0], 200) if errors else "")


def _list_prompts(suite: Suite) -> list[str]:
    """Return the prompts of trigger tests in the order of their results, in which they are redacted."""
    tests = suite.trigger_tests
    return (
        [one.prompt for one in (*tests.should_trigger_prompts, *tests.should_not_trigger_prompts)]
        if tests
        else []
    )
