"""What conversations on the real runtime cost, turn by turn; attempts, trials, and checkpoints between turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, run, task, touch, write_suite
from tests.support.model_server import Call, Reply, Step, Usage

pytestmark = pytest.mark.slow

PASS = Call("set_waza_grade_pass")
HELPER = {
    "agent_type": "general-purpose",
    "name": "helper",
    "description": "helps",
    "prompt": "ASSIST",
    "mode": "sync",
}


def checkpoint(after: int, wanted: str, **keys: Any) -> dict[str, Any]:
    grader = {"type": "text", "name": f"says-{wanted}", "config": {"contains": [wanted]}}
    return {"after_turn": after, "graders": [grader], **keys}


ASK = {"type": "prompt", "name": "ask", "config": {"prompt": "VERDICT", "continue_session": True}}
TASKS = {
    "single": task("ONE"),
    "follow-ups": task("ONE", follow_up_prompts=["TWO", "THREE"]),
    "helper": task("DELEGATE"),
    "retried": task("TRY {{.Attempt}}"),
    "breaks": task("ONE", follow_up_prompts=["TWO", "BREAK", "NEVER"]),
    "goes-on": task("ONE", follow_up_prompts=["TWO"], checkpoints=[checkpoint(1, "no such word"), checkpoint(2, "fine")]),
    "stops": task("ONE", follow_up_prompts=["TWO", "NEVER"], checkpoints=[checkpoint(2, "no such word", on_failure="stop")]),
    "asked-between": task("ONE", follow_up_prompts=["TWO"], checkpoints=[{"after_turn": 1, "graders": [ASK]}]),
}  # fmt: skip


def said(text: str, tokens: int, *calls: Call) -> Reply:
    """A reply that costs so many tokens, a tenth of them from the cache, and a hundredth for its own text."""
    return Reply(text, calls, usage=Usage(tokens, tokens // 100, tokens // 10))


def scripts(root: Path) -> dict[str, list[Step]]:
    return {
        "VERDICT": [said("", 50_000, PASS), said("enough", 50_000)],
        "ONE": [said("", 1000, touch(root / "mark")), said("one is fine", 2000)],
        "TWO": [said("two is fine", 4000)],
        "THREE": [said("", 8000, touch(root / "mark")), said("", 16_000, touch(root / "mark")), said("fine", 32_000)],
        "DELEGATE": [said("", 1000, Call("task", HELPER)), said("fine", 2000)],
        "ASSIST": [said("", 4000, touch(root / "mark")), said("done", 8000)],
        "TRY 1": [said("wrong", 1000)],
        "TRY 2": [said("", 4000, touch(root / "mark")), said("fine", 8000)],
        "BREAK": [said("", 8000, touch(root / "mark")), Reply(status=400)],
    }  # fmt: skip


# Of each task: questions to the model and input tokens, in thousands.
COSTS = {
    "single": (2, 3),
    "follow-ups": (6, 63),
    "helper": (4, 15),
    "retried": (2, 12),
    "breaks": (4, 15),
    "goes-on": (3, 7),
    "stops": (3, 7),
    "asked-between": (3, 7),
}


DISCARDED = {"retried": (1, 1), "goes-on": (3, 7)}  # attempts that failed: their questions and tokens
JUDGE = 100_000  # tokens


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    root = tmp_path_factory.mktemp("usage")
    suite = write_suite(root, TASKS, config={"max_attempts": 2})
    return run(suite, scripts(root))


def usage_of(requests: int, thousands: int, host: str, model: str = "test-model") -> dict[str, Any]:
    """The usage of so many requests to one model."""
    tokens = {
        "input_tokens": 1000 * thousands,
        "output_tokens": 10 * thousands,
        "cache_read_tokens": 100 * thousands,
        "cache_write_tokens": 0,
    }
    metrics = {model: {**tokens, "request_count": requests, "request_cost": 0}}
    provider = {"provider": "custom", "provider_host": host}
    return {**tokens, "premium_requests": requests, **provider, "model_metrics": metrics}


def host_of(seen: Seen) -> str:
    return seen.server.base_url.removeprefix("http://").removesuffix("/v1")


@pytest.mark.parametrize("name", COSTS)
def test_turns_add_up_and_no_turn_is_counted_twice(seen: Seen, name: str):
    requests, thousands = COSTS[name]
    usage = dict(seen.run(name)["session_digest"]["usage"])
    turns = usage.pop("turns")
    if name == "breaks":
        # The request that was refused is a turn of the model, but costs nothing.
        assert turns == requests + 1
    else:
        assert turns == requests
    assert usage == usage_of(requests, thousands, host_of(seen))


def test_the_summary_adds_up_all_attempts_of_the_tasks(seen: Seen):
    total = seen.results["summary"]["usage"]
    attempts = [*COSTS.values(), *DISCARDED.values()]
    assert total["input_tokens"] == 1000 * sum(thousands for _, thousands in attempts)
    assert total["premium_requests"] == sum(requests for requests, _ in attempts)
    assert (total["provider"], total["provider_host"]) == ("custom", host_of(seen))


def test_an_attempt_that_was_discarded_is_recorded_with_its_cost(seen: Seen):
    found = seen.run("retried")
    assert (found["status"], found["attempts"]) == ("passed", 2)
    (discarded,) = found["attempt_history"]
    assert (discarded["status"], discarded["failed_graders"]) == ("failed", ["said"])
    assert discarded["usage"]["input_tokens"] == 1000
    assert discarded["usage"]["turns"] == 1


def test_every_session_of_the_run_is_accounted_for(seen: Seen):
    spent = [one["usage"]["input_tokens"] for one in seen.results["evaluation_usage"]["sessions"]]
    assert len(spent) == len(TASKS) + len(DISCARDED) + 1
    assert sum(spent) == seen.results["summary"]["usage"]["input_tokens"] + JUDGE


def test_follow_ups_go_on_in_the_same_session(seen: Seen):
    found = seen.run("follow-ups")
    assert found["status"] == "passed"
    assert found["final_output"] == "fine"
    assert [call["tool_name"] for call in found["tool_events"]] == ["bash"] * 3
    assert [call["turn"] for call in found["tool_events"]] == sorted(
        call["turn"] for call in found["tool_events"]
    )
    last = seen.asked("THREE")[0].body["messages"]
    assert [one["role"] for one in last if one["role"] in ("user", "tool")] == [
        "user",
        "tool",
        "user",
        "user",
    ]
    prompts = [event["content"] for event in found["transcript"] if event["type"] == "user.message"]
    assert prompts == ["ONE", "TWO", "THREE"]


def test_a_follow_up_that_breaks_ends_the_conversation(seen: Seen):
    found = seen.run("breaks")
    assert found["status"] == "error"
    assert found["error_msg"].startswith("follow-up 2/3: ")
    assert found["final_output"] == "two is fine"
    assert "NEVER" not in seen.server.prompts()
    assert found["validations"]["said"]["passed"] is True


def test_checkpoints_go_on_or_stop(seen: Seen):
    on, off = seen.run("goes-on"), seen.run("stops")
    assert [(one["after_turn"], one["status"]) for one in on["checkpoints"]] == [(1, "failed"), (2, "passed")]
    assert (on["status"], on["attempts"], on["final_output"]) == ("failed", 2, "two is fine")
    (point,) = off["checkpoints"]
    assert (point["status"], point["stopped"]) == ("failed", True)
    assert off["status"] == "error"
    assert off["error_msg"] == "the checkpoint after turn 2 stopped the run; failed: says-no such word"
    assert off["validations"]["said"]["passed"] is True


def test_a_judge_that_asks_between_turns_pays_for_itself(seen: Seen):
    found = seen.run("asked-between")
    assert found["checkpoints"][0]["validations"]["ask"]["passed"] is True
    (judge,) = found["grader_sessions"]
    assert judge["session_id"] == found["session_digest"]["session_id"]
    assert judge["usage"]["input_tokens"] == JUDGE
    assert found["status"] == "passed"


def test_every_trial_has_a_session_of_its_own_also_over_responses(tmp_path: Path):
    tasks = {"follow-ups": TASKS["follow-ups"]}
    suite = write_suite(tmp_path, tasks, config={"trials_per_task": 2})
    seen = run(suite, scripts(tmp_path), COPILOT_WIRE_API="responses")
    assert {request.path for request in seen.server.requests if request.turn} == {"/v1/responses"}
    runs = [seen.run("follow-ups", number) for number in (1, 2)]
    assert len({one["session_digest"]["session_id"] for one in runs}) == 2
    for one in runs:
        assert one["status"] == "passed"
        usage = dict(one["session_digest"]["usage"])
        assert usage.pop("turns") == 6
        assert usage == usage_of(6, 63, host_of(seen))
