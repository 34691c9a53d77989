"""Judges and responders on the real runtime: verdicts, decisions, their models, and what they see."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, definition, run, task, tools_server, write_suite
from tests.support.model_server import Call, Reply, Step, Turn
from tests.support.program import write_tree

pytestmark = pytest.mark.slow

PASS = Call("set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
FAIL = Call("set_waza_grade_fail", {"description": "length", "reason": "it is long"})
BROKEN = Reply(status=400)
ENOUGH = Reply("I have said it.")
GRADERS = {"set_waza_grade_pass", "set_waza_grade_fail"}


def judged(prompt: str, **config: Any) -> dict[str, Any]:
    return {"type": "prompt", "name": "judge", "config": {"prompt": prompt, **config}}


# What the judge does; status of the run, score, words of the feedback.
VERDICTS: dict[str, tuple[list[Step], str, float, str]] = {
    "passes": ([Reply(calls=[PASS]), ENOUGH], "passed", 1, "1 of 1"),
    "both-at-once": ([Reply(calls=[PASS, FAIL]), ENOUGH], "failed", 0.5, "length: it is long"),
    "one-by-one": ([Reply(calls=[PASS]), Reply(calls=[PASS]), Reply(calls=[FAIL]), ENOUGH], "failed", 2 / 3, "it is long"),
    "no-arguments": ([Reply(calls=[Call("set_waza_grade_pass")]), ENOUGH], "passed", 1, "1 of 1"),
    "fails": ([Reply(calls=[FAIL]), ENOUGH], "failed", 0, "length: it is long"),
    "none": ([ENOUGH], "failed", 0, "it said: I have said it."),
    "breaks-after": ([Reply(calls=[PASS]), BROKEN], "passed", 1, "1 of 1"),
    "breaks-before": ([BROKEN], "error", 0, "the judge gave no verdict"),
    "looks": ([Reply(calls=[Call("view", {"path": "given.txt"})]), Reply(calls=[PASS]), ENOUGH], "passed", 1, "1 of 1"),
}  # fmt: skip
OTHERS: dict[str, dict[str, Any]] = {
    "rubric": judged("", rubric="helpfulness"),
    "own-model": judged("VERDICT own-model", model="other-judge", reasoning_effort="high"),
    "continued": judged("VERDICT continued", continue_session=True, model="other-judge"),
    "continued-later": judged("VERDICT continued-later", continue_session=True),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """One run of an agent with a skill, instructions and a server, of which its judges see nothing."""
    root = tmp_path_factory.mktemp("judged")
    files = {"greeter/SKILL.md": definition("greeter"), "fixtures/rules.md": "Be polite."}
    write_tree(root, files)
    given = [{"path": "given.txt", "content": "what was given"}]
    tasks = {name: task("GREET", files=given, graders=[judged(f"VERDICT {name}")]) for name in VERDICTS} | {
        name: task("GREET", graders=[grader]) for name, grader in OTHERS.items()
    }
    tasks["continued-later"]["inputs"]["follow_up_prompts"] = ["LATER"]
    scripts: dict[str, list[Step]] = {
        **{f"VERDICT {name}\n": steps for name, (steps, *_) in VERDICTS.items()},
        "VERDICT": [Reply(calls=[PASS]), ENOUGH],
        "Candidate output": [Reply(calls=[PASS]), ENOUGH],  # the rubric
        "": [Reply("all is fine")],
    }
    config = {
        "skill_directories": ["greeter"],
        "instruction_files": ["rules.md"],
        "mcp_servers": tools_server(root),
        "reasoning_effort": "medium",
        "judge_model": "judge-model",
        "judge_reasoning_effort": "low",
        "max_attempts": 2,
    }
    return run(write_suite(root, tasks, skill="greeter", config=config, graders=[]), scripts)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_follows_from_what_the_judge_calls(seen: Seen, name: str):
    _, status, score, words = VERDICTS[name]
    found = seen.run(name)
    verdict = found["validations"]["judge"]
    assert (found["status"], verdict["score"]) == (status, pytest.approx(score))
    assert words in verdict["feedback"]
    assert found["attempts"] == (2 if status == "failed" else 1)


def test_a_judge_that_breaks_says_why(seen: Seen):
    assert "running graders: judge: " in seen.run("breaks-before")["error_msg"]
    assert "error" in seen.run("breaks-before")["validations"]["judge"]["details"]
    after = seen.run("breaks-after")["validations"]["judge"]["details"]
    assert "its turn then broke, which is ignored" in after["response"]


def judges(seen: Seen) -> list[Turn]:
    return [turn for turn in seen.asked("") if GRADERS & set(turn.tools)]


def test_judges_see_the_work_but_neither_skills_nor_servers(seen: Seen):
    assert len(judges(seen)) > len(VERDICTS)
    for turn in judges(seen):
        assert "skill" not in turn.tools
        assert "hands-look" not in turn.tools
        assert "what greeter is for" not in turn.system
        assert "Be polite." not in turn.system
        if "continued" in turn.user:
            continue
        assert len([one for one in turn.body["messages"] if one["role"] == "user"]) == 1
        assert "GREET" in turn.user
        assert "all is fine" in turn.user
    assert "what was given" in seen.asked("VERDICT looks\n")[1].tool_results[0]


def test_a_rubric_is_what_the_judge_is_asked(seen: Seen):
    found = seen.run("rubric")
    assert found["validations"]["judge"]["details"]["rubric"]["source"] == "builtin:helpfulness"
    (first, _) = (turn for turn in judges(seen) if "VERDICT" not in turn.user)
    assert first.user == found["validations"]["judge"]["details"]["prompt"]


def test_model_and_effort_of_agents_and_judges(seen: Seen):
    def asked(text: str) -> set[tuple[str, str]]:
        turns = [turn for turn in seen.asked(text) if text != "" or not GRADERS & set(turn.tools)]
        return {(turn.body["model"], turn.body.get("reasoning_effort", "")) for turn in turns}

    assert asked("") == {("test-model", "medium")}
    assert asked("VERDICT passes") == {("judge-model", "low")}
    assert asked("VERDICT own-model") == {("other-judge", "high")}
    assert asked("VERDICT continued") == {("other-judge", "low"), ("judge-model", "low")}


def test_a_judge_that_continues_sees_the_conversation(seen: Seen):
    for name, prompts in {"continued": ["GREET"], "continued-later": ["GREET", "LATER"]}.items():
        found = seen.run(name)
        first = next(turn for turn in seen.asked(f"VERDICT {name}") if turn.user == f"VERDICT {name}")
        said = [(one["role"], str(one["content"]).rpartition("\n")[2]) for one in first.body["messages"]]
        assert said[1:] == [
            *[line for prompt in prompts for line in (("user", prompt), ("assistant", "all is fine"))],
            ("user", f"VERDICT {name}"),
        ]
        assert found["status"] == "passed"
        (session,) = found["grader_sessions"]
        assert session["session_id"] == found["session_digest"]["session_id"]


def test_sessions_of_judges_are_recorded_with_what_they_cost(seen: Seen):
    requests = {"passes": 2, "one-by-one": 4, "none": 1, "looks": 3, "continued": 2, "continued-later": 2}
    for name, count in requests.items():
        found = seen.run(name)
        (session, *more) = found["grader_sessions"]
        assert len(more) == found["attempts"] - 1, "of discarded attempts too"
        assert session["usage"]["input_tokens"] == 1000 * count, name
        assert session["usage"]["turns"] == count
        assert session["usage"]["provider"] == "custom"
        turns = 2 if name == "continued-later" else 1
        assert found["session_digest"]["usage"]["input_tokens"] == 1000 * turns, name
        model = "other-judge" if name == "continued" else "judge-model"
        assert list(session["usage"]["model_metrics"]) == [model]
        assert (session["session_id"] == found["session_digest"]["session_id"]) is ("continued" in name)
    assert seen.run("one-by-one")["grader_sessions"][0]["tools_used"] == [PASS.name, PASS.name, FAIL.name]


def winner(prefers: str, turn: Turn) -> Reply:
    """The judge's answer: the output it prefers, or whatever is called A."""
    second = turn.user.index("## Output B")
    label = "A" if prefers == "A" or prefers in turn.user[turn.user.index("## Output A") : second] else "B"
    args = {"winner": label, "magnitude": "much-better", "reasoning": f"{prefers} is better"}
    return Reply(calls=[Call("set_pairwise_winner", args)])


