"""`waza m365 validate`, `init` and `upgrade` through the command line."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.evaluators import JUDGE, PROMPTY, code_only
from tests.support.program import strict_json, waza, write_tree

from waza.m365.document.read import read_document
from waza.m365.evaluators.resolve import resolve

CORPUS = Path(os.environ.get("WAZA_CORPUS") or Path(__file__).parents[3] / "shared" / "corpus") / "m365"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"there are no documents in {CORPUS}")

GOOD = '{"schemaVersion": "1.7.0", "items": [{"prompt": "p"}]}'
BAD = '{"schemaVersion": "1.7.0",\n "items": [{"prompt": "p", "expeceted_response": "e"}, {"prompt": ""}]}'
ODD = '{"schemaVersion": "1.7.0", "items": [{"prompt": "p", "evaluators": {"relevance": {}}}]}'
OLD = '[\n  {"prompt": "p", "testId": "T-1"}\n]\n'


def tree(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


# --- validate ---


def test_valid_documents_are_0_and_warnings_do_not_count(tmp_path: Path) -> None:
    write_tree(tmp_path, {"good.json": GOOD, "odd.json": ODD})
    ended = waza("m365", "validate", "good.json", "odd.json", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "✓ good.json: valid",
        (
            "odd.json:1:69: items[0].evaluators.relevance: warning: there is no evaluator 'relevance';"
            " names are case-sensitive, and this one is reserved; write 'Relevance', or name your custom evaluator domain_relevance"
        ),
        "✓ odd.json: valid",
    ]


def test_every_mistake_of_every_document_is_reported_and_is_2(tmp_path: Path) -> None:
    write_tree(tmp_path, {"bad.json": BAD, "old.json": OLD, "good.json": GOOD, "none.json": "{"})
    files = tree(tmp_path)
    ended = waza(
        "m365", "validate", "bad.json", "old.json", "no.json", "none.json", "good.json", cwd=tmp_path
    )
    assert (ended.code, ended.err) == (2, "")
    assert ended.out.splitlines() == [
        (
            "bad.json:2:28: items[0].expeceted_response: unknown key 'expeceted_response';"
            " did you mean 'expected_response'?"
        ),
        "bad.json:2:67: items[1].prompt: must not be empty",
        "✗ bad.json: 2 mistakes",
        (
            "old.json:1:1: this is a bare list of prompts, an older form of the document;"
            " run `waza m365 upgrade old.json`"
        ),
        "✗ old.json: 1 mistake",
        "no.json: there is no such file",
        "✗ no.json: 1 mistake",
        "none.json:1:2: not valid JSON: the document ends here, but a bracket is still open",
        "✗ none.json: 1 mistake",
        "✓ good.json: valid",
    ]
    assert tree(tmp_path) == files


def test_json_has_the_same_for_programs(tmp_path: Path) -> None:
    write_tree(tmp_path, {"bad.json": BAD, "good.json": GOOD})
    ended = waza("m365", "validate", "good.json", "bad.json", "--json", cwd=tmp_path)
    assert (ended.code, ended.err) == (2, "")
    report = strict_json(ended.out)
    assert (report["valid"], [one["valid"] for one in report["documents"]]) == (False, [True, False])
    assert report["documents"][0] == {"file": "good.json", "valid": True, "problems": []}
    assert report["documents"][1]["problems"][0] == {
        "code": "unknown-key",
        "file": "bad.json",
        "message": "unknown key 'expeceted_response'",
        "line": 2,
        "column": 28,
        "path": "items[0].expeceted_response",
        "hint": "did you mean 'expected_response'?",
        "severity": "error",
    }


def turn(**keys: Any) -> dict[str, Any]:
    return {"prompt": "p", "response": "r", **keys}


SUMMARY = {
    **dict.fromkeys(("turns_total", "turns_passed", "turns_failed", "turns_partial", "turns_errored"), 1),
    "overall_status": "pass",
}
EVALUATORS = {
    "empty/README": "",
    "functions/functions.py": "def check(): ...",
    "broken/broken.py": "import nothing_of_this_name\n" + code_only("{'score': 1}"),
    "forgotten/forgotten.py": JUDGE,
    "judge/judge.py": JUDGE,
    "judge/judge.prompty": "no frontmatter",
    "unfilled/unfilled.py": JUDGE,
    "unfilled/unfilled.prompty": PROMPTY.replace("user_prompt: {type: string}", "other: {type: string}"),
}
DOCUMENTS: dict[str, tuple[Any, str]] = {
    "older form": ({"prompts": ["p"]}, "older-form"),
    "older version": ({"schemaVersion": "9.0.0", "items": [turn()]}, "version"),
    "nothing asked": ({"items": [{}]}, "missing-key"),
    "both": ({"items": [turn(turns=[turn()])]}, "conflicting-keys"),
    "unknown key": ({"items": [turn(promt="p")]}, "unknown-key"),
    "no choice": ({"items": [turn(evaluators_mode="add", evaluators={})]}, "invalid-value"),
    "no text": ({"items": [turn(evaluators_mode=1)]}, "wrong-type"),
    "blank in a name": ({"items": [turn(evaluators={"a b": {}})]}, "evaluator-name"),
    "no evaluator": ({"items": [turn(evaluators={}, evaluators_mode="replace")]}, "no-evaluator"),
    "unknown evaluator": ({"items": [turn(evaluators={"Relevanse": {}})]}, "unknown-evaluator"),
    "no expectation": ({"items": [turn(evaluators={"ExactMatch": {}})]}, "evaluator-input"),
    "no judge": ({"items": [turn(evaluators={"Relevance": {}})]}, "missing-judge"),
    "no file": ({"items": [turn(evaluators={"empty": {}})]}, "missing-evaluator-file"),
    "no class": ({"items": [turn(evaluators={"functions": {}})]}, "evaluator-class"),
    "no import": ({"items": [turn(evaluators={"broken": {}})]}, "evaluator-import"),
    "no prompty": ({"items": [turn(evaluators={"forgotten": {}})]}, "missing-prompty"),
    "broken prompty": ({"items": [turn(evaluators={"judge": {}})]}, "prompty"),
    "unfilled prompty": ({"items": [turn(evaluators={"unfilled": {}})]}, "prompty-input"),
    "off the scale": ({"items": [turn(evaluators={"unfilled": {"threshold": 80}})]}, "evaluator-threshold"),
    "sums": ({"items": [{"turns": [turn()], "summary": SUMMARY}]}, "summary-counts"),
}


def test_each_mistake_has_the_code_of_its_kind(tmp_path: Path) -> None:
    files = {
        f"{name}.json": json.dumps(written if "prompts" in written else {"schemaVersion": "1.7.0", **written})
        for name, (written, _) in DOCUMENTS.items()
    }
    write_tree(tmp_path, files | {f"custom-evaluators/{name}": text for name, text in EVALUATORS.items()})
    ended = waza("m365", "validate", *files, "--resolve", "--json", cwd=tmp_path)
    found = {
        Path(one["file"]).stem: [problem["code"] for problem in one["problems"]]
        for one in strict_json(ended.out)["documents"]
    }
    assert {name for name, (_, code) in DOCUMENTS.items() if code not in found[name]} == set(), found


def test_without_a_file_the_one_that_is_found(tmp_path: Path) -> None:
    ended = waza("m365", "validate", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "there is no prompts.json, evals.json, tests.json here or in evals/" in ended.err
    write_tree(tmp_path, {"evals/tests.json": GOOD})
    ended = waza("m365", "validate", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, f"✓ {Path('evals/tests.json')}: valid\n")


@needs_corpus
def test_the_formats_own_examples(tmp_path: Path) -> None:
    examples = CORPUS / "schema" / "v1" / "examples"
    valid, invalid = (sorted((examples / kind).glob("*.json")) for kind in ("valid", "invalid"))
    assert waza("m365", "validate", *valid, cwd=tmp_path).code == 0
    report = strict_json(waza("m365", "validate", *valid, *invalid, "--json", cwd=tmp_path).out)
    assert [one["valid"] for one in report["documents"]] == [True] * len(valid) + [False] * len(invalid)
    assert all(len(one["problems"]) == 1 for one in report["documents"][len(valid) :])


# --- upgrade ---


def test_an_older_form_is_rewritten_and_kept_beside(tmp_path: Path) -> None:
    write_tree(tmp_path, {"old.json": OLD})
    ended = waza("m365", "upgrade", "old.json", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    (backup,) = tmp_path.glob("old.json.*")
    assert re.fullmatch(r"old\.json\.bak\.\d{14}", backup.name)
    assert backup.read_text(encoding="utf-8") == OLD
    assert ended.out.splitlines() == [
        f"old.json was upgraded; as it was before, it is kept in {backup.name}",
        "  turned a bare list of prompts into items",
        "  items[0].testId: is not a key of the format, moved under 'extensions'",
    ]
    assert strict_json((tmp_path / "old.json").read_bytes()) == {
        "schemaVersion": "1.7.0",
        "items": [{"prompt": "p", "extensions": {"testId": "T-1"}}],
    }
    assert waza("m365", "validate", "old.json", cwd=tmp_path).code == 0
    files = tree(tmp_path)
    again = waza("m365", "upgrade", "old.json", cwd=tmp_path)
    assert (again.code, again.out) == (0, "old.json is current; nothing was changed\n")
    assert tree(tmp_path) == files


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[{"prompt": "p"}, {"prompt": 1}]',
            (
                "f.json:1:30: items[1].prompt: is the number 1, but must be a text; put it in quotes\n"
                "1 mistake; nothing was changed\n"
            ),
        ),
        (
            '{"prompts": ["a"], "expected_responses": ["b", "c"]}',
            (
                "f.json:1:42: expected_responses: its length is 2, that of 'prompts' 1;"
                " give each prompt one, or null where nothing is expected\n1 mistake; nothing was changed\n"
            ),
        ),
        (
            '{"schemaVersion": "1.9.0", "items": [{"prompt": "p"}]}',
            (
                "f.json:1:19: schemaVersion: version 1.9.0 is newer than 1.7.0, the newest known here;"
                ' install a newer waza, or write "1.7.0" if the document uses nothing newer\n'
                "1 mistake; nothing was changed\n"
            ),
        ),
    ],
)
def test_what_would_not_be_valid_is_left_alone(tmp_path: Path, text: str, said: str) -> None:
    write_tree(tmp_path, {"f.json": text})
    ended = waza("m365", "upgrade", "f.json", cwd=tmp_path)
    assert (ended.code, ended.out, ended.err) == (2, "", said)
    assert tree(tmp_path) == {"f.json": text.encode()}


@needs_corpus
def test_a_sample_keeps_its_layout(tmp_path: Path) -> None:
    shutil.copyfile(CORPUS / "samples" / "hr_benefits_leave.json", tmp_path / "hr.json")
    before = (tmp_path / "hr.json").read_bytes()
    ended = waza("m365", "upgrade", "hr.json", cwd=tmp_path)
    assert "  schemaVersion: 1.2.0 became 1.7.0" in ended.out.splitlines()
    assert (tmp_path / "hr.json").read_bytes() == before.replace(b'"1.2.0"', b'"1.7.0"', 1)


# --- init ---


def evaluator_of(file: Path) -> Any:
    """The first class of a custom evaluator, imported as its file."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MaxWords


