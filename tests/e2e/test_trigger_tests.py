"""`trigger_tests.yaml`: every prompt in a session of its own, and how often the skill fired rightly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, waza, write_tree

from waza.errors import SuiteError
from waza.suite.load import load

# An agent that does what a prompt's first word says, and answers with what it was given.
OBEDIENT = """
import asyncio
import json
import os
import signal
from waza.errors import ExecutorError
from waza.model.agent import Limits
from waza.model.capabilities import Capabilities
from waza.model.observation import Event, SkillInvocation, Turn, Usage

class Obedient:
    capabilities = Capabilities(skills=True, tool_calls=True, usage=True, mcp=True, command_mocks=True)

    def __init__(self, setup):
        pass

    async def start(self):
        pass

    def works_in(self, task):
        return False

    async def open(self, attempt, place):
        if attempt.task.prompt.startswith("closed"):
            raise ExecutorError("no session to be had")
        return Session(attempt.task, place)

    def judge(self, attempt):
        return None

    async def aclose(self):
        pass

class Session:
    def __init__(self, task, place):
        self.task, self.place = task, place

    async def send(self, prompt, limits):
        word = prompt.split()[0]
        if word == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
        if word == "raise":
            raise ExecutorError("the engine went away")
        if word == "crash":
            raise KeyError("k")
        skills = {"fire": ["greeter"], "late": ["greeter"], "shout": ["GREETER"], "both": ["x", "greeter"]}
        root = self.place.workspace
        seen = {
            "files": sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()),
            "workspace": str(root),
            "skills": [path.name for path in self.task.skill_paths],
            "target": self.task.target and self.task.target.name,
            "mocks": [mock.name for mock in (*self.task.command_mocks, *self.task.mcp_mocks)],
            "limits": [limits.turn, limits.first_event, limits.until_skill],
            "said": prompt,
            "trace": self.place.environment.get("TRACEPARENT"),
        }
        call = {"tool_call_id": "c1", "tool_name": "view"}
        return Turn(
            output=json.dumps(seen),
            events=(
                Event(type="assistant.message", content=prompt),
                Event(type="tool.execution_start", arguments={"path": prompt}, at_ms=1.5, **call),
                Event(type="tool.execution_complete", success=True, tool_result="r", at_ms=2.5, **call),
            ),
            skills=tuple(SkillInvocation(name=name) for name in skills.get(word, [])),
            usage=Usage(
                turns=1,
                input_tokens=10,
                output_tokens=1,
                cache_read_tokens=0,
                cache_write_tokens=0,
                premium_requests=1,
            ),
            error="the session broke" if word in ("late", "break") else "",
            session_id="s-" + word,
        )

    async def aclose(self):
        pass
