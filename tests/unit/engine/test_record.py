import json

import msgspec
import pytest

from waza.engine.record import HUGE, call_digest, empty_digest, failure_artifacts, session_digest, storable
from waza.kit.redact import PLACEHOLDER, Redactor
from waza.model.observation import CommandInvocation, Event, SkillInvocation, ToolEvent
from waza.model.result import AttemptRecord, CheckpointRecord, ResponderRecord, TrialResult, Validation

SECRET = "Sup3r-Secret-Value"
TOKEN = "ghp_" + "a1B2" * 9
NONE = Redactor([])
KNOWS = Redactor([SECRET])


def run(**fields) -> TrialResult:
    given = {
        "run_number": 1,
        "attempts": 1,
        "status": "passed",
        "duration_ms": 1,
        "validations": None,
        "session_digest": empty_digest(),
        "final_output": "",
    }
    return TrialResult(**{**given, **fields})


def validation(name: str = "g", **fields) -> Validation:
    given = {"type": "t", "score": 1, "weight": 1, "passed": True, "feedback": "", "duration_ms": 0}
    return Validation(identifier=name, **{**given, **fields})


def text_of(value) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def test_an_ordinary_run_is_stored_as_it_is():
    plain = run(final_output="ü" * 1000, validations={"a": validation("a")})
    assert storable(plain, NONE) == plain


