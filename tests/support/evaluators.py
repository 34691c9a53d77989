"""Custom evaluators of a test: their folders, and their calls through the real host and its processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from waza.kit.process import find_leftovers
from waza.m365.custom.custom_result import CustomKind, CustomResult, Number
from waza.m365.custom.discover import discover
from waza.m365.custom.pool import CustomPool
from waza.m365.evaluators.protocols import result_from
from waza.m365.results.status import entry_of

Result = TypeVar("Result")

LIMIT = 60.0  # seconds; an evaluator that hangs by mistake fails its test

# What every judge gets where a test says nothing else: no server listens there.
NO_MODEL = {"base_url": "http://127.0.0.1:9/v1", "api_key": "k", "model": "m"}

PROMPTY = """---
name: tone
model:
  api: chat
  parameters:
    temperature: 0.0
    response_format: {type: json_object}
inputs:
  user_prompt: {type: string}
  response: {type: string}
---
system:
Score it.

user:
{{user_prompt}}

# Response
{{response}}
"""

# The wrapper that most people write: the steps of the documentation, and nothing else.
JUDGE = """
from pathlib import Path
from promptflow.client import load_flow

class Judge:
    def __init__(self, *, model_config, threshold, options=None):
        prepared_config = dict(model_config)
        prepared_config.setdefault(
            "type",
            "azure_openai" if "azure_endpoint" in prepared_config else "openai",
        )
        prompty_path = str(Path(__file__).with_suffix(".prompty"))
        self._flow = load_flow(source=prompty_path, model={"configuration": prepared_config})

    def __call__(self, *, prompt="", response="", **_):
        return self._flow(user_prompt=prompt, response=response)
"""


def write_evaluator(
    root: Path, name: str, code: str, prompty: str | None = None, beside: Mapping[str, str] | None = None
) -> Path:
    """Write the folder of an evaluator, a judge if there is a prompty, and return it."""
    folder = root / "custom-evaluators" / name
    files = {f"{name}.py": code, **(beside or {})}
    if prompty is not None:
        files[f"{name}.prompty"] = prompty
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def code_only(returned: str, *, before: str = "") -> str:
    """The code of an evaluator that returns an expression, which may use the four arguments."""
    return f"""
class Check:
    def __init__(self, *, threshold, options=None):
        self.threshold, self.options = threshold, options

    def __call__(self, *, prompt, response, expected_response, context):
        {before or "pass"}
        return {returned}
"""


def case(**changes: Any) -> dict[str, Any]:
    """The arguments of a call, with some of them changed."""
    return {
        "threshold": None,
        "options": None,
        "model_config": NO_MODEL,
        "key": "item-1",
        "prompt": "Q",
        "response": "A",
        **changes,
    }


def hosted(
    root: Path, names: list[str], talk: Callable[[CustomPool], Awaitable[Result]], **options: Any
) -> Result:
    """Start the evaluators, which must all be right, talk to their host, and end it without a trace."""

    async def scenario() -> Result:
        found = discover(root, names)
        assert [str(problem) for problem in found.problems if problem.severity == "error"] == []
        async with CustomPool(**{"timeout": LIMIT, **options}) as host:
            assert await host.start(found.evaluators) == []
            return await talk(host)

    result = asyncio.run(scenario())
    assert find_leftovers() == []
    return result


def asked(root: Path, name: str, *cases: Mapping[str, Any], **options: Any) -> list[CustomResult]:
    """Call an evaluator, once for each case and one after the other."""

    async def talk(host: CustomPool) -> list[CustomResult]:
        return [await host.call(name, **case) for case in cases or [case()]]

    return hosted(root, [name], talk, **options)


def entry(found: CustomResult, threshold: Number, kind: CustomKind = "code") -> dict[str, Any]:
    """The entry of a document for what an evaluator gave."""
    return entry_of(result_from(found, threshold, "check", kind))


def judged_as(root: Path, code: str, prompty: str | None = None, **changes: Any) -> CustomResult:
    """Write an evaluator named `check`, call it once, and return what came of it."""
    write_evaluator(root, "check", code, prompty)
    return asked(root, "check", case(**changes))[0]
