"""What commands ask a model: the way of asking, its limits and previews, and `waza quality`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

SKILL = "---\nname: review\ndescription: Reviews changes.\n---\n# Review\n\nLook ``` at it.\n"
NAMES = ("clarity", "completeness", "trigger_precision", "scope_coverage", "anti_patterns")
GOOD = {
    "dimensions": [{"name": name, "score": 4, "feedback": f"About {name}."} for name in NAMES],
    "overall_score": 4,
    "summary": "A good one.",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_tree(tmp_path, {"skills/review/SKILL.md": SKILL, "skills/review/references/x.md": "x\n"})


def script(workspace: Path, *entries: object) -> str:
    (workspace / "answers.yaml").write_text(json.dumps([{"reply": entry} for entry in entries]))
    return "mock:answers.yaml"


def quality(workspace: Path, *options: str, answer: object = GOOD) -> Ended:
    return waza("quality", "review", "--executor", script(workspace, answer), *options, cwd=workspace)


def test_quality_for_people_and_programs(workspace):
    done = quality(workspace)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "Quality of review (skills/review/SKILL.md), as mock:answers.yaml sees it",
        "",
        "Dimension          Score",
        "-----------------  -----",
        *(f"{name:17}    4/5" for name in NAMES),
        "Overall              4/5",
        "",
        *(f"{name}: About {name}." for name in NAMES),
        "",
        "A good one.",
    ]
    document = strict_json(quality(workspace, "--format", "json").out)
    assert document == {
        "skill": "review",
        "path": "skills/review/SKILL.md",
        "judge": "mock:answers.yaml",
        "warnings": [],
        **GOOD,
    }


def changed(number: int, **keys: object) -> dict[str, object]:
    dimensions = [dict(one) for one in GOOD["dimensions"]]  # type: ignore[attr-defined]  # of JSON
    dimensions[number] |= keys
    return {**GOOD, "dimensions": dimensions}


@pytest.mark.parametrize(
    ("answer", "warning"),
    [
        (changed(0, score="5"), "clarity is not a number from 1 to 5: 5"),
        (changed(0, score=True), "clarity is not a number from 1 to 5: True"),
        (changed(0, score=6), "clarity is not a number from 1 to 5: 6"),
        (changed(1, name="charm"), "an unknown dimension: charm"),
        (changed(1, name="clarity"), "the judge rates clarity more than once"),
        ({**GOOD, "dimensions": "great"}, "the judge does not rate clarity"),
        ({**GOOD, "overall_score": 1}, "the overall score 1 is outside of the scores of the dimensions"),
        ({**GOOD, "summary": None}, "summary is missing"),
    ],
)
def test_what_a_judge_must_not_be_taken_to_say(workspace, answer, warning):
    done = quality(workspace, "--format", "json", answer=answer)
    assert done.code == 0
    assert warning in done.err
    document = strict_json(done.out)
    assert any(warning in one for one in document["warnings"])
    assert [one["name"] for one in document["dimensions"]] == list(NAMES)
    if "clarity is not" in warning:
        assert document["dimensions"][0]["score"] is None


@pytest.mark.parametrize("answer", ["It is fine.", '{"a": 1}', '{"dimensions": []} {"dimensions": []}', " "])
def test_no_answer_is_an_error(workspace, answer):
    done = quality(workspace, answer=answer)
    assert (done.code, done.out) == (2, "")
    assert "the answer " in done.err


def test_a_preview_asks_nobody(workspace):
    for option in ("--show-prompt", "--dry-run"):
        done = waza("quality", "review", option, cwd=workspace)
        assert (done.code, done.err) == (0, "")
        first, *rest = done.out.splitlines()
        assert first.startswith("== question 1 (quality), ")
        assert "````\n---\nname: review\n" in done.out  # the text cannot close its fence
        assert "references/x.md" in done.out
        assert rest[-1].startswith("1 question to copilot-sdk (claude-sonnet-4.6), ")
        assert rest[-1].endswith("nobody was asked")


def test_the_limit_of_tokens(workspace):
    done = quality(workspace, "--max-tokens", "50")
    assert done.code == 2
    assert "0 are spent, and the limit is 50; raise it with --max-tokens" in done.err


def test_the_suite_says_who_is_asked(workspace):
    suite = {"config": {"executor": "mock"}, "tasks": ["*.task.yaml"], "skill": "review"}
    suite["mock"] = {"judge": {"quality": [{"reply": json.dumps(GOOD)}]}}
    write_tree(
        workspace,
        {
            "evals/review/eval.yaml": json.dumps(suite),
            "evals/review/a.task.yaml": "{id: a, inputs: {prompt: p}}",
        },
    )
    done = waza("quality", "review", "--format", "json", cwd=workspace)
    assert done.code == 0, done.err
    assert strict_json(done.out)["judge"] == "mock"
    (workspace / "evals/review/eval.yaml").write_text("{tasks: 3}")
    done = quality(workspace)
    assert done.code == 0
    assert "the suite of review is not used; it has mistakes" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "there is no skill or agent 'nothing'"),
        (("review", "--executor", "mock"), "the script has no judge for 'quality'"),
        (("review", "--executor", "mok"), "did you mean 'mock'"),
        (("review", "--executor", "command"), "the executor command needs more: --executor command:COMMAND"),
        (("review", "--executor", "command:true"), "the executor 'command' has no judge"),
        (("review", "--executor", "mock:none.yaml"), "none.yaml cannot be read"),
        (("review", "--executor", "mock:skills/review/SKILL.md"), "is not valid"),
        (("review", "--rubric", "x"), "--rubric is not supported"),
        (("review", "--max-tokens", "0"), "is not a whole number"),
    ],
)
def test_what_is_refused(workspace, arguments, message):
    done = waza("quality", *arguments, cwd=workspace)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_previews_of_spec_verify(workspace):
    write_tree(
        workspace,
        {
            "evals/review/eval.yaml": "{skill: review, config: {executor: mock}, tasks: [a.yaml]}",
            "evals/review/a.yaml": "{id: a, inputs: {prompt: p}}",
        },
    )
    done = waza("spec", "verify", "review", "--semantic", "--show-prompt", cwd=workspace)
    assert done.code == 0
    assert done.out.startswith("== question 1 (spec_verify), ")
    assert done.out.splitlines()[-1].startswith("1 question to mock, ")
    answer = script(workspace, {"task": "a", "reason": "it does"})
    done = waza(
        "spec", "verify", "review", "--semantic", "--executor", answer, "--format", "json", cwd=workspace
    )
    assert strict_json(done.out)["coverage"][0]["coveredBy"][0]["mode"] == "semantic"


def test_what_could_be_shorter_in_each_file(workspace):
    answers = [{"match": "# Review", "reply": "- Nothing."}, {"match": "x\n", "reply": {"a": 1}}]
    (workspace / "answers.yaml").write_text(json.dumps(answers))
    words = ("tokens", "suggest", "review", "--copilot", "--executor", "mock:answers.yaml")
    done = waza(*words, "--format", "json", "--model", "m", cwd=workspace)
    assert (done.code, done.err) == (0, "")
    assert [(one["file"], one["copilotSuggestions"]) for one in strict_json(done.out)["analyses"]] == [
        ("skills/review/SKILL.md", "- Nothing."),
        ("skills/review/references/x.md", '{"a": 1}'),
    ]
    assert "  - Nothing.\n" in waza(*words, cwd=workspace).out
    (workspace / "answers.yaml").write_text(json.dumps(answers[:1]))
    one = waza(*words, "--format", "json", cwd=workspace)
    assert (one.code, "Error: no answer about skills/review/references/x.md: no entry" in one.err) == (
        2,
        True,
    )
    assert ["copilotSuggestions" in found for found in strict_json(one.out)["analyses"]] == [True, False]
    shown = waza(*words, "--show-prompt", cwd=workspace)
    assert (shown.code, shown.out.splitlines()[-1].startswith("2 questions to mock:answers.yaml, ")) == (
        0,
        True,
    )
    alone = waza("tokens", "suggest", "review", "--model", "m", cwd=workspace)
    assert (alone.code, "--model says who is asked; give --copilot as well" in alone.err) == (2, True)
    limited = waza(*words, "--max-tokens", "100", cwd=workspace)
    assert (limited.code, "raise it with --max-tokens" in limited.err) == (2, True)
