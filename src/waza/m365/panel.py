"""The evaluators of a run, ready to be called: all mistakes in them come before the first prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from waza.m365.builtin import JUDGED, built_in
from waza.m365.case import Case, Entry, Evaluator, Judge
from waza.m365.contract import DEFAULT_THRESHOLD, entry
from waza.m365.custom import Discovery, discover
from waza.m365.host import EvaluatorHost
from waza.m365.judge import JudgeError
from waza.m365.options import BUILT_IN, CustomOptions, options_of
from waza.m365.status import Kind
from waza.problem import Problem


class Panel:
    """Custom evaluators below a directory, and built-in ones; `host` runs the former, `judge` serves both.

    `names` are those of all evaluators that will be made, `root` is the directory with `custom-evaluators`.
    `also` are custom ones that are named where nothing uses them; they must be there all the same.
    """

    def __init__(
        self, names: Iterable[str], root: Path, host: EvaluatorHost, *, also: Iterable[str] = ()
    ) -> None:
        self.names = frozenset(names)
        custom = {*(name for name in self.names if name not in BUILT_IN), *also}
        self.found: Discovery = discover(root, sorted(custom))
        self.kinds = {one.name: one.kind for one in self.found.evaluators}
        self.host = host
        self.judge: Judge | None = None

    @property
    def needs_judge(self) -> bool:
        """Tell whether an evaluator asks a language model."""
        return bool(self.names & JUDGED) or bool(self._custom_judges())

    def _custom_judges(self) -> list[str]:
        return sorted(name for name, kind in self.kinds.items() if kind == "judge" and name in self.names)

    def check_judge(self, judge: Judge | None) -> None:
        """Raise JudgeError where a custom judge could not ask anybody: it has a model client of its own."""
        judges = self._custom_judges()
        if judges and (judge is None or not judge.model_config):
            raise JudgeError(
                f"the custom judge {', '.join(judges)} needs a model behind HTTP; use the judge azure or openai"
            )

    async def start(self, judge: Judge | None) -> list[Problem]:
        """Import the custom evaluators; return those that cannot be imported."""
        self.judge = judge
        return await self.host.start(self.found.evaluators)

    def make(self, name: str, options: Mapping[str, Any]) -> tuple[Evaluator, Kind]:
        """Return an evaluator of one response, and its kind."""
        if name not in self.kinds:
            return built_in(name, options, self.judge), "built-in"
        own = options_of(name, dict(options))
        if not isinstance(own, CustomOptions):
            raise TypeError(own)
        return _Custom(self, name, own), self.kinds[name]


class _Custom:
    """A custom evaluator with its options."""

    def __init__(self, panel: Panel, name: str, options: CustomOptions) -> None:
        self.panel, self.name, self.options = panel, name, options

    async def __call__(self, case: Case) -> Entry:
        default = DEFAULT_THRESHOLD[self.panel.kinds[self.name]]
        given = self.options.threshold  # a float, even where the document has 4
        threshold = default if isinstance(given, msgspec.UnsetType) else _written(given)
        outcome = await self.panel.host.call(
            self.name,
            threshold=threshold,
            options=self.options.options,
            model_config=self.panel.judge.model_config if self.panel.judge else None,
            key=case.prompt,
            prompt=case.prompt,
            response=case.response,
            expected_response=case.expected_response,
            context=case.context,
        )
        return entry(outcome, threshold)


def _written(number: float) -> int | float:
    """Return a number as people write it: 4, not 4.0."""
    return int(number) if number.is_integer() else number
