import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest
from tests.support.model_server import ModelServer, Reply
from tests.support.runtime import copilot_environment

from waza.errors import ExecutorError
from waza.m365.judges.choose import make_judge
from waza.m365.judges.judge_model import JudgeError, Message

ASK_COPILOT = """
import asyncio, os
from waza.m365.judges.judge_model import Message
from waza.m365.judges.choose import make_judge

async def whole():
    judge = make_judge("github-copilot", os.environ)
    try:
        reply = await judge.complete([Message("system", "Judge."), Message("user", "Is it good? \\ud800")])
        return reply.text
    finally:
        await judge.aclose()

print(asyncio.run(whole()))
"""


@pytest.mark.slow
def test_copilot_judges_without_tools():
    with ModelServer({"Is it good?": [Reply('{"score": 4}')]}) as server:
        env = {**os.environ, **copilot_environment(server)}
        ended = subprocess.run(  # the SDK leaves pipes to the end of its process
            [sys.executable, "-c", ASK_COPILOT],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
    assert (ended.stdout.strip(), ended.returncode) == ('{"score": 4}', 0), ended.stderr
    asked = [request for request in server.requests if request.turn]
    assert len(asked) == 1
    assert "Judge." in str(asked[0].body["messages"])
    assert not asked[0].body.get("tools")


@pytest.mark.parametrize(("backend", "env"), [("copilot", {}), ("", {"GITHUB_COPILOT_JUDGE_MODEL": "auto"})])
def test_copilot_needs_its_sdk(monkeypatch, backend, env):
    def load(group: str, name: str) -> Any:
        raise ModuleNotFoundError("No module named 'copilot'", name="copilot")

    monkeypatch.setattr("waza.m365.judges.copilot.load_plugin", load)
    with pytest.raises(JudgeError, match=r"pip install 'waza\[copilot\]'"):
        make_judge(backend, env)


def test_copilot_without_a_login_is_an_error(monkeypatch):
    class Away:
        def __init__(self, setup: Any) -> None:
            assert setup.model == "gpt-x"

        async def start(self) -> None:
            raise ExecutorError("not logged in")

        async def aclose(self) -> None:
            pass

    monkeypatch.setattr("waza.m365.judges.copilot.load_plugin", lambda *_: Away)
    judge = make_judge("", {"GITHUB_COPILOT_JUDGE_MODEL": "gpt-x"})
    with pytest.raises(JudgeError, match=r"^GitHub Copilot gave no judgement: not logged in$"):
        asyncio.run(judge.complete([Message("user", "Is it good?")]))
