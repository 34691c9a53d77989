"""Evaluators that break: each is an errored entry, and nothing else is harmed."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest
from tests.support.evaluators import LIMIT, asked, case, code_only, hosted, judged_as, write_evaluator

from waza.kit.process import find_leftovers
from waza.m365.custom.custom_result import CustomResult
from waza.m365.custom.discover import discover
from waza.m365.custom.pool import CustomPool

SHORT = 5.0  # seconds, where a limit shall be reached


def failing(statement: str) -> str:
    """The code of an evaluator that runs a statement when its prompt is `now`."""
    return f"""
import asyncio, os, signal, subprocess, sys, threading, time

def misbehave():
    {statement}

class Check:
    def __init__(self, **_): ...

    def __call__(self, *, prompt, **_):
        if prompt == "now":
            misbehave()
        return {{"score": 1, "reason": "fine"}}

class Rude(Exception):
    def __str__(self):
        raise RuntimeError
"""


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("raise ValueError('no terms')", "no terms"),
        ("raise ValueError", "ValueError"),
        ("{}['terms']", "KeyError: 'terms'"),
        ("raise Rude", "<Rude>"),
        ("sys.exit(3)", "it called sys.exit(3)"),
        ("exit()", "it called sys.exit(None)"),
        ("raise KeyboardInterrupt('stop')", "stop"),
        ("misbehave()", "maximum recursion depth exceeded"),
        ("[0] * 10**15", "MemoryError"),
        ("input('your name? ')", "EOF when reading a line"),
    ],
)
def test_an_exception_is_an_error_and_the_next_call_is_fine(tmp_path, statement, text):
    write_evaluator(tmp_path, "check", failing(statement))
    broken, fine = asked(tmp_path, "check", case(prompt="now"), case())
    assert broken.score is None
    assert broken.error.startswith(f"Evaluator failed: {text}")
    assert fine == CustomResult(1, "fine")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("os._exit(3)", "the process gave no answer (exit status 3)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "the process gave no answer (killed by SIGKILL)"),
        ("os.closerange(3, 100)", "the process gave no answer"),
        ("__import__('ctypes').string_at(0)", "the process gave no answer (killed by SIGSEGV)"),
        (
            "[os.write(d, FORGED) for d in range(3, 9) if is_pipe(d)]",
            "its process wrote something that is not an answer",
        ),
    ],
)
def test_the_end_of_a_process_is_an_error_and_the_next_call_gets_a_new_one(tmp_path, statement, text):
    helper = """
FORGED = b'{"id": 1, "runtime": "", "returned": {"score": 1}}' + bytes([10])

def is_pipe(d):
    try: return os.write(d, b"") == 0
    except OSError: return False
