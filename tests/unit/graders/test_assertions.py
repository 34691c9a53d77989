"""What an assertion can see and say, in Python and in JavaScript."""

import pytest
from tests.unit.graders.gradings import DEPLOYED, OS, PID, evaluated, in_children, javascript

from waza.errors import GraderError
from waza.graders import _interpreter
from waza.graders._interpreter import FALSY, Interpreters
from waza.kit.process import find_leftovers


def test_assertions_of_the_documented_example():
    results = evaluated(
        "'web-01' in output",
        "len(tool_calls) == 2",
        r"re.search(r'\d+ regions', output) is not None",
        "any(r in output for r in ['eu', 'us'])",
    )
    assert results == [None, FALSY, None, FALSY]


def test_nested_scopes_see_the_names():
    assert (
        evaluated(
            "any(region in output for region in ['3 regions'])",
            "(lambda: 'web' in output)()",
            "[word for word in ['web', 'db'] if word in output] == ['web']",
            "all(call['name'] in {name for name in ['bash'] if output} for call in tool_calls)",
        )
        == [None] * 4
    )


def test_every_documented_name_is_there():
    expression = (
        "len(str(int(float(round(abs(-1.0)))))) == 1 and bool(list(set(tuple(range(2))))) and dict(a=1)"
        " and sum(sorted([max(1, 2), min(1, 2)])) == 3 and any([True]) and all([not False, None is None])"
        " and [*enumerate(zip('a', 'b'))] == [(0, ('a', 'b'))] and isinstance(re.compile('x'), re.Pattern)"
        " and outcome == {} and transcript == [] and errors == [] and duration_ms == 12"
        " and command_invocations == [] and output_length == len(output) == 29"
    )
    assert evaluated(expression) == [None]


@pytest.mark.parametrize(
    "name", ["print", "open", "__import__", "iter", "eval", "os", "json", "NAMES", "scope"]
)
def test_nothing_else_is_there(name: str):
    assert evaluated(name) == [f"NameError: name '{name}' is not defined"]


def test_errors_are_the_events_that_speak_of_one():
    transcript = [
        {"type": "tool_error"},
        {"type": "message", "content": "an error occurred"},
        {"type": "message", "content": {"why": "error"}},
        {"type": None, "content": None},
        {"type": "message", "message": "error"},
        {},
    ]
    assert evaluated("errors == transcript[:3]", transcript=transcript) == [None]
    assert javascript("errors.length === 3 && errors[2].content.why", transcript=transcript) == [None]


def test_exceptions_are_failures_that_name_the_class():
    assert evaluated("1 / 0", "tool_calls[7]", "1 +", "import os", "(lambda f: f(f))(lambda f: f(f))") == [
        "ZeroDivisionError: division by zero",
        "IndexError: list index out of range",
        "SyntaxError: invalid syntax (<string>, line 1)",
        "SyntaxError: invalid syntax (<string>, line 1)",
        "RecursionError: maximum recursion depth exceeded",
    ]


def test_what_is_no_expression_text_fails():
    nul, empty = evaluated("'a\0b'", "")
    assert nul
    assert "null bytes" in nul
    assert empty
    assert empty.startswith("SyntaxError: ")


def test_exits_are_failures():
    base = "[c for c in ''.__class__.__base__.__subclasses__() if c.__name__ == 'BaseException'][0]"
    exits = "(_ for _ in ()).throw([c for c in {}.__subclasses__() if c.__name__ == {!r}][0])"
    results = evaluated(*(exits.format(base, name) for name in ("SystemExit", "KeyboardInterrupt")), "True")
    assert results == ["SystemExit", "KeyboardInterrupt", None]


def test_a_huge_value_is_a_failure():
    assert evaluated("'x' * (3 * 1024 ** 3)", "True") == ["MemoryError", None]


def test_long_exception_texts_are_cut():
    (text,) = evaluated("{}['x' * 100_000]")
    assert text
    assert 900 < len(text) < 1100


def test_assertions_share_a_scope_but_gradings_do_not():
    async def scenario(interpreters: Interpreters):
        first = await interpreters.evaluate(
            "python", DEPLOYED, ["(found := 3)", "found", "tool_calls.clear()"], 20
        )
        second = await interpreters.evaluate("python", DEPLOYED, ["found", "len(tool_calls) == 1", PID], 20)
        return first, second

    first, second = in_children(scenario)
    assert first == [None, None, FALSY]
    assert second[:2] == ["NameError: name 'found' is not defined", None]


