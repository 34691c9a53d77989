"""What was seen of an agent, as the keys of a task: a script that plays it again, and graders that hold it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from waza.kit.files import safe_join
from waza.kit.pattern import literal
from waza.kit.template import has_references
from waza.model.observation import ToolEvent
from waza.model.result import TrialResult
from waza.report.conversation import AgentMessage, CallMade, Step, conversation_of

INFERRED = "inferred"
"""The tag of tasks, and the beginning of the names of graders, that nobody has thought about yet."""

_MOST_CALLS = 30  # that a task lists
_MOST_TEXT = 4_000  # characters of the result of a call
_MOST_FILES, _MOST_BYTES = 20, 64 * 1024  # files that the agent wrote, and the size of one
_BEGINS_REFERENCE = re.compile(r"\{\{")


def infer_graders(result: TrialResult, written: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return graders that hold what an agent did once: skills, calls, files, and its whole answer.

    They say what happened, not what is right. `written` are the files that the agent left, with their contents.
    """
    graders: list[dict[str, Any]] = []
    skills = list(dict.fromkeys(skill.name for skill in result.skill_invocations))
    if skills:
        config: dict[str, Any] = {"required_skills": skills, "mode": "any_order"}
        graders.append(_grader("skill_invocation", "skills", config))
    expected = list(_expected_calls(result.tool_events, result.workspace_dir))
    if expected:
        graders.append(_grader("tool_constraint", "calls", {"expect_tools": expected[:_MOST_CALLS]}))
    if written:
        graders.append(_grader("file", "files", {"must_exist": list(written)}))
    if result.final_output.strip():
        graders.append(_grader("text", "answer", {"contains": [as_template(result.final_output.strip())]}))
    return graders


def script_turns(result: TrialResult, changes: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """Return the turns of the mock that do what was seen. `changes` are what each turn does to files, where it is known.

    Files that were created by a tool whose arguments hold them are known in any case.
    """
    seen = conversation_of(result).turns
    turns = [_turn(turn.steps, result) for turn in seen] or [{"output": ""}]
    if result.skill_invocations:
        turns[0] = {"skills": [as_template(one.name) for one in result.skill_invocations], **turns[0]}
    turns[-1]["output"] = as_template(result.final_output)
    for number, change in enumerate(changes[: len(turns)]):
        turns[number] = {**turns[number], **change}
    return turns


def written_files(written: Mapping[str, str]) -> dict[str, Any]:
    """Return the key of a turn that writes files."""
    if not written:
        return {}
    return {"files": [{"path": path, "content": as_template(text)} for path, text in written.items()]}


def _turn(steps: Sequence[Step], result: TrialResult) -> dict[str, Any]:
    calls = [step.call for step in steps if isinstance(step, CallMade)]
    texts = [step.text for step in steps if isinstance(step, AgentMessage)]
    turn: dict[str, Any] = {}
    if calls:
        turn["tool_calls"] = [_scripted_call(call, result.workspace_dir) for call in calls[:_MOST_CALLS]]
    turn |= written_files(dict(_created(calls, result.workspace_dir)))
    return {**turn, "output": as_template(texts[-1]) if texts else ""}


def _created(calls: Sequence[ToolEvent], workspace: str) -> Iterator[tuple[str, str]]:
    """Yield the files that calls created, with their contents, where the call says both."""
    for call in calls:
        args = call.args if isinstance(call.args, dict) else {}
        path, text = args.get("path"), args.get("file_text")
        if call.success and isinstance(path, str) and isinstance(text, str):
            name = "".join(_split(path, workspace)).lstrip("/")
            with suppress(ValueError):
                safe_join(Path(), name)
                yield name, text


def read_written(workspace: Path | None, given: Mapping[str, bytes]) -> dict[str, str]:
    """Return the texts that an agent wrote into its workspace; `given` is what it found there."""
    written: dict[str, str] = {}
    for path in sorted(workspace.rglob("*")) if workspace else ():
        name = path.relative_to(workspace or path).as_posix()
        if any(part.startswith(".") for part in Path(name).parts) or not _is_small_file(path):
            continue
        data = path.read_bytes()
        if given.get(name) == data or len(written) == _MOST_FILES:
            continue
        try:
            written[name] = data.decode()
        except UnicodeDecodeError:
            continue  # no script can hold it
    return written


def as_template(text: str) -> str:
    """Return a text as it is written where templates are filled in, so that none of it is taken for a variable."""
    return _BEGINS_REFERENCE.sub('{{"{{"}}', text) if has_references(text) else text


def as_templates(value: Any) -> Any:
    """Return a value with all its texts as they are written where templates are filled in."""
    if isinstance(value, str):
        return as_template(value)
    if isinstance(value, dict):
        return {key: as_templates(item) for key, item in value.items()}
    return [as_templates(item) for item in value] if isinstance(value, list) else value


def _grader(kind: str, what: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "name": f"{INFERRED}_{what}", "config": config}


def _expected_calls(calls: Sequence[ToolEvent], workspace: str) -> Iterator[dict[str, str]]:
    """Yield the calls that succeeded, each once, with patterns for what they were about."""
    seen: list[dict[str, str]] = []
    for call in calls:
        if not call.success:
            continue
        spec = {"tool": f"^{literal(call.tool_name)}$"}
        args = call.args if isinstance(call.args, dict) else {}
        for name in ("command", "path", "skill"):
            value = args.get(name)
            if isinstance(value, str) and value.strip():
                spec[f"{name}_pattern"] = as_template(_pattern(value, workspace))
        if spec not in seen:
            seen.append(spec)
            yield spec


def _pattern(text: str, workspace: str) -> str:
    """Return a pattern for a text in which the workspace, which is another one each time, may be anything."""
    parts = _split(text, workspace)
    return ".*".join(literal(part) for part in parts)


def _split(text: str, workspace: str) -> list[str]:
    """Return the parts of a text between mentions of the workspace, which may be written without links."""
    names = [one for one in dict.fromkeys((os.path.realpath(workspace), workspace)) if workspace]
    return re.split("|".join(map(re.escape, names)), text) if names else [text]


def _scripted_call(call: ToolEvent, workspace: str) -> dict[str, Any]:
    scripted: dict[str, Any] = {"name": as_template(call.tool_name)}
    if call.args:
        scripted["args"] = (
            _portable(call.args, workspace) if isinstance(call.args, dict) else {"input": call.args}
        )
    if call.result not in (None, ""):
        scripted["result"] = _portable(call.result, workspace)
    if not call.success:
        scripted["success"] = False
    if call.duration_ms:
        scripted["duration_ms"] = call.duration_ms
    return scripted


def _portable(value: Any, workspace: str) -> Any:
    """Return a value without the path of the workspace, cut to size."""
    if isinstance(value, str):
        text = ".".join(_split(value, workspace))
        return as_template(text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]}\n(cut)")
    if isinstance(value, dict):
        return {key: _portable(item, workspace) for key, item in value.items()}
    if isinstance(value, list):
        return [_portable(item, workspace) for item in value]
    return value


def _is_small_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size <= _MOST_BYTES
