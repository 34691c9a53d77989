"""Suites on the real runtime with a scripted model: what came of them, and what the models were asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.model_server import Call, ModelServer, Reply, Scripts, Turn
from tests.support.program import Ended, waza, write_tree
from tests.support.runtime import copilot_environment

FINE = {"type": "text", "name": "said", "config": {"contains": ["fine"]}}

# Two tools, of which one leaves a file; by hand, since the package that could do it takes a second to import.
MCP_SERVER = """
import json, pathlib, sys
schema = {"type": "object", "properties": {"path": {"type": "string"}}}
for line in sys.stdin:
    request = json.loads(line)
    params, result = request.get("params") or {}, {}
    if request["method"] == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "hands", "version": "1"}}
    elif request["method"] == "tools/list":
        result = {"tools": [{"name": n, "description": n, "inputSchema": schema} for n in ("touch", "look")]}
    elif request["method"] == "tools/call":
        if params["name"] == "touch":
            pathlib.Path(params["arguments"]["path"]).touch()
        result = {"content": [{"type": "text", "text": "done: " + params["name"]}]}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@dataclass(frozen=True)
class Seen:
    """A call of `waza run`, its results, and the server with what the models were asked."""

    ended: Ended
    results: dict[str, Any]
    server: ModelServer

    def run(self, task: str, number: int = 1) -> dict[str, Any]:
        """A trial of a task."""
        (found,) = (one for one in self.results["tasks"] if one["test_id"] == task)
        return next(run for run in found["runs"] if run["run_number"] == number)

    def asked(self, text: str) -> list[Turn]:
        """The questions to a model after a message that holds this text, in their order."""
        turns = [request.turn for request in self.server.requests if request.turn]
        return [turn for turn in turns if text in turn.user]


def task(prompt: str, **keys: Any) -> dict[str, Any]:
    """A task; keys named as inputs go below `inputs`."""
    inputs = {name: keys.pop(name) for name in ("files", "follow_up_prompts", "responder") if name in keys}
    return {"inputs": {"prompt": prompt, **inputs}, **keys}


def write_suite(
    root: Path, tasks: Mapping[str, Mapping[str, Any]], name: str = "eval", *, workers: int = 4, **keys: Any
) -> Path:
    """Write a suite and its tasks; what is not `config` goes to the top level. JSON is YAML."""
    config = {"model": "test-model", "parallel": True, "workers": workers, **keys.pop("config", {})}
    suite = {"name": name, "config": config, "graders": [FINE], "tasks": [f"{name}/*.yaml"], **keys}
    files = {f"{name}/{stem}.yaml": json.dumps(one) for stem, one in tasks.items()}
    write_tree(root, {f"{name}.yaml": json.dumps(suite), **files})
    return root / f"{name}.yaml"


def run(suite: Path, scripts: Scripts, *flags: str, **env: str) -> Seen:
    """Run a suite that loads; every question to a model must find its script."""
    with ModelServer(scripts) as server:
        ended = waza("run", suite, *flags, cwd=suite.parent, env=copilot_environment(server, **env))
    assert ended.code in (0, 1), ended.err
    assert "Traceback" not in ended.err
    assert server.unscripted == []
    return Seen(ended, ended.results(), server)


def definition(name: str, tools: str | None = None, body: str = "Be good.") -> str:
    """The text of an `.agent.md` or a `SKILL.md`."""
    lines = [f"name: {name}", f"description: what {name} is for"] + ([f"tools: {tools}"] if tools else [])
    return "\n".join(["---", *lines, "---", "", body, ""])


def bash(command: str) -> Call:
    """A command in the agent's shell."""
    return Call("bash", {"command": command, "description": "works"})


def touch(path: Path) -> Call:
    """A command that leaves a file."""
    return bash(f"touch '{path}'")


def tools_server(root: Path) -> dict[str, Any]:
    """The entry of `mcp_servers` for the server `hands` with the tools `touch` and `look`."""
    write_tree(root, {"hands.py": MCP_SERVER})
    return {"hands": {"command": sys.executable, "args": [str(root / "hands.py")]}}


def calls_then_fine(*calls: Call) -> list[Reply]:
    """A script: these calls, and then the right answer whatever became of them."""
    return [Reply(calls=calls), Reply("all is fine")]