def test_what_an_assertion_prints_does_not_disturb():
    say = f"{OS}['__builtins__']['print']('{{}}') or True"
    write = f"{OS}['write'](1, b'{{}}\\n')"
    read = f"{OS}['read'](0, 100) == b''"
    assert evaluated(say, write, read, "True") == [None] * 4


def test_unicode_passes_both_ways():
    assert evaluated("'grüße 🎉\u2028' == output", "{}[output]", output="grüße 🎉\u2028") == [
        None,
        "KeyError: 'grüße 🎉\\u2028'",
    ]
    assert javascript("output === 'grüße 🎉\u2028'", "throw output", output="grüße 🎉\u2028") == [
        None,
        "Error: grüße 🎉\u2028",
    ]


def test_lone_surrogates_survive_and_are_replaced_in_texts():
    assert evaluated(r"output == '\ud800'", "{}.__getattribute__(output)", output="\ud800") == [
        None,
        "AttributeError: 'dict' object has no attribute '?'",
    ]
    assert javascript(r"output === '\ud800'", "throw output", "'\ud800'", output="\ud800") == [
        None,
        "Error: ?",
        None,
    ]
    assert evaluated("'\ud800'")[0] is not None


def test_large_data():
    text = "x" * 5_000_000
    assert evaluated("output_length == 5_000_000", output=text) == [None]
    assert javascript("output_length === 5_000_000", output=text) == [None]


# JavaScript


def test_javascript_names_and_truthiness():
    assert javascript(
        "output.includes('web-01')",
        "tool_calls.length === 2",
        "'' || 0 || null || NaN || undefined || False",
        "[]",
        "Promise.resolve(false)",
        "Promise.reject(new Error('left alone'))",
        "True && output_length === 29 && duration_ms === 12 && errors.length + command_invocations.length === 0",
        "isFinite(parseInt('1') + parseFloat('2') + Math.max(1)) && !isNaN(Number('3')) && JSON.stringify(outcome) === '{}'",
        "tool_calls instanceof Array && outcome instanceof Object && RegExp('web').test(String(output)) && Boolean(1)",
    ) == [None, FALSY, FALSY, None, None, None, None, None, None]


def test_a_rejected_promise_does_not_end_the_child():
    async def scenario(interpreters: Interpreters):
        rejected = await interpreters.evaluate("javascript", DEPLOYED, ["Promise.reject(new Error('x'))"], 20)
        children = find_leftovers()
        return (
            rejected,
            await interpreters.evaluate("javascript", DEPLOYED, ["1"], 20),
            children == find_leftovers(),
        )

    assert in_children(scenario) == ([None], [None], True)


def test_javascript_declarations_are_seen_later():
    assert javascript("const hosts = ['web-01']; hosts", "hosts.every(host => output.includes(host))") == [
        None,
        None,
    ]


def test_javascript_exceptions_are_failures():
    assert javascript(
        "nope",
        "null.x",
        "1 +",
        "throw 'plain'",
        "throw null",
        "throw {get name() { throw 1 }}",
        "(function f() { f() })()",
    ) == [
        "ReferenceError: nope is not defined",
        "TypeError: Cannot read properties of null (reading 'x')",
        "SyntaxError: Unexpected end of input",
        "Error: plain",
        "Error: null",
        "Error",
        "RangeError: Maximum call stack size exceeded",
    ]


def test_node_is_out_of_reach():
    return_process = "constructor.constructor('return process')()"
    texts = javascript("require", "process", f"this.{return_process}", f"tool_calls.{return_process}")
    assert texts == [
        "ReferenceError: require is not defined",
        *["ReferenceError: process is not defined"] * 3,
    ]


def test_javascript_loop_is_a_failure_of_that_assertion(monkeypatch):
    monkeypatch.setattr(_interpreter, "ASSERTION_MS", 100)
    assert javascript("while (true);", "Promise.resolve().then(() => { while (true); })", "true") == [
        "Error: Script execution timed out after 100ms",
        "Error: Script execution timed out after 100ms",
        None,
    ]


def test_javascript_cannot_be_given_what_json_cannot_hold():
    with pytest.raises(GraderError, match="cannot be handed to javascript assertions"):
        javascript("true", outcome={"x": float("nan")})
    assert evaluated("outcome['x'] != outcome['x']", outcome={"x": float("nan")}) == [None]
