from pathlib import Path

import pytest

from waza.errors import GraderError
from waza.graders._keywords import extract_keywords, find_use_for_phrases, tokenize
from waza.graders.base import ConfigMistake, GraderLocation
from waza.graders.trigger import Trigger
from waza.kit import yaml
from waza.kit.decode import Decoder, Document
from waza.model.observation import Observation
from waza.model.verdict import Helpers, Verdict

SKILL = """---
name: csv-cleaner
description: 'Cleans CSV exports. USE FOR: "clean a csv file", "remove duplicate rows". DO NOT USE FOR: drawing charts.'
---
# Steps
Load the file and drop blank rows.
"""


@pytest.fixture
def around(tmp_path: Path) -> GraderLocation:
    skill = tmp_path / "suite" / "skills" / "csv-cleaner"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL, encoding="utf-8")
    return GraderLocation(base=tmp_path / "suite")


def write(around: GraderLocation, path: str, text: str | bytes) -> str:
    file = around.base / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def findings(around: GraderLocation, **config) -> list[ConfigMistake]:
    return list(Trigger(**{"skill_path": "skills/csv-cleaner", "mode": "positive", **config}).check(around))


def graded(around: GraderLocation, prompt: str, **config) -> Verdict:
    config = {"skill_path": "skills/csv-cleaner", "mode": "positive", **config}
    grader = Trigger(**config)
    assert list(grader.check(around)) == []
    return grader.resolve_paths(around).grade(Observation(prompt=prompt), Helpers())


@pytest.mark.parametrize(
    ("prompt", "score", "phrase_score", "fires"),
    [
        ("Please remove duplicate entries from my csv rows", 1.0, 1.0, True),
        ("Please load exports for analysis", 0.5, 0.0, False),
        ("Draw charts of CSV data", 1 / 3, 1 / 3, False),
        ("Write a poem about autumn", 0.0, 0.0, False),
    ],
)
def test_documented_table(around, prompt, score, phrase_score, fires):
    positive, negative = (graded(around, prompt, mode=mode) for mode in ("positive", "negative"))
    assert positive.score == negative.score == pytest.approx(score, abs=1e-9)
    assert positive.details["phrase_score"] == pytest.approx(phrase_score, abs=1e-9)
    assert (positive.passed, negative.passed) == (fires, not fires)
    assert positive.details["keyword_count"] == 14


def test_details(around):
    verdict = graded(around, "Please LOAD rows, then rows of exports", mode="  Positive ", threshold=0.5)
    assert verdict.details == {
        "mode": "positive",
        "threshold": 0.5,
        "skill_path": "skills/csv-cleaner",
        "matched_keywords": ["load", "rows", "exports"],
        "matched_count": 3,
        "keyword_count": 14,
        "phrase_score": pytest.approx(1 / 3),
    }
    assert verdict.score == pytest.approx(3 / 5, abs=1e-9)


def test_threshold_is_inclusive(around):
    assert graded(around, "load exports for analysis please", threshold=0.5).passed
    assert not graded(around, "load exports for analysis please", threshold=0.5, mode="negative").passed


def test_prompt_without_words_scores_nothing(around):
    for prompt in ("", "  ", "?!", "the and of it"):
        verdict = graded(around, prompt)
        assert (verdict.score, verdict.details["phrase_score"], verdict.details["matched_keywords"]) == (
            0,
            0,
            [],
        )


def test_without_a_task_it_fails(around):
    grader = Trigger(skill_path="skills/csv-cleaner", mode="negative").resolve_paths(around)
    verdict = grader.grade(Observation(prompt="", has_task=False), Helpers())
    assert (verdict.score, verdict.passed, verdict.error) == (0.0, False, "")


def test_the_skill_is_read_once(around):
    grader = Trigger(skill_path="skills/csv-cleaner", mode="positive").resolve_paths(around)
    (around.base / "skills/csv-cleaner/SKILL.md").unlink()
    assert grader.grade(Observation(prompt="clean a csv file"), Helpers()).passed


def test_used_without_a_suite(monkeypatch, around):
    monkeypatch.chdir(around.base)
    seen = Observation(prompt="clean a csv file")
    assert Trigger(skill_path="skills/csv-cleaner", mode="positive").grade(seen, Helpers()).passed
    with pytest.raises(GraderError, match="does not exist"):
        Trigger(skill_path="nowhere", mode="positive").grade(seen, Helpers())


def test_where_a_skill_is_sought(monkeypatch, around, tmp_path: Path):
    cwd = tmp_path / "cwd"
    for name, words in (("both", "current"), ("only", "current")):
        (cwd / name).mkdir(parents=True)
        (cwd / name / "SKILL.md").write_text(words)
    write(around, "both/SKILL.md", "suite")
    monkeypatch.chdir(cwd)
    assert graded(around, "suite", skill_path=" both ").passed
    assert graded(around, "current", skill_path="only/SKILL.md").passed
    assert graded(around, "current", skill_path=str(cwd / "both" / "SKILL.md")).passed


