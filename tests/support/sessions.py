"""One small session of an agent in the forms of other tools: it loads a skill, fails to read a file, and counts rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROMPT = "How many rows has rows.csv?"
OUTPUT = "rows.csv has 3 rows."
SKILL = "row-counter"
SKILL_FILE = f"/home/ada/demo/skills/{SKILL}/SKILL.md"
COMMAND = "wc -l rows.csv"

Line = dict[str, Any]


def write_lines(path: Path, lines: Sequence[Line | str], end: str = "\n") -> Path:
    """Write the lines of a JSONL file; texts are written as they are."""
    texts = [one if isinstance(one, str) else json.dumps(one) for one in lines]
    path.write_text("\n".join(texts) + end, encoding="utf-8")
    return path


def _at(seconds: float) -> str:
    return f"2026-02-01T10:00:{seconds:06.3f}Z"


def claude_user(uuid: str, parent: str | None, content: Any, at: float, **more: Any) -> Line:
    """A line of a Claude Code session that is the user's, or a result."""
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s-1",
        "version": "2.9.0", "timestamp": _at(at), "message": {"role": "user", "content": content}, **more,
    }  # fmt: skip


def claude_reply(uuid: str, parent: str | None, message: str, block: Line, at: float, **more: Any) -> Line:
    """A line of a Claude Code session with one block of a reply."""
    used = {
        "input_tokens": 10,
        "cache_read_input_tokens": 5,
        "cache_creation_input_tokens": 1,
        "output_tokens": 3,
    }
    reply = {"id": message, "role": "assistant", "model": "m-claude", "content": [block], "usage": used}
    return {
        "type": "assistant", "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s-1",
        "version": "2.9.0", "timestamp": _at(at), "message": reply, **more,
    }  # fmt: skip


def text_block(text: str) -> Line:
    """A block of text."""
    return {"type": "text", "text": text}


