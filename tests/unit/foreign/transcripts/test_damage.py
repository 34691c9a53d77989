"""Transcripts that are cut off, damaged, huge, hostile, or not one straight conversation."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support import sessions
from tests.support.sessions import (
    FORMS,
    OUTPUT,
    PROMPT,
    Line,
    claude_reply,
    claude_user,
    codex_call,
    codex_message,
    codex_output,
    copilot_event,
    text_block,
    tool_result,
    tool_use,
    write_lines,
)

from waza.errors import UsageError, WazaError
from waza.foreign.transcripts import lines as transcript_lines
from waza.foreign.transcripts.read import read_transcript
from waza.model.recording import Recording

LINES = [form for form in FORMS if form != "atif"]
UNFINISHED = "the transcript ends before the agent had answered"


def read(root: Path, lines: Sequence[Line | str], end: str = "\n") -> Recording:
    return read_transcript(write_lines(root / "t.jsonl", lines, end))


def names(found: Recording) -> list[str]:
    return [call.tool_name for call in found.tool_events]


@pytest.mark.parametrize("form", LINES)
def test_a_torn_last_line_is_noted_and_what_came_before_is_kept(tmp_path: Path, form: str):
    """The process was killed while it wrote the answer."""
    whole = FORMS[form]()
    place = max(i for i, line in enumerate(whole) if OUTPUT in json.dumps(line) and line["type"] != "result")
    torn = read(tmp_path, [*whole[:place], json.dumps(whole[place])[:-20]], end="")
    assert names(torn) == names(read(tmp_path, whole))
    assert len(torn.notes) == 1
    assert torn.notes[0].startswith(f"{tmp_path}/t.jsonl:{place + 1}: the last line: it is cut off")
    assert torn.error == UNFINISHED
    assert torn.final_output != OUTPUT


@pytest.mark.parametrize("form", ["claude-stream", "codex-exec"])
def test_a_text_is_no_answer_where_the_form_says_when_a_turn_ends(tmp_path: Path, form: str):
    """The process was killed after it had said what it was about to do."""
    found = read(tmp_path, FORMS[form]()[:-1])
    assert (found.final_output, found.error) == (OUTPUT, UNFINISHED)


@pytest.mark.parametrize("form", LINES)
def test_a_line_that_cannot_be_read_in_the_middle_is_an_error(tmp_path: Path, form: str):
    whole = FORMS[form]()
    found = read(tmp_path, [*whole[:2], "{not json", *whole[2:]])
    assert found.error == "1 line of the transcript cannot be read (3)"
    assert found.final_output == OUTPUT
    assert found.notes[0].startswith(
        f"{tmp_path}/t.jsonl: damage: 1 line of the transcript cannot be read (3)"
    )


@pytest.mark.parametrize("form", LINES)
def test_types_of_lines_that_are_not_known_are_counted(tmp_path: Path, form: str):
    found = read(
        tmp_path, [*FORMS[form](), {"type": "new.\x1b[31mthing"}, {"type": "new.\x1b[31mthing"}, {"type": 7}]
    )
    assert found.final_output == OUTPUT
    listed = next(note for note in found.notes if "types of lines" in note)
    assert r"'new.\x1b[31mthing' (2)" in listed


@pytest.mark.parametrize("form", LINES)
def test_byte_order_marks_and_line_ends_of_windows(tmp_path: Path, form: str):
    path = write_lines(tmp_path / "t.jsonl", FORMS[form]())
    unix = read_transcript(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert read_transcript(path) == unix


@pytest.mark.parametrize("form", FORMS)
def test_hostile_text_is_data(tmp_path: Path, form: str):
    """Halves of surrogate pairs, which JavaScript writes when it cuts a text, become question marks."""
    evil = "\\u001b]0;x\\u0007 \\ud83d \\u202e \\u0000"
    text = "\n".join(json.dumps(line) for line in FORMS[form]()).replace(OUTPUT, OUTPUT + evil)
    found = read(tmp_path, [text])
    assert found.final_output == f"{OUTPUT}\x1b]0;x\x07 ? \u202e \0"
    assert found.error == ""


def test_huge_files_are_read_in_bounded_memory(tmp_path: Path):
    """What says nothing of the session is not kept; a line is read at a time."""
    path = tmp_path / "t.jsonl"
    whole = sessions.claude_code()
    filler = json.dumps({"type": "file-history-snapshot", "snapshot": "x" * 100_000})
    with path.open("w", encoding="utf-8") as file:
        for line in whole:
            file.write(json.dumps(line) + "\n" + f"{filler}\n" * 20)
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    try:
        found = read_transcript(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.final_output == OUTPUT
    assert peak < 8_000_000


def test_limits_of_lines_and_sessions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = write_lines(tmp_path / "t.jsonl", sessions.codex_exec())
    monkeypatch.setattr(transcript_lines, "MAX_LINE", 100)
    with pytest.raises(WazaError, match=r"t\.jsonl:3: the line is longer than"):
        read_transcript(path)
    monkeypatch.setattr(transcript_lines, "MAX_LINE", 100_000)
    monkeypatch.setattr(transcript_lines, "MAX_HELD", 500)
    with pytest.raises(WazaError, match="too much to be graded"):
        read_transcript(path)


def test_what_is_no_transcript_is_refused_with_advice(tmp_path: Path):
    cases: dict[str, str] = {
        "": "is not a transcript that waza knows; give a trajectory in ATIF",
        '{"skill_name": "s", "evals": [{"prompt": "p"}]}': "is Agent Skills evals; give",
        '{"eval_id": "e", "summary": {}, "tasks": []}': "is a results file of waza; `waza grade EVAL.YAML --results FILE`",
        '{"schema_version": "ATIF-v1.8", "steps": 3}': "steps: is not a list of objects",
        '{"schema_version": "ATIF-v1.8", "steps": []}': "has no turn of an agent",
        '{"type":"thread.started","thread_id":"x"}\n': "has no turn of an agent",
    }
    for text, wanted in cases.items():
        (tmp_path / "t").write_text(text, encoding="utf-8")
        with pytest.raises(WazaError, match="t: ") as refused:
            read_transcript(tmp_path / "t")
        assert wanted in str(refused.value)
    with pytest.raises(WazaError, match="cannot be read: "):
        read_transcript(tmp_path / "none")
    with pytest.raises(WazaError, match="cannot be read: "):
        read_transcript(tmp_path)
    assert issubclass(UsageError, WazaError)


# --- conversations that are not straight ---


def test_two_calls_with_one_id_are_two_calls(tmp_path: Path):
    whole = json.loads(json.dumps(sessions.codex_rollout()).replace('"c3"', '"c1"'))
    calls = read(tmp_path, whole).tool_events
    assert [(call.tool_call_id, bool(call.success)) for call in calls] == [
        ("c1", True),
        ("c2", False),
        ("c1~2", True),
    ]
    assert "3 rows.csv" in calls[2].result


def test_calls_at_the_same_time_end_in_any_order(tmp_path: Path):
    """Parallel calls of Claude Code fork the tree of its lines; one of the results is not on the way to the last line."""
    lines = [
        claude_user("u", None, PROMPT, 0),
        claude_reply("a", "u", "m", tool_use("c1", "Read", {}), 1),
        claude_reply("b", "a", "m", tool_use("c2", "Bash", {}), 1),
        claude_user("r1", "a", tool_result("c1", "late"), 3),
        claude_user("r2", "b", tool_result("c2", "early"), 2),
        claude_reply("c", "r2", "n", text_block(OUTPUT), 4),
    ]
    found = read(tmp_path, lines)
    assert [(call.tool_name, call.result, call.turn) for call in found.tool_events] == [
        ("Read", "late", 1), ("Bash", "early", 1),
    ]  # fmt: skip
    assert found.notes == ()


def test_what_a_rewind_left_is_not_part_of_the_session(tmp_path: Path):
    left = [
        claude_user("x1", "r5", "Delete all rows", 8),
        claude_reply("x2", "x1", "x", tool_use("cx", "Bash", {"command": "rm rows.csv"}), 9),
        claude_user("x3", "x2", tool_result("cx", ""), 9),
    ]
    gone_on = [claude_user("y1", "r5", "Thanks", 10), claude_reply("y2", "y1", "y", text_block("Bye"), 11)]
    found = read(tmp_path, [*sessions.claude_code(), *left, *gone_on])
    assert found.prompts == (PROMPT, "Thanks")
    assert names(found) == ["Skill", "Read", "Bash"]
    assert found.final_output == "Bye"
    assert found.notes == (
        f"{tmp_path}/t.jsonl: 3 messages: left out: the session was rewound to before them",
    )
    rewind = copilot_event(
        "session.snapshot_rewind", {"upToEventId": "e-user.message-8", "eventsRemoved": 3}, 9
    )
    copilot = read(
        tmp_path,
        [
            *sessions.copilot_events(),
            copilot_event("user.message", {"content": "Delete all rows"}, 8),
            *sessions.copilot_call("cx", "bash", {"command": "rm"}, 8.5),
            rewind,
        ],
    )
    assert (copilot.prompts, names(copilot)) == ((PROMPT,), ["skill", "view", "bash"])
    assert "left out: the session was rewound" in copilot.notes[0]


def test_compaction_keeps_the_session_together(tmp_path: Path):
    claude = [
        *sessions.claude_code(),
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "k1",
            "parentUuid": None,
            "logicalParentUuid": "r5",
        },
        claude_user("k2", "k1", "This session goes on from an earlier one", 8, isCompactSummary=True),
        claude_user("k3", "k2", "Thanks", 9),
        claude_reply("k4", "k3", "k", text_block("Bye"), 10),
    ]
    unlinked = [{**line, "logicalParentUuid": None} if line.get("uuid") == "k1" else line for line in claude]
    codex = [
        *sessions.codex_rollout(),
        {"type": "compacted", "payload": {"message": "summary"}},
        codex_message("user", "Thanks", 9),
        codex_message("assistant", "Bye", 10),
    ]
    for lines in (claude, unlinked, codex):
        found = read(tmp_path, lines)
        assert (found.prompts, found.final_output) == ((PROMPT, "Thanks"), "Bye")
        assert len(found.tool_events) == 3
        assert found.notes == ()


def test_a_resumed_session_goes_on(tmp_path: Path):
    """Its file may begin with a copy of the lines of the first one, and go on under another id."""
    whole = sessions.claude_code()
    more: list[Line] = [
        claude_user("n1", "r5", "Thanks", 9),
        claude_reply("n2", "n1", "n", text_block("Bye"), 10),
    ]
    found = read(tmp_path, [*whole, *whole, *[{**line, "sessionId": "s-2"} for line in more]])
    assert (found.prompts, len(found.tool_events), found.session_id) == ((PROMPT, "Thanks"), 3, "s-2")
    assert found.usage is not None
    assert found.usage.turns == 5
    elsewhere = read(tmp_path, more)  # the file of its first part is not here
    assert (elsewhere.prompts, elsewhere.final_output) == (("Thanks",), "Bye")
    rollout = [*sessions.codex_rollout(), *sessions.codex_rollout()[3:6], sessions.codex_tokens(1, 9)]
    again = read(tmp_path, rollout).usage
    assert again is not None
    assert (again.input_tokens, again.turns) == (80, 5), "its counts began again"


def test_sub_agents_are_kept_apart(tmp_path: Path):
    lines = sessions.claude_code()
    inner = {"isSidechain": True, "agentId": "helper"}
    beside = tmp_path / "t" / "subagents"
    beside.mkdir(parents=True)
    write_lines(
        beside / "agent-other.jsonl",
        [
            claude_user("o1", None, "Look", 5, isSidechain=True, agentId="other"),
            claude_reply(
                "o2", "o1", "om", tool_use("oc", "WebFetch", {}), 5, isSidechain=True, agentId="other"
            ),
        ],
    )
    found = read(
        tmp_path,
        [
            *lines[:5],
            claude_user("s1", None, "Count", 1, **inner),
            claude_reply("s2", "s1", "sm", tool_use("sc", "Bash", {"command": "rm"}), 1, **inner),
            claude_user("s3", "s2", tool_result("sc", "gone"), 1, **inner),
            claude_reply("s4", "s3", "sn", text_block("3"), 1, **inner),
            *lines[5:],
        ],
    )
    assert names(found) == ["Skill", "Read", "Bash"]
    assert {one.id: ([call.tool_name for call in one.calls], one.output) for one in found.sub_agents} == {
        "helper": (["Bash"], "3"), "other": (["WebFetch"], ""),
    }  # fmt: skip
    assert found.usage is not None
    assert (found.usage.input_tokens, found.usage.turns) == (64 + 3 * 16, 4), "what they used is added"


def test_denials_and_interruptions(tmp_path: Path):
    lines = sessions.claude_code()
    denied = claude_user(
        "t3", "r4", tool_result("c3", "not allowed", is_error=True), 6, toolDenialKind="permission-rule"
    )
    stop = claude_user("i", "t3", [text_block("[Request interrupted by user]")], 8)
    found = read(tmp_path, [*lines[:-2], denied, stop])
    assert [(one.tool, one.kind, one.reason) for one in found.denials] == [
        ("Bash", "permission-rule", "not allowed")
    ]
    assert found.error == "the user interrupted the agent"
    requested = {"requestId": "p", "permissionRequest": {"kind": "shell", "toolCallId": "c3"}}
    completed = {"requestId": "p", "result": {"kind": "denied-by-rules"}}
    whole = sessions.copilot_events()
    place = next(
        i
        for i, line in enumerate(whole)
        if line["data"].get("toolCallId") == "c3" and "complete" in line["type"]
    )
    asked = [
        copilot_event("permission.requested", requested, 5),
        copilot_event("permission.completed", completed, 5),
    ]
    copilot = read(tmp_path, [*whole[:place], *asked, *whole[place:]])
    assert [(one.tool, one.kind, one.reason) for one in copilot.denials] == [
        ("bash", "shell", "denied-by-rules")
    ]


@pytest.mark.parametrize(
    ("form", "last", "wanted"),
    [
        ("claude-stream", {"type": "result", "subtype": "error_max_turns", "is_error": False}, "the session ended with error_max_turns"),
        ("codex-exec", {"type": "turn.failed", "error": {"message": "no quota"}}, "the agent broke: no quota"),
        ("codex-rollout", {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}}, "the turn was aborted: interrupted"),
        ("copilot-events", copilot_event("session.error", {"message": "no quota"}, 9), "no quota"),
        ("copilot-events", copilot_event("abort", {"reason": "user_initiated"}, 9), "the turn was aborted: user_initiated"),
    ],
)  # fmt: skip
def test_sessions_that_broke(tmp_path: Path, form: str, last: dict[str, Any], wanted: str):
    assert read(tmp_path, [*FORMS[form]()[:-1], last]).error == wanted


def test_outcomes_that_nobody_recorded_are_not_known(tmp_path: Path):
    lines = [
        codex_message("user", PROMPT, 0),
        {"type": "response_item", "payload": {"type": "function_call", "name": "update_plan", "arguments": "{not json", "call_id": "p"}},
        codex_output("p", "Plan updated", 1),
        codex_call("never", "sleep 9", 2),
        codex_message("assistant", OUTPUT, 3),
    ]  # fmt: skip
    events = read(tmp_path, lines).turns[0].turn.events
    ends = [event.success for event in events if event.type == "tool.execution_complete"]
    assert ends == [None]
    assert [event.arguments for event in events if event.type == "tool.execution_start"] == [
        "{not json",
        {"cmd": "sleep 9"},
    ]


@pytest.mark.parametrize(
    ("command", "loaded"),
    [
        ("cat skills/a/SKILL.md", True), ("sed -n '1,80p' /x/skills/a/SKILL.md", True), ("cd x && head -5 a/SKILL.md", True),
        ("sed -i s/x/y/ skills/a/SKILL.md", False), ("cat > skills/a/SKILL.md", False), ("ls skills/a/SKILL.md", False),
        ("cat notes.txt; rm skills/a/SKILL.md", False), ("echo 'cat' skills/a/SKILL.md.bak", False),
    ],
)  # fmt: skip
def test_a_command_that_shows_a_skill_loads_it(tmp_path: Path, command: str, *, loaded: bool):
    lines = [
        codex_message("user", PROMPT, 0),
        codex_call("c", command, 1),
        codex_output("c", "Process exited with code 0\n", 2),
    ]
    found = read(tmp_path, [*lines, codex_message("assistant", OUTPUT, 3)])
    assert [skill.name for skill in found.skill_invocations] == (["a"] if loaded else [])
    failed = [
        *lines[:2],
        codex_output("c", "Process exited with code 1\n", 2),
        codex_message("assistant", OUTPUT, 3),
    ]
    assert read(tmp_path, failed).skill_invocations == ()


def test_a_trajectory_counts_neither_copies_nor_sub_agents(tmp_path: Path):
    root = sessions.atif()
    copied = [
        {"step_id": 1, "source": "user", "message": "Earlier", "is_copied_context": True},
        {"step_id": 2, "source": "agent", "message": "Done", "is_copied_context": True, "metrics": {"prompt_tokens": 99},
         "tool_calls": [{"tool_call_id": "old", "function_name": "rm", "arguments": {}}]},
    ]  # fmt: skip
    steps = [*copied, *root["steps"][1:]]
    sub = {**sessions.atif(), "trajectory_id": "sub"}
    whole = {**root, "steps": steps, "subagent_trajectories": [sub], "continued_trajectory_ref": "next.json"}
    whole["final_metrics"] = {"total_prompt_tokens": 100}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    found = read_transcript(path)
    assert (found.prompts, len(found.tool_events)) == (("Earlier",), 3)
    assert found.usage is not None
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.turns) == (164, 24, 4)
    assert [(one.id, len(one.calls), one.output) for one in found.sub_agents] == [("sub", 3, OUTPUT)]
    assert "goes on in another file" in found.notes[0]
    del whole["steps"][-1]["timestamp"]
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert read_transcript(path).duration_ms is None, "when the last step ended is not known"
