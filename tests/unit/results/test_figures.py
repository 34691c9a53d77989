"""Figures over trials and tasks: against a plain recomputation with fractions, on whatever data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.report.factory import run, verdict

from waza.model.observation import Usage
from waza.model.pass_rule import AtLeast, PassRule
from waza.model.result import AttemptRecord, SessionDigest, TrialResult, TrialStatus
from waza.results.figures import TaskFigures, TrialFigures, figures_of, summary, task_stats, task_status

STATUSES: tuple[TrialStatus, ...] = ("passed", "failed", "error", "skipped")


def close(value: Fraction | float) -> Any:
    return pytest.approx(float(value), rel=0, abs=1e-9)


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values) if values else Fraction(0)


def plain_score(one: TrialResult) -> Fraction:
    return mean([Fraction(said.score) for said in (one.validations or {}).values()])


def weighted_score(one: TrialResult) -> Fraction:
    found = list((one.validations or {}).values())
    weights = [Fraction(said.weight) if said.weight > 0 else Fraction(1) for said in found]
    total = sum(
        (Fraction(said.score) * weight for said, weight in zip(found, weights, strict=True)), Fraction(0)
    )
    return total / sum(weights) if found else Fraction(0)


scores = st.floats(0, 1, allow_subnormal=False)
weights = st.sampled_from([0.0, -2.0, 0.1, 1.0, 2.5, 1e6])


@st.composite
def runs(draw: st.DrawFn, number: int = 1) -> TrialResult:
    verdicts = [
        verdict(f"g{i}", score=draw(scores), weight=draw(weights)) for i in range(draw(st.integers(0, 4)))
    ]
    return run(
        number,
        draw(st.sampled_from(STATUSES)),
        verdicts,
        attempts=draw(st.integers(1, 3)),
        duration_ms=draw(st.integers(0, 999)),
    )


@st.composite
def trials(draw: st.DrawFn) -> list[TrialResult]:
    return [draw(runs(number)) for number in range(1, draw(st.integers(1, 5)) + 1)]


@settings(deadline=None)
@given(trials())
def test_task_figures_are_those_of_the_formulas(made: list[TrialResult]) -> None:
    found = task_stats("t", [figures_of(one, 0) for one in made])
    assert found is not None
    n = len(made)
    plain, weighted = [plain_score(one) for one in made], [weighted_score(one) for one in made]
    passed = len([one for one in made if one.status == "passed"])
    variance = mean([(score - mean(plain)) ** 2 for score in plain])
    wanted = {
        "pass_rate": close(Fraction(passed, n)),
        "flakiness_percent": close(Fraction(100 * min(passed, n - passed), n)),
        "passed_runs": passed,
        "failed_runs": len([one for one in made if one.status == "failed"]),
        "error_runs": len([one for one in made if one.status == "error"]),
        "total_runs": n,
        "avg_score": close(mean(plain)),
        "avg_weighted_score": close(mean(weighted)),
        "min_score": close(min(plain)),
        "max_score": close(max(plain)),
        "std_dev_score": close(math.sqrt(variance)),
        "score_variance": close(variance),
        "flaky": 0 < passed < n or any(one.status == "passed" and one.attempts > 1 for one in made),
        "avg_duration_ms": sum(one.duration_ms for one in made) // n,
    }
    plainly = msgspec.to_builtins(found)
    assert {key: plainly[key] for key in wanted} == wanted
    assert (
        (found.bootstrap_ci is None)
        == (found.pass_rate_ci is None)
        == (found.is_significant is None)
        == (n < 2)
    )
    if found.bootstrap_ci is not None:
        interval = found.bootstrap_ci
        assert min(weighted) - 1e-9 <= interval.lower <= interval.mean + 1e-9
        assert interval.mean - 1e-9 <= interval.upper <= max(weighted) + 1e-9
        assert found.is_significant is (interval.lower > 0)


@settings(max_examples=40, deadline=None)  # two bootstraps each
@given(trials(), st.randoms(use_true_random=False))
def test_figures_do_not_depend_on_any_order(made: list[TrialResult], random: Random) -> None:
    """Bit for bit, so that equal data give equal files."""
    mixed = []
    for one in made:
        verdicts = list((one.validations or {}).items())
        random.shuffle(verdicts)
        mixed.append(msgspec.structs.replace(one, validations=dict(verdicts)))
    random.shuffle(mixed)
    first = task_stats("t", [figures_of(one, 0) for one in made])
    assert task_stats("t", [figures_of(one, 0) for one in mixed]) == first


def test_sums_are_rounded_once() -> None:
    ten = run(verdicts=[verdict(f"g{i}", score=0.1, weight=0.5) for i in range(10)])
    assert (figures_of(ten, 0).score, figures_of(ten, 0).weighted) == (0.1, 0.1)


def test_a_run_without_verdicts_scores_0() -> None:
    for none in (run(verdicts=[]), msgspec.structs.replace(run(), validations=None)):
        assert (figures_of(none, 7).score, figures_of(none, 7).weighted, figures_of(none, 7).offset) == (
            0,
            0,
            7,
        )


def usage(tokens: int) -> Usage:
    return Usage(
        turns=1,
        input_tokens=tokens,
        output_tokens=2,
        cache_read_tokens=3,
        cache_write_tokens=4,
        premium_requests=0.5,
    )


def using(tokens: int, *discarded: int | None) -> TrialResult:
    digest = SessionDigest(tool_call_count=0, tools_used=[], errors=[], usage=usage(tokens))
    history = [
        AttemptRecord(
            attempt=i,
            status="failed",
            failed_graders=[],
            duration_ms=1,
            usage=None if more is None else usage(more),
        )
        for i, more in enumerate(discarded, 1)
    ]
    return run(session_digest=digest, attempt_history=history)


def test_usage_is_that_of_all_attempts_and_trigger_tests() -> None:
    tasks = [figures(using(10, 5, None)), figures(using(1)), figures(run(verdicts=[]))]
    found = summary(tasks, 1, 0, extra_usage=[usage(100), None]).usage
    assert found is not None
    assert (found.turns, found.input_tokens, found.premium_requests) == (4, 116, 2)
    assert summary([figures(run())], 1, 0).usage is None


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ("", "skipped"),
        ("skipped skipped", "skipped"),
        ("passed skipped", "passed"),
        ("passed passed", "passed"),
        ("passed error", "error"),
        ("error skipped", "error"),
        ("error failed", "failed"),
        ("passed failed skipped error", "failed"),
    ],
)
def test_status_of_a_task(statuses: str, status: str) -> None:
    assert task_status(tuple(trial(one).status for one in statuses.split())) == status


RULES: dict[str, tuple[PassRule, Callable[[int, int], bool]]] = {
    "all": ("all", lambda passed, of: passed == of),
    "any": ("any", lambda passed, of: passed >= 1),
    "majority": ("majority", lambda passed, of: passed > of - passed),
    "0.8": (AtLeast(at_least=0.8), lambda passed, of: Fraction(passed, of) >= Fraction(8, 10)),
    "1/3": (AtLeast(at_least=1 / 3), lambda passed, of: Fraction(passed, of) >= Fraction(1, 3)),
    "1": (AtLeast(at_least=1), lambda passed, of: passed == of),
}


@pytest.mark.parametrize("name", RULES)
def test_status_of_a_task_by_a_pass_rule(name: str) -> None:
    """Every task of up to six trials, by what the rule says of the best that could still be."""
    rule, met = RULES[name]
    for passed, failed, errors, missing in product(range(6), repeat=4):
        of = passed + failed + errors + missing
        if not 0 < of - missing <= of <= 6:
            continue
        if met(passed, of):
            wanted = "skipped" if missing else "passed"
        elif not met(of - failed, of):
            wanted = "failed"
        else:
            wanted = "skipped" if met(passed + missing, of) else "error"
        counts: dict[TrialStatus, int] = {"passed": passed, "failed": failed, "error": errors}
        statuses = tuple(status for status, count in counts.items() for _ in range(count))
        assert task_status(statuses, rule, missing) == wanted, (passed, failed, errors, missing)


@pytest.mark.parametrize(
    ("statuses", "status"), [("", "error"), ("passed", "error"), ("failed", "failed"), ("skipped", "error")]
)
def test_a_stopped_task_has_not_passed(statuses: str, status: str) -> None:
    made = {i: trial(one) for i, one in enumerate(statuses.split(), 1)}
    task = TaskFigures(task_id="t", trials=made, stopped="the hook failed")
    assert task.status == status
    counts = summary([task], 1, 0)
    assert (counts.errors, counts.failed, counts.succeeded) == (
        int(status == "error"),
        int(status == "failed"),
        0,
    )


def trial(status: str, score: float = 0.0) -> TrialFigures:
    return TrialFigures(0, status, score, score, 0, 1)  # type: ignore[arg-type]  # one of the four words


def figures(
    *made: TrialResult | TrialFigures, task_id: str = "t", groups: tuple[str, ...] = ()
) -> TaskFigures:
    found = [figures_of(one, 0) if isinstance(one, TrialResult) else one for one in made]
    return TaskFigures(task_id=task_id, groups=groups, trials=dict(enumerate(found, 1)))


def test_a_task_without_trials_has_no_figures() -> None:
    assert task_stats("t", []) is None
    assert figures().pass_rate is None


def test_nothing_gives_zeros() -> None:
    found = summary([], 3, 12)
    assert msgspec.to_builtins(found) == {
        "total_tests": 0,
        "succeeded": 0,
        "failed": 0,
        "errors": 0,
        "skipped": 0,
        "success_rate": 0,
        "aggregate_score": 0,
        "weighted_score": 0,
        "min_score": 0,
        "max_score": 0,
        "std_dev": 0,
        "duration_ms": 12,
    }


def test_tasks_that_never_started_are_skipped_and_enter_nothing_else() -> None:
    ran = [figures(trial("passed", 1)), figures(trial("failed", 0.5))]
    alone, with_others = summary(ran, 1, 0), summary([*ran, figures(), figures()], 1, 0)
    assert msgspec.structs.replace(with_others, skipped=0) == alone
    assert with_others.skipped == 2


def test_denominators_with_and_without_what_was_not_graded() -> None:
    tasks = [figures(trial(status)) for status in ("passed", "failed", "error", "skipped", "passed")]
    found = summary(tasks, 1, 0)
    assert (found.total_tests, found.success_rate, found.graded_success_rate) == (
        5,
        0.4,
        close(Fraction(2, 3)),
    )
    nothing = summary([figures(trial("error")), figures(trial("skipped"))], 1, 0)
    assert (nothing.success_rate, nothing.graded_success_rate) == (0, None)


def test_suite_statistics_need_trials_and_two_tasks_that_ran() -> None:
    two = [figures(trial("passed", 1), task_id="a"), figures(trial("failed", 0), task_id="b")]
    stopped = TaskFigures(task_id="c", stopped="hook")
    assert summary(two, 1, 0).statistics is None
    assert summary([two[0], stopped, figures()], 2, 0).statistics is None
    found = summary([*two, stopped], 2, 0).statistics
    assert found is not None
    assert found.bootstrap_ci.mean == 0.5  # of the two that ran
    assert found.success_rate_ci is not None
    assert found.success_rate_ci.mean == close(Fraction(1, 3))  # of all three
    assert (found.pass_hat_k, found.pass_at_k) == ([0.5], [0.5])


VARIED = tuple(place**2 / 101 for place in range(11))


def test_intervals_depend_on_the_task_and_its_scores_alone() -> None:
    made = [trial("passed", score) for score in VARIED]
    first = task_stats("a", made)
    assert first is not None
    again = task_stats("a", [trial("failed", score) for score in VARIED[::-1]])
    other = task_stats("b", made)
    assert again is not None
    assert other is not None
    assert again.bootstrap_ci == first.bootstrap_ci
    assert other.bootstrap_ci != first.bootstrap_ci

    tasks = [
        figures(*made, task_id="a"),
        figures(trial("passed", 0.2), task_id="b"),
        figures(trial("passed", 1)),
    ]
    one, turned = summary(tasks, 2, 0).statistics, summary(tasks[::-1], 2, 5).statistics
    assert one is not None
    assert turned is not None
    assert one == turned


def test_groups_stand_in_the_order_of_their_first_task() -> None:
    tasks = [
        figures(trial("passed", 1), groups=("b", "a")),
        figures(trial("failed", 0.5), groups=("a",)),
        TaskFigures(task_id="s", groups=("a", "c"), stopped="hook"),
        figures(groups=("d",)),
    ]
    found = [msgspec.to_builtins(group) for group in summary(tasks, 1, 0).groups]
    assert found == [
        {"name": "b", "passed": 1, "total": 1, "avg_score": 1},
        {"name": "a", "passed": 1, "total": 3, "avg_score": 0.75},
        {"name": "c", "passed": 0, "total": 1, "avg_score": 0},
    ]
