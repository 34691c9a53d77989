"""Mocked MCP servers as an agent meets them: the official client starts them and talks to them."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent
from tests.support.program import write_tree

from waza.model.mocks import McpMock
from waza.workspace.relay import AttemptMocks, Relay

LIMIT = 60  # seconds; a server that hangs fails its test instead of the whole run
FOREVER = 10**9  # milliseconds


@asynccontextmanager
async def relay() -> AsyncIterator[Relay]:
    served = Relay()
    await served.start()
    try:
        async with asyncio.timeout(LIMIT):
            yield served
    finally:
        await served.aclose()


def mock(name: str = "tracker", fixtures: str = "", **tools: Any) -> McpMock:
    declared = {tool: {"responses": responses} for tool, responses in tools.items()}
    return msgspec.convert({"name": name, "fixtures": fixtures, "tools": declared}, McpMock)


def opened(served: Relay, *mocks: McpMock, home: Path = Path("/")) -> AttemptMocks:
    return served.open(mocks, [], home, None)


@asynccontextmanager
async def client(mocked: AttemptMocks, name: str = "tracker") -> AsyncIterator[ClientSession]:
    config = mocked.mcp_servers[name]
    assert (config["type"], config["tools"]) == ("stdio", ["*"])
    server = StdioServerParameters(command=config["command"], args=config["args"], env=config["env"])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def call(
    session: ClientSession, tool: str, arguments: dict[str, Any] | None = None
) -> tuple[bool, str]:
    """Whether a call ended in a tool error, and its text."""
    result = await session.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    [content] = result.content
    assert isinstance(content, TextContent)
    return bool(result.is_error), content.text


def test_a_client_finds_and_calls_the_tools(tmp_path):
    fixture = {
        "description": "Look up one ticket",
        "input_schema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
        "responses": [
            {"match": {"id": "T-1"}, "return": {"state": "open", "title": "<ü>"}},
            {"match_regex": {"id": "^X-"}, "error": "project archived"},
        ],
    }
    write_tree(tmp_path, {"mcp/find.json": json.dumps(fixture)})

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(fixtures="mcp", add=[{"return": 1.0}]), home=tmp_path)
            config = mocked.mcp_servers["tracker"]
            server = StdioServerParameters(command=config["command"], args=config["args"], env=config["env"])
            async with stdio_client(server) as streams, ClientSession(*streams) as session:
                hello = await session.initialize()
                assert (hello.protocol_version, hello.server_info.name) == ("2024-11-05", "tracker")
                await session.send_ping()
                tools = (await session.list_tools()).tools
                assert [(tool.name, tool.description) for tool in tools] == [
                    ("add", ""),
                    ("find", "Look up one ticket"),
                ]
                assert [tool.input_schema for tool in tools] == [{"type": "object"}, fixture["input_schema"]]
                found = await call(session, "find", {"id": "T-1"})
                assert found == (False, '{"state":"open","title":"\\u003cü\\u003e"}')
                assert await call(session, "add") == (False, "1")
                assert await call(session, "find", {"id": "X-9"}) == (
                    True,
                    "MCP mock 'tracker', tool 'find': project archived",
                )
                is_error, text = await call(session, "find", {"id": "secret"})
                assert is_error
                assert "no response matches" in text
                assert "secret" not in text
                is_error, text = await call(session, "remove", {"id": "T-1"})
                assert is_error
                assert "'remove'" in text

    asyncio.run(check())


def test_large_values_arrive():
    value = {"text": "ü" * (2 << 20)}

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(echo=[{"match": value, "return": value}]))
            async with client(mocked) as session:
                is_error, text = await call(session, "echo", value)
                assert not is_error
                assert json.loads(text) == value

    asyncio.run(check())


def test_a_sequence_goes_on_in_the_next_connection():
    """An agent's engine may start a server anew at every turn."""
    steps = [{"error": "503", "delay_ms": 1}, {"return": "a"}, {"return": "b"}]

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(put=[{"sequence": steps}]))
            async with client(mocked) as session:
                assert await call(session, "put") == (True, "MCP mock 'tracker', tool 'put': 503")
                assert await call(session, "put") == (False, '"a"')
            async with client(mocked) as session:
                assert await call(session, "put") == (False, '"b"')
                is_error, text = await call(session, "put")
                assert is_error
                assert "fault sequence exhausted" in text

    asyncio.run(check())


