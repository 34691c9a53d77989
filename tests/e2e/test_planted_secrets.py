"""Secrets that are planted everywhere in a run are found in nothing that it writes or prints."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, waza, write_tree

ALNUM, HEX = (string.ascii_letters + string.digits) * 4, "0123456789abcdef" * 8
KEY_LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"

# By kind: a text in which the secret stands, and the part of it that must be nowhere. None is real; none is written as
# one literal, so that no scanner takes this file for a leak.
SECRETS = {
    "github": ("gh" + "p_" + ALNUM[:36], ALNUM[:36]),
    "openai": ("sk" + "-proj-" + ALNUM[1:41], ALNUM[1:41]),
    "aws_access": ("AK" + "IA" + "A1" * 8, "A1" * 8),
    "aws_secret": ("aws_secret_access_key = " + "aB3/" * 10, "aB3/" * 10),
    "jwt": ("ey" + "JhbGciOiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "c2lnbmF0dXJl"),
    "bearer": ("Authorization: Bearer " + ALNUM[2:26], ALNUM[2:26]),
    "basic": ("Authorization: Basic " + "dXNlcjpzd29yZGZpc2gx", "dXNlcjpzd29yZGZpc2gx"),
    "pem": (f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINE}\n-----END RSA PRIVATE KEY-----", KEY_LINE),
    "azure": ("AccountKey=" + ALNUM[3:63], ALNUM[3:63]),
    "google": ("AI" + "za" + ALNUM[4:39], ALNUM[4:39]),
    "slack": ("xo" + "xb-1234567890-" + ALNUM[5:17], "1234567890-" + ALNUM[5:17]),
    "discord": ("discord.com/api/webhooks/123456/" + ALNUM[6:66], ALNUM[6:66]),
    "telegram": ("123456789:AA" + ALNUM[7:40], ALNUM[7:40]),
    "gitlab": ("gl" + "pat-" + ALNUM[8:28], ALNUM[8:28]),
    "npm": ("np" + "m_" + ALNUM[9:45], ALNUM[9:45]),
    "pypi": ("py" + "pi-" + ALNUM[10:70], ALNUM[10:70]),
    "docker": ("dc" + "kr_pat_" + ALNUM[11:38], ALNUM[11:38]),
    "hugging_face": ("hf" + "_" + ALNUM[12:46], ALNUM[12:46]),
    "databricks": ("da" + "pi" + HEX[1:33], HEX[1:33]),
    "vault": ("hv" + "s." + ALNUM[13:37], ALNUM[13:37]),
    "sendgrid": ("S" + "G." + ALNUM[14:36] + "." + ALNUM[15:58], ALNUM[15:58]),
    "stripe": ("sk" + "_live_" + ALNUM[16:40], ALNUM[16:40]),
    "shopify": ("sh" + "pat_" + HEX[2:34], HEX[2:34]),
    "notion": ("nt" + "n_" + ALNUM[17:63], ALNUM[17:63]),
    "tailscale": ("ts" + "key-auth-" + ALNUM[18:38], ALNUM[18:38]),
    "database": ("postgres://me:hunter2x@db:5432/x", "hunter2x"),
    "assignment": ("DB_PASSWORD=hunter3x", "hunter3x"),
    "option": ("tool --password hunter4x run", "hunter4x"),
    "cookie": ("Cookie: sid=hunter5x9; theme=dark", "hunter5x9"),
    "variable": ("opaque-words-of-a-service-9", "opaque-words-of-a-service-9"),
    "suite_variable": ("other-words-of-a-task-8", "other-words-of-a-task-8"),
}  # fmt: skip
ENV = {"PLANTED_TOKEN": SECRETS["variable"][0], "PLANTED_NOTE": SECRETS["github"][0]}
# Found in what only people read: by the full level alone.
FULL = {"mail": "ada.planted@example.com", "hex": HEX[3:43]}

ALL = "\n".join(text for text, _ in SECRETS.values())
MORE = "\n".join([ALL, *FULL.values()])
CALL = {"name": "bash", "args": {"command": MORE, "list": [MORE], SECRETS["gitlab"][0]: 1}, "result": MORE}
GRADERS = [
    {"type": "text", "name": "says", "config": {"contains": [MORE], "not_contains": [ALL]}},
    {"type": "program", "name": "prints", "config": {"command": "sh", "args": ["-c", "cat notes.txt; cat notes.txt >&2; exit 1"]}},
    {"type": "json_schema", "name": "shape", "config": {"schema": {"type": "string", "enum": [ALL]}}},
    {"type": "code", "name": "asserts", "config": {"assertions": ["int(output)"]}},
    {"type": "tool_calls", "name": "calls", "config": {"expect": [{"tool": "bash", "args": {"command": {"equals": ALL}}}], "forbidden_tools": ["bash"]}},
    {"type": "diff", "name": "same", "config": {"expected_files": [{"path": "notes.txt", "contains": [f"+{ALL}"]}]}},
    {"type": "file", "name": "there", "config": {"content_patterns": [{"path": "notes.txt", "must_match": ["absent"], "must_not_match": ["hunter"]}]}},
]  # fmt: skip
JUDGE = {"type": "prompt", "name": "judge", "config": {"prompt": f"is it good? {ALL}"}}
INPUTS = {
    "prompt": MORE,
    "environment": {"SERVICE_TOKEN": SECRETS["suite_variable"][0]},
    "context": {"note": MORE},
    "files": [{"path": "given.txt", "content": MORE}],
}
TURN = {
    "output": MORE,
    "tool_calls": [CALL, {**CALL, "success": False}],
    "files": [
        {"path": "notes.txt", "content": MORE},
        {"path": "d/more.json", "content": json.dumps({"all": MORE})},
    ],
}


def task(**more: Any) -> str:
    """A task as JSON, which YAML is."""
    mock = {"turns": [TURN, TURN], "judge": {"judge": [{"fail": MORE}]}, **more.pop("mock", {})}
    return json.dumps({"inputs": {**INPUTS, **more.pop("inputs", {})}, "mock": mock, **more})


TASKS = {
    "fails": task(
        description=MORE,
        inputs={"follow_up_prompts": [MORE]},
        graders=[JUDGE],
        checkpoints=[{"after_turn": 1, "graders": [{"type": "text", "name": "point", "config": {"contains": [MORE]}}]}],
        expected={"output_contains": [f"{ALL}!"]},
    ),
    "answers": task(
        inputs={"responder": {"instructions": MORE, "max_followups": 2}},
        mock={"responder": [{"reply": MORE}, {"abstain": MORE}]},
    ),
    "breaks": task(mock={"turns": [{**TURN, "error": MORE}]}),
    "judge_breaks": task(graders=[JUDGE], mock={"judge": {"judge": [{"error": MORE}]}}),
}  # fmt: skip


def write_suite(root: Path, tasks: dict[str, str], **config: Any) -> None:
    suite = {
        "name": "planted",
        "description": ALL,
        "config": {"executor": "mock", "model": "m", "max_attempts": 2, **config},
        "hooks": {"after_task": [{"command": "cat secrets.txt; cat secrets.txt >&2; exit 3"}]},
        "graders": GRADERS,
        "tasks": ["tasks/*.yaml"],
    }
    files = {f"suite/tasks/{name}.yaml": text for name, text in tasks.items()}
    write_tree(
        root, {"suite/eval.yaml": json.dumps(suite), "suite/secrets.txt": MORE, **files, "out/.keep": ""}
    )


def run(root: Path, *args: str) -> Ended:
    return waza("run", "../suite/eval.yaml", "-v", *args, cwd=root / "out", env=ENV)


def leaks(name: str, data: bytes, more: dict[str, str] | None = None) -> list[str]:
    cores = {kind: core for kind, (_, core) in SECRETS.items()} | (more or {})
    return [f"{kind} in {name}" for kind, core in cores.items() if core.encode() in data]


def written(root: Path) -> dict[str, bytes]:
    out = root / "out"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_the_list_is_long_enough_and_every_kind_is_planted() -> None:
    assert len(SECRETS) >= 25
    assert len({core for _, core in SECRETS.values()}) == len(SECRETS)
    for kind, (text, core) in SECRETS.items():
        assert core in text, kind


def test_nothing_that_is_written_or_printed_holds_a_planted_secret(tmp_path: Path) -> None:
    write_suite(tmp_path, TASKS)
    ended = run(
        tmp_path,
        *("--snapshot", "ev", "--evidence-file", "*.txt", "--evidence-file", "d/*", "--snapshot-env-allow", "PLANTED_*"),
        *("-o", "r.json", "--reporter", "junit:j.xml", "--reporter", "markdown:m.md", "--reporter", "html:h.html"),
        *("--session-dir", "log", "--transcript-dir", "tr", "--interpret"),
        *("--otel-exporter", "file", "--otel-file", "spans.ndjson", "--otel-include-payloads", "--otel-compat"),
    )  # fmt: skip
    assert ended.code == 1, ended.err
    assert waza("report", "-o", "report.html", cwd=tmp_path / "out", env=ENV).code == 0
    files = written(tmp_path)
    kinds = (
        "ev/",
        ".waza/runs/",
        ".waza/invocations/",
        "log/",
        "tr/",
        "r.json",
        "j.xml",
        "m.md",
        "h.html",
        "report.html",
        "spans.ndjson",
    )
    assert {kind for kind in kinds if any(name.startswith(kind) for name in files)} == set(kinds)
    results = json.loads(files["r.json"])
    statuses = {one["test_id"]: one["status"] for one in results["tasks"]}
    assert statuses == {"fails": "failed", "answers": "error", "breaks": "error", "judge_breaks": "error"}
    found = [leak for name, data in files.items() for leak in leaks(name, data)]
    found += [*leaks("stdout", ended.out.encode()), *leaks("stderr", ended.err.encode())]
    assert found == []
    for name, data in files.items():
        if name.startswith(("ev/", "log/", "tr/", "spans.")):
            assert leaks(name, data, FULL) == []
    snapshot = json.loads(files["ev/fails-run1.json"])
    assert {one["path"] for one in snapshot["workspaceFiles"]} == {"given.txt", "notes.txt", "d/more.json"}
    assert snapshot["env"]["captured"] == {"PLANTED_NOTE": "[REDACTED]"}
    assert snapshot["redaction"]["redactionCount"] > 100


CACHED = {
    "record": task(),  # the answer has secrets, and no judge is asked again
    "workspace": json.dumps(
        {"inputs": {"prompt": "p"}, "graders": [JUDGE_OF_FILES := {**JUDGE, "config": {"prompt": "good?"}}],
         "mock": {"output": "o", "files": TURN["files"], "judge": {"judge": [{"pass": "yes"}]}}}
    ),
    "clean": json.dumps(
        {"inputs": {"prompt": "p"}, "graders": [JUDGE_OF_FILES],
         "mock": {"output": "o", "files": [{"path": "a.txt", "content": "token of thanks"}], "judge": {"judge": [{"pass": "yes"}]}}}
    ),
}  # fmt: skip


def test_no_entry_of_the_cache_holds_a_planted_secret(tmp_path: Path) -> None:
    write_suite(tmp_path, CACHED)
    suite = json.loads((tmp_path / "suite/eval.yaml").read_text(encoding="utf-8"))
    suite |= {"graders": [GRADERS[0]], "hooks": {}}
    write_tree(tmp_path, {"suite/eval.yaml": json.dumps(suite)})
    for _ in range(2):
        ended = run(tmp_path, "--cache", "-o", "r.json")
        assert ended.code == 1, ended.err
    files = written(tmp_path)
    assert sum(name.startswith(".waza-cache/") and name.endswith(".json") for name in files) == 2, list(files)
    cached = {one["test_id"]: one.get("cached", False) for one in json.loads(files["r.json"])["tasks"]}
    assert cached == {"record": True, "workspace": False, "clean": True}
    assert "workspace is not cached: its workspace holds what looks like a secret, in " in ended.err
    assert [leak for name, data in files.items() for leak in leaks(name, data)] == []


@pytest.mark.parametrize("command", [("grade",), ("replay",), ("evidence",), ("compare",)])
def test_commands_after_a_run_print_no_planted_secret(command: tuple[str, ...], tmp_path: Path) -> None:
    write_suite(tmp_path, {"fails": TASKS["fails"]})
    assert run(tmp_path, "--snapshot", "ev", "-o", "r.json").code == 1
    args = {
        "grade": ("../suite/eval.yaml", "--results", "r.json", "-v", "-o", "again.json"),
        "replay": ("ev/fails-run1.json", "--bisect", "ev/fails-run1.json"),
        "evidence": ("verify", "ev"),
        "compare": ("r.json", "r.json"),
    }[command[0]]
    ended = waza(*command, *args, cwd=tmp_path / "out", env=ENV)
    assert ended.code == 0, ended.err
    found = [leak for name, data in written(tmp_path).items() for leak in leaks(name, data)]
    assert [*found, *leaks("stdout", ended.out.encode()), *leaks("stderr", ended.err.encode())] == []
