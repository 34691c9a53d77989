"""Results of trials in the form in which they are stored: redacted, cut to size, with digests and artifacts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Literal, get_origin

import msgspec

from waza.engine.attempt_clock import AttemptClock
from waza.kit.redact import DEFAULT_POLICY, RedactionPolicy, Redactor
from waza.kit.text import replace_surrogates, shorten_middle
from waza.model.agent import JudgeSession
from waza.model.loaded import Project, Suite
from waza.model.observation import ANSWER, Denial, Event, ToolEvent, Usage
from waza.model.result import (
    DigestArguments,
    DigestCall,
    FailureArtifacts,
    SessionDigest,
    TrialResult,
    TrialStatus,
    Validation,
)
from waza.results.ending import BAD

HUGE = 1_000_000  # bytes of a text, from which on only its ends are stored
ENDS = 100_000  # bytes that are stored of each end
ARTIFACT = 10_000  # bytes of the two texts in failure artifacts
_CUT = "\n[cut here]"
_FIELDS = tuple(DigestArguments.__struct_fields__)
_PATTERN = re.compile(r"\b(?:error|failed|panic|fatal|exception)[:\s][^\n]{0,200}")
_PHRASES = ("timeout", "out of memory", "permission denied", "file not found", "connection refused")


def session_digest(
    events: Sequence[ToolEvent],
    usage: Usage | None = None,
    session_id: str = "",
    mode: str = "",
    denials: Sequence[Denial] = (),
) -> SessionDigest:
    """Return a session in short."""
    return SessionDigest(
        tool_call_count=len(events),
        tools_used=[event.tool_name for event in events],
        tool_calls=[call_digest(event) for event in events],
        errors=[],
        usage=usage,
        session_id=session_id,
        tool_policy_mode=mode,
        tool_policy_denials=list(denials),
    )


def call_digest(event: ToolEvent) -> DigestCall:
    """Return a call in the older, shorter form: only five arguments, always all of them."""
    given = event.args if isinstance(event.args, dict) else {}
    kept = {name: given[name] for name in _FIELDS if isinstance(given.get(name), str)}
    return DigestCall(
        id=event.tool_call_id,
        name=event.tool_name,
        arguments=DigestArguments(**kept),
        result=result_object(event.result),
        success=event.success,
    )


def result_object(result: Any) -> Any:
    """Return a tool's result as digests and transcripts have it: an object; any other value becomes its `content`."""
    if result is None or isinstance(result, dict):
        return result
    return {"content": result if isinstance(result, str) else msgspec.json.encode(result).decode()}


def judge_session_digest(session: JudgeSession, clock: AttemptClock | None = None) -> SessionDigest:
    """Return the session of a judge or responder in short; `clock` is that of its attempt, None: of an earlier run."""
    return SessionDigest(
        tool_call_count=len(session.calls),
        tools_used=[call.name for call in session.calls],
        errors=[],
        usage=session.usage,
        session_id=session.session_id,
        tool_policy_mode="" if session.denials is None else "allow_list",
        tool_policy_denials=list(session.denials or ()),
        started_ms=clock.of_epoch(session.at_ms) if clock else None,
        duration_ms=session.duration_ms,
    )


def empty_digest() -> SessionDigest:
    """Return the digest of a trial without a session."""
    return SessionDigest(tool_call_count=0, tools_used=None, errors=None)


def storable(trial: TrialResult, redactor: Redactor) -> TrialResult:
    """Return the result as it may be stored: secrets are redacted first, then huge texts are cut."""
    trial = _normalize(trial)
    try:
        data = msgspec.json.encode(trial, enc_hook=str)
    except UnicodeEncodeError:
        trial = _without_surrogates(trial)
        data = msgspec.json.encode(trial, enc_hook=str)
    if len(data) <= HUGE and not redactor.may_find(data):
        return trial
    return _redact_and_cut(trial, redactor)


def _normalize(trial: TrialResult) -> TrialResult:
    """Return the trial without the clocks of its events, with objects for results, its verdicts sorted by name."""
    return msgspec.structs.replace(
        trial,
        transcript=[recorded_event(event) for event in trial.transcript],
        validations=None if trial.validations is None else dict(sorted(trial.validations.items())),
    )


