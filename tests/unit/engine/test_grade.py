import asyncio
import math
import threading

import pytest

from waza.engine.grade import LARGE, grade
from waza.errors import GraderError
from waza.graders.base import Grader
from waza.model.observation import Observation
from waza.model.verdict import BuiltGrader, GraderSpec, Helpers, Verdict


def built(grader, name: str = "g", weight: float = 1.0) -> BuiltGrader:
    return BuiltGrader(GraderSpec(type="own", name=name, weight=weight, config={}), grader)


def graded(*graders: BuiltGrader, output: str = ""):
    return asyncio.run(grade(graders, Observation(output=output), Helpers()))


class Says(Grader, frozen=True, kw_only=True):
    """Returns what it was given, or raises it."""

    answer: object

    def grade(self, seen, helpers):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class SaysInAThread(Says, frozen=True, kw_only=True):
    reads_workspace = True

    def grade(self, seen, helpers):
        assert threading.current_thread() is not threading.main_thread()
        return super().grade(seen, helpers)


class SaysLater(Grader, frozen=True, kw_only=True):
    answer: object

    async def grade(self, seen, helpers):
        await asyncio.sleep(0)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


PASS = Verdict(score=1.0, passed=True, feedback="fine")


@pytest.mark.parametrize("kind", [Says, SaysInAThread, SaysLater])
def test_one_that_raises_is_an_error_and_the_others_are_kept(kind):
    found = graded(
        built(kind(answer=PASS), "a"),
        built(kind(answer=GraderError("no judge")), "b"),
        built(kind(answer=ZeroDivisionError("oh")), "c"),
        built(kind(answer=PASS), "d"),
    )
    assert list(found.validations) == ["a", "b", "c", "d"]
    passed = {name: (one.passed, one.score) for name, one in found.validations.items()}
    assert passed == {"a": (True, 1), "b": (False, 0), "c": (False, 0), "d": (True, 1)}
    said = found.validations["c"].details["error"]
    assert said.startswith(f"the grader broke: ZeroDivisionError: oh ({__file__}:")
    assert said.endswith(", in grade: raise self.answer)")
    assert found.errors == ("b: no judge", f"c: {said}")
    assert "waza/engine" not in found.validations["c"].details["traceback"], "our own frames are left out"
    assert found.failed == ("b", "c")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "passed",
        True,
        {"passed": True, "score": 1},
        Verdict(score=math.nan, passed=True, feedback=""),
        Verdict(score=math.inf, passed=True, feedback=""),
        Verdict(score=7, passed=True, feedback=""),
        Verdict(score=-0.1, passed=True, feedback=""),
        Verdict(score="0.9", passed=True, feedback=""),  # type: ignore[arg-type]  # what a careless grader may do
        Verdict(score=True, passed=True, feedback=""),
        Verdict(score=1.0, passed="false", feedback=""),  # type: ignore[arg-type]  # as above
        Verdict(score=1.0, passed=1, feedback=""),  # type: ignore[arg-type]  # as above
    ],
    ids=repr,
)
def test_what_is_no_verdict_never_passes(answer):
    found = graded(built(Says(answer=answer)))
    assert found.errors
    assert (found.validations["g"].passed, found.validations["g"].score) == (False, 0)


@pytest.mark.parametrize("score", [0, 1, 0.0, 0.25, 1.0])
def test_scores_in_range_stay(score):
    found = graded(built(Says(answer=Verdict(score=score, passed=False, feedback="")), weight=2.5))
    assert found.errors == ()
    assert (found.validations["g"].score, found.validations["g"].weight) == (score, 2.5)


def test_each_gets_its_own_name():
    class Named(Grader, frozen=True, kw_only=True):
        def grade(self, seen, helpers):
            return Verdict(score=1.0, passed=True, feedback=helpers.name)

    found = graded(built(Named(), "a"), built(Named(), "b"))
    assert [one.feedback for one in found.validations.values()] == ["a", "b"]


def test_a_large_output_is_graded_beside_the_event_loop():
    class Where(Grader, frozen=True, kw_only=True):
        def grade(self, seen, helpers):
            main = threading.current_thread() is threading.main_thread()
            return Verdict(score=1.0, passed=True, feedback=str(main))

    assert graded(built(Where()), output="x" * LARGE).validations["g"].feedback == "True"
    assert graded(built(Where()), output="x" * (LARGE + 1)).validations["g"].feedback == "False"


def test_an_interrupt_is_no_error_of_the_grader():
    async def interrupted():
        never = asyncio.Event()

        class Waits(Grader, frozen=True, kw_only=True):
            async def grade(self, seen, helpers):
                await never.wait()
                return PASS

        task = asyncio.create_task(grade([built(Waits())], Observation(), Helpers()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(interrupted())
