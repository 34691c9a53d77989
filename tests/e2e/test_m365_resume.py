"""Runs of documents that were ended, and go on; and those that may not."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import GOOD, document, run, statuses
from tests.support.evaluators import code_only, write_evaluator
from tests.support.live import Project, nap, survivors
from tests.support.program import strict_json, waza, write_tree

WAITING = """command:case "$(cat)" in
  wait) [ -e go ] || sleep {nap} ;;
esac; echo done $WAZA_CONVERSATION $WAZA_TURN; echo "$WAZA_CONVERSATION" >> asked.txt"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_run_that_was_ended_goes_on_where_it_was(tmp_path: Path, number: signal.Signals):
    project, duration = Project(tmp_path), nap()
    items: list[dict[str, Any]] = [
        {"prompt": "first"},
        {"turns": [{"prompt": "a"}, {"prompt": "wait"}]},
        {"prompt": "last"},
    ]
    write_tree(project.home, {"evals.json": document(*items, default_evaluators={"Citations": {}})})
    asked = ["m365", "run", "evals.json", "--agent", WAITING.format(nap=duration), "-o", "result.json"]
    with project.started(*asked) as live:
        live.until(lambda: project.finished() == [("item-1", 1)] and survivors(duration))
        live.send(number)
        ended = live.ended()
    assert ended.code == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGHUP: 129}[number]
    if number != signal.SIGKILL:
        cut = strict_json((project.home / "result.json").read_text(encoding="utf-8"))
        assert statuses(cut) == ["fail", "error", "error", "error"]
        assert cut["items"][2]["error"] == {
            "code": "runInterrupted",
            "message": "Turn not attempted: the run was interrupted",
        }
        assert "3 items, 4 turns: 1 fail, 3 not asked: the run was interrupted" in ended.out
        assert "--resume=inv-" in ended.err
    (project.home / "go").touch()
    resumed = project.run(*asked, "--resume")
    whole = strict_json((project.home / "result.json").read_text(encoding="utf-8"))
    assert (resumed.code, statuses(whole)) == (1, ["fail"] * 4)
    assert whole["items"][1]["turns"][1]["response"] == "done item-2 2"
    assert (project.home / "asked.txt").read_text().split().count("item-1") == 1
    assert "1 finished item kept" in resumed.err
    again = project.run(*asked, "--resume")
    assert "is finished" in again.err
    assert (project.home / "asked.txt").read_text().split() == [
        "item-1",
        "item-2",
        "item-2",
        "item-2",
        "item-3",
    ]
    for process in survivors(duration):  # nobody was left to end them
        assert number == signal.SIGKILL
        os.kill(process, signal.SIGKILL)


def test_another_document_or_agent_is_not_gone_on_with(tmp_path: Path):
    run(tmp_path, document({"prompt": "p"}), "--agent", "mock")
    for text, flags in (
        (document({"prompt": "q"}), ["--agent", "mock"]),
        (document({"prompt": "p"}, default_evaluators={"Citations": {}}), ["--agent", "mock"]),
        (document({"prompt": "p"}), ["--agent", "command:cat"]),
        (document({"prompt": "p"}), ["--agent", "mock", "--timeout", "7"]),
    ):
        write_tree(tmp_path, {"evals.json": text})
        ended = waza("m365", "run", "evals.json", *flags, "--resume", cwd=tmp_path)
        assert (ended.code, "cannot be resumed" in ended.err) == (2, True), flags
    run(tmp_path, document({"prompt": "p"}), "--agent", "mock", "--no-save")
    assert len(list((tmp_path / ".waza" / "runs").iterdir())) == 1


def test_who_judged_is_in_the_results_and_another_judge_is_not_gone_on_with(tmp_path: Path):
    text = document({"prompt": "p"}, default_evaluators={"Coherence": {}})
    _, result = run(tmp_path, text, "--agent", "mock", "--judge", "mock:judge.json")
    assert result["metadata"]["judge"].startswith("mock:judge.json (")
    write_tree(tmp_path, {"other.json": json.dumps(GOOD)})
    flags = ["--agent", "mock", "--judge", "mock:other.json", "--resume"]
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    assert ended.code == 2
    assert "the judge (--judge-model, --judge) changed" in ended.err


def test_a_run_with_evaluators_that_changed_is_not_gone_on_with(tmp_path: Path):
    folder = write_evaluator(tmp_path, "short", code_only("{'score': 1}"))
    write_tree(folder, {"helper.py": "", "other.prompty": "---\n---\n", ".notes.swp": "x"})
    text = document({"prompt": "p"}, default_evaluators={"short": {}})
    asked = ["m365", "run", "evals.json", "--agent", "mock", "-o", "r.json"]
    write_tree(tmp_path, {"evals.json": text})
    assert waza(*asked, cwd=tmp_path).code == 0
    (folder / ".notes.swp").write_text("y")
    assert waza(*asked, "--resume", cwd=tmp_path).code == 0
    for old, new in (("other.prompty", "else.prompty"), ("helper.py", "helpers.py")):
        (folder / old).rename(folder / new)
        ended = waza(*asked, "--resume", cwd=tmp_path)
        assert (ended.code, "cannot be resumed" in ended.err) == (2, True), new
        (folder / new).rename(folder / old)


def test_items_whose_evaluators_gave_no_result_are_repeated_and_no_others(tmp_path: Path):
    before = "if prompt == 'b' and not __import__('os').path.exists('up'): raise OSError('the judge is away')"
    write_evaluator(tmp_path, "check", code_only("{'score': int(prompt != 'c')}", before=before))
    text = document({"prompt": "a"}, {"prompt": "b"}, {"prompt": "c"}, default_evaluators={"check": {}})
    agent = 'command:cat; echo "$WAZA_CONVERSATION" >> asked.txt'
    first, result = run(tmp_path, text, "--agent", agent)
    assert (first.code, statuses(result)) == (1, ["pass", "partial", "fail"])
    (tmp_path / "up").touch()
    second, result = run(tmp_path, text, "--agent", agent, "--resume")
    assert (second.code, statuses(result)) == (1, ["pass", "pass", "fail"]), second.err
    assert (tmp_path / "asked.txt").read_text().split() == ["item-1", "item-2", "item-3", "item-2"]
    third, _ = run(tmp_path, text, "--agent", agent, "--resume")
    assert "is finished" in third.err
