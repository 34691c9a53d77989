"""What a verdict is and what is none: failures, errors, graders that check nothing, other people's graders."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from tests.support.program import mock_suite, waza, write_tree

from waza.errors import SuiteError
from waza.suite.load import load


def task(graders: str, mock: str) -> str:
    return f"inputs: {{prompt: go}}\nmock:\n{indent(mock, '  ')}\ngraders:\n{graders}\n"


# What is a failure (a verdict) and what is an error (none), by grader and script.
ERROR_OR_FAILURE: dict[str, tuple[str, str, str, float]] = {
    "pattern": ("text, config: {contains: [hi], regex_match: ['a**']}", "output: hi", "failed", 0.5),
    "no-json": ("json_schema, config: {schema: {type: object}}", "output: hi", "failed", 0),
    "raises": ("code, config: {assertions: ['1 / 0', 'output']}", "output: hi", "failed", 0.5),
    "no-command": ("program, config: {command: no-such-program-here}", "output: hi", "failed", 0),
    "silent-judge": ("prompt, config: {prompt: p}", "output: hi\njudge: {g: []}", "failed", 0),
    "no-skill": (
        "skill_invocation, config: {required_skills: [a], mode: in_order}",
        "output: hi",
        "failed",
        0,
    ),
    "no-skill-forbidden": ("skill_invocation, config: {forbidden_skills: [a]}", "output: hi", "passed", 1),
    "missing-file": ("file, config: {must_exist: [a.txt]}", "files: [{path: b.txt}]", "failed", 0),
    "no-file-is-wanted": ("file, config: {must_not_exist: [a.txt]}", "output: hi", "passed", 1),
    "slow-code": ("code, config: {timeout: 1, assertions: ['sum(range(10**12))']}", "output: hi", "error", 0),
    "broken-judge": ("prompt, config: {prompt: p}", "output: hi\njudge: {g: [{error: away}]}", "error", 0),
    "late-error": (
        "prompt, config: {prompt: p}",
        "output: hi\njudge: {g: [{pass: a}, {error: away}]}",
        "passed",
        1,
    ),
    "no-judge": ("prompt, config: {prompt: p}", "output: hi", "error", 0),
}


@pytest.fixture(scope="module")
def troubles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("troubles")
    tasks = {}
    for name, (grader, mock, _, _) in ERROR_OR_FAILURE.items():
        lines = f"- {{type: {grader}, name: g, weight: 3}}\n- {{type: text, name: kept, config: {{not_contains: [x]}}}}"
        tasks[name] = task(lines, mock)
    ended = waza("run", mock_suite(root, tasks), cwd=root)
    assert ended.code == 1, ended.err
    return {task["test_id"]: task for task in ended.results()["tasks"]}


@pytest.mark.parametrize("name", ERROR_OR_FAILURE)
def test_errors_and_failures_are_distinguished(name: str, troubles: dict[str, Any]) -> None:
    _, _, status, score = ERROR_OR_FAILURE[name]
    task = troubles[name]
    run = task["runs"][0]
    found = run["validations"]["g"]
    assert (run["status"], task["status"]) == (status, status)
    assert (found["score"], found["passed"]) == (score, status == "passed")
    assert ("error" in found["details"]) == (status == "error" or name == "no-json")
    # The verdicts of the others are kept, and a grader that errs keeps its weight.
    assert run["validations"]["kept"]["passed"] is True
    assert task["stats"]["avg_weighted_score"] == pytest.approx((3 * score + 1) / 4, rel=0, abs=1e-9)
    assert task["stats"]["avg_score"] == pytest.approx((score + 1) / 2, rel=0, abs=1e-9)
    if status == "error":
        assert run["error_msg"].startswith("running graders: g: ")
        assert found["details"]["error"] in run["error_msg"]


def test_an_exception_names_its_class(troubles: dict[str, Any]) -> None:
    assert "ZeroDivisionError" in troubles["raises"]["runs"][0]["validations"]["g"]["feedback"]


@pytest.mark.parametrize(
    ("grader", "word"),
    [
        ("text, config: {}", "checks nothing"),
        ("text", "checks nothing"),
        ("text, config: {contains: ['']}", "empty"),
        ("text, config: {not_contains_cs: ['']}", "empty"),
        ("behavior, config: {max_tool_calls: 0, max_tokens: 0, max_duration_ms: 0}", "checks nothing"),
        ("tool_calls, config: {}", "checks nothing"),
        ("tool_constraint, config: {expect_tools: []}", "checks nothing"),
        ("skill_invocation, config: {mode: in_order}", "checks nothing"),
        ("file, config: {must_exist: []}", "checks nothing"),
        ("code, config: {assertions: []}", "assertions"),
        ("action_sequence, config: {matching_mode: exact_match, expected_actions: []}", "expected_actions"),
        ("diff, config: {expected_files: []}", "expected_files"),
        ("diff, config: {expected_files: [{path: a}]}", "checks nothing"),
        ("json_schema, config: {extract_json: true}", "schema"),
        ("prompt, config: {model: m}", "instructions"),
    ],
)
def test_a_grader_that_checks_nothing_is_refused(grader: str, word: str, tmp_path: Path) -> None:
    suite = mock_suite(tmp_path, {"a": f"inputs: {{prompt: go}}\ngraders:\n- {{type: {grader}, name: g}}"})
    with pytest.raises(SuiteError) as raised:
        load(suite)
    assert len(raised.value.problems) == 1
    assert word in str(raised.value)
    assert "a.yaml:3" in str(raised.value)


PLUGIN = """
from waza.graders.base import Grader
from waza.model.verdict import Verdict

