"""`config.limits`: whether the limits of a suite can be kept. One that cannot is an error, never silently absent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from waza.graders.base import requires_judge
from waza.kit.text import list_first
from waza.model.suite import TrialLimitKeys
from waza.model.task import Task
from waza.suite.loading import Loading, Scope
from waza.suite.prices import Prices

_COUNTED = ("max_total_tokens", "max_cost", "max_ai_credits")
_NAMED = 5  # models in a message


def check_limits(loading: Loading, tasks: Sequence[Task]) -> None:
    """Note limits that nobody could keep: of tokens that are not reported, or of money without a price."""
    limits = loading.file.config.limits
    if limits is None:
        return
    scope = loading.at("config", "limits")
    _check_counts(scope, limits)
    priced = [scope.child("max_cost")] if limits.max_cost else []
    if limits.trial is not None:
        _check_counts(scope.child("trial"), limits.trial)
        priced += [scope.child("trial", "max_cost")] if limits.trial.max_cost else []
    if priced and loading.capabilities.usage:
        _check_prices(priced[0], tasks)


def _check_counts(scope: Scope, limits: TrialLimitKeys) -> None:
    for key in _COUNTED:
        if getattr(limits, key) is not None:
            scope.child(key).require("usage", "remove it: it could not be kept")


def _check_prices(scope: Scope, tasks: Iterable[Task]) -> None:
    loading = scope.loading
    prices = Prices(loading.prices, lists=not loading.capabilities.scripted)
    asked = dict.fromkeys(_models(loading, tasks))
    if "" in asked:
        scope.error(
            "missing-price",
            "needs the price of the model, which is not named",
            "set config.model, or remove it",
        )
        return
    unknown = [model for model in asked if not prices.know(model)]
    if unknown:
        many = "models" if len(unknown) > 1 else "model"
        scope.error(
            "missing-price",
            f"needs a price, and none is known of the {many} {list_first(unknown, _NAMED)}",
            "add it to .waza.yaml, by the million tokens: "
            f"prices: {{models: {{{unknown[0]}: {{input: 1.25, output: 10}}}}}}"
            + (
                ""
                if loading.capabilities.scripted
                else "; or install the prices of public lists: pip install 'waza[prices]'"
            ),
        )


def _models(loading: Loading, tasks: Iterable[Task]) -> Iterator[str]:
    """Yield the models that agents, judges and responders are asked by."""
    config = loading.file.config
    agents = loading.request.models or (config.model,)
    yield from agents
    for task in tasks:
        if task.inputs.responder is not None and task.inputs.responder.model:
            yield task.inputs.responder.model
        for built in task.all_graders:
            if requires_judge(built):
                own = getattr(built.grader, "model", "")
                yield from (own,) if own else (config.judge_model,) if config.judge_model else agents
