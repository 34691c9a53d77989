"""What a run writes: results files and their names, reports for machines, nothing at all. And no secret in any of it."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, command, environment, mock_suite, strict_json, waza, write_tree

SAYS_HELLO = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
PASSES = "inputs: {prompt: p}\nmock: {output: hello}"
FAILS = "inputs: {prompt: p}\nmock: {output: bye}"
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d{6}\.\d{3}(-\d+)?")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A directory with a suite of two tasks, one of which fails."""
    mock_suite(tmp_path, {"a": PASSES, "b": FAILS}, SAYS_HELLO)
    return tmp_path


def skills(root: Path, names: Mapping[str, str]) -> Path:
    """Write skills by directory, each with a suite on two models in which the task `bad` of the second fails."""
    for number, (directory, name) in enumerate(names.items()):
        eval_file = f"name: s\nskill: '{name}'\nconfig: {{executor: mock}}\n{SAYS_HELLO}\ntasks: [t.yaml]\n"
        write_tree(root / "skills" / directory, {
            "SKILL.md": f"---\nname: '{name}'\ndescription: d\n---\nb\n",
            "eval.yaml": eval_file,
            "t.yaml": FAILS if number else PASSES,
        })  # fmt: skip
    return root


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


# --- results files ---


def test_the_output_is_the_results_file_of_the_run(suite: Path):
    ended = waza("run", "eval.yaml", "--output", "new/folder/out.json", cwd=suite)
    assert ended.code == 1
    assert "Written: new/folder/out.json\n" in ended.err
    kept = next((suite / ".waza" / "runs").glob("*/results.json"))
    assert f"Results saved to {kept}\n" in ended.err
    written = strict_json((suite / "new/folder/out.json").read_bytes())
    assert written["metadata"].pop("invocation") == {"verdict": written["metadata"]["verdict"]}
    assert json.dumps(written) == json.dumps(strict_json(kept.read_bytes())), "but for that the files are one"
    assert strict_json(kept.read_bytes())["summary"]["failed"] == 1
    assert (suite / ".waza" / ".gitignore").read_text() == "*\n"
    assert files(suite / "new") == ["folder/out.json"]


def test_the_output_replaces_an_older_one_and_keeps_a_link(suite: Path):
    write_tree(suite, {"real.json": "old"})
    (suite / "out.json").symlink_to("real.json")
    waza("run", "eval.yaml", "-o", "out.json", "--no-save", cwd=suite)
    assert (suite / "out.json").is_symlink()
    assert strict_json((suite / "real.json").read_bytes())["summary"]["total_tests"] == 2


def test_nothing_is_left_of_a_run_that_is_not_saved(suite: Path, tmp_path_factory: pytest.TempPathFactory):
    before, temp = files(suite), tmp_path_factory.mktemp("temp")
    ended = waza("run", "eval.yaml", "--no-save", "-v", cwd=suite, env={"TMPDIR": str(temp)})
    assert ended.code == 1
    assert files(suite) == before
    assert list(temp.iterdir()) == []
    assert "saved" not in ended.err


MODELS = {
    "a/b": "a-b",
    "a:b": "a-b-2",
    "A b": "A-b-3",
    "..": "--",
    "x" * 300: "x" * 100,
    "é🎯": "é🎯",
    "q?*": "q--",
}


def test_names_of_several_models(suite: Path):
    options = [word for name in MODELS for word in ("--model", name)]
    ended = waza("run", "eval.yaml", *options, "-o", "o/r.json", "--no-save", cwd=suite)
    assert ended.code == 1
    expected = {f"r_{part}.json": name for name, part in MODELS.items()}
    assert files(suite / "o") == sorted(expected)
    for file, name in expected.items():
        found = strict_json((suite / "o" / file).read_bytes())
        assert (found["config"]["model_id"], len(found["tasks"])) == (name, 2)