"""

GREETER = "---\nname: greeter\ndescription: d\n---\nGreet.\n"


def prompts(*texts: str, **keys: str) -> list[dict[str, str]]:
    return [{"prompt": text, **keys} for text in texts]


def trigger_file(should: list[dict[str, str]], should_not: list[dict[str, str]]) -> str:
    """A trigger test file; JSON is YAML."""
    return json.dumps(
        {"skill": "greeter", "should_trigger_prompts": should, "should_not_trigger_prompts": should_not}
    )


def obedient_environment(root: Path) -> dict[str, str]:
    """Install the agent above as the executor `obedient` below a directory; return the variables that programs need."""
    package = write_tree(
        root / "package",
        {
            "obedient.py": OBEDIENT,
            "obedient-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: obedient\nVersion: 1.0\n",
            "obedient-1.0.dist-info/entry_points.txt": "[waza.executors]\nobedient = obedient:Obedient\n",
        },
    )
    path = os.pathsep.join(part for part in (str(package), os.environ.get("PYTHONPATH", "")) if part)
    return {"PYTHONPATH": path}


def run(
    root: Path,
    trigger_tests: str,
    *flags: str,
    head: str = "",
    env: dict[str, str] | None = None,
    codes: tuple[int, ...] = (0, 1),
) -> Ended:
    """Run one task and the trigger tests with the agent above."""
    write_tree(root, {"trigger_tests.yaml": trigger_tests, "skills/greeter/SKILL.md": GREETER})
    config = ["skill_directories: [skills]", "timeout_seconds: 77", "first_event_timeout_seconds: 7"]
    suite = mock_suite(
        root, {"a": "inputs: {prompt: hello, files: [{path: own.txt, content: x}]}"}, head, config
    )
    flags = ("--executor", "obedient", *flags)
    ended = waza("run", suite, *flags, cwd=root, env={**obedient_environment(root), **(env or {})})
    assert ended.code in codes, ended.err
    assert "Traceback" not in ended.err
    return ended


def test_what_fires_is_counted(tmp_path: Path) -> None:
    """By hand: 3 of 5 that should fire do, one of them for half; 2.5 of 4 that should not do not."""
    should = [*prompts("fire 1", "both 2"), *prompts("fire 3", confidence="medium")]
    should += [*prompts("quiet 4", reason="r"), *prompts("shout 5", confidence="high")]
    should_not = [*prompts("quiet 6", "quiet 7"), *prompts("quiet 8", confidence="medium")]
    should_not += prompts("fire 9", confidence="medium")
    result = run(tmp_path, trigger_file(should, should_not), "--parallel", "--workers", "4").results()
    tp, fn, tn, fp = 2.5, 2, 2.5, 0.5
    assert result["trigger_metrics"] == {
        "true_positives": 3,  # counts are plain, ratios are weighted
        "false_positives": 1,
        "true_negatives": 3,
        "false_negatives": 2,
        "precision": round(tp / (tp + fp), 4),
        "recall": round(tp / (tp + fn), 4),
        "f1": round(2 * tp / (2 * tp + fp + fn), 4),
        "accuracy": round((tp + tn) / (tp + fn + tn + fp), 4),
    }
    found = result["trigger_results"]
    assert [one["prompt"] for one in found] == [one["prompt"] for one in [*should, *should_not]]
    assert [one["did_trigger"] for one in found] == [True] * 3 + [False] * 5 + [True]
    assert [one["should_trigger"] for one in found] == [True] * 5 + [False] * 4
    assert [one.get("confidence") for one in found[2:5]] == ["medium", None, "high"]
    assert result["trigger_results"][0]["session_id"] == "s-fire"


def test_sessions_that_break_are_errors_and_make_no_ratio_better(tmp_path: Path) -> None:
    should, should_not = (
        prompts("closed", "raise", "break", "late", "fire"),
        prompts("closed", "crash", "break"),
    )
    result = run(tmp_path, trigger_file(should, [*should_not, *prompts("late", "quiet")])).results()
    found = result["trigger_results"]
    # One that fired before it broke has answered.
    assert [one["did_trigger"] for one in found] == [
        False,
        False,
        False,
        True,
        True,
        True,
        True,
        True,
        True,
        False,
    ]
    assert [bool(one.get("error_msg")) for one in found] == [True] * 4 + [False] + [True] * 4 + [False]
    assert found[0]["error_msg"] == "no session to be had"
    assert found[1]["error_msg"] == "the engine went away"
    assert (found[2]["error_msg"], found[2]["session_id"]) == ("the session broke", "s-break")
    assert found[6]["error_msg"].startswith("the executor broke: KeyError: 'k' (")
    metrics = result["trigger_metrics"]
    assert metrics["errors"] == 8
    assert list(metrics)[3:6] == ["false_negatives", "errors", "precision"]
    assert (metrics["true_positives"], metrics["false_negatives"]) == (2, 0)
    assert (metrics["true_negatives"], metrics["false_positives"]) == (1, 0)
    assert metrics["accuracy"] == 0.3


def test_trigger_tests_that_were_cut_off_are_reported_as_such(tmp_path: Path) -> None:
    metric = "metrics: [{name: trigger_accuracy, threshold: 0.1}]"
    flags = ("--session-dir", "log", "--reporter", "junit:j.xml")
    tests = trigger_file(prompts("fire", "interrupt"), [])
    ended = run(tmp_path, tests, *flags, head=metric, codes=(130,))
    assert "⚠ stopped: the trigger tests were cut off\n" in ended.err
    result = ended.results()
    assert "trigger_metrics" not in result
    assert result["metadata"]["verdict"]["reasons"] == [
        "the run did not come to its end (cancelled)",
        "gate trigger_accuracy: no data",
    ]
    assert "gate trigger_accuracy: no data" in (tmp_path / "j.xml").read_text(encoding="utf-8")
    (log,) = (tmp_path / "log").iterdir()
    last = json.loads(log.read_bytes().splitlines()[-1])
    assert (last["type"], last["data"]) == ("error", {"message": "stopped: the trigger tests were cut off"})


def test_ratios_round_halves_away_from_zero_and_are_left_out_where_there_is_no_case(tmp_path: Path) -> None:
    wrong = [f"quiet {i}" for i in range(31)]
    metrics = run(tmp_path, trigger_file(prompts("fire", *wrong), [])).results()["trigger_metrics"]
    assert metrics["recall"] == metrics["accuracy"] == 0.0313  # 1/32 = 0.03125
    assert (metrics["precision"], metrics["true_negatives"]) == (1, 0)
    metrics = run(tmp_path / "b", trigger_file(prompts("quiet"), [])).results()["trigger_metrics"]
    ratios = {name: metrics.get(name) for name in ("precision", "recall", "f1", "accuracy")}
    assert ratios == {"precision": None, "recall": 0, "f1": 0, "accuracy": 0}


def test_a_session_has_the_fixtures_skills_and_mocks_of_the_suite_and_no_injected_target(
    tmp_path: Path,
) -> None:
    fixtures: dict[str, str | bytes] = {
        "fixtures/a.txt": "a",
        "fixtures/deep/er/ü.txt": "b",
        "fixtures/big.bin": b"x" * (1024 * 1024 + 1),
        "fixtures/.hidden/c.txt": "c",
        "fixtures/node_modules/d.txt": "d",
        "outside.txt": "not a fixture",
    }
    write_tree(tmp_path, fixtures)
    (tmp_path / "fixtures" / "link.txt").symlink_to(tmp_path / "outside.txt")
    head = """skill: greeter