@pytest.mark.parametrize(("size", "cut"), [(HUGE - 1000, False), (HUGE + 8, True), (5_000_000, True)])
def test_a_huge_output_keeps_its_ends(size: int, cut: bool):
    output = "start" + "é" * ((size - 8) // 2) + "end"
    size = len(output.encode())
    found = storable(run(final_output=output), NONE)
    assert (found.truncated, found.output_bytes) == (cut, size if cut else 0)
    if cut:
        assert found.final_output.startswith("starté")
        assert found.final_output.endswith("éend")
        assert f"{size} bytes in all" in found.final_output
        assert len(found.final_output.encode()) < 210_000
    else:
        assert found.final_output == output


@pytest.mark.parametrize(
    "result", ["start" + "x" * 2_000_000 + "end", {"a": ["x" * 1_500_000, "y"], "b": 1}, ["x"] * 400_000]
)
def test_a_huge_tool_result_keeps_its_ends_and_its_true_size(result):
    size = len(result) if isinstance(result, str) else len(msgspec.json.encode(result))
    event = ToolEvent(turn=1, sequence=1, tool_name="cat", result=result, success=True)
    (found,) = storable(run(tool_events=[event]), NONE).tool_events
    assert (found.truncated, found.result_bytes) == (True, size)
    assert isinstance(found.result, str)
    whole = result if isinstance(result, str) else msgspec.json.encode(result).decode()
    assert found.result[:50_000] == whole[:50_000]
    assert found.result[-50_000:] == whole[-50_000:]


def test_huge_texts_are_cut_wherever_they_stand():
    huge = "x" * 2_000_000
    event = ToolEvent(
        turn=1, sequence=1, tool_call_id="1", tool_name="w", args={"path": huge}, result="r", success=True
    )
    whole = run(
        transcript=[Event(type="a", content=huge), Event(type="b", arguments={"deep": [{"er": huge}]})],
        tool_events=[event],
        session_digest=session_digest([event]),
        validations={"g": validation(details={"stdout": huge, "lines": [huge]})},
        checkpoints=[
            CheckpointRecord(
                after_turn=1, status="passed", validations={"g": validation(details={"x": huge})}
            )
        ],
    )
    found = storable(whole, NONE)
    assert len(text_of(found)) < 10 * 210_000
    assert found.session_digest.tool_calls[0].arguments["path"].startswith("xxx")
    assert found.transcript[1].arguments["deep"][0]["er"].endswith("xxx")


def test_storing_a_stored_result_changes_nothing():
    event = ToolEvent(turn=1, sequence=1, tool_name="cat", result="x" * 2_000_000, success=True)
    once = storable(run(final_output="y" * 2_000_000 + SECRET, tool_events=[event], prompt=TOKEN), KNOWS)
    again = storable(msgspec.structs.replace(once, prompt=f"{TOKEN} again"), KNOWS)
    assert (again.truncated, again.output_bytes) == (True, 2_000_000 + len(PLACEHOLDER))
    assert again.final_output == once.final_output
    assert again.tool_events == once.tool_events


def test_secrets_are_taken_out_before_cutting():
    # The secret lies across the place where the head ends.
    for place in range(99_985, 100_001):
        output = "x" * place + SECRET + "y" * 2_000_000
        assert "Sup3r" not in storable(run(final_output=output), KNOWS).final_output
        event = ToolEvent(turn=1, sequence=1, tool_name="cat", result=output, success=True)
        assert "Sup3r" not in storable(run(tool_events=[event]), KNOWS).tool_events[0].result


def test_no_part_of_a_run_keeps_a_secret():
    event = ToolEvent(
        turn=1, sequence=1, tool_call_id="1", tool_name="bash", args={"command": SECRET, SECRET: TOKEN},
        result={"out": [SECRET]}, success=False, error=SECRET,
    )  # fmt: skip
    seen = Event(type="x", content=SECRET, message=TOKEN, arguments=[SECRET], tool_result={"a": TOKEN})
    whole = run(
        status="failed",
        prompt=SECRET,
        final_output=f"{SECRET}\n{TOKEN}",
        error_msg=SECRET,
        transcript=[seen],
        tool_events=[event],
        session_digest=session_digest([event]),
        grader_sessions=[session_digest([event])],
        validations={"g": validation(feedback=SECRET, details={"stdout": TOKEN, "error": SECRET})},
        responder=ResponderRecord(followups_sent=1, outcome="abstained", reason=SECRET),
        checkpoints=[
            CheckpointRecord(after_turn=1, status="failed", validations={"c": validation(feedback=TOKEN)})
        ],
        attempt_history=[
            AttemptRecord(attempt=1, status="failed", failed_graders=[], error_msg=SECRET, duration_ms=1)
        ],
        failure_artifacts=failure_artifacts("failed", f"Error: {SECRET}", TOKEN, ["g"], KNOWS),
    )
    text = text_of(storable(whole, KNOWS)).lower()
    assert SECRET.lower() not in text
    assert TOKEN.lower() not in text
    assert PLACEHOLDER.lower() in text


def test_names_ids_and_paths_keep_no_secret_and_no_verdict_is_lost():
    event = ToolEvent(turn=1, sequence=1, tool_call_id=SECRET, tool_name=f"get_{SECRET}", success=True)
    call = Event(type="tool", tool_call_id=TOKEN, tool_name=SECRET)
    session = msgspec.structs.replace(
        session_digest([event]), session_id=SECRET, tools_used=[TOKEN], errors=[SECRET]
    )
    whole = run(
        tool_events=[event],
        transcript=[call],
        session_digest=session,
        skill_invocations=[SkillInvocation(name=SECRET, path=f"/home/{SECRET}/SKILL.md")],
        command_invocations=[CommandInvocation(command=SECRET, args=[TOKEN], exit_code=0, response_index=0)],
        workspace_dir=f"/tmp/{SECRET}",
        validations={SECRET: validation(feedback="a"), TOKEN: validation(feedback="b")},
    )
    found = storable(whole, KNOWS)
    assert SECRET not in text_of(found)
    assert TOKEN not in text_of(found)
    assert [one.feedback for one in (found.validations or {}).values()] == ["a", "b"]


def test_artifacts_of_a_run_that_passed_are_none():
    assert failure_artifacts("passed", "o", "e", [], NONE) is None
    assert failure_artifacts("skipped", "o", "e", [], NONE) is None


@pytest.mark.parametrize(("status", "code"), [("failed", 1), ("error", 2)])
def test_artifacts_of_a_run_that_did_not(status, code):
    output = "fine\nERROR: it broke\nPermission denied\nno failure here"
    found = failure_artifacts(status, output, "fatal mistake", ["z", "a"], NONE)
    assert found is not None
    assert (found.exit_code, found.failed_graders) == (code, ["a", "z"])
    assert (found.stdout, found.stderr) == (output, "fatal mistake")
    assert found.error_patterns == ["error: it broke", "fatal mistake", "permission denied"]
    assert found.context == {"stderr_truncated": "false", "stdout_truncated": "false"}
    for part in (status, "failed grader: a", "error: it broke", "fatal mistake"):
        assert part in found.triage_summary


@pytest.mark.parametrize("size", [9_999, 10_000, 10_001, 50_000])
def test_artifacts_are_cut_to_ten_thousand_bytes(size: int):
    found = failure_artifacts("failed", "ü" * (size // 2), "e" * size, [], NONE)
    assert found is not None
    assert len(found.stdout.encode()) <= 10_000
    assert len(found.stderr.encode()) <= 10_000
    assert found.context["stderr_truncated"] == str(size > 10_000).lower()
    assert found.stdout.startswith("üü")


def test_artifacts_hold_no_half_secret_and_no_lowered_one():
    for place in range(9_970, 10_001):
        found = failure_artifacts("failed", "x" * place + SECRET + "y" * 100, SECRET, [], KNOWS)
        assert found is not None
        assert "Sup3r" not in found.stdout
    found = failure_artifacts("error", f"error: {SECRET} {'x' * 190}{SECRET}", f"Fatal: {SECRET}", [], KNOWS)
    assert "sup3r" not in text_of(found).lower()
    mail = failure_artifacts("failed", "write to someone@example.org", "", [], NONE)
    assert "someone" not in text_of(mail)  # artifacts follow the stricter rules of snapshots


def test_the_digest_of_calls_keeps_five_arguments_of_text():
    args = {"path": "p", "command": "c", "other": "o", "skill": 3, "file_text": None}
    call = call_digest(
        ToolEvent(turn=1, sequence=1, tool_call_id="7", tool_name="n", args=args, result=1, success=True)
    )
    arguments = {"path": "p", "file_text": "", "command": "c", "description": "", "skill": ""}
    assert json.loads(text_of(call)) == {
        "id": "7",
        "name": "n",
        "arguments": arguments,
        "result": {"content": "1"},
        "success": True,
    }


@pytest.mark.parametrize("args", [None, "text", ["list"], 3])
def test_arguments_that_are_no_mapping_are_left_out_of_the_digest(args):
    call = call_digest(ToolEvent(turn=1, sequence=1, tool_name="n", args=args, success=True))
    assert not any(json.loads(text_of(call))["arguments"].values())


def test_half_characters_are_replaced():
    found = storable(
        run(final_output="a\ud800b", transcript=[Event(type="x", content={"\udfff": "\ud800"})]), NONE
    )
    assert found.final_output == "a?b"
    assert found.transcript[0].content == {"?": "?"}
    text_of(found).encode()
