"""The listings of the documentation of custom evaluators, as printed there, through the command line.

The judge is a scripted server on 127.0.0.1, by its OpenAI-compatible address and by that of Azure.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.evaluators import write_evaluator
from tests.support.listings import (
    ABSORBING,
    DOCUMENT,
    FORBIDDEN_TERMS,
    PROFESSIONAL_TONE,
    PROFESSIONAL_TONE_WRAPPER,
)
from tests.support.model_server import ModelServer, Reply, Scripts
from tests.support.program import Ended, strict_json, waza, write_tree
from tests.support.promptflow import judge_variables

# Asks as often as its options say: a wrapper as the documentation describes one, around the same prompt.
CONSISTENCY = PROFESSIONAL_TONE_WRAPPER.replace(
    "    def __call__", "        self.samples = options['samples']\n\n    def __call__"
).replace(
    "        return self._flow(user_prompt=prompt, response=response)\n",
    "        found = [self._flow(user_prompt=prompt, response=response) for _ in range(self.samples)]\n"
    "        return {'score': min(one['score'] for one in found), 'reason': f'{len(found)} samples'}\n",
)
REPLIES: Scripts = {
    "See form T-2": [Reply('{"score": 4, "reason": "polite enough"}')],
    "": [Reply('```json\n{"reason": "answers the question", "score": 5, "status": "completed"}\n```')],
}


def run(root: Path, text: str, judge: str, *flags: str) -> tuple[Ended, dict[str, object], ModelServer]:
    write_tree(root, {"evals.json": text})
    agent = ["--agent", "command:echo See form T-2.", "-o", "r.json"]
    with ModelServer(REPLIES) as server:
        ended = waza("m365", "run", *agent, *flags, cwd=root, env=judge_variables(judge, server))
    return ended, strict_json((root / "r.json").read_bytes())["items"][0], server


@pytest.mark.parametrize("judge", ["openai", "azure"])
def test_the_document_with_its_judges(tmp_path: Path, judge: str):
    write_evaluator(tmp_path, "professional_tone", PROFESSIONAL_TONE_WRAPPER, PROFESSIONAL_TONE)
    write_evaluator(
        tmp_path, "consistency_check", CONSISTENCY.replace("professional_tone.prompty", "consistency_check.prompty"),
        PROFESSIONAL_TONE,
    )  # fmt: skip
    ended, item, server = run(tmp_path, DOCUMENT, judge)
    assert (ended.code, item["status"]) == (0, "pass"), ended.err
    scores = item["scores"]
    assert isinstance(scores, dict)
    assert list(scores) == ["relevance", "coherence", "professional_tone", "consistency_check"]
    assert scores["professional_tone"] == {
        "score": 4, "result": "pass", "threshold": 4, "reason": "polite enough",
    }  # fmt: skip
    assert scores["consistency_check"] == {
        "score": 4,
        "result": "pass",
        "threshold": 3,
        "reason": "5 samples",
    }
    assert len(server.prompts()) == 2 + 1 + 5
    key = {"openai": "authorization", "azure": "api-key"}[judge]
    assert {request.headers[key].removeprefix("Bearer ") for request in server.requests} == {"k"}


def test_the_checks_need_no_judge(tmp_path: Path):
    terms, non_empty = ABSORBING.split("# A check that needs")
    write_evaluator(tmp_path, "forbidden_terms", FORBIDDEN_TERMS)
    write_evaluator(
        tmp_path, "absorbing", terms + FORBIDDEN_TERMS[FORBIDDEN_TERMS.index("    def __call__") :]
    )
    write_evaluator(tmp_path, "non_empty", "# A check that needs" + non_empty)
    options = {"options": {"terms": ["EUR", "form"]}}
    evaluators = {"forbidden_terms": options, "absorbing": options, "non_empty": {}}
    text = {
        "schemaVersion": "1.7.0",
        "items": [{"prompt": "p", "evaluators_mode": "replace", "evaluators": evaluators}],
    }
    ended, item, server = run(tmp_path, json.dumps(text), "none")
    found = {"score": 0, "result": "fail", "threshold": 1, "reason": "Found: form"}
    assert item["scores"] == {
        "forbidden_terms": found,
        "absorbing": found,
        "non_empty": {"score": 1, "result": "pass", "threshold": 1, "reason": "non-empty"},
    }
    assert (ended.code, server.requests) == (1, [])


def test_the_documented_mistakes_get_the_documented_messages(tmp_path: Path):
    write_evaluator(
        tmp_path, "consistency_check", "import nowhere_at_all\n\nclass A: ...\n", PROFESSIONAL_TONE
    )
    (tmp_path / "custom-evaluators" / "professional_tone").mkdir()
    write_tree(tmp_path, {"evals.json": DOCUMENT})
    ended = waza("m365", "run", "--agent", "mock", cwd=tmp_path)
    assert ended.code == 2
    assert "Custom evaluator 'professional_tone' is missing required file 'professional_tone.py'" in ended.err
    (tmp_path / "custom-evaluators" / "professional_tone").rmdir()
    ended = waza("m365", "run", "--agent", "mock", cwd=tmp_path)
    assert "Unknown evaluator 'professional_tone'" in ended.err
    write_evaluator(tmp_path, "professional_tone", PROFESSIONAL_TONE_WRAPPER, PROFESSIONAL_TONE)
    with ModelServer(REPLIES) as server:
        env = judge_variables("openai", server)
        ended = waza("m365", "run", "--agent", "mock", cwd=tmp_path, env=env)
    assert (ended.code, server.requests) == (2, [])
    assert "Custom evaluator 'consistency_check' failed to import" in ended.err
    assert "nowhere_at_all" in ended.err
