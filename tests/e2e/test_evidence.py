"""Evidence: `waza run --snapshot` keeps what was observed, and any later change of it is found."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.support.live import Project, nap, survivors
from tests.support.program import LIMIT, Ended, mock_suite, strict_json, waza, write_tree

SAYS = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = strict_json(file.read_bytes())
    return found


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def run(root: Path, *args: str, **options: Any) -> Ended:
    return waza("run", "eval.yaml", "--snapshot", "ev", *args, cwd=root, **options)


def verify(root: Path, *args: str, directory: str = "ev") -> Ended:
    return waza("evidence", "verify", directory, *args, cwd=root)


def digest(value: Any) -> str:
    """The digest as docs/evidence.md defines it, by nothing but Python's own library."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}


def test_a_snapshot_holds_what_was_observed_of_a_trial(tmp_path: Path) -> None:
    task = """
    name: Ünï task
    tags: [smoke]
    golden: true
    inputs:
      prompt: "say {{.TaskName}}"
      follow_up_prompts: [more]
      context: {note: 1.0}
      files: [{path: in.txt, content: x}]
    instruction_files: [rules.md]
    mock:
      turns:
        - {output: first, tool_calls: [{name: bash, args: {command: ls, big: 1.5e300}, result: {a: [1.0]}, duration_ms: 40}]}
        - output: hello 🎯
    """
    write_tree(tmp_path, {"fixtures/rules.md": "be kind"})
    mock_suite(tmp_path, {"a": task}, f"skill: s\n{SAYS}", ["judge_model: j", "group_by: tags"])
    ended = run(tmp_path, "-o", "r.json")
    assert ended.code == 0, ended.err
    seal, name = names(tmp_path / "ev")
    assert (seal, name) == ("evidence.json", "Ünï_task-run1.json")
    snapshot, results = read(tmp_path / "ev" / name), read(tmp_path / "r.json")
    trial = results["tasks"][0]["runs"][0]
    assert trial["snapshot_path"] == f"ev/{name}"
    assert trial["evidence"] == snapshot["evidence"]
    assert snapshot["schemaVersion"] == "1.0"
    assert snapshot["kind"] == "task-snapshot"
    assert snapshot["evalId"] == results["eval_id"]
    assert snapshot["skill"] == "s"
    assert snapshot["task"] == {
        "testId": results["tasks"][0]["test_id"],
        "displayName": "Ünï task",
        "group": "smoke",
        "golden": True,
        "tags": ["smoke"],
        "runNumber": 1,
        "arm": "main",
    }
    assert snapshot["engine"]["type"] == "mock"
    assert snapshot["engine"]["modelId"] == "test-model"
    assert snapshot["engine"]["judgeModel"] == "j"
    assert snapshot["prompt"]["message"] == "say Ünï task"
    assert snapshot["prompt"]["followUps"] == ["more"]
    assert snapshot["prompt"]["context"] == {"note": 1}
    assert snapshot["prompt"]["instructions"] == [
        {"path": "rules.md", "sha256": hashlib.sha256(b"be kind").hexdigest()}
    ]
    assert snapshot["fixtures"] == [{"path": "in.txt", "size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}]
    assert snapshot["toolEvents"] == trial["tool_events"]
    assert snapshot["env"] == {"allowList": [], "captured": {}, "deniedKeys": []}
    assert snapshot["redaction"] == {"policy": "default", "appliedRules": [], "redactionCount": 0}
    assert snapshot["result"]["status"] == "passed"
    assert snapshot["result"]["finalOutput"] == "hello 🎯"
    assert snapshot["result"]["validations"] == trial["validations"]
    origin = snapshot["evidence"]["origin"]
    assert (origin["attempt_count"], origin.get("prior_attempts")) == (1, None)
    assert snapshot["evidence"]["runtime"]["execution_mode"] == "mock"


def test_digests_are_those_of_canonical_json_and_can_be_computed_elsewhere(tmp_path: Path) -> None:
    task = "inputs: {prompt: p}\nmock: {output: 'é\\u2028 hello', tool_calls: [{name: t, args: {z: 1.25, a: 1.0e-9, n: 123456789012345678901234567890}}], files: [{path: o.txt, content: ö}]}"
    mock_suite(tmp_path, {"a": task}, SAYS)
    assert run(tmp_path, "--evidence-file", "*.txt").code == 0
    snapshot, seal = read(tmp_path / "ev/a-run1.json"), read(tmp_path / "ev/evidence.json")
    manifest = snapshot["evidence"]
    assert manifest["sha256"] == digest(without(manifest, "sha256"))
    assert seal["sha256"] == digest(without(seal, "sha256"))
    artifacts = {one["id"]: one for one in manifest["artifacts"]}
    assert artifacts["snapshot"]["content_digest"] == digest(without(snapshot, "evidence"))
    for name, key in (
        ("prompt", "prompt"),
        ("tool-events", "toolEvents"),
        ("environment", "env"),
        ("result", "result"),
    ):
        assert artifacts[name]["content_digest"] == digest(snapshot[key])
        assert artifacts[name]["pointer"] == f"/{key}"
    file = artifacts["workspace-file:o.txt"]
    assert file["content_digest"] == file["source_digest"] == hashlib.sha256("ö".encode()).hexdigest()
    (entry,) = seal["files"]
    assert entry["sha256"] == hashlib.sha256((tmp_path / "ev/a-run1.json").read_bytes()).hexdigest()
    assert entry["manifest"] == manifest["sha256"]


def test_files_are_valid_by_their_schemas(tmp_path: Path) -> None:
    task = "inputs: {prompt: p}\nmock: {output: hello, tool_calls: [{name: t}], files: [{path: o.txt, content: x}]}"
    mock_suite(tmp_path, {"a": task}, SAYS)
    assert (
        run(
            tmp_path, "--evidence-file", "*.txt", "--evidence-file", "none", "--snapshot-env-allow", "P*"
        ).code
        == 0
    )
    for name, kind in (("a-run1.json", "snapshot"), ("evidence.json", "evidence")):
        schema = strict_json(waza("schema", kind, cwd=tmp_path).out)
        assert list(Draft202012Validator(schema).iter_errors(read(tmp_path / "ev" / name))) == []


def test_trials_arms_models_and_tasks_of_like_names_each_have_a_file(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nb\n"})
    tasks = {"a": f"id: x/y\n{PASSES}", "b": f"id: x_y\n{PASSES}", "c": f"id: X_Y\n{PASSES}"}
    mock_suite(tmp_path, tasks, f"skill: s\n{SAYS}", ["trials_per_task: 2"])
    ended = run(tmp_path, "--model", "m1", "--model", "m2", "--baseline")
    assert ended.code in (0, 1), ended.err
    written = [name for name in names(tmp_path / "ev") if name != "evidence.json"]
    assert len(written) == 3 * 2 * 2 * 2
    assert "x_y-run1_m1.json" in written
    assert "x_y_2-run2_m2_baseline.json" in written
    origins = {
        json.dumps(read(tmp_path / "ev" / name)["evidence"]["origin"], sort_keys=True) for name in written
    }
    assert len(origins) == len(written)
    assert len({name.casefold() for name in written}) == len(written)
    assert verify(tmp_path).code == 0


def test_workers_of_parallel_runs_write_their_own_files(tmp_path: Path) -> None:
    mock_suite(tmp_path, {f"t{i}": PASSES for i in range(6)}, SAYS, ["trials_per_task: 3"])
    assert run(tmp_path, "--parallel", "--workers", "4").code == 0
    assert len(names(tmp_path / "ev")) == 6 * 3 + 1
    assert verify(tmp_path).code == 0


def test_retries_are_not_preserved_and_the_manifest_says_so(tmp_path: Path) -> None:
    task = "inputs: {prompt: p}\nmock: {executions: [{output: no}, {output: hello}]}"
    mock_suite(tmp_path, {"a": task}, SAYS, ["max_attempts: 3"])
    assert run(tmp_path).code == 0
    snapshot = read(tmp_path / "ev/a-run1.json")
    assert snapshot["evidence"]["origin"]["attempt_count"] == 2
    assert snapshot["evidence"]["origin"]["prior_attempts"] == "not_preserved"
    assert snapshot["result"]["finalOutput"] == "hello"


def waza_results(root: Path) -> list[dict[str, Any]]:
    (file,) = (root / ".waza/runs").glob("*/results.json")
    return [run for task in read(file)["tasks"] for run in task["runs"]]


ERRORS = {
    "setup": ("inputs: {prompt: p, files: [{path: x.txt}]}\nmock: {output: hello}", "there is no file 'x.txt'"),
    "execution": ("inputs: {prompt: p}\nmock: {output: hello, error: the engine broke}", "the engine broke"),
    "grader": (
        "inputs: {prompt: p}\nmock: {output: hello}\ngraders: [{type: prompt, name: j, config: {prompt: good?}}]",
        "running graders",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ERRORS)
def test_trials_that_broke_are_evidence_too(kind: str, tmp_path: Path) -> None:
    task, says = ERRORS[kind]
    hooks = "hooks: {before_run: [{command: 'true'}]}"  # which could have made the file
    mock_suite(tmp_path, {"a": task}, f"{SAYS}\n{hooks}")
    ended = run(tmp_path)
    assert ended.code == 1, ended.err
    (trial,) = waza_results(tmp_path)
    snapshot = read(tmp_path / trial["snapshot_path"])
    assert trial["status"] == snapshot["result"]["status"] == "error"
    assert snapshot["result"]["errorMsg"] == trial["error_msg"]
    assert says in trial["error_msg"]
    assert trial["evidence"] == snapshot["evidence"]
    assert verify(tmp_path).code == 0


def test_what_cannot_be_captured_changes_no_status_and_is_stated_everywhere(tmp_path: Path) -> None:
    hooks = "hooks: {before_task: [{command: mkdir -p ev/a-run1.json}]}"
    mock_suite(tmp_path, {"a": PASSES, "b": PASSES}, f"{SAYS}\n{hooks}")
    ended = run(tmp_path)
    assert ended.code == 0
    assert "a: there is no snapshot of trial 1: " in ended.err
    assert "warning: not in the evidence: run-" in ended.err
    broken, fine = waza_results(tmp_path)
    assert broken["status"] == fine["status"] == "passed"
    assert "snapshot_path" not in broken
    (artifact,) = broken["evidence"]["artifacts"]
    assert artifact["availability"] == "unavailable"
    assert broken["evidence"]["diagnostics"][0]["code"] == "not-written"
    assert fine["snapshot_path"] == "ev/b-run1.json"
    seal = read(tmp_path / "ev/evidence.json")
    assert not seal["complete"]
    assert len(seal["missing"]) == 1
    found = verify(tmp_path)
    assert found.code == 1
    assert "ev/a-run1.json: was added after the directory was sealed" in found.out


def test_evidence_is_not_mixed_with_anything_else(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": PASSES}, SAYS)
    assert run(tmp_path).code == 0
    before = read(tmp_path / "ev/a-run1.json")
    again = run(tmp_path)
    assert again.code == 2
    assert "ev is not empty" in again.err
    assert read(tmp_path / "ev/a-run1.json") == before
    inside = waza("run", "eval.yaml", "--snapshot", "new", "-o", "new/r.json", cwd=tmp_path)
    assert inside.code == 2
    assert "among the evidence" in inside.err
    assert not (tmp_path / "new").exists()
    for args in (("--evidence-file", "*.txt"), ("--snapshot-env-allow", "CI")):
        alone = waza("run", "eval.yaml", *args, cwd=tmp_path)
        assert alone.code == 2
        assert "give --snapshot DIR, too" in alone.err


@pytest.mark.parametrize(
    "pattern", ["../*", "/etc/*", ".env", "a/.git/config", "*.pem", "my_token.txt", "[x"]
)
def test_patterns_that_can_name_no_evidence_are_refused_before_the_run(pattern: str, tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": PASSES}, SAYS)
    ended = run(tmp_path, "--evidence-file", pattern)
    assert ended.code == 2
    assert "--evidence-file" in ended.err
    assert not (tmp_path / "ev").exists()


def test_only_allowed_text_files_of_the_workspace_are_kept(tmp_path: Path) -> None:
    write_tree(tmp_path, {"outside.txt": "not yours", "bin": b"\xff\xfe\x00"})
    made = (
        "mkdir -p d/.hid 'my secrets'; printf one > one.txt; printf two > d/two.txt; printf x > .dot.txt; "
        f"ln -s {tmp_path}/outside.txt out.txt; ln {tmp_path}/outside.txt hard.txt; ln -s d link; ln -s one.txt in.txt; "
        "printf y > d/.hid/y.txt; printf z > id_rsa; printf z > 'my secrets/z.txt'; mkfifo pipe.txt; printf '\\377' > bin.txt; "
        "head -c 1000001 /dev/zero | tr '\\0' a > big.txt; printf 'password=hunter2x' > cfg.txt; mkdir dir.txt"
    )
    agent = tmp_path / "agent.sh"
    agent.write_text(f"{made}\necho hello\n", encoding="utf-8")
    mock_suite(
        tmp_path,
        {
            "a": "inputs: {prompt: p}\ngraders: [{type: program, name: g, config: {command: sh, args: [-c, 'printf changed > one.txt']}}]"
        },
        SAYS,
    )
    patterns = ["*.txt", "d/*.txt", "*/*", "link/*", "id*", "nothing*"]
    ended = run(
        tmp_path,
        "--executor",
        f"command:sh {agent}",
        *(part for one in patterns for part in ("--evidence-file", one)),
    )
    assert ended.code == 0, ended.err + ended.out
    snapshot = read(tmp_path / "ev/a-run1.json")
    kept = {one["path"]: one for one in snapshot["workspaceFiles"]}
    assert {path: one["content"] for path, one in kept.items()} == {
        "one.txt": "one",
        "d/two.txt": "two",
        "cfg.txt": "password=[REDACTED]",
    }
    assert kept["cfg.txt"]["redacted"]
    artifacts = {
        one["id"].partition(":")[2]: one
        for one in snapshot["evidence"]["artifacts"]
        if one["kind"] == "workspace-file"
    }
    assert "source_digest" not in artifacts["cfg.txt"]
    reasons = {path: one["reason"] for path, one in artifacts.items() if one["availability"] == "unavailable"}
    assert set(reasons) >= {
        "out.txt",
        "hard.txt",
        "in.txt",
        ".dot.txt",
        "id_rsa",
        "my secrets/z.txt",
        "pipe.txt",
        "bin.txt",
        "big.txt",
    }
    assert "link" in reasons["out.txt"]
    assert "hard links" in reasons["hard.txt"]
    assert "hidden" in reasons[".dot.txt"]
    assert "UTF-8" in reasons["bin.txt"]
    assert "larger" in reasons["big.txt"]
    text = (tmp_path / "ev/a-run1.json").read_text(encoding="utf-8")
    assert "not yours" not in text
    assert "hunter2x" not in text
    codes = [one["code"] for one in snapshot["evidence"]["diagnostics"]]
    assert codes.count("no-match") == 2  # `link/*`, which would lead through a link, and `nothing*`
    assert "no file of the workspace matches 'nothing*'" in ended.err


def test_what_happens_in_every_trial_is_a_warning_once_and_in_every_manifest(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": PASSES}, SAYS, ["trials_per_task: 3"])
    ended = run(tmp_path, "--evidence-file", "none.txt")
    assert ended.err.count("no file of the workspace matches 'none.txt'") == 1
    for number in (1, 2, 3):
        manifest = read(tmp_path / f"ev/a-run{number}.json")["evidence"]
        assert [one["code"] for one in manifest["diagnostics"]] == ["no-match"]
    seal = read(tmp_path / "ev/evidence.json")
    assert f"Evidence: 3 snapshots in ev, sealed with sha256 {seal['sha256']}" in ended.err


def test_environment_variables_are_kept_by_name_only(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": "inputs: {prompt: p, environment: {CI_TASK: t}}\nmock: {output: hello}"}, SAYS)
    env = {
        "CI_JOB": "build 7",
        "CI_TOKEN": "plain-value-1",
        "CI_MAIL": "ada@example.com",
        "OTHER": "o",
        "EXACT": "e",
    }
    ended = run(tmp_path, "--snapshot-env-allow", "CI_*", "--snapshot-env-allow", "EXACT", env=env)
    assert ended.code == 0
    found = read(tmp_path / "ev/a-run1.json")["env"]
    assert found["allowList"] == ["CI_*", "EXACT"]
    assert found["captured"] == {"CI_JOB": "build 7", "CI_MAIL": "[REDACTED]", "CI_TASK": "t", "EXACT": "e"}
    assert {"CI_TOKEN", "OTHER", "PATH"} <= set(found["deniedKeys"])
    assert "plain-value-1" not in (tmp_path / "ev/a-run1.json").read_text(encoding="utf-8")


# Redaction policies.

TICKET = "inputs: {prompt: 'see TCK-42 from ada@example.com'}\nmock: {output: hello TCK-42, tool_calls: [{name: t, args: {badge: b17, api_key: k}}]}"


@pytest.mark.parametrize(
    ("policy", "label", "applied", "prompt", "args"),
    [
        ("{rules: [{name: ticket, pattern: 'TCK-[0-9]+'}], envKeyDenyList: [badge]}", "default+custom", ["email", "ticket"], "see [REDACTED] from [REDACTED]", {"badge": "[REDACTED]", "api_key": "[REDACTED]"}),
        ('{"extend": true, "rules": [{"name": "ticket", "pattern": "TCK-[0-9]+"}]}', "default+custom", ["email", "ticket"], "see [REDACTED] from [REDACTED]", {"badge": "b17", "api_key": "[REDACTED]"}),
        ("{extend: false, rules: [{name: ticket, pattern: 'TCK-[0-9]+'}]}", "custom", ["ticket"], "see [REDACTED] from ada@example.com", {"badge": "b17", "api_key": "k"}),
        ("{rules: []}", "default", ["email"], "see TCK-42 from [REDACTED]", {"badge": "b17", "api_key": "[REDACTED]"}),
    ],
)  # fmt: skip
def test_policies_add_to_the_rules_or_replace_them(
    policy: str, label: str, applied: list[str], prompt: str, args: dict[str, str], tmp_path: Path
) -> None:
    mock_suite(tmp_path, {"a": TICKET}, SAYS)
    write_tree(tmp_path, {"policy.yaml": policy})
    ended = run(tmp_path, "--redact", "policy.yaml", "--session-dir", "log", "--transcript-dir", "tr")
    assert ended.code == 0, ended.err
    snapshot = read(tmp_path / "ev/a-run1.json")
    assert snapshot["redaction"]["policy"] == snapshot["evidence"]["redaction"]["policy"] == label
    assert snapshot["redaction"]["appliedRules"] == applied
    assert snapshot["prompt"]["message"] == prompt
    assert snapshot["toolEvents"][0]["args"] == args
    texts = [
        path.read_text(encoding="utf-8")
        for path in [*(tmp_path / "log").iterdir(), *(tmp_path / "tr").iterdir()]
    ]
    assert any("TCK-42" in text for text in texts) == (label == "default")


def test_mistakes_in_a_policy_are_all_named_with_their_places(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": PASSES}, SAYS)
    policy = """extends: true
rules:
  - {name: a, pattern: '(?=x)'}
  - {name: a, pattern: 'x*'}
  - {name: email, pattern: 'ok'}
  - {pattern: 'ok'}
  - {name: c, pattern: [x]}
"""
    write_tree(tmp_path, {"policy.yaml": policy})
    ended = run(tmp_path, "--redact", "policy.yaml")
    assert ended.code == 2
    for place in (
        "1:1: extends: ",
        "3:15: rules[0].pattern: ",
        "4:6: rules[1].name: ",
        "4:15: rules[1].pattern: ",
        "5:6: rules[2].name: ",
        "6:5: rules[3]: ",
        "7:24: rules[4].pattern: ",
    ):
        assert f"policy.yaml:{place}" in ended.err, (place, ended.err)
    assert not (tmp_path / "ev").exists()
    gone = run(tmp_path, "--redact", "none.yaml")
    assert gone.code == 2
    assert "none.yaml" in gone.err
    write_tree(tmp_path, {"policy.yaml": "extend: false"})
    nothing = run(tmp_path, "--redact", "policy.yaml")
    assert nothing.code == 2
    assert "policy.yaml:1:1: extend: " in nothing.err


# Verifying.


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("sealed")
    task = "inputs: {prompt: p}\nmock: {output: hello, tool_calls: [{name: bash, args: {command: ls}}], files: [{path: o.txt, content: 'text é'}]}"
    mock_suite(root, {"a": task, "b": PASSES}, SAYS)
    ended = run(root, "--evidence-file", "o.txt")
    assert ended.code == 0
    return root


def problems_of(directory: Path) -> list[str]:
    from waza.evidence.verify import verify as verify_directory

    return [str(problem) for problem in verify_directory(directory).problems]


@pytest.mark.parametrize("name", ["a-run1.json", "evidence.json"])
def test_every_changed_byte_is_found(name: str, tmp_path: Path) -> None:
    task = "inputs: {prompt: é}\nmock: {output: x, files: [{path: o, content: y}]}"
    mock_suite(tmp_path, {"a": task})
    assert run(tmp_path, "--skip-graders", "--evidence-file", "o").code == 0
    file = tmp_path / "ev" / name
    data = file.read_bytes()
    assert problems_of(tmp_path / "ev") == []
    unseen = []
    for at in range(len(data)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        if not any(name in problem for problem in problems_of(tmp_path / "ev")):
            unseen.append(at)
    assert unseen == []
    for changed in (
        b"",
        data[:-1],
        data + b"\n",
        b" " + data,
        data.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + data,
    ):
        file.write_bytes(changed)
        assert any(name in problem for problem in problems_of(tmp_path / "ev"))
    file.write_bytes(data)
    assert problems_of(tmp_path / "ev") == []


def test_changed_removed_and_added_files_are_named(sealed: Path, tmp_path: Path) -> None:
    def again() -> Path:
        shutil.rmtree(tmp_path / "ev", ignore_errors=True)
        return Path(shutil.copytree(sealed / "ev", tmp_path / "ev"))

    directory = again()
    fine = verify(tmp_path)
    assert fine.code == 0
    assert "ev: 2 snapshots, unchanged; sha256 " in fine.out
    snapshot = directory / "a-run1.json"
    text = snapshot.read_text(encoding="utf-8")
    snapshot.write_text(text.replace('"finalOutput": "hello"', '"finalOutput": "jello"'), encoding="utf-8")
    found = verify(tmp_path)
    assert found.code == 1
    line = text[: text.index('"result": {')].count("\n") + 1
    assert f"ev/a-run1.json:{line}:" in found.out
    assert "result: changed after it was recorded" in found.out
    assert "b-run1" not in found.out

    (again() / "b-run1.json").unlink()
    assert "ev/b-run1.json: was removed" in verify(tmp_path).out
    write_tree(again(), {"sub/x.txt": "x", ".hidden": "y"})
    out = verify(tmp_path).out
    assert "ev/sub/x.txt: was added" in out
    assert "ev/.hidden: was added" in out
    (again() / "more").mkdir()
    assert "ev/more: was added" in verify(tmp_path).out
    moved = again() / "a-run1.json"
    moved.rename(tmp_path / "elsewhere.json")
    moved.symlink_to(tmp_path / "elsewhere.json")
    assert "ev/a-run1.json: is a link" in verify(tmp_path).out
    shutil.copy(again() / "a-run1.json", tmp_path / "ev/b-run1.json")
    assert "ev/b-run1.json" in verify(tmp_path).out
    (again() / "evidence.json").unlink()
    unsealed = verify(tmp_path)
    assert unsealed.code == 1
    assert "ev/evidence.json: is missing" in unsealed.out
    shutil.rmtree(tmp_path / "ev")
    (tmp_path / "ev").mkdir()
    assert verify(tmp_path).code == 1
    assert verify(tmp_path, directory="none").code == 2


NASTY = {
    "deep": b'{"kind": "waza.evidence", "x": ' + b"[" * 900 + b"]" * 900 + b"}",
    "deeper": b'{"x": ' + b"[" * 200_000,
    "surrogate": b'{"kind": "waza.evidence", "result": {}, "x": "\\ud800"}',
    "huge": b'{"kind": "waza.evidence", "result": {}, "x": 1e999}',
    "digits": b'{"x": ' + b"1" * 5000 + b"}",
    "names": b'{"kind": "waza.evidence", "files": [{"file": "../../x"}], "runs": 3}',
    "null": b"null",
    "nulls": b"\0" * 100,
    "manifest": b'{"result": {}, "evidence": {"artifacts": [{"pointer": "/x/y/0"}]}}',
    "manifests": b'{"result": {}, "evidence": [1]}',
}


@pytest.mark.parametrize("kind", NASTY)
@pytest.mark.parametrize("name", ["a-run1.json", "evidence.json"])
def test_whatever_lies_in_the_place_of_a_file_is_a_fault_and_no_crash(
    kind: str, name: str, sealed: Path, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(sealed / "ev", tmp_path / "ev"))
    (directory / name).write_bytes(NASTY[kind])
    assert any(f"{name}:" in problem for problem in problems_of(directory))
    (directory / name).unlink()
    (directory / name).mkdir()
    assert any(f"{name}: is no regular file" in problem for problem in problems_of(directory))


def test_a_new_seal_over_changed_files_is_found_by_its_digest(sealed: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(sealed / "ev", tmp_path / "ev"))
    seal = read(directory / "evidence.json")
    assert verify(tmp_path, "--sha256", seal["sha256"].upper()).code == 0
    assert verify(tmp_path, "--sha256", "0" * 64).code == 1
    (directory / "b-run1.json").unlink()
    forged = {**without(seal, "sha256"), "files": seal["files"][:1]}
    forged["sha256"] = digest(forged)
    (directory / "evidence.json").write_text(
        json.dumps(forged, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    assert verify(tmp_path).code == 0  # what a digest without a signature cannot show
    found = verify(tmp_path, "--sha256", seal["sha256"], "--json")
    assert found.code == 1
    assert "another seal" in found.out
    assert strict_json(found.out)["unchanged"] is False


def test_a_resumed_run_is_sealed_with_its_earlier_part(tmp_path: Path) -> None:
    tasks = {"a": PASSES, "b": "inputs: {prompt: p, files: [{path: x.txt}]}\nmock: {output: hello}"}
    hooks = "hooks: {before_run: [{command: 'true'}]}"
    mock_suite(tmp_path, tasks, f"{SAYS}\n{hooks}")
    first = run(tmp_path)
    assert first.code == 1
    assert read(tmp_path / "ev/evidence.json")["complete"] is True
    before = (tmp_path / "ev/a-run1.json").read_bytes()
    second = run(tmp_path, "--resume", "--retry-errors")
    assert second.code == 1, second.err
    assert (tmp_path / "ev/a-run1.json").read_bytes() == before
    seal = read(tmp_path / "ev/evidence.json")
    assert [one["file"] for one in seal["files"]] == ["a-run1.json", "b-run1.json"]
    assert seal["complete"]
    assert verify(tmp_path).code == 0


def test_the_cache_gives_no_answers_to_a_run_with_snapshots(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": PASSES}, SAYS)
    assert waza("run", "eval.yaml", "--cache", cwd=tmp_path).code == 0
    ended = run(tmp_path, "--cache", "-o", "r.json")
    assert ended.code == 0
    assert "the cache is not used: a snapshot is of what this run observes" in ended.err
    assert "cached" not in read(tmp_path / "r.json")["tasks"][0]


# Runs that do not come to their end.


def waiting_suite(project: Project, duration: str) -> Path:
    """A suite whose second task waits for a file `go` while it is graded."""
    wait = f'[ -e "$HOME_DIR/go" ] || sleep {duration}'
    waits = (
        f"{PASSES}\ngraders: [{{type: program, name: w, config: {{command: sh, args: ['-c', '{wait}']}}}}]"
    )
    return mock_suite(project.home, {"a": PASSES, "b": waits}, SAYS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=str)
def test_a_run_that_was_cut_off_is_sealed_as_such_and_goes_on(
    project: Project, number: signal.Signals
) -> None:
    duration, env = nap(), {"HOME_DIR": str(project.home)}
    asked = ["run", waiting_suite(project, duration), "--snapshot", "ev"]
    with project.started(*asked, env=env) as live:
        live.until(lambda: project.finished() == [("a", 1)] and survivors(duration))
        live.send(number)
        live.process.wait(LIMIT)
    found = project.run("evidence", "verify", "ev")
    if number == signal.SIGKILL:
        assert found.code == 1
        assert "evidence.json: is missing" in found.out
    else:
        assert found.code == 0, found.out
        assert "did not come to its end: cancelled" in found.err
        assert not read(project.home / "ev/evidence.json")["complete"]
    (project.home / "go").touch()
    ended = project.run(*asked, "--resume", env=env)
    assert ended.code == 0, ended.err
    seal = read(project.home / "ev/evidence.json")
    assert seal["complete"]
    assert [one["file"] for one in seal["files"]] == ["a-run1.json", "b-run1.json"]
    assert project.run("evidence", "verify", "ev").code == 0


def test_an_earlier_snapshot_that_was_changed_meanwhile_is_missing_in_the_seal(project: Project) -> None:
    duration, env = nap(), {"HOME_DIR": str(project.home)}
    asked = ["run", waiting_suite(project, duration), "--snapshot", "ev"]
    with project.started(*asked, env=env) as live:
        live.until(lambda: project.finished() == [("a", 1)] and survivors(duration))
    snapshot = project.home / "ev/a-run1.json"
    snapshot.write_bytes(snapshot.read_bytes().replace(b'"hello"', b'"jello"'))
    (project.home / "go").touch()
    ended = project.run(*asked, "--resume", env=env)
    assert ended.code == 0
    assert "has no snapshot: ev/a-run1.json is not as it was recorded" in ended.err
    assert not read(project.home / "ev/evidence.json")["complete"]
    found = project.run("evidence", "verify", "ev")
    assert found.code == 1
    assert "ev/a-run1.json: was added after the directory was sealed" in found.out


def test_another_run_never_replaces_a_snapshot(project: Project) -> None:
    mock_suite(project.home, {"a": PASSES}, SAYS)
    assert project.run("run", "eval.yaml", "--snapshot", "ev").code == 0
    before = (project.home / "ev/a-run1.json").read_bytes()
    shutil.rmtree(project.home / ".waza")
    ended = project.run("run", "eval.yaml", "--snapshot", "ev", "--resume")  # nothing to resume: a new run
    assert ended.code == 0
    assert "is there already, and of another trial" in ended.err
    assert (project.home / "ev/a-run1.json").read_bytes() == before
    assert not read(project.home / "ev/evidence.json")["complete"]


def test_a_huge_output_is_kept_in_part_and_the_manifest_says_so(tmp_path: Path) -> None:
    mock_suite(tmp_path, {"a": f"inputs: {{prompt: p}}\nmock: {{output: 'hello {'x' * 1_100_000}'}}"}, SAYS)
    assert run(tmp_path).code == 0
    snapshot = read(tmp_path / "ev/a-run1.json")
    assert len(snapshot["result"]["finalOutput"]) < 300_000
    (artifact,) = [one for one in snapshot["evidence"]["artifacts"] if one["id"] == "result"]
    assert artifact["completeness"] == "partial"
    assert artifact["reason"] == "only head and tail of a huge text are kept"
    assert verify(tmp_path).code == 0


def test_arguments_that_are_nested_deeply_can_be_verified(tmp_path: Path) -> None:
    deep = "[" * 90 + "]" * 90
    mock_suite(
        tmp_path,
        {
            "a": f"inputs: {{prompt: p}}\nmock: {{output: hello, tool_calls: [{{name: t, args: {{x: {deep}}}}}]}}"
        },
        SAYS,
    )
    assert run(tmp_path).code == 0
    assert verify(tmp_path).code == 0
    assert waza("replay", "ev/a-run1.json", cwd=tmp_path).code == 0
