"""Conversations of several turns, through a whole run: follow-ups, the responder, checkpoints."""

from __future__ import annotations

import pytest

from waza.model.event import CheckpointGraded, PromptSent
from waza.model.observation import Usage


def turns(*texts: str, **more: str) -> str:
    """A script of turns, each with its usage; a text `!x` breaks its turn with the error x."""
    lines = ["mock:"]
    lines += [f"  {key}: {value}" for key, value in more.items()]
    lines.append("  turns:")
    for n, text in enumerate(texts, 1):
        said = f"error: '{text[1:]}', output: half" if text.startswith("!") else f"output: '{text}'"
        lines.append(
            f"    - {{{said}, usage: {{input_tokens: {n}, output_tokens: 10}}, delay_ms: 3, "
            f"tool_calls: [{{name: tool-{n}}}], skills: [skill-{n}]}}"
        )
    return "\n".join(lines)


def text_grader(word: str, name: str = "g") -> str:
    return f"{{type: text, name: {name}, config: {{contains: ['{word}']}}}}"


FOLLOWED = "inputs: {prompt: p, follow_up_prompts: [q, r]}\n"


def test_follow_ups_add_up_and_the_last_output_counts(ran):
    run = ran({"t": f"{FOLLOWED}{turns('one', 'two', 'three')}\ngraders: [{text_grader('three')}]"}).of("t")
    assert (run.status, run.final_output) == ("passed", "three")
    assert run.session_digest.usage == Usage(
        turns=3,
        input_tokens=6,
        output_tokens=30,
        cache_read_tokens=0,
        cache_write_tokens=0,
        premium_requests=0,
    )
    assert run.session_digest.tools_used == ["tool-1", "tool-2", "tool-3"]
    assert [event.turn for event in run.tool_events] == [1, 2, 3]
    assert [event.sequence for event in run.tool_events] == [1, 2, 3]
    assert [skill.name for skill in run.skill_invocations] == ["skill-1", "skill-2", "skill-3"]
    assert [event.content for event in run.transcript if event.type == "user.message"] == ["p", "q", "r"]
    assert run.duration_ms >= 9
    assert run.session_digest.session_id.startswith("mock-session-")
    assert run.responder is None
    assert not run.error_msg


def test_a_follow_up_that_breaks_stops_the_rest_and_is_not_merged(ran):
    run = ran({"t": f"{FOLLOWED}{turns('one', '!lost', 'three')}\ngraders: [{text_grader('one')}]"}).of("t")
    assert run.status == "error"
    assert run.error_msg == "follow-up 1/2: lost"
    assert run.final_output == "one"
    assert run.session_digest.tools_used == ["tool-1"]
    assert run.session_digest.usage is not None
    assert run.session_digest.usage.turns == 2  # it was paid for all the same
    assert run.validations is not None
    assert run.validations["g"].passed  # graded on what there is
    assert [event.content for event in run.transcript if event.type == "user.message"] == ["p", "q"]
    assert run.transcript[-1].content == "q"  # of the turn that broke, its prompt alone


def test_a_first_turn_that_breaks_is_graded_and_nothing_follows(ran):
    done = ran({"t": f"{FOLLOWED}{turns('!lost', 'two')}\ngraders: [{text_grader('half')}]"})
    run = done.of("t")
    assert (run.status, run.error_msg, run.final_output) == ("error", "lost", "half")
    assert run.validations is not None
    assert run.validations["g"].passed
    assert len(done.said(PromptSent)) == 1
    assert run.transcript[-1].type == "session.error"


def test_past_its_script_the_agent_echoes(ran):
    run = ran({"t": f"{FOLLOWED}{turns('one')}"}).of("t")
    assert run.final_output == "Mock response for: r\nTask: t"


def responding(
    steps: str, most: int = 2, texts: tuple[str, ...] = ("one", "two", "three"), extra: str = ""
) -> str:
    brief = f"inputs: {{prompt: p, responder: {{instructions: play, max_followups: {most}}}}}"
    return f"{brief}\n{turns(*texts, responder=steps)}\ngraders: [{text_grader('o', 'final')}]\n{extra}"


REPLY = "{reply: go on}"