"""
    write_evaluator(tmp_path, "check", failing(statement) + helper)
    fine, broken, again = asked(tmp_path, "check", case(), case(prompt="now"), case())
    assert broken.error.startswith(f"Evaluator failed: {text}")
    assert (fine, again) == (CustomResult(1, "fine"), CustomResult(1, "fine"))


def test_a_process_that_died_between_two_calls_is_replaced(tmp_path):
    write_evaluator(tmp_path, "check", failing("pass"))

    async def talk(host: CustomPool) -> list[CustomResult]:
        first = await host.call("check", **case())
        (child,) = host._started["check"]._pool._idle
        os.kill(child.pid or 0, signal.SIGKILL)
        while child.alive:  # noqa: ASYNC110  # nobody waits for the end of an idle child
            await asyncio.sleep(0.005)
        return [first, await host.call("check", **case())]

    assert hosted(tmp_path, ["check"], talk) == [CustomResult(1, "fine")] * 2


def test_ten_megabytes_of_prints_are_not_taken_for_an_answer(tmp_path):
    noise = "b'{\\\"id\\\": 1}\\n' * 10**6"
    statement = f"print({noise}); os.write(1, {noise}); subprocess.run(['echo', '{{}}']); print('\\ud800 é')"
    write_evaluator(tmp_path, "check", failing(statement))
    assert asked(tmp_path, "check", case(prompt="now"), case()) == [CustomResult(1, "fine")] * 2


@pytest.mark.slow
def test_a_call_or_import_that_never_ends_is_ended_with_all_that_it_started(tmp_path):
    hang = "subprocess.Popen(['sleep', '1000']); time.sleep(1000)"
    write_evaluator(tmp_path, "hangs", failing(hang))
    write_evaluator(tmp_path, "never_starts", "while True: pass\nclass Check: ...")

    async def scenario() -> tuple[list[str], list[CustomResult]]:
        async with CustomPool(timeout=SHORT, children=1) as host:
            slow, *rest = discover(tmp_path, ["never_starts", "hangs"]).evaluators
            assert await host.start(rest) == []
            problems, *outcomes = await asyncio.gather(
                host.start([slow]), host.call("hangs", **case(prompt="now")), host.call("hangs", **case())
            )
            return [problem.message for problem in problems], outcomes

    problems, outcomes = asyncio.run(scenario())
    assert problems == ["Custom evaluator 'never_starts' failed to import: it did not end within 5 s"]
    assert outcomes == [
        CustomResult(error="Evaluator failed: it gave no result within 5 s"),
        CustomResult(1, "fine"),  # it waited for the only child, and got a new one
    ]
    assert find_leftovers() == []


def test_a_cancelled_call_leaves_nothing_and_harms_nobody(tmp_path):
    write_evaluator(
        tmp_path, "check", failing(f"open({str(tmp_path / 'begun')!r}, 'w').close(); time.sleep(1000)")
    )

    async def talk(host: CustomPool) -> CustomResult:
        call = asyncio.ensure_future(host.call("check", **case(prompt="now")))
        while not (tmp_path / "begun").exists() and not call.done():  # noqa: ASYNC110  # a child can show a file only
            await asyncio.sleep(0.005)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert find_leftovers() == []
        return await host.call("check", **case())

    assert hosted(tmp_path, ["check"], talk, children=1) == CustomResult(1, "fine")


def test_options_that_are_changed_are_fresh_in_the_next_call(tmp_path):
    code = code_only(
        "{'score': len(self.options['terms']), 'reason': repr(self.options)}",
        before="self.options['terms'].append('x'); self.options['new'] = 1",
    )
    write_evaluator(tmp_path, "check", code)
    options = {"terms": ["a"]}
    first, second = asked(tmp_path, "check", case(options=options), case(options=options))
    assert first == second == CustomResult(2, "{'terms': ['a', 'x'], 'new': 1}")
    assert options == {"terms": ["a"]}


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        ("None", "it returned NoneType instead of a dict"),
        ("4", "it returned int instead of a dict"),
        ("[{'score': 4}]", "it returned list instead of a dict"),
        ("(n for n in [1])", "it returned generator instead of a dict"),
    ],
)
def test_nonsense_is_an_error(tmp_path, returned, text):
    outcome = judged_as(tmp_path, code_only(returned))
    assert outcome.error.startswith(f"Evaluator failed: {text}")


@pytest.mark.parametrize(
    ("score", "text"),
    [
        ("10**5000", "Exceeds the limit"),
        ("object", "could not parse score"),
        ("b'4'", "could not parse score: \"b'4'\" is not a number"),
    ],
)
def test_scores_that_no_json_can_carry_are_errors(tmp_path, score, text):
    assert text in judged_as(tmp_path, code_only(f"{{'score': {score}}}")).error


def test_only_the_keys_that_matter_are_passed_on(tmp_path):
    returned = "{'score': 1, 'reason': 'r', 'junk': object(), 7: {1, 2}}"
    assert judged_as(tmp_path, code_only(returned)) == CustomResult(1, "r")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("raise ValueError('boom')", "ValueError: boom"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; sys.exit(1)", "it called sys.exit(1)"),
        ("import os; os._exit(7)", "the process gave no answer (exit status 7)"),
        ("print('x' * 10**7); 1 / 0", "ZeroDivisionError: division by zero"),
        ("del Check", "AttributeError: after its import there is no class Check"),
    ],
)
def test_imports_that_fail_are_problems_and_errors_of_later_calls(tmp_path, statement, text):
    write_evaluator(tmp_path, "bad", "class Check: ...\n" + statement)
    write_evaluator(tmp_path, "good", code_only("{'score': 1}"))

    async def scenario() -> tuple[list[str], CustomResult, CustomResult]:
        async with CustomPool(timeout=LIMIT) as host:
            problems = await host.start(discover(tmp_path, ["bad", "good"]).evaluators)
            calls = [await host.call(name, **case()) for name in ("bad", "good")]
            return [problem.message for problem in problems], calls[0], calls[1]

    problems, bad, good = asyncio.run(scenario())
    assert problems == [f"Custom evaluator 'bad' failed to import: {text}"]
    assert bad.error == problems[0]
    assert good == CustomResult(1)
    assert find_leftovers() == []
