"""MCP servers of a suite: what can be known of them before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.program import write_tree

from waza.errors import SuiteError
from waza.model.loaded import Suite
from waza.suite.load import load
from waza.suite.loading import LoadOptions

REAL = "config: {executor: copilot-sdk, model: m"
TASK = "inputs: {prompt: p}\nexpected: {output_contains: [a]}\n"


def suite(root: Path, servers: str, more: str = "", **asked: Any) -> Suite:
    head = f"{REAL}, mcp_servers: {{{servers}}}}}\ntasks: [t.yaml]\n{more}"
    write_tree(root, {"eval.yaml": head, "t.yaml": TASK})
    return load(root / "eval.yaml", LoadOptions(**asked))


def told(root: Path, servers: str, more: str = "") -> list[str]:
    try:
        problems = suite(root, servers, more).warnings
    except SuiteError as error:
        problems = tuple(error.problems)
    return [f"{one.path.removeprefix('config.mcp_servers.')}: {one.message}" for one in problems]


@pytest.mark.parametrize(
    ("server", "wanted"),
    [
        ("x: {}", "x: has neither command nor url"),
        ("x: 3", "x: must be a mapping of keys, not the number 3"),
        ("x: {type: zzz, command: sh}", "x.type: the text 'zzz' is not one of: local, stdio, http, sse"),
        ("x: {comand: python}", "x.comand: unknown key 'comand'"),
        ("x: {command: sh, arg: [a]}", "x.arg: unknown key 'arg'"),
        ("x: {command: [sh, -c]}", "x.command: must be a text, not a list"),
        ("x: {command: sh, args: -c}", "x.args: must be a list, not the text '-c'"),
        (
            "x: {command: no-such-program-anywhere}",
            "x.command: there is no program 'no-such-program-anywhere'",
        ),
        ("x: {command: ./no/server}", "x.command: there is no program './no/server'"),
        ("x: {command: sh, env: {PATH: /nowhere}}", "x.command: there is no program 'sh'"),
        ("x: {type: http, command: sh}", "x: a server of type 'http' needs a url"),
        ("x: {type: stdio, url: 'http://h'}", "x: a server of type 'stdio' needs a command"),
        ("x: {url: localhost:80}", "x.url: 'localhost:80' is not the address of a server"),
        ("x: {url: 'http://h:99999'}", "x.url: 'http://h:99999' is not the address of a server"),
        ("x: {command: sh, timeout: 5s}", "x.timeout: must be a whole number"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, server: str, wanted: str) -> None:
    [line] = told(tmp_path, server)
    assert line.startswith(wanted)
    with pytest.raises(SuiteError):
        suite(tmp_path, server)


@pytest.mark.parametrize(
    "server",
    [
        "x: {command: sh, args: [-c, 'exit 0', 8080], env: {A: 1}, tools: []}",
        "x: {type: local, command: sh, oauthClientId: y, isDefaultServer: true}",
        "x: {url: 'https://h.example/mcp', headers: {A: b}}",
        "x: {type: sse, url: 'http://[::1]:80/'}",
        "x: {command: sh, working_directory: /srv, args: [server.py]}",
    ],
)
def test_what_may_work_is_accepted_with_keys_of_the_runtime(tmp_path: Path, server: str) -> None:
    assert told(tmp_path, server) == []


def test_files_beside_the_suite_are_handed_over_with_absolute_paths(tmp_path: Path) -> None:
    write_tree(tmp_path, {"srv.py": "", "bin/tool": "#!/bin/sh\n"})
    (tmp_path / "bin/tool").chmod(0o755)
    found = suite(
        tmp_path, "a: {command: sh, args: [srv.py, -v, 1.10]}, b: {command: bin/tool, extra: {k: [1]}}"
    )
    assert found.file.config.mcp_servers == {
        "a": {"command": "sh", "args": [str(tmp_path / "srv.py"), "-v", "1.10"]},
        "b": {"command": str(tmp_path / "bin/tool"), "extra": {"k": [1]}},
    }
    assert not Path("srv.py").exists()  # so that it was the suite's directory that counted


def test_a_script_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    assert told(tmp_path, "x: {command: sh, args: [server.py]}") == [
        "x.args[0]: there is no file 'server.py' beside the suite"
    ]


def test_a_program_that_a_hook_may_make_is_a_warning(tmp_path: Path) -> None:
    hooks = "hooks: {before_run: [{command: make}]}\n"
    assert (
        suite(tmp_path, "x: {command: ./server}", hooks).warnings[0].hint == "a before_run hook may create it"
    )


def test_programs_of_servers_that_do_not_run_are_not_missed(tmp_path: Path) -> None:
    mocks = "mcp_mocks: [{name: x, tools: {t: {responses: [{return: 1}]}}}]\n"
    assert told(tmp_path, "x: {command: no-such-program-anywhere}", mocks) == []
    scripted = suite(tmp_path, "x: {command: no-such-program-anywhere}", executor="mock").warnings
    assert [one.message for one in scripted] == ["has no effect with the executor 'mock'"]
