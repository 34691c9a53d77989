"""Judges as the command line meets them: probed once before the first prompt, and told of what they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import document, statuses
from tests.support.evaluators import JUDGE, PROMPTY, code_only, write_evaluator
from tests.support.model_script import Reply
from tests.support.model_server import ModelServer
from tests.support.program import Ended, mock_suite, waza, write_tree

GOOD = Reply('{"score": 4, "reason": "good"}')
NOBODY = "http://127.0.0.1:9/v1"
AGENT = "command:touch asked; echo yes"
RELEVANCE: dict[str, Any] = {"Relevance": {}}

# What an environment with azure-identity has, for somebody who is signed in.
IDENTITY = """
class DefaultAzureCredential:
    def get_token(self, scope):
        class Token:
            token = "token-of-" + scope.split("//")[1].split(".")[0]
        return Token()
"""


def judged(root: Path, env: dict[str, str], *flags: str, **keys: Any) -> Ended:
    """Run a document of two prompts that a judge judges; the agent leaves the file `asked`."""
    keys = {"default_evaluators": RELEVANCE, **keys}
    write_tree(root, {"evals.json": document({"prompt": "p"}, {"prompt": "q"}, **keys)})
    return waza(
        *("m365", "run", "evals.json", "--agent", AGENT, "-o", "result.json", *flags), cwd=root, env=env
    )


def was_asked(root: Path) -> bool:
    return (root / "asked").exists()


@pytest.mark.parametrize(
    ("env", "advice"),
    [
        ({"OPENAI_BASE_URL": NOBODY}, "check whether the server runs, and OPENAI_BASE_URL"),
        (
            {"AZURE_AI_OPENAI_ENDPOINT": "http://127.0.0.1:9", "AZURE_AI_API_KEY": "k"},
            "check whether the server runs, and AZURE_AI_OPENAI_ENDPOINT",
        ),
    ],
)
def test_a_judge_that_is_not_there_stops_the_run_before_the_first_prompt(tmp_path: Path, env, advice):
    ended = judged(tmp_path, env)
    assert (ended.code, was_asked(tmp_path)) == (2, False)
    assert "cannot be reached: ConnectError" in ended.err
    assert advice in ended.err
    assert "asking again" not in ended.err


def test_questions_to_a_judge_behind_http_are_spans(tmp_path: Path):
    answers = {"\nq\n": [Reply(status=400, body={})], "": [GOOD]}
    flags = ("--otel-exporter", "file", "--otel-file", "spans.ndjson", "--otel-compat", "--concurrency", "1")
    with ModelServer(answers, models=["m-1"]) as server:
        ended = judged(tmp_path, {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "m-1"}, *flags)
    assert ended.code == 1
    lines = [json.loads(line) for line in (tmp_path / "spans.ndjson").read_text().splitlines()]
    by_id = {line["context"]["span_id"]: line for line in lines if "name" in line}
    good, bad = (span for span in by_id.values() if span["name"] == "waza.judge")
    for span in (good, bad):
        assert by_id[span["parent_id"]]["name"] == "waza.grader"
        said = span["attributes"]
        assert said["gen_ai.provider.name"] == said["gen_ai.system"] == "openai"
        assert (said["gen_ai.request.model"], said["waza.judge.asker"]) == ("m-1", "Relevance")
    tokens = [good["attributes"][f"gen_ai.usage.{kind}_tokens"] for kind in ("input", "output")]
    assert tokens == [GOOD.usage.input, GOOD.usage.output]
    assert "gen_ai.usage.input_tokens" not in bad["attributes"]
    assert bad["attributes"]["error.type"] == "judge"
    assert "HTTP 400" in bad["status"]["description"]


def test_a_judge_that_refuses_the_key_stops_the_run_before_the_first_prompt(tmp_path: Path):
    class Locked(ModelServer):
        async def _handle(self, http: Any) -> Any:
            from aiohttp import web

            return web.json_response({"error": {"message": "wrong key"}}, status=401)

    with Locked() as server:
        ended = judged(tmp_path, {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-0123456789"})
    assert (ended.code, was_asked(tmp_path)) == (2, False)
    assert "HTTP 401: wrong key; check OPENAI_API_KEY" in ended.err


def test_the_probe_costs_nothing_and_is_made_once(tmp_path: Path):
    with ModelServer({"": [GOOD]}, models=["gpt-4o-mini"]) as server:
        ended = judged(tmp_path, {"OPENAI_BASE_URL": server.base_url})
        paths = [request.path for request in server.requests]
    assert (ended.code, "does not list" in ended.err) == (0, False)
    assert paths == ["/v1/models", "/v1/chat/completions", "/v1/chat/completions"]


def test_a_server_without_a_list_of_models_is_there_all_the_same(tmp_path: Path):
    with ModelServer({"": [GOOD]}) as server:
        base = server.base_url.removesuffix("/v1")  # below it there is no list
        env = {"AZURE_AI_OPENAI_ENDPOINT": base, "AZURE_AI_API_KEY": "key-0123456789"}
        assert judged(tmp_path, env).code == 0


def test_a_model_that_the_server_does_not_list_is_warned_of(tmp_path: Path):
    with ModelServer({"": [GOOD]}, models=["one", "two"]) as server:
        ended = judged(tmp_path, {"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "three"})
    assert ended.code == 0
    assert "the judge three at 127.0.0.1: its server does not list this model; it lists one, two" in ended.err


def test_nobody_probes_a_judge_that_nothing_asks(tmp_path: Path):
    ended = judged(tmp_path, {"OPENAI_BASE_URL": NOBODY}, default_evaluators={"Citations": {}})
    assert (ended.code, was_asked(tmp_path)) == (1, True)


def test_the_limit_of_a_judgement_is_an_option(tmp_path: Path):
    with ModelServer({"": [Reply(hang=True)]}) as server:
        ended = judged(tmp_path, {"OPENAI_BASE_URL": server.base_url}, "--judge-timeout", "0.5")
    assert ended.code == 1
    assert "gave no answer within 0.5 s" in ended.err


def test_a_project_of_foundry_is_a_judge_for_who_is_signed_in(tmp_path: Path):
    write_tree(tmp_path, {"lib/azure/__init__.py": "", "lib/azure/identity.py": IDENTITY})
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY)
    with ModelServer({"": [GOOD]}) as server:
        project = f"{server.base_url.removesuffix('/v1')}/api/projects/desk"
        env = {
            "AZURE_AI_PROJECT_ENDPOINT": project,
            "AZURE_AI_MODEL_NAME": "gpt-5-mini",
            "AZURE_AI_API_KEY": "key-of-another-endpoint",
            "PYTHONPATH": str(tmp_path / "lib"),
        }
        ended = judged(tmp_path, env, default_evaluators={"Relevance": {}, "tone": {}})
        requests = server.requests
    assert ended.code == 0, ended.err
    completions = [request for request in requests if "/chat/completions" in request.path]
    assert len(completions) == 4
    for request in completions:
        assert request.path.startswith("/openai/deployments/gpt-5-mini/")
        assert request.headers["authorization"] == "Bearer token-of-cognitiveservices"
        assert "api-key" not in request.headers
    assert "max_completion_tokens" in next(one.body for one in completions if "max_tokens" not in one.body)


@pytest.mark.parametrize(("threshold", "word"), [(7, "never"), (0, "always"), (-1, "always")])
def test_a_threshold_that_no_judge_can_reach_or_miss_is_refused(tmp_path: Path, threshold: int, word: str):
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY)
    write_evaluator(tmp_path, "length", code_only("{'score': 250}"))
    item = {"prompt": "p", "evaluators": {"tone": {"threshold": threshold}, "length": {"threshold": 200}}}
    text = document(item, default_evaluators={"tone": {"threshold": 4.5}})
    write_tree(tmp_path, {"evals.json": text})
    ended = waza("m365", "run", "evals.json", "--agent", AGENT, cwd=tmp_path, env={"OPENAI_API_KEY": "k"})
    checked = waza("m365", "validate", "evals.json", "--resolve", cwd=tmp_path, env={"OPENAI_API_KEY": "k"})
    plain = waza("m365", "validate", "evals.json", cwd=tmp_path)
    said = f"items[0].evaluators.tone.threshold: the threshold is {threshold}, but a judge scores from 1 to 5"
    assert (ended.code, was_asked(tmp_path), checked.code, plain.code) == (2, False, 2, 0)
    assert f"{said}, so it would {word} pass" in ended.err
    assert said in checked.out


def test_a_threshold_of_a_judge_is_on_its_scale_in_suites_too(tmp_path: Path):
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY)
    grader = "graders: [{type: evaluator, name: g, config: {name: tone, threshold: 0}}]"
    mock_suite(tmp_path, {"t": f"id: t\ninputs: {{prompt: p}}\n{grader}\n"})
    ended = waza("run", "eval.yaml", cwd=tmp_path, env={"OPENAI_API_KEY": "k"})
    assert ended.code == 2
    assert "the threshold is 0, but a judge scores from 1 to 5, so it would always pass" in ended.err


def test_in_suites_an_unreachable_judge_is_found_out_once(tmp_path: Path):
    grader = "graders: [{type: evaluator, name: g, config: {name: Relevance}}]"
    tasks = {name: f"id: {name}\ninputs: {{prompt: p}}\n{grader}\n" for name in "abc"}
    mock_suite(tmp_path, tasks)
    ended = waza("run", "eval.yaml", cwd=tmp_path, env={"OPENAI_BASE_URL": NOBODY})
    errors = {
        task["runs"][0]["validations"]["g"]["details"]["error"].partition(":")[0]
        for task in ended.results()["tasks"]
    }
    assert errors == {"the judge gpt-4o-mini at 127.0.0.1 cannot be reached"}
    assert "asking again" not in ended.err


def test_validate_with_resolve_refuses_what_a_run_refuses(tmp_path: Path):
    write_evaluator(tmp_path, "broken", "import no_such_module\nclass Check: ...")
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}, default_evaluators={"broken": {}})})
    ran = waza("m365", "run", "evals.json", "--agent", "mock", cwd=tmp_path)
    checked = waza("m365", "validate", "evals.json", "--resolve", cwd=tmp_path)
    assert (ran.code, checked.code) == (2, 2)
    assert "failed to import: ModuleNotFoundError: No module named 'no_such_module'" in checked.out


def test_validate_with_resolve_warns_where_a_run_needs_a_judge_by_option(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}, default_evaluators=RELEVANCE)})
    checked = waza("m365", "validate", "evals.json", "--resolve", cwd=tmp_path)
    assert checked.code == 0
    assert "a run needs --judge here: Relevance asks a judge, and no judge is configured" in checked.out


def test_a_cut_off_reply_is_called_so_in_the_results(tmp_path: Path):
    text = document({"prompt": "p"}, default_evaluators=RELEVANCE)
    write_tree(tmp_path, {"evals.json": text})
    with ModelServer({"": [Reply('{"score": 4, "rea', finish="length")]}) as server:
        env = {"OPENAI_BASE_URL": server.base_url}
        waza("m365", "run", "evals.json", "--agent", "mock", "-o", "r.json", cwd=tmp_path, env=env)
    (item,) = json.loads((tmp_path / "r.json").read_text())["items"]
    assert "its reply was cut off" in item["scores"]["relevance"]["error"]
    assert statuses({"items": [item]}) == ["partial"]