def tool_use(call_id: str, name: str, given: Any) -> Line:
    """A block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def tool_result(call_id: str, content: Any, **more: Any) -> list[Line]:
    """The content of a line with the result of a call."""
    return [{"type": "tool_result", "tool_use_id": call_id, "content": content, **more}]


def claude_code() -> list[Line]:
    """A session file of Claude Code."""
    base = f"Base directory for this skill: {SKILL_FILE.removesuffix('/SKILL.md')}\n\nCount well."
    return [
        {"type": "queue-operation", "sessionId": "s-1"},
        claude_user("u1", None, PROMPT, 0),
        {"type": "attachment", "uuid": "a1", "parentUuid": "u1", "attachment": {"type": "skill_listing", "names": [SKILL]}},
        claude_reply("r1", "a1", "m1", text_block("A skill fits."), 1),
        claude_reply("r2", "r1", "m1", tool_use("c1", "Skill", {"skill": SKILL}), 1),
        claude_user("t1", "r2", tool_result("c1", "loaded"), 2),
        claude_user("b1", "t1", [text_block(base)], 2, isMeta=True, sourceToolUseID="c1"),
        claude_reply("r3", "b1", "m2", tool_use("c2", "Read", {"file_path": "row.csv"}), 3),
        claude_user("t2", "r3", tool_result("c2", "no such file", is_error=True), 4),
        claude_reply("r4", "t2", "m3", tool_use("c3", "Bash", {"command": COMMAND}), 5),
        claude_user("t3", "r4", tool_result("c3", [text_block("3 rows.csv")]), 6),
        claude_reply("r5", "t3", "m4", text_block(OUTPUT), 7),
    ]  # fmt: skip


def claude_stream() -> list[Line]:
    """The stream-json of the same session, which has neither the prompt nor times."""
    lines: list[Line] = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": "s-1",
            "claude_code_version": "2.9.0",
            "skills": [SKILL],
        }
    ]
    for line in claude_code()[3:]:
        meta = "isMeta" in line
        kept = {key: line[key] for key in ("type", "uuid", "message")}
        lines.append(
            {
                **kept,
                "session_id": "s-1",
                "parent_tool_use_id": None,
                **({"isSynthetic": True} if meta else {}),
            }
        )
    models = {
        "m-claude": {
            "inputTokens": 40,
            "outputTokens": 12,
            "cacheReadInputTokens": 20,
            "cacheCreationInputTokens": 4,
        }
    }
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": OUTPUT,
        "duration_ms": 7000,
        "session_id": "s-1",
        "modelUsage": models,
    }
    return [*lines, result]  # fmt: skip


def codex_line(kind: str, payload: Line, at: float) -> Line:
    """A line of a rollout."""
    return {"timestamp": _at(at), "type": kind, "payload": payload}


def codex_message(role: str, text: str, at: float, kinds: Sequence[str] = ()) -> Line:
    """A message of a rollout."""
    part = "output_text" if role == "assistant" else "input_text"
    payload: Line = {"type": "message", "role": role, "content": [{"type": part, "text": text}]}
    if kinds:
        payload["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": list(kinds)}
    return codex_line("response_item", payload, at)


def codex_call(call_id: str, command: str, at: float) -> Line:
    """A call of the shell in a rollout."""
    arguments = json.dumps({"cmd": command})
    payload = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id}
    return codex_line("response_item", payload, at)


def codex_output(call_id: str, output: Any, at: float) -> Line:
    """The result of a call in a rollout."""
    return codex_line(
        "response_item", {"type": "function_call_output", "call_id": call_id, "output": output}, at
    )


def codex_tokens(times: int, at: float) -> Line:
    """The tokens of a session after so many calls of the model."""
    total = {
        "input_tokens": 16 * times,
        "cached_input_tokens": 5 * times,
        "cache_write_input_tokens": times,
        "output_tokens": 3 * times,
    }
    return codex_line("event_msg", {"type": "token_count", "info": {"total_token_usage": total}}, at)  # fmt: skip


def codex_rollout() -> list[Line]:
    """A rollout of Codex, which loads skills by reading their files."""
    return [
        codex_line("session_meta", {"id": "s-1", "cli_version": "0.9.0"}, 0),
        codex_message("user", "<environment_context>\n</environment_context>", 0),
        codex_line("turn_context", {"model": "m-codex"}, 0),
        codex_message("user", PROMPT, 0),
        codex_call("c1", f"cat {SKILL_FILE}", 1),
        codex_output("c1", "Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nCount well.\n", 2),
        codex_tokens(1, 2),
        codex_call("c2", "cat row.csv", 3),
        codex_output("c2", json.dumps({"output": "no such file", "metadata": {"exit_code": 1, "duration_seconds": 0.5}}), 4),
        codex_tokens(2, 4),
        codex_call("c3", COMMAND, 5),
        codex_output("c3", "Process exited with code 0\nOutput:\n3 rows.csv\n", 6),
        codex_tokens(3, 6),
        codex_message("assistant", OUTPUT, 7),
        codex_tokens(4, 7),
    ]  # fmt: skip


def codex_exec() -> list[Line]:
    """What `codex exec --json` prints."""

    def ran(number: int, command: str, output: str, code: int) -> Line:
        return {"type": "item.completed", "item": {
            "id": f"item_{number}", "type": "command_execution", "command": command, "aggregated_output": output,
            "exit_code": code, "status": "failed" if code else "completed",
        }}  # fmt: skip

    return [
        {"type": "thread.started", "thread_id": "s-1"},
        {"type": "turn.started"},
        ran(1, f"bash -lc 'cat {SKILL_FILE}'", "Count well.", 0),
        ran(2, "bash -lc 'cat row.csv'", "no such file", 1),
        ran(3, f"bash -lc '{COMMAND}'", "3 rows.csv", 0),
        {"type": "item.completed", "item": {"id": "item_4", "type": "agent_message", "text": OUTPUT}},
        {"type": "turn.completed", "usage": {"input_tokens": 64, "cached_input_tokens": 20, "cache_write_input_tokens": 4, "output_tokens": 12}},
    ]  # fmt: skip


def copilot_event(kind: str, data: Line, at: float, **more: Any) -> Line:
    """An event of a Copilot session."""
    return {
        "type": kind,
        "data": data,
        "id": f"e-{kind}-{at}",
        "parentId": None,
        "timestamp": _at(at),
        **more,
    }


def copilot_call(call_id: str, name: str, given: Line, at: float) -> list[Line]:
    """The events that begin a call."""
    request = {"toolCallId": call_id, "name": name, "arguments": given}
    message = {"messageId": f"m-{call_id}", "model": "m-copilot", "content": "", "toolRequests": [request]}
    used = {
        "model": "m-copilot",
        "inputTokens": 16,
        "outputTokens": 3,
        "cacheReadTokens": 5,
        "cacheWriteTokens": 1,
        "cost": 0.25,
    }
    return [
        copilot_event("assistant.turn_start", {"turnId": call_id}, at),
        copilot_event("session.usage_record", {"usage": used}, at),
        copilot_event("assistant.message", message, at),
        copilot_event("tool.execution_start", {"toolCallId": call_id, "toolName": name, "arguments": given}, at),
    ]  # fmt: skip


def copilot_end(call_id: str, at: float, *, error: str = "", content: str = "") -> list[Line]:
    """The events that end a call."""
    outcome: Line = (
        {"error": {"message": error, "code": "failure"}} if error else {"result": {"content": content}}
    )
    data = {"toolCallId": call_id, "success": not error, **outcome}
    return [copilot_event("tool.execution_complete", data, at), copilot_event("assistant.turn_end", {}, at)]


def copilot_events() -> list[Line]:
    """The events of a Copilot session."""
    skill = {"name": SKILL, "path": SKILL_FILE, "trigger": "agent-invoked"}
    answer = {"messageId": "m-last", "model": "m-copilot", "content": OUTPUT, "toolRequests": []}
    used = {
        "model": "m-copilot",
        "inputTokens": 16,
        "outputTokens": 3,
        "cacheReadTokens": 5,
        "cacheWriteTokens": 1,
        "cost": 0.25,
    }
    return [
        copilot_event("session.start", {"sessionId": "s-1", "copilotVersion": "1.9.0"}, 0),
        copilot_event("user.message", {"content": PROMPT, "transformedContent": f"<now/>{PROMPT}"}, 0),
        *copilot_call("c1", "skill", {"skill": SKILL}, 1),
        *copilot_end("c1", 2, content="loaded"),
        copilot_event("skill.invoked", skill, 2),
        *copilot_call("c2", "view", {"path": "row.csv"}, 3),
        *copilot_end("c2", 4, error="no such file"),
        *copilot_call("c3", "bash", {"command": COMMAND}, 5),
        *copilot_end("c3", 6, content="3 rows.csv"),
        copilot_event("assistant.turn_start", {"turnId": "last"}, 7),
        copilot_event("session.usage_record", {"usage": used}, 7),
        copilot_event("assistant.message", answer, 7),
        copilot_event("assistant.turn_end", {"turnId": "last"}, 7),
    ]  # fmt: skip


def atif() -> Line:
    """The same session as a trajectory in ATIF; one call has no outcome, as most of the format have none."""

    def step(number: int, calls: list[Line], results: list[Line], message: str = "") -> Line:
        metrics = {
            "prompt_tokens": 16,
            "cached_tokens": 5,
            "completion_tokens": 3,
            "extra": {"cache_creation_input_tokens": 1},
        }
        more = {"tool_calls": calls, "observation": {"results": results}} if calls else {}
        return {"step_id": number, "source": "agent", "timestamp": _at(2 * number - 3), "message": message, "metrics": metrics, **more}  # fmt: skip

    def call(call_id: str, name: str, given: Line) -> list[Line]:
        return [{"tool_call_id": call_id, "function_name": name, "arguments": given}]

    def result(call_id: str, content: Any, **extra: Any) -> list[Line]:
        return [{"source_call_id": call_id, "content": content, **({"extra": extra} if extra else {})}]

    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s-1",
        "agent": {"name": "demo", "version": "3", "model_name": "m-atif"},
        "steps": [
            {"step_id": 1, "source": "user", "timestamp": _at(0), "message": PROMPT},
            step(2, call("c1", "view", {"path": SKILL_FILE}), result("c1", "Count well.", is_error=False)),
            step(3, call("c2", "view", {"path": "row.csv"}), result("c2", "no such file", is_error=True)),
            step(4, call("c3", "bash", {"command": COMMAND}), result("c3", [text_block("3 rows.csv")])),
            step(5, [], [], OUTPUT),
        ],
    }


FORMS: dict[str, Callable[[], list[Line]]] = {
    "atif": lambda: [atif()],
    "claude-code": claude_code,
    "claude-stream": claude_stream,
    "codex-exec": codex_exec,
    "codex-rollout": codex_rollout,
    "copilot-events": copilot_events,
}
"""The lines of the session in each form."""
