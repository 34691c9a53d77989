"""Gradings in real child interpreters, for tests."""

import asyncio

from waza.graders._interpreter import Interpreters
from waza.kit.process import find_leftovers

DEPLOYED = {
    "output": "Deployed web-01 in 3 regions.",
    "outcome": {},
    "transcript": [],
    "tool_calls": [{"name": "bash", "arguments": {"command": "deploy"}}],
    "duration_ms": 12,
    "command_invocations": [],
}

# How an assertion that means harm reaches the os module: no import, no built-in, attributes only.
OS = "[c for c in ''.__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__"
PID = f"{{}}[{OS}['getpid']()]"  # fails with the process id as its text


def in_children(scenario, limit: int = 2):
    """Run the scenario with interpreters of its own; nothing may be left afterwards."""

    async def whole():
        interpreters = Interpreters(limit)
        try:
            return await scenario(interpreters)
        finally:
            await interpreters.aclose()

    result = asyncio.run(whole())
    assert find_leftovers() == []
    return result


def evaluated(*assertions: str, language="python", timeout: float = 20, **names) -> list[str | None]:
    async def scenario(interpreters: Interpreters):
        return await interpreters.evaluate(language, {**DEPLOYED, **names}, assertions, timeout)

    results: list[str | None] = in_children(scenario)
    return results


def javascript(*assertions: str, **names) -> list[str | None]:
    return evaluated(*assertions, language="javascript", **names)