def test_names_of_several_models_in_a_folder(suite: Path):
    options = [word for name in MODELS for word in ("-m", name)]
    waza("run", "eval.yaml", *options, "--output-dir", "o", "--no-save", cwd=suite)
    (folder,) = (suite / "o").iterdir()
    assert STAMP.fullmatch(folder.name)
    assert files(folder) == sorted(f"{part}.json" for part in MODELS.values())
    assert sorted(path.name for path in suite.iterdir()) == ["eval.yaml", "o", "tasks"]


def test_two_programs_at_once_overwrite_nothing(suite: Path):
    args = ("run", "eval.yaml", "--model", "m/x", "--model", "m:x", "--output-dir", "o")
    running = [
        subprocess.Popen(
            command(*args), cwd=suite, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(2)
    ]
    assert [process.wait(60) for process in running] == [1, 1]
    found = [strict_json(path.read_bytes()) for path in (suite / "o").rglob("*.json")]
    assert sorted(one["config"]["model_id"] for one in found) == ["m/x", "m/x", "m:x", "m:x"]
    assert len({one["eval_id"] for one in found}) == 4
    assert len(list((suite / ".waza" / "runs").glob("*/results.json"))) == 4


SKILLS = {"one": "the/first", "two": "the:first", "three": "summary", "four": "last one"}


def test_several_skills_and_models_and_their_summary(tmp_path: Path):
    skills(tmp_path, SKILLS)
    ended = waza("run", "-m", "x", "-m", "y", "-o", "o/r.json", "--no-save", cwd=tmp_path)
    assert ended.code == 1, ended.err
    stems = {"the/first": "the-first", "the:first": "the-first", "summary": "summary", "last one": "last-one"}
    expected = [f"r_{stems[name]}_{model}{'-2' if name == 'the:first' else ''}.json" for name in SKILLS.values() for model in "xy"]  # fmt: skip
    assert files(tmp_path / "o") == sorted([*expected, "r_summary.json"])
    summary = strict_json((tmp_path / "o" / "r_summary.json").read_bytes())
    assert summary["overall"] == {
        "total_skills": 4, "total_models": 2, "avg_pass_rate": 0.25, "avg_aggregate_score": 0.25,
    }  # fmt: skip
    assert list(summary) == ["timestamp", "skills", "overall", "verdict"]
    assert summary["verdict"]["passed"] is False
    rows = {row["skill_name"]: row for row in summary["skills"]}
    assert set(rows) == set(SKILLS.values())
    first = rows["the/first"]
    assert first == {
        "skill_name": "the/first", "models": ["x", "y"], "pass_rate": 1, "aggregate_score": 1,
        "output_files": ["r_the-first_x.json", "r_the-first_y.json"],
    }  # fmt: skip
    assert sorted(name for row in rows.values() for name in row["output_files"]) == sorted(expected)


def test_a_skill_whose_name_is_that_of_the_summary(tmp_path: Path):
    skills(tmp_path, {"one": "summary", "two": "other"})
    assert waza("run", "-o", "r.json", "--no-save", cwd=tmp_path).code == 1
    assert sorted(path.name for path in tmp_path.glob("r*")) == [
        "r_other.json",
        "r_summary-2.json",
        "r_summary.json",
    ]
    assert "overall" in strict_json((tmp_path / "r_summary.json").read_bytes())
    assert waza("run", "-o", "n.json", "--no-save", "--no-summary", cwd=tmp_path).code == 1
    assert sorted(path.name for path in tmp_path.glob("n*")) == ["n_other.json", "n_summary-2.json"]


def test_a_folder_of_several_skills(tmp_path: Path):
    skills(tmp_path, {"one": "a/b", "two": "c d"})
    waza("run", "-d", "o", "--model", "m", "--no-save", cwd=tmp_path)
    (folder,) = (tmp_path / "o").iterdir()
    assert files(folder) == ["a-b/m.json", "c-d/m.json"]


# --- JSON on standard output ---


@pytest.mark.parametrize("args", [["--json"], ["--reporter", "json"], ["--json", "--verbose"]])
def test_json_alone_on_standard_output(suite: Path, args: list[str]):
    ended = waza("run", "eval.yaml", *args, "--reporter", "json:r.json", "--no-save", cwd=suite)
    assert ended.code == 1
    found = strict_json(ended.out)
    assert found["summary"]["total_tests"] == 2
    assert ended.out == (suite / "r.json").read_text(encoding="utf-8") + "\n"
    assert "[1/2]" in ended.err


def test_json_of_several_models_is_a_list(suite: Path):
    ended = waza("run", "eval.yaml", "-m", "a", "-m", "b", "--json", "-v", cwd=suite)
    assert [one["config"]["model_id"] for one in strict_json(ended.out)] == ["a", "b"]


# --- reports in files ---


def test_reports_are_written_though_tasks_fail_one_file_for_all_models(suite: Path):
    reporters = ("--reporter", "junit:ci/j.xml", "--reporter", "markdown:m.md", "--reporter", "json:r.json")
    assert waza("run", "eval.yaml", "-m", "a", "-m", "b", *reporters, cwd=suite).code == 1
    assert files(suite / "ci") == ["j.xml"]
    root = ET.parse(suite / "ci/j.xml").getroot()  # noqa: S314  # our own report
    assert (root.attrib["tests"], root.attrib["failures"], root.attrib["errors"]) == ("4", "2", "0")
    for part, model in zip(root.iter("testsuite"), "ab", strict=True):
        given = {one.attrib["name"]: one.attrib["value"] for one in part.findall("properties/property")}
        assert given == {
            "skill": "",
            "model": model,
            "engine": "mock",
            "score": "0.5000",
            "verdict": "failed",
        }
        (failure,) = part.iter("failure")
        assert failure.attrib == {"type": "GraderFailure", "message": "b: score=0.00"}
        assert failure.text == "[FAIL] says (text): score=0.00 — no 'hello' in the output"
        assert f"| Model | {model} |" in (suite / "m.md").read_text(encoding="utf-8")
        assert strict_json((suite / f"r_{model}.json").read_bytes())["config"]["model_id"] == model


def test_reports_into_a_directory_are_one_a_suite_and_model(tmp_path: Path):
    skills(tmp_path, {"one": "ada", "two": "bob"})
    reporters = ("--reporter", "junit:ci/", "--reporter", "markdown:md/", "--reporter", "json:js/")
    assert waza("run", "-m", "x", "-m", "y", *reporters, "--no-save", cwd=tmp_path).code == 1
    names = [f"{skill}_{model}" for skill in ("ada", "bob") for model in "xy"]
    for folder, ending in (("ci", "xml"), ("md", "md"), ("js", "json")):
        assert files(tmp_path / folder) == [f"{name}.{ending}" for name in names]
    passed = ET.parse(tmp_path / "ci/ada_x.xml").getroot()  # noqa: S314  # our own report
    assert (passed.attrib["tests"], passed.attrib["failures"]) == ("1", "0")


def test_one_junit_file_of_many_suites(tmp_path: Path):
    skills(tmp_path, {f"d{number}": f"skill-{number}" for number in range(24)})
    ended = waza("run", "--discover", "--reporter", "junit:out.xml", "--no-save", cwd=tmp_path)
    assert ended.code == 1
    root = ET.parse(tmp_path / "out.xml").getroot()  # noqa: S314  # our own report
    assert len(root.findall("testsuite")) == 24
    assert (root.attrib["tests"], root.attrib["failures"]) == ("24", "23")


@pytest.mark.parametrize("name", ["r.xml", "r.MD", "r.csv"])
def test_results_are_not_written_under_a_name_that_says_something_else(suite: Path, name: str):
    ended = waza("run", "eval.yaml", "-o", name, cwd=suite)
    assert ended.code == 2
    assert f"{name}: results are written as JSON; " in ended.err
    assert not (suite / name).exists()
    assert not (suite / ".waza").exists()


def test_a_regrade_is_not_written_under_such_a_name_either(suite: Path):
    waza("run", "eval.yaml", "-o", "r.json", cwd=suite)
    ended = waza("grade", "eval.yaml", "--results", "r.json", "-o", "again.html", cwd=suite)
    assert ended.code == 2
    assert "again.html: results are written as JSON; " in ended.err


def test_a_report_that_cannot_be_written_keeps_no_other_from_it(suite: Path):
    (suite / "taken").write_text("", encoding="utf-8")
    reporters = ("--reporter", "junit:taken/j.xml", "--reporter", "markdown:m.md")
    ended = waza("run", "eval.yaml", *reporters, "-o", "r.json", "--no-save", cwd=suite)
    assert ended.code == 2
    assert "taken/j.xml" in ended.err
    assert (suite / "m.md").exists()
    assert (suite / "r.json").exists()


# --- secrets ---

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ0aB2cD4eF6"
PLAIN = "correct horse battery staple"
CREDENTIALS = "deploy:s3cr3t-w0rd"
TOKEN64 = base64.b64encode(TOKEN.encode()).decode()
PLAIN64 = base64.b64encode(f"x{PLAIN}".encode()).decode()
SECRETS = (TOKEN, PLAIN, CREDENTIALS, TOKEN64, PLAIN64[4:-4])
BOTH = f"{TOKEN} and {PLAIN}"

GRADERS = [
    {"type": "text", "name": "sees_it", "config": {"contains": [TOKEN, PLAIN]}},
    {"type": "code", "name": "code_sees_it", "config": {"assertions": [f"'{TOKEN}' in output and '{PLAIN}' in str(tool_calls)"]}},
    {"type": "tool_calls", "name": "call_has_it", "config": {"expect": [{"tool": "bash", "args": {"env": {"equals": TOKEN}}}]}},
    {"type": "program", "name": "repeats_it", "config": {"command": "sh", "args": ["-c", 'cat; echo "$FAKE_TOKEN $MY_PASSWORD" >&2; false'], "cache_inputs": []}},
]  # fmt: skip
SAYS = {
    "output": f"it is {BOTH}, encoded {TOKEN64} {PLAIN64}, see https://{CREDENTIALS}@example.com/r.git",
    "tool_calls": [
        {"name": "bash", "args": {"command": f"curl -H {PLAIN}", "env": TOKEN, "list": [{TOKEN: 1}]}, "result": {"out": TOKEN64}},
        {"name": "view", "success": False, "result": f"no access for {BOTH}"},
    ],
    "skills": ["s"],
}  # fmt: skip
LEAKY = {
    "says": {"inputs": {"prompt": f"use {BOTH}"}, "graders": GRADERS, "mock": SAYS},
    "breaks": {"inputs": {"prompt": "p"}, "mock": {"output": "x", "error": f"HTTP 401 for {BOTH} at https://{CREDENTIALS}@h/"}},
    "judged": {
        "inputs": {"prompt": "p"},
        "graders": [{"type": "prompt", "name": "judge", "config": {"prompt": f"is it {BOTH}?"}}],
        "mock": {**SAYS, "judge": {"judge": [{"fail": f"it shows {BOTH}"}]}},
    },
    "talks": {
        "inputs": {"prompt": "p", "follow_up_prompts": [f"again, {BOTH}"]},
        "checkpoints": [{"after_turn": 1, "graders": GRADERS}],
        "mock": {"turns": [SAYS, {"output": "", "error": f"gone: {BOTH}"}]},
    },
}  # fmt: skip


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    hook = {"hooks": {"before_task": [{"command": 'echo "$FAKE_TOKEN"; exit 3'}]}}
    tasks = {name: json.dumps(task) for name, task in LEAKY.items()}
    mock_suite(tmp_path, tasks, json.dumps(hook)[1:-1], ["max_attempts: 2"])
    return tmp_path


def run_leaky(root: Path, *args: str, known: bool = True) -> Ended:
    secrets = {"FAKE_TOKEN": TOKEN, "MY_PASSWORD": PLAIN} if known else {}
    return waza("run", "eval.yaml", *args, cwd=root, env=secrets)


def written(root: Path) -> Iterator[tuple[str, str]]:
    for name in files(root):
        if not name.startswith(("eval.yaml", "tasks/")):
            yield name, (root / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("args", [[], ["--verbose"], ["--json"], ["--format", "github-comment"]])
def test_no_secret_leaves_the_program(leaky: Path, args: list[str]):
    ended = run_leaky(
        leaky, *args, "-o", "o.json", "--session-log", "--session-dir", "log", "--transcript-dir", "talk",
        "--cache", "--cache-dir", "shelf", "--reporter", "junit:j.xml", "--reporter", "markdown:m.md",
    )  # fmt: skip
    assert ended.code == 1
    places = {"standard output": ended.out, "standard error": ended.err, **dict(written(leaky))}
    redacted = {name for name, text in places.items() if "[REDACTED]" in text}
    for kind in (
        "output",
        "error",
        "o.json",
        "journal",
        "results.json",
        "j.xml",
        "m.md",
        "talk/says",
        "log/",
        "shelf/",
    ):
        assert any(kind in name for name in redacted), f"nothing was redacted in {kind}"
    for name, text in places.items():
        found = [secret for secret in SECRETS if secret in text or json.dumps(secret)[1:-1] in text]
        assert found == [], f"a secret is in {name}"
    tasks = {
        task["test_id"]: task["runs"][0] for task in strict_json((leaky / "o.json").read_bytes())["tasks"]
    }
    seen = {"sees_it": True, "code_sees_it": True, "call_has_it": True, "repeats_it": False}
    for verdicts in (tasks["says"]["validations"], tasks["talks"]["checkpoints"][0]["validations"]):
        assert {name: one["passed"] for name, one in verdicts.items()} == seen
    assert tasks["talks"]["error_msg"] == "follow-up 1/1: gone: [REDACTED] and [REDACTED]"


GIVEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # by where it is given: the keys of the suite, and of its task
    "environment": ({}, {"environment": {"SERVICE_COOKIE": "correcthorse"}}),
    "MCP env": ({"mcp_servers": {"x": {"command": "true", "env": {"DB_CONN_STR": "correcthorse"}}}}, {}),
    "MCP header": ({"mcp_servers": {"x": {"url": "http://h", "headers": {"Authorization": "Bearer correcthorse"}}}}, {}),
    "MCP argument": ({"mcp_servers": {"x": {"command": "true", "args": ["--api-key", "correcthorse"]}}}, {}),
}  # fmt: skip


@pytest.mark.parametrize("place", GIVEN)
def test_what_the_run_was_given_under_a_secret_name_leaves_nowhere(tmp_path: Path, place: str):
    config, inputs = GIVEN[place]
    task = {"name": "a", "inputs": {"prompt": "p", **inputs}, "mock": {"output": "it is correcthorse."}}
    lines = [f"{key}: {json.dumps(value)}" for key, value in config.items()]
    head = json.dumps(
        {"graders": [{"type": "text", "name": "g", "config": {"contains": ["x", "correcthorse"]}}]}
    )
    mock_suite(tmp_path, {"t": json.dumps(task)}, head[1:-1], lines)
    ended = waza(
        "run", "eval.yaml", "-v", "--session-log", "--session-dir", "log", "-o", "o.json", cwd=tmp_path
    )
    assert ended.code == 1, ended.err
    (run,) = strict_json((tmp_path / "o.json").read_bytes())["tasks"][0]["runs"]
    assert run["final_output"] == "it is [REDACTED]."
    for name, text in {"output": ended.out, "error": ended.err, **dict(written(tmp_path))}.items():
        assert "correcthorse" not in text, name


def test_a_secret_in_the_options_of_an_executor_leaves_nowhere(tmp_path: Path):
    said = "echo it is correcthorse; echo correcthorse >&2; exit 3; agent --password correcthorse"
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}"})
    ended = waza("run", "eval.yaml", "-v", "--executor", f"command:{said}", "-o", "o.json", cwd=tmp_path)
    assert ended.code == 1
    for name, text in {"output": ended.out, "error": ended.err, **dict(written(tmp_path))}.items():
        assert "correcthorse" not in text, name


