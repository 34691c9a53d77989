"""Names: the nearest known one, and one that is not in use."""

from __future__ import annotations

from itertools import islice

import pytest

from waza.kit.names import did_you_mean, nearest_name, number_names, unused_name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("trails", "trials"),
        ("Trials", "trials"),
        ("time-out", "time_out"),
        ("timeOut", "time_out"),
        ("trialz_per", "trials"),
        ("zebra", ""),
        ("", ""),
    ],
)
def test_the_nearest_known_name(name: str, nearest: str):
    assert nearest_name(name, ["trials", "time_out"]) == nearest


def test_the_cutoff_says_how_similar_names_must_be():
    assert nearest_name("contain", ["contains"], cutoff=0.9) == "contains"
    assert nearest_name("contain", ["contains"], cutoff=0.95) == ""


def test_the_advice_is_the_nearest_name_or_all_of_them():
    assert did_you_mean("trails", ["trials", "model"]) == "did you mean 'trials'?"
    assert did_you_mean("zebra", ["trials", "model"]) == "known: model, trials"


def test_a_name_that_is_in_use_gets_a_number():
    assert unused_name("a", {"b"}) == "a"
    assert unused_name("a", {"a", "a-2"}) == "a-3"
    assert unused_name("a", ["a"], "_") == "a_2"
    assert list(islice(number_names("x"), 3)) == ["x", "x-2", "x-3"]
