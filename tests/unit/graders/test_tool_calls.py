import pytest
from tests.unit.graders._configs import called, errors, read, refused

from waza.graders.argument import Matcher
from waza.graders.tool_calls import ExpectedCall, ToolCalls
from waza.model.observation import Observation, ToolEvent
from waza.model.verdict import Helpers, Verdict


def graded(grader: ToolCalls, *calls) -> Verdict:
    return grader.grade(called(*calls), Helpers())


def passes(*calls, **keys) -> bool:
    grader = ToolCalls(**keys)
    assert errors(grader) == []
    verdict = graded(grader, *calls)
    assert verdict.passed is (verdict.score == 1.0)
    return verdict.passed


SEARCH_USE = """
required_tools: [grep]
forbidden_tools: [rm]
min_calls: 2
max_calls: 3
expect:
  - tool: search
    args: {query: {regex: "^auth"}, limit: {range: {gte: 1, lte: 50}}}
"""


def test_the_documented_example():
    grader = read(ToolCalls, SEARCH_USE)
    assert errors(grader) == []
    verdict = graded(grader, "grep", ("mcp-search", {"query": "auth flow", "limit": 100}))
    assert not verdict.passed
    assert verdict.score == pytest.approx(0.8, abs=1e-9)
    (failure,) = verdict.details.pop("failures")
    assert "'search'" in failure
    assert "'limit' is 100" in failure
    reason = verdict.details["expect"][0].pop("reason")
    assert failure.endswith(reason)
    args = {"query": {"regex": "^auth"}, "limit": {"range": {"gte": 1, "lte": 50}}}
    assert verdict.details == {
        "total_calls": 2,
        "unique_tools": ["grep", "mcp-search"],
        "passed_checks": 4,
        "total_checks": 5,
        "expect": [{"tool": "search", "args": args}],
    }


def test_names_match_exactly():
    assert passes("grep", required_tools=["grep"])
    assert not passes("Grep", required_tools=["grep"])
    assert not passes("grep2", required_tools=["grep"])
    assert passes("Grep", "grep2", forbidden_tools=["grep"])
    assert not passes("x", "grep", forbidden_tools=["grep"])


def test_a_required_tool_that_was_not_called_is_named():
    verdict = graded(ToolCalls(required_tools=["nope"]))
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert "'nope'" in verdict.feedback


def test_bounds_are_inclusive():
    assert passes("a", "a", min_calls=2, max_calls=2)
    assert not passes("a", min_calls=2)
    assert not passes("a", "a", "a", max_calls=2)
    assert passes(max_calls=0)
    assert not passes("a", max_calls=0)


def test_an_expected_tool_is_a_pattern_without_regard_to_case():
    assert passes("Bashful", expect=[ExpectedCall(tool="bash")])
    assert not passes("Bashful", expect=[ExpectedCall(tool="^bash$")])


def test_one_call_must_satisfy_all_matchers():
    expect = [ExpectedCall(tool="t", args={"a": Matcher(equals=1), "b": Matcher(equals=2)})]
    assert not passes(
        ("t", {"a": 1, "b": 1}), ("t", {"a": 2, "b": 2}), ("x", {"a": 1, "b": 2}), expect=expect
    )
    assert passes(("t", {"a": 1, "b": 1}), ("t", {"a": 1, "b": 2}), expect=expect)
    assert not passes(("t", '{"a": 1, "b": 2}'), expect=expect)  # a text is no arguments


def test_the_call_that_was_found_is_reported():
    grader = ToolCalls(
        expect=[ExpectedCall(tool="t", args={"a": Matcher(contains="x")}), ExpectedCall(tool="u")]
    )
    verdict = graded(grader, "u", ("t", {"a": "y"}), ("t", {"a": "x"}))
    assert verdict.details["expect"] == [
        {
            "tool": "t",
            "args": {"a": {"contains": "x"}},
            "matched_call_index": 2,
            "matched_tool_event_index": 2,
            "matched_call_id": "c3",
        },
        {"tool": "u", "matched_call_index": 0, "matched_tool_event_index": 0, "matched_call_id": "c1"},
    ]


def test_the_index_of_a_call_is_that_of_its_sequence():
    event = ToolEvent(turn=1, sequence=9, tool_call_id="c9", tool_name="t", success=True)
    seen = Observation(tool_events=(event,))
    (row,) = ToolCalls(expect=[ExpectedCall(tool="t")]).grade(seen, Helpers()).details["expect"]
    assert (row["matched_call_index"], row["matched_tool_event_index"]) == (8, 0)


def test_the_reason_is_the_last_mismatch_or_that_there_was_no_such_call():
    grader = ToolCalls(expect=[ExpectedCall(tool="t", args={"a": Matcher(equals=1)})])
    (row,) = graded(grader, ("t", {"a": 2}), ("t", {"a": 3}), "u").details["expect"]
    assert row["reason"].startswith("argument 'a' is 3")
    (row,) = graded(grader, "u").details["expect"]
    assert row["reason"] == "no call with that name"


def test_without_a_session_it_fails():
    verdict = ToolCalls(max_calls=0).grade(Observation(has_session=False), Helpers())
    assert (verdict.passed, verdict.score) == (False, 0.0)


def test_configs_that_check_nothing_or_cannot_hold():
    assert errors(ToolCalls()) == [()]
    assert errors(ToolCalls(min_calls=0)) == [()]
    assert errors(ToolCalls(min_calls=3, max_calls=2)) == [("min_calls",)]
    assert errors(ToolCalls(expect=[ExpectedCall(tool="(")])) == [("expect", 0, "tool")]


@pytest.mark.parametrize(
    "text",
    [
        "min_calls: -1",
        "max_calls: 1.5",
        "required_tools: ['']",
        "expect: [bash]",
        "expect: [{args: {}}]",
        "expect: [{tool: ' '}]",
        "expect: [{tool: a, command_pattern: x}]",
        "required_tool: [a]",
    ],
)
def test_configs_that_are_refused(text):
    assert refused(ToolCalls, text)