def test_agents(around):
    write(around, "a/second.agent.md", "---\nname: zweite\n---\n")
    write(around, "a/first.agent.md", "---\nname: erste\n---\n")
    assert graded(around, "erste", skill_path="a").passed
    assert graded(around, "zweite", skill_path="a/second.agent.md").passed
    write(around, "a/SKILL.md", "skill")
    assert graded(around, "skill", skill_path="a").passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\t\n", "is empty"),
        ("---\nname: x\n", "no end"),
        ("---\nname: [x\n---\nbody", "SKILL.md:"),
        ("---\n- name\n---\nbody", "not a mapping"),
        ("---\njust text\n---\nbody", "not a mapping"),
        (b"\xff\xfe\x00", "UTF-8"),
        ("---\nname: a\n---\nof it to", "has no words"),
        ("---\nname:\n---\n", "has no words"),
    ],
)
def test_skills_that_cannot_be_used(around, text, message):
    found = findings(around, skill_path=write(around, "bad/SKILL.md", text))
    assert [finding.path for finding in found] == [("skill_path",)]
    assert message in found[0].message
    assert found[0].hint
    assert not found[0].warning


def test_paths_that_cannot_be_used(around):
    (around.base / "empty").mkdir()
    (around.base / "odd" / "SKILL.md").mkdir(parents=True)
    assert "does not exist" in findings(around, skill_path="skills/none")[0].message
    assert "neither a SKILL.md nor" in findings(around, skill_path="empty")[0].message
    assert "neither a SKILL.md nor" in findings(around, skill_path="odd")[0].message


def test_unknown_mode(around):
    found = findings(around, mode="maybe")
    assert [finding.path for finding in found] == [("mode",)]
    assert "positive" in found[0].hint


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("mode: positive", "'skill_path' is missing"),
        ("skill_path: x", "'mode' is missing"),
        ("{skill_path: '  ', mode: positive}", "must not be empty"),
        ("{skill_path: x, mode: positive, threshold: 1.1}", "at most 1"),
        ("{skill_path: x, mode: positive, threshold: .nan}", "a finite number"),
        ("{skill_path: x, mode: positive, _keywords: {}}", "unknown key '_keywords'"),
    ],
)
def test_refused_at_load(config, message):
    decoder = Decoder(Document("eval.yaml", yaml.load(config.encode())))
    assert decoder.read(Trigger) is None
    assert message in decoder.problems[0].message


# The heuristic


def test_tokens_are_runs_of_letters_and_digits():
    assert tokenize("Fix the_CSV-file, v1.22 or x86!") == ["fix", "csv", "file", "x86"]
    assert tokenize("How can you get Rows rows") == ["rows", "rows"]
    assert tokenize("é 日 ab ½½") == ["日", "½½"]  # counted in bytes of UTF-8
    assert tokenize("re\u0301sume\u0301") == ["sume"]  # marks separate


@pytest.mark.parametrize(
    ("description", "phrases"),
    [
        ("no section", []),
        ("Use for: one thing, two things.", ["one thing", "two things"]),
        ("USE FOR: a (see b), c(d),, e (f) (g) INVOKES: h", ["a", "c", "e (f)"]),
        ('USE FOR: “curly one”, and\n"straight two" FOR SINGLE OPERATIONS: x', ["curly one", "straight two"]),
        ("DO NOT USE FOR: x. USE FOR: y... DO NOT USE FOR: z", ["y"]),
        ("do not use for: x", []),
        ("CAN NOT   USE FOR: x. USE FOR: far", ["far"]),
        ("NOT near at all USE FOR: y", ["y"]),
        ('USE FOR: " ", "x"', ["x"]),
        ("USE FOR: first USE FOR: second", ["first USE FOR: second"]),
    ],
)
def test_use_for_phrases(description, phrases):
    assert find_use_for_phrases(description) == phrases


def test_what_it_is_not_for_gives_no_keywords():
    found = extract_keywords("tool", "Draws maps. DO NOT USE FOR: poems. USE FOR: sketches", "body")
    assert found.words == {"tool", "draws", "maps", "sketches", "body"}


def test_a_phrase_counts_as_a_whole_or_by_its_words():
    skill = extract_keywords("x", 'USE FOR: "tidy up tidy tables", "C#"', "words")
    assert skill.match("please Tidy Up Tidy Tables now").phrase_score == 1.0
    assert skill.match("tidy houses").phrase_score == pytest.approx(2 / 3)
    assert skill.match("some C# code").phrase_score == 1.0
    assert skill.match("some code").phrase_score == 0.0
