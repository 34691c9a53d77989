"""What people see of their own evaluators: prints, stderr, where an exception was raised, and its traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import document, run, statuses
from tests.support.evaluators import code_only, write_evaluator
from tests.support.program import mock_suite, waza

NOISY = "print('looking at', prompt); __import__('sys').stderr.write('to stderr\\n')"
HELPER = "def look_up(table):\n    return table['missing']\n"
RAISING = "from helper import look_up\n" + code_only("{'score': look_up({})}")
WHERE = Path("custom-evaluators", "check")


def checked(root: Path, *flags: str, prompt: str = "one", agent: str = "mock") -> tuple[Any, dict[str, Any]]:
    """Run a document of one prompt that only the evaluator `check` judges."""
    text = document({"prompt": prompt}, default_evaluators={"check": {}})
    return run(root, text, "--agent", agent, *flags)


def test_prints_and_stderr_are_shown_as_they_come_at_the_level_debug(tmp_path: Path):
    write_evaluator(tmp_path, "check", "print('imported')\n" + code_only("{'score': 1}", before=NOISY))
    ended, _ = checked(tmp_path, "--log-level", "debug")
    said = [
        line.partition("check: ")[2] for line in ended.err.splitlines() if "waza.m365.custom.workers" in line
    ]
    assert said == ["imported", "looking at one", "to stderr"]


def test_prints_of_a_process_that_an_evaluator_starts_are_shown_too(tmp_path: Path):
    started = "__import__('subprocess').run(['echo', 'from afar'])"
    write_evaluator(tmp_path, "check", code_only("{'score': 1}", before=started))
    ended, _ = checked(tmp_path, "--log-level", "debug")
    assert "check: from afar" in ended.err


def test_other_levels_show_no_prints(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("{'score': 1}", before=NOISY))
    for flags in ([], ["--log-level", "info"]):
        ended, _ = checked(tmp_path, *flags)
        assert (ended.code, "looking at" in ended.err) == (0, False)


def test_secrets_in_prints_are_not_shown(tmp_path: Path):
    before = "print('key', __import__('os').environ['DESK_TOKEN'])"
    write_evaluator(tmp_path, "check", code_only("{'score': 1}", before=before))
    (tmp_path / "evals.json").write_text(document({"prompt": "p"}, default_evaluators={"check": {}}))
    flags = ["--agent", "mock", "--log-level", "debug"]
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path, env={"DESK_TOKEN": "hush-hush-hush"})
    assert "check: key [REDACTED]" in ended.err


def test_an_exception_says_file_line_and_code_and_the_results_have_its_traceback(tmp_path: Path):
    write_evaluator(tmp_path, "check", RAISING, beside={"helper.py": HELPER})
    ended, result = checked(tmp_path, "-o", "r.html")
    error = f"Evaluator failed: KeyError: 'missing' ({WHERE / 'helper.py'}:2: return table['missing'])"
    assert f"check: {error}" in ended.err
    (item,) = result["items"]
    assert item["scores"]["check"] == {"result": "error", "error": error}
    trace = item["diagnostics"]["evaluator_tracebacks"]["check"]
    assert trace.startswith("Traceback (most recent call last):\n")
    assert trace.endswith("KeyError: 'missing'\n")
    assert "check.py" in trace
    assert "child.py" not in trace
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<summary>Traceback</summary><pre>Traceback (most recent call last):" in page


def test_the_whole_traceback_is_shown_at_the_level_debug_only(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("1 / 0"))
    quiet, _ = checked(tmp_path)
    loud, _ = checked(tmp_path, "--log-level", "debug")
    assert "Traceback" not in quiet.err
    assert "Traceback (most recent call last):" in loud.err
    assert "ZeroDivisionError: division by zero" in loud.err


def test_an_exception_in_a_library_is_placed_where_the_evaluator_called_it(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("__import__('json').loads(response)"))
    ended, _ = checked(tmp_path)
    assert f"({WHERE / 'check.py'}:8: return __import__('json').loads(response))" in ended.err


def test_an_import_that_fails_is_a_problem_at_the_line_that_failed(tmp_path: Path):
    write_evaluator(
        tmp_path, "check", "import helper\nclass Check: ...", beside={"helper.py": "x = 1\nimport no_such\n"}
    )
    (tmp_path / "evals.json").write_text(document({"prompt": "p"}, default_evaluators={"check": {}}))
    flags = ["m365", "run", "evals.json", "--agent", "mock"]
    quiet, loud = waza(*flags, cwd=tmp_path), waza(*flags, "--log-level", "debug", cwd=tmp_path)
    assert (quiet.code, "Traceback" in quiet.err) == (2, False)
    assert (
        f"{WHERE / 'helper.py'}:2:1: Custom evaluator 'check' failed to import: ModuleNotFound" in quiet.err
    )
    assert "Traceback (most recent call last):" in loud.err


def test_a_helper_with_a_syntax_error_is_named_with_its_line(tmp_path: Path):
    write_evaluator(
        tmp_path, "check", "import helper\nclass Check: ...", beside={"helper.py": "x = 1\ny = (\n"}
    )
    (tmp_path / "evals.json").write_text(document({"prompt": "p"}, default_evaluators={"check": {}}))
    ended = waza("m365", "run", "evals.json", "--agent", "mock", cwd=tmp_path)
    assert f"{WHERE / 'helper.py'}:2:5: Custom evaluator 'check' failed to import: SyntaxError" in ended.err


@pytest.mark.slow
def test_what_hangs_says_what_it_wrote_last(tmp_path: Path):
    before = "print('asking the server', flush=True); __import__('time').sleep(1000)"
    write_evaluator(tmp_path, "check", code_only("{'score': 1}", before=before))
    _, result = checked(tmp_path, "--evaluator-timeout", "15")
    error = result["items"][0]["scores"]["check"]["error"]
    assert error == "Evaluator failed: it gave no result within 15 s; it last wrote: asking the server"


def test_tracebacks_of_an_earlier_run_are_not_repeated_when_it_is_judged_again(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("1 / 0"))
    _, result = checked(tmp_path)
    assert "evaluator_tracebacks" in result["items"][0]["diagnostics"]
    write_evaluator(tmp_path, "check", code_only("{'score': 1}"))
    ended, again = run(tmp_path, json.dumps(result), "--agent", "recorded")
    assert (ended.code, statuses(again)) == (0, ["pass"])
    assert "diagnostics" not in again["items"][0]


def test_the_grader_of_suites_keeps_the_traceback_in_its_details(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("1 / 0"))
    task = """
id: t
inputs: {prompt: p}
graders:
  - {type: evaluator, name: ours, config: {name: check}}
"""
    mock_suite(tmp_path, {"t": task})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    details = ended.results()["tasks"][0]["runs"][0]["validations"]["ours"]["details"]
    assert details["error"].endswith(f"({WHERE / 'check.py'}:8: return 1 / 0)")
    assert details["traceback"].endswith("ZeroDivisionError: division by zero\n")
