"""Mocked programs as an agent meets them: real scripts on the PATH of a real shell, answered over the socket."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from tests.support.program import write_tree

from waza.errors import ExecutorError
from waza.kit import process
from waza.kit.process import FinishedProcess
from waza.model.mocks import CommandMock, McpMock, McpTool
from waza.model.observation import CommandInvocation
from waza.workspace.relay import SESSION, AttemptMocks, Relay

LIMIT = 60  # seconds; a shim that hangs fails its test instead of the whole run
FOREVER = 10**9  # milliseconds


@asynccontextmanager
async def relay() -> AsyncIterator[Relay]:
    served = Relay()
    await served.start()
    try:
        yield served
    finally:
        await served.aclose()


def command(*responses: dict[str, Any], name: str = "cloudy", calls: int | None = None) -> CommandMock:
    return msgspec.convert({"name": name, "responses": list(responses), "expect_calls": calls}, CommandMock)


def opened(
    served: Relay, *mocks: CommandMock, home: Path = Path("/"), workspace: Path | None = None
) -> AttemptMocks:
    return served.open([], mocks, home, workspace)


def environment(served: Relay, mocked: AttemptMocks | None = None, **more: str) -> dict[str, str]:
    """What an agent's shell has: the mocks in front of PATH, and the attempt's token."""
    own = {} if mocked is None else {SESSION: mocked.token}
    inherited = {name: value for name, value in os.environ.items() if name != SESSION}
    return {**inherited, "PATH": f"{served.bin}:{os.environ['PATH']}", **own, **more}


async def bash(line: str, env: Mapping[str, str], cwd: Path | None = None) -> FinishedProcess:
    done = await process.run(
        ["bash", "--norc", "-c", line], env=env, cwd=cwd, timeout=LIMIT, max_output=1 << 25
    )
    assert not done.timed_out
    return done


def real(directory: Path, name: str, body: str) -> Path:
    """Write a real program."""
    write_tree(directory, {name: f"#!/bin/sh\n{body}\n"})
    (directory / name).chmod(0o755)
    return directory


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110  other processes set no event here
            await asyncio.sleep(0.005)


def test_output_exit_code_and_record():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(
                served,
                command(
                    {"args": ["get", "pods"], "stdout": {"items": [1.0, "<ü>"]}},
                    {"args": ["apply"], "stdout": "half", "stderr": "forbidden ü\n", "exit_code": 3},
                ),
            )
            env = environment(served, mocked)
            got = await bash("cloudy get pods", env)
            assert (got.returncode, got.stdout, got.stderr) == (
                0,
                '{"items":[1,"\\u003cü\\u003e"]}'.encode(),
                b"",
            )
            applied = await bash("cloudy apply", env)
            assert (applied.returncode, applied.stdout, applied.stderr) == (
                3,
                b"half",
                "forbidden ü\n".encode(),
            )
            assert mocked.invocations == (
                CommandInvocation(command="cloudy", args=["get", "pods"], exit_code=0, response_index=0),
                CommandInvocation(command="cloudy", args=["apply"], exit_code=3, response_index=1),
            )

    asyncio.run(check())


def test_arguments_arrive_as_they_were_given():
    words = ["", "two words", "'", '"', "$HOME", "a\nb", "*", "--", "-x", "ünï", "%PATH%", "\\"]

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": words, "stdout": "yes"}))
            done = await bash(shlex.join(["cloudy", *words]), environment(served, mocked, LC_ALL="C"))
            assert done.stdout == b"yes"

    asyncio.run(check())


def test_environment_and_directory_decide(tmp_path):
    (tmp_path / "ws" / "deploy").mkdir(parents=True)

    async def check() -> None:
        async with relay() as served:
            mocked = opened(
                served,
                command(
                    {"args": [], "environment": {"STAGE": "prod ü"}, "workdir": "deploy", "stdout": "both"},
                    {"args": [], "workdir": "deploy", "stdout": "place"},
                    {"args": [], "environment": {"STAGE": "prod ü"}, "stdout": "stage"},
                ),
                workspace=tmp_path / "ws",
            )
            line = "cd deploy; STAGE='prod ü' cloudy; cloudy; cd ..; STAGE='prod ü' cloudy; cloudy"
            done = await bash(line, environment(served, mocked), tmp_path / "ws")
            assert done.stdout == b"bothplacestage"
            assert done.returncode == 127
            assert [call.response_index for call in mocked.invocations] == [0, 1, 2, -1]

    asyncio.run(check())


def test_a_call_that_nothing_matches_fails_loudly():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": ["get"]}))
            done = await bash("cloudy put --token hunter2hunter2", environment(served, mocked))
            assert (done.returncode, done.stdout) == (127, b"")
            assert b"no response of the command mock 'cloudy' matches" in done.stderr
            assert b"hunter2" not in done.stderr
            assert mocked.invocations == (
                CommandInvocation(
                    command="cloudy",
                    args=["put", "[REDACTED]", "[REDACTED]"],
                    exit_code=127,
                    response_index=-1,
                ),
            )

    asyncio.run(check())


def test_large_and_binary_output_arrives_byte_by_byte(tmp_path):
    data = bytes(range(256)) * (3 << 13)  # 6 MB
    text = "ü\n" * (1 << 20)
    write_tree(tmp_path, {"fixtures/big.bin": data})

    async def check() -> None:
        async with relay() as served:
            mocked = opened(
                served,
                command(
                    {"args": ["bin"], "fixture": "fixtures/big.bin"},
                    {"args": ["text"], "stdout": text, "stderr": text},
                ),
                home=tmp_path,
            )
            env = environment(served, mocked)
            assert (await bash("cloudy bin", env)).stdout == data
            done = await bash("cloudy text", env)
            assert (done.stdout, done.stderr) == (text.encode(), text.encode())
            # Whoever has seen enough may go; and nobody needs to listen at all.
            done = await bash("set -o pipefail; cloudy bin | head -c 3; cloudy bin >&-", env)
            assert (done.returncode, done.stdout, done.stderr) == (0, data[:3], b"")

    asyncio.run(check())


def test_large_arguments_arrive():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args_regex": ["x{1000}.*"], "stdout": "yes"}))
            done = await bash('cloudy "$(printf x%.0s $(seq 100000))"', environment(served, mocked))
            assert done.stdout == b"yes"
            assert len(mocked.invocations[0].args[0]) == 100_000

    asyncio.run(check())


def test_bytes_that_are_no_text_are_recorded_as_replacement():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args_regex": ["a.*b"], "stdout": "yes"}))
            env = {**environment(served, mocked), "ODD": "\udcff"}
            done = await bash("cloudy $'a\\xffb'", env)
            assert done.stdout == b"yes"
            encoded = msgspec.json.encode(mocked.invocations)
            assert json.loads(encoded)[0]["args"] == ["a\ufffdb"]

    asyncio.run(check())


def test_a_gone_directory_is_no_obstacle(tmp_path):
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": [], "stdout": "yes"}), workspace=tmp_path)
            done = await bash("mkdir x; cd x; rmdir ../x; cloudy", environment(served, mocked), tmp_path)
            assert done.stdout == b"yes"

    asyncio.run(check())


def test_without_a_session_the_real_program_runs(tmp_path):
    """The agent's engine calls programs, too, and those calls are not the agent's."""
    tools = real(tmp_path / "tools", "cloudy", 'cat; echo "real $# $1 $2"; echo oops >&2; exit 5')

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": []}, calls=0))
            env = environment(served)
            env["PATH"] = f"{served.bin}/:{served.bin}:{tools}:{os.environ['PATH']}"
            done = await bash("echo input | cloudy 'a b' ''", env)
            assert (done.returncode, done.stdout, done.stderr) == (5, b"input\nreal 2 a b \n", b"oops\n")
            assert mocked.invocations == ()
            assert mocked.call_count_error() == ""

    asyncio.run(check())


def test_what_an_attempt_does_not_mock_is_real_and_what_it_starts_is_mocked_again(tmp_path):
    tools = real(tmp_path / "tools", "bake", 'cloudy get; echo "baked $1"')

    async def check() -> None:
        async with relay() as served:
            one = opened(served, command({"args": ["get"], "stdout": "mocked\n"}))
            other = opened(served, command({"args": ["all"], "stdout": "mock baked\n"}, name="bake"))
            path = f"{served.bin}:{tools}:{os.environ['PATH']}"
            done = await bash("bake all", environment(served, one, PATH=path))
            assert done.stdout == b"mocked\nbaked all\n"
            assert [call.command for call in one.invocations] == ["cloudy"]
            done = await bash("bake all; cloudy get", environment(served, other, PATH=path))
            assert done.stdout == b"mock baked\n"
            assert done.returncode == 127  # not mocked there, and there is no real one
            assert b"cloudy: command not found" in done.stderr
            assert [call.command for call in other.invocations] == ["bake"]

    asyncio.run(check())


def test_a_token_of_another_run_means_nothing(tmp_path):
    tools = real(tmp_path / "tools", "cloudy", "echo real")

    async def check() -> None:
        async with relay() as served:
            opened(served, command({"args": []}))
            path = f"{served.bin}:{tools}:{os.environ['PATH']}"
            done = await bash("cloudy", environment(served, PATH=path) | {SESSION: "0" * 32})
            assert (done.returncode, done.stdout) == (0, b"real\n")

    asyncio.run(check())


def test_a_call_that_comes_after_the_attempt_does_not_run_for_real(tmp_path):
    tools = real(tmp_path / "tools", "cloudy", "echo real")
    real(tools, "nimbus", "echo real nimbus")

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": []}))
            opened(served, command({"args": []}, name="nimbus"))
            env = environment(served, mocked, PATH=f"{served.bin}:{tools}:{os.environ['PATH']}")
            mocked.close()
            mocked.close()
            done = await bash("cloudy", env)
            assert (done.returncode, done.stdout) == (127, b"")
            assert b"its task has ended" in done.stderr
            assert (await bash("nimbus", env)).stdout == b"real nimbus\n"
            assert mocked.invocations == ()

    asyncio.run(check())


def test_attempts_at_once_do_not_mix():
    async def check() -> None:
        async with relay() as served:
            steps = [{"stdout": str(i)} for i in range(3)]
            attempts = [
                opened(served, command({"args": ["who"], "stdout": name}, {"args": ["n"], "sequence": steps}))
                for name in "abcd"
            ]
            line = "cloudy who; cloudy n; cloudy n"
            done = await asyncio.gather(*(bash(line, environment(served, mocked)) for mocked in attempts))
            assert [found.stdout for found in done] == [b"a01", b"b01", b"c01", b"d01"]
            assert [len(mocked.invocations) for mocked in attempts] == [3, 3, 3, 3]
            assert len({mocked.token for mocked in attempts}) == 4

    asyncio.run(check())


def test_calls_at_once_take_one_step_each():
    async def check() -> None:
        async with relay() as served:
            steps = [{"stdout": f"{i}\n", "delay_ms": 5 * (i % 3)} for i in range(20)]
            mocked = opened(served, command({"args": [], "sequence": steps}, calls=20))
            done = await bash("for i in $(seq 20); do cloudy & done; wait", environment(served, mocked))
            assert Counter(done.stdout.split()) == Counter(str(i).encode() for i in range(20))
            assert [call.response_index for call in mocked.invocations] == [0] * 20
            assert mocked.call_count_error() == ""

    asyncio.run(check())


def test_after_its_last_step_a_sequence_is_exhausted():
    async def check() -> None:
        async with relay() as served:
            steps = [{"stderr": "try again\n", "exit_code": 1, "delay_ms": 1}, {"stdout": "ok\n"}]
            mocked = opened(served, command({"args": ["put"], "sequence": steps}))
            done = await bash("for i in 1 2 3; do cloudy put; echo $?; done", environment(served, mocked))
            assert done.stdout == b"1\nok\n0\n127\n"
            assert done.stderr.startswith(b"try again\n")
            assert b"fault sequence exhausted" in done.stderr
            assert [(call.exit_code, call.response_index) for call in mocked.invocations] == [
                (1, 0),
                (0, 0),
                (127, 0),
            ]

    asyncio.run(check())


def test_a_caller_that_is_killed_while_it_waits_has_taken_one_step():
    async def check() -> None:
        async with relay() as served:
            steps = [{"stdout": "first", "delay_ms": FOREVER}, {"stdout": "second"}, {"stdout": "third"}]
            mocked = opened(served, command({"args": [], "sequence": steps}))
            env = environment(served, mocked)
            caller = await asyncio.create_subprocess_exec(served.bin / "cloudy", env=env)
            await until(lambda: mocked.invocations)
            caller.kill()
            await caller.wait()
            assert (await bash("cloudy", env)).stdout == b"second"
            assert len(mocked.invocations) == 2

    asyncio.run(check())


def test_closing_ends_callers_that_wait():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": [], "sequence": [{"stdout": "x", "delay_ms": FOREVER}]}))
            waiting = asyncio.create_task(bash("cloudy", environment(served, mocked)))
            await until(lambda: mocked.invocations)
            mocked.close()
            done = await waiting
            assert (done.returncode, done.stdout) == (127, b"")
            assert b"its task has ended" in done.stderr

    asyncio.run(check())


def test_expected_calls_are_counted_whether_they_matched_or_not():
    async def check() -> None:
        async with relay() as served:
            mocked = opened(
                served,
                command({"args": ["get"]}, calls=2),
                command({"args": []}, name="Nimbus", calls=0),
                command({"args": []}, name="zephyr", calls=1),
                command({"args": []}, name="breeze"),
            )
            expected = "command mock 'cloudy': expected 2 call(s), got {}"
            assert (
                mocked.call_count_error()
                == f"{expected.format(0)}; command mock 'zephyr': expected 1 call(s), got 0"
            )
            await bash("cloudy get; cloudy nothing; zephyr; breeze; breeze", environment(served, mocked))
            assert mocked.call_count_error() == ""
            await bash("cloudy get; Nimbus", environment(served, mocked))
            assert (
                mocked.call_count_error()
                == f"{expected.format(3)}; command mock 'Nimbus': expected 0 call(s), got 1"
            )
            mocked.close()
            assert "got 3" in mocked.call_count_error()

    asyncio.run(check())


def test_fixtures_that_cannot_be_used_are_reported_and_nothing_is_opened(tmp_path):
    write_tree(tmp_path, {"mcp/t.json": '{"responses": [{"match_regex": {"x": "("}}]}'})

    async def check() -> None:
        async with relay() as served:
            with pytest.raises(ExecutorError, match="'nope'"):
                opened(served, command({"args": [], "fixture": "nope"}), home=tmp_path)
            with pytest.raises(ExecutorError, match="the MCP mock 'm' cannot be used: the pattern"):
                served.open([McpMock(name="m", fixtures="mcp")], [], tmp_path, None)
            assert list(served.bin.iterdir()) == []

    asyncio.run(check())


def test_whoever_is_no_shim_gets_no_answer():
    async def said(address: str, data: bytes) -> bytes:
        reader, writer = await asyncio.open_unix_connection(address)
        writer.write(data)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer

    async def check() -> None:
        async with relay() as served:
            mocked = opened(served, command({"args": []}))
            lines = [
                b"",
                b"\n",
                b"GET / HTTP/1.1\r\n\r\n",
                b"[]\n",
                b"{}\n",
                b'{"mcp": []}\n',
                b'{"mcp": "x"}\n',
            ]
            lines += [
                b'{"name": "cloudy", "argv": "x", "cwd": "", "environment": {}, "session": ""}\n',
                b"\xff\n",
            ]
            assert [await said(served.address, line) for line in lines] == [b""] * len(lines)
            assert mocked.invocations == ()
            done = await bash("cloudy", environment(served, mocked))
            assert done.returncode == 0

    asyncio.run(check())


def test_a_long_temporary_directory_is_no_obstacle(tmp_path, monkeypatch):
    """The path of a unix socket is short; where there is no room, the shims call over the loopback."""
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    async def check() -> None:
        async with relay() as served:
            assert served.address.startswith("127.0.0.1:")
            mocked = opened(served, command({"args": ["a"], "stdout": "yes"}))
            assert (await bash("cloudy a", environment(served, mocked))).stdout == b"yes"

    asyncio.run(check())
    assert list(deep.iterdir()) == []


def callers(address: str) -> list[int]:
    """The processes that carry bytes to this address."""
    return [
        found.pid
        for found in psutil.process_iter(["cmdline", "status"])
        if address in (found.info["cmdline"] or []) and found.info["status"] != psutil.STATUS_ZOMBIE
    ]


def test_nothing_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def check() -> None:
        served = Relay()
        await served.start()
        steps = [{"stdout": "x", "delay_ms": FOREVER}]
        tool = msgspec.convert({"responses": [{"return": 1}]}, McpTool)
        mocked = served.open(
            [McpMock(name="m", tools={"t": tool})], [command({"args": [], "sequence": steps})], tmp_path, None
        )
        config = mocked.mcp_servers["m"]
        server = await asyncio.create_subprocess_exec(
            config["command"], *config["args"], stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b'{"id": 1, "method": "ping"}\n')
        assert await server.stdout.readline()
        caller = await asyncio.create_subprocess_exec(
            served.bin / "cloudy",
            env=environment(served, mocked),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        await until(lambda: mocked.invocations)
        # What the end is checked with finds something now.
        assert sorted(callers(served.address)) == sorted([server.pid, caller.pid])
        [directory] = tmp_path.iterdir()
        assert directory.name.startswith("waza-mocks-")
        assert Path(served.address).is_socket()  # noqa: ASYNC240  as above
        assert (directory.stat().st_mode & 0o077) == 0
        await served.aclose()
        assert await caller.wait() == 127
        assert await server.wait() == 0  # although its standard input is still open
        server.stdin.close()
        assert callers(served.address) == []
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(check())
    assert list(tmp_path.iterdir()) == []


def test_closing_what_never_started_is_harmless():
    async def check() -> None:
        served = Relay()
        await served.aclose()

    asyncio.run(check())


def test_the_shim_imports_little():
    """An agent waits for every start: what is imported is exact, and the same on a busy machine."""
    shim = Path(sys.modules[Relay.__module__].__file__ or "").with_name("shim.py")
    code = f"import sys, runpy; runpy.run_path({str(shim)!r}); print(*sorted(sys.modules))"
    done = asyncio.run(process.run([sys.executable, "-I", "-S", "-c", code]))
    heavy = {
        "asyncio",
        "subprocess",
        "pathlib",
        "shutil",
        "threading",
        "tempfile",
        "inspect",
        "dataclasses",
        "msgspec",
        "waza",
    }
    assert done.ok
    assert not heavy & set(done.stdout.decode().split())
