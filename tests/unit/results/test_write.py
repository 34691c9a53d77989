"""The results file: what it looks like, byte by byte, and that it is read back as it was."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator

import msgspec
import pytest
from tests.unit.report.factory import outcome, run, suite, task, verdict

from waza.model.observation import Event, ToolEvent
from waza.model.result import (
    DigestArguments,
    DigestCall,
    MetricResult,
    SessionDigest,
    SuiteResult,
    TaskResult,
)
from waza.model.trial import Arm
from waza.results.outcome import Outcome
from waza.results.write import encode, tidied


def written(result: Outcome) -> str:
    return b"".join(encode(result)).decode()


def strict(text: str) -> object:
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def test_is_indented_by_two_with_fields_in_order_and_no_last_newline() -> None:
    text = written(
        outcome(task("Greets", run(verdicts=[verdict("b"), verdict("a", score=0.5)])), metadata={})
    )
    assert text.startswith('{\n  "schemaVersion": "1.4",\n  "eval_id": "run-2026')
    assert text.endswith("\n  ]\n}")
    data = json.loads(text)
    assert list(data) == [
        "schemaVersion",
        "eval_id",
        "skill",
        "eval_name",
        "timestamp",
        "config",
        "summary",
        "metrics",
        "tasks",
    ]
    assert list(data["tasks"][0]["runs"][0]["validations"]) == ["a", "b"]
    assert text == json.dumps(data, indent=2)


def test_whole_floats_have_no_point_but_what_the_agent_sent_stays() -> None:
    call = ToolEvent(
        turn=1,
        sequence=1,
        tool_name="sum",
        args={"z": 1.0, "a": [2.0, 10**30, None]},
        success=True,
        result=3.0,
    )
    said = Event(type="assistant.message", content=4.0)
    text = written(
        outcome(
            task(
                "T",
                run(
                    tool_events=[call],
                    transcript=[said],
                    verdicts=[verdict(score=0.0), verdict("half", score=0.5)],
                ),
            )
        )
    )
    data = json.loads(text)
    one = data["tasks"][0]["runs"][0]
    assert '"score": 0,' in text
    assert '"score": 0.5,' in text
    assert '"weight": 1,' in text
    assert '"success_rate": 1,' in text
    assert list(one["tool_events"][0]["args"]) == ["z", "a"]
    assert (
        str(one["tool_events"][0]["args"]) == "{'z': 1.0, 'a': [2.0, 1000000000000000000000000000000, None]}"
    )
    assert str(one["tool_events"][0]["result"]) == "3.0"
    assert str(one["transcript"][0]["content"]) == "4.0"


def test_whole_floats_in_lists_and_maps_of_ours_have_no_point_either() -> None:
    metric = MetricResult(identifier="m", value=1.0, threshold=0.0, passed=True, weight=2.0)
    text = written(outcome(task(), metrics={"z": metric, "a": metric}))
    assert '"value": 1,' in text
    assert list(json.loads(text)["metrics"]) == ["a", "z"]
    assert '"ci95_hi": 1,' in text


def test_signs_of_markup_are_escaped_and_come_back() -> None:
    output = '</script><script>a && b</script>\u2028\u2029 é 你 \x00 "q" \\ .0\n1.0'
    text = written(outcome(task("T", run(final_output=output))))
    assert not set("<>&\u2028\u2029") & set(text)
    assert r"\u003c/script\u003e" in text
    assert "é 你" in text
    assert json.loads(text)["tasks"][0]["runs"][0]["final_output"] == output


def test_lists_that_were_never_set_are_null() -> None:
    digest = SessionDigest(tool_call_count=0, tools_used=None, errors=None)
    text = written(outcome(task("T", run(status="error", validations=None, session_digest=digest))))
    one = json.loads(text)["tasks"][0]["runs"][0]
    assert one["validations"] is None
    assert one["session_digest"] == {"tool_call_count": 0, "tools_used": None, "errors": None}


def test_no_tasks_is_an_empty_list() -> None:
    assert written(outcome()).endswith('\n  "tasks": []\n}')


def test_what_is_read_back_is_what_was_written() -> None:
    call = DigestCall(name="bash", arguments=DigestArguments(command="ls"), success=True)
    digest = SessionDigest(tool_call_count=1, tools_used=["bash"], tool_calls=[call], errors=[])
    before = suite(
        [
            task("A", run(session_digest=digest)),
            task("B", run(1, "failed"), run(2)),
            task("C", status="skipped"),
        ],
        metadata={"run_status": "complete", "n": 1.5},
        is_baseline=True,
        baseline_outcome=suite([task("A", run(1, "failed"))]),
    )
    text = written(Outcome.of(before))
    after = msgspec.json.decode(text, type=SuiteResult)
    assert [one.status for one in after.tasks] == ["passed", "failed", "skipped"]
    assert after.baseline_outcome is not None
    assert after.baseline_outcome.tasks[0].status == "failed"
    assert written(Outcome.of(after)) == text
    assert msgspec.json.decode(msgspec.json.encode(after)) == msgspec.json.decode(msgspec.json.encode(before))


def test_the_baseline_is_indented_within_and_followed_by_what_follows() -> None:
    text = written(
        outcome(
            task(), is_baseline=True, baseline_outcome=suite([task("Old")]), evaluation_usage={"sessions": []}
        )
    )
    data = json.loads(text)
    assert list(data)[-3:] == ["is_baseline", "baseline_outcome", "evaluation_usage"]
    assert data["baseline_outcome"]["tasks"][0]["display_name"] == "Old"
    assert text == json.dumps(data, indent=2)


def test_tasks_come_from_the_source_and_not_from_the_head() -> None:
    head = suite([task("Head")], baseline_outcome=suite([task("Head")]))
    sources = {"main": "Source", "baseline": "Without"}
    result = Outcome(head, lambda arm, _encoded: iter([task(sources[arm])]))
    data = json.loads(written(result))
    assert [one["display_name"] for one in data["tasks"]] == ["Source"]
    assert [one["display_name"] for one in data["baseline_outcome"]["tasks"]] == ["Without"]


def test_trials_that_are_json_already_are_written_as_those_that_are_not() -> None:
    trial = run(verdicts=[verdict(score=1.0, details={"b": 1.0, "a": ["<&>", {"d": 2, "c": 3}]})])
    encoded = msgspec.Raw(msgspec.json.encode(tidied(trial)))
    plain = task("T", trial)
    spliced = msgspec.structs.replace(plain, runs=[encoded])
    assert written(outcome(spliced)) == written(outcome(plain))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_is_strict_json_even_with_a_score_that_is_no_number(value: float) -> None:
    strict(written(outcome(task("T", run(verdicts=[verdict(score=value)])))))


def test_tasks_are_written_one_at_a_time() -> None:
    text = "x" * 200_000

    def source(_arm: Arm, _encoded: bool) -> Iterator[TaskResult]:
        return (task(f"T{i}", run(final_output=text + str(i))) for i in range(50))

    tracemalloc.start()
    size = sum(len(piece) for piece in encode(Outcome(suite(), source)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 50 * len(text)
    assert peak < 10 * len(text)
