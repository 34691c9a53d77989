"""The rules of what custom evaluators return, CE-29 to CE-45. A test is named after its rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.evaluators import PROMPTY, asked, case, code_only, entry, judged_as, write_evaluator

from waza.m365.custom.custom_result import CustomResult, custom_result


def results(root: Path, prompty: str | None, *returned: str) -> list[CustomResult]:
    """What becomes of return values, given as expressions."""
    table = ", ".join(f"lambda: {expression}" for expression in returned)
    write_evaluator(
        root,
        "check",
        f"class Check:\n    def __init__(self, **_): ...\n"
        f"    def __call__(self, *, prompt, **_): return [{table}][int(prompt)]()",
        prompty,
    )
    return asked(root, "check", *(case(prompt=str(number)) for number in range(len(returned))))


def test_ce_29_success_is_score_and_reason(tmp_path):
    assert results(tmp_path, None, "{'score': 1, 'reason': 'r'}") == [CustomResult(1, "r")]


@pytest.mark.parametrize(("score", "result"), [(2, "fail"), (3, "pass"), (4, "pass")])
def test_ce_30_the_host_decides_by_the_threshold_and_attaches_it(score, result):
    found = custom_result("judge", {"score": score, "reason": "r"})
    assert entry(found, 3, "judge") == {"score": score, "result": result, "threshold": 3, "reason": "r"}


def test_ce_31_result_and_threshold_of_a_wrapper_are_ignored(tmp_path):
    (found,) = results(tmp_path, PROMPTY, "{'score': 2, 'reason': 'r', 'result': 'pass', 'threshold': 1}")
    assert entry(found, 3, "judge") == {"score": 2, "result": "fail", "threshold": 3, "reason": "r"}


def test_ce_32_an_error_is_nothing_but_its_text(tmp_path):
    (found,) = results(tmp_path, PROMPTY, "{'error': 'no terms', 'score': 5, 'reason': 'r'}")
    assert found == CustomResult(error="no terms")


def test_ce_33_the_old_shape_of_an_error_means_the_same(tmp_path):
    (found,) = results(tmp_path, PROMPTY, "{'result': 'error', 'error': 'no model', 'threshold': 3}")
    assert found == CustomResult(error="no model")


def test_ce_34_a_judge_scores_from_1_to_5(tmp_path):
    found = results(tmp_path, PROMPTY, *(f"{{'score': {score}}}" for score in (1, 5, 0, 6, -1)))
    assert found[:2] == [CustomResult(1), CustomResult(5)]
    assert all(
        broken.error.endswith("is not an integer from 1 to 5, as a judge must give") for broken in found[2:]
    )


def test_ce_35_whole_floats_are_integers(tmp_path):
    whole, broken = results(tmp_path, PROMPTY, "{'score': 4.0}", "{'score': 3.5}")
    assert (whole, type(whole.score)) == (CustomResult(4), int)
    assert broken.error == "the score 3.5 is not an integer from 1 to 5, as a judge must give"


def test_ce_36_what_is_no_number_cannot_be_parsed(tmp_path):
    scores = ["'4'", "None", "[]", "float('nan')", "True"]
    found = results(tmp_path, PROMPTY, *(f"{{'score': {score}}}" for score in scores), "{'reason': 'r'}")
    assert all(broken.error.startswith("could not parse score") for broken in found)


def test_ce_37_a_code_only_evaluator_scores_with_any_number(tmp_path):
    found = results(tmp_path, None, *(f"{{'score': {score}}}" for score in (-3, 0.25, 250, True)))
    assert found == [CustomResult(-3), CustomResult(0.25), CustomResult(250), CustomResult(1)]


def test_ce_38_but_it_must_be_one(tmp_path):
    scores = ["'4'", "None", "float('nan')", "float('inf')"]
    found = results(tmp_path, None, *(f"{{'score': {score}}}" for score in scores), "{'reason': 'r'}")
    assert all(broken.error.startswith("could not parse score") for broken in found)


@pytest.mark.parametrize(("score", "result"), [(0.69, "fail"), (0.7, "pass"), (250, "pass"), (-3, "fail")])
def test_ce_40_higher_is_better(score, result):
    assert entry(custom_result("code", {"score": score}), 0.7)["result"] == result


def test_ce_41_a_reason_is_text_and_optional(tmp_path):
    found = results(
        tmp_path, None, "{'score': 1}", "{'score': 1, 'reason': None}", "{'score': 1, 'reason': 42}"
    )
    assert [one.reason for one in found] == ["", "", "42"]


def test_ce_43_an_errored_entry_has_two_keys(tmp_path):
    (found,) = results(tmp_path, None, "{'error': 'no terms', 'score': 5}")
    assert entry(found, 3) == {"result": "error", "error": "no terms"}


def test_ce_45_what_is_no_dict(tmp_path):
    found = results(tmp_path, None, "1", "None", "[('score', 1)]", "'{}'", "__import__('asyncio').sleep(0)")
    assert all(broken.error.startswith("Evaluator failed: it returned ") for broken in found[:4])
    assert found[4].error == "Evaluator failed: __call__ returned a coroutine, but is not an async function"


def test_ce_45_an_async_call_is_awaited(tmp_path):
    code = code_only("{'score': 1, 'reason': response}", before="import asyncio; await asyncio.sleep(0)")
    found = judged_as(tmp_path, code.replace("def __call__", "async def __call__"), response="R")
    assert found == CustomResult(1, "R")
