"""The same session in every form gives the same recording, as far as the form has it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.sessions import COMMAND, FORMS, OUTPUT, PROMPT, SKILL, SKILL_FILE, write_lines

from waza.foreign.transcripts.read import read_transcript
from waza.model.recording import Recording

# What a form does not have.
WITHOUT_PROMPT = {"claude-stream", "codex-exec"}
WITHOUT_TIMES = {"codex-exec"}
MODELS = {"atif": "m-atif", "codex-rollout": "m-codex", "copilot-events": "m-copilot"}


def read(root: Path, form: str) -> Recording:
    return read_transcript(write_lines(root / "any.name", FORMS[form]()))


@pytest.mark.parametrize("form", FORMS)
def test_a_session_is_read(tmp_path: Path, form: str):
    found = read(tmp_path, form)
    assert (found.form, found.file, found.session_id) == (form, str(tmp_path / "any.name"), "s-1")
    assert (found.error, found.notes) == ("", ())
    assert found.prompts == (None if form in WITHOUT_PROMPT else PROMPT,)
    assert found.final_output == OUTPUT
    models = () if form == "codex-exec" else (MODELS.get(form, "m-claude"),)
    assert found.models == models
    assert [skill.name for skill in found.skill_invocations] == [SKILL]
    assert [skill.path for skill in found.skill_invocations] == [SKILL_FILE]
    assert found.duration_ms == (None if form in WITHOUT_TIMES else 7000)
    assert found.usage is not None
    assert (found.usage.input_tokens, found.usage.output_tokens) == (64, 12), "with what the cache has"
    assert (found.usage.cache_read_tokens, found.usage.cache_write_tokens) == (20, 4)
    assert found.usage.turns == (1 if form == "codex-exec" else 4)


@pytest.mark.parametrize("form", FORMS)
def test_its_calls_have_ids_arguments_results_and_outcomes(tmp_path: Path, form: str):
    calls = read(tmp_path, form).tool_events
    ids = ["item_1", "item_2", "item_3"] if form == "codex-exec" else ["c1", "c2", "c3"]
    assert [call.tool_call_id for call in calls] == ids
    assert [call.sequence for call in calls] == [1, 2, 3]
    assert [bool(call.success) for call in calls[:2]] == [True, False]
    assert [call.turn for call in calls] == ([1, 1, 1] if form == "codex-exec" else [1, 2, 3])
    assert COMMAND in json.dumps(calls[2].args)
    assert "3 rows.csv" in json.dumps(calls[2].result)
    assert "no such file" in json.dumps(calls[1].result)


def test_what_is_known_besides(tmp_path: Path):
    assert read(tmp_path, "claude-code").offered_skills == (SKILL,)
    assert read(tmp_path, "claude-stream").offered_skills == (SKILL,)
    assert read(tmp_path, "codex-rollout").offered_skills is None
    assert {form for form in FORMS if read(tmp_path, form).skills_inferred} == {
        "atif",
        "codex-exec",
        "codex-rollout",
    }
    copilot = read(tmp_path, "copilot-events").usage
    assert copilot is not None
    assert (copilot.premium_requests, copilot.ai_credits) == (1.0, None)
    assert read(tmp_path, "codex-rollout").tool_events[1].duration_ms == 500
    assert (read(tmp_path, "claude-code").version, read(tmp_path, "atif").version) == ("2.9.0", "3")


CORPUS = Path(os.environ.get("WAZA_CORPUS") or Path(__file__).parents[5] / "shared" / "corpus")
SAMPLES = CORPUS.parent / "foreign" / "transcripts"


@pytest.mark.skipif(not (SAMPLES / "expected.json").is_file(), reason="the samples are beside WAZA_CORPUS")
def test_recorded_shapes_of_the_agents():
    expected: dict[str, Any] = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
    for name, wanted in expected.items():
        found = read_transcript(SAMPLES / name)
        if name != "claude-stream.jsonl":  # the stream does not have the prompt
            assert found.prompts == (wanted["prompt"],), name
        assert found.final_output == wanted["final_output"], name
        assert found.models == tuple(filter(None, [wanted["model"]])), name
        calls = [{"name": call.tool_name, "success": call.success} for call in found.tool_events]
        assert calls == wanted["tool_calls"], name
        skills = [{"name": skill.name, "path": skill.path} for skill in found.skill_invocations]
        assert skills == wanted["skill_invocations"], name
        used = {key: getattr(found.usage, key, found.cost_usd) for key in wanted["usage"]}
        assert used == pytest.approx(wanted["usage"]), name
