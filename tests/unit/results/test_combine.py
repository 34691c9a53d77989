"""Results of several suites or models as one."""

from __future__ import annotations

import pytest
from tests.unit.report.factory import run, suite, task

from waza.errors import UsageError
from waza.results.combine import ResultSet, combine_sets
from waza.results.compare import compare, compare_suites


def both_models(skill: str, *, passed: bool) -> ResultSet:
    """Make results of a suite of two tasks on two models."""
    tasks = [task(name, run(1, "passed" if passed else "failed")) for name in ("A", "B")]
    return ResultSet(
        "after" if passed else "before", [suite(tasks, model=model, skill=skill) for model in ("m1", "m2")]
    )


def test_sets_of_one_result_stay_as_they_are():
    one, other = suite([task()]), suite([task()])
    assert combine_sets([ResultSet("a", [one]), ResultSet("b", [other])]) == [("a", one), ("b", other)]


def test_a_task_on_two_models_is_one_unit():
    combined = combine_sets([both_models("s", passed=False), both_models("s", passed=True)])
    assert [one.test_id for one in combined[0][1].tasks] == [
        "s on m1: a",
        "s on m1: b",
        "s on m2: a",
        "s on m2: b",
    ]
    found = compare(combined)
    assert found.comparison
    assert (found.comparison.n, found.comparison.clusters) == (4, 2)
    assert (found.total_tests, found.success_rates, found.models) == ([4, 4], [0, 1], ["m1, m2", "m1, m2"])


def test_the_same_model_is_needed_only_where_there_are_several():
    before = ResultSet("before", [suite([task("A")], model="m1", skill=skill) for skill in ("s", "t")])
    after = ResultSet("after", [suite([task("A")], model="m2", skill=skill) for skill in ("s", "t")])
    found = compare(combine_sets([before, after]))
    assert found.comparison
    assert (found.comparison.n, found.comparison.alone.a) == (2, 0)
    assert [one.suite for one in compare_suites([before, after])] == ["s", "t"]


def test_two_results_of_one_suite_and_model_are_no_set():
    twice = ResultSet("x", [suite([task()], model="m"), suite([task()], model="m")])
    with pytest.raises(UsageError, match=r"x has 2 results of .* on m; name one of them"):
        combine_sets([twice, ResultSet("y", [suite([task()], model="m")])])