def test_outcomes_of_the_responder(ran):
    done = ran(
        {
            "a-stops": responding(f"[{REPLY}, {{stop: true}}]"),
            "b-stops-at-once": responding("[{stop: true}]"),
            "c-abstains": responding(f"[{REPLY}, {{abstain: what colour?}}]"),
            "d-cap": responding(f"[{REPLY}, {REPLY}, {REPLY}]"),
            "e-past-its-list": responding(f"[{REPLY}]", most=5),
            "f-agent-breaks": responding(f"[{REPLY}, {REPLY}]", texts=("one", "!lost")),
            "g-first-turn-breaks": responding(f"[{REPLY}]", texts=("!lost",)),
            "h-no-script": responding("[]"),
        }
    )
    found = {}
    for name in done.tasks:
        run = done.of(name)
        record = run.responder
        how = (record.outcome, record.followups_sent, record.reason) if record else None
        found[name] = (run.status, run.final_output, how)
    assert found == {
        "a-stops": ("passed", "two", ("stopped", 1, "")),
        "b-stops-at-once": ("passed", "one", ("stopped", 0, "")),
        "c-abstains": ("error", "two", ("abstained", 1, "what colour?")),
        "d-cap": ("failed", "three", ("cap_exhausted", 2, "")),
        "e-past-its-list": ("error", "two", ("error", 1, "the script's responder has no step 2")),
        "f-agent-breaks": ("error", "one", ("error", 0, "responder reply 1: lost")),
        "g-first-turn-breaks": ("error", "half", None),
        "h-no-script": ("error", "one", ("error", 0, "the script's responder has no step 1")),
    }
    assert done.of("c-abstains").error_msg == "the responder abstained: what colour?"
    assert done.of("e-past-its-list").error_msg.startswith("responder: ")
    answers = [event.text for event in done.said(PromptSent) if event.task_id == "a-stops"]
    assert answers == ["p", "go on"]


def test_a_responder_starts_again_in_each_attempt_and_trial(ran):
    text = responding(f"[{REPLY}, {{stop: true}}]").replace("contains: ['o']", "contains: ['never']")
    done = ran({"t": text}, config=["trials_per_task: 2", "max_attempts: 2"])
    for number in (1, 2):
        record = done.of("t", number).responder
        assert record is not None
        assert (record.outcome, record.followups_sent) == ("stopped", 1)


def checkpoint(turn: int, word: str, on_failure: str = "continue") -> str:
    return (
        f"{{after_turn: {turn}, on_failure: {on_failure}, graders: [{text_grader(word, f'check-{turn}')}]}}"
    )


def test_checkpoints_continue_and_stop(ran):
    script = turns("one", "two", "three")
    final = f"graders: [{text_grader('three', 'final')}]"
    done = ran(
        {
            "a-all-pass": f"{FOLLOWED}{script}\n{final}\ncheckpoints: [{checkpoint(2, 'two')}, {checkpoint(1, 'one')}]",
            "b-goes-on": f"{FOLLOWED}{script}\n{final}\ncheckpoints: [{checkpoint(1, 'no')}]",
            "c-stops": f"{FOLLOWED}{script}\n{final}\ncheckpoints: [{checkpoint(2, 'no', 'stop')}, {checkpoint(3, 'three')}]",
            "d-stop-that-passes": f"{FOLLOWED}{script}\n{final}\ncheckpoints: [{checkpoint(2, 'two', 'stop')}]",
            "e-turn-never-reached": f"{FOLLOWED}{turns('one', '!lost')}\n{final}\ncheckpoints: [{checkpoint(2, 'two')}]",
        }
    )
    found = {}
    for name in done.tasks:
        run = done.of(name)
        records = [(point.after_turn, point.status, point.stopped) for point in run.checkpoints]
        found[name] = (run.status, run.final_output, records)
    assert found == {
        "a-all-pass": ("passed", "three", [(1, "passed", False), (2, "passed", False)]),
        "b-goes-on": ("failed", "three", [(1, "failed", False)]),
        "c-stops": ("error", "two", [(2, "failed", True)]),
        "d-stop-that-passes": ("passed", "three", [(2, "passed", False)]),
        "e-turn-never-reached": ("error", "one", []),
    }
    stopped = done.of("c-stops")
    assert stopped.error_msg == "the checkpoint after turn 2 stopped the run; failed: check-2"
    assert stopped.validations is not None
    assert not stopped.validations["final"].passed  # the final graders still ran
    assert done.tasks["b-goes-on"].stats is not None
    assert done.tasks["b-goes-on"].stats.avg_score == 1  # checkpoints are no part of the score
    assert len(done.said(CheckpointGraded)) == 5