def recorded_event(event: Event) -> Event:
    """Return an event as transcripts have it: without its clock, its result an object."""
    if event.at_ms is None and event.tool_result is None:
        return event
    return msgspec.structs.replace(event, at_ms=None, tool_result=result_object(event.tool_result))


def _without_surrogates(trial: TrialResult) -> TrialResult:
    """Return the trial with half characters, which no UTF-8 file can hold, replaced by question marks."""
    plain = msgspec.to_builtins(trial, enc_hook=str)
    return msgspec.convert(_map_texts(plain, replace_surrogates), TrialResult)


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_texts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(item, change) for item in value]
    return value


def make_redactor(suite: Suite, project: Project, policy: RedactionPolicy = DEFAULT_POLICY) -> Redactor:
    """Return the redactor of a run, with the secrets of the environment, the suite and the project."""
    config, hooks = suite.file.config, suite.file.hooks
    environments = [task.inputs.environment for task in suite.tasks if task.inputs.environment]
    commands = [hook.command for point in msgspec.structs.astuple(hooks) for hook in point]
    provider = msgspec.to_builtins(project.keys.provider)
    return Redactor.for_environment(
        os.environ,
        config.mcp_servers,
        config.executor_options,
        provider,
        *environments,
        *commands,
        policy=policy,
    )


def _redact_and_cut(trial: TrialResult, redactor: Redactor) -> TrialResult:
    trial = _redact(trial, redactor)
    size = len(trial.final_output.encode("utf-8", "replace"))
    cut = size > HUGE
    changes: dict[str, Any] = {
        "final_output": _ends(trial.final_output) if cut else trial.final_output,
        "truncated": cut or trial.truncated,
        "output_bytes": size if cut else trial.output_bytes,
        "transcript": [_cut_event(event) for event in trial.transcript],
        "tool_events": [_cut_call(event) for event in trial.tool_events],
        "session_digest": _cut_digest(trial.session_digest),
        "grader_sessions": [_cut_digest(session) for session in trial.grader_sessions],
        "validations": _cut_validations(trial.validations),
        "checkpoints": [
            msgspec.structs.replace(point, validations=_cut_validations(point.validations))
            for point in trial.checkpoints
        ],
    }
    return msgspec.structs.replace(trial, **changes)


def _redact(value: Any, redactor: Redactor) -> Any:
    """Return structs and what they hold with every text redacted, names and keys as well."""
    if isinstance(value, msgspec.Struct):
        old = {name: getattr(value, name) for name in _free_fields(type(value))}
        new = {name: _redact(item, redactor) for name, item in old.items()}
        changes = {name: item for name, item in new.items() if item is not old[name]}
        return msgspec.structs.replace(value, **changes) if changes else value
    if isinstance(value, list) and any(isinstance(item, msgspec.Struct) for item in value):
        return [_redact(item, redactor) for item in value]
    if isinstance(value, dict) and any(isinstance(item, msgspec.Struct) for item in value.values()):
        keys = redactor.value(dict.fromkeys(value))
        return {key: _redact(item, redactor) for key, item in zip(keys, value.values(), strict=True)}
    return redactor.value(value)


