"""Comparisons as a whole: which tasks count, what is said, adjusted p-values, parts of the variance."""

from __future__ import annotations

from random import Random

import msgspec
import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from tests.unit.report.factory import run, task, verdict
from tests.unit.results.comparison.data import measured

from waza.model.observation import Usage
from waza.results.comparison.comparison import Comparison
from waza.results.comparison.conclude import Measured, compare_measured
from waza.results.comparison.measured import measure


def compare(a: Measured, b: Measured) -> Comparison:
    return compare_measured([(a, b)])[0]


def changed(better: int, worse: int, same: int, by: float = 0.5) -> Comparison:
    """Compare results of so many tasks that are better, worse and the same."""
    before = [[0.5]] * (better + worse + same)
    after = [[0.5 + by]] * better + [[0.5 - by]] * worse + [[0.5]] * same
    return compare(measured("A", before), measured("B", after))


def test_a_clear_difference_is_said_in_one_sentence():
    assert changed(12, 3, 25).sentence == (
        "12 of 40 tasks better, 3 worse: +11.2 points, 95 % interval +2 to +20.5; p = 0.035."
        " That is more than chance explains."
    )


def test_what_the_data_cannot_tell_is_said_with_what_they_could_have_shown():
    assert changed(4, 3, 13).sentence == (
        "4 of 20 tasks better, 3 worse: +2.5 points, 95 % interval -11.7 to +16.7; p = 1."
        " The data cannot tell which is better. A true difference of 20 points would show four times in five."
    )


def test_too_few_tasks_are_called_too_few():
    assert changed(4, 0, 0).sentence.endswith(
        "4 tasks are too few: even if all changed alike, p would be 0.12."
    )
    one = changed(1, 0, 0)
    assert one.interval is None
    assert one.sentence == (
        "1 of 1 task better, 0 worse: +50 points; p = 1. The data cannot tell which is better."
        " One task is too few: even if all changed alike, p would be 1."
    )


def test_no_difference_and_no_tasks():
    same = changed(0, 0, 9)
    assert (same.wins, same.losses, same.ties, same.p_value) == (0, 0, 9, 1)
    assert same.sentence.startswith("No difference in 9 tasks: 0 points, 95 % interval 0 to 0; p = 1.")
    nothing = compare(measured("A", []), measured("B", [[1.0]]))
    assert (nothing.n, nothing.mean_difference, nothing.p_value, nothing.test) == (0, None, None, None)
    assert nothing.sentence == (
        "No task was measured in both results, so nothing can be said of a difference. 1 task is only in B."
    )


def test_a_broken_trial_is_no_measurement_and_is_counted():
    a = Measured("A", measure([task("X", run(1), run(2, "failed")), task("Y"), task("Z"), task("Gone")]))
    b = Measured(
        "B", measure([task("X", run(1), run(2, "error")), task("Y", run(1, "error")), task("Z"), task("New")])
    )
    found = compare(a, b)
    assert (found.n, found.mean_difference) == (2, 0.25)
    assert (found.unmeasured.a, found.unmeasured.b, found.alone.a, found.alone.b) == (0, 1, 1, 1)
    assert found.sentence.endswith(
        "1 of 3 tasks has no measurement in B. 1 task is only in A. 1 task is only in B."
    )


def test_skipped_trials_are_no_measurement():
    ungraded = Measured("A", measure([task("X", run(1, "skipped", []))]))
    assert compare(ungraded, Measured("B", measure([task("X")]))).n == 0


def test_tasks_of_a_group_change_together():
    scores = [[0.0]] * 12
    groups = [f"g{i // 3}" for i in range(12)]
    better = measured("B", [[1.0]] * 12, groups)
    found = compare(measured("A", scores, groups), better)
    assert (found.n, found.clusters, found.p_value) == (12, 4, 0.125)
    assert "4 groups of tasks are too few" in found.sentence
    alone = compare(measured("A", scores, ["all"] * 12), measured("B", [[1.0]] * 12, ["all"] * 12))
    assert alone.clusters == 12
    other = compare(measured("A", scores, ["m1"] * 12), measured("B", [[1.0]] * 12, ["m2"] * 12))
    assert other.clusters == 12


def test_tasks_without_a_tag_have_nothing_in_common():
    tasks = [
        task(name, group=group)
        for name, group in (("A", "x"), ("B", "y"), ("C", "untagged"), ("D", "untagged"))
    ]
    one = Measured("A", measure(tasks))
    assert compare(one, one).clusters == 4


def test_cost_and_time_are_compared_where_both_have_them():
    def used(tokens: int, credits_used: float | None) -> Usage:
        return Usage(
            turns=1, input_tokens=tokens, output_tokens=5, cache_read_tokens=0, cache_write_tokens=0,
            premium_requests=1, ai_credits=credits_used,
        )  # fmt: skip

    def result(name: str, tokens: int, credits_used: float | None) -> Measured:
        digest = run().session_digest
        runs = [
            run(
                1,
                session_digest=msgspec.structs.replace(digest, usage=used(tokens + i, credits_used)),
                duration_ms=tokens,
            )
            for i in range(6)
        ]
        return Measured(name, measure([task(f"T{i}", one) for i, one in enumerate(runs)]))

    found = compare(result("A", 1000, 0.5), result("B", 400, 0.25))
    assert list(found.metrics) == ["pass_rate", "tokens", "ai_credits", "duration_ms"]
    tokens = found.metrics["tokens"]
    assert (tokens.mean_difference, tokens.wins, tokens.losses, tokens.p_value) == (-600, 6, 0, 0.03125)
    assert tokens.sentence.startswith(
        "6 of 6 tasks lower, 0 higher: -600 tokens, 95 % interval -600 to -600; p = 0.031"
    )
    assert found.metrics["duration_ms"].sentence.startswith("6 of 6 tasks lower, 0 higher: -0.6 seconds")
    assert list(compare(result("A", 1000, None), result("B", 400, 0.25)).metrics) == [
        "pass_rate",
        "tokens",
        "duration_ms",
    ]


