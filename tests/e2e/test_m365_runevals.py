"""What people bring along from runevals: its options and files of variables; and the example that shows all of it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.documents import GOOD, document
from tests.support.program import strict_json, waza, write_tree

EXAMPLE = Path(__file__).parents[2] / "examples" / "m365-document"
TEXT = document({"prompt": "p"}, default_evaluators={"Citations": {}})


@pytest.mark.parametrize(
    ("flags", "advice"),
    [
        (
            ["--prompts", "a", "b"],
            "--prompts is an option of runevals; here, write the prompts into a document",
        ),
        (["--expected=x"], "write 'expected_response' next to each prompt"),
        (["-i"], "write the prompts into a document"),
        (["--m365-agent-id", "T_1"], "agents are reached by --agent a2a:URL"),
        (["--azure-ai-auth-mode", "key"], "with AZURE_AI_API_KEY set that key is used"),
    ],
)
def test_options_of_runevals_are_named_with_what_replaces_them(tmp_path: Path, flags, advice):
    write_tree(tmp_path, {"evals.json": TEXT})
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    assert (ended.code, advice in ended.err) == (2, True), ended.err


def test_options_that_mean_the_same_are_taken(tmp_path: Path):
    text = document({"prompt": "p"}, default_evaluators={"Relevance": {}})
    write_tree(tmp_path, {"mine.json": text, "judge.json": json.dumps(GOOD)})
    flags = ["--prompts-file", "mine.json", "--judge-backend", "mock:judge.json", "--agent", "mock"]
    assert waza("m365", "run", *flags, cwd=tmp_path).code == 0
    both = waza("m365", "run", "mine.json", *flags, cwd=tmp_path)
    assert (both.code, "give one of them" in both.err) == (2, True)


def test_variables_come_from_files_when_asked_and_only_their_names_are_reported(tmp_path: Path):
    write_tree(
        tmp_path,
        {
            "evals.json": TEXT,
            ".env": "# ours\nFIRST=from-dot-env\nexport DESK_TOKEN='hush-hush-hush'\n",
            ".env.local": 'FIRST=later\nSECOND="two words" # note\n',
            "env/.env.dev": "THIRD=three # note\nSET=by-the-file\n",
        },
    )
    agent = "command:echo $FIRST/$SECOND/$THIRD/$SET/$DESK_TOKEN"
    flags = ["m365", "run", "evals.json", "--agent", agent, "--json"]
    asked = waza(*flags, "--env", "dev", cwd=tmp_path, env={"SET": "before"})
    response = strict_json(asked.out)["items"][0]["response"]
    assert response == "from-dot-env/two words/three/before/[REDACTED]"
    assert "Variables from .env: FIRST, DESK_TOKEN\n" in asked.err
    assert f"Variables from {Path('env', '.env.dev')}: THIRD\n" in asked.err
    assert ("hush" in asked.err + asked.out, "two words" in asked.err) == (False, False)
    silent = waza(*flags, cwd=tmp_path)
    assert strict_json(silent.out)["items"][0]["response"] == "////"


def test_files_of_variables_that_are_not_there_or_no_such_files_are_mistakes(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": TEXT})
    missing = waza("m365", "run", "evals.json", "--agent", "mock", "--env", "dev", cwd=tmp_path)
    assert (missing.code, "--env dev: none of these files exists here: .env, .env.local" in missing.err) == (
        2,
        True,
    )
    write_tree(tmp_path, {".env": "A=1\nwhat is this\n"})
    broken = waza("m365", "run", "evals.json", "--agent", "mock", "--env", "dev", cwd=tmp_path)
    assert (broken.code, ".env:2: this line is not NAME=value" in broken.err) == (2, True)


def test_the_example_passes_with_a_scripted_judge(tmp_path: Path):
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__", ".waza"))
    home = tmp_path / "example"
    checked = waza("m365", "validate", "--resolve", cwd=home)
    assert (checked.code, "✓ evals.json: valid" in checked.out) == (0, True), checked.out
    agent = f"command:{sys.executable} agent.py"
    ended = waza("m365", "run", "--agent", agent, "--judge", "mock:judge.json", "--json", cwd=home)
    assert ended.code == 0, ended.err
    result = strict_json(ended.out)
    scores = [turn["scores"]["tone"]["score"] for turn in result["items"][1]["turns"]]
    assert (scores, result["items"][0]["scores"]["retrievalQuery"]["result"]) == ([4, 5], "pass")
    options = ["--options", '{"words": ["guarantee"]}']
    tried = waza("m365", "try", "no_promises", "--response", "We guarantee it.", *options, cwd=home)
    assert (tried.code, "found: guarantee" in tried.out) == (1, True)


def test_an_echo_passes_nothing_of_the_example(tmp_path: Path):
    shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__", ".waza"))
    flags = ["--agent", "mock", "--judge", "mock:judge.json", "--json"]
    ended = waza("m365", "run", *flags, cwd=tmp_path / "example")
    assert ended.code == 1
    assert strict_json(ended.out)["items"][0]["status"] == "partial"  # nothing is known of searches