@cache
def _free_fields(struct: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the fields that hold more than one of a few words."""
    fields = msgspec.structs.fields(struct)
    return tuple(field.name for field in fields if get_origin(field.type) is not Literal)


def _cut_validations(validations: dict[str, Validation] | None) -> dict[str, Validation] | None:
    if validations is None:
        return None
    return {
        name: msgspec.structs.replace(validation, details=_cut_value(validation.details))
        for name, validation in validations.items()
    }


def _cut_digest(session: SessionDigest) -> SessionDigest:
    if not session.tool_calls:
        return session
    calls = [
        msgspec.structs.replace(
            call, arguments=_cut_value(msgspec.to_builtins(call.arguments)), result=_cut_value(call.result)
        )
        for call in session.tool_calls
    ]
    return msgspec.structs.replace(session, tool_calls=calls)


def _cut_event(event: Event) -> Event:
    if event.type == ANSWER:  # kept as a whole: results of documents have it
        return event
    return msgspec.structs.replace(
        event,
        content=_cut_value(event.content),
        message=_cut_value(event.message),
        arguments=_cut_value(event.arguments),
        tool_result=_cut_value(event.tool_result),
    )


def _cut_call(event: ToolEvent) -> ToolEvent:
    size = _size(event.result)
    cut: dict[str, Any] = {}
    if size > HUGE:
        text = event.result if isinstance(event.result, str) else msgspec.json.encode(event.result).decode()
        cut = {"truncated": True, "result_bytes": size, "result": _ends(text)}
    return msgspec.structs.replace(event, args=_cut_value(event.args), error=_cut_value(event.error), **cut)


def _cut_value(value: Any) -> Any:
    """Return a free value with huge texts inside it cut."""
    return _cut_texts(value) if _size(value) > HUGE else value


def _cut_texts(value: Any) -> Any:
    if isinstance(value, str):
        return _ends(value) if len(value) > HUGE // 4 and _size(value) > HUGE else value
    if isinstance(value, dict):
        return {key: _cut_texts(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut_texts(item) for item in value]
    return value


def _size(value: Any) -> int:
    """Return the bytes of a text or of the JSON of a value; small things are not measured exactly."""
    if isinstance(value, str):
        return len(value) if len(value) < HUGE // 4 else len(value.encode("utf-8", "replace"))
    if value is None or isinstance(value, int | float):
        return 8
    return len(msgspec.json.encode(value, enc_hook=str))


def _ends(text: str) -> str:
    data = text.encode("utf-8", "replace")
    head, tail = data[:ENDS].decode("utf-8", "ignore"), data[-ENDS:].decode("utf-8", "ignore")
    return f"{head}\n[... {len(data)} bytes in all, the middle is not stored ...]\n{tail}"


def failure_artifacts(
    status: TrialStatus, output: str, error: str, failed_graders: Sequence[str], redactor: Redactor
) -> FailureArtifacts | None:
    """Return what helps to understand a trial that did not pass, without secrets; None for one that did."""
    if status not in BAD:
        return None
    output, error = redactor.full_text(output), redactor.full_text(error)  # before they are cut and lowered
    stderr, stderr_cut = _artifact(error)
    stdout, stdout_cut = _artifact(output)
    patterns = _patterns(f"{stderr}\n{stdout}")
    names = sorted(failed_graders)
    return FailureArtifacts(
        stderr=stderr,
        stdout=stdout,
        exit_code=1 if status == "failed" else 2,
        failed_graders=names,
        error_patterns=patterns,
        triage_summary=_triage(status, names, patterns, error),
        captured_at=datetime.now().astimezone().isoformat(),
        context={"stderr_truncated": str(stderr_cut).lower(), "stdout_truncated": str(stdout_cut).lower()},
    )


def _artifact(text: str) -> tuple[str, bool]:
    data = text.encode("utf-8", "replace")
    if len(data) <= ARTIFACT:
        return text, False
    return data[: ARTIFACT - len(_CUT)].decode("utf-8", "ignore") + _CUT, True


def _patterns(text: str) -> list[str]:
    lowered = text.lower()
    found = {match.strip() for match in _PATTERN.findall(lowered)}
    return sorted(found | {phrase for phrase in _PHRASES if phrase in lowered})


def _triage(status: str, names: Sequence[str], patterns: Sequence[str], error: str) -> str:
    lines = [f"**Status:** {status}", ""]
    lines += [f"- failed grader: {name}" for name in names]
    lines += [f"- seen in the output: {pattern}" for pattern in patterns[:5]]
    if error:
        lines += ["", f"**Last error:** {shorten_middle(error, 500)}"]
    advice = "look at the error first; graders may have judged a partial output" if error else ""
    lines += ["", f"**Next:** {advice or 'compare the output with what these graders expect; run with -v'}"]
    return "\n".join(lines)
