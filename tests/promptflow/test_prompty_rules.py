"""The rules of judge prompts, CE-60 to CE-66, with the real promptflow and with the stand-in for it.

All prompts of an environment are asked in one run, one item each, since an import of promptflow takes seconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluators import write_evaluator
from tests.support.model_server import Reply
from tests.support.promptflow import WITH_REAL, Judged, judged

WRAPPER = """
import json, os, threading
from pathlib import Path
from promptflow.client import load_flow

class Cases:
    def __init__(self, *, model_config, threshold, options):
        self.given = options["given"]
        typed = {"type": "openai"} if options["typed"] else {}
        self.flow = load_flow(
            source=str(Path(__file__).with_name(options["case"] + ".prompty")),
            model={"configuration": {**model_config, **typed}},
        )

    def __call__(self, **_):
        seen = {"value": None if self.given is None else self.flow(**self.given)}
        seen["home"] = os.environ["PF_HOME_DIRECTORY"]
        seen["disabled"] = os.environ["APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED"]
        seen["threads"] = [thread.name for thread in threading.enumerate()]
        return {"score": 5, "reason": json.dumps(seen)}
"""
PROMPTY = """---
name: rules
model:
  api: chat
  parameters: {parameters}
{inputs}
---
system:
Judge.

user:
{case}: {question}
"""
AS_JSON = "{temperature: 0.0, response_format: {type: json_object}}"
QUESTION = "inputs: {question: {type: string}}"
ROLES = "A\n\nassistant:\nB\n# system:\nC"


@dataclass(frozen=True)
class Case:
    """A prompt, how it is called, and what comes of it: a value, or an error that holds a text.

    `sent` is what the user's message says after the name of the case. `given` None: it is only loaded.
    """

    value: Any = None
    error: str | None = None
    sent: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] | None = field(default_factory=lambda: {"question": "Q"})
    typed: bool = True
    inputs: str = QUESTION
    parameters: str = AS_JSON
    template: str = "{{question}}"
    reply: str = '{"a": [1]}'


PARSED = {"a": [1]}
CASES = {
    "ce-60-undeclared": Case(
        PARSED, sent="[]", template="[{{other}}]", given={"question": "Q", "other": "O"}
    ),
    "ce-60-no-inputs": Case(PARSED, sent="[]", template="[{{question}}]", inputs=""),
    "ce-61-scalar": Case(error="", inputs="inputs: {question: string}"),
    "ce-62-declared": Case(
        error="", inputs="inputs: {prompt: {type: string}}", template="{{prompt}}", given={"prompt": "P"}
    ),
    "ce-62-dropped": Case(
        PARSED, sent="Q[]", template="{{question}}[{{prompt}}]", given={"question": "Q", "prompt": "P"}
    ),
    "ce-63-missing": Case(error="Missing required inputs: ['question']", given={"other": "O"}),
    "ce-63-default": Case(
        PARSED, sent="D", inputs="inputs: {question: {type: string, default: D}}", given={"other": "O"}
    ),
    "ce-64-called": Case(error="Not Support connection type None for embedding api", typed=False),
    "ce-64-loaded": Case(given=None, typed=False),
    "ce-65-known": Case(
        '{"a": [1]}',
        sent="Q",
        parameters="{temperature: 0.25, seed: 7, stop: [yes, no], max_tokens: 9, top_p: 0.5}",
        body={"temperature": 0.25, "seed": 7, "stop": ["yes", "no"], "max_tokens": 9, "top_p": 0.5},
    ),
    "ce-65-unknown": Case(error="temprature", parameters="{temprature: 0.25}"),
    "ce-66-list": Case([4], sent="Q", reply="[4]"),
    "ce-66-null": Case(None, sent="Q", reply="null"),
    "ce-66-fenced": Case(error="", sent="Q", reply='```json\n{"a": [1]}\n```'),
    "ce-66-words": Case(error="", sent="Q", reply='Here: {"a": [1]}'),
    "role-lines": Case(PARSED, sent=ROLES, given={"question": ROLES}),
}
# What the stand-in accepts, and the real one does not.
DIFFERENT = {
    "a-rule": Case(PARSED, sent="Q\n---\nmore", template="{{question}}\n---\nmore"),
    "no-parameters": Case('{"a": [1]}', sent="Q", parameters="null"),
}
ALL = {**CASES, **DIFFERENT}


def item(name: str, case: Case) -> dict[str, Any]:
    options = {"case": name, "given": case.given, "typed": case.typed}
    return {
        "name": name,
        "prompt": "P",
        "response": "R",
        "evaluators_mode": "replace",
        "evaluators": {"cases": {"options": options}},
    }


@dataclass(frozen=True)
class Run:
    """All cases in one environment."""

    runtime: str
    root: Path
    judged: Judged

    def score(self, name: str) -> dict[str, Any]:
        score: dict[str, Any] = self.judged.scores[list(ALL).index(name)]["cases"]
        return score

    def seen(self, name: str) -> dict[str, Any]:
        """What the evaluator tells of its process, and the value that the model's answer became."""
        seen: dict[str, Any] = json.loads(self.score(name)["reason"])
        return seen

    def bodies(self, name: str) -> list[dict[str, Any]]:
        """What the model was asked in a case."""
        asked = [request.turn for request in self.judged.asked if request.turn]
        return [turn.body for turn in asked if turn.user.startswith(f"{name}:")]