class Told(Grader, frozen=True, kw_only=True):
    kind: str
    def grade(self, seen, helpers):
        right = {"score": 0.5, "passed": True}
        match self.kind:
            case "good":
                return Verdict(**right)
            case "text":
                return Verdict(score=1.0, passed="false")
            case "number":
                return Verdict(score="0.9", passed=True)
            case "nan":
                return Verdict(score=float("nan"), passed=True)
            case "seven":
                return Verdict(score=7, passed=True)
            case "bool":
                return Verdict(score=True, passed=True)
            case "details":
                return Verdict(**right, details=None)
            case "feedback":
                return Verdict(**right, feedback=7)
            case "pairwise":
                return Verdict(**right, details={"pairwise": 3})
            case "errored":
                return Verdict(score=1.0, passed=True, error="no idea")
            case "nothing":
                return None
            case "raises":
                raise KeyError("k")
            case "asynchronous":
                return self.later(right)

    async def later(self, right):
        return Verdict(**right)
"""

GOOD = ("good", "pairwise", "asynchronous")


def importable(package: Path) -> dict[str, str]:
    """Environment in which a package is found as if it were installed."""
    paths = [str(package), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(path for path in paths if path)}


def test_verdicts_of_other_packages_are_checked(tmp_path: Path) -> None:
    """A package adds a grader type by an entry point; what it returns is no verdict until it is one."""
    kinds = [line.split('"')[1] for line in PLUGIN.splitlines() if line.strip().startswith("case ")]
    package = write_tree(
        tmp_path / "package",
        {
            "told.py": PLUGIN,
            "told-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: told\nVersion: 1.0\n",
            "told-1.0.dist-info/entry_points.txt": "[waza.graders]\ntold = told:Told\n",
        },
    )
    tasks = {
        kind: f"inputs: {{prompt: go}}\ngraders: [{{type: told, name: g, config: {{kind: {kind}}}}}]"
        for kind in kinds
    }
    ended = waza("run", mock_suite(tmp_path, tasks), cwd=tmp_path, env=importable(package))
    assert ended.code == 1, ended.err
    found = {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}
    assert sorted(found) == sorted(kinds)
    for kind, run in found.items():
        verdict = run["validations"]["g"]
        wanted = ("passed", 0.5, True) if kind in GOOD else ("error", 0, False)
        assert (run["status"], verdict["score"], verdict["passed"]) == wanted, kind
        assert ("error" in verdict.get("details", {})) == (kind not in GOOD), kind


def test_a_broken_grader_shows_where_and_its_whole_traceback_with_debug(tmp_path: Path) -> None:
    package = write_tree(
        tmp_path / "package",
        {
            "told.py": PLUGIN,
            "told-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: told\nVersion: 1.0\n",
            "told-1.0.dist-info/entry_points.txt": "[waza.graders]\ntold = told:Told\n",
        },
    )
    task = "inputs: {prompt: go}\ngraders: [{type: told, name: g, config: {kind: raises}}]"
    suite = mock_suite(tmp_path, {"a": task})
    where = f"{package / 'told.py'}:"
    plain = waza("run", suite, cwd=tmp_path, env=importable(package))
    assert f"the grader broke: KeyError: 'k' ({where}" in plain.out
    assert ', in grade: raise KeyError("k"))' in plain.out
    assert "Traceback" not in plain.out + plain.err
    said = plain.results()["tasks"][0]["runs"][0]["validations"]["g"]["details"]
    assert said["traceback"].startswith("Traceback (most recent call last):")
    assert said["traceback"].endswith("KeyError: 'k'\n")
    assert "waza/engine" not in said["traceback"]
    for words in (("--debug", "run", suite), ("run", suite, "--debug")):
        assert (
            said["traceback"].rstrip() in waza(*words, "--no-save", cwd=tmp_path, env=importable(package)).err
        )


BOT = """
from waza.model.capabilities import Capabilities
class Bot:
    capabilities = Capabilities()
    def __init__(self, setup): pass
    async def start(self): pass
    async def open(self, attempt, place): return {}["session"]
    async def aclose(self): pass
    def works_in(self, task): return False
    def judge(self, attempt): return None
