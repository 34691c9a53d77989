"""The parts of probes: changes of answers, texts that patterns refuse, and answers that are fenced off from judges."""

from __future__ import annotations

import pytest

from waza.author.prove.excess import sample
from waza.author.prove.integrity import INJECTION, is_fenced
from waza.author.prove.mutations import change_answer
from waza.author.prove.probe import Probe
from waza.graders._ask_judge import build_prompt
from waza.kit.pattern import compile_pattern
from waza.model.mock import MockScript, MockTurn, ScriptedCall, ScriptedFile


def changed(turn: MockTurn) -> dict[str, MockTurn | str]:
    """Return the changes of an answer of one turn, or why there is none, by name."""
    found: dict[str, MockTurn | str] = {}
    for one in change_answer(MockScript(turns=(turn,))):
        if isinstance(one, Probe):
            assert one.script.turns is not None
            found[one.name] = one.script.turns[0]
        else:
            found[one[0]] = one[1]
    return found


@pytest.mark.parametrize(
    ("output", "name", "expected"),
    [
        ("abcdef", "cut", "abc"),
        ("one two three", "shuffled", "three two one"),
        ("10 of 9, 3.19", "number", "11 of 0, 4.10"),
        ("Yes, it PASSED", "negated", "No, it FAILED"),
        ("It is red", "negated", "It is not red"),
        ("red", "negated", "It is not true that: red"),
        ('{"ok": true}', "negated", '{"ok": false}'),
    ],
)
def test_changes_of_the_text(output, name, expected):
    turn = changed(MockTurn(output=output))[name]
    assert isinstance(turn, MockTurn)
    assert turn.output == expected


@pytest.mark.parametrize(
    ("output", "name"),
    [("", "cut"), ("word", "shuffled"), ("a a", "shuffled"), ("none", "number"), ('{"a": "b"}', "negated")],
)
def test_there_is_nothing_to_change(output, name):
    assert isinstance(changed(MockTurn(output=output))[name], str)


def test_changes_of_what_the_agent_does():
    turn = MockTurn(
        output="x",
        tool_calls=[ScriptedCall(name="bash")],
        skills=["s"],
        files=[ScriptedFile(path="a", content="b")],
    )
    found = changed(turn)
    assert found["no-calls"] == MockTurn(output="x", skills=[], files=turn.files)
    emptied = found["empty-file"]
    assert isinstance(emptied, MockTurn)
    assert emptied.files == [ScriptedFile(path="a")]
    assert emptied.tool_calls == turn.tool_calls
    assert isinstance(changed(MockTurn(output="x"))["no-calls"], str)
    assert isinstance(changed(MockTurn(output="x"))["empty-file"], str)


@pytest.mark.parametrize(
    "pattern",
    [
        "plain",
        "(?i)as an ai (model|assistant)",
        r"^rm\s+-rf\b",
        r"\d{3}-\d+",
        "[Aa]bc?",
        "a.*b",
        "^bash$|^sh$",
        r"3\.14",
    ],
)
def test_a_sample_is_found_by_its_pattern(pattern):
    assert compile_pattern(pattern).search(sample(pattern))


@pytest.mark.parametrize("pattern", ["(unclosed", r"\pN{2}"])
def test_no_sample_is_better_than_a_wrong_one(pattern):
    assert sample(pattern) == ""


def test_an_answer_that_instructs_is_fenced_off():
    assert is_fenced(build_prompt("Judge.", [("Candidate output", INJECTION)], "Now judge."))
    assert not is_fenced(f"Judge this:\n\n{INJECTION}\n\nNow judge.")
    assert not is_fenced(f"```\n{INJECTION}\n```")