@pytest.fixture(scope="module", params=["builtin", pytest.param("promptflow", marks=WITH_REAL)])
def run(request, tmp_path_factory) -> Run:
    root = tmp_path_factory.mktemp(request.param)
    prompts = {}
    for name, case in ALL.items():
        text = PROMPTY.replace("{parameters}", case.parameters).replace("{inputs}", case.inputs)
        prompts[f"{name}.prompty"] = text.replace("{case}", name).replace("{question}", case.template, 1)
    write_evaluator(root, "cases", WRAPPER, "the discriminator", beside=prompts)
    items = [item(name, case) for name, case in ALL.items()]
    replies = {f"{name}:": [Reply(case.reply)] for name, case in ALL.items()}
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("PF_HOME_DIRECTORY", "WAZA_HOME", "WAZA_MODULE_CACHE"):
            patch.delenv(variable, raising=False)
        patch.setenv("APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED", "false")
        return Run(request.param, root, judged(root, request.param, items, replies=replies))


def check(run: Run, name: str, case: Case) -> None:
    score, bodies = run.score(name), run.bodies(name)
    if case.error is None:
        assert run.seen(name)["value"] == case.value, score
    else:
        assert score["result"] == "error"
        assert case.error in score["error"]
    messages = [
        {"role": "system", "content": "Judge."},
        {"role": "user", "content": f"{name}: {case.sent}"},
    ]
    as_json = {"temperature": 0.0, "response_format": {"type": "json_object"}}
    rest = case.body or (as_json if case.parameters == AS_JSON else {})
    assert bodies == ([] if case.sent is None else [{"model": "m", **rest, "messages": messages}])


@pytest.mark.parametrize("name", CASES)
def test_a_rule_holds(run: Run, name: str):
    check(run, name, CASES[name])


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_stand_in_accepts_more(run: Run, name: str):
    if run.runtime == "builtin":
        check(run, name, DIFFERENT[name])
    else:
        assert run.score(name)["result"] == "error"


def test_the_run_says_which_of_the_two_was_in_use(run: Run):
    assert run.judged.ended.err.count(f"load_flow: {run.runtime};") == len(ALL)
    assert run.judged.ended.code == 1


def test_nothing_is_sent_to_others_and_nothing_written_into_the_users_home(run: Run):
    home = run.root / "home"
    seen = run.seen("ce-64-loaded")
    assert Path(seen["home"]) == home / ".waza" / "cache" / "promptflow"
    assert seen["disabled"] == "true"
    # The thread that would ask a server for settings, some seconds later.
    assert "ConfigurationWorker" not in seen["threads"]
    written = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    assert written == ({".waza/cache/promptflow/pf.yaml"} if run.runtime == "promptflow" else set())