"""


def test_a_broken_executor_shows_where_and_its_whole_traceback_with_debug(tmp_path: Path) -> None:
    package = write_tree(
        tmp_path / "package",
        {
            "bot.py": BOT,
            "bot-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bot\nVersion: 1.0\n",
            "bot-1.0.dist-info/entry_points.txt": "[waza.executors]\nbot = bot:Bot\n",
        },
    )
    suite = mock_suite(tmp_path, {"a": "inputs: {prompt: go}"})
    plain = waza("run", suite, "--executor", "bot", "--no-save", cwd=tmp_path, env=importable(package))
    assert plain.code == 1, plain.err
    assert f"the executor broke: KeyError: 'session' ({package / 'bot.py'}:7, in open: " in plain.out
    assert "Traceback" not in plain.err
    debug = waza(
        "run", suite, "--executor", "bot", "--no-save", "--debug", cwd=tmp_path, env=importable(package)
    )
    assert "Traceback (most recent call last):\n" in debug.err


def test_an_executor_that_cannot_be_made_is_no_defect_of_waza(tmp_path: Path) -> None:
    package = write_tree(
        tmp_path / "package",
        {
            "bot.py": BOT.replace("setup): pass", "setup): raise KeyError('token')"),
            "bot-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: bot\nVersion: 1.0\n",
            "bot-1.0.dist-info/entry_points.txt": "[waza.executors]\nbot = bot:Bot\n",
        },
    )
    suite = mock_suite(tmp_path, {"a": "inputs: {prompt: go}"})
    ended = waza("run", suite, "--executor", "bot", "--no-save", cwd=tmp_path, env=importable(package))
    assert ended.code == 2
    assert f"the executor bot broke: KeyError: 'token' ({package / 'bot.py'}:5, in __init__: " in ended.err
    assert "defect" not in ended.err