def test_a_key_at_the_seam_of_the_streams_of_a_hook_is_seen(tmp_path: Path):
    hook = {"hooks": {"before_task": [{"command": 'printf done; printf "s%s" "k-$HALF" >&2; exit 3'}]}}
    mock_suite(tmp_path, {"t": "inputs: {prompt: p}"}, json.dumps(hook)[1:-1])
    ended = waza("run", "eval.yaml", "-v", cwd=tmp_path, env={"HALF": "a1" * 12})
    for name, text in {"output": ended.out, "error": ended.err, **dict(written(tmp_path))}.items():
        assert "a1a1a1" not in text, name
    assert "[hook:before_task] done\n[hook:before_task] [REDACTED]" in ended.err


def test_logs_and_artifacts_hide_more_than_results(tmp_path: Path):
    """Mail addresses and long hex words, which results may hold, are no business of who reads a log."""
    private = ("jane.doe@example.com", "0123456789abcdef" * 2)
    grader = "{type: program, name: g, config: {command: sh, args: [-c, 'cat >&2; false']}}"
    mock_suite(
        tmp_path,
        {"t": f"inputs: {{prompt: p}}\nmock: {{output: '{' '.join(private)}'}}\ngraders: [{grader}]"},
    )
    log = ("--session-log", "--session-dir", "log", "--transcript-dir", "talk")
    assert waza("run", "eval.yaml", "--no-save", "-o", "o.json", *log, cwd=tmp_path).code == 1
    (run,) = strict_json((tmp_path / "o.json").read_bytes())["tasks"][0]["runs"]
    assert run["final_output"] == " ".join(private)
    assert run["failure_artifacts"]["stdout"] == "[REDACTED] [REDACTED]"
    for name in ("log", "talk"):
        (path,) = (tmp_path / name).iterdir()
        text = path.read_text(encoding="utf-8")
        assert "[REDACTED] [REDACTED]" in text
        assert [one for one in private if one in text] == []