PAIRS = {  # what the judge prefers: winner, score, does it hold in both orders
    "with-skill": ("skilled", "skill", 1, True),
    "without": ("plain", "baseline", 0, True),
    "the-first": ("A", "tie", 0.5, False),
}


def test_pairwise_judges_compare_with_the_run_without_skills(tmp_path: Path):
    write_tree(tmp_path, {"greeter/SKILL.md": definition("greeter")})
    tasks = {name: task("GREET", graders=[judged(f"COMPARE {name}", mode="pairwise")]) for name in PAIRS}
    scripts: dict[str, list[Step]] = {
        f"COMPARE {name}\n": [partial(winner, prefers), ENOUGH] for name, (prefers, *_) in PAIRS.items()
    }
    scripts["GREET"] = [lambda turn: Reply("skilled, fine" if "Be good." in turn.system else "plain, fine")]
    suite = write_suite(tmp_path, tasks, skill="greeter", config={"skill_directories": ["greeter"]})
    seen = run(suite, scripts, "--baseline")
    for name, (_, best, score, consistent) in PAIRS.items():
        verdict = seen.run(name)["validations"]["judge"]
        assert (verdict["score"], verdict["passed"]) == (score, best != "baseline")
        assert verdict["details"]["pairwise"]["winner"] == best
        assert verdict["details"]["pairwise"]["position_consistent"] is consistent
        first, _, swapped, _ = seen.asked(f"COMPARE {name}")
        assert first.user.index("plain, fine") < first.user.index("skilled, fine")
        assert swapped.user.index("skilled, fine") < swapped.user.index("plain, fine")
        assert len(seen.run(name)["grader_sessions"]) == 2
    baseline = seen.results["baseline_outcome"]["tasks"]
    assert all("judge" not in one["runs"][0]["validations"] for one in baseline)


