"""Where the class of a custom evaluator may come from, and what is said where it is another one than was meant."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.evaluators import JUDGE, LIMIT, PROMPTY, asked, case, code_only, write_evaluator
from tests.support.model_server import ModelServer, Reply

from waza.m365.custom.custom_result import CustomResult
from waza.m365.custom.discover import discover
from waza.m365.custom.pool import CustomPool

ONE = code_only("{'score': 1}")
TERMS = "class Terms:\n    words = ['a']\n"


def problems(root: Path, name: str = "check") -> list[str]:
    """What is said of an evaluator until it is imported."""

    async def scenario() -> list[str]:
        found = discover(root, [name])
        async with CustomPool(timeout=LIMIT) as host:
            started = await host.start(found.evaluators)
        return [f"{one.message}; {one.hint}" for one in (*found.problems, *started)]

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("code", "beside"),
    [
        ("from helper import Check", {"helper.py": ONE}),
        ("from helper import Check as Mine", {"helper.py": ONE}),
        ("from parts.more import Check", {"parts/__init__.py": "", "parts/more.py": ONE}),
        ("import helper\nMine = helper.Check", {"helper.py": ONE}),
        (
            """
def call(self, **_):
    return {'score': 1}
Made = type('Made', (), {'__init__': lambda self, **_: None, '__call__': call})
""",
            {},
        ),
        ("import logging\nlog = logging.getLogger('x')\nfrom helper import Check", {"helper.py": ONE}),
    ],
)
def test_a_class_from_beside_or_made_by_a_call_is_found(tmp_path: Path, code: str, beside: dict[str, str]):
    write_evaluator(tmp_path, "check", code, beside=beside)
    assert asked(tmp_path, "check") == [CustomResult(1)]


def test_a_class_of_a_library_is_no_evaluator(tmp_path: Path):
    write_evaluator(tmp_path, "check", "from pathlib import Path\nfrom decimal import Decimal")
    assert [said.partition(";")[0] for said in problems(tmp_path)] == [
        "Custom evaluator 'check' has no class"
    ]


def test_a_helper_in_front_is_refused_and_the_real_one_is_not_to_be_moved(tmp_path: Path):
    write_evaluator(tmp_path, "check", TERMS + ONE)
    warning, error = problems(tmp_path)
    assert warning.endswith(
        "; it has no __call__; put 'Check' before it, or move 'Terms' into a module beside it"
    )
    assert (
        "the class Terms, the first one, has no method __call__; put Check before it, or move Terms" in error
    )


def test_an_inherited_call_is_a_call(tmp_path: Path):
    write_evaluator(
        tmp_path,
        "check",
        "from base import Base\nclass Mine(Base): ...",
        beside={"base.py": ONE + "Base = Check"},
    )
    assert asked(tmp_path, "check") == [CustomResult(1)]


@pytest.mark.parametrize("kind", ["openai", "azure"])
def test_model_configurations_of_promptflow_can_be_given(tmp_path: Path, kind: str):
    made = {
        "openai": "OpenAIModelConfiguration(model='m', base_url=given['base_url'], api_key='k')",
        "azure": "AzureOpenAIModelConfiguration(azure_deployment='m', azure_endpoint=given['base_url'][:-3], "
        "api_version='v', api_key='k')",
    }
    code = JUDGE.replace(
        "from promptflow.client import load_flow",
        "from promptflow.client import load_flow\n"
        "from promptflow.core import AzureOpenAIModelConfiguration, OpenAIModelConfiguration",
    ).replace("prepared_config})", f"(lambda given: {made[kind]})(prepared_config)}})")
    write_evaluator(tmp_path, "check", code, PROMPTY)
    with ModelServer({"": [Reply('{"score": 4}')]}) as server:
        configuration = {"base_url": server.base_url, "api_key": "k", "model": "m"}
        assert asked(tmp_path, "check", case(model_config=configuration)) == [CustomResult(4)]


def test_a_static_reference_to_an_image_is_text(tmp_path: Path):
    prompty = PROMPTY.replace("Score it.", "Score it.\n![image](logo.png)")
    write_evaluator(tmp_path, "check", JUDGE, prompty)
    with ModelServer({"": [Reply('{"score": 4}')]}) as server:
        configuration = {"base_url": server.base_url, "api_key": "k", "model": "m"}
        assert asked(tmp_path, "check", case(model_config=configuration)) == [CustomResult(4)]
        assert "![image](logo.png)" in server.systems()[0]


def test_no_json_is_called_so_whatever_runs_the_prompt(tmp_path: Path):
    code = code_only("__import__('json').loads('The score is 4')").replace(
        "threshold,", "threshold, model_config,"
    )
    write_evaluator(tmp_path, "check", code, PROMPTY)
    assert asked(tmp_path, "check")[0].error.startswith("Evaluator failed: could not parse score: ")
    write_evaluator(tmp_path, "plain", code_only("__import__('json').loads('The score is 4')"))
    assert "could not parse score" not in asked(tmp_path, "plain")[0].error