def test_the_search_for_secrets_would_find_one(leaky: Path):
    """Without the variables in the environment only the shapes of credentials are known."""
    text = run_leaky(leaky, "--json", "--no-save", known=False).out
    assert PLAIN in text
    assert TOKEN not in text
    assert CREDENTIALS not in text


def test_a_task_whose_id_gives_a_secret_away_is_refused(tmp_path: Path):
    task = {
        "id": "t-correct9horse",
        "inputs": {"prompt": "p", "environment": {"DB_PASSWORD": "correct9horse"}},
    }
    mock_suite(tmp_path, {"t": json.dumps(task)})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "id: looks like a secret or holds one of inputs.environment" in ended.err
    task["id"] = "t-other"
    mock_suite(tmp_path, {"t": json.dumps(task)})
    assert waza("run", "eval.yaml", cwd=tmp_path).code == 0


@pytest.mark.parametrize("environment", [{}, {"DB_PASSWORD": "correct9horse"}])
def test_a_task_whose_tag_gives_a_secret_away_is_refused(tmp_path: Path, environment: dict[str, str]):
    secret = environment.get("DB_PASSWORD", "AKIA" + "ABCDEFGH12345678")
    task = {"id": "t", "tags": ["fine", secret], "inputs": {"prompt": "p", "environment": environment}}
    mock_suite(tmp_path, {"t": json.dumps(task)})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "tags[1]: looks like a secret or holds one of inputs.environment" in ended.err