def reply(text: str) -> Call:
    return Call("responder_reply", {"answer": text})


STOP, ABSTAIN = Call("responder_stop"), Call("responder_abstain", {"reason": "the brief is silent"})
# What the responder does each time; replies sent, outcome, words of the reason.
DECISIONS: dict[str, tuple[list[Step], int, str, str]] = {
    "stops": ([Reply(calls=[STOP]), ENOUGH], 0, "stopped", ""),
    "abstains": ([Reply(calls=[ABSTAIN]), ENOUGH], 0, "abstained", "the brief is silent"),
    "replies-for-ever": ([Reply(calls=[reply("GO ON")]), ENOUGH], 2, "cap_exhausted", ""),
    "says-nothing": ([ENOUGH], 0, "error", "no decision"),
    "decides-twice": ([Reply(calls=[reply("GO ON"), STOP]), ENOUGH], 0, "error", "2 decisions instead of one"),
    "replies-blank": ([Reply(calls=[reply(" ")]), ENOUGH], 0, "error", "without 'answer'"),
    "breaks-after": ([Reply(calls=[STOP]), BROKEN], 0, "stopped", ""),
    "breaks-before": ([BROKEN], 0, "error", ""),
    "replies-once": ([lambda turn: Reply(calls=[STOP if "All is fine" in turn.user else reply("GO ON")]), ENOUGH], 1, "stopped", ""),
}  # fmt: skip


