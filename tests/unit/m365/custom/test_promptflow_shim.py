"""The stand-in for promptflow: when it serves, when the real one does, and what it says it has not."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.evaluators import JUDGE, LIMIT, PROMPTY, asked, case, code_only, write_evaluator
from tests.support.model_server import ModelServer, Reply

import waza
from waza.m365.custom import promptflow_shim
from waza.m365.custom.custom_result import CustomResult
from waza.m365.custom.discover import discover
from waza.m365.custom.pool import CustomPool

REAL_CLIENT = """
import os
SEEN = [os.environ.get("APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED"), os.environ.get("PF_HOME_DIRECTORY")]

def load_flow(source, model):
    return lambda **given: {"score": 2, "reason": "the real one " + " ".join(map(str, SEEN))}
"""


NO_FLOW = (
    "waza's stand-in for promptflow.core has no 'Flow'; "
    "install promptflow-core and promptflow-devkit for the whole of it"
)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Makes files of a promptflow that children find, and waza does not."""

    def install(**files: str) -> None:
        package = tmp_path / "installed" / "promptflow"
        package.mkdir(parents=True)
        for name, text in {"__init__": "", **files}.items():
            (package / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))

    return install


def judged(tmp_path: Path, code: str = JUDGE, **options) -> CustomResult:
    write_evaluator(tmp_path, "check", code, PROMPTY)
    with ModelServer({"": [Reply('{"score": 4, "reason": "the stand-in"}')]}) as server:
        configuration = {"base_url": server.base_url, "api_key": "k", "model": "m"}
        return asked(tmp_path, "check", case(model_config=configuration), **options)[0]


def import_problems(tmp_path: Path, code: str, **options) -> list[str]:
    write_evaluator(tmp_path, "check", code, PROMPTY)

    async def scenario() -> list[str]:
        async with CustomPool(timeout=LIMIT, **options) as host:
            problems = await host.start(discover(tmp_path, ["check"]).evaluators)
            return [problem.message for problem in problems]

    return asyncio.run(scenario())


@pytest.mark.parametrize("runtime", ["auto", "builtin"])
def test_it_serves_where_there_is_no_promptflow(tmp_path, runtime):
    assert judged(tmp_path, runtime=runtime) == CustomResult(4, "the stand-in")


def test_a_real_promptflow_wins_and_finds_its_telemetry_off(tmp_path, installed, monkeypatch):
    installed(client=REAL_CLIENT)
    monkeypatch.setenv("WAZA_MODULE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PF_HOME_DIRECTORY", raising=False)
    monkeypatch.setenv("APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED", "false")
    reason = f"the real one true {tmp_path / 'cache' / 'promptflow'}"
    assert judged(tmp_path) == CustomResult(2, reason)
    monkeypatch.setenv("PF_HOME_DIRECTORY", "/people/know/better")
    assert judged(tmp_path, runtime="promptflow") == CustomResult(2, "the real one true /people/know/better")


def test_it_can_be_put_before_a_real_promptflow(tmp_path, installed):
    installed(client=REAL_CLIENT)
    assert judged(tmp_path, runtime="builtin") == CustomResult(4, "the stand-in")


def test_of_a_real_core_only_the_missing_client_is_supplied(tmp_path, installed):
    installed(core="NAME = 'the real core'")
    code = "from promptflow.core import NAME\n" + JUDGE.replace(
        "return self._flow(user_prompt=prompt, response=response)", "return {'score': 3, 'reason': NAME}"
    )
    assert judged(tmp_path, code) == CustomResult(3, "the real core")
    assert judged(tmp_path) == CustomResult(4, "the stand-in")


def test_it_can_be_left_out(tmp_path):
    assert import_problems(tmp_path, JUDGE, runtime="promptflow") == [
        "Custom evaluator 'check' failed to import: ModuleNotFoundError: No module named 'promptflow'"
    ]


def test_the_core_has_prompty(tmp_path):
    code = JUDGE.replace("client import load_flow", "core import Prompty").replace(
        "load_flow(", "Prompty.load("
    )
    assert judged(tmp_path, code) == CustomResult(4, "the stand-in")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("from promptflow.core import Flow", f"ImportError: {NO_FLOW}"),
        ("from promptflow.tracing import trace", "ModuleNotFoundError: No module named 'promptflow.tracing'"),
    ],
)
def test_what_it_has_not_is_reported(tmp_path, statement, text):
    problems = import_problems(tmp_path, f"{statement}\nclass Check: ...")
    assert problems == [f"Custom evaluator 'check' failed to import: {text}"]


def test_it_is_a_module_like_others(tmp_path):
    """Importers, inspectors and `hasattr` meet no surprise."""
    code = """
import importlib, inspect, promptflow, promptflow.client as client, promptflow.core
assert importlib.import_module("promptflow.client") is promptflow.client is client
assert client.__name__ == client.__spec__.name == "promptflow.client"
assert not hasattr(client, "__wrapped__") and inspect.getmodule(client.load_flow) is not None
"""
    assert import_problems(tmp_path, code + "class Check: ...") == []


def test_code_only_evaluators_have_it_too_but_pay_nothing_for_it(tmp_path):
    returned = "{'score': 1, 'reason': ' '.join(m for m in ('jinja2', 'httpx', 'yaml') if m in sys.modules)}"
    write_evaluator(tmp_path, "check", "import sys\n" + code_only(returned))
    assert asked(tmp_path, "check") == [CustomResult(1, "")]


def test_a_missing_extra_is_reported(monkeypatch):
    def without_jinja(name: str) -> ModuleSpec | None:
        return None if name == "jinja2" else importlib.util.find_spec(name)

    monkeypatch.setattr(promptflow_shim, "find_spec", without_jinja)
    spec = promptflow_shim._Finder(None).find_spec("promptflow.client", None)
    assert spec is not None
    with pytest.raises(ImportError, match=r"^judge prompts need jinja2: pip install 'waza\[m365\]'$"):
        spec.loader.exec_module(ModuleType("promptflow.client"))  # type: ignore[union-attr]  # it has one


def test_nothing_of_it_is_in_this_process_or_beside_our_package(tmp_path):
    before = list(sys.meta_path)
    judged(tmp_path)
    assert sys.meta_path == before
    assert not {name for name in sys.modules if name.partition(".")[0] == "promptflow"}
    assert "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED" not in os.environ
    assert not (Path(waza.__file__).parent.parent / "promptflow").exists()
