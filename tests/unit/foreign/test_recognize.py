"""What files are, by their contents: none of them has a name that says it."""

import json
import zipfile

import pytest

from waza.foreign.recognize import NAMES, recognize
from waza.kit.files import write_atomic

OBJECTS = {
    "agent-skills": {"evals": [{"id": 1, "prompt": "Sort."}]},
    "atif": {"schema_version": "ATIF-v1.9", "agent": {}, "steps": []},
    "benchmark": {"metadata": {}, "runs": [], "run_summary": {}},
    "grading": {"assertion_results": [], "summary": {"pass_rate": 1.0}},
    "inspect-log": {"version": 2, "status": "success", "eval": {"task": "t"}},
    "m365-document": {"schemaVersion": "1.0", "items": [{"prompt": "Hello"}]},
    "plugin-eval-results": {"schemaVersion": 1, "claudeVersion": "2.1", "cases": []},
    "promptfoo": {"evalId": "e", "results": {"version": 3, "results": []}},
    "results": {"eval_id": "run-1", "summary": {}, "tasks": []},
    "trigger-queries": [{"query": "sort it", "should_trigger": True}],
}
LINES = {
    "claude-code": {"type": "user", "uuid": "u", "parentUuid": None, "message": {}, "sessionId": "s"},
    "claude-stream": {"type": "system", "subtype": "init", "session_id": "s"},
    "codex-exec": {"type": "thread.started", "thread_id": "t"},
    "codex-rollout": {"timestamp": "", "type": "session_meta", "payload": {}},
    "copilot-events": {"type": "session.start", "data": {"version": 1}, "id": "i", "parentId": None},
    "session-log": {"timestamp": "", "type": "run_start", "data": {}},
}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("form", ["plain", "mark and line ends of Windows"])
def test_json(kind, form, tmp_path):
    text = json.dumps(OBJECTS[kind], indent=2)
    data = text.encode() if form == "plain" else b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    write_atomic(tmp_path / "any.txt", data)
    assert recognize(tmp_path / "any.txt") == kind


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("before", ["", '{"type": "unheard-of"}\n', "\n"])
@pytest.mark.parametrize("after", ["", '\n{"type": "us'])
def test_json_lines(kind, before, after, tmp_path):
    write_atomic(tmp_path / "any.txt", (before + json.dumps(LINES[kind]) + after).encode())
    assert recognize(tmp_path / "any.txt") == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("schema_version: '1.1'\nname: x\ngraders: []\n", "plugin-evals"),
        ("name: x\nconfig: {}\ntasks: ['*.yaml']\n", "suite"),
        ("id: x\ninputs: {prompt: Hello}\n", "task"),
        ("name: [unclosed\ntasks: 1\n", None),
        ("a: &a [1]\nb: [*a, *a]\n", None),
        ("Just a text\n", None),
        ("", None),
    ],
)
def test_yaml(text, kind, tmp_path):
    write_atomic(tmp_path / "any.txt", text.encode())
    assert recognize(tmp_path / "any.txt") == kind


@pytest.mark.parametrize("member", ["header.json", "_journal/start.json"])
def test_archives(member, tmp_path):
    with zipfile.ZipFile(tmp_path / "log", "w") as archive:
        archive.writestr(member, "{}")
    assert recognize(tmp_path / "log") == "inspect-log"


def test_what_is_nothing_known(tmp_path):
    for name, data in {
        "nested": b"[" * 100_000,
        "half": b'{"evals": [',
        "zip": b"PK\x03\x04",
        "b": b"\xff",
    }.items():
        write_atomic(tmp_path / name, data)
        assert recognize(tmp_path / name) is None
    assert recognize(tmp_path / "not there") is None
    assert recognize(tmp_path / ("x" * 5000)) is None


def test_directories(tmp_path, foreign):
    assert recognize(foreign / "plugin-evals") == "plugin-evals"
    assert recognize(foreign / "plugin-evals/evals/group/weather") == "plugin-evals"
    assert recognize(foreign / "plugin-evals/evals/writes/case.yaml") == "plugin-evals"
    assert recognize(foreign / "plugin-evals/skills") is None
    write_atomic(tmp_path / "skill/evals/anything.json", json.dumps(OBJECTS["agent-skills"]).encode())
    assert recognize(tmp_path / "skill") == "agent-skills"
    write_atomic(tmp_path / "notes/prompt.md", b"A prompt without graders is no case.")
    assert recognize(tmp_path / "notes") is None


def test_every_kind_has_a_name():
    assert set(NAMES) == {*OBJECTS, *LINES, "plugin-evals", "suite", "task"}
