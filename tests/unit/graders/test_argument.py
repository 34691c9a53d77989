import json
from typing import Any

import pytest
from tests.unit.graders._configs import errors, read, refused

from waza.graders.argument import MISSING, Matcher, Range, as_text, find_mismatch
from waza.graders.tool_calls import ToolCalls
from waza.model.observation import Observation, ToolEvent
from waza.model.verdict import Helpers

HUGE = 10**5000  # more digits than Python turns into text


def fits(value: Any, **condition: Any) -> bool:
    return not Matcher(**condition).mismatch(value)


@pytest.mark.parametrize(
    ("expected", "value", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        (True, True, True),
        (1, "1", False),
        (None, None, True),
        (None, "", False),
        (None, MISSING, False),
        ("a", "a", True),
        ("a", "A", False),
        (2**53 + 1, 2**53, True),  # the same double
        ([1, [2.0, None]], [1.0, [2, None]], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 2], False),
        ([1], [True], False),
        ({"a": 1, "b": [1]}, {"b": [1.0], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": None}, {}, False),
        ({}, [], False),
        ([], "", False),
    ],
)
def test_equals(expected, value, equal):
    assert fits(value, equals=expected) is equal


def test_numbers_beyond_the_doubles_equal_themselves_only():
    assert fits(HUGE, equals=HUGE)
    assert not fits(HUGE + 1, equals=HUGE)
    assert not fits(float("inf"), equals=HUGE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", ""),
        ("a <b>", "a <b>"),
        (True, "true"),
        (0, "0"),
        (7, "7"),
        (1.0, "1"),
        (-0.5, "-0.5"),
        (-0.0, "-0"),
        (0.000001, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (1e-10, "1e-10"),
        (1e20, "100000000000000000000"),
        (1.2345678901234567e19, "12345678901234567000"),
        (1e21, "1e+21"),
        (12345678901234567890123, "12345678901234567890123"),
        ([1, None, "x"], '[1,null,"x"]'),
        ({"b": 1, "a": {"d": [], "c": {}}}, '{"a":{"c":{},"d":[]},"b":1}'),
        (["<a> & b"], '["\\u003ca\\u003e \\u0026 b"]'),
        (['\u2028é\n"\\'], '["\\u2028é\\n\\"\\\\"]'),
        ({"<": 1}, '{"\\u003c":1}'),
    ],
)
def test_the_text_of_a_value(value, text):
    assert as_text(value) == text


def test_the_text_of_a_value_that_no_json_has():
    assert len(as_text(HUGE)) == 5001
    assert as_text([float("nan"), float("inf")]) == "[NaN,Infinity]"
    assert as_text(["\ud800"]) == '["\ud800"]'


def test_regex_is_searched_and_minds_case():
    assert fits("auth flow", regex="^auth")
    assert not fits("Auth flow", regex="^auth")
    assert fits({"q": "x"}, regex=r'^\{"q":"x"\}$')
    assert fits(None, regex="^$")
    assert not fits(MISSING, regex="^$")
    assert fits("\ud800", regex="^.$")


def test_contains_minds_case():
    assert fits("rm -rf /", contains="rm -rf")
    assert not fits("RM", contains="rm")
    assert fits(["a", "b"], contains='"a","b"')
    assert not fits(MISSING, contains="a")


@pytest.mark.parametrize(
    ("bounds", "inside", "outside"),
    [
        ({"gte": 1, "lte": 50}, [1, 50, 1.0, 49.9], [0.999, 51]),
        ({"gt": 1, "lt": 2}, [1.5], [1, 2]),
        ({"gte": 0}, [0, float("inf")], [-1, float("nan")]),
        ({"lt": 0.5}, [0], [0.5]),
    ],
)
def test_range(bounds, inside, outside):
    for value in inside:
        assert fits(value, range=Range(**bounds))
    for value in [*outside, "1", True, None, [1], MISSING]:
        assert not fits(value, range=Range(**bounds))


def test_range_of_a_number_beyond_the_doubles():
    assert fits(HUGE, range=Range(gte=0))
    assert not fits(HUGE, range=Range(lt=0.5))


def test_json_schema():
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
    assert fits([1, 2.0], json_schema=schema)
    assert not fits([], json_schema=schema)
    assert not fits(MISSING, json_schema={"not": {}})
    assert fits([HUGE], json_schema={"type": "array"})


def test_a_mismatch_says_what_was_there_and_what_was_wanted():
    why = Matcher(range=Range(gte=1, lte=50)).mismatch(100)
    assert why == 'is 100, which does not satisfy range {"gte":1,"lte":50}'
    assert Matcher(equals=1).mismatch(MISSING) == "is missing"
    assert len(Matcher(contains="x").mismatch("y" * 10_000)) < 200
    assert Matcher(equals=HUGE).mismatch("x")


def test_the_first_mismatch_by_name_is_reported():
    call = ToolEvent(turn=1, sequence=1, tool_name="t", args={"a": 1, "b": 1}, success=True)
    matchers = {"b": Matcher(equals=2), "a": Matcher(equals=3)}
    assert find_mismatch(matchers, call).startswith("argument 'a' ")
    assert find_mismatch({"c": Matcher(equals=None)}, call) == "argument 'c' is missing"
    assert find_mismatch({}, call) == ""


@pytest.mark.parametrize("args", ["text", ["list"], None, 3])
def test_arguments_that_are_no_object_are_none_at_all(args):
    call = ToolEvent(turn=1, sequence=1, tool_name="t", args=args, success=True)
    assert find_mismatch({"a": Matcher(equals=None)}, call) == "argument 'a' is missing"


def test_arguments_are_the_same_after_a_trip_through_json():
    args = {"n": [1.0, {"deep": [None, 12345678901234567890123]}], "f": 1.5e-7}
    saved = json.loads(json.dumps(args))
    for name, value in args.items():
        assert as_text(value) == as_text(saved[name])
        assert fits(saved[name], equals=value)


def matcher(text: str) -> ToolCalls:
    return read(ToolCalls, f"expect: [{{tool: t, args: {{a: {text}}}}}]")


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("{equals: null}", {"equals": None}),
        ("{equals: {x: [1.0, yes]}}", {"equals": {"x": [1.0, "yes"]}}),
        ("{regex: '^a'}", {"regex": "^a"}),
        ("{contains: 1.10}", {"contains": "1.10"}),
        ("{range: {gt: 1}}", {"range": {"gt": 1}}),
        ("{json_schema: {type: string}}", {"json_schema": {"type": "string"}}),
    ],
)
def test_matchers_in_yaml(text, given):
    grader = matcher(text)
    assert errors(grader) == []
    row = grader.grade(Observation(), Helpers()).details["expect"][0]
    assert row["args"] == {"a": given}


AT = ("expect", 0, "args", "a")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{}", AT),
        ("{regex: a, contains: b}", AT),
        ("{equals: null, contains: b}", AT),
        ("{regex: ''}", (*AT, "regex")),
        ("{regex: '('}", (*AT, "regex")),
        ("{regex: '(?=x)'}", (*AT, "regex")),
        ("{contains: ''}", (*AT, "contains")),
        ("{range: {}}", (*AT, "range")),
        ("{json_schema: {}}", (*AT, "json_schema")),
        ("{json_schema: {type: text}}", (*AT, "json_schema")),
        ("{json_schema: {pattern: '(?=x)'}}", (*AT, "json_schema")),
    ],
)
def test_matchers_that_are_errors_at_load(text, path):
    assert errors(matcher(text)) == [path]


@pytest.mark.parametrize(
    "text",
    ["{equal: 1}", "5", "{range: {min: 1}}", "{range: {gte: '1'}}", "{json_schema: true}", "{equals: .nan}"],
)
def test_matchers_that_are_refused(text):
    assert refused(ToolCalls, f"expect: [{{tool: t, args: {{a: {text}}}}}]")