def working(turn: Turn) -> str:
    """What the agent says first, by the prompt that its session began with."""
    begun = re.search(r"BEGIN ([a-z-]+)", str(turn.body["messages"]))
    assert begun
    return f"I am working on {begun[1]}."


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Conversations with responders, of whom each belongs to one task."""
    root = tmp_path_factory.mktemp("responded")
    write_tree(root, {"greeter/SKILL.md": definition("greeter")})
    tasks = {
        name: task(f"BEGIN {name}", responder={"instructions": f"BRIEF {name}.", "max_followups": 2})
        for name in DECISIONS
    }
    tasks["stops"]["inputs"]["responder"]["model"] = "user-model"
    scripts: dict[str, list[Step]] = {
        **{f"working on {name}.": steps for name, (steps, *_) in DECISIONS.items()},
        "BEGIN": [lambda turn: Reply(working(turn))],
        "GO ON": [lambda turn: Reply(working(turn) + " All is fine.")],
    }
    config = {
        "skill_directories": ["greeter"],
        "mcp_servers": tools_server(root),
        "reasoning_effort": "medium",
        "judge_model": "judge-model",
        "judge_reasoning_effort": "low",
    }
    return run(write_suite(root, tasks, skill="greeter", config=config, graders=[]), scripts)


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_of_the_responder_counts(talks: Seen, name: str):
    _, sent, outcome, words = DECISIONS[name]
    found = talks.run(name)
    assert (found["responder"]["followups_sent"], found["responder"]["outcome"]) == (sent, outcome)
    assert words in found["responder"].get("reason", "")
    broken = outcome in ("error", "abstained")
    assert found["status"] == ("error" if broken else "passed")
    assert words in found.get("error_msg", "")
    assert bool(found.get("error_msg")) is broken
    assert found["final_output"] == f"I am working on {name}." + (" All is fine." if sent else "")
    assert found["session_digest"]["usage"]["turns"] == 1 + sent


def first_questions(talks: Seen, name: str) -> list[Turn]:
    return [turn for turn in talks.asked(f"working on {name}.") if turn.step == 0]


def test_a_responder_has_three_tools_and_nothing_of_the_agents(talks: Seen):
    for name in DECISIONS:
        for turn in talks.asked(f"working on {name}."):
            assert sorted(turn.tools) == ["responder_abstain", "responder_reply", "responder_stop"]
            assert "what greeter is for" not in turn.system
            assert "Be good." not in turn.system
            assert "BEGIN" not in str(turn.body["messages"])
            own = ("user-model" if name == "stops" else "test-model", "medium")
            assert (turn.body["model"], turn.body["reasoning_effort"]) == own


def test_a_responder_gets_its_instructions_once_and_remembers_them(talks: Seen):
    first, second = first_questions(talks, "replies-for-ever")
    assert first.user.startswith("BRIEF replies-for-ever.\n\n")
    assert "You play the user" in first.user
    assert "BRIEF" not in second.user
    assert "All is fine." in second.user
    assert "BRIEF replies-for-ever." in str(second.body["messages"])
    assert all(name in second.user for name in ("responder_reply", "responder_stop", "responder_abstain"))


def test_replies_reach_the_agent_in_its_own_session(talks: Seen):
    turns = [turn for turn in talks.asked("GO ON") if "BEGIN replies-for-ever" in str(turn.body["messages"])]
    assert [turn.user for turn in turns] == ["GO ON", "GO ON"]
    assert all("Be good." in turn.system for turn in turns)
    roles = [one["role"] for one in turns[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


def test_each_question_to_a_responder_is_recorded_with_its_own_cost(talks: Seen):
    sittings = talks.run("replies-for-ever")["grader_sessions"]
    assert [one["usage"]["input_tokens"] for one in sittings] == [2000, 2000]
    assert [one["tools_used"] for one in sittings] == [["responder_reply"]] * 2
    (session_id,) = {one["session_id"] for one in sittings}
    assert session_id != talks.run("replies-for-ever")["session_digest"]["session_id"]
