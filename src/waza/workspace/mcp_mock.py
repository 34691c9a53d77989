"""A mocked MCP server: a line of JSON-RPC in, a line out. It knows nothing of sockets and processes.

The first response whose matchers all fit answers a call; a sequence gives one step a call, in whatever
connection the call came. Arguments are never repeated in an answer, since they may hold secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any

import msgspec

from waza.kit.json_text import json_text, same_json
from waza.kit.pattern import compile_pattern
from waza.model.mocks import McpOutput, McpResponse, McpStep, McpTool

if TYPE_CHECKING:
    from waza.kit.schema import Schema

PROTOCOL = "2024-11-05"
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602


class McpToolCall(msgspec.Struct, frozen=True):
    """A call of a tool, and its result in the form of the protocol."""

    tool: str
    args: dict[str, Any]
    result: dict[str, Any]


class Reply(msgspec.Struct, frozen=True):
    """A line for the client, without its line end, and the seconds to wait before it is sent.

    `call` is the call of a tool that it answers.
    """

    line: bytes
    delay: float = 0
    call: McpToolCall | None = None


class McpServer:
    """One mocked server. It remembers how far its sequences are.

    Making one raises ValueError for a pattern or a schema that does not compile.
    """

    def __init__(self, name: str, tools: Mapping[str, McpTool]) -> None:
        self.name = name
        self.tools = frozenset(tools)
        self._listing = [_describe_tool(tool, tools[tool]) for tool in sorted(tools)]
        self._tools = {
            tool: [_Response(response) for response in tools[tool].responses] for tool in sorted(tools)
        }

    def answer(self, line: bytes) -> Reply | None:
        """Return the answer to one message; None for notifications and for what is no request."""
        from waza.kit.schema import strict_json  # heavy, and few runs have mocks

        try:
            message = strict_json(line)
        except ValueError as error:
            return _make_failure(None, _PARSE_ERROR, f"not JSON: {error}")
        if not isinstance(message, dict):
            return _make_failure(None, _INVALID_REQUEST, "a message is one JSON object")
        if "id" not in message or ("method" not in message and message.keys() & {"result", "error"}):
            return None
        try:
            method, params = message.get("method"), message.get("params")
            result, delay = self._make_result(method, params)
        except _RefusedError as refused:
            return _make_failure(message["id"], refused.code, str(refused))
        call = (
            McpToolCall(params["name"], params.get("arguments") or {}, result)
            if method == "tools/call" and isinstance(params, dict)
            else None
        )
        return Reply(_make_line(message["id"], "result", result), delay, call)

    def _make_result(self, method: object, params: object) -> tuple[dict[str, Any], float]:
        """Return the result of a request and its delay. Raises _RefusedError."""
        if method == "initialize":
            server = {"name": self.name, "version": "0.0.0-mock"}
            return {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": server}, 0
        if method == "ping":
            return {}, 0
        if method == "tools/list":
            return {"tools": self._listing}, 0
        if method == "tools/call":
            return self._call(params)
        if isinstance(method, str):
            raise _RefusedError(_NO_METHOD, f"there is no method {method!r}")
        raise _RefusedError(_INVALID_REQUEST, "a request has a method")

    def _call(self, params: object) -> tuple[dict[str, Any], float]:
        tool = params.get("name") if isinstance(params, dict) else None
        if not isinstance(params, dict) or not isinstance(tool, str):
            raise _RefusedError(_INVALID_PARAMS, "a call names its tool")
        arguments = params.get("arguments")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise _RefusedError(_INVALID_PARAMS, f"the arguments of {tool!r} must be an object")
        return self.call(tool, arguments)

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], float]:
        """Return the result of a call of a tool, in the form of the protocol, and the seconds until it is sent."""
        place = f"MCP mock {self.name!r}, tool {tool!r}"
        if tool not in self._tools:
            return _make_error(
                f"{place}: there is no such tool; add a fixture for it to this mock's 'tools'"
            ), 0
        response = next((found for found in self._tools[tool] if found.matches(arguments)), None)
        if response is None:
            missing = f"add a fixture for them to 'tools.{tool}.responses' of this mock"
            return _make_error(f"{place}: no response matches the arguments of this call; {missing}"), 0
        step = next(response.steps, None)
        if step is None:
            return _make_error(f"{place}: fault sequence exhausted"), 0
        delay = step.delay_ms / 1000 if isinstance(step, McpStep) else 0
        if step.error.strip():
            return _make_error(f"{place}: {step.error}"), delay
        return _make_content(json_text(step.returns)), delay


class _Response:
    """A response, with its schema compiled and its steps counted."""

    def __init__(self, response: McpResponse) -> None:
        self._match = response.match
        patterns = response.match_regex or {}
        self._patterns = {name: compile_pattern(pattern) for name, pattern in patterns.items()}
        self._schema = _compile(response.match_schema)
        steps = response.sequence
        self.steps: Iterator[McpOutput] = repeat(response) if steps is None else iter(steps)

    def matches(self, arguments: dict[str, Any]) -> bool:
        """Tell whether the arguments fit every matcher that says something; an empty one does not."""
        if self._match and not same_json(self._match, arguments):
            return False
        for name, pattern in self._patterns.items():
            if name not in arguments or not pattern.search(go_text(arguments[name])):
                return False
        return self._schema is None or self._schema.valid(arguments)


def _compile(schema: dict[str, Any] | None) -> Schema | None:
    if not schema:
        return None
    from waza.kit.schema import compile_schema  # as above

    return compile_schema(schema)


def go_text(value: Any) -> str:
    """Return a JSON value as Go prints it, which is what `match_regex` searches."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else _format_go_number(float(value))


def _format_go_number(value: float) -> str:
    """Return the shortest digits, with an exponent below 1e-4 and from 1e6 on, as Go's %v has it."""
    number = Decimal(repr(value)).normalize()
    exponent = number.adjusted()
    if not value or -4 <= exponent < 6:
        return format(number, "f")
    digits = format(number, "e").partition("e")[0]
    return f"{digits}e{exponent:+03d}"


class _RefusedError(Exception):
    """A request that JSON-RPC answers with an error code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _describe_tool(name: str, tool: McpTool) -> dict[str, Any]:
    schema = {"type": "object"} if tool.input_schema is None else tool.input_schema
    return {"name": name, "description": tool.description, "inputSchema": schema}


def _make_content(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _make_error(text: str) -> dict[str, Any]:
    return {**_make_content(text), "isError": True}


def _make_failure(number: object, code: int, message: str) -> Reply:
    return Reply(_make_line(number, "error", {"code": code, "message": message}))


def _make_line(number: object, key: str, value: dict[str, Any]) -> bytes:
    return json_text({"jsonrpc": "2.0", "id": number, key: value}).encode()