def test_a_new_project_is_valid_and_its_evaluator_works(tmp_path: Path) -> None:
    ended = waza("m365", "init", "travel desk", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    root = tmp_path / "travel desk"
    assert sorted(tree(root)) == [
        "custom-evaluators/max_words/max_words.py",
        "evals/README.md",
        "evals/evals.json",
    ]
    assert waza("m365", "validate", cwd=root).code == 0
    document = read_document(root / "evals" / "evals.json")
    assert document.name == "travel desk"
    found = resolve(document)
    assert found.problems == ()
    assert list(found.custom) == ["max_words"]
    assert {name for item in found.items for turn in item for name in turn} == {
        "max_words"
    }  # no judge is needed

    kind = evaluator_of(root / "custom-evaluators" / "max_words" / "max_words.py")
    asked = {"prompt": "p", "expected_response": "", "context": ""}
    check = kind(threshold=1, options={"words": 2})
    assert check(response="one two", **asked) == {"score": 1, "reason": "2 words, at most 2 wanted"}
    assert check(response="one two three", **asked)["score"] == 0
    assert kind(threshold=1, options={})(response="", **asked)["score"] == 1


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_tree(tmp_path, {"evals/evals.json": "mine", "README.md": "mine too"})
    files = tree(tmp_path)
    ended = waza("m365", "init", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "Error: evals/evals.json in . would be overwritten; nothing was written\n"
    assert tree(tmp_path) == files
    ended = waza("m365", "init", "README.md", cwd=tmp_path)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert tree(tmp_path) == files


# --- the command ---


def test_help_names_all_of_it(tmp_path: Path) -> None:
    ended = waza("m365", "--help", cwd=tmp_path)
    assert ended.code == 0
    assert {"validate", "init", "upgrade"} <= set(ended.out.split())
    assert waza("m365", "check", "x", cwd=tmp_path).code == 2


def test_messages_are_ascii_where_the_console_is(tmp_path: Path) -> None:
    write_tree(tmp_path, {"é.json": json.dumps({"schemaVersion": "1.7.0", "items": []})})
    ended = waza(
        "m365",
        "validate",
        "é.json",
        cwd=tmp_path,
        env={"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
    )
    assert ended.code == 2
    assert ended.out.isascii()
    assert "UnicodeEncodeError" not in ended.err