def test_a_checkpoint_sees_what_there_is_so_far_and_only_its_own_graders(ran):
    seen = (
        "{type: code, name: seen, config: {assertions: [\"output == 'two'\", 'len(tool_calls) == 2',"
        "\"[c['name'] for c in tool_calls] == ['tool-1', 'tool-2']\"]}}"
    )
    text = f"{FOLLOWED}{turns('one', 'two', 'three')}\ncheckpoints: [{{after_turn: 2, graders: [{seen}]}}]"
    text += "\nexpected: {output_contains: [three]}"
    run = ran({"t": text}, f"graders: [{text_grader('three', 'suite')}]").of("t")
    assert run.status == "passed"
    assert list(run.checkpoints[0].validations) == ["seen"]
    assert sorted(run.validations or {}) == ["_output_contains", "suite"]


def test_a_checkpoint_whose_grader_errs(ran):
    broken = "{type: prompt, name: j, config: {prompt: Is it good?}}"
    script = turns("one", "two", "three", judge="{j: [{error: the judge is ill}]}")
    final = f"graders: [{text_grader('three', 'final')}]"
    points = f"checkpoints: [{{after_turn: 1, graders: [{broken}, {text_grader('one', 'kept')}]}}]"
    run = ran({"t": f"{FOLLOWED}{script}\n{final}\n{points}"}).of("t")
    assert run.status == "error"
    assert run.final_output == "three"
    (point,) = run.checkpoints
    assert point.status == "error"
    assert "the judge is ill" in point.validations["j"].details["error"]
    assert point.validations["kept"].passed
    assert "after turn 1" in run.error_msg


def test_a_checkpoint_that_stops_a_responder(ran):
    extra = f"checkpoints: [{checkpoint(2, 'no', 'stop')}]"
    run = ran({"t": responding(f"[{REPLY}, {REPLY}]", extra=extra)}).of("t")
    assert run.status == "error"
    assert run.responder is not None
    assert (run.responder.outcome, run.responder.followups_sent) == ("stopped", 1)
    first = ran({"t": responding(f"[{REPLY}]", extra=f"checkpoints: [{checkpoint(1, 'no', 'stop')}]")}).of(
        "t"
    )
    assert first.responder is None
    assert first.status == "error"


def test_without_graders_there_are_no_checkpoints_and_the_status_is_skipped(ran):
    done = ran(
        {
            "a": f"{FOLLOWED}{turns('one', 'two', 'three')}\ncheckpoints: [{checkpoint(1, 'no', 'stop')}]",
            "b": f"{FOLLOWED}{turns('!lost')}",
        },
        skip_graders=True,
    )
    assert (done.of("a").status, done.of("a").checkpoints, done.of("a").final_output) == (
        "skipped",
        [],
        "three",
    )
    assert done.of("b").status == "error"
    assert done.head.summary.skipped == 1


@pytest.mark.parametrize("wanted", [1, 2, 3])
def test_a_grader_that_errs_keeps_the_others(ran, wanted):
    judge = "{type: prompt, name: j, config: {prompt: Is it good?}}"
    script = "mock: {output: one, judge: {j: [{error: the judge is ill}]}}"
    graders = [text_grader("one", "a"), text_grader("no", "z")]
    graders.insert(wanted - 1, judge)
    run = ran({"t": f"inputs: {{prompt: p}}\n{script}\ngraders: [{', '.join(graders)}]"}).of("t")
    assert run.status == "error"
    assert run.error_msg.startswith("running graders: j: ")
    found = run.validations or {}
    assert {name: (one.passed, one.score) for name, one in found.items()} == {
        "a": (True, 1),
        "j": (False, 0),
        "z": (False, 0),
    }
    assert "the judge is ill" in found["j"].details["error"]