command_mocks: [{name: az, responses: [{args: [x], stdout: y}]}]
mcp_mocks: [{name: hub, tools: {list: {responses: [{return: {}}]}}}]
"""
    result = run(tmp_path, trigger_file(prompts("quiet 1", "quiet 2"), []), head=head).results()
    seen = [json.loads(one["final_output"]) for one in result["trigger_results"]]
    for one in seen:
        assert one["files"] == ["a.txt", "deep/er/ü.txt"]
        # The suite's roots, and the directory of the skill under test.
        assert one["skills"] == ["skills", "greeter"]
        assert (one["target"], one["mocks"]) == (None, ["az", "hub"])
        assert one["limits"] == [77, 7, "greeter"]
        assert not Path(one["workspace"]).exists()
    assert seen[0]["workspace"] != seen[1]["workspace"]
    assert json.loads(result["tasks"][0]["runs"][0]["final_output"])["target"] == "greeter"


def test_results_hold_the_transcript_without_secrets_and_usage_is_added(tmp_path: Path) -> None:
    secret = "hunter2-hunter2-hunter2"
    trigger_tests = trigger_file(prompts(f"fire {secret}", "raise"), [])
    result = run(tmp_path, trigger_tests, env={"FAKE_TOKEN": secret}).results()
    assert secret not in json.dumps(result)
    found = result["trigger_results"][0]
    assert found["prompt"] == "fire [REDACTED]"
    assert [event["type"] for event in found["transcript"]] == [
        "user.message",
        "assistant.message",
        "tool.execution_start",
        "tool.execution_complete",
    ]
    assert all("at_ms" not in event for event in found["transcript"])
    assert [(call["name"], call["result"], call["success"]) for call in found["tool_calls"]] == [
        ("view", {"content": "r"}, True)
    ]
    keys = [
        "prompt",
        "should_trigger",
        "did_trigger",
        "invoked_skills",
        "final_output",
        "transcript",
        "tool_calls",
        "session_id",
    ]
    assert list(found) == keys
    assert list(result["trigger_results"][1]) == ["prompt", "should_trigger", "did_trigger", "error_msg"]
    # One task and one trigger session reported usage; the other session broke.
    usage = result["summary"]["usage"]
    assert (usage["turns"], usage["input_tokens"], usage["premium_requests"]) == (2, 20, 2)


def test_each_prompt_is_a_span_with_what_the_agent_did(tmp_path: Path) -> None:
    flags = ("--otel-exporter", "file", "--otel-file", "spans.ndjson", "--session-dir", "log")
    tests = trigger_file(prompts("fire", confidence="medium"), prompts("quiet", "late", "crash"))
    result = run(tmp_path, tests, *flags, "--parallel").results()
    lines = [json.loads(line) for line in (tmp_path / "spans.ndjson").read_text().splitlines()]
    spans = [line for line in lines if "name" in line]

    def below(span: dict[str, Any]) -> list[dict[str, Any]]:
        return [one for one in spans if one["parent_id"] == span["context"]["span_id"]]

    (whole,) = (span for span in spans if span["name"] == "waza.eval")
    found = [span for span in below(whole) if span["name"] == "waza.trigger"]
    found.sort(key=lambda span: span["attributes"]["waza.trigger.number"])
    said = ["should_trigger", "did_trigger", "confidence"]
    assert [[span["attributes"].get(f"waza.trigger.{key}") for key in said] for span in found] == [
        [True, True, "medium"],
        [False, False, None],
        [False, True, None],
        [False, False, None],
    ]
    assert [span["attributes"].get("error.type") for span in found] == [None, None, *["executor"] * 2]
    assert found[2]["status"] == {"status_code": "ERROR", "description": "the session broke"}
    for span, one in zip(found, result["trigger_results"], strict=True):
        (turn,) = below(span)
        assert (turn["name"], turn["attributes"]["waza.turn.kind"]) == ("waza.turn", "trigger")
        assert "waza.turn.trial" not in turn["attributes"]
        if one.get("final_output"):
            trace = json.loads(one["final_output"])["trace"]
            assert trace.split("-")[2] == span["context"]["span_id"][2:]
            assert [call["name"] for call in below(turn)] == ["waza.tool_call", "waza.model_call"]
            assert turn["attributes"]["gen_ai.usage.input_tokens"] == 10
    (log,) = (tmp_path / "log").iterdir()
    assert "trigger" not in log.read_text()  # which has tasks only


def test_a_finished_run_is_reported_again_with_its_trigger_tests(tmp_path: Path) -> None:
    trigger_tests = trigger_file(prompts("fire", "quiet"), prompts("break"))
    first = run(tmp_path, trigger_tests).results()
    again = run(tmp_path, trigger_tests, "--resume").results()
    for key in ("trigger_metrics", "trigger_results", "metrics", "summary"):
        assert again[key] == first[key], key


@pytest.mark.parametrize(
    ("metric", "code", "passed"),
    [
        ("{name: trigger_accuracy, threshold: 0.75, weight: 3}", 0, True),
        ("{name: trigger_accuracy, threshold: 0.76}", 1, False),
        ("{name: trigger_accuracy, threshold: 0.76, enabled: false}", 0, None),
        ("{name: trigger_accuracy}", 0, True),
        ("{name: trigger_recall, threshold: 0.76}", 0, False),
        ("{name: trigger_recall, threshold: 0.76, gate: true}", 1, False),
        ("{name: trigger_precision, threshold: 1, gate: true}", 0, True),
    ],
)
def test_accuracy_gates_and_the_other_figures_when_asked_to(
    metric: str, code: int, passed: bool | None, tmp_path: Path
) -> None:
    trigger_tests = trigger_file(prompts("fire 1", "quiet 2"), prompts("quiet 3", "quiet 4"))
    ended = run(tmp_path, trigger_tests, head=f"metrics: [{metric}]")
    assert ended.code == code
    found = list(ended.results()["metrics"].values())
    assert [one["passed"] for one in found] == ([] if passed is None else [passed])
    if "weight" in metric:
        assert found[0] == {
            "identifier": "trigger_accuracy",
            "value": 0.75,
            "threshold": 0.75,
            "passed": True,
            "weight": 3,
        }


MOCKED = trigger_file(
    [*prompts("a"), *prompts("b", confidence="medium")], prompts("c", "d", confidence="medium")
)


def test_the_mock_plays_the_script_of_its_suite(tmp_path: Path) -> None:
    write_tree(tmp_path, {"trigger_tests.yaml": MOCKED, "SKILL.md": GREETER})
    script = "mock: {triggers: {a: true, b: false, c: true, d: false}}"
    result = waza("run", mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}, script), cwd=tmp_path).results()
    assert result["trigger_metrics"] == {
        "true_positives": 1,
        "false_positives": 1,
        "true_negatives": 1,
        "false_negatives": 1,
        "precision": round(1 / 1.5, 4),
        "recall": round(1 / 1.5, 4),
        "f1": round(2 / 3, 4),
        "accuracy": round(1.5 / 2.5, 4),
    }
    assert result["trigger_results"] == [
        {"prompt": "a", "should_trigger": True, "did_trigger": True, "invoked_skills": ["greeter"]},
        {
            "prompt": "b",
            "confidence": "medium",
            "should_trigger": True,
            "did_trigger": False,
            "invoked_skills": [],
        },
        {
            "prompt": "c",
            "confidence": "medium",
            "should_trigger": False,
            "did_trigger": True,
            "invoked_skills": ["greeter"],
        },
        {
            "prompt": "d",
            "confidence": "medium",
            "should_trigger": False,
            "did_trigger": False,
            "invoked_skills": [],
        },
    ]


@pytest.mark.parametrize("mock", ["", "mock: {output: x}"])
@pytest.mark.parametrize("flags", [("--executor", "mock"), ()])
def test_without_a_script_nothing_is_measured_and_no_artifact_shows_an_accuracy(
    tmp_path: Path, mock: str, flags: tuple[str, ...]
) -> None:
    write_tree(tmp_path, {"trigger_tests.yaml": MOCKED, "SKILL.md": GREETER})
    metric = "metrics: [{name: trigger_accuracy, threshold: 1}]"
    suite = mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}, f"{metric}\n{mock}")
    reports = ["--reporter", "junit:j.xml", "--reporter", "markdown:m.md"]
    ended = waza("run", suite, *flags, *reports, cwd=tmp_path)
    assert ended.code == 0
    assert "trigger_tests.yaml:1:1: warning: not measured: " in ended.err
    result = ended.results()
    assert "trigger_metrics" not in result
    assert "trigger_results" not in result
    assert result["metrics"] == {}
    comment = waza("run", suite, *flags, "--format", "github-comment", cwd=tmp_path)
    texts = [ended.out, comment.out, *((tmp_path / name).read_text() for name in ("j.xml", "m.md"))]
    for text in texts:
        assert "accuracy" not in text.lower().replace("\\", "").replace("trigger_accuracy", "")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("{a: true}", "mock.triggers: says nothing of 3 of 4 prompts, such as 'b'"),
        (
            "{a: true, b: true, c: true, d: true, e: true}",
            "mock.triggers.e: is not a prompt of trigger_tests.yaml",
        ),
        ("{a: maybe, b: true, c: true, d: true}", "mock.triggers.a: "),
    ],
)
def test_a_script_that_does_not_fit_the_prompts_is_refused(script: str, words: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {"trigger_tests.yaml": MOCKED, "SKILL.md": GREETER})
    with pytest.raises(SuiteError) as raised:
        load(mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}, f"mock: {{triggers: {script}}}"))
    assert words in str(raised.value)


@pytest.mark.parametrize("where", ["suite", "task"])
def test_a_script_without_trigger_tests_is_refused(where: str, tmp_path: Path) -> None:
    script = "mock: {triggers: {a: true}}"
    task = "inputs: {prompt: p}\n" + (script if where == "task" else "")
    with pytest.raises(SuiteError) as raised:
        load(mock_suite(tmp_path, {"a": task}, script if where == "suite" else ""))
    assert "triggers" in str(raised.value)


def test_other_prompts_make_another_suite(tmp_path: Path) -> None:
    write_tree(tmp_path, {"SKILL.md": GREETER})
    digests = set()
    for prompt in ("a", "b"):
        write_tree(tmp_path, {"trigger_tests.yaml": trigger_file(prompts(prompt), [])})
        for did in ("true", "false"):
            script = f"mock: {{triggers: {{{prompt}: {did}}}}}"
            digests.add(load(mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}, script)).digest)
    assert len(digests) == 4


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("should_trigger_prompts: [{prompt: p}]", "skill"),
        ("skill: s", "has no prompt"),
        ("skill: s\nshould_trigger_prompts: []", "has no prompt"),
        ("skill: ''\nshould_trigger_prompts: [{prompt: p}]", "skill"),
        ("skill: s\nshould_trigger_prompts: [{reason: r}]", "prompt"),
        ("skill: s\nshould_trigger_prompts: [{prompt: ''}]", "prompt"),
        ("skill: s\nshould_trigger_prompts: [p]", "should_trigger_prompts[0]"),
        ("skill: s\nshould_trigger_prompts: [{prompt: p, confidence: low}]", "confidence"),
        ("skill: s\nskill: t\nshould_trigger_prompts: [{prompt: p}]", "skill"),
        ("[]", "trigger_tests.yaml"),
        ("", "trigger_tests.yaml"),
    ],
)
def test_a_bad_file_is_refused_before_anything_runs(content: str, words: str, tmp_path: Path) -> None:
    write_tree(tmp_path, {"trigger_tests.yaml": content})
    with pytest.raises(SuiteError) as raised:
        load(mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}))
    assert words in str(raised.value)
    assert all("trigger_tests.yaml" in problem.file for problem in raised.value.problems)


def test_an_unknown_key_is_a_warning_and_a_misspelt_one_an_error(tmp_path: Path) -> None:
    content = "skill: s\nthreshold: 1\nshould_trigger_prompts: [{prompt: p, KEY: high}]\n"
    for key, code in (("owner", 0), ("confidense", 2)):
        write_tree(tmp_path, {"trigger_tests.yaml": content.replace("KEY", key)})
        ended = waza("run", mock_suite(tmp_path, {"a": "inputs: {prompt: p}"}), cwd=tmp_path)
        assert ended.code == code
        assert "trigger_tests.yaml:2" in ended.err
        assert "confidence" in ended.err


def test_a_suite_may_have_trigger_tests_and_no_task(tmp_path: Path) -> None:
    """What was not measured has not passed."""
    tests = "skill: greeter\nshould_trigger_prompts: [{prompt: hello}]\nshould_not_trigger_prompts: [{prompt: bye}]\n"
    head = "name: s\nskill: greeter\nconfig: {executor: mock, skill_required: false}\n"
    metric = "metrics: [{name: trigger_accuracy, threshold: 1}]\n"
    write_tree(tmp_path, {"trigger_tests.yaml": tests})
    outputs = ("-o", "report.html", "--reporter", "junit:j.xml", "--reporter", "markdown:m.md")
    for fires, code in (("false", 0), ("true", 1)):
        script = f"mock: {{triggers: {{hello: true, bye: {fires}}}}}\n"
        write_tree(tmp_path, {"eval.yaml": head + metric + script})
        ended = waza("run", "eval.yaml", "--interpret", *outputs, cwd=tmp_path)
        assert (ended.code, "Traceback" in ended.err) == (code, False), ended.err
        assert ended.results()["trigger_metrics"]["false_positives"] == code
        assert "Task success rate:  no task" in ended.out
        assert "Overall score" not in ended.out  # of nothing
        assert all((tmp_path / name).stat().st_size for name in ("report.html", "j.xml", "m.md"))
    write_tree(tmp_path, {"eval.yaml": head})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 1
    assert ended.results()["metadata"]["verdict"]["reasons"] == [
        "nothing was measured: no task and no trigger test ran"
    ]
    assert waza("run", "eval.yaml", "--task", "x", cwd=tmp_path).code == 2