def test_p_values_are_adjusted_over_results_and_over_the_other_metrics():
    draw = Random(4)

    def result(name: str, shift: float) -> Measured:
        rows = [[draw.gauss(shift, 0.4) for _ in range(3)] for _ in range(15)]
        return measured(
            name, rows, tokens=[[draw.gauss(shift, 1) for _ in range(3)] for _ in range(15)], pass_rate=rows
        )

    found = compare_measured(
        [(result("A", 0), result(name, shift)) for name, shift in (("B", 0.1), ("C", 0.25), ("D", 0.3))]
    )
    scores = [one.p_value or 0 for one in found]
    assert [one.p_adjusted for one in found] == pytest.approx(
        multipletests(scores, method="holm")[1].tolist()
    )
    beside = [one for comparison in found for one in comparison.metrics.values()]
    assert len(beside) == 6
    adjusted = multipletests([one.p_value or 0 for one in beside], method="holm")[1].tolist()
    assert [one.p_adjusted for one in beside] == pytest.approx(adjusted)
    assert "for all comparisons together" in found[0].sentence


def test_only_a_significant_loss_of_score_is_worse():
    assert changed(0, 8, 0).is_worse(0.05)
    assert not changed(0, 8, 0).is_worse(0.001)
    assert not changed(8, 0, 0).is_worse(0.05)
    assert not changed(2, 5, 0).is_worse(0.05)


def test_comparing_is_antisymmetric():
    draw = Random(9)
    a, b = (measured(name, [[draw.random() for _ in range(3)] for _ in range(30)]) for name in "AB")
    one, other = compare(a, b), compare(b, a)
    assert one.mean_difference == -(other.mean_difference or 0)
    assert (one.p_value, one.wins, one.losses) == (other.p_value, other.losses, other.wins)
    assert one.variance == other.variance


@pytest.mark.parametrize(
    ("better", "text"),
    [(0.0004, "+0.04 points"), (0.9999, "+99.9 points"), (1.0, "+100 points"), (0.01, "+1 point,")],
)
def test_shown_figures_are_nothing_only_for_nothing_and_all_only_for_all(better: float, text: str):
    found = compare(measured("A", [[0.0]] * 6), measured("B", [[better]] * 6))
    assert text in found.sentence


def test_the_variance_is_split_as_by_a_model_of_random_effects():
    rng = np.random.default_rng(11)
    tasks, trials = 1500, 3
    effect, noise_a, noise_b = (
        rng.normal(0.1, 0.2, tasks),
        rng.normal(0, 0.3, (tasks, trials)),
        rng.normal(0, 0.3, (tasks, trials)),
    )
    base = rng.normal(0.5, 0.5, tasks)
    a = (base[:, None] + noise_a).tolist()
    b = ((base + effect)[:, None] + noise_b).tolist()
    found = compare(measured("A", a), measured("B", b)).variance
    assert found.task == pytest.approx(0.04, rel=0.3)
    assert found.trial == pytest.approx(0.09, rel=0.1)
    assert found.judge is None
    within = np.concatenate([np.var(a, axis=1, ddof=1), np.var(b, axis=1, ddof=1)]).mean()
    assert found.trial == pytest.approx(within, rel=1e-9)
    differences = np.mean(b, axis=1) - np.mean(a, axis=1)
    assert found.task == pytest.approx(differences.var(ddof=1) - within * 2 / trials, rel=1e-9)


def test_one_trial_says_nothing_of_noise():
    found = changed(3, 2, 1).variance
    assert (found.task, found.trial, found.judge) == (None, None, None)


def test_what_differs_between_equal_answers_is_of_the_judge():
    def judged(*scores: float) -> Measured:
        runs = [
            run(
                i,
                "passed",
                [verdict("says"), verdict("tone", type="prompt", score=score)],
                final_output="same",
            )
            for i, score in enumerate(scores, 1)
        ]
        return Measured("A", measure([task("X", *runs), task("Y", *runs)]))

    found = compare(judged(0.0, 1.0), judged(0.0, 1.0)).variance
    assert found.judge == pytest.approx(np.var([0.5, 1.0], ddof=1))
    assert found.trial == 0
    assert compare(judged(0.0, 1.0), judged(0.0, 1.0)).metrics["duration_ms"].variance.judge is None


def test_a_judge_takes_no_noise_from_tasks_that_it_does_not_judge():
    def half_judged() -> Measured:
        tone = [
            run(i, "passed", [verdict("tone", type="prompt", score=score)], final_output="same")
            for i, score in enumerate((0.0, 1.0), 1)
        ]
        says = [run(i, "passed", [verdict("says", score=score)]) for i, score in enumerate((0.0, 1.0), 1)]
        return Measured("A", measure([task("judged", *tone), task("plain", *says)]))

    found = compare(half_judged(), half_judged()).variance
    assert found.judge == pytest.approx(0.25)
    assert found.trial == pytest.approx(0.25)