def test_a_delayed_answer_holds_nobody_up_and_takes_one_step():
    async def check() -> None:
        async with relay() as served:
            steps = [{"return": "late", "delay_ms": FOREVER}, {"return": "next"}]
            mocked = opened(served, mock(put=[{"sequence": steps}], get=[{"return": 1}]))
            async with client(mocked) as session:
                calls = {asyncio.create_task(call(session, "put")) for _ in range(2)}
                answered, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
                assert [task.result() for task in answered] == [(False, '"next"')]
                assert await call(session, "get") == (False, "1")
                [late] = waiting
                assert not late.done()
                late.cancel()

    asyncio.run(check())


def test_servers_and_attempts_of_one_name_do_not_mix():
    async def check() -> None:
        async with relay() as served:
            steps = [{"return": 1}, {"return": 2}]
            attempts = [
                opened(
                    served,
                    mock(who=[{"return": name}], step=[{"sequence": steps}]),
                    mock("other", who=[{"return": f"other {name}"}]),
                )
                for name in "abc"
            ]

            async def talk(mocked: AttemptMocks) -> list[str]:
                async with client(mocked) as one, client(mocked, "other") as other:
                    calls = [(one, "who"), (one, "step"), (other, "who"), (one, "step")]
                    return [(await call(session, tool))[1] for session, tool in calls]

            said = await asyncio.gather(*map(talk, attempts))
            assert said == [[f'"{name}"', "1", f'"other {name}"', "2"] for name in "abc"]

    asyncio.run(check())


def test_calls_at_once_take_one_step_each():
    async def check() -> None:
        async with relay() as served:
            steps = [{"return": i, "delay_ms": 5 * (i % 3)} for i in range(20)]
            mocked = opened(served, mock(put=[{"sequence": steps}]))
            async with client(mocked) as session:
                said = await asyncio.gather(*(call(session, "put") for _ in range(20)))
                assert sorted(said) == sorted((False, str(i)) for i in range(20))

    asyncio.run(check())


def test_blanks_around_a_name_are_not_part_of_it():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(" tracker ", who=[{"return": 1}]))
            async with client(mocked) as session:
                assert await call(session, "who") == (False, "1")

    asyncio.run(check())


async def start(mocked: AttemptMocks) -> asyncio.subprocess.Process:
    config = mocked.mcp_servers["tracker"]
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        config["command"], *config["args"], stdin=pipe, stdout=pipe, stderr=pipe, env=config["env"]
    )


def test_raw_lines():
    """What no proper client sends: blank lines, mistakes, many messages at once, and an end without a goodbye."""
    messages = (
        b'\r\n{"id": 1, "method": "ping"}\r\n\nnonsense\n{"method": "x"}\n{"id": "b", "method": "no"}\n'
    )

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(who=[{"return": 1}]))
            server = await start(mocked)
            out, err = await server.communicate(messages)
            answers = [json.loads(line) for line in out.splitlines()]
            assert [(found["id"], found.get("error", {}).get("code")) for found in answers] == [
                (1, None),
                (None, -32700),
                ("b", -32601),
            ]
            assert (server.returncode, err) == (0, b"")

    asyncio.run(check())


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_whose_attempt_has_ended_ends(when):
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(who=[{"return": 1}]))
            other = opened(served, mock(who=[{"return": 2}]))
            if when == "before":
                mocked.close()
            server, bystander = await start(mocked), await start(other)
            for found in (server, bystander):
                assert found.stdin is not None
                found.stdin.write(b'{"id": 1, "method": "ping"}\n')
            assert server.stdout is not None
            assert bystander.stdout is not None
            if when == "after":
                assert await server.stdout.readline()
                mocked.close()
            assert await server.stdout.read() == b""
            assert await server.wait() == 0
            assert await bystander.stdout.readline()
            out, _ = await bystander.communicate(b"")
            assert (bystander.returncode, out) == (0, b"")

    asyncio.run(check())


def test_a_server_that_starts_after_waza_has_ended_says_so():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, mock(who=[{"return": 1}]))
        server = await start(mocked)
        out, err = await server.communicate(b'{"id": 1, "method": "ping"}\n')
        assert (server.returncode, out) == (127, b"")
        assert b"waza: the MCP mock is not served any more" in err

    asyncio.run(check())


def test_over_the_loopback(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    async def check() -> None:
        async with relay() as served:
            assert served.address.startswith("127.0.0.1:")
            mocked = opened(served, mock(who=[{"return": 1}]))
            async with client(mocked) as session:
                assert await call(session, "who") == (False, "1")

    asyncio.run(check())


def test_the_settings_name_this_interpreter_and_hold_no_mock():
    """What an agent can read of its own settings tells nothing of the answers to come."""

    async def check() -> None:
        async with relay() as served:
            config = opened(served, mock(who=[{"return": "the answer"}])).mcp_servers["tracker"]
            assert config["command"] == sys.executable
            assert "the answer" not in json.dumps(config)

    asyncio.run(check())
