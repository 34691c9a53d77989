"""WGP/1, the protocol of graders that live elsewhere: one JSON request goes out, one JSON response comes back.

Programs read and write it on stdin and stdout, WASM modules through a few host functions; the documents are
the same. Receivers ignore fields that they do not know, so that fields can be added without a new major.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from waza.model.observation import Observation, WrittenFile

PROTOCOL: Final = "wgp/1"
MAX_RESPONSE = 1024 * 1024  # bytes
MAX_LOG = 64 * 1024  # bytes that are kept of what a grader logs


class RequestTask(msgspec.Struct, frozen=True, kw_only=True):
    """The task. `expected` is what it expects, mostly a text; null where it says nothing."""

    id: str
    """The id of the task."""
    input: str
    """The prompt."""
    expected: Any = None
    """What the task expects of the output; null: it does not say."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call of the agent, with all of its arguments."""

    name: str
    """The name of the tool."""
    arguments: dict[str, Any]
    """All of the arguments."""


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of a mocked program; `response_index` is -1 where no response of the mock matched."""

    command: str
    """The name of the program."""
    args: list[str]
    """The arguments, without secrets."""
    exit_code: int
    """The exit code that the mock gave."""
    response_index: int
    """The response that was given, counted from 0; -1: none fitted."""
    exhausted: bool = False
    """The sequence of the response had no step left, so that the call failed."""


class RequestAgent(msgspec.Struct, frozen=True, kw_only=True):
    """What the agent did. `output` is the final text of its last turn."""

    output: str
    """The final text of the last turn."""
    tool_calls: list[ToolCall]
    """The tool calls, in order."""
    files_written: list[WrittenFile]
    """Files that the agent created or changed, sorted by path."""
    command_invocations: list[Command] = []
    """Calls of mocked programs."""


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when: `workspace_dir` is absolute, or empty where the grader cannot reach a workspace."""

    workspace_dir: str
    """The absolute path of the workspace; empty where the grader cannot reach it."""
    trial: Annotated[int, msgspec.Meta(ge=1)]
    """The number of the trial, from 1."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What waza asks. `config` is the effective config of the grader."""

    schema: Literal["wgp/1"]
    """The protocol."""
    task: RequestTask
    """The task."""
    agent: RequestAgent
    """What the agent did."""
    config: dict[str, Any]
    """The config of the grader, with that of the suite over that of its preset."""
    context: RequestContext
    """Where and when."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict rests on. `agent.output[a..b]` is a half-open range of code points."""

    kind: str
    """What it is, such as `span` or `file`."""
    ref: str = ""
    """Where it is, such as `agent.output[12..40]`."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What the grader answers. `passed` is its own word: the host derives nothing from the score."""

    schema: Literal["wgp/1"]
    """The protocol."""
    score: Annotated[float, msgspec.Meta(ge=0, le=1)]
    """From 0 to 1."""
    passed: bool
    """Whether the grader passed. It does not follow from the score."""
    rationale: str = ""
    """Why, in words."""
    evidence: list[Evidence] = []
    """What the verdict is based on."""
    metrics: dict[str, float] = {}
    """Further numbers, by name."""


class GraderReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a transport brought back: a response or a fault, and what the grader logged on the way."""

    data: bytes = b""
    log: str = ""
    fault: str = ""


def encode_request(seen: Observation, config: dict[str, Any], workspace_dir: str = "") -> bytes:
    """Return the request for an observation as compact JSON in UTF-8; half characters become question marks."""
    request = Request(
        schema=PROTOCOL,
        task=RequestTask(id=seen.task_id, input=seen.prompt, expected=seen.expected),
        agent=RequestAgent(
            output=seen.output,
            tool_calls=[
                ToolCall(name=call.tool_name, arguments=call.args if isinstance(call.args, dict) else {})
                for call in seen.tool_events
            ],
            files_written=list(seen.files_written),
            command_invocations=[
                Command(**msgspec.structs.asdict(call)) for call in seen.command_invocations
            ],
        ),
        config=config,
        context=RequestContext(workspace_dir=workspace_dir, trial=seen.trial),
    )
    try:
        return msgspec.json.encode(request, enc_hook=str)
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(msgspec.to_builtins(request, enc_hook=str)))


def decode_response(data: bytes) -> Response:
    """Return the response that one JSON document holds; blanks around it are allowed.

    Raises ValueError with a sentence for whatever else it is.
    """
    if len(data) > MAX_RESPONSE:
        raise ValueError(f"the response is larger than {MAX_RESPONSE:,} bytes")
    fields = _document(data)
    _check_protocol(fields)
    try:
        return msgspec.convert(fields, Response)
    except msgspec.ValidationError as error:
        raise ValueError(_in_words(str(error))) from None


def _document(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise ValueError("the response is empty")
    try:
        # Some systems put a byte order mark in front of everything that a program writes.
        fields = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise ValueError("the response is nested too deeply") from None
    except ValueError as error:
        reason = str(error).partition(" - at ")[0]
        if "trailing characters" in reason:
            raise ValueError("there is more than one JSON document in the response") from None
        raise ValueError(f"the response is not JSON: {reason}") from None
    if not isinstance(fields, dict):
        raise ValueError("the response is JSON, but not an object")  # noqa: TRY004 - every fault is a ValueError
    return fields


def _check_protocol(fields: dict[str, Any]) -> None:
    spoken = fields.get("schema")
    if spoken is None:
        raise ValueError("the response has no field 'schema'")
    if spoken != PROTOCOL:
        shown = spoken[:40] if isinstance(spoken, str) else type(spoken).__name__
        raise ValueError(f"the response speaks {shown!r}, waza speaks {PROTOCOL!r}")


_WORDS = {
    "Object missing required field": "there is no field",
    "Expected": "expected",
    "`float`": "a number",
    "`int`": "a whole number",
    "`str`": "a text",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "an object",
    "`null`": "null",
    "`": "'",
}


def _in_words(message: str) -> str:
    """Return a message of the decoder, `Expected ... - at `$.place``, as a sentence."""
    what, _, place = message.partition(" - at ")
    for word, ours in _WORDS.items():
        what = what.replace(word, ours)
    where = place.strip("`").removeprefix("$").removeprefix(".")
    return f"the response's {where!r} cannot be used: {what}" if where else f"in the response {what}"


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list) else value
