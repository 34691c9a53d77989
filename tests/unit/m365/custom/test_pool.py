"""Calling custom evaluators in their processes: what they are given, what comes back, what stays apart."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from tests.support.evaluators import (
    JUDGE,
    LIMIT,
    NO_MODEL,
    PROMPTY,
    asked,
    case,
    code_only,
    hosted,
    judged_as,
    write_evaluator,
)

from waza.m365.custom.custom_result import CustomResult
from waza.m365.custom.discover import discover
from waza.m365.custom.pool import CustomPool


def test_many_calls_go_to_one_process_that_imports_once(tmp_path):
    before = "global COUNT; COUNT += 1"
    code = code_only("{'score': COUNT, 'reason': str(__import__('os').getpid())}", before=before)
    write_evaluator(tmp_path, "check", "COUNT = 0\n" + code)
    found = asked(tmp_path, "check", case(), case(), case())
    assert [outcome.score for outcome in found] == [1, 2, 3]
    assert len({outcome.reason for outcome in found}) == 1


def test_every_call_has_an_instance_of_its_own(tmp_path):
    write_evaluator(
        tmp_path,
        "check",
        """
class Check:
    def __init__(self, **_):
        self.calls = 0

    def __call__(self, **_):
        self.calls += 1
        return {"score": self.calls}
""",
    )
    assert [outcome.score for outcome in asked(tmp_path, "check", case(), case())] == [1, 1]


def test_calls_of_one_evaluator_run_at_the_same_time(tmp_path):
    """Each call waits for the file that the other one writes."""
    code = code_only("{'score': 1, 'reason': prompt}", before="meet(prompt, response)")
    write_evaluator(
        tmp_path,
        "check",
        f"""
import time
from pathlib import Path

def meet(mine, other):
    Path({str(tmp_path)!r}, mine).touch()
    while not Path({str(tmp_path)!r}, other).exists():
        time.sleep(0.005)
{code}""",
    )

    async def talk(host: CustomPool) -> list[CustomResult]:
        cases = [case(prompt="a", response="b"), case(prompt="b", response="a")]
        return await asyncio.gather(*(host.call("check", **one) for one in cases))

    assert [outcome.reason for outcome in hosted(tmp_path, ["check"], talk, children=2)] == ["a", "b"]


def test_helpers_of_the_same_name_do_not_meet(tmp_path):
    for name in ("first", "second"):
        helpers = {"helpers.py": f"NAME = {name!r}", "parts/more.py": f"MORE = {name!r}"}
        code = code_only("{'score': 1, 'reason': NAME + MORE + late()}")
        lazy = "def late():\n    import later\n    return later.LATE\n"
        imports = "from helpers import NAME\nfrom parts.more import MORE\n"
        write_evaluator(
            tmp_path, name, imports + lazy + code, beside={**helpers, "later.py": f"LATE = {name!r}"}
        )

    async def talk(host: CustomPool) -> list[str]:
        return [(await host.call(name, **case())).reason for name in ("first", "second", "first")]

    assert hosted(tmp_path, ["first", "second"], talk) == ["first" * 3, "second" * 3, "first" * 3]


def test_a_helper_comes_before_an_installed_module_of_its_name(tmp_path, monkeypatch):
    (tmp_path / "installed").mkdir()
    (tmp_path / "installed" / "helpers.py").write_text("NAME = 'installed'", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    code = "from helpers import NAME\n" + code_only("{'score': 1, 'reason': NAME}")
    write_evaluator(tmp_path, "check", code, beside={"helpers.py": "NAME = 'beside'"})
    assert asked(tmp_path, "check") == [CustomResult(1, "beside")]


@pytest.mark.parametrize("name", ["json", "statistics", "msgspec"])
def test_an_evaluator_may_be_named_like_a_module_that_it_uses(tmp_path, name):
    code = f"import {name}\n" + code_only(f"{{'score': 1, 'reason': {name}.__file__}}")
    folder = write_evaluator(tmp_path, name, code)
    assert Path(asked(tmp_path, name)[0].reason).parent != folder


def test_no_module_of_ours_can_be_imported_by_accident(tmp_path):
    write_evaluator(tmp_path, "check", "import contract\n" + code_only("{'score': 1}"))
    host = CustomPool(timeout=LIMIT)

    async def scenario() -> list[str]:
        async with host:
            problems = await host.start(discover(tmp_path, ["check"]).evaluators)
            return [problem.message for problem in problems]

    assert asyncio.run(scenario()) == [
        "Custom evaluator 'check' failed to import: ModuleNotFoundError: No module named 'contract'"
    ]


def test_a_folder_stays_as_it_was(tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    folder = write_evaluator(
        tmp_path, "check", "import helpers\n" + code_only("{'score': 1}"), beside={"helpers.py": ""}
    )
    asked(tmp_path, "check")
    assert sorted(path.name for path in folder.iterdir()) == ["check.py", "helpers.py"]


def test_a_wrapper_runs_where_the_program_was_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = judged_as(tmp_path, code_only("{'score': 1, 'reason': __import__('os').getcwd()}"))
    assert Path(outcome.reason) == tmp_path


@pytest.mark.parametrize(
    ("returned", "score"),
    [
        ("__import__('decimal').Decimal('0.5')", 0.5),
        ("__import__('fractions').Fraction(1, 4)", 0.25),
        ("__import__('enum').IntEnum('Level', 'LOW HIGH').HIGH", 2),
        ("type('Tensor', (), {'item': lambda self: True})()", 1),
    ],
)
def test_numbers_of_other_kinds_are_numbers(tmp_path, returned, score):
    assert judged_as(tmp_path, code_only(f"{{'score': {returned}}}")) == CustomResult(score)


def test_any_text_survives_the_way_to_the_evaluator_and_back(tmp_path):
    text = "line\r\nline\u2028\0\x1b[31m \U0001f600 \ud800 " + '"' * 3
    outcome = judged_as(
        tmp_path,
        code_only("{'score': 1, 'reason': response}"),
        response=text,
        options={"ключ": [1, None, {"nested": 0.5}]},
    )
    assert outcome == CustomResult(1, text.replace("\ud800", "?"))


def test_megabytes_of_response_are_no_obstacle(tmp_path):
    outcome = judged_as(tmp_path, code_only("{'score': len(response)}"), response="é" * 3_000_000)
    assert outcome == CustomResult(3_000_000)


def test_a_judge_without_a_model_is_an_error(tmp_path):
    outcome = judged_as(tmp_path, JUDGE, PROMPTY, model_config=None)
    assert outcome.error == "Evaluator failed: it is a judge, and no model is configured for judges"


def test_debug_messages_tell_what_an_evaluator_got_and_gave(tmp_path, caplog):
    caplog.set_level(logging.DEBUG, logger="waza.m365.custom.pool")
    secret = {**NO_MODEL, "api_key": "very-secret"}
    code = JUDGE.replace(
        "return self._flow(user_prompt=prompt, response=response)", "return {'score': 4, 'x': 1}"
    )
    judged_as(tmp_path, code, PROMPTY, model_config=secret, key="item-7")
    loaded, made = (record.getMessage() for record in caplog.records)
    wrapper = tmp_path / "custom-evaluators" / "check" / "check.py"
    assert loaded == f"check: judge evaluator, class Judge of {wrapper}"
    assert made == (
        "item-7, check: made with threshold, options, model_config; "
        "load_flow: builtin; returned {'score': 4, 'x': 1}"
    )
    assert "very-secret" not in caplog.text
