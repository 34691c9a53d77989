"""The evaluators of a run, ready to be called: all mistakes in them are found before the first prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from waza.m365.custom.custom_result import DEFAULT_THRESHOLD
from waza.m365.custom.discover import CustomEvaluator, discover
from waza.m365.custom.pool import TIMEOUT, CustomPool
from waza.m365.custom.promptflow_shim import Runtime
from waza.m365.document.options import BUILT_IN, CustomOptions, Evaluators, convert_options, plain_number
from waza.m365.evaluators.builtin import asks_judge, make_built_in
from waza.m365.evaluators.protocols import Evaluator, EvaluatorInput, EvaluatorResult, result_from
from waza.m365.judges.judge_model import JudgeError, JudgeModel
from waza.problem import Problem


class EvaluatorSets:
    """The evaluators of a run, wherever their directories are; ended with the run.

    `timeout` and `runtime` are those of `CustomPool`, `entailment` is that of `make_built_in`. `judge` serves all
    evaluators that ask a model; None until one is chosen.
    """

    def __init__(
        self, *, timeout: float = TIMEOUT, runtime: Runtime = "auto", entailment: bool = False
    ) -> None:
        self._timeout, self._runtime = timeout, runtime
        self.entailment = entailment
        self.judge: JudgeModel | None = None
        self._checking = asyncio.Lock()
        self._checked: JudgeModel | None = None
        self._fault: JudgeError | None = None
        self._sets: dict[Path, EvaluatorSet] = {}

    def for_directory(self, root: Path) -> EvaluatorSet:
        """Return the evaluators that can be used where `root` has the directory `custom-evaluators`."""
        if root not in self._sets:
            pool = CustomPool(timeout=self._timeout, runtime=self._runtime)
            self._sets[root] = EvaluatorSet(root, pool, entailment=self.entailment)
        return self._sets[root]

    async def check_judge(self) -> None:
        """Find out whether the judge can be asked, once. Raises JudgeError."""
        async with self._checking:
            if self.judge is not None and self._checked is not self.judge:
                self._checked, self._fault = self.judge, None
                try:
                    await self.judge.check()
                except JudgeError as error:
                    self._fault = error
        if self._fault is not None:
            raise self._fault

    async def aclose(self) -> None:
        """End the child processes and the judge."""
        for one in self._sets.values():
            await one.pool.aclose()
        if self.judge is not None:
            await self.judge.aclose()


class EvaluatorSet:
    """Custom evaluators below a directory, which `pool` runs, and built-in ones."""

    def __init__(self, root: Path, pool: CustomPool, *, entailment: bool = False) -> None:
        self.root, self.pool, self.entailment = root, pool, entailment
        self._found: dict[str, CustomEvaluator] = {}
        self._looked_for: dict[str, list[Problem]] = {}

    def find(self, names: Iterable[str]) -> list[Problem]:
        """Look for evaluators, and return what is wrong with the custom ones; nothing of them is run."""
        names = [name for name in dict.fromkeys(names) if name not in BUILT_IN]
        for name in names:
            if name not in self._looked_for:
                found = discover(self.root, [name])
                self._looked_for[name] = found.problems
                self._found.update({one.name: one for one in found.evaluators})
        return [problem for name in names for problem in self._looked_for[name]]

    def names_asking_judge(self, used: Iterable[Evaluators]) -> list[str]:
        """Return which of these evaluators ask a language model; `find` must have looked for them."""
        found = {
            name: None
            for evaluators in used
            for name, options in evaluators.items()
            if self.is_judge(name) or asks_judge(name, options, entailment=self.entailment)
        }
        return list(found)

    def check_judge(self, judge: JudgeModel | None, used: Iterable[Evaluators]) -> None:
        """Raise JudgeError if a custom judge could not ask a model, since it uses its own client."""
        judges = sorted({name for evaluators in used for name in evaluators if self.is_judge(name)})
        if judges and (judge is None or not judge.model_config):
            raise JudgeError(
                f"the custom judge {', '.join(judges)} needs a model behind HTTP; use the judge azure, openai or mock:FILE"
            )

    async def start(self, names: Iterable[str]) -> list[Problem]:
        """Import custom evaluators that were found, each once; return a problem for each that cannot be."""
        return await self.pool.start(
            [self._found[name] for name in dict.fromkeys(names) if name in self._found]
        )

    def make(self, name: str, options: Mapping[str, Any], judge: JudgeModel | None) -> Evaluator:
        """Return an evaluator of one response; custom ones must have been started."""
        if name not in self._found:
            return make_built_in(name, options, judge, entailment=self.entailment)
        own = convert_options(name, dict(options))
        if not isinstance(own, CustomOptions):
            raise TypeError(own)
        return _Custom(self._found[name], own, self.pool, judge)

    def is_judge(self, name: str) -> bool:
        """Tell whether a custom evaluator is a judge; `find` must have looked for it."""
        return name in self._found and self._found[name].kind == "judge"


class _Custom:
    """A custom evaluator with its options."""

    def __init__(
        self, evaluator: CustomEvaluator, options: CustomOptions, pool: CustomPool, judge: JudgeModel | None
    ) -> None:
        self.evaluator, self.options, self.pool, self.judge = evaluator, options, pool, judge

    async def __call__(self, case: EvaluatorInput) -> EvaluatorResult:
        given, name, kind = self.options.threshold, self.evaluator.name, self.evaluator.kind
        threshold = DEFAULT_THRESHOLD[kind] if isinstance(given, msgspec.UnsetType) else plain_number(given)
        outcome = await self.pool.call(
            name,
            threshold=threshold,
            options=self.options.options,
            model_config=self.judge.model_config if self.judge else None,
            key=case.prompt,
            prompt=case.prompt,
            response=case.response,
            expected_response=case.expected_response,
            context=case.context,
        )
        return result_from(outcome, threshold, name, kind)
