"""The rules of custom evaluators that take a document and its run to be seen. A test is named after its rule."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.evaluators import JUDGE, PROMPTY, code_only, write_evaluator
from tests.support.program import Ended, strict_json, waza, write_tree

NOTED = "open('called.txt', 'a').write(prompt + ',')"
CHECK = code_only("{'score': 1, 'reason': context}", before=NOTED)


def item(prompt: str = "p", **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "evaluators": {"check": {}}, "evaluators_mode": "replace", **more}


def run(
    root: Path, items: Sequence[dict[str, Any]], agent: str = "mock", output: str = "result.json", **keys: Any
) -> Ended:
    document = {"schemaVersion": "1.7.0", **keys, "items": items}
    write_tree(root, {"evals.json": json.dumps(document)})
    return waza("m365", "run", "evals.json", "--agent", agent, "-o", output, cwd=root)


def results(root: Path) -> list[dict[str, Any]]:
    document = strict_json((root / "result.json").read_text(encoding="utf-8"))
    return [turn for one in document["items"] for turn in one.get("turns", [one])]


def test_ce_07_only_evaluators_that_are_named_are_loaded(tmp_path: Path):
    write_evaluator(tmp_path, "check", CHECK)
    write_evaluator(tmp_path, "other", "open('loaded.txt', 'w')\nclass ,")
    assert run(tmp_path, [item()]).code == 0
    assert not (tmp_path / "loaded.txt").exists()


def test_ce_08_a_name_counts_wherever_it_is(tmp_path: Path):
    turns = [item(evaluators={"PartialMatch": {}}, expected_response="x") for _ in range(3)]
    places: list[dict[str, Any]] = [
        {"items": [{"turns": [*turns[:2], item(evaluators={"third": {}})]}]},
        {"items": [item(evaluators={"third": {}})]},
        {"items": turns, "default_evaluators": {"third": {}}},
    ]
    for where in places:
        ended = run(tmp_path, where.pop("items"), **where)
        assert (ended.code, "Unknown evaluator 'third'" in ended.err) == (2, True)


def test_ce_09_an_unknown_name_is_reported_where_it_is(tmp_path: Path):
    write_evaluator(tmp_path, "check", CHECK)
    turns = [item(), item(evaluators={"mine": {}, "chek": {}})]
    write_tree(
        tmp_path,
        {"evals.json": json.dumps({"schemaVersion": "1.7.0", "items": [item(), {"turns": turns}]}, indent=1)},
    )
    lines = (tmp_path / "evals.json").read_text(encoding="utf-8").splitlines()
    ended = waza("m365", "run", "evals.json", "--agent", "mock", cwd=tmp_path)
    assert ended.code == 2
    written = Path("custom-evaluators", "mine", "mine.py")
    for name, hint in (("mine", f"write it as {written}"), ("chek", "did you mean 'check'?")):
        line = next(number for number, text in enumerate(lines, 1) if f'"{name}"' in text)
        place = f"evals.json:{line}:{lines[line - 1].index(name)}: items[1].turns[1].evaluators.{name}"
        assert f"{place}: Unknown evaluator '{name}'; {hint}\n" in ended.err


def test_ce_13_mistakes_stop_the_run_before_the_first_request(tmp_path: Path):
    for name, code in (("check", "import nowhere_at_all\nclass Check: ..."), ("classless", "x = 1")):
        write_evaluator(tmp_path, name, code)
    (tmp_path / "custom-evaluators" / "empty").mkdir()
    evaluators: dict[str, Any] = {"classless": {}, "empty": {}, "unknown": {}}
    ended = run(tmp_path, [item(evaluators=evaluators)], "command:touch asked")
    assert ended.code == 2
    for said in ("has no class", "is missing required file 'empty.py'", "Unknown evaluator 'unknown'"):
        assert said in ended.err
    ended = run(tmp_path, [item()], "command:touch asked")
    assert (ended.code, "Custom evaluator 'check' failed to import" in ended.err) == (2, True)
    assert "nowhere_at_all" in ended.err
    assert not (tmp_path / "asked").exists()


def test_ce_24_each_turn_is_judged_by_what_is_its_own(tmp_path: Path):
    write_evaluator(
        tmp_path, "check", code_only("{'score': 1, 'reason': '|'.join((prompt, response, context))}")
    )
    turns = [item(name, context=f"context of {name}") for name in ("first", "second")]
    run(tmp_path, [{"turns": turns}], "command:tr a-z A-Z")
    assert [turn["scores"]["check"]["reason"] for turn in results(tmp_path)] == [
        "first|FIRST|context of first",
        "second|SECOND|context of second",
    ]


def test_ce_25_the_agent_hears_neither_context_nor_expectation(tmp_path: Path):
    write_evaluator(tmp_path, "check", CHECK)
    secret = {"context": "HIDDEN", "expected_response": "HIDDEN"}
    run(tmp_path, [item("open", **secret)], "command:cat; env")
    (turn,) = results(tmp_path)
    assert turn["response"].startswith("open")
    assert "HIDDEN" not in turn["response"]


def test_ce_28_an_evaluator_is_called_once_for_each_response_and_not_without(tmp_path: Path):
    write_evaluator(tmp_path, "check", CHECK)
    turns = [item(prompt) for prompt in ("a", "fail", "c")]
    run(tmp_path, [item("x"), {"turns": turns}], "command:read word; test $word != fail")
    assert sorted((tmp_path / "called.txt").read_text().strip(",").split(",")) == ["a", "x"]
    assert [turn["status"] for turn in results(tmp_path)] == ["pass", "pass", "error", "error"]


def test_ce_42_the_score_is_under_the_folder_name_in_every_format(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("{'score': 12.5, 'reason': 'as counted'}"))
    for name in ("result.json", "result.csv", "result.html"):
        assert run(tmp_path, [item()], output=name).code == 0
    assert results(tmp_path)[0]["scores"] == {
        "check": {"score": 12.5, "result": "pass", "threshold": 1, "reason": "as counted"}
    }
    rows = list(csv.reader(io.StringIO((tmp_path / "result.csv").read_text(encoding="utf-8-sig"))))
    assert ["check", "1", "1", "0", "0", "12.5"] in rows
    page = (tmp_path / "result.html").read_text(encoding="utf-8")
    assert all(text in page for text in ("check", "12.5", "as counted"))


def test_ce_44_an_evaluator_that_breaks_makes_the_item_partial(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("1 / 0"))
    evaluators: dict[str, Any] = {"check": {}, "ExactMatch": {}}
    ended = run(tmp_path, [item(evaluators=evaluators, expected_response="x"), item("next")])
    first, second = results(tmp_path)
    assert ended.code == 1
    assert first["status"] == "partial"
    assert first["error"] == {
        "code": "evaluatorsFailed",
        "message": "Agent response obtained. 1 of 2 evaluators failed to run.",
    }
    where = f"{Path('custom-evaluators/check/check.py')}:8: return 1 / 0"
    assert first["scores"]["check"] == {
        "result": "error",
        "error": f"Evaluator failed: division by zero ({where})",
    }
    assert first["scores"]["exactMatch"]["match"] is False
    assert second["status"] == "partial"


def test_ce_46_no_judge_is_needed_where_nothing_judges(tmp_path: Path):
    write_evaluator(tmp_path, "check", CHECK)
    evaluators: dict[str, Any] = {"check": {}, "ExactMatch": {}, "PartialMatch": {}, "Citations": {}}
    run(tmp_path, [item(evaluators=evaluators, expected_response="x")])
    assert set(results(tmp_path)[0]["scores"]) == {"check", "exactMatch", "partialMatch", "citations"}


def test_ce_47_a_judge_without_a_model_stops_the_run(tmp_path: Path):
    write_evaluator(tmp_path, "check", JUDGE, PROMPTY)
    ended = run(tmp_path, [item()], "command:touch asked")
    assert (ended.code, "no judge is configured" in ended.err) == (2, True)
    extended = run(tmp_path, [item(evaluators={}, evaluators_mode="extend")], "command:touch asked")
    assert extended.code == 2, "the defaults judge"
    assert not (tmp_path / "asked").exists()


def test_ce_48_a_forgotten_prompty_is_a_warning_and_nothing_else(tmp_path: Path):
    code = "from promptflow.client import load_flow\n" + code_only("{'score': 1, 'reason': ''}")
    write_evaluator(tmp_path, "check", code)
    ended = run(tmp_path, [item(), item()])
    assert ended.code == 0
    assert ended.err.count("was the file 'check.prompty' forgotten?") == 1


def test_ce_51_custom_entries_have_a_threshold_and_options_and_nothing_else(tmp_path: Path):
    write_evaluator(tmp_path, "check", CHECK)
    entries: list[dict[str, Any]] = [{"samples": 3}, {"threshold": "1"}, {"options": []}]
    for entry in entries:
        ended = run(tmp_path, [item(evaluators={"check": entry})])
        assert ended.code == 2, entry
        assert "check" in ended.err


def test_ce_52_custom_and_built_in_evaluators_mix_in_both_modes(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("{'score': options_sum(self.options), 'reason': ''}"))
    helper = "\n\ndef options_sum(options):\n    return sum(options.values())\n"
    path = tmp_path / "custom-evaluators" / "check" / "check.py"
    path.write_text(path.read_text() + helper)
    defaults = {"check": {"options": {"a": 1}}, "PartialMatch": {}}
    extended = {
        "prompt": "p",
        "expected_response": "p",
        "evaluators": {"check": {"threshold": 3}, "ExactMatch": {}},
    }
    replaced = item(evaluators={"check": {"threshold": 3, "options": {"a": 1, "b": 4}}})
    run(tmp_path, [extended, replaced], "command:cat", default_evaluators=defaults)
    first, second = results(tmp_path)
    assert set(first["scores"]) == {"check", "partialMatch", "exactMatch"}
    assert first["scores"]["check"] == {"score": 1, "result": "fail", "threshold": 3, "reason": ""}
    assert second["scores"] == {"check": {"score": 5, "result": "pass", "threshold": 3, "reason": ""}}


def test_search_results_are_judged_where_that_is_asked_for(tmp_path: Path):
    hit = {"rank": 3, "webUrl": "https://a.example", "extracts": [{"text": "Refunds take a week"}]}
    search = {"capability": "WebSearch", "queries": [], "retrievalHits": [hit]}
    claim = {"retrievalExtract_contains": "Money comes back within 7 days"}
    options = {"RetrievalResult": {"capability": "WebSearch", "expected_items": [claim]}}
    recorded = item(evaluators=options, response="Soon.", diagnostics={"retrieval_executions": [search]})
    reply = {"supported": True, "hit": 1, "reason": "a week is 7 days"}
    write_tree(tmp_path, {"judge.json": json.dumps([{"match": "Money comes back", "reply": reply}])})
    assert run(tmp_path, [recorded], "recorded").code == 1, "no extract holds the text"
    flags = ["--agent", "recorded", "-o", "result.json", "--judge-retrieval"]
    alone = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    assert (alone.code, "no judge is configured" in alone.err) == (2, True)
    judged = waza("m365", "run", "evals.json", *flags, "--judge", "mock:judge.json", cwd=tmp_path)
    assert judged.code == 0
    entry = results(tmp_path)[0]["scores"]["retrievalResult"]
    assert entry["matched_items"] == [
        {
            "extractMatch": claim["retrievalExtract_contains"],
            "reason": "a week is 7 days",
            "matchedHitUrl": "https://a.example",
            "matchedHitRank": 3,
        }
    ]
    assert waza("m365", "validate", "result.json", cwd=tmp_path).code == 0


def test_ce_53_custom_code_has_all_rights_of_the_program_and_the_documentation_says_so(tmp_path: Path):
    rights = "[os.getuid(), os.environ['OWN'], os.getcwd(), __import__('socket').socket().fileno() > 0]"
    code = code_only(f"{{'score': 1, 'reason': json.dumps({rights})}}")
    write_evaluator(tmp_path, "check", f"import json\nimport os\n{code}")
    write_tree(tmp_path, {"evals.json": json.dumps({"schemaVersion": "1.7.0", "items": [item()]})})
    flags = ["--agent", "mock", "-o", "result.json"]
    assert waza("m365", "run", "evals.json", *flags, cwd=tmp_path, env={"OWN": "seen"}).code == 0
    reason = results(tmp_path)[0]["scores"]["check"]["reason"]
    assert json.loads(reason) == [os.getuid(), "seen", str(tmp_path.resolve()), True]
    help_text = " ".join(waza("m365", "run", "--help", cwd=tmp_path).out.split())
    assert "run with all rights of this program" in help_text
    documentation = Path(__file__).parents[2] / "docs" / "m365.md"
    assert "**There is no sandbox.**" in documentation.read_text(encoding="utf-8")
